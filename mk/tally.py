#!/usr/bin/env python3
"""Summarizes the results of the test runs.

Usage: tally.py LABEL=LOG...
       tally.py --again LOG

A LOG is meson's testlog.json or a file of TAP lines. What is counted are test points, not
programs: a program that proves forty things counts forty times, and one that died after ten of
forty has ten passed and thirty failed. No news is bad news: a log that is missing or empty, a
program that ran nothing, one that failed without saying at which point, all count as a failure.

Beside LABEL.json there may be LABEL.again.json, of programs that failed and were run once more,
alone. They count as they did then, and are named as unsteady: on a busy machine a deadline may
pass that says nothing about the product. No second run excuses a crash or a sanitizer's finding,
nor anything in a suite that looks for races, which are rare by nature, or in the step "tsan".
With --again the names of programs that deserve one are printed; none, or too many to be chance:
the exit status is 1.

At the end the programs that took longest are listed. The last line of output is "N passed,
N failed"; the exit status is 0 only when none failed.
"""
import json
import os
import re
import sys

POINT = re.compile(r"\s*(not )?ok\b(?:\s+\d+)?(.*)")
PLAN = re.compile(r"\s*1\.\.(\d+)")
FINDING = re.compile(r"Sanitizer|runtime error:")
AGAIN_MAX = 3
SLOWEST = 10
RACES = {"cluster", "contract", "crash", "isolation", "model", "races", "threads"}  # suites


class Count:
    def __init__(self):
        self.passed = self.failed = self.skipped = 0
        self.complaints = []
        self.unsteady = []
        self.durations = []  # (seconds, program)

    def fail(self, complaint, points=1):
        self.failed += points
        self.complaints.append(complaint)

    def add(self, other):
        self.passed += other.passed
        self.failed += other.failed
        self.skipped += other.skipped
        self.complaints += other.complaints
        self.unsteady += other.unsteady
        self.durations += other.durations


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


def looks_for_races(label, test):
    """A test's name is "project:suite+suite / name"."""
    suites = re.split(r"[:+ ]", test["name"].rpartition(" / ")[0])
    return label == "tsan" or not RACES.isdisjoint(suites)


def may_be_chance(label, test):
    """Did it fail in a way that a busy machine can cause?"""
    output = test.get("stdout", "") + test.get("stderr", "")
    return (not looks_for_races(label, test) and test["result"] in ("ERROR", "FAIL", "TIMEOUT")
            and test.get("returncode", 0) >= 0 and not FINDING.search(output))


def read_meson_log(path):
    with open(path, encoding="utf-8", errors="replace") as log:
        return [json.loads(line) for line in log]


def read_meson(label, path):
    second = path.removesuffix(".json") + ".again.json"
    again = {test["name"]: test for test in read_meson_log(second)} \
        if os.path.exists(second) else {}
    count = Count()
    for test in read_meson_log(path):
        name = test["name"]
        if name in again and may_be_chance(label, test):
            first, test = test, again[name]
            count.unsteady += read_meson_test(first).complaints
        count.add(read_meson_test(test))
        count.durations.append((test.get("duration", 0), f"{name.split(' / ')[-1]} ({label})"))
    return count


def print_again(path):
    label = os.path.basename(path).removesuffix(".json")
    failed = [test for test in read_meson_log(path) if read_meson_test(test).failed]
    if not 0 < len(failed) <= AGAIN_MAX or \
            not all(may_be_chance(label, test) for test in failed):
        return 1
    print(*(test["name"].split(" / ")[-1] for test in failed))
    return 0


def read_log(label, path):
    count = Count()
    try:
        if path.endswith(".json"):
            count.add(read_meson(label, path))
        else:
            with open(path, encoding="utf-8", errors="replace") as log:
                count.add(read_tap(label, log.read()))
    except (OSError, ValueError, KeyError) as error:
        count.fail(f"{label}: no results: {error}")
    if count.passed + count.failed + count.skipped == 0:
        count.fail(f"{label}: nothing was run")
    return count


def main(args):
    if args[:1] == ["--again"]:
        return print_again(args[1])
    total = Count()
    for arg in args:
        label, _, path = arg.partition("=")
        count = read_log(label, path)
        total.add(count)
        print(f"{label:8} {count.passed:6} passed {count.failed:4} failed"
              f" {count.skipped:4} skipped")
        for complaint in count.complaints:
            print(f"    failed: {complaint}")
        for complaint in count.unsteady:
            print(f"    unsteady: {complaint}")
    if not args:
        total.fail("nothing was run")
    slowest = sorted(total.durations, reverse=True)[:SLOWEST]
    if slowest:
        print("slowest:", ", ".join(f"{name} {seconds:.0f} s" for seconds, name in slowest))
    print(f"{total.passed} passed, {total.failed} failed")
    return 1 if total.failed or not total.passed else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
