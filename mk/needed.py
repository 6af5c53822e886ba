#!/usr/bin/env python3
"""Prints what must be built for some tests, for ninja, or their names, for `meson test`.

Usage: needed.py BUILD_DIR [--names] [--suite=NAME...] [--no-suite=NAME...] [--only=PATTERN]

--suite and --no-suite are those of `meson test`; PATTERN is matched as a file name is. One of the
tests installs everything that is built: where it is among them, the target is "all".
"""
import argparse
import fnmatch
import json
import os
import sys


def read(build_dir, kind):
    path = os.path.join(build_dir, "meson-info", f"intro-{kind}.json")
    with open(path, encoding="utf-8") as file:
        return json.load(file)


def is_wanted(test, args):
    suites = {suite.split(":")[-1] for suite in test["suite"]}
    return (not suites & set(args.no_suite) and (not args.suite or suites & set(args.suite))
            and fnmatch.fnmatch(test["name"], args.only))


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("build_dir")
    parser.add_argument("--names", action="store_true")
    parser.add_argument("--suite", action="append", default=[])
    parser.add_argument("--no-suite", action="append", default=[])
    parser.add_argument("--only", default="*")
    args = parser.parse_args()
    tests = [test for test in read(args.build_dir, "tests") if is_wanted(test, args)]
    if not tests:
        sys.exit("needed.py: no test is meant")
    if args.names:
        print(*(test["name"] for test in tests))
    elif any(test["name"] == "install" for test in tests):
        print("all")
    else:
        wanted = {target for test in tests for target in test["depends"]}
        files = [file for target in read(args.build_dir, "targets") if target["id"] in wanted
                 for file in target["filename"]]
        print(*(os.path.relpath(file, args.build_dir) for file in files))


if __name__ == "__main__":
    main()
