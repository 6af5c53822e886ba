#!/usr/bin/env python3
"""Events: GET /ojs/v1/events. Usage: events_test.py PAWL [TEST...]"""
import datetime

import server_kit
from server_kit import Server, test, until


def settled(server, count, query=""):
    """The events as soon as there are so many: they are told a moment after the commit."""
    return until(lambda: (lambda all: all if len(all) >= count else None)(server.events(query)))


def types(events):
    return [event["type"] for event in events]


@test
def tells_the_life_of_a_job():
    with Server() as server:
        retry = {"max_attempts": 3, "initial_interval": "PT0.05S", "jitter": False}
        job = server.submit(queue="mail", options={"priority": 7, "retry": retry},
                            meta={"trace_id": "t-1"})
        assert server.fetch("mail")[0]["id"] == job
        server.nack(job)
        fetched = until(lambda: server.fetch("mail", "w2"))
        assert fetched[0]["attempt"] == 2
        server.ack(job, {"ok": True})
        events = settled(server, 6)
        assert types(events) == ["job.enqueued", "job.started", "job.failed", "job.retrying",
                                 "job.started", "job.completed"], types(events)
        for event in events:
            assert event["specversion"] == "1.0" and event["id"].startswith("evt_")
            assert event["event"] == event["type"] and event["timestamp"] == event["time"]
            assert event["source"] == "ojs://pawl/api" and event["subject"] == job
            data = event["data"]
            assert (data["job_id"], data["job_type"], data["queue"]) == (job, "a.b", "mail")
            assert data["trace_id"] == "t-1"
        data = [event["data"] for event in events]
        assert data[0]["priority"] == 7 and "scheduled_at" not in data[0]
        assert (data[1]["worker_id"], data[1]["attempt"]) == ("w1", 1)
        assert (data[2]["worker_id"], data[2]["attempt"]) == ("w1", 1)
        assert data[2]["error"] == {"code": "handler_error", "message": "no", "type": "Oops",
                                    "retryable": True}
        assert data[3]["attempt"] == 1 and data[3]["max_attempts"] == 3
        assert data[3]["next_retry_at"] > events[3]["time"] and data[3]["error"]["message"] == "no"
        assert (data[4]["worker_id"], data[4]["attempt"]) == ("w2", 2)
        assert data[5]["attempt"] == 2 and data[5]["result"] == {"ok": True}
        assert 0 <= data[5]["duration_ms"] < 60000
        ids = [event["id"] for event in events]
        assert ids == sorted(ids) and len(set(ids)) == len(ids)


@test
def tells_how_jobs_end_badly():
    with Server() as server:
        once = {"retry": {"max_attempts": 1}}
        dead = server.submit(queue="dead", options=once)
        server.fetch("dead")
        server.nack(dead)
        gone = server.submit(queue="gone")
        server.ask("DELETE", f"/ojs/v1/jobs/{gone}")
        late = server.submit(queue="late", options={"expires_at": "+PT0.2S"})
        events = settled(server, 3, "?queues=dead")
        assert types(events) == ["job.enqueued", "job.started", "job.failed", "job.discarded"]
        assert events[2]["data"]["error"]["retryable"] is False
        assert events[3]["data"]["total_attempts"] == 1
        assert events[3]["data"]["last_error"]["message"] == "no"
        events = settled(server, 2, "?queues=gone")
        assert types(events) == ["job.enqueued", "job.cancelled"]
        assert events[1]["data"]["cancelled_by"] == "http"
        events = settled(server, 3, "?queues=late")
        assert types(events) == ["job.enqueued", "job.expired", "job.discarded"]
        data = events[1]["data"]
        assert data["job_id"] == late and data["created_at"] < data["expired_at"]
        assert 0 < data["ttl_ms"] <= 300, data
        assert events[2]["data"]["total_attempts"] == 0


@test
def tells_once_of_each_deadline_that_is_missed():
    with Server() as server:
        now = datetime.datetime.now(datetime.timezone.utc)
        body = {"parameters": {"command": "job", "action": "submit", "name": "ocr", "metadata": {
            "soft_sla": (now + datetime.timedelta(seconds=0.2)).isoformat(),
            "hard_sla": (now + datetime.timedelta(seconds=0.4)).isoformat()}}}
        with server.listen("/ojs/v1/events/stream?event_types=job.deadline_missed") as stream:
            job = server.post("/api/v1/invoke", body)["parameters"]["job_id"]
            seen = []
            while len(seen) < 2:
                seen += [event for event in [stream.next()] if event[0] != ":"]
        assert [event[2]["deadline"] for event in seen] == ["soft", "hard"], seen
        events = settled(server, 3, "?queues=ocr")
        assert types(events) == ["job.enqueued"] + ["job.deadline_missed"] * 2, types(events)
        for event, kind in zip(events[1:], ["soft", "hard"]):
            data = event["data"]
            assert event["subject"] == job == data["job_id"], event
            assert (data["deadline"], data["state"], data["queue"]) == (kind, "available", "ocr")
        assert server.metric("pawl_deadlines_missed_total") == 2
        story = server.pawl("show", job)
        assert story.count("miss") == 2 and "the soft deadline was" in story, story


@test
def tells_when_a_job_is_scheduled_for():
    with Server() as server:
        server.submit(options={"scheduled_at": "2099-01-01T00:00:00Z"})
        events = settled(server, 2)
        assert types(events) == ["job.enqueued", "job.scheduled"]
        for event in events:
            assert event["data"]["scheduled_at"].startswith("2099-01-01T00:00:00"), event


