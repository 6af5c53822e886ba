"""pawl wait: what it prints, its exit codes, and that it ends when the jobs do."""
import signal
import subprocess

from kit import DEADLINE_S, equal, has, test

MISSING = "01890000-0000-7000-8000-00000000dead"


def waiting(box, *args):
    return box.start("wait", *args, stdout=subprocess.PIPE, stderr=subprocess.PIPE)


def ended(process):
    out, err = process.communicate(timeout=DEADLINE_S)
    return process.returncode, out, err


@test
def waiting_for_jobs_that_have_ended_returns_at_once(box):
    job_id = box.submit("t")
    box.work("claim:default", 'complete:{"pages":3}')
    equal(box.ok("wait", job_id).out, f'{job_id} completed {{"pages":3}}\n')
    answer = box.ok("wait", job_id, "--json").json
    equal((answer["id"], answer["state"], answer["result"]), (job_id, "completed", {"pages": 3}))
    assert "error" not in answer, answer
    skipped = box.submit("t")
    box.ok("skip", skipped)
    equal(box.ok("wait", skipped, job_id, "--quiet").code, 0)


@test
def a_job_that_ended_badly_makes_waiting_fail(box):
    failed = box.submit("t", "--max-attempts", "1")
    box.work("claim:default", "fail:net.down:no route")
    done = box.run("wait", failed)
    equal((done.code, done.out, done.err), (1, f"{failed} discarded: net.down: no route\n", ""))
    answer = box.run("wait", failed, "--json").json
    equal((answer["state"], answer["error"]),
          ("discarded", {"type": "net.down", "message": "no route"}))
    cancelled = box.submit("t")
    box.ok("cancel", cancelled, "--reason", "not needed")
    done = box.run("wait", cancelled)
    equal((done.code, done.out), (1, f"{cancelled} cancelled: not needed\n"))


@test
def waiting_ends_with_the_last_job(box):
    first, second = box.submit("t", "--queue", "a"), box.submit("t", "--queue", "b")
    process = waiting(box, first, second, "--timeout", "1h")
    box.work("claim:b", "complete:2")
    equal(process.stdout.readline(), f"{second} completed 2\n")  # as it ends, not with the others
    equal(process.poll(), None)
    box.work("claim:a", "complete:1")
    equal(ended(process), (0, f"{first} completed 1\n", ""))


@test
def waiting_has_a_code_of_its_own_for_the_end_of_time(box):
    done_id, open_id = box.submit("t", "--queue", "a"), box.submit("t")
    box.ok("cancel", done_id)
    for timeout in ("0s", "60ms"):
        done = box.fails(124, "wait", done_id, open_id, "--timeout", timeout)
        has(done.out, f"{done_id} cancelled")
        equal(done.err, "pawl: 1 of 2 jobs had not ended in time\n")
    has(box.ok("help", "wait").out, "124")


@test
def waiting_for_a_job_that_is_not_there_is_refused(box):
    job_id = box.submit("t")
    box.ok("skip", job_id)
    done = box.fails(1, "wait", MISSING, job_id)
    equal(done.out, f"{job_id} skipped: skipped on request\n")
    equal(done.err, f'pawl: there is no job "{MISSING}"\n')
    box.fails(2, "wait", "nonsense")
    box.fails(2, "wait")


@test
def waiting_can_be_interrupted(box):
    open_id, done_id = box.submit("t"), box.submit("t")
    box.ok("skip", done_id)
    process = waiting(box, open_id, done_id)
    # once this is printed, the signal finds it waiting
    equal(process.stdout.readline(), f"{done_id} skipped: skipped on request\n")
    process.send_signal(signal.SIGINT)
    equal(ended(process), (130, "", "pawl: interrupted\n"))
    equal(box.state(open_id), "available")
