#!/usr/bin/env python3
"""Adds up what the test runs really did.

Usage: tally.py LABEL=LOG...

A LOG is meson's testlog.json or a file of TAP lines. What is counted are test points, not
programs: a program that proves forty things counts forty times, and one that died after ten of
forty has ten passed and thirty failed. No news is bad news: a log that is missing or empty, a
program that ran nothing, one that failed without saying at which point, all count as a failure.

The last line of output is "N passed, N failed"; the exit status is 0 only when none failed.
"""
import json
import re
import sys

POINT = re.compile(r"\s*(not )?ok\b(?:\s+\d+)?(.*)")
PLAN = re.compile(r"\s*1\.\.(\d+)")


class Count:
    def __init__(self):
        self.passed = self.failed = self.skipped = 0
        self.complaints = []

    def fail(self, complaint, points=1):
        self.failed += points
        self.complaints.append(complaint)

    def add(self, other):
        self.passed += other.passed
        self.failed += other.failed
        self.skipped += other.skipped
        self.complaints += other.complaints


def read_tap(name, text):
    """Points at the left margin; cmocka and we have no nested ones."""
    count, planned, points = Count(), None, 0
    for line in text.splitlines():
        plan, point = PLAN.match(line), POINT.match(line)
        if plan:
            # A program may run several groups, each with a plan of its own.
            planned = (planned or 0) + int(plan.group(1))
        elif point:
            points += 1
            what = point.group(2).strip(" -")
            if re.search(r"#\s*skip", what, re.IGNORECASE):
                count.skipped += 1  # cmocka says "not ok" before it
            elif point.group(1):
                count.fail(f"{name}: {what}")
            else:
                count.passed += 1
        elif line.startswith("Bail out!"):
            count.fail(f"{name}: {line}")
    if planned is not None and planned > points:
        count.fail(f"{name}: {planned - points} of {planned} were not run", planned - points)
    elif points == 0 and planned != 0:
        count.fail(f"{name}: nothing was run")
    return count


def read_meson_test(test):
    """One line of testlog.json."""
    name, result = test["name"], test["result"]
    if result == "SKIP":
        count = Count()
        count.skipped = 1
        return count
    text = test.get("stdout", "")
    if any(PLAN.match(line) or POINT.match(line) for line in text.splitlines()):
        count = read_tap(name, text)
    else:
        count = Count()
        if result == "OK" and test.get("returncode") == 0:
            count.passed = 1
    if result not in ("OK", "EXPECTEDFAIL") and count.failed == 0:
        count.fail(f"{name}: {result.lower()}, exit status {test.get('returncode')}")
    if count.passed + count.failed + count.skipped == 0:
        count.fail(f"{name}: nothing was run")
    return count


def read_log(label, path):
    count = Count()
    try:
        with open(path, encoding="utf-8", errors="replace") as log:
            if path.endswith(".json"):
                for line in log:
                    count.add(read_meson_test(json.loads(line)))
            else:
                count.add(read_tap(label, log.read()))
    except (OSError, ValueError, KeyError) as error:
        count.fail(f"{label}: no results: {error}")
    if count.passed + count.failed + count.skipped == 0:
        count.fail(f"{label}: nothing was run")
    return count


def main(args):
    total = Count()
    for arg in args:
        label, _, path = arg.partition("=")
        count = read_log(label, path)
        total.add(count)
        print(f"{label:8} {count.passed:6} passed {count.failed:4} failed"
              f" {count.skipped:4} skipped")
        for complaint in count.complaints:
            print(f"    failed: {complaint}")
    if not args:
        total.fail("nothing was run")
    print(f"{total.passed} passed, {total.failed} failed")
    return 1 if total.failed or not total.passed else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
