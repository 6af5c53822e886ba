#!/usr/bin/env python3
"""Jobs over HTTP: submitting, reading, cancelling, releasing, reordering, and all members of an
envelope.

Usage: jobs_test.py PAWL [TEST...]
"""
import json
import re

import jobs_kit
from jobs_kit import JOBS, NOBODY, Shared, new_id, queue_name
from server_kit import main, test, until

SERVER = Shared()
UUID7 = re.compile("^[0-9a-f]{8}-[0-9a-f]{4}-7[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$")


def submit_raw(body, status=201):
    reply = SERVER.raw("POST", JOBS, body)
    assert reply.status == status, (reply.status, reply.body)
    return reply


def refused(body, status, code, **details):
    return SERVER.refused("POST", JOBS, body, status, code, **details)


# ---- submitting ----

@test
def gives_a_job_all_its_members():
    reply = SERVER.ask("POST", JOBS, {"type": "mail.send", "args": [1, "b", None]})
    job = reply.json["job"]
    assert reply.status == 201 and set(reply.json) == {"job", *reply.json["job"]}
    assert UUID7.match(job["id"])
    assert reply.headers["Location"] == f"{JOBS}/{job['id']}"
    assert reply.headers["Content-Type"] == "application/openjobspec+json"
    assert reply.headers["OJS-Version"] == "1.0"
    wanted = {"specversion": "1.0", "type": "mail.send", "queue": "default", "args": [1, "b", None],
              "meta": {}, "priority": 0, "state": "available", "attempt": 0, "max_attempts": 3}
    assert {name: job[name] for name in wanted} == wanted, job
    assert set(job) == {*wanted, "id", "created_at", "enqueued_at"}, sorted(job)
    assert re.match(r"^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$", job["created_at"])


@test
def shows_the_same_job_to_who_looks_as_to_who_submitted():
    """Replies are printed from what was submitted; the store must agree, byte for byte."""
    queue = queue_name()
    specs = [
        {"type": "a.b", "args": []},
        {"type": "a.b", "args": [{"x": 1.50}], "meta": {"a.b": "c"}, "x_more": [1, {"y": None}]},
        {"type": "a.b", "args": [], "options": {"queue": queue, "priority": -7, "tags": ["x", "y"],
                                                "timeout_ms": 1500}},
        {"type": "a.b", "args": [], "options": {"delay_until": "2099-01-01T00:00:00+01:00"}},
        {"type": "a.b", "args": [], "options": {"scheduled_at": "+PT1H", "expires_at": "+PT2H"}},
        {"type": "a.b", "args": [], "expires_at": "2099-12-31T23:59:59Z", "queue": queue},
        {"type": "a.b", "args": [], "options": {"pending": True}},
        {"type": "a.b", "args": [], "options": {"retry": {"max_attempts": 5, "jitter": False},
                                                "visibility_timeout_ms": 1234}},
        {"type": "a.b@2.0", "args": [], "version": 2, "schema": "urn:x", "timeout": 60},
        {"type": "a.b", "args": ["u"], "options": {"unique": {"keys": ["type", "args"]}}},
        {"type": "a.b", "args": [], "id": new_id(), "specversion": "1.0", "result_ttl": 60},
        {"type": "a.b", "args": [], "queue": queue, "options": {"rate_limit": {"key": "other",
                                                                               "concurrency": 1}}},
    ]
    for spec in specs:
        reply = SERVER.ask("POST", JOBS, spec)
        assert reply.status == 201, (spec, reply.body)
        job = reply.json["job"]["id"]
        assert SERVER.ask("GET", f"{JOBS}/{job}").body == reply.body, (
            spec, reply.body, SERVER.ask("GET", f"{JOBS}/{job}").body)
    batch = SERVER.ask("POST", JOBS + "/batch", {"jobs": [
        {name: value for name, value in spec.items() if name != "id"} for spec in specs
        if "unique" not in spec.get("options", {})]})
    assert batch.status == 201, batch.body
    for job in batch.json["jobs"]:
        assert SERVER.get(f"{JOBS}/{job['id']}")["job"] == job


