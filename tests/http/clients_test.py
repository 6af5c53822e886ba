#!/usr/bin/env python3
"""Requests and replies of published clients, where the spec, its cases and its clients differ.

Usage: clients_test.py PAWL [TEST...]
"""
import itertools
import urllib.parse
import uuid

from jobs_kit import JOBS, Shared, check_refusal, queue_name
from server_kit import main, test, until

SERVER = Shared()
OJS = "application/openjobspec+json"


def ask_json(method, path, body=None, status=200, **headers):
    reply = SERVER.ask(method, path, body, {name.replace("_", "-"): value
                                            for name, value in headers.items()})
    assert reply.status == status, (method, path, reply.status, reply.body)
    return reply.json


# ---- headers ----

@test
def serves_every_version_with_the_major_number_one():
    for version in ["1", "1.0", "1.1", "1.0.0", "1.0.0-rc.1", "1.0-rc1+build.7", "1.12.3", "",
                    "1-rc"]:
        reply = SERVER.ask("GET", "/ojs/v1/queues", headers={"OJS-Version": version})
        assert reply.status == 200, (version, reply.body)
        assert reply.headers["OJS-Version"] == "1.0", version
    for version in ["2", "2.0", "0.9", "10", "10.0", "11", "1.", "1..0", "1.x", "1.0;", "v1", "one",
                    "1.0.0-", "1.0-rc_1", "1,0", "-1"]:
        reply = SERVER.ask("GET", "/ojs/v1/queues", headers={"OJS-Version": version})
        error = check_refusal(reply, 422, "unsupported", {"field": "OJS-Version"})
        assert "1.0" in error["message"] and f'"{version}"' in error["message"], error
        assert reply.headers["OJS-Version"] == "1.0", version


@test
def answers_with_the_type_that_is_listed_first():
    plain = "application/json"
    for accept, expected in [
            (None, OJS), ("*/*", OJS), (plain, plain), (OJS, OJS), ("text/html", OJS), ("", OJS),
            (f"{plain}, */*;q=0.5", plain), (f"{OJS}, {plain}", OJS), (f"{plain}, {OJS}", plain),
            (f"text/html , {plain};q=0.9,{OJS}", plain), ("Application/JSON; charset=utf-8", plain),
            ("application/json-seq, application/jso", OJS), (f"*/*, {plain}", plain),
            (f"application/*;q=0.1;x=\"y\", ,,{plain}", plain)]:
        headers = {"Accept": accept} if accept is not None else {}
        reply = SERVER.ask("GET", "/ojs/v1/queues", headers=headers)
        assert reply.headers["Content-Type"] == expected, (accept, reply.headers["Content-Type"])
    reply = SERVER.ask("GET", "/ojs/v1/queues",
                       headers={"Accept": OJS, "User-Agent": "python-httpx/0.27"})
    assert reply.headers["Content-Type"] == plain


@test
def writes_nothing_into_meta_that_nobody_asked_for():
    body = {"type": "a.b", "args": [], "options": {"queue": queue_name()}}
    job = ask_json("POST", JOBS, body, 201, X_Request_ID=str(uuid.uuid4()))["job"]
    assert job["meta"] == {}, job
    body["meta"] = {"request_id": "mine"}
    job = ask_json("POST", JOBS, body, 201, X_Request_ID="other")["job"]
    assert SERVER.job(job["id"])["meta"] == {"request_id": "mine"}, job


@test
def takes_an_empty_filter_for_none():
    queue = queue_name()
    job = SERVER.discard(queue)
    reply = SERVER.get("/ojs/v1/dead-letter?queue=&limit=10&offset=0")
    assert job in [one["id"] for one in reply["jobs"]], reply
    for path, member in [("/ojs/v1/admin/dead-letter?queue=", "items"),
                         ("/ojs/v1/admin/jobs?queue=&state=&type=&since=&until=&page=&per_page="
                          "&sort=&order=&worker=", "items"),
                         ("/ojs/v1/events?types=&queues=&job_types=&after=&limit=", "events"),
                         ("/ojs/v1/queues?limit=&offset=&cursor=", "queues"),
                         ("/ojs/v1/schemas?page=&per_page=", "schemas")]:
        assert isinstance(SERVER.get(path)[member], list), path
    assert SERVER.get("/ojs/v1/admin/jobs?queue=&state=")["pagination"]["total"] >= 1
    assert until(lambda: SERVER.get("/ojs/v1/events?queues=&types=")["events"])


