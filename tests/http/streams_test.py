#!/usr/bin/env python3
"""Streams of events (Server-Sent Events). Usage: streams_test.py PAWL [TEST...]"""
import json
import resource
import select
import socket
import threading
import time

import server_kit
from server_kit import DEADLINE_S, SCALE, Server, test, until


def states(events):
    return [(data["from"], data["to"]) for event, _, data in events
            if event == "job.state_changed"]


@test
def follows_a_job_to_its_end():
    with Server() as server:
        job = server.submit(queue="mail")
        with server.listen(f"/ojs/v1/jobs/{job}/events") as stream:
            server.fetch("mail")
            event, event_id, data = stream.next()
            assert stream.retry == "3000"
            assert event == "job.state_changed" and event_id.startswith("evt_")
            assert data.pop("timestamp").endswith("Z")
            assert data == {"job_id": job, "queue": "mail", "type": "a.b", "from": "available",
                            "to": "active"}
            server.submit(queue="mail")  # another job is not its business
            server.ack(job)
            rest = stream.rest()
            assert states(rest) == [("active", "completed")], rest
            assert rest[0][1] > event_id


@test
def ended_job_says_so_once():
    with Server() as server:
        done = server.submit(queue="a")
        server.fetch("a")
        server.ack(done)
        cancelled = server.submit(queue="b")
        server.fetch("b")
        server.ask("DELETE", f"/ojs/v1/jobs/{cancelled}")
        for job, end in ((done, "completed"), (cancelled, "cancelled")):
            for path in (f"/ojs/v1/jobs/{job}/events", f"/ojs/v1/events/stream?channel=job:{job}"):
                with server.listen(path) as stream:
                    assert states(stream.rest()) == [("active", end)], path


@test
def refuses_what_is_not_there():
    with Server() as server:
        unknown = "01a1e2d6-fe45-7076-8d9f-908ebc529600"
        for path, kind in ((f"/ojs/v1/jobs/{unknown}/events", "job"),
                           ("/ojs/v1/jobs/nonsense/events", "job"),
                           (f"/ojs/v1/jobs/{unknown}/progress/stream", "job"),
                           (f"/ojs/v1/events/stream?channel=job:{unknown}", "job"),
                           ("/ojs/v1/queues/unheard/events", "queue"),
                           ("/ojs/v1/events/stream?channel=queue:unheard", "queue")):
            error = server.get(path, 404)["error"]
            assert error["code"] == "not_found", path
            assert error["details"]["resource_type"] == kind, path
        for query in ("channel=nonsense", "channel=queue:",
                      "channel=all&event_types=nonsense"):
            assert server.get(f"/ojs/v1/events/stream?{query}", 400)["error"]["message"], query
        reply = server.ask("HEAD", "/ojs/v1/events/stream")
        assert reply.status == 200 and reply.headers["Content-Type"] == "text/event-stream"


@test
def follows_a_queue():
    with Server() as server:
        server.submit(queue="mail")
        until(server.events)  # who listens later does not hear of it
        with server.listen("/ojs/v1/queues/mail/events") as stream, \
             server.listen("/ojs/v1/events/stream?channel=queue:mail") as other:
            server.submit(queue="else")
            job = server.submit(queue="mail")
            server.post("/ojs/v1/queues/mail/pause")
            for each in (stream, other):
                event, _, data = each.next()
                assert event == "job.state_changed" and data["job_id"] == job
                assert (data["from"], data["to"]) == (None, "available")
                event, _, data = each.next()
                assert event == "queue.paused" and data["subject"] == "mail", (event, data)


@test
def follows_a_queue_that_was_made_but_never_used():
    with Server() as server:
        reply = server.ask("PUT", "/ojs/v1/queues/made/config",
                           {"rate_limit": {"limit": 10, "period": "PT1S"}})
        assert reply.status == 200, reply.body
        with server.listen("/ojs/v1/queues/made/events") as stream:
            server.submit(queue="made")
            assert stream.next()[0] == "job.state_changed"


