#!/usr/bin/env python3
"""Many readers of streams while many jobs run: none misses an event, those that do not read are
disconnected, the server's memory stays bounded, and other clients are not slowed down.

Usage: streams_load_test.py PAWL

PAWL_TEST_SCALE sets the duration and, below 50, the number of readers.
"""
import json
import multiprocessing
import os
import resource
import select
import socket
import threading
import time

import server_kit
from server_kit import DEADLINE_S, SCALE, Server, test, until

LISTENERS = max(100, min(2000, 40 * SCALE))
TO_JOBS, TO_ALL, IDLERS = LISTENERS // 2, LISTENERS // 50, LISTENERS // 50
TO_QUEUES = LISTENERS - TO_JOBS - TO_ALL - IDLERS
QUEUES = 50
SECONDS = max(2, SCALE // 12)
RATE = 1000  # jobs a second, if the machine can
STREAM_BYTES_MAX = 256 * 1024
LAG_MAX = 300  # events: far less than that many bytes
PROBE_S_MAX = 2.0
SANITIZED = "ASAN_OPTIONS" in os.environ  # memory then says little


def queue_of(number):
    return f"q{number % QUEUES}"


def memory_kib(server):
    with open(f"/proc/{server.process.pid}/status", encoding="utf-8") as status:
        return int([line for line in status if line.startswith("VmRSS:")][0].split()[1])


def dial(address, path):
    connection = socket.create_connection(address.split(":"))
    connection.sendall(f"GET {path} HTTP/1.1\r\nHost: localhost\r\n\r\n".encode())
    return connection


class Counter:
    """How often a text came, also where a read cut it in two."""

    def __init__(self, text):
        self.text, self.tail, self.count = text, b"", 0

    def take(self, piece):
        piece = self.tail + piece
        self.count += piece.count(self.text)
        self.tail = piece[-(len(self.text) - 1):]  # too short to be counted again


def is_to_everything(path):
    return "jobs" not in path and "=" not in path


class Pace:
    """Keeps those who make events from running away from those who read them all: a listener is let
    go for not reading, and on a busy machine the followers here might not get to it."""

    def __init__(self):
        self.made, self.heard = 0, multiprocessing.Value("q", 0)

    def add(self, events):
        self.made += events
        until(lambda: self.made - self.heard.value <= LAG_MAX)


def follow(address, paths, pipe, heard):
    """In a process of its own: counts what each listener gets, by path, until all streams end."""
    poll, open_ones, found = select.epoll(), {}, []
    for path in paths:
        connection = dial(address, path)
        counters = Counter(b"\nevent: job.state_changed\n"), Counter(b"\nevent: system.gap\n")
        open_ones[connection.fileno()] = (connection, counters)
        found.append((path, counters))
        poll.register(connection.fileno(), select.EPOLLIN)
    pipe.send("there")
    while open_ones:
        for number, _ in poll.poll(DEADLINE_S) or exit_with(pipe, "nothing comes"):
            connection, counters = open_ones[number]
            piece = connection.recv(1 << 20)
            for counter in counters:
                counter.take(piece)
            heard.value = min(events.count for _, (events, _) in found[-TO_ALL:])
            if not piece:
                poll.unregister(number)
                open_ones.pop(number)[0].close()
    pipe.send([[path, *(counter.count for counter in counters)] for path, counters in found])


def exit_with(pipe, text):
    pipe.send(text)
    raise SystemExit(1)


class Line:
    """A connection on which several requests are under way at once."""

    def __init__(self, address):
        self.socket = socket.create_connection(address.split(":"))
        self.file = self.socket.makefile("rb")

    def ask(self, path, bodies):
        head = f"POST {path} HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n"
        self.socket.sendall("".join(
            f"{head}Content-Length: {len(text)}\r\n\r\n{text}"
            for text in map(json.dumps, bodies)).encode())
        return [self.reply() for _ in bodies]

    def reply(self):
        status = int(self.file.readline().split()[1])
        length = 0
        while (line := self.file.readline()) != b"\r\n":
            name, _, value = line.partition(b":")
            if name.lower() == b"content-length":
                length = int(value)
        body = json.loads(self.file.read(length))
        assert status in (200, 201), (status, body)
        return body

    def close(self):
        self.file.close()
        self.socket.close()


def submit(line, first, count):
    jobs = [{"type": "a.b", "args": [first + i], "options": {"queue": queue_of(first + i)}}
            for i in range(count)]
    return [job["id"] for job in line.ask("/ojs/v1/jobs/batch", [{"jobs": jobs}])[0]["jobs"]]


def work(line, pace):
    """Fetches and completes what there is; how many."""
    done = 0
    names = [f"q{i}" for i in range(QUEUES)]
    while True:
        jobs = line.ask("/ojs/v1/workers/fetch", [{"queues": names, "count": 50}])[0]["jobs"]
        line.ask("/ojs/v1/workers/ack", [{"job_id": job["id"]} for job in jobs])
        done += len(jobs)
        pace.add(2 * len(jobs))
        if len(jobs) < 50:
            return done


class Probe(threading.Thread):
    """An innocent client that asks for health and looks at a job: how long that takes."""

    def __init__(self, server, job):
        super().__init__()
        self.server, self.job = server, job
        self.took, self.memory_kib = [], 0
        self.stopping = threading.Event()
        self.start()

    def run(self):
        while not self.stopping.wait(0.05):
            began = time.monotonic()
            self.server.get(f"/ojs/v1/jobs/{self.job}")
            self.took.append(time.monotonic() - began)
            self.memory_kib = max(self.memory_kib, memory_kib(self.server))

    def end(self):
        self.stopping.set()
        self.join()
        self.took.sort()
        return self.took[len(self.took) * 99 // 100]


def load(server, first, pace):
    """Jobs at the rate, worked off at once; how many, in how many seconds."""
    line, count = Line(server.address), 0
    began = time.monotonic()
    while (elapsed := time.monotonic() - began) < SECONDS:
        due = min(int(elapsed * RATE) - count, 200)
        if due < 20:
            time.sleep(0.01)
            continue
        submit(line, first + count, due)
        count += due
        pace.add(due)
        work(line, pace)
    line.close()
    return count, time.monotonic() - began


def paths_of(watched):
    return ([f"/ojs/v1/jobs/{job}/events" for job in watched]
            + [f"/ojs/v1/events/stream?channel=queue:{queue_of(i)}" for i in range(TO_QUEUES)]
            + ["/ojs/v1/events/stream"] * TO_ALL)


def check_followers(found, watched, count):
    """Everybody heard of everything once; moves of a job: to available, active, completed."""
    assert isinstance(found, list), found
    per_queue = [0] * QUEUES
    for number in range(count):
        per_queue[number % QUEUES] += 3
    for number in range(len(watched)):
        per_queue[number % QUEUES] += 2  # they were there before the listeners
    everything = sum(per_queue)
    for path, events, gaps in found:
        wanted = (everything if is_to_everything(path) else 2 if "jobs" in path
                  else per_queue[int(path.rpartition(":q")[2])])
        assert (events, gaps) == (wanted, 0), (path, events, wanted, gaps)


def check_idlers(idlers):
    """Now they read: what was kept for them, that there is a gap, and that is all."""
    tails = {idler: b"" for idler in idlers}
    while tails:
        ready, _, _ = select.select(list(tails), [], [], DEADLINE_S)
        assert ready, f"{len(tails)} idlers wait for their end"
        for idler in ready:
            piece = idler.recv(1 << 20)
            tails[idler] = (tails[idler] + piece)[-1000:]
            if not piece:
                tail = tails.pop(idler)
                idler.close()
                assert b"event: system.gap\n" in tail and tail.endswith(b"0\r\n\r\n"), tail


def more_until_cut(server, pace):
    """Idlers that what ran so far was not enough for: more, in a queue that nobody follows."""
    line, rounds = Line(server.address), 0
    jobs = [{"type": "a.b", "args": [], "options": {"queue": "other", "pending": True}}] * 500
    while server.metric("pawl_http_streams_cut_total") < IDLERS:
        line.ask("/ojs/v1/jobs/batch", [{"jobs": jobs}])
        rounds += 1
        pace.add(len(jobs))
        assert rounds < 400, server.metric("pawl_http_streams_cut_total")
    line.close()
    return rounds * len(jobs)


@test
def many_listen_to_much():
    files = 2 * LISTENERS + 200
    _, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (min(hard, files), hard))
    with Server("--stream-bytes-max", f"{STREAM_BYTES_MAX // 1024}KiB") as server:
        line = Line(server.address)
        watched = [job for first in range(0, TO_JOBS, 50)
                   for job in submit(line, first, min(50, TO_JOBS - first))]
        line.close()
        mine, theirs = multiprocessing.Pipe()
        pace = Pace()
        crowd = multiprocessing.Process(
            target=follow, args=(server.address, paths_of(watched), theirs, pace.heard))
        crowd.start()
        assert mine.poll(DEADLINE_S) and mine.recv() == "there"
        idlers = [dial(server.address, "/ojs/v1/events/stream") for _ in range(IDLERS)]
        until(lambda: server.metric("pawl_http_streams") == LISTENERS)
        before = memory_kib(server)
        probe = Probe(server, watched[0])
        line = Line(server.address)
        assert work(line, pace) == len(watched)
        line.close()
        count, took = load(server, 0, pace)
        slow_s = probe.end()
        more = more_until_cut(server, pace)
        after = max(memory_kib(server), probe.memory_kib)
        check_idlers(idlers)
        until(lambda: server.metric("pawl_http_streams") == TO_QUEUES + TO_ALL)
        server.stop()
        assert mine.poll(DEADLINE_S), "the followers hang"
        found = mine.recv()
        crowd.join()
        print(f"# {LISTENERS} listeners, {count / took:.0f} jobs/s for {took:.0f} s and {more} "
              f"more, {IDLERS} let go\n# {before} KiB before, {after} KiB at most; others waited "
              f"{slow_s * 1000:.0f} ms (p99)", flush=True)
        for row in found:
            if is_to_everything(row[0]):
                row[1] -= more
        check_followers(found, watched, count)
        assert slow_s < PROBE_S_MAX, slow_s
        # What lags is bounded for each; what is rendered is shared; the rest is the jobs' own.
        bound = (before + IDLERS * STREAM_BYTES_MAX // 1024 + LISTENERS * 16 + 64 * 1024)
        assert SANITIZED or after < bound, (before, after, bound)


server_kit.main()