@test
def a_member_without_effect_is_reported():
    reply = SERVER.post(JOBS, {"type": "a.b", "args": [], "options": {"dealy": "5m"}}, 201)
    assert reply["warnings"] == [{
        "field": "options.dealy",
        "message": '"options.dealy" is not a known member; did you mean "delay"?'}], reply
    reply = SERVER.post(JOBS + "/batch", {"jobs": [
        {"type": "a.b", "args": []}, {"type": "a.b", "args": [], "retry": {"max": 3}}]}, 201)
    assert [each["field"] for each in reply["warnings"]] == ["jobs[1].retry.max"], reply
    misspelt = {"type": "a.b", "args": [], "prioritty": 3}
    reply = SERVER.post(JOBS + "/bulk", {"jobs": [misspelt]}, 201)
    assert [each["field"] for each in reply["warnings"]] == ["jobs[0].prioritty"], reply


@test
def strict_handling_refuses_a_member_without_effect():
    for prefer in ["handling=strict", "respond-async, Handling=Strict"]:
        reply = SERVER.ask("POST", JOBS, {"type": "a.b", "args": [], "dealy_until": "+PT5M"},
                           headers={"Prefer": prefer})
        assert reply.status == 400, reply.body
        assert reply.json["error"]["details"]["field"] == "dealy_until", reply.body
        assert reply.headers["Preference-Applied"] == "handling=strict"
        reply = SERVER.ask("POST", JOBS + "/batch", {"jobs": [
            {"type": "a.b", "args": [], "dealy": 1}]}, headers={"Prefer": prefer})
        assert reply.status == 400, reply.body
        assert reply.json["error"]["details"]["field"] == "jobs[0].dealy", reply.body
    reply = SERVER.ask("POST", JOBS, {"type": "a.b", "args": [], "dealy": 1},
                       headers={"Prefer": "handling=lenient"})
    assert reply.status == 201 and len(reply.json["warnings"]) == 1, reply.body


@test
def a_delay_is_a_schedule():
    job = SERVER.post(JOBS, {"type": "a.b", "args": [], "options": {"delay": "5m"}}, 201)["job"]
    assert job["state"] == "scheduled" and "scheduled_at" in job, job
    refused({"type": "a.b", "args": [], "delay": 5}, 400, "invalid_request", field="delay")
    refused({"type": "a.b", "args": [], "delay": "5m", "delay_until": "+PT1M"}, 400,
            "invalid_request", field="delay")


@test
def a_duplicate_within_a_batch_names_no_job_that_was_rolled_back():
    job = {"type": "a.b", "args": [queue_name()], "options": {"unique": {"keys": ["args"]}}}
    other = {"type": "a.b", "args": []}
    error = SERVER.refused("POST", JOBS + "/batch", {"jobs": [other, job, job]}, 409, "duplicate",
                           index=2)
    assert "[1] of the same batch" in str(error), error
    assert "existing_job_id" not in str(error), error
    reply = SERVER.ask("POST", JOBS + "/bulk", {"atomicity": "atomic", "jobs": [job, job]})
    assert "existing_job_id" not in reply.body.decode(), reply.body


@test
def an_id_twice_in_a_batch_names_the_other_entry():
    job, other = {"type": "a.b", "args": [], "id": new_id()}, {"type": "a.b", "args": []}
    error = SERVER.refused("POST", JOBS + "/batch", {"jobs": [other, job, job]}, 409, "duplicate",
                           index=2, field="jobs[2].id")
    assert "[1] of the same batch has the same id" in str(error), error
    assert "existing_job_id" not in str(error), error
    reply = SERVER.ask("POST", JOBS + "/bulk", {"atomicity": "atomic", "jobs": [job, job]})
    assert "[0] of the same batch has the same id" in reply.body.decode(), reply.body
    assert "existing_job_id" not in reply.body.decode(), reply.body
    SERVER.refused("GET", f"{JOBS}/{job['id']}", None, 404, "not_found")


@test
def a_job_that_has_expired_already_is_answered_as_accepted():
    for tags in [[], ["x"], ["X "]]:
        job = SERVER.post(JOBS, {"type": "a.b", "args": [], "options": {
            "expires_at": "2020-01-01T00:00:00Z", "tags": tags}}, 201)["job"]
        assert job["state"] == "available", job
        until(lambda: SERVER.state(job["id"]) == "discarded")
        assert SERVER.get(f"{JOBS}/{job['id']}")["job"]["error"]["type"] == "expired"


