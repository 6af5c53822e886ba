#!/usr/bin/env python3
"""Administration over HTTP: counts, lists with numbered pages, confirmed operations, workers, the
reset of test mode.

Usage: admin_test.py PAWL [TEST...]
"""
from jobs_kit import JOBS, NOBODY, Shared, new_id, pages, queue_name
from server_kit import main, test, until

SERVER = Shared()
ADMIN = "/ojs/v1/admin"


# ---- counts and queues ----

@test
def counts_over_all_queues():
    with Shared() as server:
        server.submit(queue="a")
        server.run(server.submit(queue="b"), "b")
        server.discard("c")
        server.post("/ojs/v1/workers/heartbeat", {"worker_id": "w9", "active_jobs": []})
        stats = until(lambda: (server.get(ADMIN + "/stats")["throughput"]["failed_per_minute"]
                               and server.get(ADMIN + "/stats")))
        assert stats["queues"] == 3 and stats["workers"] == 2, stats
        jobs = stats["jobs"]
        assert (jobs["available"], jobs["completed"], jobs["discarded"], jobs["active"]) == (
            1, 1, 1, 0), jobs
        assert stats["throughput"] == {"processed_per_minute": 1, "failed_per_minute": 1}, stats
        assert isinstance(stats["uptime_seconds"], int) and stats["store_bytes"] > 0


@test
def lists_queues_with_their_counts():
    with Shared() as server:
        for i in range(25):
            server.submit(queue=f"q-{i:02}")
        server.post(f"{ADMIN}/queues/q-01/pause")
        reply = server.get(ADMIN + "/queues")
        assert reply["pagination"] == {"total": 25, "page": 1, "per_page": 20}
        assert [item["name"] for item in reply["items"]] == [f"q-{i:02}" for i in range(20)]
        item = reply["items"][1]
        assert (item["state"], item["paused"], item["depth"]) == ("paused", True, 1), item
        assert item["counts"]["available"] == 1 and item["latency_ms"] == 0, item
        assert item["throughput"] == {"processed_per_minute": 0, "failed_per_minute": 0}, item
        assert item["created_at"].endswith("Z")
        page = server.get(ADMIN + "/queues?page=3&per_page=10")
        assert [item["name"] for item in page["items"]] == [f"q-{i:02}" for i in range(20, 25)]
        assert server.get(ADMIN + "/queues?page=4&per_page=10")["items"] == []
        server.run(server.submit(queue="r"), "r")
        until(lambda: server.get(ADMIN + "/queues?per_page=100")["items"][-1]["throughput"][
            "processed_per_minute"] == 1)
        one = server.get(ADMIN + "/queues/q-01")
        assert one["name"] == "q-01" and one["paused"] is True and one["config"] == {}
        assert server.post(f"{ADMIN}/queues/q-01/resume")["paused"] is False
        limit = {"rate_limit": {"limit": 1, "period": "minute"}}
        server.put(f"{ADMIN}/queues/q-01/config", limit)
        assert server.get(f"{ADMIN}/queues/q-01/config") == {"queue": "q-01", "config": limit}


@test
def refuses_pages_that_are_none():
    for path in ["/queues", "/jobs", "/workers", "/dead-letter"]:
        for query, field in [("page=0", "page"), ("page=x", "page"), ("per_page=101", "per_page"),
                             ("per_page=0", "per_page"), ("page=999999", "page")]:
            SERVER.refused("GET", f"{ADMIN}{path}?{query}", None, 400, "invalid_request",
                           field=field)


# ---- jobs ----

