#!/usr/bin/env python3
"""The conformance suites against a server of our own.

Usage: serve_test.py PAWL [--table]

Starts `pawl serve --test-mode` on a store in a directory of its own and a port that is free, runs
the suites that it must pass, and tells of each case in TAP, or with --table as the runner does.
"""
import json
import os
import shutil
import subprocess
import sys
import tempfile

HERE = os.path.dirname(os.path.abspath(__file__))
PAWL = os.path.abspath(sys.argv[1])
TABLE = "--table" in sys.argv[2:]
ENV = {name: value for name, value in os.environ.items() if not name.startswith("PAWL_")}

SUITES = ["level-0-core", "level-1-reliable", "level-2-scheduled", "level-4-advanced",
          "ext-admin-api", "ext-ai-agents", "ext-dead-letter", "ext-durable-execution",
          "ext-encryption", "ext-federation", "ext-graceful-shutdown", "ext-job-versioning",
          "ext-middleware", "ext-ml-resources", "ext-observability", "ext-progress",
          "ext-schema-registry", "ext-serverless"]
# Recurring jobs are not served yet.
SKIPPED = ["level-2-scheduled/cron/*"]


def start(place):
    server = subprocess.Popen(
        [PAWL, "serve", "--store", f"sqlite:{place}/pawl.db", "--listen", "127.0.0.1:0",
         "--test-mode"], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, env=ENV)
    line = server.stdout.readline()
    if "http://" not in line:
        sys.exit(f"the server did not start: {line}{server.stdout.read()}")
    return server, "http://" + line.split("http://", 1)[1].split()[0]


def run(url, results):
    command = [sys.executable, os.path.join(HERE, "conformance.py"), "--url", url,
               "--reset-url", url + "/ojs/v1/admin/reset",
               "--waivers", os.path.join(HERE, "waivers.json"), "--json", results]
    for suite in SUITES:
        command += ["--suite", suite]
    for case in SKIPPED:
        command += ["--skip", case]
    return subprocess.run(command, stdout=None if TABLE else subprocess.DEVNULL,
                          check=False).returncode


def tell(results):
    with open(results, encoding="utf-8") as file:
        cases = [case for case in json.load(file)["results"]
                 if case["status"] != "skip" or case.get("waived")]
    print(f"1..{len(cases)}")
    for number, case in enumerate(cases, 1):
        if case["status"] == "skip":
            print(f"ok {number} {case['file']} # SKIP {case['reason']}")
            continue
        word = "ok" if case["status"] == "pass" else "not ok"
        print(f"{word} {number} {case['file']}")
        for failure in case["failures"] if word == "not ok" else []:
            print(f"# {failure['step']}: {failure['where']}: expected {failure['expected']}, "
                  f"got {failure['got']}")


def main():
    place = tempfile.mkdtemp(prefix="pawl-conformance-")
    server, url = start(place)
    try:
        code = run(url, os.path.join(place, "results.json"))
        if not TABLE:
            tell(os.path.join(place, "results.json"))
    finally:
        server.terminate()
        left = server.wait(timeout=30)
        shutil.rmtree(place)
    if left:
        sys.exit(f"the server ended with {left}")
    return code if TABLE else 0


if __name__ == "__main__":
    sys.exit(main())
