#!/usr/bin/env python3
"""Queues and dead letters over HTTP.

Usage: queues_test.py PAWL [TEST...]
"""
import time

from jobs_kit import JOBS, NOBODY, Shared, new_id, pages, queue_name
from server_kit import main, test, until

SERVER = Shared()
QUEUES = "/ojs/v1/queues"
DEAD = "/ojs/v1/dead-letter"
COUNTS = ["available", "active", "scheduled", "retryable", "pending", "completed", "discarded",
          "cancelled"]


def stats(queue, server=SERVER):
    return server.get(f"{QUEUES}/{queue}/stats")


# ---- counts ----

@test
def counts_jobs_of_every_state_for_four_readers():
    queue = queue_name()
    done = SERVER.submit(queue=queue)
    SERVER.run(done, queue)
    SERVER.discard(queue)
    gone = SERVER.submit(queue=queue)
    SERVER.delete(f"{JOBS}/{gone}")
    failed = SERVER.submit(queue=queue)
    SERVER.fetch(queue)
    SERVER.nack(failed)
    SERVER.submit(queue=queue)
    SERVER.fetch(queue)
    SERVER.submit(queue=queue)
    SERVER.submit(queue=queue, options={"delay_until": "+PT1H"})
    SERVER.submit(queue=queue, options={"delay_until": "+PT1H"})
    SERVER.submit(queue=queue, options={"pending": True})
    wanted = dict(available=1, active=1, scheduled=2, retryable=1, pending=1, completed=1,
                  discarded=1, cancelled=1)
    seen = stats(queue)
    for where in (seen, seen["queue"], seen["stats"]):
        assert {name: where[name] for name in COUNTS} == wanted, where
    assert seen["queue"]["name"] == seen["name"] == seen["stats"]["queue"] == queue
    assert seen["paused"] is False and seen["queue"]["paused"] is False
    assert seen["status"] == "active" and seen["stats"]["depth"] == 6
    assert "computed_at" in seen and "config" not in seen


@test
def tells_the_pace_of_a_queue():
    queue = queue_name()
    for _ in range(3):
        job = SERVER.submit(queue=queue)
        SERVER.run(job, queue)
    SERVER.discard(queue)
    pace = until(lambda: (stats(queue)["stats"]["failed_last_hour"] == 1 and stats(queue)["stats"]))
    assert pace["completed_last_hour"] == 3 and pace["throughput_per_second"] > 0, pace
    assert pace["avg_duration_ms"] >= 0 and pace["avg_wait_ms"] >= 0, pace


@test
def knows_an_empty_queue_where_none_was_used():
    seen = stats(queue_name())
    assert all(seen[name] == 0 for name in COUNTS) and seen["stats"]["depth"] == 0
    assert seen["stats"]["avg_wait_ms"] == 0


@test
def refuses_names_that_no_queue_has():
    for name in ["Q", "a_b", "-a", ".a", "a%20b", "a" * 129, "a!"]:
        for method, path, body in [("GET", "", None), ("GET", "/stats", None),
                                   ("GET", "/config", None), ("POST", "/pause", {}),
                                   ("POST", "/resume", {}), ("PUT", "/config", {})]:
            SERVER.refused(method, f"{QUEUES}/{name}{path}", body, 400, "invalid_request",
                           field="queue")
    for body in [{}, {"name": ""}, {"name": "Q"}, {"name": None}]:
        SERVER.refused("POST", QUEUES, body, 400, "invalid_request", field="queue")
    SERVER.refused("POST", QUEUES, {"name": 7}, 400, "invalid_request", field="name")
    SERVER.refused("POST", QUEUES, b"", 400, "invalid_payload")


# ---- list ----

