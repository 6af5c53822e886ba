#!/usr/bin/env python3
"""The SDKs of the Open Job Spec, as they are on the wire. Usage: sdk_wire_test.py PAWL [TEST...]"""
import os
import subprocess
import threading

import server_kit
from sdk_wire import SDKS, JavaScript, Python, Refused, Worker
from server_kit import DEADLINE_S, Server, until

UNKNOWN = "01900000-0000-7000-8000-000000000000"
SOON = {"initial_interval": "PT0.02S", "jitter": False}


def test(function):
    """Marks a test of both SDKs: it is called with a server and a client."""
    for sdk in SDKS:
        def run(sdk=sdk):
            with Server() as server:
                client = sdk(f"http://{server.address}")
                try:
                    function(server, client)
                finally:
                    client.close()
        run.__name__ = f"{sdk.name}_{function.__name__}"
        server_kit.TESTS.append(run)
    return function


def refused(status, code, call, *args, **more):
    try:
        call(*args, **more)
    except Refused as error:
        assert (error.status, error.code) == (status, code), error
        assert error.message and error.request_id, error
        return error
    raise AssertionError(f"not refused: {call.__name__} {args}")


def ends(client, job, state):
    return until(lambda: client.state(job["id"]) == state)


# ---- clients ----


@test
def reads_health_and_manifest(_, client):
    health = client.call("GET", "/health")
    assert (health["status"], health["backend"]["status"]) == ("ok", "ok"), health
    manifest = client.call("GET", "/ojs/manifest", raw=True)
    assert manifest["specversion"] == manifest["ojs_version"] == "1.0", manifest
    assert manifest["capabilities"]["workflows"] is False, manifest


@test
def enqueues_with_every_option(_, client):
    retry = {"max_attempts": 5, "initial_interval": "PT1S", "backoff_coefficient": 1.5,
             "max_interval": "PT10S", "jitter": False, "non_retryable_errors": ["Auth.*"]}
    job = client.enqueue("mail.send", [{"to": "ann"}, 3.14], {"trace": {"a": [1]}}, queue="mail",
                         priority=7, timeout_ms=5000, delay_ms=600000, retry=retry,
                         expires_at="2099-12-31T23:59:59Z", tags=["x", "y"],
                         visibility_timeout_ms=60000)
    assert job == client.job(job["id"])
    assert (job["state"], job["queue"], job["priority"]) == ("scheduled", "mail", 7), job
    assert (job["args"], job["tags"]) == ([{"to": "ann"}, 3.14], ["x", "y"]), job
    assert job["meta"]["trace"] == {"a": [1]} and job["expires_at"] == "2099-12-31T23:59:59Z", job
    assert (job["attempt"], job["max_attempts"]) == (0, 5) and job["retry"] == retry, job
    # The JavaScript SDK takes `timeout`, which is in seconds, for milliseconds.
    assert job["timeout_ms"] == 5000 and "timeout" not in job, job


@test
def plain_job_has_what_the_sdk_reads(_, client):
    job = client.enqueue("mail.send")
    assert job["specversion"] == "1.0" and job["queue"] == "default", job
    assert isinstance(job["meta"], dict) and job["args"] == [] and "errors" not in job, job
    assert job["state"] == "available" and "timeout" not in job, job


@test
def unique_jobs_are_refused_ignored_replaced(_, client):
    def submit(number, **policy):
        return client.enqueue("mail.send", [number], queue="u",
                              unique={"key": ["type", "args"], "period": "PT1H", **policy})
    first = submit(1)
    error = refused(409, "duplicate", submit, 1)
    assert error.details["existing_job_id"] == first["id"], error.details
    submit(2)
    assert submit(1, on_conflict="ignore")["id"] == first["id"]
    assert submit(1, on_conflict="replace")["id"] != first["id"]
    assert client.state(first["id"]) == "cancelled"


@test
def unique_key_may_name_members_of_arguments(_, client):
    def submit(user, other):
        return client.enqueue("user.greet", [{"user": user, "other": other}],
                              unique={"key": ["user"]})
    submit(1, 1)
    refused(409, "duplicate", submit, 1, 2)
    submit(2, 2)


@test
def batch_keeps_its_order(_, client):
    jobs = client.batch([client.envelope("a.b", [i], queue="b") for i in range(40)])
    assert [job["args"][0] for job in jobs] == list(range(40))
    refused(400, "invalid_request", client.batch,
            [client.envelope("a.b"), client.envelope("a.b", priority=1000)])