# ---- replies ----

def check_flat(reply, *beside):
    """The job wrapped as the spec has it, and its members beside it."""
    flat = {name: value for name, value in reply.items() if name != "job" and name not in beside}
    assert flat == reply["job"], reply
    return reply["job"]


@test
def tells_of_one_job_wrapped_and_flat():
    queue = queue_name()
    body = {"type": "a.b", "args": [1, {"x": [2.50]}], "meta": {"m": 1}, "x_other": {"y": 1},
            "job": "mine", "deduplicated": "so", "warnings": 7,
            "options": {"queue": queue, "tags": ["t"], "unique": {"key": ["type", "queue"],
                                                                  "on_conflict": "ignore"}}}
    made = SERVER.post(JOBS, body, 201)
    own = {"job": "mine", "deduplicated": "so", "warnings": 7}
    assert {name: made["job"].pop(name) for name in own} == own, made
    job = check_flat(made, "warnings")["id"]
    assert made["args"] == body["args"] and made["x_other"] == {"y": 1}, made
    again = SERVER.post(JOBS, body, 200)
    for name in own:
        again["job"].pop(name)
    assert again["deduplicated"] is True, again
    assert check_flat(again, "deduplicated", "warnings")["id"] == job
    plain = {"type": "a.b", "args": [], "options": {"queue": queue_name()}}
    other = check_flat(SERVER.post(JOBS, plain, 201))["id"]
    assert check_flat(SERVER.get(f"{JOBS}/{other}"))["state"] == "available"
    assert check_flat(SERVER.delete(f"{JOBS}/{other}"))["previous_state"] == "available"
    dead = SERVER.discard(queue_name())
    shown = check_flat(SERVER.get(f"{JOBS}/{dead}"))
    assert shown["error"]["type"] == "Oops", shown
    assert check_flat(SERVER.post(f"/ojs/v1/dead-letter/{dead}/retry"))["state"] == "available"



@test
def keeps_a_failures_backtrace():
    queue = queue_name()
    retry = {"max_attempts": 2, "initial_interval": "PT0.001S", "jitter": False}
    job = SERVER.submit(queue=queue, options={"retry": retry})
    said = [{"type": "E", "message": "m", "backtrace": ["a:1", "b \"x\":2"]},
            {"code": "c", "message": "n", "backtrace": [f"f{i}" for i in range(60)],
             "details": {"x": [1.50], "error_class": "K"}}]
    for error in said:
        assert SERVER.fetch(queue, wait_ms=20000)[0]["id"] == job
        SERVER.post("/ojs/v1/workers/nack", {"job_id": job, "error": error})
    shown = SERVER.job(job)
    first, second = shown["errors"]
    assert shown["error"] == second and shown["state"] == "discarded", shown
    assert first["backtrace"] == said[0]["backtrace"] and "details" not in first, first
    assert second["backtrace"] == said[1]["backtrace"][:50], second
    assert second["details"] == said[1]["details"] and second["type"] == "K", second


@test
def names_the_queue_of_statistics_as_each_reader_wants_it():
    queue = queue_name()
    SERVER.submit(queue=queue)
    path = f"/ojs/v1/queues/{queue}/stats"
    as_object = [SERVER.get(path), SERVER.get(path, Accept=OJS)]
    as_text = [ask_json("GET", path, OJS_Version="1.0.0-rc.1", Accept=OJS),
               ask_json("GET", path, Content_Type=OJS, Accept=OJS)]
    for reply in as_object:
        assert reply["queue"]["name"] == queue and reply["queue"]["available"] == 1, reply
    for reply in as_text:
        assert reply["queue"] == queue, reply
    for reply in as_object + as_text:
        assert reply["depth"] == reply["stats"]["depth"] == 1 and reply["name"] == queue, reply
        assert reply["available"] == reply["stats"]["available"] == 1, reply