@test
def takes_an_id_once():
    job = new_id()
    body = {"type": "a.b", "args": [], "id": job}
    assert SERVER.post(JOBS, body, 201)["job"]["id"] == job
    refused(body, 409, "duplicate", existing_job_id=job)


@test
def names_the_holder_of_a_unique_key():
    body = {"type": "a.b", "args": [queue_name()], "options": {"unique": {"keys": ["args"]}}}
    first = SERVER.post(JOBS, body, 201)["job"]["id"]
    refused(body, 409, "duplicate", existing_job_id=first, existing_job_state="available")
    body["options"]["unique"]["on_conflict"] = "ignore"
    again = SERVER.post(JOBS, body, 200)
    assert again["deduplicated"] is True and again["job"]["id"] == first
    body["options"]["unique"]["on_conflict"] = "replace"
    other = SERVER.post(JOBS, body, 201)["job"]["id"]
    assert other != first and SERVER.state(first) == "cancelled"


@test
def names_the_field_that_is_wrong():
    good = {"type": "a.b", "args": []}
    for change, field in [
            ({"type": "A.b"}, "type"), ({"type": None}, "type"), ({"type": 1}, "type"),
            ({"type": "a" * 256}, "type"), ({"args": {}}, "args"), ({"args": None}, "args"),
            ({"args": "x"}, "args"), ({"id": "x"}, "id"), ({"id": new_id().upper()}, "id"),
            ({"id": "01900000-0000-4000-8000-000000000000"}, "id"),
            ({"specversion": "2.0"}, "specversion"), ({"meta": []}, "meta"),
            ({"queue": "Q"}, "queue"), ({"queue": "-q"}, "queue"), ({"queue": ""}, "queue"),
            ({"queue": "q" * 256}, "queue"), ({"priority": 101}, "priority"),
            ({"priority": 1.5}, "priority"), ({"priority": "x"}, "priority"),
            ({"options": 1}, "options"), ({"options": {"queue": "a b"}}, "options.queue"),
            ({"options": {"priority": -101}}, "options.priority"),
            ({"options": {"timeout_ms": -1}}, "options.timeout_ms"),
            ({"options": {"delay_until": "tomorrow"}}, "options.delay_until"),
            ({"options": {"delay_until": "2099-01-01T00:00:00"}}, "options.delay_until"),
            ({"options": {"expires_at": "+1H"}}, "options.expires_at"),
            ({"options": {"tags": ["a", 1]}}, "options.tags"),
            ({"options": {"unique": {"states": ["gone"]}}}, "options.unique.states")]:
        error = refused({**good, **change}, 400, "invalid_request")
        named = error["details"]["field"]
        assert named == field or named.startswith(field + "["), (change, error)
        assert error["retryable"] is False


@test
def wants_422_for_a_bad_retry_policy():
    for retry, field in [({"max_attempts": -1}, "max_attempts"),
                         ({"backoff_coefficient": 0.5}, "backoff_coefficient"),
                         ({"initial_interval": "1s"}, "initial_interval")]:
        error = refused({"type": "a.b", "args": [], "options": {"retry": retry}}, 422,
                        "invalid_request")
        assert error["type"] == "validation_error" and field in error["message"], error


@test
def refuses_what_is_no_json_object():
    for body in [b"", b"{", b"[]", b'"x"', b"null", b"{}}", b"{'a':1}",
                 b'{"type":"a.b","args":[01]}',
                 b'{"type":"a.b","args":[NaN]}', b'\xef\xbb\xbf{"type":"a.b","args":[]}',
                 b'{"type":"a.b","args":["\xff"]}', b'{"type":"a.b","args":["\xc0\x80"]}',
                 b'{"type":"a.b","args":["\xed\xa0\x80"]}', b'{"type":"a.b","args":["\\ud800"]}',
                 b'{"type":"a.b","args":["a\x00b"]}', b'{"type":"a.b","args":[1,]}']:
        reply = SERVER.raw("POST", JOBS, body)
        jobs_kit.check_refusal(reply, 400, "invalid_payload", {})


