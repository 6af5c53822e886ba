#!/usr/bin/env python3
"""Crash test of the command: nodes and submitters on one store are killed at random moments.

Usage: work_test.py PAWL

The store is a file, or on a server when suites.py runs this.

Outside of the store a ledger is kept. Submitters note each id that pawl printed: from then on the
job must not be lost. Commands note that a run of theirs starts and ends: each run must belong to
one process. Nodes are killed with -9, suspended for longer than their leases last, or asked to
stop; submitters are killed. In the end a last node finishes what is left, and the books must agree.

PAWL_TEST_SCALE is the percentage of rounds, PAWL_TEST_SEED repeats the choices of a run (not its
timing). When something is wrong the directory is kept and named.
"""
import collections
import json
import os
import random
import shutil
import signal
import subprocess
import sys
import tempfile
import threading
import time

sys.dont_write_bytecode = True  # the tree stays as it was
sys.path.append(os.path.join(os.path.dirname(os.path.abspath(__file__)), "../support"))
import outside

# Nodes inherit what is ignored, as in a shell's background; they are to hear it.
signal.signal(signal.SIGINT, signal.default_int_handler)

PAWL = os.path.abspath(sys.argv[1])
SCALE = int(os.environ.get("PAWL_TEST_SCALE", "100"))
SEED = int(os.environ.get("PAWL_TEST_SEED", random.SystemRandom().randrange(1 << 32)))
ENV = outside.environment()
KILLS = max(4, SCALE)  # of nodes
NODES = 3
SUBMITTERS = 2
LEASE_S = 1
ROUNDS_S = 240  # far more than it takes
FINISH_S = 120
LAPSES_MAX = 3  # then a job is taken for a poison pill

# A run says so when it starts and when it ends; each line is one append. What it prints becomes the
# result, to be compared with the ledger.
COMMAND = """
note() { echo "$PAWL_JOB_ID $PAWL_RUN $$ $1" >>LEDGER; }
note start
WORK
note end
echo "\\"$PAWL_RUN $$\\""
"""
WORKS = {
    "quick": ":",
    "slow": "sleep 0.2",
    "long": "sleep 1.3",  # longer than a lease
    "flaky": "[ $PAWL_ATTEMPT -gt 1 ] || exit 75",
}


class Node:
    """A `pawl work` with all the commands."""

    def __init__(self, place, number):
        self.log = os.path.join(place, f"node-{number}.log")
        args = [PAWL, "work", "--lease", f"{LEASE_S}s", "--workers", "3", "--drain", "300ms",
                "--queue", "default", "--queue", "narrow=1", "--name", f"node-{number}"]
        for kind, work in WORKS.items():
            command = COMMAND.replace("LEDGER", os.path.join(place, "ledger"))
            args += ["--exec", f"{kind}={command.replace('WORK', work)}"]
        with open(self.log, "w", encoding="utf-8") as log:
            self.process = subprocess.Popen(args, cwd=place, env=ENV, stdin=subprocess.DEVNULL,
                                            stderr=log)

    def is_gone(self):
        return self.process.poll() is not None

    def said(self):
        with open(self.log, encoding="utf-8") as log:
            return log.read()

    def story(self):
        return f"{self.log}: exit code {self.process.returncode}\n{self.said()[-2000:]}"


class Submitter(threading.Thread):
    """Feeds jobs to `pawl submit` and notes the ids that it prints, until told to stop."""

    def __init__(self, place, seed):
        super().__init__()
        self.place, self.random = place, random.Random(seed)
        self.process, self.stopping = None, False
        self.acknowledged, self.killed = [], 0
        self.start()

    def line(self):
        kind = self.random.choices(list(WORKS), [60, 15, 2, 10])[0]
        job = {"type": kind, "max_attempts": 100, "priority": self.random.randrange(-5, 6),
               "retry": {"initial_ms": 50}, "args": ["x" * self.random.randrange(200)]}
        if self.random.random() < 0.2:
            job["delay_ms"] = self.random.randrange(500)
        if self.random.random() < 0.1:
            job["queue"] = "narrow"
        return json.dumps(job) + "\n"

    def feed(self, process):
        try:
            for _ in range(self.random.randrange(1, 40)):
                process.stdin.write(self.line())
                process.stdin.flush()
                time.sleep(0.02)
            process.stdin.close()
        except OSError:
            pass  # it was killed

    def run(self):
        while not self.stopping:
            process = subprocess.Popen([PAWL, "submit", "--json", "-"], cwd=self.place, env=ENV,
                                       text=True, stdin=subprocess.PIPE,
                                       stdout=subprocess.PIPE, stderr=subprocess.DEVNULL)
            self.process = process
            feeder = threading.Thread(target=self.feed, args=[process])
            feeder.start()
            for line in process.stdout:
                if line.endswith("\n"):  # else it was cut short, and nothing was promised
                    self.acknowledged.append(json.loads(line)["id"])
            feeder.join()
            process.stdout.close()
            self.killed += process.wait() != 0

    def kill(self):
        if self.process:
            self.process.kill()