@test
def lists_jobs_in_either_order():
    queue = queue_name()
    jobs = [SERVER.submit("x.a" if i % 2 else "x.b", queue) for i in range(7)]
    path = f"{ADMIN}/jobs?queue={queue}"

    def found(query=""):
        return [item["id"] for item in SERVER.get(path + query)["items"]]
    assert found() == jobs[::-1] == found("&order=desc&sort=created_at")
    assert found("&order=asc") == jobs
    assert found("&page=2&per_page=3") == jobs[::-1][3:6]
    assert found("&page=3&per_page=3&order=asc") == jobs[6:]
    assert found("&page=4&per_page=3") == []
    assert SERVER.get(path + "&per_page=3")["pagination"] == {"total": 7, "page": 1, "per_page": 3}
    assert found("&type=x.a") == jobs[1::2][::-1]
    assert found("&state=available") == jobs[::-1] and found("&state=active") == []
    assert found("&since=2020-01-01T00:00:00Z&until=2099-01-01T00:00:00Z") == jobs[::-1]
    assert found("&since=2099-01-01T00:00:00Z") == [] == found("&until=2020-01-01T00:00:00Z")
    SERVER.fetch(queue, worker="ann")
    assert found("&worker=ann") == jobs[:1]


@test
def refuses_what_a_list_cannot_show():
    for query, field in [("state=lost", "state"), ("since=now", "since"),
                         ("until=2020-01-01", "until"), ("sort=args", "sort"),
                         ("order=up", "order")]:
        SERVER.refused("GET", f"{ADMIN}/jobs?{query}", None, 400, "invalid_request", field=field)


@test
def shows_a_job_bare():
    queue = queue_name()
    job = SERVER.discard(queue, x_a=[1])
    seen = SERVER.get(f"{ADMIN}/jobs/{job}")
    assert seen.pop("metadata")["created_at"] == seen["created_at"], seen
    assert seen == SERVER.job(job) and seen["id"] == job and len(seen["errors"]) == 1


@test
def moves_single_jobs():
    queue = queue_name()
    job = SERVER.submit(queue=queue)
    paused = SERVER.post(f"{ADMIN}/jobs/{job}/pause")["job"]
    assert paused["state"] == "pending" and SERVER.fetch(queue) == []
    assert SERVER.post(f"{ADMIN}/jobs/{job}/resume")["job"]["state"] == "available"
    SERVER.refused("POST", f"{ADMIN}/jobs/{job}/resume", {}, 409, "conflict",
                   current_state="available")
    SERVER.refused("POST", f"{ADMIN}/jobs/{job}/retry", {}, 409, "conflict",
                   current_state="available")
    SERVER.refused("DELETE", f"{ADMIN}/jobs/{job}", None, 409, "conflict",
                   current_state="available")
    assert SERVER.post(f"{ADMIN}/jobs/{job}/cancel")["job"]["previous_state"] == "available"
    SERVER.refused("POST", f"{ADMIN}/jobs/{job}/cancel", {}, 409, "conflict",
                   current_state="cancelled")
    assert SERVER.post(f"{ADMIN}/jobs/{job}/retry")["job"]["state"] == "available"
    SERVER.run(job, queue)
    SERVER.refused("POST", f"{ADMIN}/jobs/{job}/retry", {}, 409, "conflict",
                   current_state="completed")
    assert SERVER.delete(f"{ADMIN}/jobs/{job}") == {"deleted": True, "job_id": job}


@test
def runs_jobs_now_that_wait():
    queue = queue_name()
    for path in (ADMIN + "/jobs", JOBS):
        job = SERVER.submit(queue=queue, options={"delay_until": "+PT1H"})
        assert SERVER.state(job) == "scheduled" and SERVER.fetch(queue) == []
        moved = SERVER.post(f"{path}/{job}/promote")["job"]
        assert (moved["state"], moved["previous_state"]) == ("available", "scheduled"), moved
        SERVER.refused("POST", f"{path}/{job}/promote", {}, 409, "conflict",
                       current_state="available")
        SERVER.run(job, queue)
        SERVER.refused("POST", f"{path}/{NOBODY}/promote", {}, 404, "not_found")
    failed = SERVER.submit(queue=queue, options={"retry": {"initial_interval": "PT1H"}})
    SERVER.fetch(queue)
    SERVER.nack(failed)
    assert SERVER.state(failed) == "retryable"
    assert SERVER.post(f"{ADMIN}/jobs/{failed}/promote")["job"]["state"] == "available"
    assert SERVER.fetch(queue)[0]["attempt"] == 2
    SERVER.submit(queue=queue, options={"delay_until": "+PT1H"})
    assert bulk("promote", {"queue": queue})["succeeded"] == 1


