#!/usr/bin/env python3
"""Wake-ups between processes through Redis, on SQLite and on PostgreSQL behind PgBouncer, with
servers that are started here. Prints TAP.

Usage: wake_test.py SOURCE_ROOT MODULE_DIR NODE PAWL

The safety poll of most nodes is an hour away: what they run, they were woken for.
"""
import os
import queue
import random
import re
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import threading
import time
import urllib.request

sys.dont_write_bytecode = True
sys.path.insert(0, sys.argv[1] + "/tests/postgres")
import server

PATIENCE_S = 60
HOUR_MS = 3600 * 1000
SUBMITS = 10
PASSWORD = "open sesame"
QUOTED = "open%20sesame"


class Redis:
    """A private server, on a Unix socket and a port."""

    def __init__(self):
        self.dir = tempfile.mkdtemp(prefix="pawl-redis-", dir="/tmp")
        self.process = None
        self.port = self._free_port()
        self.start()

    @staticmethod
    def _free_port():
        """One that the kernel gives to nobody else, also while this server is down."""
        while True:
            with socket.socket() as taken:
                port = random.randrange(10000, 32768)
                try:
                    taken.bind(("127.0.0.1", port))
                    return port
                except OSError:
                    pass

    def start(self):
        with open(self.dir + "/log", "a", encoding="utf-8") as log:
            self.process = subprocess.Popen(
                ["redis-server", "--bind", "127.0.0.1", "--port", str(self.port), "--unixsocket",
                 self.dir + "/socket", "--requirepass", PASSWORD, "--save", "", "--dir", self.dir],
                stdout=log, stderr=log, preexec_fn=server.end_with_parent)
        until = time.monotonic() + PATIENCE_S
        while time.monotonic() < until and self.process.poll() is None:
            try:
                with socket.socket(socket.AF_UNIX) as one, socket.socket() as other:
                    one.connect(self.dir + "/socket")
                    other.connect(("127.0.0.1", self.port))
                return
            except OSError:
                time.sleep(0.02)
        with open(self.dir + "/log", encoding="utf-8", errors="replace") as log:
            raise RuntimeError("Redis did not start:\n" + log.read())

    def kill(self):
        self.process.kill()
        self.process.wait()

    def close(self):
        self.kill()
        shutil.rmtree(self.dir, ignore_errors=True)

    def by_socket(self, password=QUOTED):
        return f"redis+unix://:{password}@{self.dir}/socket"

    def by_port(self, password=QUOTED, user=""):
        return f"redis://{user}:{password}@127.0.0.1:{self.port}/0"


class Node:
    """A process of node.c. Without `poll_ms` it only submits."""

    env = {}

    def __init__(self, program, url, wake="-", poll_ms=0):
        self.process = subprocess.Popen([program, url, wake, str(poll_ms)], stdin=subprocess.PIPE,
                                        stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
                                        env={**os.environ, **self.env},
                                        preexec_fn=server.end_with_parent)
        self.lines = {}
        self.lock = threading.Lock()
        self.reader = threading.Thread(target=self._read)
        self.reader.start()

    def _queue(self, kind):
        with self.lock:
            return self.lines.setdefault(kind, queue.Queue())

    def _read(self):
        for line in self.process.stdout:
            kind, _, rest = line.rstrip("\n").partition(" ")
            self._queue(kind).put((time.monotonic(), rest))

    def next(self, kind):
        return self._queue(kind).get(timeout=PATIENCE_S)

    def ready(self):
        self.next("ready")
        return self

    def ask(self, word, kind):
        self.process.stdin.write(word + "\n")
        self.process.stdin.flush()
        return self.next(kind)[1]

    def submit(self):
        return self.ask("submit", "submitted")

    def counters(self):
        words = self.ask("counters", "counters").split()
        return dict(zip(words[::2], map(int, words[1::2])))

    def await_counter(self, name, least):
        until = time.monotonic() + PATIENCE_S
        while self.counters()[name] < least:
            if time.monotonic() > until:
                raise AssertionError(f"{name} is {self.counters()[name]}, not {least}")
            time.sleep(0.02)

    def close(self):
        self.process.stdin.close()
        code = self.process.wait(PATIENCE_S)
        self.reader.join()
        return code

    def kill(self):
        if self.process.poll() is None:
            self.process.kill()
            self.process.wait()
        self.reader.join()


