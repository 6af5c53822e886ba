#!/usr/bin/env python3
"""The tests of the command with a server instead of a store, with the same results.

Usage: server_test.py PAWL WORKER [TEST...]
"""
import os
import sys

sys.dont_write_bytecode = True  # the tree stays as it was
os.environ["PAWL_TEST_SERVED"] = "1"

import submit_test
import list_test
import control_test
import cron_test
import store_test
import settings_test
import work_test
import wait_test
import flow_test
import route_test  # pylint: disable=unused-import
import top_test
import kit

# About a store that does not exist yet, a store without nodes, the store's name, or work that the
# server does itself.
LEFT_OUT = (
    "a_lock_s_owner_must_be_said",
    "a_missing_store_is_not_made_by_looking",
    "a_newer_schema_is_refused",
    "a_node_lets_commands_finish",
    "a_refused_command_line_makes_no_store",
    "a_third_signal_does_not_wait_for_the_store",
    "a_wrong_command_line_runs_nothing",
    "a_wrong_flow_is_refused_with_its_place_and_nothing_is_stored",
    "migrate_creates_the_store",
    "nodes_are_listed",
    "the_command_line_wins_over_environment_and_file",
    "the_work_of_a_killed_node_is_taken_up",  # it is, but the server counts it
    "top_draws_counts_queues_jobs_and_nodes",
    "top_prints_once_without_a_terminal",
    "top_prints_one_object_for_programs",
    "top_refuses_what_it_cannot_do",
    "top_shows_an_empty_store",
    "upkeep_does_what_is_due",
)

kit.main(LEFT_OUT)