@test
def tells_the_latency_of_its_store_as_a_whole_number():
    assert isinstance(SERVER.get("/ojs/v1/health")["backend"]["latency_ms"], int)


@test
def lists_extensions_by_name():
    manifest = SERVER.get("/ojs/manifest")
    details = manifest["extension_details"]
    named = [one["name"] for tier in ("official", "experimental") for one in details[tier]]
    assert manifest["extensions"] == named and "dead-letter" in named, manifest


@test
def tells_of_a_schema_wrapped_and_flat():
    uri = 'urn:x:,"schema":' + queue_name()
    body = {"uri": uri, "type": "a.b", "version": "1.0.0", "schema": {"schema": {"type": "array"}}}
    made = SERVER.post("/ojs/v1/schemas", body, 201)
    listed = SERVER.get("/ojs/v1/schemas?limit=100")["schemas"]
    assert {name: made["schema"][name] for name in body} == body
    for name in ("uri", "type", "version", "created_at"):
        assert made[name] == made["schema"][name], made
    assert made["schema"] in listed, listed
    quoted = uri.replace('"', "%22").replace(":", "%3A").replace(",", "%2C")
    assert SERVER.get(f"/ojs/v1/schemas/{quoted}") == made


# ---- lists ----

def ids(jobs):
    return [job["id"] for job in jobs]


@test
def lists_jobs_for_the_command_line():
    queue = queue_name()
    jobs = [SERVER.submit(queue=queue) for _ in range(5)]
    SERVER.delete(f"{JOBS}/{jobs[0]}")
    reply = SERVER.get(f"{JOBS}?limit=2&queue={queue}&state=available&type=")
    assert reply["total"] == reply["pagination"]["total"] == 4, reply
    assert ids(reply["jobs"]) == [jobs[4], jobs[3]], reply
    assert reply["pagination"]["has_more"], reply
    cursor = reply["pagination"]["next_cursor"]
    reply = SERVER.get(f"{JOBS}?limit=2&queue={queue}&state=available&cursor={cursor}")
    assert ids(reply["jobs"]) == [jobs[2], jobs[1]], reply
    assert ids(SERVER.get(f"{JOBS}?queue={queue}&order=asc")["jobs"]) == jobs
    SERVER.refused("GET", f"{JOBS}?state=odd", None, 400, "invalid_request", field="state")
    SERVER.refused("GET", f"{JOBS}?limit=x", None, 400, "invalid_request", field="limit")


@test
def sorts_jobs_by_priority_and_by_when_they_are_due():
    queue = queue_name()
    wanted = [(3, 40), (-1, 10), (3, 30), (0, 20)]  # priority, hours until it is due
    jobs = [SERVER.submit(queue=queue, options={"priority": priority,
                                                "delay_until": f"+PT{hours}H"})
            for priority, hours in wanted]
    for path, member in [("/ojs/v1/admin/jobs", "items"), (JOBS, "jobs")]:
        for sort, order, expected in [("priority", "asc", [1, 3, 0, 2]),
                                      ("priority", "desc", [2, 0, 3, 1]),
                                      ("scheduled_at", "asc", [1, 3, 2, 0]),
                                      ("scheduled_at", "desc", [0, 2, 3, 1]),
                                      ("created_at", "asc", [0, 1, 2, 3])]:
            reply = SERVER.get(f"{path}?queue={queue}&sort={sort}&order={order}")
            assert ids(reply[member]) == [jobs[i] for i in expected], (path, sort, order, reply)
            assert reply["pagination"]["total"] == 4, reply
        SERVER.refused("GET", f"{path}?sort=args", None, 400, "invalid_request", field="sort")
    reply = SERVER.get(f"/ojs/v1/admin/jobs?queue={queue}&sort=priority&page=2&per_page=3")
    assert ids(reply["items"]) == [jobs[1]] and reply["pagination"]["page"] == 2, reply
    assert SERVER.get(f"/ojs/v1/admin/jobs?queue={queue}&sort=priority&page=3")["items"] == []