@test
def sends_only_the_types_that_are_asked_for():
    with Server() as server:
        with server.listen("/ojs/v1/events/stream?event_types=job.started,job.completed") as some, \
             server.listen("/ojs/v1/events/stream?channel=all&event_types=job.*") as jobs, \
             server.listen("/ojs/v1/events/stream?channel=all") as usual:
            job = server.submit()
            server.fetch()
            server.ack(job)
            assert [some.next()[0] for _ in range(2)] == ["job.started", "job.completed"]
            assert [jobs.next()[0] for _ in range(6)] == [
                "job.state_changed", "job.enqueued", "job.state_changed", "job.started",
                "job.state_changed", "job.completed"]
            assert [usual.next()[0] for _ in range(3)] == 3 * ["job.state_changed"]


@test
def resumes_where_it_was_left():
    with Server() as server:
        with server.listen("/ojs/v1/events/stream") as stream:
            jobs = [server.submit() for _ in range(3)]
            first = stream.next()[1]
        jobs.append(server.submit())
        until(lambda: len(server.events()) == 4)
        for query, headers in (("", {"Last-Event-ID": first}), (f"&last_event_id={first}", {})):
            path = f"/ojs/v1/events/stream?channel=all{query}"
            with server.listen(path, **headers) as stream:
                assert [stream.next()[2]["job_id"] for _ in jobs[1:]] == jobs[1:]
                jobs.append(server.submit())
                assert stream.next()[2]["job_id"] == jobs[-1]


@test
def tells_a_job_s_missed_end_to_who_comes_back():
    with Server() as server:
        job = server.submit()
        with server.listen(f"/ojs/v1/jobs/{job}/events") as stream:
            server.fetch()
            last = next(event for event in iter(stream.next, None) if event[2]["to"] == "active")[1]
        server.ack(job)
        until(lambda: len(server.events()) == 3)
        path = f"/ojs/v1/jobs/{job}/events"
        with server.listen(path, **{"Last-Event-ID": last}) as stream:
            rest = stream.rest()
            assert states(rest) == [("active", "completed")], rest
        with server.listen(path, **{"Last-Event-ID": rest[0][1]}) as stream:
            assert states(stream.rest()) == [("active", "completed")]


@test
def tells_of_gaps():
    with Server("--events-max", "3") as server:
        with server.listen("/ojs/v1/events/stream") as stream:
            jobs = [server.submit() for _ in range(5)]
            first = stream.next()[1]
            last = [stream.next() for _ in range(4)][-1][1]
        for old in (first, "evt_nonsense", "17"):
            with server.listen("/ojs/v1/events/stream", **{"Last-Event-ID": old}) as stream:
                event, gap_id, _ = stream.next()
                assert event == "system.gap", (old, event)
                assert gap_id > last
                assert [stream.next()[2]["job_id"] for _ in range(3)] == jobs[2:]
        with server.listen("/ojs/v1/events/stream", **{"Last-Event-ID": gap_id}) as stream:
            job = server.submit()
            event, _, data = stream.next()
            assert (event, data["job_id"]) == ("job.state_changed", job)


@test
def streams_progress():
    with Server() as server:
        job = server.submit()
        server.fetch()
        path = f"/ojs/v1/jobs/{job}/progress"
        server.ask("PUT", path, {"progress": 0.25})
        with server.listen(path + "/stream") as stream, \
             server.listen(f"/ojs/v1/jobs/{job}/events") as other:
            event, _, data = stream.next()
            assert (event, data["job_id"], data["progress"]) == ("progress", job, 0.25)
            server.ask("PUT", path,
                       {"progress": 0.5, "message": "half way", "data": {"a": [1, 2]}})
            event, _, data = stream.next()
            while data["progress"] == 0.25:  # the note of the report before may still come
                event, _, data = stream.next()
            assert (event, data["progress"], data["message"]) == ("progress", 0.5, "half way")
            assert data["data"] == {"a": [1, 2]} and data["updated_at"].endswith("Z")
            server.ack(job)
            event, _, data = stream.rest()[-1]
            assert (event, data["state"], data["progress"]) == ("completed", "completed", 1)
            found = [(event, data.get("progress")) for event, _, data in other.rest()]
            assert ("job.progress", 50) in found and found[-1] == ("job.state_changed", None)
        with server.listen(path + "/stream") as stream:
            assert [event for event, _, _ in stream.rest()] == ["completed"]