class Idlers:
    """A node and a server with nothing to do, in a database of their own, while the other tests
    run. The log of PostgreSQL tells what they say."""

    SETTLING_S = 10  # for a while a node looks more often
    WINDOW_S = 11.5  # less than the pause between heartbeats: there is one at most, of many words
    LOG_PREFIX = "log_line_prefix = '%n %a: '\n"

    def __init__(self, postgres, pawl):
        self.postgres = postgres
        postgres.sql("CREATE DATABASE idle")
        postgres.sql("ALTER DATABASE idle SET log_statement = 'all'")
        self.url = f"postgres:///idle?host={postgres.dir}&user=pawl&application_name="
        subprocess.run([pawl, "migrate", "--store", self.url + "first"], check=True,
                       env={**os.environ, **Node.env}, stdout=subprocess.DEVNULL)
        self.processes = [
            self._begin(pawl, "work", "--exec", "a.b=true"),
            self._begin(pawl, "serve", "--listen", "127.0.0.1:0")]
        for name in ("work", "serve"):  # both listen: they are up
            postgres.wait_for("SELECT count(*) > 0 FROM pg_stat_activity WHERE application_name = "
                              f"'idle-{name}' AND query LIKE 'LISTEN%'")
        self.settled_at = time.time() + self.SETTLING_S

    def _begin(self, pawl, command, *args):
        return subprocess.Popen([pawl, command, "--store", f"{self.url}idle-{command}", *args],
                                env={**os.environ, **Node.env}, stdout=subprocess.DEVNULL,
                                stderr=subprocess.DEVNULL, preexec_fn=server.end_with_parent)

    def per_second(self):
        """How many statements each of them sends, once they have settled: {name: number}"""
        until = self.settled_at + self.WINDOW_S
        time.sleep(max(0, until - time.time()))
        expect(all(process.poll() is None for process in self.processes), "one has ended")
        said = {"idle-work": 0, "idle-serve": 0}
        with open(self.postgres.dir + "/log", encoding="utf-8", errors="replace") as log:
            for line in log:
                found = re.match(r"(\d+\.\d+) (idle-\w+): LOG: ", line)
                if found and self.settled_at < float(found.group(1)) < until:
                    said[found.group(2)] += 1
        return {name: count / self.WINDOW_S for name, count in said.items()}

    def close(self):
        for process in self.processes:
            process.kill()
            process.wait()


class Stage:
    """The servers, and the processes that a test has started."""

    def __init__(self, node, pawl):
        self.node_program, self.pawl = node, pawl
        self.dir = tempfile.mkdtemp(prefix="pawl-wake-", dir="/tmp")
        self.redis = self.postgres = self.pooler = self.idlers = None
        self.nodes = []
        self.stores = 0

    def open(self):
        self.redis = Redis()
        self.postgres = server.Server(Idlers.LOG_PREFIX)
        self.pooler = server.Pooler(self.postgres)
        self.idlers = Idlers(self.postgres, self.pawl)

    def sqlite(self):
        self.stores += 1
        return f"sqlite:{self.dir}/{self.stores}.db"

    def pooled(self):
        return f"postgres:///postgres?{self.pooler.where}"

    def start(self, *args, **kwargs):
        node = Node(self.node_program, *args, **kwargs)
        self.nodes.append(node)
        return node

    def run_pawl(self, *args):
        return subprocess.run([self.pawl, *args], text=True, capture_output=True, check=False,
                              timeout=PATIENCE_S, env={**os.environ, **Node.env})

    def clear(self):
        for node in self.nodes:
            node.kill()
        self.nodes = []

    def close(self):
        self.clear()
        for part in (self.idlers, self.redis, self.pooler, self.postgres):
            if part:
                part.close()
        shutil.rmtree(self.dir, ignore_errors=True)


