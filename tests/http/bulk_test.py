#!/usr/bin/env python3
"""Bulk requests: submitting, and changing jobs by ids or filters.

Usage: bulk_test.py PAWL [TEST...]
"""
import concurrent.futures

from jobs_kit import JOBS, NOBODY, Shared, new_id, queue_name
from server_kit import main, test, until

SERVER = Shared()
BULK = JOBS + "/bulk"


def spec(queue, *args, **more):
    return {"type": "a.b", "args": list(args), "queue": queue, **more}


def ask(body, status, **headers):
    reply = SERVER.ask("POST", BULK, body, headers)
    assert reply.status == status, (reply.status, reply.body)
    return reply.json


def counts(reply):
    return reply["total"], reply["succeeded"], reply["failed"]


def statuses(reply):
    assert [item["index"] for item in reply["items"]] == list(range(reply["total"]))
    return [item["status"] for item in reply["items"]]


def ids(reply):
    return [item["job"]["id"] for item in reply["items"]]


# ---- submitting ----

@test
def submits_each_by_itself():
    queue = queue_name()
    reply = ask({"jobs": [spec(queue, i, x_i=i) for i in range(100)]}, 201)
    assert counts(reply) == (100, 100, 0) and set(statuses(reply)) == {"created"}
    for i, item in enumerate(reply["items"]):
        assert item["job"] == SERVER.job(item["job"]["id"]) and item["job"]["x_i"] == i
    assert len(SERVER.fetch(queue, count=1000)) == 100


@test
def tells_good_from_bad():
    queue, taken = queue_name(), new_id()
    unique = {"keys": ["type", "args"]}
    holder = SERVER.submit("a.b", queue, args=["u"], options={"unique": unique})
    SERVER.submit("a.b", queue, id=taken)
    reply = ask({"jobs": [spec(queue, 1), spec("Bad Queue"), spec(queue, "u", unique=unique),
                          spec(queue, 2, id=taken), 7, spec(queue, retry={"max_attempts": -1}),
                          spec(queue, 3, meta={"k": "x" * 70000})],
                 "atomicity": "partial"}, 207)
    assert counts(reply) == (7, 1, 6), reply
    assert statuses(reply) == ["created", "failed", "duplicate", "duplicate", "failed", "failed",
                               "failed"], reply
    errors = [item.get("error") for item in reply["items"]]
    assert errors[0] is None and errors[1]["details"]["field"] == "queue", errors
    assert errors[1]["code"] == "invalid_request" and errors[2]["code"] == "duplicate"
    assert errors[2]["details"] == {"existing_job_id": holder,
                                    "existing_job_state": "available"}, errors[2]
    assert errors[3]["details"]["existing_job_id"] == taken, errors[3]
    assert errors[6]["code"] == "envelope_too_large", errors[6]
    assert all("job" not in item for item in reply["items"][1:])


@test
def answers_422_when_none_is_good():
    for atomicity in ["partial", "atomic"]:
        reply = ask({"jobs": [spec("Bad"), spec("Worse")], "atomicity": atomicity}, 422)
        assert counts(reply) == (2, 0, 2) and statuses(reply) == ["failed", "failed"], reply
        assert reply["error"]["code"] == "invalid_request" and reply["error"]["message"], reply


@test
def submits_all_or_none():
    queue, taken = queue_name(), new_id()
    good = [spec(queue, i) for i in range(5)]
    reply = ask({"jobs": good, "atomicity": "atomic"}, 201)
    assert counts(reply) == (5, 5, 0) and len(SERVER.fetch(queue, count=10)) == 5
    SERVER.submit(queue=queue_name(), id=taken)
    for bad, status in [(spec("Bad"), "failed"), (spec(queue, id=taken), "duplicate"),
                        (spec(queue, tags=["x" * 65]), "failed")]:
        reply = ask({"jobs": good + [bad] + good, "atomicity": "atomic"}, 422)
        assert counts(reply) == (11, 0, 11), reply
        assert statuses(reply) == ["failed"] * 5 + [status] + ["failed"] * 5, reply
        assert "another job" in reply["items"][0]["error"]["message"]
        assert "another job" not in reply["items"][5]["error"]["message"]
        assert SERVER.fetch(queue) == []


