#!/usr/bin/env python3
"""Runs test programs on a private PostgreSQL server and passes their TAP on as one. Prints TAP.

Usage: suites.py [--pooled] [--scale PERCENT] [--at-once N] [--setting NAME=VALUE]
                 [--with ARG]... MODULE_DIR PROGRAM...

--pooled: through PgBouncer, which lends connections out for one transaction at a time.
--scale: of the rounds that PAWL_TEST_SCALE allows, for what is slow with a server.
--at-once: how many programs may run side by side, for those that mostly wait.
--setting: of the server.
--with: an argument for each of the programs. Those that end in .py are run by Python.
"""
import argparse
import concurrent.futures
import itertools
import os
import re
import subprocess
import sys

sys.dont_write_bytecode = True
import server


def run(program, given, settings):
    """(passed, description, comments) of each test; a program that dies is a test that failed."""
    name = os.path.basename(program)
    env = {**os.environ, **settings, "PAWL_TEST_STORES": "postgres", "CMOCKA_MESSAGE_OUTPUT": "TAP"}
    command = [sys.executable] if program.endswith(".py") else []
    done = subprocess.run([*command, program, *given], stdout=subprocess.PIPE,
                          stderr=subprocess.STDOUT, text=True, errors="replace", check=False,
                          env=env)
    tests, comments, planned = [], [], None
    for line in done.stdout.splitlines():
        found = re.match(r"(not )?ok \d+ (?:- )?(.*)", line)
        plan = re.match(r"1\.\.(\d+)", line)
        if found:
            tests.append((not found.group(1), f"{name}: {found.group(2)}", []))
        elif plan:
            planned = int(plan.group(1))
        elif tests:
            tests[-1][2].append(line)
        else:
            comments.append(line)
    if planned != len(tests) or (done.returncode and all(passed for passed, _, _ in tests)):
        last = tests[-1][2] if tests else comments
        tests.append((False, f"{name}: exit status {done.returncode}", comments + last))
    return tests


def skip(why):
    print(f"1..0 # SKIP {why}")
    return 0


def run_all(args, settings):
    number = failed = 0
    with concurrent.futures.ThreadPoolExecutor(args.at_once) as pool:
        done = pool.map(lambda program: run(program, args.given, settings), args.programs)
        for passed, description, comments in itertools.chain.from_iterable(done):
            number += 1
            failed += not passed
            print(f"{'ok' if passed else 'not ok'} {number} - {description}", flush=True)
            for line in comments:
                print("#", line.lstrip("# "))
    print(f"1..{number}")
    return failed


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--pooled", action="store_true")
    parser.add_argument("--scale", type=int, default=100)
    parser.add_argument("--at-once", type=int, default=1)
    parser.add_argument("--setting", action="append", default=[])
    parser.add_argument("--with", dest="given", action="append", default=[])
    parser.add_argument("module_dir")
    parser.add_argument("programs", nargs="+")
    args = parser.parse_args()
    if not server.find_binaries():
        return skip("there is no PostgreSQL server here (on Debian: postgresql)")
    if args.pooled and not server.Pooler.find():
        return skip("there is no PgBouncer here (on Debian: pgbouncer)")
    scale = int(os.environ.get("PAWL_TEST_SCALE") or 100) * args.scale // 100
    with server.Server("\n".join(args.setting) + "\n") as postgres:
        settings = {"PAWL_TEST_POSTGRES": postgres.url, "PAWL_TEST_SCALE": str(scale),
                    "PAWL_MODULE_DIR": os.path.abspath(args.module_dir)}
        pooler = server.Pooler(postgres) if args.pooled else None
        if pooler:
            settings["PAWL_TEST_POSTGRES_POOL"] = pooler.where
        failed = run_all(args, settings)
        if pooler:
            pooler.close()
        if failed:
            print("# the server's log ends with:")
            for line in postgres.log_tail().splitlines():
                print("#", line)
    return 0


if __name__ == "__main__":
    sys.exit(main())
