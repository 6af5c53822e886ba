#!/usr/bin/env python3
"""Prints what must be built for the tests of some suites, for ninja.

Usage: needed.py BUILD_DIR [--suite=NAME...] [--no-suite=NAME...]

The options are those of `meson test`; without any, everything is: one of the tests installs it.
"""
import argparse
import json
import os
import sys


def read(build_dir, kind):
    path = os.path.join(build_dir, "meson-info", f"intro-{kind}.json")
    with open(path, encoding="utf-8") as file:
        return json.load(file)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("build_dir")
    parser.add_argument("--suite", action="append", default=[])
    parser.add_argument("--no-suite", action="append", default=[])
    args = parser.parse_args()
    if not args.suite and not args.no_suite:
        print("all")
        return
    wanted = set()
    for test in read(args.build_dir, "tests"):
        suites = {suite.split(":")[-1] for suite in test["suite"]}
        if not suites & set(args.no_suite) and (not args.suite or suites & set(args.suite)):
            wanted.update(test["depends"])
    files = [file for target in read(args.build_dir, "targets") if target["id"] in wanted
             for file in target["filename"]]
    if not files:
        sys.exit("needed.py: no tests are meant")
    print(*(os.path.relpath(file, args.build_dir) for file in files))


if __name__ == "__main__":
    main()