@test
def gives_the_same_jobs_for_the_same_key():
    for atomicity in ["partial", "atomic"]:
        queue, key = queue_name(), "key-" + queue_name()
        unique = {"keys": ["type", "args", "queue"]}
        body = {"jobs": [spec(queue, 1), spec(queue, 2, unique=unique)],
                "atomicity": atomicity, "idempotency_key": key}
        first = ask(body, 201)
        again = ask(body, 201)
        assert ids(first) == ids(again) and set(statuses(again)) == {"duplicate"}, again
        assert len(SERVER.fetch(queue, count=10)) == 2
        assert ids(ask(body, 201)) == ids(first)
        error = SERVER.refused("POST", BULK, {**body, "jobs": [spec(queue, 3)]}, 409, "conflict",
                               field="idempotency_key")
        assert "another body" in error["message"]
        assert SERVER.fetch(queue) == []


@test
def believes_the_header_more_than_the_body():
    queue, key = queue_name(), queue_name()
    body = {"jobs": [spec(queue)], "idempotency_key": "x" + key}
    first = ask(body, 201, **{"Idempotency-Key": key})
    assert ids(ask({"jobs": [spec(queue)]}, 201, **{"Idempotency-Key": "y" + key})) != ids(first)
    assert ids(ask(body, 201, **{"Idempotency-Key": key})) == ids(first)
    other = ask(body, 201)  # the body's own key is another one
    assert ids(other) != ids(first)


@test
def submits_once_however_many_ask_at_once():
    queue, key = queue_name(), queue_name()
    body = {"jobs": [spec(queue, i) for i in range(10)], "idempotency_key": key}
    with concurrent.futures.ThreadPoolExecutor(8) as pool:
        replies = list(pool.map(lambda _: ask(body, 201), range(8)))
    assert len({tuple(ids(reply)) for reply in replies}) == 1
    assert len(SERVER.fetch(queue, count=100)) == 10


@test
def keeps_keys_over_a_restart():
    with Shared() as server:
        body = {"jobs": [spec("q", 1)], "idempotency_key": "k"}
        first = server.post(BULK, body, 201)
        server.restart()
        assert ids(server.post(BULK, body, 201)) == ids(first)
        server.refused("POST", BULK, {**body, "jobs": [spec("q", 2)]}, 409, "conflict")


@test
def refuses_what_it_cannot_mean():
    good = {"jobs": [spec(queue_name())]}
    for change, field in [({"jobs": []}, "jobs"), ({"jobs": 1}, "jobs"), ({"jobs": None}, "jobs"),
                          ({"atomicity": "some"}, "atomicity"), ({"atomicity": 1}, "atomicity"),
                          ({"idempotency_key": ""}, "idempotency_key"),
                          ({"idempotency_key": "k" * 129}, "idempotency_key"),
                          ({"idempotency_key": 7}, "idempotency_key")]:
        SERVER.refused("POST", BULK, {**good, **change}, 400, "invalid_request", field=field)
    SERVER.refused("POST", BULK, {"jobs": [{}] * 10001}, 413, "BATCH_SIZE_EXCEEDED", field="jobs")
    SERVER.refused("POST", BULK, b"", 400, "invalid_payload")
    SERVER.refused("POST", BULK, b"[]", 400, "invalid_payload")


@test
def notes_rate_limits_of_bulk_jobs():
    queue = queue_name()
    limit = {"limit": 1, "period": "PT1H"}
    ask({"jobs": [spec(queue, i, rate_limit=limit) for i in range(3)]}, 201)
    assert len(SERVER.fetch(queue, count=10)) == 1
    assert SERVER.fetch(queue, count=10) == []


# ---- moving by ids ----

def moved(what, body, status=200):
    return SERVER.expect("POST", f"{BULK}/{what}", body, status)