@test
def turns_the_pages_of_a_sorted_list():
    queue = queue_name()
    priorities = [3, -100, 3, 0, 100, 3, -1]
    jobs = [SERVER.submit(queue=queue, options={"priority": priority, "delay_until": f"+PT{i}H"})
            for i, priority in enumerate(priorities, 1)]
    for sort, order in itertools.product(["priority", "scheduled_at"], ["asc", "desc"]):
        path = f"{JOBS}?queue={queue}&sort={sort}&order={order}"
        whole = SERVER.get(path)
        assert sorted(ids(whole["jobs"])) == sorted(jobs), whole
        assert not whole["pagination"]["has_more"], whole
        found, cursor = [], ""
        for left in [5, 3, 1]:
            page = SERVER.get(f"{path}&limit=2&cursor={cursor}")
            found, cursor = found + ids(page["jobs"]), page["pagination"]["next_cursor"]
            assert page["pagination"]["has_more"] and page["total"] == len(jobs), (left, page)
        last = SERVER.get(f"{path}&limit=2&cursor={cursor}")
        assert found + ids(last["jobs"]) == ids(whole["jobs"]), (sort, order)
        assert not last["pagination"]["has_more"] and "next_cursor" not in last["pagination"], last
        other = {"asc": "desc", "desc": "asc"}[order]
        for wrong in ["garbage", cursor + "0", " " + cursor[1:], cursor[:-1],
                      SERVER.get(f"{JOBS}?queue={queue}&limit=2")["pagination"]["next_cursor"]]:
            SERVER.refused("GET", f"{path}&cursor={urllib.parse.quote(wrong)}", None, 400,
                           "invalid_request", field="cursor")
        SERVER.refused("GET", f"{JOBS}?sort={sort}&order={other}&cursor={cursor}", None, 400,
                       "invalid_request", field="cursor")
        SERVER.refused("GET", f"{JOBS}?order={order}&cursor={cursor}", None, 400,
                       "invalid_request")
    job = jobs[priorities.index(100)]  # a page goes on behind a job that is gone
    cursor = SERVER.get(f"{JOBS}?queue={queue}&sort=priority&limit=1")["pagination"]["next_cursor"]
    SERVER.delete(f"{JOBS}/{job}")
    SERVER.delete(f"/ojs/v1/admin/jobs/{job}")
    page = SERVER.get(f"{JOBS}?queue={queue}&sort=priority&limit=3&cursor={cursor}")
    assert {one["priority"] for one in page["jobs"]} == {3}, page


@test
def refuses_to_sort_more_jobs_than_it_may():
    queue = queue_name()
    for _ in range(2):
        jobs = [{"type": "a.b", "args": [], "options": {"queue": queue}}] * 5001
        SERVER.post(f"{JOBS}/batch", {"jobs": jobs}, 201)
    error = SERVER.refused("GET", f"/ojs/v1/admin/jobs?queue={queue}&sort=priority", None, 400,
                           "invalid_request", field="sort")
    assert "10002" in error["message"] and "10000" in error["message"], error
    assert SERVER.get(f"/ojs/v1/admin/jobs?queue={queue}")["pagination"]["total"] == 10002