@test
def progress_ends_with_failure_or_cancellation():
    with Server() as server:
        for end in ("failed", "cancelled"):
            job = server.submit(queue=end, options={"retry": {"max_attempts": 1}})
            server.fetch(end)
            server.ask("PUT", f"/ojs/v1/jobs/{job}/progress", {"progress": 0.25})
            if end == "failed":
                server.nack(job)
            else:
                server.ask("DELETE", f"/ojs/v1/jobs/{job}")
            with server.listen(f"/ojs/v1/jobs/{job}/progress/stream") as stream:
                event, _, data = stream.next()
                assert event == end and data["progress"] == 0.25, (event, data)
                assert stream.next() is None


@test
def white_space_in_data_does_not_break_lines():
    with Server() as server:
        job = server.submit()
        server.fetch()
        with server.listen("/ojs/v1/events/stream?event_types=job.progress") as stream:
            connection = server.connect()
            connection.request("PUT", f"/ojs/v1/jobs/{job}/progress",
                               b'{"progress": 0.5, "data": {"a":\r\n\r\n[1,\n2]}}',
                               {"Content-Type": "application/json"})
            assert connection.getresponse().status == 200
            connection.close()
            assert stream.next()[2]["data"] == {"a": [1, 2]}


@test
def notices_what_other_processes_do():
    with Server() as server:
        job = server.submit()
        with server.listen(f"/ojs/v1/jobs/{job}/events") as stream:
            began = time.monotonic()
            server.pawl("cancel", job)
            assert states(stream.rest()) == [("available", "cancelled")]
            took = time.monotonic() - began
            assert took < 10, took


@test
def own_moves_are_told_once_although_jobs_are_looked_after():
    with Server() as server:
        jobs = [server.submit(queue=f"q{number}") for number in range(20)]
        streams = [server.listen(f"/ojs/v1/jobs/{job}/events") for job in jobs]
        for number, job in enumerate(jobs):
            if number % 5 == 0:  # another process changes something: then they are looked after
                server.pawl("submit", "else", "--queue", "other")
            server.fetch(f"q{number}")
            server.ack(job)
        for stream in streams:
            assert states(stream.rest()) == [("available", "active"), ("active", "completed")]
            stream.connection.close()


@test
def says_when_the_server_stops():
    with Server() as server:
        job = server.submit()
        with server.listen("/ojs/v1/events/stream") as everything, \
             server.listen(f"/ojs/v1/jobs/{job}/progress/stream") as progress:
            began = time.monotonic()
            code = server.stop()
            assert code == 0 and time.monotonic() - began < 5
            for stream in (everything, progress):
                event, _, data = stream.rest()[-1]
                assert event == "server.shutdown"
                assert data == {"reason": "shutdown", "grace_period_ms": 5000}


@test
def lets_slow_readers_go_with_a_gap():
    with Server("--stream-bytes-max", "64KiB", "--write-timeout", "10m") as server:
        slow = socket.socket()
        slow.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 65536)
        host, port = server.address.split(":")
        slow.connect((host, int(port)))
        slow.sendall(b"GET /ojs/v1/events/stream HTTP/1.1\r\nHost: localhost\r\n\r\n")
        until(lambda: server.metric("pawl_http_streams") == 1)
        batch = {"jobs": [{"type": "a.b", "args": [], "options": {"queue": f"q{number}"}}
                          for number in range(1000)]}
        server.post("/ojs/v1/jobs/batch", {"jobs": batch["jobs"][:1]}, 201)
        with server.listen("/ojs/v1/events/stream?channel=queue:q0") as quick:
            seen = threading.Thread(target=quick.rest)
            seen.start()
            for _ in range(100):
                server.post("/ojs/v1/jobs/batch", batch, 201)
                if server.metric("pawl_http_streams_cut_total"):
                    break
            assert server.metric("pawl_http_streams_cut_total") == 1
            assert server.metric("pawl_http_streams") == 2  # its last words wait for it
            slow.settimeout(DEADLINE_S)
            taken = b""
            while piece := slow.recv(65536):
                taken += piece
            assert b"event: system.gap\n" in taken[-400:], taken[-400:]
            assert taken.endswith(b"0\r\n\r\n")
            until(lambda: server.metric("pawl_http_streams") == 1)
            server.stop()
            seen.join()
        slow.close()


