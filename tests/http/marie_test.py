#!/usr/bin/env python3
"""Marie's routes: its names and the shapes of its replies.

Usage: marie_test.py PAWL [TEST...]
"""
import concurrent.futures
import datetime
import json

from jobs_kit import JOBS, NOBODY, Shared, new_id, pages, queue_name
from server_kit import main, test, until

SERVER = Shared()
API = "/api/jobs"
STATES = ["CREATED", "RETRY", "ACTIVE", "COMPLETED", "SKIPPED", "EXPIRED", "CANCELLED", "FAILED"]


def action(name, metadata=None, **more):
    return {"header": {"h": 1}, "parameters": {"invoke_action": {
        "action_type": "command", "api_key": "k", "command": "job", "action": "submit",
        "name": name, "metadata": metadata or {}, **more}}}


def invoke(name, metadata=None, status=200, **more):
    reply = SERVER.expect("POST", "/api/v1/invoke", action(name, metadata, **more), status)
    return reply["parameters"]["job_id"] if status == 200 else reply["error"]


def refused(body, status, code, **details):
    return SERVER.refused("POST", "/api/v1/invoke", body, status, code, **details)


def listed(path=API, server=SERVER):
    reply = server.get(path)
    assert reply["status"] == "OK", reply
    return [job["id"] for job in reply["result"]]


# ---- graphs ----

def graph(queue):
    job = {"type": "a", "args": [], "options": {"queue": queue, "retry": {"max_attempts": 1}}}
    steps = [{**job, "id": "a"}, {**job, "id": "b", "depends_on": ["a"]},
             {**job, "id": "c", "depends_on": ["a"]}, {**job, "id": "d", "depends_on": ["b", "c"]}]
    flow = SERVER.post("/ojs/v1/workflows", {"steps": steps}, 201)["workflow"]
    return flow["id"], [step["job_id"] for step in flow["steps"]]


@test
def a_graph_s_id_lists_its_jobs():
    dag, jobs = graph(queue_name())
    path = f"{API}?dag_id={dag}"
    assert listed(path) == jobs
    for job in SERVER.get(path)["result"] + [SERVER.get(f"{API}/{jobs[2]}")["result"]]:
        assert job["dag_id"] == dag
    assert listed(f"{path}&limit=2&offset=1") == jobs[1:3]
    page = SERVER.get(f"{path}&limit=2")["pagination"]
    assert page == {"total": 4, "limit": 2, "offset": 0, "has_more": True}
    assert SERVER.get(f"{path}&limit=2&offset=2")["pagination"]["has_more"] is False
    SERVER.refused("GET", f"{path}&cursor=x", None, 400, "invalid_request", field="cursor")
    SERVER.refused("GET", f"{path}&limit=0", None, 400, "invalid_request", field="limit")


@test
def a_graph_runs_its_jobs_in_her_order():
    # DA1, DA2: not before the parents are done, and then once
    queue = queue_name()
    dag, jobs = graph(queue)

    def states():
        return [job["state"] for job in SERVER.get(f"{API}?dag_id={dag}")["result"]]
    assert SERVER.run(jobs[0], queue)
    assert states() == ["COMPLETED", "CREATED", "CREATED", "CREATED"]
    both = SERVER.fetch(queue, count=5)
    assert sorted(job["id"] for job in both) == sorted(jobs[1:3])
    for job in both:
        SERVER.ack(job["id"])
    assert [job["id"] for job in SERVER.fetch(queue, count=5)] == jobs[3:]
    SERVER.ack(jobs[3])
    assert states() == ["COMPLETED"] * 4
    assert SERVER.get(f"/ojs/v1/workflows/{dag}")["progress"] == 100  # DA7


@test
def a_graph_that_is_none_is_refused():
    # DA3
    job = {"type": "a", "args": []}
    for steps in [[{**job, "id": "a", "depends_on": ["b"]},
                   {**job, "id": "b", "depends_on": ["a"]}],
                  [{**job, "id": "a", "depends_on": ["a"]}],
                  [{**job, "id": "a", "depends_on": ["z"]}],
                  [{**job, "id": "a"}, {**job, "id": "a"}]]:
        SERVER.refused("POST", "/ojs/v1/workflows", {"steps": steps}, 400, "invalid_workflow")


