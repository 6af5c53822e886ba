"""A cluster on a database of its own: nodes, servers, submitters, and the books about them.

Outside of the store a ledger is kept. Submitters note each id that they were given: from then on
the job must not be lost. Commands note when a run of theirs starts and ends: each run must belong
to one process, and the result that the store has must be that of the last run.

Times in the ledger are of the machine's uptime, which no test changes.
"""
import collections
import http.client
import json
import os
import random
import shutil
import signal
import subprocess
import tempfile
import threading
import time
import urllib.parse

DEADLINE_S = 120  # for what must happen, however busy the machine is
LEASE_S = 2  # three that lapse because the machine is busy would be a poison pill
BACKLOG_MAX = 40  # then submitters wait, so that what is left in the end is soon done
LAPSES_MAX = 3  # then a job is taken for a poison pill
TICK_S = 0.02  # of the uptime
OWN = ["setpriv", "--pdeathsig", "INT"]  # whoever is killed takes his nodes along

# What a command prints becomes the result, to be compared with the ledger.
COMMAND = """
note() { read -r up _ </proc/uptime; echo "$PAWL_JOB_ID $PAWL_RUN $$ NODE $1 $up" >>PLACE/ledger; }
note start
WORK
note end
echo "\\"$PAWL_RUN $$\\""
"""
WORKS = {
    "quick": ":",
    "slow": "sleep 0.2",
    "long": "sleep 2.5",  # longer than a lease
    "flaky": "[ $PAWL_ATTEMPT -gt 1 ] || { note end; exit 75; }",
    # waits until the test lets the run, or all runs of the job, go on, or is over
    "held": """cd PLACE
        while [ -e ledger ] && ! [ -e go-$PAWL_JOB_ID ] && ! [ -e go-$PAWL_JOB_ID-$PAWL_RUN ]; do
            sleep 0.05
        done""",
}


def uptime():
    with open("/proc/uptime", encoding="ascii") as file:
        return float(file.read().split()[0])


def until(what, find, deadline_s=DEADLINE_S):
    """What `find` returns, as soon as that is something."""
    end = time.monotonic() + deadline_s
    while True:
        found = find()
        if found:
            return found
        assert time.monotonic() < end, f"waited {deadline_s} s for {what}"
        time.sleep(0.05)


class Ledger:
    """What the commands noted, read as it grows."""

    def __init__(self, path):
        self.path = path
        self.lock = threading.Lock()
        self.read_to = 0
        # (id, run) -> [(process, node, when)], in the order in which they came
        self.starts, self.ends = collections.defaultdict(list), collections.defaultdict(list)
        self.started, self.ended = set(), set()
        open(path, "w", encoding="ascii").close()

    def read(self):
        with self.lock, open(self.path, encoding="ascii") as file:
            file.seek(self.read_to)
            for line in file:
                if not line.endswith("\n"):
                    break
                self.read_to += len(line)
                job_id, run, pid, node, what, when = line.split()
                book = self.starts if what == "start" else self.ends
                book[job_id, int(run)].append((int(pid), node, float(when)))
                (self.started if what == "start" else self.ended).add(job_id)
        return self

    def count_ended(self):
        return len(self.read().ended)

    def open_runs(self, node):
        """What a node began and has not ended."""
        self.read()
        with self.lock:
            return [run for run, notes in self.starts.items()
                    if notes[0][1] == node and run not in self.ends]

    def starts_on(self, node, since, before):
        self.read()
        with self.lock:
            return [when for notes in self.starts.values() for _, name, when in notes
                    if name == node and since < when < before]

    def next_start(self, job_id, run=0):
        """(when, run, node): when a run of the job after this one began, or None."""
        self.read()
        with self.lock:
            later = [(notes[0][2], number, notes[0][1])
                     for (other, number), notes in self.starts.items()
                     if other == job_id and number > run]
        return min(later, default=None)