class Storm:
    """The rounds: what happens to whom is drawn from the seed."""

    def __init__(self, place):
        self.place, self.random = place, random.Random(SEED)
        self.count = 0
        self.tally = collections.Counter()
        self.troubles = []
        self.nodes = [self.node() for _ in range(NODES)]
        self.submitters = [Submitter(place, SEED + 1 + i) for i in range(SUBMITTERS)]

    def node(self):
        self.count += 1
        return Node(self.place, self.count)

    def replace(self, number):
        self.nodes[number] = self.node()

    def kill_node(self, number):
        self.nodes[number].process.kill()
        self.nodes[number].process.wait()
        self.replace(number)

    def suspend_node(self, number):
        process = self.nodes[number].process
        process.send_signal(signal.SIGSTOP)
        time.sleep(LEASE_S * self.random.uniform(0.5, 2))
        process.send_signal(signal.SIGCONT)

    def stop_node(self, number):
        node = self.nodes[number]
        # One that is not up yet has not learnt to stop in an orderly way.
        while " is up" not in node.said() and not node.is_gone():
            time.sleep(0.01)
        node.process.send_signal(signal.SIGTERM)
        if node.process.wait(FINISH_S) != 0:
            self.troubles.append(f"a node did not stop well\n{node.story()}")
        self.replace(number)

    def kill_submitter(self, _):
        self.random.choice(self.submitters).kill()

    def round(self):
        time.sleep(self.random.choice([0.01, 0.1, 0.3, 0.6]) * self.random.random() * 2)
        for number, node in enumerate(self.nodes):
            if node.is_gone():
                self.troubles.append(f"a node went by itself\n{node.story()}")
                self.replace(number)
        deed = self.random.choices([self.kill_node, self.kill_submitter, self.stop_node,
                                    self.suspend_node], [70, 20, 6, 4])[0]
        self.tally[deed.__name__] += 1
        deed(self.random.randrange(NODES))

    def rage(self):
        end = time.monotonic() + ROUNDS_S
        while self.tally["kill_node"] < KILLS and time.monotonic() < end:
            self.round()
        for submitter in self.submitters:
            submitter.stopping = True
        for submitter in self.submitters:
            submitter.join()
        for node in self.nodes:
            node.process.kill()
            node.process.wait()

    def acknowledged(self):
        return [job_id for submitter in self.submitters for job_id in submitter.acknowledged]


# ---- afterwards ----


def pawl(place, *args):
    return subprocess.run([PAWL, *args], cwd=place, env=ENV, text=True, stdout=subprocess.PIPE,
                          stderr=subprocess.STDOUT, check=False, timeout=FINISH_S)


def finish(storm):
    """A last node finishes what is left; complaints."""
    node = storm.node()
    end = time.monotonic() + FINISH_S
    left = None
    while left != 0 and time.monotonic() < end and not node.is_gone():
        time.sleep(0.1)
        left = int(pawl(storm.place, "list", "--count", "--state",
                        "available,active,scheduled,retryable").stdout)
    node.process.send_signal(signal.SIGTERM)
    code = node.process.wait(FINISH_S)
    found = [] if left == 0 else [f"{left} jobs are left"]
    return found + ([] if code == 0 else [f"the last node: {node.story()}"])


def read_ledger(place):
    """(id, run) -> the processes that started and that ended it."""
    starts, ends = collections.defaultdict(list), collections.defaultdict(list)
    with open(os.path.join(place, "ledger"), encoding="utf-8") as ledger:
        for line in ledger:
            job_id, run, pid, what = line.split()
            {"start": starts, "end": ends}[what][job_id, int(run)].append(int(pid))
    return starts, ends


