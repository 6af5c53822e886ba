#!/usr/bin/env python3
"""Measures on a private PostgreSQL server: its own defaults, which are durable.

Usage: postgres.py BUILD_DIR [OPTION]...

The options are those of pawl_bench_postgres, which this starts the server for.
"""
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
    build, options = os.path.abspath(sys.argv[1]), sys.argv[2:]
    program = build + "/bench/pawl_bench_postgres"
    if not os.path.exists(program):
        sys.exit("pawl: libpq was not there when this was built: install libpq-dev")
    if not server.find_binaries():
        sys.exit("pawl: there is no PostgreSQL server: install postgresql-15 (Debian), or put its "
                 "initdb and postgres on the PATH")
    # With --quick the figures mean nothing.
    config = COUNT if "--quick" in options else COUNT + DURABLE
    with server.Server(config) as private:
        env = {name: value for name, value in os.environ.items() if not name.startswith("PG")}
        env.update(PGHOST=private.dir, PGUSER="pawl", PAWL_MODULE_DIR=build + "/src/store")
        status = subprocess.run([program, *options], env=env, check=False).returncode
        if status:
            print(private.log_tail(), file=sys.stderr)
    sys.exit(status)


main()