def expect(condition, what):
    if not condition:
        raise AssertionError(what)


def runs_at_once(one, other):
    """What `one` submits runs on `other`, whose safety poll is an hour away. After a wake-up a node
    polls for a moment, so the notices are counted too; not those that woke it, as one that comes
    while it looks already wakes nobody."""
    took_ms = []
    for _ in range(SUBMITS):
        job = one.submit()
        at = time.monotonic()
        when, ran = other.next("ran")
        expect(ran == job, f"{ran} ran, not {job}")
        took_ms.append((when - at) * 1000)
    other.await_counter("wake_received", 1)  # several may be told as one
    one.await_counter("wake_sent", 1)
    took_ms.sort()
    print(f"# ran after {took_ms[SUBMITS // 2]:.1f} ms (median), {took_ms[-1]:.1f} ms at most")


def sqlite_nodes_wake_through_redis(stage):
    url = stage.sqlite()
    wake = stage.redis.by_port()
    other = stage.start(url, wake, HOUR_MS).ready()
    runs_at_once(stage.start(url, wake).ready(), other)
    done = stage.run_pawl("submit", "tick", "--store", url, "--wake", wake)
    expect(done.returncode == 0, done.stderr)
    expect(other.next("ran")[1] == done.stdout.split()[0], done.stdout)


def pooled_nodes_wake_through_redis(stage):
    wake = stage.redis.by_socket()
    other = stage.start(stage.pooled(), wake, HOUR_MS).ready()
    runs_at_once(stage.start(stage.pooled(), wake).ready(), other)
    expect(other.ask("check", "check") == "OK ", "there is trouble")


def pooled_nodes_wake_through_the_server_itself(stage):
    wake = stage.postgres.url
    other = stage.start(stage.pooled(), wake, HOUR_MS).ready()
    runs_at_once(stage.start(stage.pooled()).ready(), other)  # telling does pass the pooler
    expect(other.ask("check", "check") == "OK ", "there is trouble")


def way_to_another_database_is_refused(stage):
    stage.postgres.sql("CREATE DATABASE elsewhere")
    wake = stage.postgres.url.replace("/postgres?", "/elsewhere?")
    said = stage.start(stage.pooled(), wake, HOUR_MS).next("error")[1]
    expect(said.startswith("ARG ") and "does not have this store" in said, said)


def node_behind_a_pooler_says_that_it_is_deaf(stage):
    node = stage.start(stage.pooled(), poll_ms=100).ready()
    said = node.ask("check", "check")
    expect(said.startswith("UNSUPPORTED ") and "pooler" in said, said)
    expect(node.counters()["wake_trouble"] == 1, node.counters())
    job = stage.start(stage.pooled()).ready().submit()
    expect(node.next("ran")[1] == job, "another ran")


def nobody_wakes_himself(stage):
    node = stage.start(stage.sqlite(), stage.redis.by_port(), HOUR_MS).ready()
    for _ in range(SUBMITS):
        job = node.submit()
        expect(node.next("ran")[1] == job, "another ran")
    node.await_counter("wake_sent", 1)
    stranger = stage.start(stage.sqlite(), stage.redis.by_port()).ready()
    stranger.submit()
    stranger.await_counter("wake_sent", 1)
    counters = node.counters()
    expect(counters["wake_received"] == 0 and counters["wakes_foreign"] == 0, counters)


def stores_do_not_wake_each_other(stage):
    wake = stage.redis.by_socket()
    pairs = []
    for url in (stage.sqlite(), stage.sqlite(), stage.pooled()):
        node = stage.start(url, wake, HOUR_MS).ready()
        pairs.append((node, stage.start(url, wake).ready()))
    for node, submitter in pairs:
        expect(node.counters()["wake_received"] == 0, "a stranger was heard")
        for _ in range(3):
            job = submitter.submit()
            expect(node.next("ran")[1] == job, "another ran")
    for node, submitter in pairs:
        until = time.monotonic() + PATIENCE_S  # the last one may be told after its job has run
        while True:
            heard, told = node.counters()["wake_received"], submitter.counters()["wake_sent"]
            if heard == told > 0:
                break
            expect(time.monotonic() < until, f"{heard} heard, {told} told")
            time.sleep(0.02)


