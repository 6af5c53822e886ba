#!/usr/bin/env python3
"""Results over HTTP: immediate, awaited, and of several jobs.

Usage: results_test.py PAWL [TEST...]
"""
import threading
import time

import jobs_kit
from jobs_kit import JOBS, NOBODY, Later, Shared, new_id, queue_name
from server_kit import main, test, until

SERVER = Shared()


def wait_for(job, timeout=30, server=SERVER):
    later = Later(server, "GET", f"{JOBS}/{job}/result?wait=true&timeout={timeout}")
    assert later.is_silent(0.2), "answered too early"
    return later


@test
def tells_results_of_every_kind_at_once():
    for result in [None, True, 0, 1.5, "", "é", [], [1], {}, {"a": {"b": None}}]:
        queue = queue_name()
        job = SERVER.submit(queue=queue)
        SERVER.run(job, queue, result)
        assert SERVER.get(f"{JOBS}/{job}/result") == {"job_id": job, "state": "completed",
                                                      "result": result}
        if result is not None:
            assert SERVER.job(job)["result"] == result


@test
def tells_how_a_job_ended_otherwise():
    queue = queue_name()
    job = SERVER.discard(queue)
    assert SERVER.get(f"{JOBS}/{job}/result") == {"job_id": job, "state": "discarded",
                                                  "result": None}
    gone = SERVER.submit(queue=queue)
    SERVER.delete(f"{JOBS}/{gone}")
    assert SERVER.get(f"{JOBS}/{gone}/result?wait=true")["state"] == "cancelled"


@test
def says_408_when_there_is_none_yet():
    job = SERVER.submit(queue=queue_name())
    for query in ["", "?wait=false", "?wait=true&timeout=0", "?timeout=60"]:
        began = time.monotonic()
        error = SERVER.refused("GET", f"{JOBS}/{job}/result{query}", None, 408, "still_running")
        assert error["retryable"] is True and "available" in error["message"], error
        assert time.monotonic() - began < 5


@test
def whether_to_wait_is_true_or_false():
    job = SERVER.submit(queue=queue_name())
    for word in ("maybe", "yes", "2", "TRUE", "truely"):
        error = SERVER.refused("GET", f"{JOBS}/{job}/result?wait={word}", None, 400,
                               "invalid_request", field="wait")
        assert "true or false" in error["message"], error
    SERVER.refused("GET", f"{JOBS}/{job}/result?wait=0", None, 408, "still_running")


@test
def says_408_after_the_time_it_was_given():
    job = SERVER.submit(queue=queue_name())
    began = time.monotonic()
    SERVER.refused("GET", f"{JOBS}/{job}/result?wait=1&timeout=1", None, 408, "still_running")
    assert 1 <= time.monotonic() - began < 10


@test
def refuses_times_that_are_none():
    job = SERVER.submit(queue=queue_name())
    for timeout in ["-1", "61", "x", "1.5", "99999999999999999999"]:
        SERVER.refused("GET", f"{JOBS}/{job}/result?wait=true&timeout={timeout}", None, 400,
                       "invalid_request", field="timeout")


@test
def answers_the_moment_a_job_ends():
    queue = queue_name()
    job = SERVER.submit(queue=queue)
    waiting = [wait_for(job) for _ in range(5)]
    SERVER.fetch(queue)
    began = time.monotonic()
    SERVER.ack(job, {"n": 1})
    for later in waiting:
        reply = later.reply()
        assert reply.status == 200 and reply.json["result"] == {"n": 1}, reply.body
    assert time.monotonic() - began < 5


@test
def answers_when_a_job_is_cancelled_or_given_up():
    queue = queue_name()
    for end in ["cancel", "discard"]:
        job = SERVER.submit(queue=queue, options={"retry": {"max_attempts": 1}})
        SERVER.fetch(queue)
        later = wait_for(job)
        if end == "cancel":
            SERVER.delete(f"{JOBS}/{job}")
        else:
            SERVER.nack(job)
        assert later.reply().json["state"] == {"cancel": "cancelled", "discard": "discarded"}[end]


@test
def misses_no_end_however_it_falls():
    """Ends race with looks: somewhere between asking, looking and parking."""
    queue, count = queue_name(), 60
    jobs = [job["id"] for job in SERVER.post(JOBS + "/batch", {"jobs": [
        {"type": "a.b", "args": [], "queue": queue}] * count}, 201)["jobs"]]
    assert len(SERVER.fetch(queue, count=count)) == count
    failures = []

    def ask(job):
        reply = SERVER.ask("GET", f"{JOBS}/{job}/result?wait=true&timeout=20")
        if reply.status != 200:
            failures.append((job, reply.body))
    began = time.monotonic()
    for some in range(0, count, 20):
        threads = [threading.Thread(target=ask, args=(job,)) for job in jobs[some:some + 20]]
        for thread in threads:
            thread.start()
        for job in jobs[some:some + 20]:
            SERVER.ack(job, job)
        for thread in threads:
            thread.join()
    assert not failures, failures
    assert time.monotonic() - began < 15, "some were found by their timeout alone"