@test
def lists_queues_by_name_page_by_page():
    with Shared() as server:
        names = [f"p-{i:02}" for i in range(25)]
        for name in reversed(names):
            server.submit(queue=name)
        server.post(f"{QUEUES}/p-03/pause")
        listed = server.get(QUEUES + "?limit=200")
        assert [queue["name"] for queue in listed["queues"]] == names
        assert listed["pagination"] == {"total": 25, "limit": 200, "offset": 0, "has_more": False}
        third = listed["queues"][3]
        assert third["status"] == "paused" and third["paused"] is True and third["available"] == 1
        assert third["created_at"].endswith("Z")
        assert [queue["name"] for queue in pages(server, QUEUES, "queues", 7)] == names
        some = server.get(QUEUES + "?limit=10&offset=20")
        assert [queue["name"] for queue in some["queues"]] == names[20:]
        assert some["pagination"]["has_more"] is False
        past = server.get(QUEUES + "?offset=25")
        assert past["queues"] == [] and past["pagination"]["total"] == 25
        first = server.get(QUEUES + "?limit=5")
        server.submit(queue="a-new-one")  # pages by cursor do not shift
        cursor = first["pagination"]["next_cursor"]
        rest = server.get(f"{QUEUES}?limit=5&cursor={cursor}")
        assert [queue["name"] for queue in rest["queues"]] == names[5:10]
        for query, field in [("limit=0", "limit"), ("limit=201", "limit"), ("limit=x", "limit"),
                             ("offset=-1", "offset"), ("offset=9999999", "offset"),
                             ("cursor=garbage", "cursor"), ("cursor=" + names[4], "cursor")]:
            server.refused("GET", f"{QUEUES}?{query}", None, 400, "invalid_request", field=field)


# ---- pause ----

@test
def hands_out_nothing_of_a_paused_queue():
    queue = queue_name()
    reply = SERVER.post(f"{QUEUES}/{queue}/pause")  # never seen before
    assert reply["queue"] == {"name": queue, "paused": True}
    assert (reply["name"], reply["paused"], reply["status"]) == (queue, True, "paused")
    assert reply["paused_at"].endswith("Z")
    job = SERVER.submit(queue=queue)
    assert SERVER.fetch(queue) == [] and stats(queue)["paused"] is True
    assert stats(queue)["status"] == "paused"
    reply = SERVER.post(f"{QUEUES}/{queue}/resume")
    assert reply["queue"] == {"name": queue, "paused": False} and reply["status"] == "active"
    assert reply["resumed_at"].endswith("Z")
    assert SERVER.fetch(queue)[0]["id"] == job
    assert SERVER.raw("POST", f"{QUEUES}/{queue}/pause", b"").status == 200  # no body needed


@test
def keeps_a_pause_over_a_restart():
    with Shared() as server:
        server.submit(queue="q")
        server.post(f"{QUEUES}/q/pause")
        server.restart()
        assert server.fetch("q") == [] and stats("q", server)["paused"] is True


@test
def creates_a_queue_once_and_resumes_none():
    queue = queue_name()
    made = SERVER.post(QUEUES, {"name": queue}, 201)
    assert made["queue"] == {"name": queue, "paused": False} and made["status"] == "active"
    SERVER.post(f"{QUEUES}/{queue}/pause")
    again = SERVER.post(QUEUES, {"name": queue}, 200)
    assert again["queue"] == {"name": queue, "paused": True} and again["status"] == "paused"
    assert stats(queue)["paused"] is True
    SERVER.refused("POST", QUEUES, {"name": queue_name(), "max_size": 7}, 422, "unsupported")


# ---- settings ----

@test
def limits_the_rate_of_a_queue():
    queue = queue_name()
    for _ in range(10):
        SERVER.submit(queue=queue)
    limit = {"limit": 2, "period": "PT1S"}
    reply = SERVER.put(f"{QUEUES}/{queue}/config", {"rate_limit": limit})
    assert reply == {"queue": queue, "config": {"rate_limit": limit}}, reply
    assert SERVER.get(f"{QUEUES}/{queue}/config") == reply
    assert SERVER.get(f"{QUEUES}/{queue}")["config"] == {"rate_limit": limit}
    began, got = time.monotonic(), len(SERVER.fetch(queue, count=10))
    assert got == 2
    while got < 5:  # the bucket fills again
        got += len(SERVER.fetch(queue, count=10))
        assert time.monotonic() - began < 30, got
        time.sleep(0.05)
    assert time.monotonic() - began > 1
    SERVER.put(f"{QUEUES}/{queue}/config", {})
    assert SERVER.get(f"{QUEUES}/{queue}/config")["config"] == {}
    assert len(SERVER.fetch(queue, count=10)) == 10 - got