# ---- looking ----

@test
def shows_a_job_in_her_words():
    queue = queue_name()
    job = invoke(queue, {"on": "extract_executor://document/extract", "ref_type": "doc",
                         "ref_id": queue, "priority": 5, "retry_limit": 4})
    seen = SERVER.get(f"{API}/{job}")
    assert seen["status"] == "OK" and SERVER.ask("GET", f"{API}/{job}").headers[
        "Content-Type"] == "application/json"
    shown = seen["result"]
    wanted = {"id": job, "dag_id": job, "name": queue, "type": "extract_executor.document.extract",
              "state": "CREATED", "priority": 5, "retry_limit": 4, "retry_count": 0,
              "started_on": None, "completed_on": None, "output": None, "run_owner": ""}
    assert {name: shown[name] for name in wanted} == wanted, shown
    assert shown["metadata"]["ref_id"] == queue and shown["data"] == [shown["metadata"]]
    SERVER.fetch(queue, worker="ann")
    shown = SERVER.get(f"{API}/{job}")["result"]
    assert shown["state"] == "ACTIVE" and shown["run_owner"] == "ann" and shown["started_on"]
    SERVER.ack(job, {"pages": 1.50})
    shown = SERVER.get(f"{API}/{job}")["result"]
    assert shown["state"] == "COMPLETED" and shown["output"] == {"pages": 1.5}
    assert shown["completed_on"].endswith("Z")


@test
def lists_by_each_state_in_any_letter_case():
    with Shared() as server:
        jobs = {"CREATED": server.submit(queue="a")}
        jobs["ACTIVE"] = server.submit(queue="b")
        server.fetch("b")
        jobs["COMPLETED"] = server.submit(queue="c")
        server.run(jobs["COMPLETED"], "c")
        jobs["CANCELLED"] = server.submit(queue="d")
        server.delete(f"{JOBS}/{jobs['CANCELLED']}")
        jobs["FAILED"] = server.discard("e")
        jobs["RETRY"] = server.submit(queue="f")
        server.fetch("f")
        server.nack(jobs["RETRY"])
        jobs["EXPIRED"] = server.submit(queue="g", options={"expires_at": "+PT0.05S"})
        until(lambda: server.state(jobs["EXPIRED"]) == "discarded")
        for state in STATES:
            if state == "RETRY":  # it may have become due again
                continue
            for text in [state, state.lower(), state.title()]:
                found = listed(f"{API}/{text}", server)
                assert found[-1:] == [jobs[state]] if state in jobs else found == [], (text, found)
        assert len(listed(API, server)) == len(jobs)
        for bad in ["lost", "available", "x" * 36, "CREATED%00", "%20"]:
            reply = server.ask("GET", f"{API}/{bad}")
            assert reply.status == 400 and reply.json["error"]["code"] == "invalid_request", bad


@test
def tells_an_id_from_a_state():
    SERVER.refused("GET", f"{API}/{NOBODY}", None, 404, "not_found", resource_type="job",
                   resource_id=NOBODY)
    job = SERVER.submit(queue="created")
    assert SERVER.get(f"{API}/{job}")["result"]["name"] == "created"


@test
def finds_the_job_of_a_graph():
    job = SERVER.submit(queue=queue_name())
    assert listed(f"{API}?dag_id={job}") == [job]
    SERVER.refused("GET", f"{API}?dag_id={NOBODY}", None, 404, "not_found")
    SERVER.refused("GET", f"{API}?dag_id=x", None, 400, "invalid_request", field="dag_id")