@test
def knows_no_job_that_is_not_there():
    for job in (NOBODY, new_id(), "x"):
        for method, path in [("GET", ""), ("DELETE", ""), ("POST", "/cancel"), ("POST", "/retry"),
                             ("POST", "/pause"), ("POST", "/resume")]:
            SERVER.refused(method, f"{ADMIN}/jobs/{job}{path}", None if method != "POST" else {},
                           404, "not_found", resource_type="job", resource_id=job)


@test
def changes_a_priority():
    job = SERVER.submit(queue=queue_name())
    assert SERVER.expect("PATCH", f"{ADMIN}/jobs/{job}", {"priority": 9})["priority"] == 9
    assert SERVER.job(job)["priority"] == 9


@test
def shows_a_queue_with_its_counts():
    queue = queue_name()
    SERVER.submit(queue=queue)
    seen = SERVER.get(f"{ADMIN}/queues/{queue}")
    assert (seen["name"], seen["counts"]["available"], seen["counts"]["completed"]) == (queue, 1, 0)
    listed = {each["name"]: each for each in pages(SERVER, "/ojs/v1/queues", "queues", 50)}
    assert listed[queue]["depth"] == 1


@test
def directs_all_workers():
    with Shared() as server:
        path = f"{ADMIN}/workers/directive"
        for worker in ("w1", "w2"):
            server.post("/ojs/v1/workers/heartbeat", {"worker_id": worker})
        for directive, wanted in [("quiet", "quiet"), ("resume", "running"),
                                  ("terminate", "terminate")]:
            told = server.post(path, {"directive": directive})
            assert told == {"directive": wanted, "workers": 2}, told
            beat = server.post("/ojs/v1/workers/heartbeat", {"worker_id": "w2"})
            assert beat["state"] == wanted, beat
        for body in ({}, {"directive": "rest"}):
            server.refused("POST", path, body, 400, "invalid_request", field="directive")


# ---- many jobs ----

def bulk(what, filter_, status=200):
    return SERVER.expect("POST", f"{ADMIN}/jobs/bulk/{what}", {"filter": filter_, "confirm": True},
                         status)


@test
def moves_many_when_it_is_confirmed():
    queue = queue_name()
    for _ in range(3):
        SERVER.submit(queue=queue)
    done = SERVER.submit(queue=queue + "x")
    SERVER.run(done, queue + "x")
    for confirm in [{}, {"confirm": False}, {"confirm": "true"}, {"confirm": 1}]:
        for what in ["retry", "promote", "cancel", "delete"]:
            SERVER.refused("POST", f"{ADMIN}/jobs/bulk/{what}",
                           {"filter": {"queue": queue}, **confirm}, 400, "invalid_request",
                           field="confirm")
    assert bulk("cancel", {"queue": [queue, queue + "x"]}) == {
        "action": "cancel", "matched": 4, "succeeded": 3, "failed": 1, "errors": []}
    assert bulk("retry", {"queue": queue, "state": "cancelled"})["succeeded"] == 3
    assert len(SERVER.fetch(queue, count=9)) == 3
    assert bulk("delete", {"queue": queue}) == {
        "action": "delete", "matched": 3, "succeeded": 0, "failed": 3, "errors": []}
    assert bulk("delete", {"queue": queue + "x"})["succeeded"] == 1