@test
def keeps_a_limit_over_a_restart():
    with Shared() as server:
        for _ in range(5):
            server.submit(queue="q")
        server.put("/ojs/v1/admin/queues/q/rate-limit", {"limit": 2, "period": "PT1H"})
        server.restart()
        assert server.get(f"{QUEUES}/q/config")["config"] == {
            "rate_limit": {"limit": 2, "period": "PT1H"}}
        assert len(server.fetch("q", count=5)) == 2 and server.fetch("q") == []
        server.put(f"{QUEUES}/q/config", {"rate_limit": None})
        server.restart()
        assert len(server.fetch("q", count=5)) == 3


@test
def refuses_settings_it_cannot_keep():
    queue = queue_name()
    for body in [{"max_size": 1}, {"rate_limit": {"limit": 1}, "concurrency": 2}]:
        SERVER.refused("PUT", f"{QUEUES}/{queue}/config", body, 422, "unsupported")
    for limit in [7, {}, {"limit": 0}, {"limit": -1}, {"limit": 1, "period": "soon"},
                  {"limit": "x"}, []]:
        SERVER.refused("PUT", f"{QUEUES}/{queue}/config", {"rate_limit": limit}, 400,
                       "invalid_request", field="rate_limit")
    for body in [{}, {"limit": 0}]:
        SERVER.refused("PUT", f"/ojs/v1/admin/queues/{queue}/rate-limit", body, 400,
                       "invalid_request", field="rate_limit")
    SERVER.refused("PUT", f"{QUEUES}/{queue}/config", b"", 400, "invalid_payload")
    assert SERVER.get(f"{QUEUES}/{queue}/config")["config"] == {}
    assert SERVER.get(f"{QUEUES}/_default/config") == {"queue": "_default", "config": {}}


# ---- dead letters ----

@test
def lists_only_what_asked_to_be_kept_in_sight():
    queue = queue_name()
    dead = SERVER.discard(queue, x_a=1)
    SERVER.discard(queue, dead_letter=False)
    listed = SERVER.get(f"{DEAD}?queue={queue}")
    assert [job["id"] for job in listed["jobs"]] == [dead]
    job = listed["jobs"][0]
    assert job["state"] == "discarded" and job["x_a"] == 1 and len(job["errors"]) == 1, job
    assert job["error"]["type"] == "Oops" and "completed_at" in job, job
    page = listed["pagination"]
    assert page == {"total": 1, "limit": 50, "offset": 0, "has_more": False}, page


@test
def pages_dead_letters_stably():
    queue = queue_name()
    jobs = [SERVER.discard(queue) for _ in range(7)]
    newest_first = jobs[::-1]
    path = f"{DEAD}?queue={queue}"
    assert [job["id"] for job in pages(SERVER, path, "jobs", 3)] == newest_first
    first = SERVER.get(path + "&limit=3")
    late = SERVER.discard(queue)
    rest = SERVER.get(path + "&limit=3&cursor=" + first["pagination"]["next_cursor"])
    assert [job["id"] for job in rest["jobs"]] == newest_first[3:6]
    by_offset = SERVER.get(path + "&limit=3&offset=6")
    assert [job["id"] for job in by_offset["jobs"]] == newest_first[5:]
    assert by_offset["pagination"] == {"total": 8, "limit": 3, "offset": 6, "has_more": False}
    past = SERVER.get(path + "&offset=8")
    assert past["jobs"] == [] and past["pagination"]["total"] == past["total"] == 8
    assert SERVER.get(path + "&limit=1")["jobs"][0]["id"] == late
    for query, field in [("limit=101", "limit"), ("limit=0", "limit"), ("offset=-1", "offset"),
                         ("offset=100001", "offset")]:
        SERVER.refused("GET", f"{DEAD}?{query}", None, 400, "invalid_request", field=field)
    SERVER.refused("GET", f"{DEAD}?cursor=nonsense", None, 400, "invalid_request")


@test
def runs_a_dead_letter_again():
    queue = queue_name()
    job = SERVER.discard(queue)
    again = SERVER.post(f"{DEAD}/{job}/retry")["job"]
    assert (again["id"], again["state"], again["attempt"]) == (job, "available", 0), again
    assert not {"error", "errors", "completed_at", "discarded_at"} & set(again), again
    assert SERVER.get(f"{DEAD}?queue={queue}")["jobs"] == []
    SERVER.refused("POST", f"{DEAD}/{job}/retry", {}, 404, "not_found", resource_id=job)
    fetched = SERVER.fetch(queue)[0]
    assert fetched["id"] == job and fetched["attempt"] == 1