class Process:
    """A pawl that stays."""

    def __init__(self, cluster, name, args, env=None, prefix=(), stdout=None):
        self.name = name
        self.log = os.path.join(cluster.place, name + ".log")
        self.asked = False  # to end
        with open(self.log, "a", encoding="utf-8") as log:
            self.process = subprocess.Popen([*OWN, *prefix, *args], cwd=cluster.place,
                                            env={**cluster.env, **(env or {})}, text=True,
                                            stdin=subprocess.DEVNULL, stdout=stdout, stderr=log)

    def said(self):
        with open(self.log, encoding="utf-8") as log:
            return log.read()

    def logged(self):
        """The log's entries, without what is not yet a whole line."""
        lines = self.said().splitlines(keepends=True)
        return [json.loads(line) for line in lines if line[0] == "{" and line[-1] == "\n"]

    def story(self):
        return f"{self.name}: exit code {self.process.returncode}\n{self.said()[-1500:]}"

    def kill(self):
        self.asked = True
        self.process.kill()
        self.process.wait()

    def terminate(self):
        self.asked = True
        self.process.send_signal(signal.SIGTERM)

    def stop(self):
        """Complaints."""
        self.terminate()
        code = self.process.wait(DEADLINE_S)
        return [] if code == 0 else [f"did not stop well: {self.story()}"]

    def pause(self):
        self.process.send_signal(signal.SIGSTOP)

    def wake(self):
        self.process.send_signal(signal.SIGCONT)


class Node(Process):
    """A `pawl work` with all the commands; it takes from a queue of its own, then from default."""

    def __init__(self, cluster, name, url, lease_s=LEASE_S, drain="300ms", **how):
        args = [cluster.pawl_path, "work", "--store", url, "--name", name, "--workers", "3",
                "--lease", f"{lease_s}s", "--drain", drain, "--queue", name, "--queue", "default"]
        for kind, work in WORKS.items():
            text = COMMAND.replace("WORK", work).replace("NODE", name)
            args += ["--exec", f"{kind}={text.replace('PLACE', cluster.place)}"]
        super().__init__(cluster, name, args, **how)

    def is_up(self):
        assert self.process.poll() is None, self.story()
        return any(f'node "{self.name}" is up' in entry["message"] for entry in self.logged())


class Serve(Process):
    """A `pawl serve` on a port of its own."""

    def __init__(self, cluster, name, url, unready="500ms", **how):
        args = [cluster.pawl_path, "serve", "--store", url, "--listen", "127.0.0.1:0", "--unready",
                unready]
        super().__init__(cluster, name, args, stdout=subprocess.PIPE, **how)
        line = self.process.stdout.readline()
        assert line.startswith("serving "), (line, self.story())
        self.address = urllib.parse.urlsplit(line.split()[1]).netloc

    def stop(self):
        found = super().stop()
        self.process.stdout.close()
        return found

    def ask(self, method, path, body=None):
        """(status, body); OSError or HTTPException: nobody is there."""
        line = http.client.HTTPConnection(self.address, timeout=DEADLINE_S)
        try:
            line.request(method, path, json.dumps(body) if body is not None else None,
                         {"Content-Type": "application/openjobspec+json"})
            answer = line.getresponse()
            return answer.status, json.loads(answer.read())
        finally:
            line.close()


class Submitter(threading.Thread):
    """Submits in some way and notes what it was told, until told to stop."""

    def __init__(self, cluster, seed):
        super().__init__(daemon=True)
        self.cluster, self.random = cluster, random.Random(seed)
        self.stopping, self.refused = False, 0
        self.acknowledged = []  # (id, not to start before)
        self.start()

    def job(self):
        kind = self.random.choices(["quick", "slow", "long", "flaky"], [60, 15, 2, 10])[0]
        job = {"type": kind, "max_attempts": 100, "priority": self.random.randrange(-5, 6),
               "retry": {"initial_ms": 50}, "args": ["x" * self.random.randrange(200)]}
        if self.random.random() < 0.2:
            job["delay_ms"] = self.random.randrange(500)
        return job

    def pace(self):
        """Waits until there is room for one more."""
        time.sleep(0.02)
        while self.cluster.backlog() > BACKLOG_MAX and not self.stopping:
            time.sleep(0.02)