def channel_can_be_chosen(stage):
    """Two stores that are told to share a channel wake each other; it is what the URL says."""
    wake = stage.redis.by_socket() + "?channel=shared"
    node = stage.start(stage.sqlite(), wake, HOUR_MS).ready()
    other = stage.start(stage.sqlite(), wake).ready()
    other.submit()
    node.await_counter("wake_received", 1)


def lost_redis_costs_time_alone(stage):
    url, wake = stage.sqlite(), stage.redis.by_socket()
    node = stage.start(url, wake, 200).ready()
    other = stage.start(url, wake).ready()
    stage.redis.kill()
    try:
        node.await_counter("wake_trouble", 1)
        said = node.ask("check", "check")
        expect(said.startswith("IO ") and "sesame" not in said, said)
        for _ in range(3):
            job = other.submit()
            expect(node.next("ran")[1] == job, "another ran")
        late = stage.start(url, wake, 200).ready()  # who begins now is not kept from it
        expect(late.close() == 0, "it ended badly")
        began = time.monotonic()
        done = stage.run_pawl("submit", "tick", "--store", url, "--wake", wake)
        expect(done.returncode == 0, done.stderr)
        print(f"# a command took {(time.monotonic() - began) * 1000:.0f} ms without Redis")
        node.next("ran")
    finally:
        stage.redis.start()
    node.await_counter("wake_reconnects", 1)
    before = node.counters()
    for _ in range(SUBMITS):
        job = other.submit()
        expect(node.next("ran")[1] == job, "another ran")
    node.await_counter("wake_received", before["wake_received"] + 1)
    expect(node.counters()["wake_trouble"] == 0, node.counters())
    other.await_counter("wake_reconnects", 1)


def stopped_redis_holds_up_nobody(stage):
    """It takes connections and answers nothing: submits do not wait for it."""
    url, wake = stage.sqlite(), stage.redis.by_socket()
    node = stage.start(url, wake, 100).ready()
    other = stage.start(url, wake).ready()
    stage.redis.process.send_signal(signal.SIGSTOP)
    try:
        began = time.monotonic()
        for _ in range(SUBMITS):
            job = other.submit()
            expect(node.next("ran")[1] == job, "another ran")
        print(f"# {SUBMITS} runs in {(time.monotonic() - began) * 1000:.0f} ms meanwhile")
        expect(other.counters()["wake_sent"] == 0, other.counters())
    finally:
        stage.redis.process.send_signal(signal.SIGCONT)
    other.await_counter("wake_sent", 1)


def stopped_server_process_lets_a_node_close(stage):
    """The one that serves the node's notices answers nothing; the node gives up on it."""
    node = stage.start(stage.postgres.url, "-", 100).ready()
    pid = int(stage.postgres.sql("SELECT pid FROM pg_stat_activity WHERE query LIKE 'LISTEN%'"
                                 " AND datname = current_database()"))
    os.kill(pid, signal.SIGSTOP)
    try:
        node.submit()
        node.next("ran")
        code = node.close()
    finally:
        os.kill(pid, signal.SIGCONT)
    expect(code == 0, f"exit code {code}")


def wrong_password_is_said_at_start(stage):
    for wake in (stage.redis.by_port("guess"), stage.redis.by_port("guess", "ann"),
                 f"redis+unix://{stage.redis.dir}/socket"):
        node = stage.start(stage.sqlite(), wake, HOUR_MS)
        said = node.next("error")[1]
        expect(said.startswith("ARG ") and "log in to Redis" in said and "guess" not in said, said)
        expect(node.close() == 1, "it went on")
    done = stage.run_pawl("submit", "tick", "--store", stage.sqlite(), "--wake",
                          stage.redis.by_port("guess"))
    expect(done.returncode == 2 and "WRONGPASS" in done.stderr, done.stderr)
    expect("guess" not in done.stderr, done.stderr)


