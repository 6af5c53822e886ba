#!/usr/bin/env python3
"""The conformance suites against a server of our own.

Usage: serve_test.py PAWL [--table]

Starts `pawl serve --test-mode` on a store of its own (outside.py) and a port that is free, runs
the suites that it must pass, and tells of each case in TAP, or with --table as the runner does.
Most of the time the cases wait, so several servers are put through them at once.
"""
import concurrent.futures
import json
import os
import shutil
import subprocess
import sys
import tempfile

HERE = os.path.dirname(os.path.abspath(__file__))
sys.dont_write_bytecode = True
sys.path.append(os.path.join(HERE, "../support"))
import outside

PAWL = os.path.abspath(sys.argv[1])
TABLE = "--table" in sys.argv[2:]
ENV = outside.environment()

SUITES = ["level-0-core", "level-1-reliable", "level-2-scheduled", "level-3-workflows",
          "level-4-advanced",
          "ext-admin-api", "ext-ai-agents", "ext-dead-letter", "ext-durable-execution",
          "ext-encryption", "ext-federation", "ext-graceful-shutdown", "ext-job-versioning",
          "ext-middleware", "ext-ml-resources", "ext-observability", "ext-progress",
          "ext-schema-registry", "ext-serverless"]
SERVERS = 6


def start(place):
    server = subprocess.Popen(
        [PAWL, "serve", "--store", outside.make_store(place), "--listen", "127.0.0.1:0",
         "--test-mode"], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, env=ENV)
    line = server.stdout.readline()
    if "http://" not in line:
        raise RuntimeError(f"the server did not start: {line}{server.stdout.read()}")
    return server, "http://" + line.split("http://", 1)[1].split()[0]


def runner(*more):
    command = [sys.executable, os.path.join(HERE, "conformance.py"),
               "--waivers", os.path.join(HERE, "waivers.json")]
    for suite in SUITES:
        command += ["--suite", suite]
    return command + list(more)


def run(cases, tested):
    """Puts a server through the cases, all when there are none. The exit code of the runner."""
    place = tempfile.mkdtemp(prefix="pawl-conformance-")
    results = os.path.join(place, "results.json")
    server, url = start(place)
    try:
        command = runner("--url", url, "--reset-url", url + "/ojs/v1/admin/reset",
                         "--json", results)
        for case in cases:
            command += ["--test", case]
        code = subprocess.run(command, stdout=None if TABLE else subprocess.DEVNULL,
                              check=False).returncode
        with open(results, encoding="utf-8") as file:
            tested += json.load(file)["results"]
    finally:
        server.terminate()
        left = server.wait(timeout=120)
        shutil.rmtree(place)
    if left:
        raise RuntimeError(f"the server ended with {left}")
    return code


def deal():
    """The cases in parts that wait equally long."""
    listed = subprocess.run(runner("--list"), stdout=subprocess.PIPE, text=True, check=True).stdout
    cases = [(float(words[2]), words[0]) for words in map(str.split, listed.splitlines())]
    parts = [[0.0, []] for _ in range(SERVERS)]
    for wait, case in sorted(cases, reverse=True):
        least = min(parts, key=lambda part: part[0])
        least[0] += wait + 0.1
        least[1].append(case)
    return [part[1] for part in parts]


def tell(tested):
    cases = [case for case in sorted(tested, key=lambda case: case["file"])
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
    tested = []
    if TABLE:
        return run([], tested)
    with concurrent.futures.ThreadPoolExecutor(SERVERS) as pool:
        for running in [pool.submit(run, cases, tested) for cases in deal()]:
            running.result()
    tell(tested)
    return 0


if __name__ == "__main__":
    sys.exit(main())