@test
def turns_pages_that_do_not_shift():
    with Shared() as server:
        jobs = [server.submit() for _ in range(12)][::-1]
        assert [job["id"] for job in pages(server, API, "result", 5)] == jobs
        assert [job["id"] for job in pages(server, API + "/created", "result", 5)] == jobs
        first = server.get(API + "?limit=5")
        for _ in range(5):
            server.submit()
        rest = server.get(f"{API}?limit=5&cursor={first['pagination']['next_cursor']}")
        assert [job["id"] for job in rest["result"]] == jobs[5:10]
        assert rest["pagination"]["total"] == 17
        assert listed(API + "?limit=5&offset=15", server) == jobs[10:]
        assert listed(API + "?offset=17", server) == []
        for query, field in [("limit=201", "limit"), ("limit=0", "limit"), ("offset=-1", "offset")]:
            server.refused("GET", f"{API}?{query}", None, 400, "invalid_request", field=field)
        server.refused("GET", f"{API}?cursor=x", None, 400, "invalid_request")


# ---- moving ----

@test
def head_stops_nothing():
    job = SERVER.submit(queue=queue_name())
    reply = SERVER.ask("HEAD", f"{API}/{job}/stop")
    assert reply.status == 405 and reply.headers["Allow"] == "GET, POST", reply.headers
    assert SERVER.state(job) == "available"


@test
def stops_by_get_and_by_post():
    for method in ["GET", "POST"]:
        queue = queue_name()
        job = SERVER.submit(queue=queue)
        if method == "POST":
            SERVER.fetch(queue)
        reply = SERVER.expect(method, f"{API}/{job}/stop")
        assert reply == {"status": "OK", "result": "Job stopped", "job_id": job}, reply
        assert SERVER.state(job) == "cancelled"
        SERVER.refused(method, f"{API}/{job}/stop", None, 409, "conflict",
                       current_state="CANCELLED")
        SERVER.refused(method, f"{API}/{NOBODY}/stop", None, 404, "not_found", resource_id=NOBODY)


@test
def stops_what_waits_for_its_retry():
    queue = queue_name()
    job = invoke(queue, {"retry_delay": 3600})
    SERVER.fetch(queue)
    SERVER.nack(job)
    assert SERVER.get(f"{API}/{job}")["result"]["state"] == "RETRY"
    SERVER.expect("POST", f"{API}/{job}/stop")
    shown = SERVER.get(f"{API}/{job}")["result"]
    assert shown["state"] == "CANCELLED" and shown["completed_on"], shown


@test
def expires_what_was_not_done_in_time():
    waiting, failing, queue = queue_name(), queue_name(), queue_name()
    jobs = [invoke(waiting, {"expire_in_seconds": 1}),
            invoke(failing, {"expire_in_seconds": 1, "retry_delay": 3600})]
    running = invoke(queue, {"expire_in_seconds": 1})
    SERVER.fetch(queue)
    SERVER.fetch(failing)
    SERVER.nack(jobs[1])
    for job in jobs:
        until(lambda job=job: SERVER.get(f"{API}/{job}")["result"]["state"] == "EXPIRED")
    assert SERVER.fetch(waiting) == [] == SERVER.fetch(failing)
    SERVER.ack(running)  # one that runs may complete
    assert SERVER.get(f"{API}/{running}")["result"]["state"] == "COMPLETED"


@test
def tells_the_worker_of_a_stopped_job():
    queue = queue_name()
    job = SERVER.submit(queue=queue)
    SERVER.fetch(queue, worker="bob")
    SERVER.expect("POST", f"{API}/{job}/stop")
    beat = SERVER.post("/ojs/v1/workers/heartbeat", {"worker_id": "bob", "active_jobs": [job]})
    assert job not in beat["jobs_extended"], beat
    SERVER.refused("POST", "/ojs/v1/workers/ack", {"job_id": job}, 409, "conflict")