def lapses(place, job_id):
    story = json.loads(pawl(place, "show", job_id, "--json").stdout)
    return sum(failure["lapsed"] for failure in story["failures"])


class Books:
    """The store and the ledger, side by side. Each check returns complaints."""

    def __init__(self, storm):
        self.storm = storm
        listing = pawl(storm.place, "list", "--all", "--jsonl").stdout
        self.jobs = {job["id"]: job for job in map(json.loads, listing.splitlines())}
        self.starts, self.ends = read_ledger(storm.place)

    def nodes_were_killed_often_enough(self):
        kills = self.storm.tally["kill_node"]
        return [] if kills >= KILLS else [f"{kills} of {KILLS} kills in {ROUNDS_S} s"]

    def nodes_did_nothing_unasked(self):
        return self.storm.troubles

    def no_acknowledged_job_is_missing(self):
        acknowledged = self.storm.acknowledged()
        twice = len(acknowledged) - len(set(acknowledged))
        found = [f"{job_id} is not there" for job_id in acknowledged if job_id not in self.jobs]
        return found + ([f"{twice} ids were given twice"] if twice else [])

    def every_job_ended(self):
        """Completed; or given up as a poison pill, if it lapsed often enough."""
        found = []
        for job in self.jobs.values():
            pill = job["state"] == "discarded" and lapses(self.storm.place,
                                                          job["id"]) >= LAPSES_MAX
            if job["state"] != "completed" and not pill:
                found.append(f"{job['id']} is {job['state']} after {job.get('run', 0)} runs")
        return found

    def no_run_belongs_to_two_processes(self):
        return [f"{job_id} run {run} was {what} by {pids}"
                for what, book in (("started", self.starts), ("ended", self.ends))
                for (job_id, run), pids in book.items() if len(pids) > 1]

    def every_run_was_claimed_in_the_store(self):
        return [f"{job_id} run {run} is not in the store" for job_id, run in self.starts
                if run > self.jobs.get(job_id, {}).get("run", 0)]

    def a_completed_job_has_the_result_of_its_last_run(self):
        found = []
        for job in self.jobs.values():
            if job["state"] != "completed":
                continue
            pids = self.ends.get((job["id"], job["run"]))
            wanted = f"{job['run']} {pids[0]}" if pids else "an end in the ledger"
            if job.get("result") != wanted:
                found.append(f"{job['id']} has {job.get('result')!r}, not {wanted!r}")
        return found

    def the_store_checks_clean(self):
        done = pawl(self.storm.place, "check")
        return [] if done.returncode == 0 else done.stdout.splitlines()


CHECKS = [Books.nodes_were_killed_often_enough, Books.nodes_did_nothing_unasked,
          Books.no_acknowledged_job_is_missing, Books.every_job_ended,
          Books.no_run_belongs_to_two_processes, Books.every_run_was_claimed_in_the_store,
          Books.a_completed_job_has_the_result_of_its_last_run, Books.the_store_checks_clean]


def tell(number, name, complaints):
    print(f"{'not ' if complaints else ''}ok {number} - {name}", flush=True)
    for line in "\n".join(complaints).splitlines()[:100]:
        print("# " + line, flush=True)
    return bool(complaints)


def main():
    place = tempfile.mkdtemp(prefix="pawl-work-")
    ENV["PAWL_STORE"] = outside.make_store(place)
    print(f"1..{len(CHECKS) + 1}\n# seed {SEED}, {KILLS} kills", flush=True)
    began = time.monotonic()
    storm = Storm(place)
    storm.rage()
    raged = time.monotonic() - began
    failed = tell(1, "a_last_node_finishes_what_is_left", finish(storm))
    books = Books(storm)
    for number, check in enumerate(CHECKS, 2):
        failed += tell(number, check.__name__, check(books))
    again = sum(job.get("run", 0) > 1 for job in books.jobs.values())
    print(f"# {dict(storm.tally)}, {sum(s.killed for s in storm.submitters)} submitters died\n"
          f"# {len(storm.acknowledged())} of {len(books.jobs)} jobs acknowledged, {again} ran more "
          f"than once\n# {raged:.0f} s of rounds, {time.monotonic() - began:.0f} s in all")
    if failed:
        print(f"# kept for a look: {place}")
    else:
        shutil.rmtree(place)
    sys.exit(1 if failed else 0)


main()
