#!/usr/bin/env python3
"""The tests of the command on PostgreSQL, with the same results. suites.py runs it.

Usage: postgres_test.py PAWL WORKER [TEST...]
"""
import os
import sys

sys.dont_write_bytecode = True  # the tree stays as it was

import submit_test
import list_test
import control_test
import store_test
import settings_test
import work_test
import wait_test
import cron_test
import flow_test
import top_test
import kit

# About files, or about settings that are read before PAWL_STORE.
LEFT_OUT = (
    "a_directory_is_no_store",
    "a_file_that_is_no_database_is_left_alone",
    "a_missing_directory_is_named",
    "a_newer_schema_is_refused",  # nor is it here: tests/postgres/upgrade_test.py
    "a_store_may_live_beside_other_tables",
    "a_store_that_may_not_be_written_is_explained",
    "backup_is_a_store_of_its_own",
    "check_finds_damage_and_exits_with_one",
    "the_command_line_wins_over_environment_and_file",
)


@kit.test
def backup_is_left_to_the_server_s_own_tools(box):
    box.submit("t")
    kit.has(box.fails(3, "backup", "copy.db").err, "use pg_dump or pg_basebackup")
    kit.equal(os.listdir(box.path), [])


kit.main(LEFT_OUT)