@test
def cancels_once(_, client):
    job = client.enqueue("a.b")
    cancelled = client.cancel(job["id"])
    assert (cancelled["state"], cancelled["previous_state"]) == ("cancelled", "available")
    refused(409, "conflict", client.cancel, job["id"])


@test
def errors_are_what_the_sdk_reads(_, client):
    error = refused(404, "not_found", client.job, UNKNOWN)
    assert error.details == {"resource_type": "job", "resource_id": UNKNOWN}, error.details
    assert error.retryable is False
    refused(404, "not_found", client.job, "nonsense")
    assert "priority" in refused(400, "invalid_request", client.enqueue, "a.b",
                                 priority=1000).message


@test
def what_is_not_served_is_refused_plainly(_, client):
    step = {"type": "a.b", "args": []}
    for method, path, body in [
            ("POST", "/workflows", {"type": "chain", "steps": [step]}),
            ("POST", "/workflows", {"name": "n", "steps": [{"id": "1", "depends_on": [], **step}]}),
            ("GET", "/workflows/x", None), ("DELETE", "/workflows/x", None),
            ("GET", "/cron?limit=50&offset=0", None), ("GET", "/cron?page=1&per_page=20", None),
            ("POST", "/cron", {"name": "n", "cron": "* * * * *", **step}),
            ("DELETE", "/cron/n", None)]:
        refused(404, "not_found", client.call, method, path, body)


@test
def queues_are_listed_counted_paused(_, client):
    client.enqueue("a.b", queue="q1")
    for paused, status, path in [(True, "paused", "pause"), (False, "active", "resume")]:
        client.call("POST", f"/queues/q1/{path}")
        listed = [queue for queue in client.call("GET", "/queues")["queues"]
                  if queue["name"] == "q1"][0]
        assert (listed["paused"], listed["status"]) == (paused, status), listed
        stats = client.call("GET", "/queues/q1/stats")
        assert (stats["name"], stats["available"], stats["paused"]) == ("q1", 1, paused), stats
        assert (stats["status"], stats["stats"]["available"]) == (status, 1), stats
        for name in ("active", "scheduled", "retryable", "completed", "discarded"):
            assert stats[name] == 0, stats
        assert stats["queue"] and stats["computed_at"].endswith("Z"), stats


@test
def schemas_are_kept_by_uri(_, client):
    uri, path = "urn:ojs:schema:mail", "/schemas/urn%3Aojs%3Aschema%3Amail"
    body = {"uri": uri, "type": "mail.send", "version": "1.0", "schema": {"type": "array"}}
    client.call("POST", "/schemas", body)
    kept = client.call("GET", path)["schema"]
    assert {name: kept[name] for name in body} == body and kept["created_at"], kept
    listed = client.call("GET", "/schemas?limit=50&offset=0")
    assert [schema["uri"] for schema in listed["schemas"]] == [uri], listed
    assert listed["pagination"]["total"] == 1, listed
    client.call("DELETE", path)
    refused(404, "not_found", client.call, "GET", path)


# ---- workers ----


@test
def worker_completes_jobs(_, client):
    with Worker(client, ["other", "w"], {"sum.up": lambda job: {"sum": sum(job["args"])}}):
        jobs = client.batch([client.envelope("sum.up", [i, 1], queue="w") for i in range(30)])
        until(lambda: client.call("GET", "/queues/w/stats")["completed"] == 30)
        job = client.job(jobs[3]["id"])
        assert (job["state"], job["result"], job["attempt"]) == ("completed", {"sum": 4}, 1), job


@test
def worker_retries_until_it_succeeds(_, client):
    def flaky(job):
        assert job["attempt"] >= 3, f"not yet {job['attempt']}"
        return "done"
    with Worker(client, ["r"], {"flaky.go": flaky}):
        job = client.enqueue("flaky.go", queue="r", retry={"max_attempts": 5, **SOON})
        ends(client, job, "completed")
    job = client.job(job["id"])
    assert (job["attempt"], job["result"]) == (3, "done") and "error" not in job, job
    assert [error["message"] for error in job["errors"]] == ["not yet 1", "not yet 2"], job
    assert {error["code"] for error in job["errors"]} == {"handler_error"}, job