@test
def bounds_depth_at_32():
    def nested(depth):  # the body and args are two of them
        return '{"type":"a.b","args":[' + "[" * (depth - 2) + "]" * (depth - 2) + "]}"
    submit_raw(nested(32))
    jobs_kit.check_refusal(SERVER.raw("POST", JOBS, nested(33)), 400, "invalid_payload", {})
    jobs_kit.check_refusal(SERVER.raw("POST", JOBS, nested(100000)), 400, "invalid_payload", {})


@test
def bounds_depth_where_it_is_told_to():
    with Shared("--json-depth-max", "4") as server:
        assert server.raw("POST", JOBS, '{"type":"a.b","args":[[[]]]}').status == 201
        jobs_kit.check_refusal(server.raw("POST", JOBS, '{"type":"a.b","args":[[[[]]]]}'), 400,
                               "invalid_payload", {})


@test
def refuses_meta_over_64_kib():
    body = {"type": "a.b", "args": [], "meta": {"k": "x" * 65536}}
    refused(body, 413, "envelope_too_large", field="meta")
    body["meta"]["k"] = "x" * 65000
    assert SERVER.post(JOBS, body, 201)["job"]["meta"] == body["meta"]


@test
def takes_a_megabyte_and_not_eleven():
    args = ["x" * (1 << 20)]
    job = SERVER.post(JOBS, {"type": "a.b", "args": args}, 201)["job"]["id"]
    assert SERVER.job(job)["args"] == args
    reply = SERVER.raw("POST", JOBS, b"x" * (11 << 20))
    jobs_kit.check_refusal(reply, 413, "envelope_too_large", {})


# ---- bytes ----

def member(body, name):
    """The bytes of a member of {"job":{...}}, as they stand."""
    at = body.index(b'"' + name + b'":') + len(name) + 3
    end = json.JSONDecoder().raw_decode(body[at:].decode())[1]
    return body[at:].decode()[:end].encode()


@test
def keeps_every_byte_of_arguments_and_meta():
    args = ('[1.50,1e3,1E+3,-0,0.1e-7,12345678901234567890,123456789012345678901234567890.5,'
            '"\\u00e9\\u0041\\/\\ud83d\\ude00é😀","\\u0000",{"b":1,"a":2,"":3}, [ ] ,\ttrue,null]')
    meta = '{"trace.id":"x","n":1.0,"deep":{"ojs.codec":{"v":1e2}}}'
    body = f'{{"type":"a.b","args":{args},"meta":{meta},"x_number":1.10,"x_list":[1E2]}}'
    reply = submit_raw(body)
    job = reply.json["job"]["id"]
    for text in (reply.body, SERVER.ask("GET", f"{JOBS}/{job}").body):
        assert member(text, b"args") == args.encode(), text
        assert member(text, b"meta") == meta.encode(), text
        assert member(text, b"x_number") == b"1.10" and member(text, b"x_list") == b"[1E2]", text


@test
def keeps_bytes_on_their_way_to_the_worker():
    queue = queue_name()
    args = '[1.50,1e3,12345678901234567890,"\\u00e9"]'
    submit_raw(f'{{"type":"a.b","args":{args},"queue":"{queue}","x_a":1.0,"ext_b":{{"c":[]}}}}')
    body = SERVER.raw("POST", "/ojs/v1/workers/fetch", json.dumps({"queues": [queue]})).body
    assert member(body, b"args") == args.encode(), body
    assert member(body, b"x_a") == b"1.0" and member(body, b"ext_b") == b'{"c":[]}', body
    job = json.loads(body)["jobs"][0]["id"]
    result = '{"v":[1.50,1e3,12345678901234567890,"\\u00e9"]}'
    SERVER.raw("POST", "/ojs/v1/workers/ack", f'{{"job_id":"{job}","result":{result}}}')
    assert member(SERVER.ask("GET", f"{JOBS}/{job}").body, b"result") == result.encode()
    assert SERVER.ask("GET", f"{JOBS}/{job}/result").body == (
        f'{{"job_id":"{job}","state":"completed","result":{result}}}').encode()


