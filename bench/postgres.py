#!/usr/bin/env python3
"""Measures on a private PostgreSQL server: its own defaults, which are durable.

Usage: postgres.py BUILD_DIR [--dir DIR] [OPTION]...

--dir: where the server keeps its files [/tmp]; it runs as another user when root starts it. The
other options are those of pawl_bench_postgres, which this starts the server for.
"""
import argparse
import os
import subprocess
import sys

sys.dont_write_bytecode = True
sys.path.insert(0, os.path.join(os.path.dirname(__file__), "..", "tests", "postgres"))
import server

COUNT = """
shared_preload_libraries = 'pg_stat_statements'
"""
# What the tests' server does without.
DURABLE = """
fsync = on
full_page_writes = on
wal_level = replica
max_wal_senders = 10
shared_buffers = 128MB
"""


def main():
    parser = argparse.ArgumentParser(add_help=False, allow_abbrev=False)
    parser.add_argument("build")
    parser.add_argument("--dir", default="/tmp")
    known, options = parser.parse_known_args()
    build = os.path.abspath(known.build)
    program = build + "/bench/pawl_bench_postgres"
    if not os.path.exists(program):
        sys.exit("pawl: libpq was not there when this was built: install libpq-dev")
    if not server.find_binaries():
        sys.exit("pawl: there is no PostgreSQL server: install postgresql (Debian), or put its "
                 "initdb and postgres on the PATH")
    if {"--help", "--list"} & set(options):
        sys.exit(subprocess.run([program, *options], check=False).returncode)
    # With --quick the figures mean nothing.
    config = COUNT if "--quick" in options else COUNT + DURABLE
    with server.Server(config, os.path.abspath(known.dir)) as private:
        env = {name: value for name, value in os.environ.items() if not name.startswith("PG")}
        env.update(PGHOST=private.dir, PGUSER="pawl", PAWL_MODULE_DIR=build + "/src/store")
        status = subprocess.run([program, *options], env=env, check=False).returncode
        if status:
            print(private.log_tail(), file=sys.stderr)
    sys.exit(status)


main()