@test
def hears_of_what_another_process_did():
    queue = queue_name()
    cancelled = SERVER.submit(queue=queue_name())
    done = SERVER.submit("echo.it", queue, args=[{"n": 1}])
    waiting = [wait_for(cancelled, 60), wait_for(done, 60)]
    began = time.monotonic()
    SERVER.pawl("cancel", cancelled)
    SERVER.pawl("work", "--queue", queue, "--exec", "echo.it=echo $PAWL_ARGS", "--once")
    assert waiting[0].reply().json["state"] == "cancelled"
    reply = waiting[1].reply().json
    assert reply["state"] == "completed" and reply["result"] == [{"n": 1}], reply
    assert time.monotonic() - began < 30, "found by the timeout alone"


@test
def goes_on_when_who_waited_has_gone():
    queue = queue_name()
    job = SERVER.submit(queue=queue)
    for _ in range(20):
        wait_for(job).go_away()
    stayed = wait_for(job)
    SERVER.run(job, queue, 7)
    assert stayed.reply().json["result"] == 7
    until(lambda: SERVER.metric("pawl_http_connections") <= 1)


@test
def tells_who_waits_that_the_server_stops():
    with Shared() as server:
        job = server.submit()
        waiting = [wait_for(job, 60, server) for _ in range(3)]
        server.process.terminate()
        for later in waiting:
            reply = later.reply()
            assert reply.status in (408, 503), reply.body
            assert reply.json["error"]["retryable"] is True
        assert server.process.wait(20) == 0


@test
def does_not_wait_for_a_job_that_is_not_there():
    for job in (NOBODY, new_id(), "x"):
        SERVER.refused("GET", f"{JOBS}/{job}/result?wait=true", None, 404, "not_found",
                       resource_type="job", resource_id=job)


@test
def tells_results_of_several_jobs():
    queue = queue_name()
    done, active, waits = [SERVER.submit(queue=queue) for _ in range(3)]
    SERVER.run(done, queue, [1])
    SERVER.fetch(queue)
    reply = SERVER.post(JOBS + "/results", {"ids": [done, NOBODY, active, waits]})
    assert reply == {"results": {
        done: {"job_id": done, "state": "completed", "result": [1]},
        active: {"job_id": active, "state": "active", "result": None},
        waits: {"job_id": waits, "state": "available", "result": None}}}, reply
    assert SERVER.post(JOBS + "/results", {"ids": []}) == {"results": {}}
    assert SERVER.post(JOBS + "/results", {"ids": [NOBODY]}) == {"results": {}}


@test
def keeps_results_as_long_as_was_asked_for():
    queue, jobs = queue_name(), {}
    for ttl in [0, 3600, -1]:
        for layout in ["top", "options"]:
            more = {"options": {"result_ttl": ttl}} if layout == "options" else {"result_ttl": ttl}
            jobs[ttl, layout] = job = SERVER.submit(queue=queue, **more)
            SERVER.run(job, queue, {"a": 1})
    for (ttl, _), job in jobs.items():
        if ttl == 0:
            error = SERVER.refused("GET", f"{JOBS}/{job}/result", None, 410, "RESULT_PRUNED")
            assert "result_ttl" in error["message"]
        else:
            assert SERVER.get(f"{JOBS}/{job}/result")["result"] == {"a": 1}
    several = SERVER.post(JOBS + "/results", {"ids": list(jobs.values())})["results"]
    assert [several[job]["result"] for job in jobs.values()] == [None, None] + [{"a": 1}] * 4
    job = SERVER.submit(queue=queue, result_ttl=0)
    later = wait_for(job)
    SERVER.run(job, queue, 7)
    assert later.reply().json["result"] == 7  # who waited for it gets it


@test
def refuses_lists_that_hold_no_ids():
    job = SERVER.submit(queue=queue_name())
    for ids in [None, "x", {}, [1], ["x"], [job, None], [job.upper()], [job + "\0"],
                [NOBODY] * 1001]:
        SERVER.refused("POST", JOBS + "/results", {"ids": ids}, 400, "invalid_request",
                       field="ids")
    SERVER.refused("POST", JOBS + "/results", {}, 400, "invalid_request", field="ids")
    SERVER.refused("POST", JOBS + "/results", b"", 400, "invalid_payload")


@test
def sends_no_reply_without_bounds():
    queue = queue_name()
    big = "x" * 1000000
    jobs = []
    for _ in range(3):
        job = SERVER.submit(queue=queue)
        SERVER.run(job, queue, big)
        jobs.append(job)
    assert len(SERVER.post(JOBS + "/results", {"ids": jobs})["results"]) == 3
    reply = SERVER.ask("POST", JOBS + "/results", {"ids": jobs * 30})
    jobs_kit.check_refusal(reply, 413, "RESULT_TOO_LARGE", {"field": "ids"})


@test
def ends_without_a_complaint():
    SERVER.ends_well()


if __name__ == "__main__":
    main()