@test
def takes_the_last_of_repeated_members():
    reply = submit_raw('{"type":"x.x","args":[1],"type":"a.b","meta":{"k":1,"k":2},"args":[2],'
                       '"x_a":1,"x_a":{"b":1,"b":3},"queue":"a",'
                       '"options":{"queue":"b","queue":"c"}}')
    job = reply.json["job"]
    assert job["type"] == "a.b" and job["args"] == [2] and job["meta"] == {"k": 2}, job
    assert job["x_a"] == {"b": 3} and job["queue"] == "c", job
    for name in (b'"type":', b'"args":', b'"k":', b'"x_a":'):
        assert reply.body.count(name) == 2, reply.body  # wrapped and flat
    assert SERVER.ask("GET", f"{JOBS}/{job['id']}").body == reply.body


@test
def keeps_unknown_members_and_ignores_those_of_the_system():
    body = {"type": "a.b", "args": [], "x_a": {"b": [None]}, "ext_ml_gpu": "a100",
            "state": "active", "attempt": 7, "result": 1, "error": {}, "errors": [],
            "created_at": "x", "max_attempts": 9}
    job = SERVER.post(JOBS, body, 201)["job"]
    assert job["x_a"] == {"b": [None]} and job["ext_ml_gpu"] == "a100"
    assert job["state"] == "available" and job["attempt"] == 0 and job["max_attempts"] == 3
    assert "result" not in job and "error" not in job and job["created_at"] != "x"


@test
def answers_the_same_bytes_until_the_job_changes():
    queue = queue_name()
    job = SERVER.submit(queue=queue, x_a=[1.5])
    path = f"{JOBS}/{job}"
    bodies = [SERVER.ask("GET", path).body for _ in range(3)]
    assert bodies[0] == bodies[1] == bodies[2]
    SERVER.fetch(queue)
    SERVER.nack(job)
    bodies += [SERVER.ask("GET", path).body for _ in range(2)]
    assert bodies[3] == bodies[4] != bodies[0]


# ---- looking ----

@test
def knows_no_job_that_is_not_there():
    for method, path, body in [("GET", "", None), ("DELETE", "", None), ("POST", "/cancel", {}),
                               ("POST", "/activate", {}), ("PATCH", "", {"priority": 1}),
                               ("GET", "/result", None)]:
        for job in (NOBODY, "x", new_id().upper(), "0" * 40):
            SERVER.refused(method, f"{JOBS}/{job}{path}", body, 404, "not_found",
                           resource_type="job", resource_id=job)


@test
def tells_of_failures_and_of_what_comes_next():
    queue = queue_name()
    job = SERVER.submit(queue=queue, options={"retry": {"jitter": False, "initial_interval": "PT1H",
                                                        "max_interval": "PT2H"}})
    SERVER.fetch(queue)
    SERVER.nack(job)
    seen = SERVER.job(job)
    assert seen["state"] == "retryable" and seen["attempt"] == 1, seen
    assert seen["retry_delay_ms"] == 3600000 and "next_retry_at" in seen, seen
    assert seen["error"] == seen["errors"][-1] and len(seen["errors"]) == 1, seen
    error = seen["error"]
    assert (error["code"], error["message"], error["type"], error["attempt"]) == (
        "handler_error", "no", "Oops", 1), error
    assert "occurred_at" in error and "started_at" in seen and "completed_at" not in seen


# ---- moving ----

@test
def cancels_what_has_not_ended():
    queue = queue_name()
    later = SERVER.submit(queue=queue, options={"delay_until": "+PT1H"})
    held = SERVER.submit(queue=queue, options={"pending": True})
    ready, active = SERVER.submit(queue=queue), None
    for job, before in [(later, "scheduled"), (held, "pending"), (ready, "available")]:
        cancelled = SERVER.delete(f"{JOBS}/{job}")["job"]
        assert cancelled["state"] == "cancelled" and cancelled["previous_state"] == before
        assert "cancelled_at" in cancelled and "completed_at" not in cancelled
    active = SERVER.submit(queue=queue)
    SERVER.fetch(queue)
    cancelled = SERVER.post(f"{JOBS}/{active}/cancel")["job"]
    assert (cancelled["state"], cancelled["previous_state"]) == ("cancelled", "active")
    for method, path in [("DELETE", ""), ("POST", "/cancel")]:
        SERVER.refused(method, f"{JOBS}/{active}{path}", None if method == "DELETE" else {}, 409,
                       "conflict", current_state="cancelled")
    SERVER.refused("POST", "/ojs/v1/workers/ack", {"job_id": active}, 409, "conflict",
                   current_state="cancelled")