@test
def cancels_what_waits_by_its_id():
    queue = queue_name()
    active = SERVER.submit(queue=queue)
    SERVER.fetch(queue)
    ready, held = SERVER.submit(queue=queue), SERVER.submit(queue=queue, options={"pending": True})
    reply = moved("cancel", {"job_ids": [ready, NOBODY, held, active]})
    assert (reply["total_matched"], reply["cancelled"], reply["skipped"]) == (4, 2, 2), reply
    assert [item["status"] for item in reply["items"]] == ["cancelled", "skipped", "cancelled",
                                                           "skipped"]
    assert [item["job_id"] for item in reply["items"]] == [ready, NOBODY, held, active]
    assert reply["items"][1]["reason"] and reply["items"][3]["reason"], reply
    assert [SERVER.state(job) for job in (ready, held, active)] == ["cancelled", "cancelled",
                                                                    "active"]


@test
def retries_and_deletes_what_ended_by_its_id():
    queue = queue_name()
    dead, waits = SERVER.discard(queue), SERVER.submit(queue=queue)
    done = SERVER.submit(queue=queue + "-done")
    SERVER.run(done, queue + "-done")
    reply = moved("retry", {"job_ids": [dead, waits, done]})
    assert (reply["total_matched"], reply["retried"], reply["skipped"]) == (3, 1, 2), reply
    assert SERVER.state(dead) == "available" and SERVER.job(dead)["attempt"] == 0
    reply = moved("delete", {"job_ids": [done, waits]})
    assert (reply["deleted"], reply["skipped"]) == (1, 1), reply
    SERVER.refused("GET", f"{JOBS}/{done}", None, 404, "not_found")


@test
def promotes_what_waits_by_its_id_and_by_filter():
    queue, hour = queue_name(), {"delay_until": "+PT1H"}
    later = [SERVER.submit(queue=queue, options=hour) for _ in range(3)]
    ready = SERVER.submit(queue=queue)
    reply = moved("promote", {"job_ids": [later[0], ready, NOBODY]})
    assert (reply["total_matched"], reply["promoted"], reply["skipped"]) == (3, 1, 2), reply
    assert [item["status"] for item in reply["items"]] == ["promoted", "skipped", "skipped"], reply
    reply = moved("promote", {"filter": {"queue": queue}})
    assert (reply["total_matched"], reply["promoted"], reply["skipped"]) == (4, 2, 2), reply
    assert {job["id"] for job in SERVER.fetch(queue, count=9)} == {ready, *later}


@test
def moves_nothing_when_one_id_is_none():
    job = SERVER.submit(queue=queue_name())
    for bad in ["x", 7, None, job.upper(), job + "\0"]:
        error = SERVER.refused("POST", BULK + "/cancel", {"job_ids": [job, bad]}, 400,
                               "invalid_request", field="job_ids")
        assert "job_ids[1]" in error["message"], error
    assert SERVER.state(job) == "available"


@test
def retries_what_expired():
    queue = queue_name()
    job = SERVER.submit(queue=queue, options={"expires_at": "+PT0.05S"})
    until(lambda: SERVER.state(job) == "discarded")
    assert moved("retry", {"job_ids": [job]})["retried"] == 1


# ---- moving by filters ----

@test
def moves_what_a_filter_names():
    queue, other = queue_name(), queue_name()
    mine = [SERVER.submit("x.a", queue), SERVER.submit("x.b", queue, options={"priority": 5}),
            SERVER.submit("x.a", queue, meta={"tenant": "t1", "n": 7, "b": True})]
    theirs = SERVER.submit("x.a", other)

    def left():
        return [job for job in mine + [theirs] if SERVER.state(job) == "available"]
    for narrow in [{"type": "x.c"}, {"type": ["x.c", "x.d"]}, {"state": "scheduled"},
                   {"state": ["scheduled", "pending"]}, {"priority": 6}, {"meta": {"tenant": "t2"}},
                   {"meta": {"n": 8}}, {"enqueued_before": "2020-01-01T00:00:00Z"},
                   {"enqueued_before": "1970-01-01T00:00:00Z"},
                   {"enqueued_after": "2099-01-01T00:00:00+02:00"}]:
        reply = moved("cancel", {"filter": {"queue": queue, **narrow}})
        assert (reply["total_matched"], reply["cancelled"]) == (0, 0), (narrow, reply)
    assert left() == mine + [theirs]
    for narrow, job in [({"priority": 5}, mine[1]), ({"meta": {"n": 7}}, mine[2]),
                        ({"type": ["x.a"], "state": ["available"],
                          "enqueued_after": "2020-01-01T00:00:00Z"}, mine[0])]:
        reply = moved("cancel", {"filter": {"queue": [queue], **narrow}})
        assert (reply["total_matched"], reply["cancelled"], reply["skipped"]) == (1, 1, 0), reply
        assert SERVER.state(job) == "cancelled"
    assert left() == [theirs]