def without_wake_ups_polling_will_do(stage):
    for url in (stage.sqlite(), stage.postgres.url):
        node = stage.start(url, "none", 100).ready()
        other = stage.start(url, "none").ready()
        for _ in range(3):
            job = other.submit()
            expect(node.next("ran")[1] == job, "another ran")
        counters = node.counters()
        expect(counters["wake_received"] == counters["wakes_foreign"] == 0, counters)
        expect(counters["wakes_poll"] > 0 and counters["wake_trouble"] == 0, counters)
        expect(other.counters()["wake_sent"] == 0, other.counters())


def server_shows_it_in_metrics(stage):
    url, wake = stage.sqlite(), stage.redis.by_port()
    serve = subprocess.Popen([stage.pawl, "serve", "--store", url, "--wake", wake, "--listen",
                              "127.0.0.1:0"], stdout=subprocess.PIPE, text=True,
                             env={**os.environ, **Node.env}, preexec_fn=server.end_with_parent)
    try:
        address = serve.stdout.readline().split()[1]
        other = stage.start(url, wake).ready()
        other.submit()
        other.await_counter("wake_sent", 1)
        until = time.monotonic() + PATIENCE_S
        metrics = ""
        while "pawl_wake_received_total 1\n" not in metrics:
            expect(time.monotonic() < until, metrics)
            with urllib.request.urlopen(address + "/metrics", timeout=PATIENCE_S) as answer:
                metrics = answer.read().decode()
        for line in ("pawl_wake_sent_total ", "pawl_wake_reconnects_total 0", "pawl_wake_trouble 0",
                     "pawl_wakes_foreign_total "):
            expect("\n" + line in metrics, line)
    finally:
        serve.terminate()
        serve.wait()
        serve.stdout.close()


def idle_nodes_leave_the_database_alone(stage):
    """A server reads its tokens every second, in three statements, and is a node besides."""
    said = stage.idlers.per_second()
    print(f"# statements a second, node {said['idle-work']:.2f}, server {said['idle-serve']:.2f}")
    expect(0 < said["idle-work"] < 1, said)  # heartbeats are among it
    expect(0 < said["idle-serve"] < 5, said)


TESTS = [sqlite_nodes_wake_through_redis, pooled_nodes_wake_through_redis,
         pooled_nodes_wake_through_the_server_itself, way_to_another_database_is_refused,
         node_behind_a_pooler_says_that_it_is_deaf,
         nobody_wakes_himself, stores_do_not_wake_each_other, channel_can_be_chosen,
         lost_redis_costs_time_alone, stopped_redis_holds_up_nobody,
         stopped_server_process_lets_a_node_close, wrong_password_is_said_at_start,
         without_wake_ups_polling_will_do, server_shows_it_in_metrics,
         idle_nodes_leave_the_database_alone]


def run(stage):
    for number, test in enumerate(TESTS, 1):
        began = time.monotonic()
        passed = True
        try:
            test(stage)
        except (AssertionError, queue.Empty, subprocess.TimeoutExpired, OSError) as failure:
            passed = False
            print(f"# {type(failure).__name__}: {failure}")
        print(f"# {time.monotonic() - began:.1f} s")
        print(f"{'ok' if passed else 'not ok'} {number} - {test.__name__}", flush=True)
        stage.clear()
    print(f"1..{len(TESTS)}")


def main():
    module_dir, node, pawl = sys.argv[2:5]
    for what, there in (("PostgreSQL", server.find_binaries()), ("PgBouncer", server.Pooler.find()),
                        ("Redis", shutil.which("redis-server"))):
        if not there:
            print(f"1..0 # SKIP there is no {what} server here")
            return
    Node.env = {"PAWL_MODULE_DIR": module_dir, "PAWL_WAKE": "", "PAWL_STORE": ""}
    stage = Stage(node, pawl)
    try:
        stage.open()
        run(stage)
    finally:
        stage.close()


if __name__ == "__main__":
    main()
