#!/usr/bin/env python3
"""Crash test of the server: clients submit and work over HTTP while it is killed at random moments.

Usage: crash_test.py PAWL

Outside of the store a ledger is kept by the clients. A job that was answered with 201 must not be
lost. Whoever fetches a job notes attempt and worker: one attempt belongs to one worker. What was
reported as done and answered with 200 must be what the store says in the end. When the connection
breaks, the outcome is in doubt: whoever chose the ids beforehand submits the same once more, and
whoever reported reports the same once more.

PAWL_TEST_SCALE is the percentage of kills, PAWL_TEST_SEED repeats the choices of a run (not its
timing). When something is wrong the directory is kept and named.
"""
import collections
import http.client
import json
import os
import random
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import threading
import time

PAWL = os.path.abspath(sys.argv[1])
SCALE = int(os.environ.get("PAWL_TEST_SCALE", "100"))
SEED = int(os.environ.get("PAWL_TEST_SEED", random.SystemRandom().randrange(1 << 32)))
ENV = {name: value for name, value in os.environ.items() if not name.startswith("PAWL_")}
KILLS = max(8, 40 * SCALE // 100)
SUBMITTERS, WORKERS = 3, 4
LEASE_MS = 1500
ROUNDS_S, FINISH_S, REQUEST_S = 240, 120, 60
LAPSES_MAX = 3  # then a job is taken for a poison pill
QUEUES = ["high", "low"]


class Broken(Exception):
    """No answer came: nobody knows what became of the request."""


class Server:
    """`pawl serve`, again and again on the same store and port."""

    def __init__(self, place):
        self.place = place
        with socket.socket() as free:
            free.bind(("127.0.0.1", 0))
            self.port = free.getsockname()[1]
        self.log = os.path.join(place, "log")
        self.process = None
        self.start()

    def start(self):
        with open(self.log, "a", encoding="utf-8") as log:
            self.process = subprocess.Popen(
                [PAWL, "serve", "--listen", f"127.0.0.1:{self.port}"], cwd=self.place, env=ENV,
                stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=log, text=True)
        line = self.process.stdout.readline()
        if not line.startswith("serving "):
            raise AssertionError(f"the server did not start: {line!r}\n{self.story()}")

    def kill(self):
        if self.process.poll() is not None:
            raise AssertionError(f"the server ended by itself: {self.story()}")
        self.process.kill()
        self.process.wait()
        self.process.stdout.close()

    def stop(self):
        self.process.send_signal(signal.SIGTERM)
        code = self.process.wait(FINISH_S)
        self.process.stdout.close()
        return [] if code == 0 else [f"the server ended with {code}: {self.story()}"]

    def story(self):
        with open(self.log, encoding="utf-8") as log:
            return f"exit code {self.process.returncode}\n{log.read()[-3000:]}"


class Client(threading.Thread):
    """A thread with a connection of its own and choices of its own."""

    def __init__(self, port, name, seed):
        super().__init__(name=name)
        self.port, self.random = port, random.Random(seed)
        self.connection = None
        self.stopping = False
        self.trouble = []
        self.broken = 0

    def ask(self, path, body):
        """(status, reply); Broken when there was none."""
        try:
            if self.connection is None:
                self.connection = http.client.HTTPConnection("127.0.0.1", self.port,
                                                             timeout=REQUEST_S)
            self.connection.request("POST", "/ojs/v1" + path, json.dumps(body),
                                    {"Content-Type": "application/openjobspec+json"})
            response = self.connection.getresponse()
            return response.status, json.loads(response.read())
        except TimeoutError as error:
            raise AssertionError(f"{path} was not answered in {REQUEST_S} s") from error
        except (OSError, http.client.HTTPException) as error:
            self.broken += 1
            self.connection.close()
            self.connection = None
            time.sleep(0.02)
            raise Broken from error

    def insist(self, path, body):
        """Asks until there is an answer."""
        end = time.monotonic() + FINISH_S
        while time.monotonic() < end:
            try:
                return self.ask(path, body)
            except Broken:
                pass
        raise AssertionError(f"{path} was never answered")

    def turn(self):
        raise NotImplementedError

    def run(self):
        try:
            while not self.stopping:
                try:
                    self.turn()
                except Broken:
                    pass
        except Exception as error:  # pylint: disable=broad-except
            self.trouble.append(f"{self.name}: {error!r}")
        finally:
            if self.connection:
                self.connection.close()


# ---- submitting ----


class Submitter(Client):
    """One job, or a batch; with ids of its own choice or of the server's."""

    def __init__(self, *args):
        super().__init__(*args)
        self.acknowledged, self.batches = [], []
        self.repeated = 0

    def new_id(self):
        bits = (int(time.time() * 1000) << 80) | self.random.getrandbits(80)
        bits = bits & ~(0xf << 76) | (7 << 76)
        text = f"{bits & ~(3 << 62) | (2 << 62):032x}"
        return "-".join([text[:8], text[8:12], text[12:16], text[16:20], text[20:]])

    def envelope(self):
        kind = self.random.choices(["quick", "slow", "flaky"], [80, 10, 10])[0]
        retry = {"max_attempts": 100, "initial_interval": "PT0.05S", "max_interval": "PT0.2S"}
        options = {"queue": self.random.choice(QUEUES), "retry": retry,
                   "priority": self.random.randrange(-5, 6)}
        if self.random.random() < 0.2:
            options["delay_until"] = f"+PT0.{self.random.randrange(5)}S"
        return {"type": kind, "args": ["x" * self.random.randrange(300)], "options": options}

    def accept(self, status, reply, jobs):
        assert status == 201, (status, reply)
        assert len(jobs) == len(set(job["id"] for job in jobs))
        self.acknowledged += [job["id"] for job in jobs]

    def one(self):
        status, reply = self.ask("/jobs", self.envelope())
        self.accept(status, reply, [reply.get("job", {})])

    def one_with_an_id(self):
        """In doubt it is submitted again: then it is there already, or is added now."""
        job = {"id": self.new_id(), **self.envelope()}
        try:
            status, reply = self.ask("/jobs", job)
        except Broken:
            self.repeated += 1
            status, reply = self.insist("/jobs", job)
            if status == 409:
                assert reply["error"]["code"] == "duplicate", reply
                self.acknowledged.append(job["id"])
                return
        self.accept(status, reply, [reply.get("job", {})])
        assert reply["job"]["id"] == job["id"], reply

    def batch(self):
        """All or none, whether or not the answer comes."""
        jobs = [{"id": self.new_id(), **self.envelope()}
                for _ in range(self.random.randrange(2, 30))]
        self.batches.append([job["id"] for job in jobs])
        status, reply = self.ask("/jobs/batch", {"jobs": jobs})
        self.accept(status, reply, reply.get("jobs", []))
        assert [job["id"] for job in reply["jobs"]] == self.batches[-1], reply

    def turn(self):
        self.random.choices([self.one, self.one_with_an_id, self.batch], [50, 30, 20])[0]()
        time.sleep(self.random.random() * 0.03)


# ---- working ----


class Worker(Client):
    """Fetches, sometimes waiting for it; reports what it did, or is too late, or never does."""

    def __init__(self, *args):
        super().__init__(*args)
        self.claims = []  # (id, attempt)
        self.done = {}    # id -> attempt whose completion was answered with 200
        self.tally = collections.Counter()
        self.gentle = False

    def owner(self, job):
        return {"job_id": job["id"], "worker_id": self.name, "attempt": job["attempt"]}

    def result(self, job):
        return f"{self.name} {job['attempt']}"

    def turn(self):
        body = {"queues": QUEUES, "count": self.random.randrange(1, 6), "worker_id": self.name,
                "visibility_timeout_ms": LEASE_MS}
        if self.random.random() < 0.5:
            body["wait_ms"] = 300
        status, reply = self.ask("/workers/fetch", body)
        assert status == 200, (status, reply)
        self.claims += [(job["id"], job["attempt"]) for job in reply["jobs"]]
        for job in reply["jobs"]:
            self.work(job)
        if not reply["jobs"]:
            time.sleep(0.01)

    def work(self, job):
        if job["type"] == "slow":
            time.sleep(0.05)
        dice = self.random.random()
        if dice < 0.005 and not self.gentle:
            self.tally["forgotten"] += 1
        elif dice < 0.01 and not self.gentle:
            self.tally["late"] += 1
            time.sleep(LEASE_MS / 1000 * self.random.uniform(1, 1.5))
            self.ack(job)
        elif job["type"] == "flaky" and job["attempt"] == 1:
            self.nack(job)
        else:
            self.ack(job)

    def report(self, path, body):
        """The same again when no answer came: it must not make a difference."""
        try:
            return self.ask(path, body)
        except Broken:
            self.tally["repeated"] += 1
            return self.insist(path, body)

    def ack(self, job):
        status, reply = self.report("/workers/ack", {**self.owner(job),
                                                     "result": self.result(job)})
        assert status in (200, 409), (status, reply)
        self.tally[f"ack {status}"] += 1
        if status == 200:
            assert reply["state"] == "completed", reply
            self.done[job["id"]] = job["attempt"]

    def nack(self, job):
        error = {"code": "handler_error", "message": "not yet", "type": "NotYet"}
        status, reply = self.report("/workers/nack", {**self.owner(job), "error": error})
        assert status in (200, 409), (status, reply)
        self.tally[f"nack {status}"] += 1


# ---- the storm ----


class Storm:
    """Kills and restarts; when is drawn from the seed."""

    def __init__(self, place):
        self.place, self.random = place, random.Random(SEED)
        self.server = Server(place)
        self.kills = 0
        port = self.server.port
        self.submitters = [Submitter(port, f"submitter-{i}", SEED + i) for i in range(SUBMITTERS)]
        self.workers = [Worker(port, f"worker-{i}", SEED + 100 + i) for i in range(WORKERS)]
        self.trouble = []
        for client in self.clients:
            client.start()

    @property
    def clients(self):
        return self.submitters + self.workers

    def rage(self):
        end = time.monotonic() + ROUNDS_S
        while self.kills < KILLS and time.monotonic() < end:
            time.sleep(self.random.choice([0.02, 0.2, 0.6]) * self.random.uniform(0.5, 1.5))
            self.server.kill()
            self.kills += 1
            time.sleep(self.random.choice([0, 0, 0.1]))
            self.server.start()
            if any(client.trouble for client in self.clients):
                break
        self.end(self.submitters)

    def end(self, clients):
        for client in clients:
            client.stopping = True
        for client in clients:
            client.join(FINISH_S)
            if client.is_alive():
                self.trouble.append(f"{client.name} hangs")
            self.trouble += client.trouble

    def waiting(self):
        states = "available,active,scheduled,retryable"
        return int(self.pawl("list", "--count", "--state", states).stdout)

    def pawl(self, *args):
        return subprocess.run([PAWL, *args], cwd=self.place, env=ENV, text=True,
                              stdout=subprocess.PIPE, stderr=subprocess.STDOUT, check=False,
                              timeout=FINISH_S)

    def finish(self):
        """No more kills: what is left is worked off; complaints."""
        for worker in self.workers:
            worker.gentle = True
        end = time.monotonic() + FINISH_S
        while (left := self.waiting()) and time.monotonic() < end:
            time.sleep(0.1)
        self.end(self.workers)
        found = [f"{left} jobs are left"] if left else []
        return found + self.server.stop()


# ---- afterwards ----


class Books:
    """The store and the ledger, side by side. Each check returns complaints."""

    def __init__(self, storm):
        self.storm = storm
        listing = storm.pawl("list", "--all", "--jsonl").stdout
        self.jobs = {job["id"]: job for job in map(json.loads, listing.splitlines())}
        self.acknowledged = [job for submitter in storm.submitters
                             for job in submitter.acknowledged]
        self.owners = collections.defaultdict(list)
        for worker in storm.workers:
            for claim in worker.claims:
                self.owners[claim].append(worker.name)

    def server_was_killed_often_enough(self):
        kills = self.storm.kills
        return [] if kills >= KILLS else [f"{kills} of {KILLS} kills"]

    def clients_met_nothing_unexpected(self):
        return self.storm.trouble

    def no_acknowledged_job_is_missing(self):
        twice = len(self.acknowledged) - len(set(self.acknowledged))
        found = [f"{job} is not there" for job in self.acknowledged if job not in self.jobs]
        return found + ([f"{twice} ids were given twice"] if twice else [])

    def batches_are_there_whole_or_not_at_all(self):
        found = []
        for submitter in self.storm.submitters:
            for batch in submitter.batches:
                there = sum(job in self.jobs for job in batch)
                if there not in (0, len(batch)):
                    found.append(f"{there} of {len(batch)} jobs of a batch are there")
        return found

    def lapses(self, job_id):
        story = json.loads(self.storm.pawl("show", job_id, "--json").stdout)
        return sum(failure["lapsed"] for failure in story["failures"])

    def every_job_ended(self):
        """Completed; or given up as a poison pill, if it lapsed often enough."""
        return [f"{job['id']} is {job['state']} after {job.get('run', 0)} runs"
                for job in self.jobs.values() if job["state"] != "completed" and
                not (job["state"] == "discarded" and self.lapses(job["id"]) >= LAPSES_MAX)]

    def no_attempt_was_given_to_two_workers(self):
        return [f"{job} attempt {attempt} was given to {owners}"
                for (job, attempt), owners in self.owners.items() if len(owners) > 1]

    def no_job_was_completed_by_two_owners(self):
        """What was answered with 200 is what the store says."""
        found = []
        for worker in self.storm.workers:
            for job_id, attempt in worker.done.items():
                result = self.jobs.get(job_id, {}).get("result")
                if result != f"{worker.name} {attempt}":
                    found.append(f"{job_id} was completed by {worker.name} in attempt {attempt}, "
                                 f"but its result is {result!r}")
        return found

    def whoever_completed_a_job_had_been_given_it(self):
        found = []
        for job in self.jobs.values():
            if job["state"] == "completed":
                owner = self.owners.get((job["id"], job["attempt"]), ["nobody"])[0]
                if job.get("result") != f"{owner} {job['attempt']}":
                    found.append(f"{job['id']}: result {job.get('result')!r} of attempt "
                                 f"{job['attempt']}, which {owner} had")
        return found

    def the_store_checks_clean(self):
        done = self.storm.pawl("check")
        return [] if done.returncode == 0 else done.stdout.splitlines()


CHECKS = [Books.server_was_killed_often_enough, Books.clients_met_nothing_unexpected,
          Books.no_acknowledged_job_is_missing, Books.batches_are_there_whole_or_not_at_all,
          Books.every_job_ended, Books.no_attempt_was_given_to_two_workers,
          Books.no_job_was_completed_by_two_owners,
          Books.whoever_completed_a_job_had_been_given_it, Books.the_store_checks_clean]


def tell(number, name, complaints):
    print(f"{'not ' if complaints else ''}ok {number} - {name}", flush=True)
    for line in "\n".join(complaints).splitlines()[:100]:
        print("# " + line, flush=True)
    return bool(complaints)


def summary(storm, books):
    tally = sum((worker.tally for worker in storm.workers), collections.Counter())
    broken = sum(client.broken for client in storm.clients)
    again = sum(job.get("run", 0) > 1 for job in books.jobs.values())
    repeated = sum(submitter.repeated for submitter in storm.submitters)
    print(f"# {storm.kills} kills, {broken} requests without an answer, {repeated} submitted again"
          f"\n# {len(books.acknowledged)} of {len(books.jobs)} jobs acknowledged, {again} ran more "
          f"than once\n# reports: {dict(sorted(tally.items()))}", flush=True)


def main():
    place = tempfile.mkdtemp(prefix="pawl-http-crash-")
    print(f"1..{len(CHECKS) + 1}\n# seed {SEED}, {KILLS} kills", flush=True)
    began = time.monotonic()
    storm = Storm(place)
    storm.rage()
    raged = time.monotonic() - began
    failed = tell(1, "what_is_left_is_worked_off", storm.finish())
    books = Books(storm)
    for number, check in enumerate(CHECKS, 2):
        failed += tell(number, check.__name__, check(books))
    summary(storm, books)
    print(f"# {raged:.0f} s of rounds, {time.monotonic() - began:.0f} s in all")
    if failed:
        print(f"# kept for a look: {place}")
    else:
        shutil.rmtree(place)
    sys.exit(1 if failed else 0)


main()