@test
def activates_only_what_is_held():
    queue = queue_name()
    job = SERVER.submit(queue=queue, options={"pending": True})
    assert SERVER.fetch(queue) == []
    moved = SERVER.post(f"{JOBS}/{job}/activate")["job"]
    assert (moved["state"], moved["previous_state"]) == ("available", "pending"), moved
    SERVER.refused("POST", f"{JOBS}/{job}/activate", {}, 409, "conflict",
                   current_state="available")
    SERVER.run(job, queue)
    SERVER.refused("POST", f"{JOBS}/{job}/activate", {}, 409, "conflict",
                   current_state="completed")


@test
def changes_the_priority_of_what_waits():
    queue = queue_name()
    first, second = SERVER.submit(queue=queue), SERVER.submit(queue=queue)
    reply = SERVER.expect("PATCH", f"{JOBS}/{second}", {"priority": 9})
    assert reply == {"id": second, "priority": 9, "previous_priority": 0}, reply
    assert SERVER.fetch(queue)[0]["id"] == second
    SERVER.refused("PATCH", f"{JOBS}/{second}", {"priority": 1}, 409, "conflict",
                   current_state="active")
    for body, field in [({}, "priority"), ({"priority": 101}, "priority"),
                        ({"priority": "high"}, "priority"), ({"queue": "x"}, "priority")]:
        SERVER.refused("PATCH", f"{JOBS}/{first}", body, 400, "invalid_request", field=field)
    SERVER.refused("PATCH", f"{JOBS}/{first}", b"", 400, "invalid_payload")
    SERVER.ack(second)
    SERVER.refused("PATCH", f"{JOBS}/{second}", {"priority": 1}, 409, "conflict",
                   current_state="completed")


# ---- batches ----

@test
def submits_a_batch_in_its_order():
    queue = queue_name()
    jobs = [{"type": "a.b", "args": [i], "queue": queue, "meta": {"i": i}, "version": i, "x_i": i}
            for i in range(1000)]
    reply = SERVER.post(JOBS + "/batch", {"jobs": jobs}, 201)
    assert reply["count"] == reply["enqueued"] == 1000 and reply["failed"] == 0, set(reply)
    for i, job in enumerate(reply["jobs"]):
        assert (job["args"], job["meta"], job["version"], job["x_i"]) == ([i], {"i": i}, i, i)
    fetched = SERVER.fetch(queue, count=1000)
    assert [job["args"][0] for job in fetched] == list(range(1000))


@test
def submits_none_of_a_batch_with_a_bad_one():
    queue = queue_name()
    good = {"type": "a.b", "args": [], "queue": queue}

    def batch(*jobs):
        return {"jobs": [good, good, *jobs]}
    for bad, status, code, field in [
            ({**good, "type": "X"}, 400, "invalid_request", "jobs[2].type"),
            ({**good, "args": 1}, 400, "invalid_request", "jobs[2].args"),
            ({**good, "options": {"tags": ["x" * 65]}}, 400, "invalid_request", "jobs[2].tags"),
            ({**good, "retry": {"max_attempts": -1}}, 422, "invalid_request",
             "jobs[2].retry.max_attempts"),
            (7, 400, "invalid_request", "jobs[2]")]:
        error = SERVER.refused("POST", JOBS + "/batch", batch(bad), status, code, index=2)
        assert error["details"]["field"].startswith(field), error
    job = new_id()
    twice = {**good, "id": job}
    SERVER.refused("POST", JOBS + "/batch", batch(twice, twice), 409, "duplicate", index=3,
                   field="jobs[3].id")
    holder = SERVER.submit(queue=queue_name(), options={"unique": {"keys": ["meta"],
                                                                   "meta_keys": ["k"]}},
                           meta={"k": queue})
    clash = {**good, "meta": {"k": queue}, "unique": {"keys": ["meta"], "meta_keys": ["k"]}}
    SERVER.refused("POST", JOBS + "/batch", batch(clash), 409, "duplicate", index=2,
                   existing_job_id=holder)
    assert SERVER.fetch(queue) == []