@test
def worker_gives_up(_, client):
    def fail(_):
        raise ValueError("never")
    with Worker(client, ["d"], {"dead.go": fail}):
        job = client.enqueue("dead.go", queue="d", retry={"max_attempts": 2, **SOON})
        nobody = client.enqueue("no.handler", queue="d", retry={"max_attempts": 5, **SOON})
        ends(client, job, "discarded")
        ends(client, nobody, "discarded")
    job = client.job(job["id"])
    assert (job["attempt"], job["error"]["message"]) == (2, "never") and job["completed_at"], job
    assert client.job(nobody["id"])["attempt"] == 1
    assert not client.dead_letters("d")


@test
def dead_letters_are_listed_retried_deleted(_, client):
    heal = threading.Event()

    def fail(_):
        assert heal.is_set(), "sick"
    policy = {"max_attempts": 1, "on_exhaustion": "dead_letter"}
    with Worker(client, ["d"], {"dead.go": fail}):
        jobs = [client.enqueue("dead.go", queue="d", retry=policy) for _ in range(2)]
        until(lambda: len(client.dead_letters("d")) == 2)
        heal.set()
        again = client.call("POST", f"/dead-letter/{jobs[0]['id']}/retry")["job"]
        assert (again["id"], again["state"], again["attempt"]) == (jobs[0]["id"], "available", 0)
        ends(client, jobs[0], "completed")
        client.call("DELETE", f"/dead-letter/{jobs[1]['id']}")
    refused(404, "not_found", client.job, jobs[1]["id"])
    refused(404, "not_found", client.call, "DELETE", f"/dead-letter/{jobs[1]['id']}")
    assert not client.dead_letters("d")


@test
def cancelled_run_cannot_be_reported(_, client):
    started, go = threading.Event(), threading.Event()

    def wait(_):
        started.set()
        assert go.wait(DEADLINE_S)
    with Worker(client, ["k"], {"long.go": wait}) as worker:
        job = client.enqueue("long.go", queue="k")
        assert started.wait(DEADLINE_S)
        assert client.cancel(job["id"])["previous_state"] == "active"
        beat = client.call("POST", "/workers/heartbeat", {"worker_id": worker.id,
                                                          "active_jobs": [job["id"]]})
        assert (beat["jobs_extended"], beat["jobs_lost"]) == ([], [job["id"]]), beat
        go.set()
        until(lambda: not worker.running)
    assert [error.status for error in worker.refused] == [409, 409, 409], worker.refused
    assert worker.refused[0].details["current_state"] == "cancelled"
    assert client.state(job["id"]) == "cancelled"


@test
def heartbeats_keep_a_run_alive(_, client):
    go = threading.Event()
    with Worker(client, ["h"], {"long.go": lambda _: go.wait(DEADLINE_S) and "mine"}) as worker:
        # Without heartbeats its lease would end long before the job does.
        job = client.enqueue("long.go", queue="h", visibility_timeout_ms=300)
        ends(client, job, "active")
        threading.Event().wait(1.5)
        assert client.state(job["id"]) == "active", client.job(job["id"])
        go.set()
        ends(client, job, "completed")
    assert client.job(job["id"])["attempt"] == 1 and not worker.refused, worker.refused


@test
def worker_obeys_quiet_and_terminate(_, client):
    done = []
    with Worker(client, ["t"], {"ok.go": done.append}) as worker:
        client.enqueue("ok.go", queue="t")
        until(lambda: len(done) == 1)
        client.call("POST", f"/admin/workers/{worker.id}/quiet")
        until(lambda: worker.directive == "quiet")
        waiting = client.enqueue("ok.go", queue="t")
        assert client.fetch(worker.id, ["t"], 1) == []  # should it ask all the same
        assert client.state(waiting["id"]) == "available"
        client.call("POST", f"/admin/workers/{worker.id}/terminate")
        until(lambda: not worker.is_alive())
    assert len(done) == 1 and worker.directive == "terminate"


@test
def stopping_worker_finishes_and_gives_back(_, client):
    started = threading.Semaphore(0)
    go = threading.Event()

    def short(_):
        started.release()
        assert go.wait(DEADLINE_S)
        return "done"
    with Worker(client, ["g"], {"short.go": short}) as worker:
        job = client.enqueue("short.go", queue="g")
        assert started.acquire(timeout=DEADLINE_S)
        worker.stopping.set()
        go.set()
    assert client.state(job["id"]) == "completed"
    # What outlasts the grace: the Python SDK reports "cancelled", JavaScript's an error.
    job = client.enqueue("short.go", queue="g", retry={"max_attempts": 3, **SOON})
    assert client.fetch("w", ["g"], 1)[0]["id"] == job["id"]
    error = {"code": "cancelled", "message": "during worker shutdown", "retryable": True}
    client.call("POST", "/workers/nack", {"job_id": job["id"], "error": error})
    ends(client, job, "available")
    assert client.job(job["id"])["errors"][0]["code"] == "cancelled"