class CommandSubmitter(Submitter):
    """Feeds `pawl submit`."""

    def __init__(self, cluster, seed, url, env=None):
        self.url, self.env = url, {**cluster.env, **(env or {})}
        super().__init__(cluster, seed)

    def feed(self, process, asked):
        try:
            for _ in range(self.random.randrange(1, 40)):
                if self.stopping:
                    break
                job = self.job()
                asked.append(uptime() + job.get("delay_ms", 0) / 1000)
                process.stdin.write(json.dumps(job) + "\n")
                process.stdin.flush()
                self.pace()
            process.stdin.close()
        except OSError:
            pass  # it gave up

    def run(self):
        while not self.stopping:
            process = subprocess.Popen([self.cluster.pawl_path, "submit", "--store", self.url,
                                        "--json", "-"], cwd=self.cluster.place, env=self.env,
                                       text=True, stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                                       stderr=subprocess.DEVNULL)
            asked = []
            feeder = threading.Thread(target=self.feed, args=[process, asked])
            feeder.start()
            for number, line in enumerate(process.stdout):
                if line.endswith("\n"):  # else it was cut short, and nothing was promised
                    self.acknowledged.append((json.loads(line)["id"], asked[number]))
            feeder.join()
            process.stdout.close()
            if process.wait() != 0:
                self.refused += 1
                time.sleep(0.05)


class HttpSubmitter(Submitter):
    """Posts to a server; to the next one when this one is not there."""

    def __init__(self, cluster, seed, servers):
        self.servers = servers  # a list that others may change
        super().__init__(cluster, seed)

    def run(self):
        at = 0
        while not self.stopping:
            job = {"type": self.job()["type"], "args": [], "options": {"retry": {
                "max_attempts": 100, "initial_interval": "PT0.05S"}}}
            asked = uptime()
            try:
                status, body = self.servers[at % len(self.servers)].ask("POST", "/ojs/v1/jobs", job)
            except (OSError, http.client.HTTPException):
                status = None
            if status == 201:
                self.acknowledged.append((body["job"]["id"], asked))
            else:
                self.refused += 1
                at += 1
            self.pace()