@test
def resumes_only_what_was_cancelled():
    queue = queue_name()
    job = SERVER.submit(queue=queue)
    SERVER.fetch(queue)
    SERVER.refused("POST", f"{API}/{job}/resume", {}, 409, "conflict", current_state="ACTIVE")
    SERVER.expect("POST", f"{API}/{job}/stop")
    reply = SERVER.expect("POST", f"{API}/{job}/resume")
    assert reply == {"status": "OK", "result": "Job resumed", "job_id": job}, reply
    shown = SERVER.get(f"{API}/{job}")["result"]
    assert (shown["state"], shown["retry_count"]) == ("CREATED", 0), shown
    assert SERVER.fetch(queue)[0]["attempt"] == 1
    SERVER.ack(job)
    SERVER.refused("POST", f"{API}/{job}/resume", {}, 409, "conflict", current_state="COMPLETED")
    failed = SERVER.discard(queue)
    SERVER.refused("POST", f"{API}/{failed}/resume", {}, 409, "conflict", current_state="FAILED")
    SERVER.refused("POST", f"{API}/{NOBODY}/resume", {}, 404, "not_found", resource_id=NOBODY)
    assert SERVER.ask("GET", f"{API}/{job}/resume").status == 405


@test
def deletes_only_what_has_ended():
    queue = queue_name()
    job = SERVER.submit(queue=queue)
    SERVER.refused("DELETE", f"{API}/{job}", None, 409, "conflict", current_state="CREATED")
    SERVER.fetch(queue)
    SERVER.refused("DELETE", f"{API}/{job}", None, 409, "conflict", current_state="ACTIVE")
    SERVER.ack(job)
    assert SERVER.delete(f"{API}/{job}") == {"status": "OK", "result": "Job deleted",
                                             "job_id": job}
    SERVER.refused("DELETE", f"{API}/{job}", None, 404, "not_found", resource_id=job)


@test
def ends_a_job_one_way_when_stop_and_ack_race():
    queue = queue_name()
    for _ in range(10):
        job = SERVER.submit(queue=queue)
        SERVER.fetch(queue)
        with concurrent.futures.ThreadPoolExecutor(2) as pool:
            stop = pool.submit(SERVER.ask, "POST", f"{API}/{job}/stop")
            ack = pool.submit(SERVER.ask, "POST", "/ojs/v1/workers/ack", {"job_id": job})
        codes = (stop.result().status, ack.result().status)
        assert sorted(codes) == [200, 409], codes
        assert SERVER.state(job) == ("cancelled" if codes[0] == 200 else "completed")


# ---- invoke ----

@test
def answers_with_the_header_and_the_id():
    reply = SERVER.post("/api/v1/invoke", action(queue_name()))
    assert reply["header"] == {"h": 1} and reply["data"] is None, reply
    parameters = reply["parameters"]
    assert parameters["status"] == "ok" and parameters["msg"] and parameters["state"] == "CREATED"
    simple = {"parameters": {"command": "job", "action": "submit", "name": queue_name(),
                             "metadata": {}}}
    job = SERVER.post("/api/v1/invoke", simple)["parameters"]["job_id"]
    assert SERVER.state(job) == "available"
    status = {"parameters": {"command": "job", "action": "status", "job_id": job}}
    assert SERVER.post("/api/v1/invoke", status)["parameters"]["state"] == "CREATED"
    status["parameters"]["job_id"] = NOBODY
    refused(status, 404, "not_found", resource_id=NOBODY)


@test
def takes_a_caller_s_id_once():
    job = new_id()
    body = action(queue_name(), job_id=job)
    with concurrent.futures.ThreadPoolExecutor(4) as pool:
        replies = list(pool.map(lambda _: SERVER.ask("POST", "/api/v1/invoke", body), range(4)))
    assert sorted(reply.status for reply in replies) == [200, 409, 409, 409]
    assert SERVER.get(f"{API}/{job}")["result"]["id"] == job