@test
def progress_is_kept_as_a_fraction(_, client):
    go = threading.Event()

    def work(job):
        client.progress(job["id"], 42, "nearly", {"rows": 7})
        assert go.wait(DEADLINE_S)
    with Worker(client, ["p"], {"p.go": work}):
        job = client.enqueue("p.go", queue="p")
        told = until(lambda: (lambda p: p if p["progress"] is not None else None)(
            client.call("GET", f"/jobs/{job['id']}/progress")))
        assert (told["progress"], told["message"], told["data"]) == (0.42, "nearly", {"rows": 7})
        go.set()


@test
def durable_run_resumes_from_its_checkpoint(_, client):
    log = [{"seq": 0, "type": "call", "key": "price", "result": {"price": 9.50}}]
    seen = []

    def work(job):
        seen.append(client.checkpoint_load(job["id"]))
        if job["attempt"] == 1:
            client.checkpoint_save(job["id"], 1, 1, {"fetched": True}, log)
            raise ValueError("crash")
        assert job["checkpoint"]["state"] == {"fetched": True}, job
        client.checkpoint_delete(job["id"])
        return seen[-1][0]["result"]
    with Worker(client, ["e"], {"e.go": work}):
        job = client.enqueue("e.go", queue="e", retry={"max_attempts": 2, **SOON})
        ends(client, job, "completed")
    assert seen == [None, log], seen
    assert client.job(job["id"])["result"] == {"price": 9.50}
    assert client.checkpoint_load(job["id"]) is None


# ---- events ----


@test
def listeners_hear_of_a_job_and_a_queue(_, client):
    client.enqueue("a.b", queue="s", delay_ms=600000)  # so that the queue is known
    queue = client.listen("queue:s")
    job = client.enqueue("a.b", queue="s", delay_ms=600000)
    stream = client.listen(f"job:{job['id']}")
    client.cancel(job["id"])
    heard = list(stream)
    last = heard[-1]
    assert last[0] and last[1] == "job.state_changed", heard
    assert (last[2]["job_id"], last[2]["to"]) == (job["id"], "cancelled"), heard
    for event_id, kind, data in queue:
        assert event_id and kind == "job.state_changed" and data["queue"] == "s", data
        if data["to"] == "cancelled":
            assert data["job_id"] == job["id"]
            break
    refused(404, "not_found", client.listen, f"job:{UNKNOWN}")


# ---- tokens and TLS ----


def whole_job(client):
    """Submit, listen, work, look: what needs every scope."""
    with Worker(client, ["w"], {"ok.go": lambda _: 1}):
        job = client.enqueue("ok.go", queue="w")
        heard = list(client.listen(f"job:{job['id']}"))
        assert heard[-1][2]["to"] == "completed", heard
        assert client.job(job["id"])["result"] == 1


@test
def token_is_asked_for_and_taken(server, client):
    token = server.pawl("token", "add", "--scope", "submit,work,read").strip()
    until(lambda: server.ask("GET", "/ojs/v1/queues").status == 401)
    refused(401, "unauthenticated", client.enqueue, "a.b")
    refused(401, "unauthenticated", client.listen, "queue:w")
    bearer = type(client)(f"http://{server.address}", token)
    try:
        whole_job(bearer)
        refused(403, "permission_denied", bearer.call, "POST", "/admin/workers/w/quiet")
    finally:
        bearer.close()


@server_kit.test
def both_speak_tls():
    folder = server_kit.tempfile.mkdtemp(prefix="pawl-tls-")
    cert, key = os.path.join(folder, "cert.pem"), os.path.join(folder, "key.pem")
    try:
        subprocess.run(["openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt",
                        "ec_paramgen_curve:P-256", "-nodes", "-keyout", key, "-out", cert, "-days",
                        "2", "-subj", "/CN=localhost", "-addext",
                        "subjectAltName=DNS:localhost,IP:127.0.0.1"], check=True,
                       stderr=subprocess.DEVNULL)
        with Server("--tls-cert", cert, "--tls-key", key) as server:
            for sdk in (JavaScript, Python):
                client = sdk(f"https://{server.address}", ca=cert)
                try:
                    whole_job(client)
                finally:
                    client.close()
    finally:
        server_kit.shutil.rmtree(folder)


server_kit.main()