class Cluster:
    """All of it. Between `with` and its end; what is left over is ended, well or not."""

    def __init__(self, pawl_path, module_dir, postgres, name, seed):
        self.pawl_path, self.postgres, self.name = pawl_path, postgres, name
        self.place = tempfile.mkdtemp(prefix="pawl-cluster-")
        self.env = {name: value for name, value in os.environ.items()
                    if not name.startswith("PAWL_")}
        self.url = self.url_by(f"host={postgres.dir}&user=pawl")
        self.env.update(PAWL_MODULE_DIR=module_dir, PAWL_STORE=self.url)
        self.random, self.seed = random.Random(seed), seed
        self.ledger = Ledger(os.path.join(self.place, "ledger"))
        self.processes, self.submitters, self.troubles = [], [], []
        self.extra = []  # acknowledged to the test itself
        self.count, self.kept = 0, False
        postgres.sql(f"CREATE DATABASE {name}")
        self.pawl("migrate")

    def __enter__(self):
        return self

    def __exit__(self, kind, value, trace):
        for submitter in self.submitters:
            submitter.stopping = True
        for process in self.processes:
            if process.process.poll() is None:
                process.wake()
                process.kill()
        for submitter in self.submitters:
            submitter.join(DEADLINE_S)
        for job_id in self.extra:
            self.let_go(job_id)
        if not self.kept:  # commands that outlived their nodes may still write here
            shutil.rmtree(self.place, ignore_errors=True)

    def keep(self):
        """The directory stays."""
        self.kept = True
        return self.place

    def url_by(self, where):
        return f"postgres:///{self.name}?{where}"

    def pawl(self, *args, env=None):
        done = subprocess.run([self.pawl_path, *args], cwd=self.place, text=True,
                              env={**self.env, **(env or {})}, capture_output=True, check=False,
                              timeout=DEADLINE_S)
        assert done.returncode == 0, (args, done.stdout, done.stderr)
        return done.stdout

    # ---- who works ----

    def begin_node(self, name=None, url=None, **how):
        """Started, but perhaps not up yet. A name is not used again unless it is given."""
        self.count += 1
        node = Node(self, name or f"node-{self.count}", url or self.url, **how)
        self.processes.append(node)
        return node

    def node(self, *args, **how):
        node = self.begin_node(*args, **how)
        until(f"{node.name} to be up", node.is_up)
        return node

    def nodes(self, count, **how):
        begun = [self.begin_node(**how) for _ in range(count)]
        for node in begun:
            until(f"{node.name} to be up", node.is_up)
        return begun

    def serve(self, **how):
        self.count += 1
        server = Serve(self, f"serve-{self.count}", self.url, **how)
        self.processes.append(server)
        return server

    def stop(self, process):
        self.troubles += process.stop()

    # ---- what is to be done ----

    def load(self, url=None, env=None):
        """Two submitters."""
        for settings in env or [None, None]:
            self.seed += 1
            self.submitters.append(CommandSubmitter(self, self.seed, url or self.url, settings))

    def load_by(self, servers):
        self.seed += 1
        self.submitters.append(HttpSubmitter(self, self.seed, servers))

    def submit(self, kind, *options, env=None):
        job_id = self.pawl("submit", kind, "--quiet", "--max-attempts", "100", *options,
                           env=env).strip()
        self.extra.append(job_id)
        return job_id

    def let_go(self, job_id, run=None):
        """One run, or all."""
        name = f"go-{job_id}-{run}" if run else f"go-{job_id}"
        open(os.path.join(self.place, name), "w", encoding="ascii").close()

    def acknowledged(self):
        return [ack for submitter in self.submitters for ack in submitter.acknowledged]

    def backlog(self):
        """Jobs that never started; one that is given up as a poison pill does not end either."""
        return len(self.acknowledged()) - len(self.ledger.read().started.difference(self.extra))

    def progress(self, count):
        """Waits until so many more jobs have ended."""
        wanted = self.ledger.count_ended() + count
        until(f"{count} jobs to end", lambda: self.ledger.count_ended() >= wanted)

    # ---- what happened ----

    def job(self, job_id):
        return json.loads(self.pawl("show", job_id, "--json"))

    def completed(self, job_id):
        """The job, once it is."""
        def find():
            job = self.job(job_id)
            return job if job["state"] == "completed" else None
        return until(f"{job_id} to be completed", find)

    def hold(self, *nodes):
        """(job, node): a first run that goes on, on one of the nodes. Tries until it is there."""
        names = {node.name: node for node in nodes}
        while True:
            job_id = self.submit("held", "--priority", "10")
            _, run, name = until("a run that is held", lambda: self.ledger.next_start(job_id))
            if run == 1 and name in names:
                return job_id, names[name]
            self.let_go(job_id)

    def sql(self, text):
        return self.postgres.sql(text, self.url)


# ---- afterwards ----


def settle(cluster):
    """Submitters stop, those who are up finish what is left, everybody stops. Complaints."""
    for submitter in cluster.submitters:
        submitter.stopping = True
    for submitter in cluster.submitters:
        submitter.join(DEADLINE_S)
    for job_id in cluster.extra:
        cluster.let_go(job_id)

    def is_idle():
        return int(cluster.pawl("list", "--count", "--state",
                                "available,active,scheduled,retryable")) == 0
    until("what is left to be done", is_idle)
    for process in cluster.processes:
        if not process.asked and process.process.poll() is not None:
            cluster.troubles.append(f"went by itself: {process.story()}")
    for process in cluster.processes:
        if process.process.poll() is None:
            cluster.stop(process)
    return cluster.troubles