@test
def moves_none_by_a_filter_it_does_not_know():
    job = SERVER.submit(queue=queue_name())
    for bad, field in [({"queues": "x"}, "queues"), ({"queue": []}, "queue"),
                       ({"state": "lost"}, "state")]:
        for what in ["retry", "cancel", "delete"]:
            SERVER.refused("POST", f"{ADMIN}/jobs/bulk/{what}", {"filter": bad, "confirm": True},
                           400, "invalid_request", field=field)
    for body in [{"confirm": True}, {"confirm": True, "filter": []}]:
        SERVER.refused("POST", f"{ADMIN}/jobs/bulk/cancel", body, 400, "invalid_request",
                       field="filter")
    assert SERVER.state(job) == "available"


@test
def purges_what_ended_of_a_queue():
    queue, other = queue_name(), queue_name()
    for name in (queue, other):
        SERVER.run(SERVER.submit(queue=name), name)
        SERVER.delete(f"{JOBS}/{SERVER.submit(queue=name)}")
    waits = SERVER.submit(queue=queue)
    path = f"{ADMIN}/queues/{queue}/jobs"
    SERVER.refused("DELETE", path, {}, 400, "invalid_request", field="confirm")
    SERVER.refused("DELETE", path, {"confirm": True, "states": ["lost"]}, 400, "invalid_request",
                   field="state")
    for older in ["soon", "-P1D", ""]:
        SERVER.refused("DELETE", path, {"confirm": True, "older_than": older}, 400,
                       "invalid_request", field="older_than")
    SERVER.refused("DELETE", path, {"confirm": True, "older": "P1D"}, 400, "invalid_request",
                   field="older")
    assert SERVER.delete(path, {"confirm": True, "older_than": "P1D"})["succeeded"] == 0
    assert SERVER.delete(path, {"confirm": True,
                                "older_than": "2020-01-01T00:00:00Z"})["succeeded"] == 0
    assert SERVER.delete(path, {"confirm": True,
                                "older_than": "1970-01-01T00:00:00Z"})["succeeded"] == 0
    assert SERVER.delete(path, {"confirm": True, "states": ["cancelled"]}) == {
        "action": "delete", "matched": 1, "succeeded": 1, "failed": 0, "errors": [],
        "purged_count": 1, "deleted": 1}
    # As the ojs CLI asks for it: it has asked its user itself.
    plain = f"/ojs/v1/queues/{queue}/purge"
    assert SERVER.post(plain, {"states": ["completed"], "older_than": "7d"})["deleted"] == 0
    assert SERVER.post(plain, {"states": ["completed"]})["deleted"] == 1
    assert SERVER.delete(path, {"confirm": True})["succeeded"] == 0
    assert SERVER.state(waits) == "available"
    assert SERVER.get(f"{ADMIN}/jobs?queue={other}")["pagination"]["total"] == 2


# ---- dead letters ----

@test
def keeps_dead_letters_for_operators():
    queue = queue_name()
    jobs = [SERVER.discard(queue) for _ in range(3)]
    SERVER.discard(queue, dead_letter=False)
    path = f"{ADMIN}/dead-letter"
    reply = SERVER.get(f"{path}?queue={queue}&per_page=2")
    assert [item["id"] for item in reply["items"]] == [jobs[2], jobs[1]], reply
    assert reply["pagination"] == {"total": 3, "page": 1, "per_page": 2}
    assert len(reply["items"][0]["errors"]) == 1
    gone = SERVER.ask("DELETE", f"{path}/{jobs[0]}")
    assert gone.status == 204 and gone.body == b""
    SERVER.refused("DELETE", f"{path}/{jobs[0]}", None, 404, "not_found", resource_id=jobs[0])
    assert SERVER.post(f"{path}/{jobs[1]}/retry")["job"]["state"] == "available"
    SERVER.refused("POST", f"{path}/retry", {"filter": {"queue": queue}}, 400, "invalid_request",
                   field="confirm")
    none = SERVER.post(f"{path}/retry", {"filter": {"queue": queue, "state": "cancelled"},
                                         "confirm": True})
    assert (none["matched"], none["succeeded"]) == (0, 0), none
    some = SERVER.post(f"{path}/retry", {"filter": {"queue": queue}, "confirm": True})
    assert (some["action"], some["matched"], some["succeeded"]) == ("retry", 1, 1), some
    assert SERVER.state(jobs[2]) == "available"