@test
def wants_an_array_of_jobs():
    for body in [{}, {"jobs": []}, {"jobs": {}}, {"jobs": None}]:
        SERVER.refused("POST", JOBS + "/batch", body, 400, "invalid_request", field="jobs")
    jobs = [{"type": "a.b", "args": []}] * 10001
    SERVER.refused("POST", JOBS + "/batch", {"jobs": jobs}, 413, "BATCH_SIZE_EXCEEDED",
                   field="jobs")


@test
def answers_for_tags_and_unique_jobs_of_a_batch():
    """Those are looked up; the others are printed from the request."""
    queue = queue_name()
    unique = {"keys": ["type", "args"], "on_conflict": "ignore"}
    old = SERVER.post(JOBS, {"type": "a.b", "args": [queue], "queue": queue,
                             "options": {"unique": unique}}, 201)["job"]["id"]
    jobs = SERVER.post(JOBS + "/batch", {"jobs": [
        {"type": "a.b", "args": [1], "queue": queue},
        {"type": "a.b", "args": [2], "queue": queue, "options": {"tags": ["x"]}},
        {"type": "a.b", "args": [queue], "queue": queue, "options": {"unique": unique}}]},
        201)["jobs"]
    assert [job["args"] for job in jobs] == [[1], [2], [queue]]
    assert jobs[1]["tags"] == ["x"] and "tags" not in jobs[0]
    assert jobs[2]["id"] == old


# ---- keys ----

@test
def gives_the_first_job_back_for_a_key_that_is_repeated():
    body = b'{"type":"a.b","args":[1]}'
    first = SERVER.raw("POST", JOBS, body, **{"Idempotency-Key": "key-of-a-header"})
    again = SERVER.raw("POST", JOBS, body, **{"Idempotency-Key": "key-of-a-header"})
    assert (first.status, again.status) == (201, 200), (first.status, again.status)
    assert again.json["deduplicated"] is True
    assert again.json["job"]["id"] == first.json["job"]["id"]


@test
def takes_a_job_s_own_key_wherever_it_stands():
    top = {"type": "a.b", "args": [], "idempotency_key": "key-of-a-job"}
    within = {"type": "a.b", "args": [], "options": {"idempotency_key": "key-of-a-job"}}
    first = SERVER.ask("POST", JOBS, top)
    assert SERVER.ask("POST", JOBS, within).json["job"]["id"] == first.json["job"]["id"]
    jobs = SERVER.ask("POST", f"{JOBS}/batch", {"jobs": [top, {"type": "a.b", "args": []}]}).json
    assert jobs["jobs"][0]["id"] == first.json["job"]["id"] != jobs["jobs"][1]["id"]
    refused({**top, "idempotency_key": 7}, 400, "invalid_request", field="idempotency_key")


# ---- the end ----

@test
def finds_jobs_again_after_a_restart():
    with Shared() as server:
        job = server.submit(x_a=[1.50], meta={"a": "é"})
        body = server.ask("GET", f"{JOBS}/{job}").body
        server.restart()
        assert server.ask("GET", f"{JOBS}/{job}").body == body
        until(lambda: server.fetch())
        assert server.ack(job)["state"] == "completed"


@test
def submits_a_finished_job_again():
    queue = queue_name()
    old = SERVER.submit("a.b", queue, args=[1, {"k": "v"}], meta={"tenant": "t"}, x_more=7,
                        options={"priority": 3, "tags": ["red"], "timeout_ms": 5000})
    SERVER.refused("POST", f"{JOBS}/{old}/rerun", {}, 409, "conflict", current_state="available")
    SERVER.run(old, queue)
    new = SERVER.post(f"{JOBS}/{old}/rerun", {}, 201)["job"]
    assert new["id"] != old and (new["state"], new["attempt"]) == ("available", 0), new
    before = SERVER.job(old)
    assert before["state"] == "completed"
    for name in ("type", "queue", "args", "meta", "priority", "tags", "timeout_ms", "x_more",
                 "max_attempts"):
        assert new.get(name) == before.get(name), (name, new, before)
    assert SERVER.fetch(queue)[0]["id"] == new["id"]
    SERVER.refused("POST", f"{JOBS}/{NOBODY}/rerun", {}, 404, "not_found")


@test
def ends_without_a_complaint():
    SERVER.ends_well()


if __name__ == "__main__":
    main()
