#!/usr/bin/env python3
"""Runs the pawl binary on stores in temporary directories, as users and programs do.

Usage: cli_test.py PAWL WORKER [TEST...]
"""
import sys

sys.dont_write_bytecode = True  # the tree stays as it was

# A module adds its tests as it is read; they are reported in this order.
import submit_test
import list_test
import control_test
import store_test
import settings_test
import work_test
import wait_test
import flow_test
import route_test  # pylint: disable=unused-import
import top_test
import cron_test
import text_test
import kit

kit.main()