# ---- workers ----

@test
def tells_of_workers_and_directs_them():
    with Shared() as server:
        for i in range(3):
            server.post("/ojs/v1/workers/heartbeat", {"worker_id": f"w{i}", "active_jobs": [],
                                                      "concurrency": 4, "hostname": "h\"1"})
        reply = server.get(ADMIN + "/workers?per_page=2")
        assert len(reply["items"]) == 2
        assert reply["pagination"] == {"total": 3, "page": 1, "per_page": 2}
        assert reply["summary"] == {"total": 3, "running": 3, "quiet": 0, "stale": 0}, reply
        assert len(server.get(ADMIN + "/workers?per_page=2&page=2")["items"]) == 1
        for what, state in [("quiet", "quiet"), ("terminate", "terminate"), ("resume", "running")]:
            server.post(f"{ADMIN}/workers/w1/{what}")
            beat = server.post("/ojs/v1/workers/heartbeat", {"worker_id": "w1", "active_jobs": []})
            assert beat["state"] == state, (what, beat)
        server.post(f"{ADMIN}/workers/w1/quiet")
        assert server.get(ADMIN + "/workers")["summary"]["quiet"] == 1
        assert server.get(f"{ADMIN}/workers/w0")["hostname"] == "h\"1"
        assert server.delete(f"{ADMIN}/workers/w1") == {"deleted": True, "worker_id": "w1"}
        for method in ["GET", "DELETE"]:
            server.refused(method, f"{ADMIN}/workers/w1", None, 404, "not_found",
                           resource_type="worker", resource_id="w1")


# ---- reset ----

@test
def resets_nothing_but_in_test_mode():
    job = SERVER.submit(queue=queue_name())
    SERVER.refused("POST", ADMIN + "/reset", {}, 403, "permission_denied")
    assert SERVER.state(job) == "available"


@test
def forgets_everything_in_test_mode():
    with Shared("--test-mode") as server:
        for _ in range(3):
            server.submit(queue="a")
        server.fetch("a")
        server.discard("b")
        server.submit(queue="c", options={"pending": True})
        server.post(f"{ADMIN}/jobs/{server.submit(queue='c')}/pause")
        server.post("/ojs/v1/queues/a/pause")
        server.put("/ojs/v1/queues/a/config", {"rate_limit": {"limit": 1, "period": "PT1H"}})
        server.put(f"{ADMIN}/schemas/a.b/1", {"schema": {}}, 201)
        server.post("/ojs/v1/workers/heartbeat", {"worker_id": "w9", "active_jobs": []})
        until(lambda: server.get(ADMIN + "/stats")["throughput"]["failed_per_minute"])
        reply = server.raw("POST", ADMIN + "/reset", b"")
        assert reply.status == 200 and reply.json == {"reset": True}
        stats = server.get(ADMIN + "/stats")
        assert not any(stats["jobs"].values()) and stats["workers"] == 0, stats
        assert stats["throughput"] == {"processed_per_minute": 0, "failed_per_minute": 0}, stats
        assert server.get("/ojs/v1/queues/a/config")["config"] == {}
        assert server.get(ADMIN + "/schemas")["items"] == []
        assert server.get(ADMIN + "/jobs")["items"] == []
        kinds = {event["type"] for event in server.events()}
        assert kinds <= {"job.cancelled"}, kinds  # the last of those may come after the reset
        for _ in range(3):
            server.submit(queue="a")
        assert len(server.fetch("a", count=3)) == 3  # neither paused nor limited


@test
def ends_without_a_complaint():
    SERVER.ends_well()


if __name__ == "__main__":
    main()