@test
def turns_pages_of_events_by_number():
    queue = queue_name()
    jobs = [SERVER.submit(queue=queue) for _ in range(5)]
    mine = f"queues={queue}&type=job.enqueued"
    first = f"/ojs/v1/events?page=1&per_page=2&{mine}"
    until(lambda: SERVER.get(first)["pagination"]["total"] == 5)  # told a moment after the answer
    reply = SERVER.get(first)
    assert reply["pagination"] == {"total": 5, "page": 1, "per_page": 2}, reply
    seen = list(reply["items"])
    for page in (2, 3, 4):
        seen += SERVER.get(f"/ojs/v1/events?page={page}&per_page=2&{mine}")["items"]
    assert [event["subject"] for event in seen] == jobs[::-1], seen
    assert all(event["timestamp"] and event["data"]["queue"] == queue for event in seen), seen
    assert SERVER.get(f"/ojs/v1/events?{mine}")["events"] == seen[::-1]
    after = seen[2]["time"]
    newer = SERVER.get(f"/ojs/v1/events?{mine}&since={after}")["events"]
    assert ids(newer) == ids([one for one in seen if one["time"] >= after])[::-1], newer
    SERVER.refused("GET", "/ojs/v1/events?page=0", None, 400, "invalid_request", field="page")
    SERVER.refused("GET", "/ojs/v1/events?since=now", None, 400, "invalid_request", field="since")


@test
def streams_events_where_clients_look_for_them():
    queue = queue_name()
    job = SERVER.submit(queue=queue)
    for path in (f"/ojs/v1/events/jobs/{job}", f"/ojs/v1/events/queues/{queue}", "/ojs/v1/events",
                 f"/ojs/v1/events?channel=job:{job}"):
        with SERVER.listen(path) as stream:
            assert stream.response.headers["Content-Type"] == "text/event-stream", path
    SERVER.delete(f"{JOBS}/{job}")
    with SERVER.listen(f"/ojs/v1/events/jobs/{job}") as stream:
        assert stream.rest()[-1][2]["to"] == "cancelled"


@test
def has_its_metrics_among_the_other_routes():
    reply = SERVER.ask("GET", "/ojs/v1/metrics")
    assert reply.status == 200 and b"ojs_job_enqueued_total" in reply.body


# ---- dashboards ----

TIMES = ("created_at", "enqueued_at", "started_at", "scheduled_at", "completed_at", "cancelled_at",
         "discarded_at")


@test
def tells_operators_of_errors_and_times_always():
    queue = queue_name()
    plain = SERVER.submit(queue=queue, options={"metadata": {"mine": 1}})
    later = SERVER.submit(queue=queue, options={"delay_until": "2099-12-31T23:59:59Z"})
    dead = SERVER.discard(queue_name())
    gone = SERVER.submit(queue=queue)
    SERVER.delete(f"{JOBS}/{gone}")
    for job in (plain, later, dead, gone):
        shown = SERVER.get(f"/ojs/v1/admin/jobs/{job}")
        assert shown["metadata"] == {name: shown[name] for name in TIMES if name in shown}, shown
        assert "created_at" in shown["metadata"], shown
        assert len(shown["errors"]) == (job == dead), shown
    assert SERVER.get(f"/ojs/v1/admin/jobs/{later}")["metadata"]["scheduled_at"].startswith("2099")
    shown = SERVER.job(plain)
    assert shown["metadata"] == {"mine": 1} and "errors" not in shown, shown


@test
def tells_of_a_workers_queues_and_start_always():
    started = "2026-01-01T00:00:00Z"
    told = [("a", {}, [], None), ("b", {"queues": ["x"], "started_at": started}, ["x"], started),
            ("c", {"queues": None, "started_at": 7, "labels": {"queues": 1, "x": 2}}, [], None),
            ("d", {"hostname": "h" * 9000, "queues": ["x"]}, [], None)]
    prefix = queue_name()
    for name, body, _, _ in told:
        SERVER.post("/ojs/v1/workers/heartbeat", {"worker_id": prefix + name, **body})
    SERVER.fetch(queue_name(), worker=prefix + "fetches")
    for name, _, queues, start in told + [("fetches", {}, [], None)]:
        worker = SERVER.get(f"/ojs/v1/admin/workers/{prefix}{name}")
        assert worker["queues"] == queues, worker
        assert worker["started_at"] == (start or worker["first_seen_at"]), worker