@test
def clients_that_vanish_are_forgotten():
    with Server() as server:
        job = server.submit()
        for _ in range(50):
            for path in (f"/ojs/v1/jobs/{job}/events", "/ojs/v1/events/stream",
                         "/ojs/v1/queues/default/events"):
                with server.listen(path):
                    pass
            # also while the store is asked whether it exists
            with socket.create_connection(server.address.split(":")) as gone:
                ask = f"GET /ojs/v1/jobs/{job}/events HTTP/1.1\r\nHost: localhost\r\n\r\n"
                gone.sendall(ask.encode())
        until(lambda: server.metric("pawl_http_streams") == 0)
        server.fetch()
        server.ack(job)
        until(lambda: len(server.events()) == 3)


def memory_kib(server):
    with open(f"/proc/{server.process.pid}/status", encoding="utf-8") as status:
        for line in status:
            if line.startswith("VmRSS:"):
                return int(line.split()[1])
    return 0


class Crowd(threading.Thread):
    """Many listeners in one thread: counts the events that each of them gets."""

    def __init__(self, server, paths):
        super().__init__()
        self.counts = {}
        self.poll = select.epoll()
        self.sockets = {}
        for path in paths:
            connection = socket.create_connection(server.address.split(":"))
            connection.sendall(f"GET {path} HTTP/1.1\r\nHost: localhost\r\n\r\n".encode())
            self.sockets[connection.fileno()] = connection
            self.counts[connection.fileno()] = 0
            self.poll.register(connection.fileno(), select.EPOLLIN)

    def run(self):
        while self.sockets:
            for number, _ in self.poll.poll(DEADLINE_S):
                piece = self.sockets[number].recv(262144)
                self.counts[number] += piece.count(b"\ndata: ")
                if not piece:
                    self.poll.unregister(number)
                    self.sockets.pop(number).close()


@test
def many_listen_while_jobs_run():
    listeners = 20 * SCALE
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    if soft < 2 * listeners + 200:
        resource.setrlimit(resource.RLIMIT_NOFILE, (min(hard, 2 * listeners + 200), hard))
    with Server() as server:
        jobs = [job["id"] for _ in range(10) for job in server.post("/ojs/v1/jobs/batch", {
            "jobs": [{"type": "a.b", "args": [], "options": {"queue": "watched"}}] * SCALE * 2},
            201)["jobs"]]
        crowd = Crowd(server, [f"/ojs/v1/jobs/{job}/events" for job in jobs[:listeners]])
        until(lambda: server.metric("pawl_http_streams") == listeners)
        before = memory_kib(server)
        crowd.start()
        connection = server.connect()

        def ask(path, body):
            connection.request("POST", path, json.dumps(body),
                               {"Content-Type": "application/json"})
            return json.loads(connection.getresponse().read())

        began = time.monotonic()
        done = 0
        while found := ask("/ojs/v1/workers/fetch", {"queues": ["watched"], "count": 20})["jobs"]:
            for job in found:
                ask("/ojs/v1/workers/ack", {"job_id": job["id"]})
            done += len(found)
        took = time.monotonic() - began
        connection.close()
        assert done == 20 * SCALE
        crowd.join(DEADLINE_S)
        assert not crowd.is_alive()
        assert set(crowd.counts.values()) == {2}, set(crowd.counts.values())
        after = memory_kib(server)
        print(f"# {listeners} listeners, {done / took:.0f} jobs/s, {before} KiB before, "
              f"{after} KiB after", flush=True)
        assert after - before < 64 * 1024, (before, after)


@test
def gives_signs_of_life():
    with Server() as server:
        with server.listen("/ojs/v1/events/stream") as stream:
            began = time.monotonic()
            assert stream.next() == (":", None, ":heartbeat")
            assert time.monotonic() - began < 15.9


server_kit.main()