@test
def follows_the_policy_for_duplicates():
    def twice(policy, status, end=None):
        queue = queue_name()
        metadata = {"ref_type": "doc", "ref_id": queue}
        if policy is not None:
            metadata["policy"] = policy
        first = invoke(queue, metadata)
        if end == "complete":
            SERVER.run(first, queue)
        return first, invoke(queue, metadata, status)
    for policy in ["allow_all", "ALLOW_DUPLICATE"]:
        first, second = twice(policy, 200)
        assert first != second
    for policy in ["reject_duplicate", "Reject_Duplicate", "default", "", None]:
        for end in [None, "complete"]:
            assert twice(policy, 409, end)[1]["code"] == "duplicate"
    first, second = twice("replace", 200)
    assert SERVER.state(first) == "cancelled" and SERVER.state(second) == "available"
    first, second = twice("replace", 200, "complete")
    assert SERVER.state(first) == "completed" and SERVER.state(second) == "available"
    queue = queue_name()
    refused(action(queue, {"policy": "reject_all"}), 409, "conflict", field="policy")
    refused(action(queue, {"policy": "whatever"}), 400, "invalid_request", field="policy")
    assert SERVER.fetch(queue) == []
    assert invoke(queue) != invoke(queue)  # no identity, no duplicate


@test
def keeps_the_times_it_is_given():
    queue = queue_name()
    job = invoke(queue, {"start_after": "2099-01-01T00:00:00+02:00",
                         "soft_sla": "2099-01-02T00:00:00Z", "hard_sla": "2099-01-03T00:00:00"})
    shown = SERVER.get(f"{API}/{job}")["result"]
    assert shown["start_after"] == "2098-12-31T22:00:00.000Z" and shown["state"] == "CREATED"
    assert shown["soft_sla"] == "2099-01-02T00:00:00.000Z"
    assert shown["hard_sla"] == "2099-01-03T00:00:00.000Z"  # without an offset: UTC
    assert SERVER.fetch(queue) == []
    invoke(queue_name(), {"soft_sla": "2099-01-02T00:00:00Z"})
    invoke(queue_name(), {"hard_sla": "2099-01-02T00:00:00Z"})
    invoke(queue, {"soft_sla": "2099-01-03T00:00:00Z", "hard_sla": "2099-01-02T00:00:00Z"}, 400)


def waits(metadata, count):
    """The waits of a job that always fails, then the state it ends in."""
    queue = queue_name()
    job = invoke(queue, metadata)
    found = []
    for _ in range(count):
        assert SERVER.fetch(queue)[0]["id"] == job
        reply = SERVER.nack(job)
        if reply["state"] != "retryable":
            return found, reply["state"]
        found.append(reply["retry_delay_ms"])
        if reply["retry_delay_ms"]:
            SERVER.expect("POST", f"{JOBS}/{job}/promote")
        else:
            until(lambda: SERVER.state(job) == "available")
    return found, None


@test
def waits_exactly_as_long_as_asked():
    backoff = {"retry_limit": 3, "retry_delay": 5, "retry_backoff": True}
    assert waits(backoff, 9) == ([5000, 10000, 20000], "discarded")
    same = {"retry_limit": 3, "retry_delay": 5}
    for metadata in [same, {**same, "retry_backoff": False}, {**same, "retry_backoff": None}]:
        assert waits(metadata, 9) == ([5000] * 3, "discarded"), metadata
    assert waits({}, 9) == ([2000] * 2, "discarded")
    assert waits({"retry_limit": 0}, 9) == ([], "discarded")
    assert waits({"retry_delay": 0}, 9) == ([0, 0], "discarded")
    # a delay of 0 that grows begins with a second
    assert waits({"retry_delay": 0, "retry_backoff": True}, 9) == ([1000, 2000], "discarded")


@test
def caps_no_wait_but_its_doubling():
    found, _ = waits({"retry_limit": 40, "retry_delay": 86400, "retry_backoff": True}, 20)
    day_ms = 86400 * 1000
    assert found == [day_ms << min(n, 15) for n in range(20)], found