@test
def tells_lapsed_runs_from_those_given_back():
    with Server() as server:
        lapsed = server.submit(queue="lapsed")
        server.fetch("lapsed", visibility_timeout_ms=100)
        back = server.submit(queue="back")
        server.fetch("back")
        server.nack(back, requeue=True)
        assert server.fetch("back")[0]["attempt"] == 2
        events = settled(server, 4, "?queues=lapsed")
        assert types(events)[:4] == ["job.enqueued", "job.started", "job.failed", "job.retrying"]
        assert events[2]["data"]["job_id"] == lapsed
        events = settled(server, 3, "?queues=back")
        assert types(events) == ["job.enqueued", "job.started", "job.started"], types(events)
        assert [event["data"].get("attempt") for event in events] == [None, 1, 2]


@test
def finds_by_type_queue_and_job_type():
    with Server() as server:
        for kind, queue in (("a.b", "x"), ("a.c", "x"), ("a.b", "y")):
            server.submit(kind, queue)
            server.fetch(queue)
        settled(server, 6)
        def count(query):
            return len(server.events(query))
        assert count("?types=job.started") == 3
        assert count("?types=job.started,job.enqueued") == 6
        assert count("?types=job.*") == 6
        assert count("?types=queue.*") == 0
        assert count("?types=job.start") == 0
        assert count("?queues=x") == 4
        assert count("?queues=x,y") == 6
        assert count("?queues=z") == 0
        assert count("?queues=z,y") == 2
        assert count("?job_types=a.b&queues=x") == 2
        assert count("?job_types=a") == 0
        assert count("?job_types=a.c&types=job.enqueued") == 1


@test
def pages_show_everything_once():
    with Server() as server:
        for number in range(7):
            server.submit(queue=f"q{number % 2}", options={"scheduled_at": "2099-01-01T00:00:00Z"})
        everything = [event["id"] for event in settled(server, 14)]
        for limit in (1, 3, 14, 100):
            seen, after = [], ""
            while True:
                page = server.get(f"/ojs/v1/events?limit={limit}&after={after}")
                assert len(page["events"]) <= limit
                seen += [event["id"] for event in page["events"]]
                after = page["cursor"]
                if not page["has_more"]:
                    break
                assert page["events"] and after == page["events"][-1]["id"]
            assert seen == everything, limit
        assert server.get(f"/ojs/v1/events?after={after}")["events"] == []
        server.submit()
        events = settled(server, 1, f"?after={after}")
        assert types(events) == ["job.enqueued"]


@test
def keeps_no_more_than_it_may():
    with Server("--events-max", "5") as server:
        jobs = [server.submit() for _ in range(20)]
        until(lambda: server.metric("ojs_job_enqueued_total{queue=\"default\",type=\"a.b\"}") == 20)
        events = server.events()
        assert [event["subject"] for event in events] == jobs[-5:]
        assert server.metric("pawl_events_kept") == 5


@test
def keeps_no_more_bytes_than_it_may():
    with Server("--events-bytes-max", "20KiB") as server:
        job = server.submit()
        server.fetch()
        for step in range(1, 10):
            reply = server.ask("PUT", f"/ojs/v1/jobs/{job}/progress",
                               {"progress": step / 10, "data": "x" * 6000})
            assert reply.status == 200, reply.body
        until(lambda: server.events("?types=job.progress")[-1]["data"]["progress"] == 0.9)
        events = server.events("?types=job.progress")
        assert [event["data"]["progress"] for event in events] == [0.7, 0.8, 0.9]
        assert server.events()[0]["type"] == "job.progress"  # what is older went with the first


@test
def tells_what_is_no_move():
    with Server() as server:
        job = server.submit()
        server.fetch(worker="w9")
        server.ask("PUT", f"/ojs/v1/jobs/{job}/progress",
                   {"progress": 0.5, "message": "half", "data": {"rows": 7}})
        server.post("/ojs/v1/workers/heartbeat", {"worker_id": "w9", "active_jobs": [job]})
        event = settled(server, 1, "?types=job.progress")[0]
        assert event["subject"] == job and event["data"]["progress"] == 0.5
        assert event["data"]["message"] == "half" and event["data"]["data"] == {"rows": 7}
        assert event["data"]["job_type"] == "a.b" and event["data"]["queue"] == "default"
        event = settled(server, 1, "?types=job.heartbeat")[0]
        assert event["subject"] == job and event["data"]["worker_id"] == "w9"
        event = settled(server, 1, "?types=worker.*")[0]
        assert event["subject"] == "w9", event
        server.post("/ojs/v1/queues/mail/pause")
        server.post("/ojs/v1/queues/mail/resume")
        events = settled(server, 2, "?types=queue.*")
        assert types(events) == ["queue.paused", "queue.resumed"]
        assert [event["subject"] for event in events] == ["mail", "mail"]


@test
def shows_events_of_jobs_that_are_gone():
    with Server() as server:
        job = server.submit()
        server.fetch()
        server.ack(job)
        settled(server, 3)
        server.post("/ojs/v1/jobs/bulk/delete", {"job_ids": [job]})
        assert server.ask("GET", f"/ojs/v1/jobs/{job}").status == 404
        events = settled(server, 3)
        assert types(events) == ["job.enqueued", "job.started", "job.completed"]
        assert events[2]["data"] == {"job_id": job, "job_type": "a.b", "queue": "default"}


@test
def refuses_what_it_does_not_understand():
    with Server() as server:
        names = ",".join(f"q{number}" for number in range(65))
        for query in ("limit=0", "limit=1001", "limit=x", "after=17", "after=evt_17",
                      f"queues={names}", f"job_types={names}"):
            error = server.get(f"/ojs/v1/events?{query}", 400)["error"]
            assert error["code"] == "invalid_request" and error["message"], query


server_kit.main()