class Books:
    """The store and the ledger, side by side. Each check returns complaints."""

    def __init__(self, cluster):
        self.cluster = cluster
        listing = cluster.pawl("list", "--all", "--jsonl")
        self.jobs = {job["id"]: job for job in map(json.loads, listing.splitlines())}
        self.ledger = cluster.ledger.read()
        lapsed = cluster.sql("SELECT id, count(*) FROM pawl_failure WHERE lapsed GROUP BY id")
        self.lapses = {line.split("|")[0]: int(line.split("|")[1]) for line in lapsed.splitlines()}

    def no_acknowledged_job_is_missing(self):
        ids = [job_id for job_id, _ in self.cluster.acknowledged()] + self.cluster.extra
        found = [f"{job_id} is not there" for job_id in ids if job_id not in self.jobs]
        twice = len(ids) - len(set(ids))
        return found + ([f"{twice} ids were given twice"] if twice else [])

    def every_job_ended(self):
        """Completed; or given up as a poison pill, if it lapsed often enough."""
        return [f"{job['id']} is {job['state']} after {job.get('run', 0)} runs"
                for job in self.jobs.values() if job["state"] != "completed"
                and (job["state"] != "discarded" or self.lapses.get(job["id"], 0) < LAPSES_MAX)]

    def no_run_belongs_to_two_processes(self):
        return [f"{job_id} run {run} was noted by {notes}"
                for book in (self.ledger.starts, self.ledger.ends)
                for (job_id, run), notes in book.items() if len(notes) > 1]

    def every_run_was_claimed_in_the_store(self):
        return [f"{job_id} run {run} is not in the store" for job_id, run in self.ledger.starts
                if run > self.jobs.get(job_id, {}).get("run", 0)]

    def a_completed_job_has_the_result_of_its_last_run(self):
        found = []
        for job in self.jobs.values():
            if job["state"] != "completed":
                continue
            notes = self.ledger.ends.get((job["id"], job["run"]))
            wanted = f"{job['run']} {notes[0][0]}" if notes else "an end in the ledger"
            if job.get("result") != wanted or (notes and notes[0][1] != job["worker"]):
                found.append(f"{job['id']} has {job.get('result')!r}, not {wanted!r}")
        return found

    def nothing_starts_before_it_is_due(self):
        found = []
        for job_id, due in self.cluster.acknowledged():
            first = self.ledger.starts.get((job_id, 1))
            if first and first[0][2] < due - TICK_S:
                found.append(f"{job_id} started {due - first[0][2]:.2f} s too early")
        return found

    def the_store_checks_clean(self):
        self.cluster.pawl("check")
        return []

    def nothing_was_charged(self):
        """For those whose nodes were never in trouble: one run counts, or two if it is flaky."""
        found = [f"{job_id} lapsed" for job_id in self.lapses]
        for job in self.jobs.values():
            charged = job["attempt"] - job.get("free_runs", 0)
            if charged > 1 + (job["type"] == "flaky"):
                found.append(f"{job['id']} was charged {charged} attempts")
        return found


ALWAYS = [Books.no_acknowledged_job_is_missing, Books.every_job_ended,
          Books.no_run_belongs_to_two_processes, Books.every_run_was_claimed_in_the_store,
          Books.a_completed_job_has_the_result_of_its_last_run,
          Books.nothing_starts_before_it_is_due, Books.the_store_checks_clean]


def audit(books, *more):
    """Complaints of all checks."""
    return [f"{check.__name__}: {text}" for check in (*ALWAYS, *more)
            for text in check(books)[:20]]