@test
def keeps_the_record_until_asked():
    now = datetime.datetime.now(datetime.timezone.utc)
    until_at = now + datetime.timedelta(days=400)
    job = invoke(queue_name(), {"keep_until": until_at.isoformat()})
    shown = SERVER.get(f"{API}/{job}")["result"]["keep_until"]
    kept = datetime.datetime.fromisoformat(shown.replace("Z", "+00:00"))
    assert datetime.timedelta(0) <= kept - until_at + datetime.timedelta(seconds=1) < (
        datetime.timedelta(seconds=10)), (kept, until_at)
    day_ms = 86400 * 1000
    keep_ms = json.loads(SERVER.pawl("show", job, "--json"))["keep_ms"]
    assert 399.9 * day_ms < keep_ms <= 400 * day_ms, keep_ms
    for past in [{}, {"keep_until": "2001-01-01T00:00:00"}]:
        job = invoke(queue_name(), past)
        assert SERVER.get(f"{API}/{job}")["result"]["keep_until"] is None


@test
def names_what_is_wrong_with_a_call():
    queue = queue_name()
    for metadata, field in [({"priority": 1000}, "priority"), ({"retry_limit": -1}, "retry_limit"),
                            ({"retry_delay": "x"}, "retry_delay"),
                            ({"start_after": "soon"}, "start_after"),
                            ({"expire_in_seconds": -1}, "expire_in_seconds"),
                            ({"soft_sla": 7}, "soft_sla"), ({"policy": 7}, "policy"),
                            ({"retry_backoff": "yes"}, "retry_backoff"),
                            ({"keep_until": "ever"}, "keep_until"),
                            ({"keep_until": "9999-01-01T00:00:00Z"}, "keep_until"),
                            ({"on": 7}, "on")]:
        refused(action(queue, metadata), 400, "invalid_request", field=field)
    for name in ["a b", "amq!", "q" * 256, ""]:
        refused(action(name), 400 if len(name) < 256 else 413, "invalid_request"
                if len(name) < 256 else "envelope_too_large")
    refused(action(None), 400, "invalid_request", field="name")
    refused(action(queue, job_id="x"), 400, "invalid_request", field="job_id")
    for parameters in [None, 7, {"invoke_action": 7}]:
        refused({"parameters": parameters}, 400, "invalid_request", field="parameters")
    for change in [{"command": "nodes"}, {"action": "logs"}, {"action": None}]:
        refused(action(queue, **change), 422, "unsupported", field="action")
    refused({"parameters": {"command": "job", "action": "status"}}, 400, "invalid_request",
            field="job_id")
    refused(b"{", 400, "invalid_payload")
    refused(b"", 400, "invalid_payload")
    SERVER.refused("POST", "/api/v1/invoke", b"x" * (11 << 20), 413, "envelope_too_large")


# ---- capacity ----

@test
def sums_up_capacity():
    with Shared() as server:
        empty = server.get("/api/capacity")
        assert empty["totals"] == {"capacity": 0, "used": 0, "available": 0}, empty
        for worker, concurrency in [("a\"1", 4), ("b", 10**18), ("c", "x"), ("d", -5)]:
            server.post("/ojs/v1/workers/heartbeat", {"worker_id": worker, "active_jobs": [],
                                                      "concurrency": concurrency})
        for _ in range(3):
            server.submit()
        held = [job["id"] for job in server.fetch(worker="a\"1", count=3)]
        server.post("/ojs/v1/workers/heartbeat", {"worker_id": "a\"1", "active_jobs": held,
                                                  "concurrency": 4})
        reply = server.get("/api/capacity")
        rows = {row["name"]: row for row in reply["slots"]}
        assert set(rows) == {"a\"1", "b", "c", "d"}, rows
        assert (rows["a\"1"]["capacity"], rows["a\"1"]["used"], rows["a\"1"]["available"]) == (
            4, 3, 1), rows
        assert rows["c"]["capacity"] == 1 == rows["d"]["capacity"], rows
        for row in rows.values():
            assert row["available"] == row["capacity"] - row["used"] >= 0, row
            assert row["target"] == row["capacity"] and row["holders"] == row["used"], row
        for name in ["capacity", "used", "available"]:
            assert reply["totals"][name] == sum(row[name] for row in rows.values()), reply


@test
def ends_without_a_complaint():
    SERVER.ends_well()


if __name__ == "__main__":
    main()