@test
def refuses_to_change_a_dead_letter_on_the_way():
    job = SERVER.discard(queue_name())
    SERVER.refused("POST", f"{DEAD}/{job}/retry", {"override": {"priority": 5}}, 422,
                   "unsupported", field="override")
    SERVER.refused("POST", f"{DEAD}/{job}/retry", b"{", 400, "invalid_payload")
    SERVER.refused("POST", f"{DEAD}/{job}/retry", [1], 400, "invalid_payload")
    assert SERVER.raw("POST", f"{DEAD}/{job}/retry", b"").status == 200


@test
def takes_an_empty_array_for_no_body():
    """PHP encodes an object without members so."""
    queue = queue_name()
    job = SERVER.discard(queue)
    assert SERVER.post(f"{DEAD}/{job}/retry", [])["job"]["state"] == "available"
    SERVER.refused("POST", JOBS, [], 400, "invalid_payload")


@test
def forgets_a_dead_letter():
    job = SERVER.discard(queue_name())
    assert SERVER.delete(f"{DEAD}/{job}") == {"deleted": True, "job_id": job}
    SERVER.refused("GET", f"{JOBS}/{job}", None, 404, "not_found")
    SERVER.refused("DELETE", f"{DEAD}/{job}", None, 404, "not_found", resource_id=job)


@test
def forgets_all_dead_letters():
    with Shared() as server:
        jobs = [server.discard("a"), server.discard("b")]
        other = server.discard("a", dead_letter=False)
        server.refused("POST", f"{DEAD}/purge?older_than=soon", {}, 400, "invalid_request",
                       field="older_than")
        for broken in ["7d%00", "7d%", "%zz"]:  # must not count as not given
            server.refused("POST", f"{DEAD}/purge?older_than={broken}", {}, 400, "invalid_request")
        for query, field in [("older_than=", "older_than"), ("older_than", "older_than"),
                             ("older-than=7d", "older-than"), ("older_than=7d&queue=a", "queue")]:
            server.refused("POST", f"{DEAD}/purge?{query}", {}, 400, "invalid_request",
                           field=field)
        for member, value in [("older_than", ""), ("older_than", 7), ("queue", "a")]:
            server.refused("POST", f"{DEAD}/purge", {member: value}, 400, "invalid_request",
                           field=member)
        assert server.post(f"{DEAD}/purge?older_than=7d")["deleted"] == 0
        assert server.post(f"{DEAD}/purge", {"older_than": "7d"})["deleted"] == 0
        assert server.post(f"{DEAD}/purge")["deleted"] == len(jobs)
        assert server.get(DEAD)["total"] == 0 and server.state(other) == "discarded"


@test
def knows_no_dead_letter_that_is_none():
    queue = queue_name()
    discarded, waits = SERVER.discard(queue, dead_letter=False), SERVER.submit(queue=queue)
    for job in (discarded, waits, NOBODY, new_id(), "x"):
        SERVER.refused("POST", f"{DEAD}/{job}/retry", {}, 404, "not_found", resource_id=job)
        SERVER.refused("DELETE", f"{DEAD}/{job}", None, 404, "not_found", resource_id=job)
    assert SERVER.state(waits) == "available" and SERVER.state(discarded) == "discarded"


@test
def counts_dead_letters():
    with Shared() as server:
        empty = server.get(DEAD + "/stats")
        assert (empty["total"], empty["by_queue"], empty["by_error_type"]) == (0, {}, {}), empty
        assert empty["oldest_at"] is None and empty["newest_at"] is None
        server.discard("a", error="E1")
        server.discard("a", error="E2")
        server.discard("b", error="E1")
        server.discard("b", dead_letter=False)
        seen = server.get(DEAD + "/stats")
        assert seen["total"] == 3 and seen["by_queue"] == {"a": 2, "b": 1}, seen
        assert seen["by_error_type"] == {"E1": 2, "E2": 1}, seen
        assert seen["oldest_at"] <= seen["newest_at"]
        assert server.get("/ojs/v1/admin/dead-letter/stats") == seen


@test
def ends_without_a_complaint():
    SERVER.ends_well()


if __name__ == "__main__":
    main()