@test
def lists_schemas_of_types_under_both_names():
    kind = queue_name()
    SERVER.put(f"/ojs/v1/admin/schemas/{kind}/1", {"schema": {"type": "array"}}, 201)
    reply = SERVER.get("/ojs/v1/admin/schemas?per_page=100")
    assert reply["schemas"] == reply["items"] and reply["schemas"], reply


# ---- workers and the command line ----

@test
def believes_a_heartbeat_without_a_name():
    queue, worker = queue_name(), queue_name()
    beat = "/ojs/v1/workers/heartbeat"
    named, unnamed = SERVER.submit(queue=queue), SERVER.submit(queue=queue)
    SERVER.fetch(queue, worker=worker)
    SERVER.post("/ojs/v1/workers/fetch", {"queues": [queue]})
    reply = SERVER.post(beat, {"queues": [queue]})
    assert reply["state"] == reply["directive"] == "running" and not reply["jobs_extended"], reply
    for job in (named, unnamed):
        assert SERVER.post(beat, {"job_id": job})["jobs_extended"] == [job]
        assert SERVER.post(beat, {"job_id": job, "attempt": 1})["jobs_extended"] == [job]
        assert SERVER.post(beat, {"job_id": job, "attempt": 2})["jobs_lost"] == [job]
    assert sorted(SERVER.post(beat, {"active_jobs": [named, unnamed]})["jobs_extended"]) == \
        sorted([named, unnamed])
    SERVER.post(f"/ojs/v1/admin/workers/{worker}/quiet")
    assert SERVER.post(beat, {"job_id": named})["directive"] == "quiet"
    assert SERVER.post(beat, {"worker_id": "other", "job_id": named})["jobs_lost"] == [named]
    for body in ({"worker_id": ""}, {"worker_id": 5}):
        SERVER.refused("POST", beat, body, 400, "invalid_request", field="worker_id")
    SERVER.restart()  # what was fetched is known to the store alone
    assert SERVER.post(beat, {"job_id": named})["jobs_extended"] == [named]
    SERVER.ack(named)
    assert SERVER.post(beat, {"job_id": named})["jobs_lost"] == [named]


@test
def reads_options_as_the_command_line_writes_them():
    queue = queue_name()
    body = {"type": "a.b", "args": [], "options": {"queue": queue, "max_attempts": 7}}
    job = SERVER.post(JOBS, body, 201)
    assert job["max_attempts"] == 7 and "warnings" not in job, job
    assert SERVER.job(job["id"])["max_attempts"] == 7
    body["options"]["retry"] = {"max_attempts": 2}
    assert SERVER.post(JOBS, body, 201)["max_attempts"] == 2
    SERVER.refused("POST", JOBS, {**body, "options": {"max_attempts": "many"}}, 422,
                   "invalid_request", field="options.max_attempts")
    at_top = {"type": "a.b", "args": [], "max_attempts": 7}  # a job that is sent back as it came
    assert SERVER.post(JOBS, at_top, 201)["max_attempts"] == 3
    unique = {"type": "a.b", "args": [], "options": {"unique": {"key": "order-1"}}}
    SERVER.refused("POST", JOBS, unique, 400, "invalid_request", field="options.unique.key")


@test
def retries_a_cancelled_job_alone_and_in_bulk():
    queue, jobs = queue_name(), []
    for _ in range(4):
        jobs.append(SERVER.submit(queue=queue))
        SERVER.delete(f"{JOBS}/{jobs[-1]}")
    assert SERVER.post(f"/ojs/v1/admin/jobs/{jobs[0]}/retry")["state"] == "available"
    bulk = f"{JOBS}/bulk/retry"
    assert SERVER.post(bulk, {"job_ids": [jobs[1]]})["retried"] == 1
    assert SERVER.post(bulk, {"filter": {"queue": queue}})["retried"] == 0  # names no state
    assert SERVER.post(bulk, {"filter": {"queue": queue, "state": "cancelled"}})["retried"] == 2
    assert {SERVER.state(job) for job in jobs} == {"available"}


@test
def the_server_ends_well():
    SERVER.ends_well()


if __name__ == "__main__":
    main()