@test
def finds_values_of_meta_of_any_plain_kind():
    queue = queue_name()
    SERVER.submit(queue=queue, meta={"s": "t1", "n": 7, "b": True, "a.b": "dot"})
    for meta in [{"s": "t1"}, {"n": 7}, {"b": True}, {"a.b": "dot"}]:
        reply = moved("retry", {"filter": {"queue": queue, "meta": meta}})
        assert (reply["total_matched"], reply["skipped"]) == (1, 1), (meta, reply)


@test
def counts_what_matches_and_cannot_be_moved():
    queue = queue_name()
    active = SERVER.submit(queue=queue)
    SERVER.fetch(queue)
    SERVER.submit(queue=queue)
    reply = moved("cancel", {"filter": {"queue": queue}})
    assert (reply["total_matched"], reply["cancelled"], reply["skipped"]) == (2, 1, 1), reply
    assert SERVER.state(active) == "active"
    reply = moved("delete", {"filter": {"queue": queue, "state": "active"}})
    assert (reply["total_matched"], reply["deleted"]) == (1, 0), reply
    assert SERVER.state(active) == "active"
    assert moved("delete", {"filter": {"queue": queue}})["deleted"] == 1


@test
def moves_more_than_one_commit_holds():
    queue = queue_name()
    for _ in range(5):
        SERVER.post(JOBS + "/batch", {"jobs": [spec(queue)] * 500}, 201)
    reply = moved("cancel", {"filter": {"queue": queue}})
    assert (reply["total_matched"], reply["cancelled"], reply["items"]) == (2500, 2500, []), reply
    assert moved("delete", {"filter": {"queue": queue}})["deleted"] == 2500


@test
def refuses_filters_that_would_hit_everything():
    """What is misspelt, empty or null restricts nothing; then nothing may be moved."""
    job = SERVER.submit(queue=queue_name())
    for bad, field in [({"queu": "x"}, "queu"), ({"queue": "x", "tag": "y"}, "tag"),
                       ({"queue": []}, "queue"), ({"type": []}, "type"), ({"state": []}, "state"),
                       ({"states": []}, "states"), ({"queue": [1]}, "queue"), ({"type": 7}, "type"),
                       ({"queue": "a\0b"}, "queue"), ({"state": "lost"}, "state"),
                       ({"state": ["available", "lost"]}, "state"),
                       ({"enqueued_before": "now"}, "enqueued_before"),
                       ({"enqueued_after": 7}, "enqueued_after"), ({"priority": 1000}, "priority"),
                       ({"meta": {}}, "meta"), ({"meta": {"a": 1, "b": 2}}, "meta"),
                       ({"meta": {"a": []}}, "meta"), ({"meta": {"a": None}}, "meta"),
                       ({"meta": "x"}, "meta"), ({"queue": ["q"] * 101}, "queue"),
                       ({}, "filter"), ({"queue": None}, "filter")]:
        for what in ["cancel", "retry", "promote", "delete"]:
            SERVER.refused("POST", f"{BULK}/{what}", {"filter": bad}, 400, "invalid_request",
                           field=field)
    for body, field in [({}, "job_ids"), ({"job_ids": [], "filter": {"queue": "q"}}, "job_ids"),
                        ({"job_ids": 7}, "job_ids"), ({"job_ids": [NOBODY] * 10001}, "job_ids"),
                        ({"filter": []}, "filter"), ({"filter": "x"}, "filter")]:
        SERVER.refused("POST", BULK + "/cancel", body, 400, "invalid_request", field=field)
    assert SERVER.state(job) == "available"
    assert moved("cancel", {"job_ids": []})["total_matched"] == 0


@test
def ends_without_a_complaint():
    SERVER.ends_well()


if __name__ == "__main__":
    main()
