"""pawl work: commands as handlers, from start to stop."""
import collections
import json
import os
import re
import shutil
import signal
import subprocess
import time
import urllib.error
import urllib.request

from kit import (DEADLINE_S, PAWL, POSTGRES, SERVED, Skip, Terminal, equal, has, is_alive, test,
                 until)

MEBIBYTE = 1024 * 1024
SOON_S = 30  # how long something may take that takes an instant on a machine with nothing to do


class Node:
    """A node that runs until it is stopped, at the latest when the test ends."""

    def __init__(self, box, *args, **options):
        self.box = box
        self.log = box.file(f"node-{os.urandom(4).hex()}.log", "")
        self.out = self.log + ".out"
        with open(self.log, "w", encoding="utf-8") as err, open(self.out, "w",
                                                                  encoding="utf-8") as out:
            self.process = subprocess.Popen([PAWL, "work", *map(str, args)], cwd=box.path,
                                            env={**box.env, **options.pop("env", {})},
                                            stdin=subprocess.DEVNULL, stdout=out, stderr=err,
                                            **options)
        self.pid = self.process.pid

    def __enter__(self):
        until(self.is_up)
        return self

    def __exit__(self, *trouble):
        if self.process.poll() is None:
            self.process.kill()
        self.process.wait(DEADLINE_S)

    def is_up(self):
        assert self.process.poll() is None, self.said()
        return " is up: " in self.said()

    def said(self):
        with open(self.log, encoding="utf-8") as file:
            return file.read()

    def logged(self):
        return logged(self.said())

    def printed(self):
        with open(self.out, encoding="utf-8") as file:
            return [json.loads(line) for line in file]

    def send(self, number):
        self.process.send_signal(number)

    def end(self):
        return self.process.wait(DEADLINE_S)

    def stop(self, number=signal.SIGTERM):
        self.send(number)
        return self.end()


def logged(text):
    """The log's entries among what went to standard error."""
    return [json.loads(line) for line in text.splitlines() if line.startswith("{")]


def once(box, *commands, args=()):
    """Runs the jobs that are due, then exits."""
    execs = [part for command in commands for part in ("--exec", command)]
    done = box.run("work", "--once", *execs, *args)
    failed = re.search(r" is down: \d+ done, (\d+) failed, ", done.err)
    equal((done.code, bool(failed)), (1 if failed and failed[1] != "0" else 0, True))
    return done


def children(pid):
    """Process ids of its children, zombies included."""
    found = []
    for name in filter(str.isdigit, os.listdir("/proc")):
        try:
            with open(f"/proc/{name}/stat", encoding="utf-8") as file:
                if file.read().rsplit(")", 1)[1].split()[1] == str(pid):
                    found.append(int(name))
        except (FileNotFoundError, ProcessLookupError):
            pass
    return found


def pids_in(path, count):
    """The process ids that a command wrote into a file, once there are so many."""
    try:
        with open(path, encoding="utf-8") as file:
            words = file.read().split()
    except FileNotFoundError:
        return None
    return [int(word) for word in words] if len(words) == count else None


def in_state(box, job_id, *states):
    return box.state(job_id) in states


def failures(box, job_id):
    return [(f["type"], f["message"]) for f in box.job(job_id)["failures"]]


def fetch(url, token=None):
    """Status and text of a GET."""
    headers = {"Authorization": f"Bearer {token}"} if token else {}
    try:
        request = urllib.request.Request(url, headers=headers)
        with urllib.request.urlopen(request, timeout=DEADLINE_S) as reply:
            return reply.status, reply.read().decode()
    except urllib.error.HTTPError as error:
        return error.code, error.read().decode()


def metrics_url(node):
    """Where a node says that it serves its metrics."""
    found = until(lambda: re.search(r"metrics are at (http:[^\s\"]+)/metrics", node.said()))
    return found[1]


# ---- outcomes ----


@test
def each_exit_status_has_its_outcome(box):
    cases = {
        "ok": ("exit 0", "completed", []),
        "later": ("echo busy >&2; exit 75", "retryable",
                  [("tempfail", "the command exited with status 75: busy")]),
        "never": ("echo ' ' >&2; exit 65", "discarded",
                  [("exit.65", "the command exited with status 65")]),
        "three": ("echo first >&2; echo last >&2; echo >&2; exit 3", "retryable",
                  [("exit.3", "the command exited with status 3: last")]),
        "missing": ("exec /no/such/program 2>/dev/null", "retryable",
                    [("exit.127", "the command exited with status 127")]),
        "killed": ("kill -KILL $$", "retryable",
                   [("signal.KILL", "the command was ended by signal KILL")]),
        "crashed": ("ulimit -c 0; echo oops >&2; kill -SEGV $$", "retryable",
                    [("signal.SEGV", "the command was ended by signal SEGV: oops")]),
    }
    ids = {name: box.submit(name, "--retry-initial", "1h") for name in cases}
    once(box, *(f"{name}={case[0]}" for name, case in cases.items()))
    for name, (_, state, wanted) in cases.items():
        equal((name, box.state(ids[name])), (name, state))
        equal((name, failures(box, ids[name])), (name, wanted))
    box.ok("check")


@test
def a_temporary_failure_is_retried_where_others_are_not(box):
    policy = ("--retry-initial", "1h", "--non-retryable", "exit.*")
    later, final = box.submit("later", *policy), box.submit("final", *policy)
    once(box, "later=exit 75", "final=exit 1")
    equal((box.state(later), box.state(final)), ("retryable", "discarded"))


@test
def a_retried_job_sees_its_attempt(box):
    job_id = box.submit("t", "--retry-initial", "50ms")
    with Node(box, "--exec", 't=echo "attempt $PAWL_ATTEMPT"; test "$PAWL_ATTEMPT" = 3') as node:
        until(in_state, box, job_id, "completed")
        equal(node.stop(), 0)
    job = box.job(job_id)
    equal((job["attempt"], job["result"]), (3, "attempt 3"))
    equal([f["type"] for f in job["failures"]], ["exit.1", "exit.1"])


@test
def attempts_are_spent(box):
    job_id = box.submit("t", "--retry-initial", "10ms", "--max-attempts", "2")
    with Node(box, "--exec", "t=exit 9"):
        until(in_state, box, job_id, "discarded")
    equal([f["attempt"] for f in box.job(job_id)["failures"]], [1, 2])


# ---- results ----


@test
def output_becomes_the_result(box):
    cases = {
        "object": (r"""printf ' {"a": [1, 2.50],\n "b":null} \n'""", {"a": [1, 2.5], "b": None}),
        "number": ("echo 42", 42),
        "text": ("echo hello", "hello"),
        "quoted": ("""echo '"hello"'""", "hello"),
        "lines": (r"printf '  one\n two\n\n'", "  one\n two"),
        "two": ("echo 1 2", "1 2"),
        "half": ("""printf '{"a":'""", '{"a":'),
        "deep": ("printf '%0100d' 0 | tr 0 '['", "[" * 100),
        "latin": (r"printf 'gr\374n\000 \033[1m\342\202\254'", "gr\ufffdn\0 \033[1m\u20ac"),
        "false": ("echo false", False),
    }
    none = {"empty": "true", "blank": r"printf ' \n\n'", "null_device": "echo x >/dev/null"}
    ids = {name: box.submit(name) for name in [*cases, *none]}
    once(box, *(f"{name}={case[0]}" for name, case in cases.items()),
         *(f"{name}={command}" for name, command in none.items()))
    for name, (_, wanted) in cases.items():
        equal((name, box.job(ids[name]).get("result")), (name, wanted))
    for name in none:
        job = box.job(ids[name])
        equal((name, job["state"], "result" in job), (name, "completed", False))


@test
def long_arguments_reach_the_command_whatever_claims_may_hold(box):
    args = json.dumps(["x" * 5000], separators=(",", ":"))
    ids = [box.submit("t", args) for _ in range(3)]
    once(box, "t=wc -c", args=("--claim-bytes-max", "1KiB"))
    wanted = box.job(ids[0])["result"]
    assert wanted >= len(args), wanted
    equal([box.job(job_id)["result"] for job_id in ids], [wanted] * 3)


@test
def a_result_keeps_what_fits_into_a_mebibyte(box):
    """A command that succeeded is not failed because it printed much."""
    quoted = r"""printf '"'; head -c {} /dev/zero | tr '\0' x; printf '"'"""
    cases = {  # the command, how many bytes it prints, its result, whether that is cut
        "fits": (quoted.format(MEBIBYTE - 2) + "; echo", None, "x" * (MEBIBYTE - 2)),
        "over": (quoted.format(MEBIBYTE - 1), MEBIBYTE + 1, '"' + "x" * (MEBIBYTE - 4)),
        # as a string it needs more: six bytes for each, and half an escape is none
        "escapes": (f"printf x; head -c {MEBIBYTE - 1} /dev/zero", MEBIBYTE,
                    "x" + "\0" * ((MEBIBYTE - 3) // 6)),
        # three bytes for each, and half a character is none
        "wide": ("printf x; yes € | head -n 400000 | tr -d '\\n'", 1200001,
                 "x" + "€" * ((MEBIBYTE - 3) // 3)),
        "much": ("head -c 50000000 /dev/zero | tr '\\0' y", 50000000, "y" * (MEBIBYTE - 2)),
    }
    ids = {name: box.submit(name, "--max-attempts", "1") for name in cases}
    once(box, *(f"{name}={case[0]}" for name, case in cases.items()))
    for name, (_, printed, wanted) in cases.items():
        job = box.job(ids[name])
        equal((name, job["state"], job["failures"]), (name, "completed", []))
        assert job["result"] == wanted, (name, len(job["result"]), len(wanted))
        log = [(line["level"], line["text"]) for line in job["log"]]
        equal((name, log), (name, [] if not printed else [(
            "warning", f"the result was cut: the command printed {printed} bytes, and a result may "
                       "have 1048576 bytes of JSON")]))


@test
def a_command_that_prints_for_ever_has_its_time_limit(box):
    job_id = box.submit("t", "--timeout", "1s", "--max-attempts", "1")
    once(box, "t=yes")
    equal([f["type"] for f in box.job(job_id)["failures"]], ["timeout"])


# ---- the log ----


@test
def standard_error_becomes_the_log(box):
    job_id = box.submit("t")
    once(box, r"t=printf 'one\r\n\ntw\303o\000\n%05000d\nlast' 7 >&2; echo result")
    job = box.job(job_id)
    equal([(line["level"], line["run"]) for line in job["log"]], [("info", 1)] * 5)
    equal([line["text"] for line in job["log"]],
          ["one", "", "tw\ufffdo\ufffd", "0" * 4000, "last"])
    equal(job["result"], "result")


@test
def the_log_keeps_its_beginning_and_its_end(box):
    cases = {1000: range(1, 1001), 1001: [*range(1, 51), *range(52, 1002)],
             1500: [*range(1, 51), *range(551, 1501)]}
    for count, wanted in cases.items():
        job_id = box.submit("t")
        once(box, f"t=seq {count} >&2")
        log = box.job(job_id)["log"]
        equal([int(line["text"]) for line in log], list(wanted))
        equal([line["line"] for line in log], list(wanted))
        shown = box.ok("show", job_id).out
        equal("lines left out" in shown, count > 1000)
    has(shown, "  50\n  (500 lines left out)\n")


@test
def a_flood_of_lines_is_thinned_out(box):
    """What a store has no time for is left out between the beginning and the end."""
    job_id = box.submit("t")
    once(box, "t=seq 100000 >&2")
    log = box.job(job_id)["log"]
    texts = [line["text"] for line in log]
    equal(texts[:50] + texts[-500:], [str(n) for n in [*range(1, 51), *range(99501, 100001)]])
    thinned = [line["text"] for line in log if line["level"] == "warning"]
    assert thinned and thinned[-1].endswith(" lines omitted: too many at once"), thinned
    equal(len(log), 1000)


@test
def late_lines_of_a_flood_do_not_wait_for_its_end(box):
    job_id = box.submit("t")
    with Node(box, "--exec", "t=seq 1200 >&2; sleep 100"):
        until(lambda: (box.job(job_id)["log"] or [{"text": ""}])[-1]["text"] == "1200")


@test
def a_command_reports_its_progress(box):
    """While it runs; what is no report is a line of the log."""
    job_id, path = box.submit("t"), box.file("go")
    command = (f"t=echo 'pawl:progress 12.5 one of eight' >&2; until [ -e {path} ]; do sleep 0.05; "
               "done; echo 'pawl:progress 100' >&2; echo 'pawl:progress much' >&2; "
               "echo 'pawl:progress 101 x' >&2; echo said >&2")
    with Node(box, "--exec", command):
        progress = until(lambda: box.job(job_id).get("progress"))
        equal((progress["value"], progress["message"]), (0.125, "one of eight"))
        box.file("go", "")
        until(in_state, box, job_id, "completed")
    job = box.job(job_id)
    equal((job["progress"]["value"], [line["text"] for line in job["log"]]),
          (1, ["pawl:progress much", "pawl:progress 101 x", "said"]))


@test
def once_exits_with_1_if_a_run_failed(box):
    box.submit("t")
    box.ok("work", "-q", "--once", "--exec", "t=exit 0")
    box.submit("t", "--retry-initial", "1h")
    equal(box.fails(1, "work", "-q", "--once", "--exec", "t=exit 75").err, "pawl: 1 run failed\n")
    box.submit("u", "--max-attempts", "1")
    box.submit("u", "--max-attempts", "1")
    done = once(box, "u=exit 65")
    equal((done.code, done.err.splitlines()[-1]), (1, "pawl: 2 runs failed"))
    equal(once(box, "u=exit 65").code, 0)  # nothing ran
    box.submit("v", "--max-attempts", "1")
    run = [entry for entry in logged(once(box, "v=exit 75").err) if entry["message"] == "run"]
    equal([(entry["type"], entry["outcome"], entry["attempt"]) for entry in run],
          [("v", "failed", 1)])


@test
def verbose_logs_the_standard_error_of_commands(box):
    job_id = box.submit("t")
    command = r"t=printf 'a \033[2J line\n' >&2; exit 3"
    done = once(box, command, args=["--verbose", "--log-format", "text"])
    has(done.err, f"Z info a \\x1b[2J line job_id={job_id} stream=stderr\n")
    has(done.err, f"Z warning run job_id={job_id} type=t queue=default outcome=failed attempt=1 "
                  "max_attempts=3 duration_ms=")
    job_id = box.submit("t")
    line = [entry for entry in logged(once(box, command, args=["--verbose"]).err)
            if entry.get("stream")][0]
    equal({**line, "time": ""}, {"time": "", "level": "info", "message": "a \x1b[2J line",
                                 "job_id": job_id, "stream": "stderr"})
    box.submit("t")
    assert " line" not in once(box, "t=echo a line >&2").err


# ---- what a command gets ----


@test
def a_command_finds_its_job(box):
    job_id = box.submit("mail.send", '["ann", {"n": 1.50}]', "--queue", "q", "--priority", "7",
                        "--meta", "who=me", "--tag", "x", "--timeout", "1m", "--key", "k")
    once(box, "mail.send=cat; env | sort >&2", args=["--queue", "q", "--name", "n1"])
    story = box.job(job_id)
    got = story["result"]
    wanted = {**story, "state": "active", "lease_until": got["lease_until"]}
    equal(got, {key: wanted[key] for key in got})
    equal((got["id"], got["args"], got["meta"], got["tags"], got["attempt"], got["max_attempts"],
           got["priority"], got["run"], got["worker"], got["timeout_ms"], got["idempotency_key"]),
          (job_id, ["ann", {"n": 1.5}], {"who": "me"}, ["x"], 1, 3, 7, 1, "n1", 60000, "k"))
    env = dict(line["text"].split("=", 1) for line in story["log"])
    equal({key: value for key, value in env.items()
           if key.startswith("PAWL_") and key not in box.env},
          {"PAWL_JOB_ID": job_id, "PAWL_JOB_TYPE": "mail.send", "PAWL_QUEUE": "q",
           "PAWL_ATTEMPT": "1", "PAWL_RUN": "1", "PAWL_ARGS": '["ann", {"n": 1.50}]'})
    equal((env["USER"], env["PWD"]), ("tester", os.path.realpath(box.path)))


@test
def a_command_may_use_pawl_itself(box):
    """What is set for it does not look like misspelt settings; a node may run inside a node."""
    first = box.submit("first")
    once(box, f"first={PAWL} -q submit second '[2]'", f"second={PAWL} -q work --once --exec "
         "'third=echo $PAWL_JOB_TYPE' 2>&1 && echo $PAWL_JOB_TYPE")
    second = box.job(first)["result"]
    equal(box.job(second)["result"], "second")
    third = box.submit("third")
    box.ok("work", "--once", "--exec", "third=echo $PAWL_JOB_TYPE $PAWL_ATTEMPT",
           env={"PAWL_JOB_TYPE": "wrong", "PAWL_ATTEMPT": "7"})
    equal(box.job(third)["result"], "third 1")


@test
def a_command_inherits_nothing_of_ours(box):
    """Three descriptors, default signals, a process group of its own."""
    job_id = box.submit("t")
    once(box, "t=ls /proc/self/fd; grep -E '^Sig(Blk|Ign)' /proc/self/status; "
              "cut -d ' ' -f 5 /proc/$$/stat; echo $$")
    lines = box.job(job_id)["result"].split("\n")
    equal(lines[:4], ["0", "1", "2", "3"])  # the last is the directory
    blocked, ignored = (int(line.split()[1], 16) for line in lines[4:6])
    equal((blocked, ignored & ~(3 << 31)), (0, 0))  # two are the C library's own
    equal(lines[6], lines[7])


@test
def much_goes_in_and_out(box):
    text = "x" * (MEBIBYTE - 100)
    box.ok("submit", "-", stdin="".join(json.dumps({"type": kind, "args": [text]}) + "\n"
                                        for kind in ("echo", "deaf", "shut")))
    once(box, r"""echo=sed -e 's/.*"args":\["//' -e 's/".*//'; echo "${PAWL_ARGS-none}" >&2""",
         "deaf=exit 0", "shut=exec <&-; sleep 0.2; echo shut")
    jobs = {job["type"]: box.job(job["id"])
            for job in box.ok("list", "--json", "--state", "completed").json}
    equal(sorted(jobs), ["deaf", "echo", "shut"])
    assert jobs["echo"]["result"] == text
    equal([line["text"] for line in jobs["echo"]["log"]], ["none"])
    equal(jobs["shut"]["result"], "shut")


@test
def arguments_fit_into_a_variable_up_to_its_end(box):
    """The kernel takes 128 KiB with the name, the equals sign and the end."""
    room = 128 * 1024 - len("PAWL_ARGS=") - 1 - len('[""]')
    box.ok("submit", "-", stdin=json.dumps({"type": "t", "args": ["x" * room]}) + "\n" +
           json.dumps({"type": "u", "args": ["x" * (room + 1)]}) + "\n")
    once(box, "t=echo ${#PAWL_ARGS}", "u=echo ${PAWL_ARGS-none}")
    results = {job["type"]: box.job(job["id"]).get("result")
               for job in box.ok("list", "--json").json}
    equal(results, {"t": room + 4, "u": "none"})


# ---- which jobs ----


@test
def what_is_not_named_never_runs(box):
    ids = [box.submit(kind) for kind in ("t.x", "other", "t@1.0")] + [box.submit("t", "--queue",
                                                                                "elsewhere")]
    ran = box.submit("t")
    once(box, "t=echo ran")
    equal([box.state(job_id) for job_id in ids], ["available"] * 4)
    equal([box.job(job_id)["attempt"] for job_id in ids], [0] * 4)
    equal(box.job(ran)["result"], "ran")


@test
def a_command_may_run_many_types(box):
    """The longest match applies; types that appear later are run too."""
    kinds = ("mail.send", "mail.in", "mail.in.read", "mail", "mailer.run", "sms")
    ids = {kind: box.submit(kind) for kind in kinds}
    once(box, "mail.*=echo prefix", "mail.in.*=echo longer", "mail.send=echo exact")
    results = {kind: box.job(job_id).get("result") for kind, job_id in ids.items()}
    equal(results, {"mail.send": "exact", "mail.in": "prefix", "mail.in.read": "longer",
                    "mail": None, "mailer.run": None, "sms": None})
    equal(box.ok("list", "--count", "--type", "mail.*").out, "3\n")
    with Node(box, "--exec", "*=echo $PAWL_JOB_TYPE", "--exec", "sms=false"):
        until(in_state, box, ids["mailer.run"], "completed")
        later = box.submit("not.seen.before")
        until(in_state, box, later, "completed")
    equal(box.job(later)["result"], "not.seen.before")
    has(box.fails(2, "work", "--once", "--exec", "mail*=x").err, 'type "mail*"')


@test
def once_runs_all_that_is_due_and_exits(box):
    box.ok("submit", "-", stdin='{"type":"t"}\n' * 40)
    soon = box.submit("t", "--delay", "300ms")
    later = box.submit("t", "--delay", "1h")
    box.submit("t", "--queue", "halted")
    box.ok("queue", "pause", "halted")
    time.sleep(0.4)
    once(box, "t=true", args=["--queue", "default", "--queue", "halted"])
    equal((box.state(soon), box.state(later)), ("completed", "scheduled"))
    equal(box.ok("list", "--count", "--state", "completed").out, "41\n")
    equal(box.ok("list", "--count", "--state", "available").out, "1\n")
    equal(once(box, "t=true").out, "")
    # A store that is not there yet is made, and is as empty as one can be.
    box.ok("work", "--once", "--exec", "t=true", "--store", "sqlite:new.db")


@test
def once_waits_for_what_its_commands_add(box):
    box.submit("t", "[3]")
    once(box, "t=n=${PAWL_ARGS#[}; n=${n%]}; [ $n = 0 ] || "
              f"{PAWL} -q submit t \"[$((n - 1))]\"")
    equal(box.ok("list", "--count", "--state", "completed").out, "4\n")


@test
def a_queue_has_its_limit(box):
    """Each run takes its place in a directory and looks how many others are there."""
    os.mkdir(box.file("one"))
    os.mkdir(box.file("many"))
    box.ok("submit", "-", stdin='{"type":"t","queue":"one"}\n' * 8 +
           '{"type":"t","queue":"many"}\n' * 8)
    once(box, "t=touch $PAWL_QUEUE/$PAWL_JOB_ID; sleep 0.1; ls $PAWL_QUEUE | wc -l; "
              "rm $PAWL_QUEUE/$PAWL_JOB_ID", args=["--queue", "one=1", "--queue", "many",
                                                  "--workers", "4"])
    most = collections.Counter()
    for job in box.ok("list", "--json").json:
        most[job["queue"]] = max(most[job["queue"]], int(box.job(job["id"])["result"]))
    equal(most["one"], 1)
    assert 1 < most["many"] <= 4, most


@test
def priority_goes_first(box):
    names = box.file("order")
    for priority in (0, -50, 50, 10):
        box.submit("t", f"[{priority}]", "--priority", str(priority))
    once(box, f"t=echo $PAWL_ARGS >>{names}", args=["--workers", "1"])
    with open(names, encoding="utf-8") as file:
        equal(file.read().split(), ["[50]", "[10]", "[0]", "[-50]"])


@test
def a_node_starts_what_others_submit_at_once(box):
    with Node(box, "--exec", "t=true"):
        time.sleep(0.5)
        began = time.monotonic()
        job_id = box.submit("t")
        until(in_state, box, job_id, "completed")
        assert time.monotonic() - began < SOON_S
        delayed = box.submit("t", "--delay", "200ms")
        until(in_state, box, delayed, "completed")


# ---- stopping commands ----


TREE = "t=echo $$ >{0}.new; sleep 100 & echo $! >>{0}.new; mv {0}.new {0}; sleep 100"


@test
def a_time_limit_kills_the_whole_tree(box):
    path = box.file("pids")
    job_id = box.submit("t", "--timeout", "500ms", "--max-attempts", "1")
    began = time.monotonic()
    once(box, TREE.format(path))
    assert time.monotonic() - began < SOON_S
    pids = pids_in(path, 2)
    assert not any(map(is_alive, pids)), pids
    job = box.job(job_id)
    equal((job["state"], [f["type"] for f in job["failures"]]), ("discarded", ["timeout"]))
    has([line["text"] for line in job["log"]], "80 % of the time limit is over")


@test
def a_command_that_ignores_sigterm_is_killed(box):
    path = box.file("pids")
    job_id = box.submit("t", "--timeout", "300ms", "--max-attempts", "1")
    began = time.monotonic()
    once(box, f"t=trap '' TERM; echo $$ >{path}; sleep 100 & wait; sleep 100",
         args=["--grace", "500ms"])
    assert 0.8 < time.monotonic() - began < SOON_S
    assert not is_alive(pids_in(path, 1)[0])
    equal([f["type"] for f in box.job(job_id)["failures"]], ["timeout"])


@test
def a_command_has_time_to_clean_up_after_sigterm(box):
    """The shell dies at once, but what it had started gets its grace."""
    path = box.file("cleaned")
    inner = box.file("inner.sh", f"trap 'sleep 0.3; echo yes >{path}; exit' TERM\n"
                                 "echo ready >&2\nwhile :; do sleep 0.05; done\n")
    job_id = box.submit("t", "--timeout", "500ms", "--max-attempts", "1")
    once(box, f"t=true; sh {inner}; true")
    has([line["text"] for line in box.job(job_id)["log"]], "ready")
    assert os.path.exists(path)


@test
def a_cancelled_job_is_killed_soon(box):
    path = box.file("pids")
    job_id = box.submit("t")
    with Node(box, "--exec", TREE.format(path), "--json") as node:
        pids = until(pids_in, path, 2)
        equal(box.state(job_id), "active")
        began = time.monotonic()
        box.ok("cancel", job_id)
        until(lambda: not any(map(is_alive, pids)))
        took = time.monotonic() - began
        equal(box.state(job_id), "cancelled")
        equal(node.stop(), 0)
        equal([(line["id"], line["outcome"]) for line in node.printed()], [(job_id, "cancelled")])
    assert took < (SOON_S if "SAN_OPTIONS" in " ".join(box.env) else 5), took
    box.ok("check")


@test
def what_a_command_leaves_running_is_killed(box):
    path = box.file("pids")
    box.submit("t")
    began = time.monotonic()
    once(box, f"t=sleep 100 & echo $! >{path}; echo done", args=["--grace", "300ms"])
    assert time.monotonic() - began < SOON_S
    assert not is_alive(pids_in(path, 1)[0])
    # A process that has left the group is neither killed nor waited for.
    job_id = box.submit("u")
    once(box, f"u=setsid sleep 7 & echo $! >{path}; echo done", args=["--grace", "300ms"])
    equal(box.job(job_id)["result"], "done")
    daemon = pids_in(path, 1)[0]
    assert is_alive(daemon)
    os.kill(daemon, signal.SIGKILL)


@test
def output_of_the_background_is_waited_for(box):
    job_id = box.submit("t")
    once(box, "t=(sleep 0.3; echo late) & exit 0")
    equal(box.job(job_id)["result"], "late")


@test
def a_command_without_a_lease_is_killed(box):
    """A node that was suspended finds its job in other hands."""
    path = box.file("pids")
    job_id = box.submit("t")
    command = f't=echo $$ >>{path}; [ "$PAWL_RUN" = 2 ] || exec sleep 100; echo second'
    with Node(box, "--lease", "1s", "--exec", command, "--name", "one", "--json") as first:
        pid = until(pids_in, path, 1)[0]
        first.send(signal.SIGSTOP)
        with Node(box, "--lease", "1s", "--exec", command, "--name", "two") as second:
            until(in_state, box, job_id, "completed")
            assert is_alive(pid)
            first.send(signal.SIGCONT)
            until(lambda: not is_alive(pid))
            equal((first.stop(), second.stop()), (0, 0))
        equal([line["outcome"] for line in first.printed()], ["cancelled"])
    job = box.job(job_id)
    equal((job["result"], job["worker"], [f["lapsed"] for f in job["failures"]]),
          ("second", "two", [True]))
    box.ok("check")


def guardians(pid):
    """A node's children that are none of its commands."""
    return [child for child in children(pid) if name_of(child) == "pawl-guardian"]


def name_of(pid):
    try:
        with open(f"/proc/{pid}/comm", encoding="utf-8") as file:
            return file.read().strip()
    except (FileNotFoundError, ProcessLookupError):
        return None


@test
def commands_die_with_a_killed_node(box):
    """And the processes that they started, even if these ignore signals; before the lease ends
    and the job runs on another node."""
    paths = [box.file(f"pids-{number}") for number in range(4)]
    for path in paths:
        box.submit("t", json.dumps([path]))
    command = ("t=trap '' TERM HUP INT; p=${PAWL_ARGS#??}; p=${p%??}; echo $$ >$p.new; "
               "sh -c 'sleep 100; true' & echo $! >>$p.new; mv $p.new $p; sleep 100; true")
    with Node(box, "--workers", "4", "--exec", command) as node:
        pids = [pid for path in paths for pid in until(pids_in, path, 2)]
        guardian, = guardians(node.pid)
        began = time.monotonic()
        node.send(signal.SIGKILL)
        until(lambda: not any(map(is_alive, [*pids, guardian])))
        assert time.monotonic() - began < SOON_S
    equal(box.ok("list", "--count", "--state", "active").out, "4\n")


@test
def commands_die_with_a_node_whose_guardian_was_killed(box):
    """What they started does not, then."""
    path = box.file("pids")
    box.submit("t")
    with Node(box, "--exec", f"t=echo $$ >{path}; sleep 100") as node:
        pid, = until(pids_in, path, 1)
        os.kill(guardians(node.pid)[0], signal.SIGKILL)
        node.send(signal.SIGKILL)
        until(lambda: not is_alive(pid))


@test
def the_command_of_a_killed_lock_run_dies(box):
    path = box.file("pids")
    process = box.start("lock", "run", "nightly", "--", "sh", "-c",
                        TREE.format(path).removeprefix("t="))
    pids = until(pids_in, path, 2)
    process.kill()
    process.wait(DEADLINE_S)
    until(lambda: not any(map(is_alive, pids)))
    # One that ends by itself may leave something running, as without a lock.
    box.ok("lock", "run", "other", "--", "sh", "-c",
           f"sleep 100 >/dev/null 2>&1 & echo $! >{path}")
    left, = pids_in(path, 1)
    assert is_alive(left)
    os.kill(left, signal.SIGKILL)


@test
def the_work_of_a_killed_node_is_taken_up(box):
    path = box.file("pids")
    job_id = box.submit("t")
    command = f't=echo $$ >>{path}; [ "$PAWL_RUN" = 2 ] || exec sleep 100; echo "$PAWL_ATTEMPT"'
    with Node(box, "--lease", "1s", "--exec", command) as first:
        pid = until(pids_in, path, 1)[0]
        first.send(signal.SIGKILL)
        first.end()
        until(lambda: not is_alive(pid))
    with Node(box, "--lease", "1s", "--exec", command) as second:
        until(in_state, box, job_id, "completed")
        until(lambda: "leases expired: 1" in second.said())
    equal(box.job(job_id)["result"], 2)


# ---- the node among others ----


def node_named(box, name):
    """As "pawl node" lists it; None: it does not."""
    return next((node for node in box.ok("node", "--json").json if node["name"] == name), None)


@test
def the_name_of_a_live_node_is_refused(box):
    with Node(box, "--name", "one", "--exec", "t=true") as node:
        refused = box.fails(1, "work", "--name", "one", "--exec", "t=true").err
        has(refused, "hint: stop that node, or choose another --name")
        has(refused, 'node "one" is alive')
        has(refused, f'"pid":{node.pid}')
        equal(node.stop(), 0)
    with Node(box, "--name", "one", "--exec", "t=true") as node:
        equal(node.stop(), 0)


@test
def nodes_without_names_start_side_by_side(box):
    env = {"HOSTNAME": "pod-1"}
    with Node(box, "--exec", "t=true", env=env) as first:
        with Node(box, "--exec", "t=true", env=env) as second:
            has(first.logged()[0]["message"], 'node "pod-1" is up')
            has(second.logged()[0]["message"], f'node "pod-1-{second.pid}" is up')
            equal((first.stop(), second.stop()), (0, 0))


@test
def a_node_and_what_it_runs_are_shown(box):
    path = box.file("go")
    job_id = box.submit("t", "--queue", "q")
    with Node(box, "--name", "one", "--queue", "q", "--workers", "3", "--drain", "60s", "--exec",
              f"t=while [ ! -e {path} ]; do sleep 0.05; done") as node:
        until(in_state, box, job_id, "active")
        shown = box.ok("node", "show", "one", "--json").json
        equal((shown["name"], shown["state"], shown["active"], shown["workers"], shown["pid"],
               shown["lease_ms"]), ("one", "live", 1, 3, node.pid, 30000))
        equal([(job["id"], job["type"], job["queue"]) for job in shown["jobs"]],
              [(job_id, "t", "q")])
        text = box.ok("node", "show", "one").out
        for part in ("Node one", "state         live", job_id):
            has(text, part)
        has(box.ok("node").out, "live")
        node.send(signal.SIGTERM)  # it drains: it is there, but takes nothing more
        until(lambda: node_named(box, "one")["state"] == "draining")
        box.file("go", "")
        equal(node.end(), 0)
    equal(node_named(box, "one"), None)
    has(box.fails(1, "node", "show", "one").err, 'no node "one"')


def suspend(box, node):
    """But not in the middle of a write, which would keep everybody else from writing."""
    def is_apart():
        node.send(signal.SIGSTOP)
        if box.run("lock", "try", "probe", "--owner", "test", "--busy-timeout", "1s").code == 0:
            return True
        node.send(signal.SIGCONT)
        return False
    until(is_apart)


@test
def a_node_whose_name_was_taken_over_stops(box):
    with Node(box, "--lease", "1s", "--name", "one", "--exec", "t=true") as first:
        suspend(box, first)
        until(lambda: node_named(box, "one")["state"] == "stale")
        with Node(box, "--name", "one", "--exec", "t=true") as second:
            first.send(signal.SIGCONT)
            equal(first.end(), 1)
            has(first.said(), "the node is replaced: ")
            equal(node_named(box, "one")["pid"], second.pid)
            equal(second.stop(), 0)


@test
def a_node_logs_when_its_store_is_lost_and_back(box):
    if SERVED:
        raise Skip("the store is the server's")
    with Node(box, "--lease", "1s", "--busy-timeout", "100ms", "--exec", "t=true") as node:
        with box.held():
            until(lambda: "the store is lost" in node.said())
        until(lambda: "the store is back" in node.said())
        equal(node.stop(), 0)


@test
def a_node_archives_and_purges_by_its_options(box):
    """On the command line, in the environment, in a file; "pawl serve" too."""
    if SERVED:
        raise Skip("the server retires jobs")
    def is_archived(job_id):
        return box.job(job_id).get("archived", False)

    def is_gone(job_id):
        return box.run("show", job_id).code == 1

    box.file("keep.conf", "archive-after = 1ms\npurge-after = 1ms\n")
    for args, env, seen in (
            (("--archive-after", "1ms", "--purge-after", "never"), {}, is_archived),
            ((), {"PAWL_ARCHIVE_AFTER": "1ms", "PAWL_PURGE_AFTER": "never"}, is_archived),
            (("--config", "keep.conf"), {}, is_gone)):
        job_id = box.submit("t")
        once(box, "t=true")
        with Node(box, "--exec", "t=true", *args, env=env) as node:
            until(seen, job_id)
            equal(node.stop(), 0)
    job_id = box.submit("t")
    once(box, "t=true")
    server = box.start("serve", "--listen", "127.0.0.1:0", "--archive-after", "1ms",
                       stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    try:
        until(is_archived, job_id)
    finally:
        server.terminate()
        server.wait(DEADLINE_S)
    has(box.fails(2, "work", "--exec", "t=true", "--purge-after", "soon").err, "purge-after")


# ---- stopping the node ----


@test
def a_node_lets_commands_finish(box):
    path = box.file("pids")
    job_id = box.submit("t")
    with Node(box, "--exec", f"t=echo $$ >{path}; sleep 1; echo done", "--workers", "1") as node:
        until(pids_in, path, 1)
        later = box.submit("t")
        equal(node.stop(), 0)
        has(node.said(), "stopping: 1 running")
        has(node.said(), "is down: 1 done, 0 failed, 0 given back")
    equal((box.job(job_id)["result"], box.state(later)), ("done", "available"))
    equal(box.ok("node", "--json").json, [])


@test
def a_node_gives_back_what_takes_too_long(box):
    """Free of charge, and killed; even if it says that it was done."""
    path = box.file("pids")
    job_id = box.submit("t")
    with Node(box, "--exec", f"t=trap 'exit 0' TERM; echo $$ >{path}; while :; do sleep 0.05; done",
              "--drain", "300ms", "--json") as node:
        pid = until(pids_in, path, 1)[0]
        equal(node.stop(), 0)
        assert not is_alive(pid)
        has(node.said(), "1 given back")
        equal([(line["outcome"], line["exit_status"]) for line in node.printed()],
              [("given_back", 0)])
    job = box.job(job_id)
    equal((job["failures"], job.get("free_runs"), job["run"]), ([], 1, 1))
    once(box, "t=echo [$PAWL_RUN, $PAWL_ATTEMPT]")
    job = box.job(job_id)
    equal((job["state"], job["result"], job["failures"]), ("completed", [2, 1], []))


@test
def a_second_signal_does_not_wait(box):
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        path = box.file(f"pids-{number}")
        job_id = box.submit("t")
        with Node(box, "--exec", f"t=echo $$ >{path}; sleep 100", "--drain", "100s") as node:
            pid = until(pids_in, path, 1)[0]
            node.send(number)
            until(lambda: "stopping: " in node.said())
            assert is_alive(pid)
            equal(node.stop(number), 0)
            assert not is_alive(pid)
        equal(box.job(job_id)["failures"], [])
        box.ok("cancel", job_id)


DEAF = "t=trap '' TERM; echo $$ >{path}; while :; do sleep 0.1; done"


@test
def a_second_signal_is_final(box):
    """Also commands that ignore SIGTERM; their jobs are given back without an attempt."""
    path = box.file("pids")
    job_id = box.submit("t", "--max-attempts", "1")
    with Node(box, "--exec", DEAF.format(path=path), "--drain", "100s", "--grace", "100s") as node:
        pid = until(pids_in, path, 1)[0]
        node.send(signal.SIGTERM)
        until(lambda: "stopping: " in node.said())
        time.sleep(0.3)
        equal((node.process.poll(), is_alive(pid)), (None, True))
        began = time.monotonic()
        equal(node.stop(), 0)
        assert time.monotonic() - began < SOON_S
        assert not is_alive(pid)
        has(node.said(), "1 given back")
    job = box.job(job_id)
    equal((job["state"], job["failures"], job["free_runs"]), ("available", [], 1))


@test
def a_third_signal_does_not_wait_for_the_store(box):
    path = box.file("pids")
    job_id = box.submit("t")
    with Node(box, "--exec", DEAF.format(path=path), "--drain", "100s", "--grace", "100s") as node:
        pid = until(pids_in, path, 1)[0]
        with box.held():
            for _ in range(2):
                node.send(signal.SIGINT)
                time.sleep(0.3)
                equal(node.process.poll(), None)
            equal(node.stop(signal.SIGINT), 130)
            has(node.said(), "pawl: exited at once")
        until(lambda: not is_alive(pid))
    job = box.job(job_id)
    # until its lease has lapsed; a server may have had word of it before
    assert job["state"] in ("active", "available" if POSTGRES else "active"), job
    equal(job["failures"], [])
    box.ok("check")


@test
def an_ignored_sigchld_is_restored(box):
    """Whoever starts us may ignore SIGCHLD, and that is inherited."""
    good, bad = box.submit("good"), box.submit("bad", "--max-attempts", "1")
    done = subprocess.run([PAWL, "work", "--once", "--exec", "good=echo 1", "--exec", "bad=exit 3"],
                          cwd=box.path, env=box.env, timeout=DEADLINE_S, check=False,
                          capture_output=True, text=True,
                          preexec_fn=lambda: signal.signal(signal.SIGCHLD, signal.SIG_IGN))
    equal((done.returncode, "is down" in done.stderr), (1, True))
    equal((box.job(good)["result"], failures(box, bad)[0][0]), (1, "exit.3"))


@test
def an_idle_node_stops_at_once(box):
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        with Node(box, "--exec", "t=true", "--drain", "100s", "--grace", "100s") as node:
            began = time.monotonic()
            equal(node.stop(number), 0)
            assert time.monotonic() - began < SOON_S
            assert "stopping" not in node.said()


@test
def what_a_shell_had_ignored_stays_ignored(box):
    script = f"trap '' INT HUP; exec {PAWL} work --exec t=true"
    process = subprocess.Popen(["sh", "-c", script], cwd=box.path, env=box.env, text=True,
                               stderr=subprocess.PIPE)
    has(process.stderr.readline(), " is up")
    process.send_signal(signal.SIGINT)
    process.send_signal(signal.SIGHUP)
    time.sleep(0.3)
    equal(process.poll(), None)
    process.terminate()
    equal(process.wait(DEADLINE_S), 0)
    process.stderr.close()


# ---- nothing is left behind ----


@test
def many_commands_leave_nothing_behind(box):
    def fds(pid):
        """Without connections, of which the store may have more later, but not one for each job."""
        where = f"/proc/{pid}/fd"
        return sum(not os.readlink(f"{where}/{fd}").startswith("socket:")
                   for fd in os.listdir(where))

    def done(count):
        return box.ok("list", "--count", "--state", "completed").out == f"{count}\n"

    with Node(box, "--exec", "t=true", "--workers", "4") as node:
        box.ok("submit", "-", stdin='{"type":"t"}\n' * 20)
        until(done, 20)
        before = fds(node.pid)
        box.ok("submit", "-", stdin='{"type":"t"}\n' * 500)
        until(done, 520)
        until(lambda: children(node.pid) == guardians(node.pid))
        until(lambda: fds(node.pid) <= before)
        guardian, = guardians(node.pid)
        equal(node.stop(), 0)
        assert not is_alive(guardian)


@test
def two_nodes_share_the_work(box):
    box.ok("submit", "-", stdin='{"type":"t"}\n' * 60)
    args = ("--exec", "t=sleep 0.02; echo $$", "--workers", "2")
    with Node(box, *args, "--name", "one") as one, Node(box, *args, "--name", "two") as two:
        until(lambda: box.ok("list", "--count", "--state", "completed").out == "60\n")
        equal((one.stop(), two.stop()), (0, 0))
    jobs = box.ok("list", "--json", "--all").json
    equal({job["run"] for job in jobs}, {1})
    equal({job["worker"] for job in jobs}, {"one", "two"})
    box.ok("check")


@test
def closed_streams_do_not_matter(box):
    job_id = box.submit("t")
    subprocess.run(["sh", "-c", f"exec {PAWL} work --once --exec 't=cat' <&- >&- 2>&-"],
                   cwd=box.path, env=box.env, check=True, timeout=DEADLINE_S)
    equal(box.job(job_id)["result"]["id"], job_id)


@test
def kernels_without_pidfd_will_do(box):
    strace = shutil.which("strace")
    if not strace or "SAN_OPTIONS" in " ".join(box.env):
        raise Skip("no strace, or a sanitizer that does not like it")
    job_id = box.submit("t", "--timeout", "500ms", "--max-attempts", "1")
    quick = box.submit("u")
    done = subprocess.run([strace, "-f", "-qq", "-o", "/dev/null", "-e", "trace=pidfd_open", "-e",
                           "inject=pidfd_open:error=ENOSYS", PAWL, "work", "--once", "--exec",
                           "t=exec >&- 2>&-; sleep 100", "--exec", "u=echo quick"], cwd=box.path,
                          env=box.env, stderr=subprocess.PIPE, text=True, timeout=DEADLINE_S,
                          check=False)
    if done.returncode and "ptrace" in done.stderr.lower():
        raise Skip("strace may not trace")
    equal((done.returncode, "1 failed" in done.stderr), (1, True))
    equal((box.state(job_id), box.job(quick)["result"]), ("discarded", "quick"))


# ---- what it prints ----


@test
def each_run_is_a_line_of_json(box):
    good, bad = box.submit("good"), box.submit("bad", "--max-attempts", "1")
    dead = box.submit("dead", "--retry-initial", "1h")
    done = once(box, "good=echo 1", "bad=exit 4", "dead=kill -KILL $$", args=["--json"])
    lines = {line["id"]: line for line in done.lines}
    equal(set(lines), {good, bad, dead})
    duration = lines[bad].pop("duration_ms")
    assert 0 <= duration < SOON_S * 1000, duration
    equal(lines[bad], {"id": bad, "type": "bad", "queue": "default", "attempt": 1,
                       "max_attempts": 1, "run": 1, "outcome": "failed", "exit_status": 4,
                       "error": "the command exited with status 4"})
    equal((lines[good]["outcome"], lines[good]["exit_status"]), ("done", 0))
    equal((lines[dead]["outcome"], lines[dead]["signal"]), ("failed", 9))


@test
def a_reader_that_goes_away_ends_it(box):
    box.ok("submit", "-", stdin='{"type":"t"}\n' * 200)
    process = box.start("work", "--json", "--exec", "t=true", stdout=subprocess.PIPE,
                        stderr=subprocess.PIPE)
    process.stdout.readline()
    process.stdout.close()
    equal(process.wait(DEADLINE_S), 1)
    has(process.stderr.read(), "pawl: could not write the output")
    process.stderr.close()
    equal(box.ok("list", "--count", "--state", "active").out, "0\n")


@test
def the_log_is_json_unless_it_goes_to_a_terminal(box):
    def lines(*args, **options):
        job_id = box.submit("t", "--max-attempts", "1")
        done = box.run("work", "--once", "--name", "n", "--exec", "t=echo bad >&2; exit 3", *args,
                       **options)
        return job_id, done.err.splitlines()[:-1]  # without "pawl: 1 run failed"

    job_id, err = lines()
    up, run, down = map(json.loads, err)
    equal((up["level"], up["message"]), ("info", 'node "n" is up: queue default; runs t'))
    assert run.pop("duration_ms") >= 0 and run.pop("time") <= down["time"], run
    equal(run, {"level": "warning", "message": "run", "job_id": job_id, "type": "t",
                "queue": "default", "outcome": "failed", "attempt": 1, "max_attempts": 1,
                "error": "the command exited with status 3: bad"})
    box.file("text.conf", "log-format = text\n")
    for args, options in ((("--log-format", "text"), {}),
                          ((), {"env": {"PAWL_LOG_FORMAT": "text"}}),
                          (("--config", "text.conf"), {})):
        job_id, (up, run, _) = lines(*args, **options)
        assert re.fullmatch(r'[-\dT:.]+Z info node "n" is up: queue default; runs t', up), up
        assert re.fullmatch(r"[-\dT:.]+Z warning run job_id=" + job_id + " type=t queue=default "
                            r"outcome=failed attempt=1 max_attempts=1 duration_ms=[\d.]+ "
                            'error="the command exited with status 3: bad"', run), run
    equal([json.loads(line)["level"] for line in lines("--log-level", "warning")[1]], ["warning"])
    terminal = Terminal(box, "work", "--once", "--exec", "t=true", "--log-format", "json")
    equal(terminal.end(), 0)
    has(terminal.text, '"level":"info","message":"node ')
    has(box.fails(2, "work", "--exec", "t=true", "--log-format", "xml").err, "auto, text or json")


# ---- metrics ----


@test
def a_node_serves_its_own_metrics(box):
    node_args = ("--metrics", "127.0.0.1:0", "--exec", "good=true", "--exec", "bad=exit 1")
    if SERVED:
        has(box.fails(2, "work", *node_args).err, "the server's /metrics include this node")
        return
    ids = [box.submit("good"), box.submit("good"), box.submit("bad", "--max-attempts", "1")]
    with Node(box, *node_args) as node:
        for job_id in ids:
            until(in_state, box, job_id, "completed", "discarded")
        url = metrics_url(node)
        for line in ('ojs_job_completed_total{queue="default",type="good"} 2',
                     'ojs_job_discarded_total{queue="default",type="bad"} 1',
                     'ojs_job_duration_seconds_count{queue="default",type="good",'
                     'state="completed"} 2',
                     "pawl_claimed_total 3", "pawl_completed_total 2", "pawl_failed_total 1",
                     "pawl_discarded_total 1", "pawl_handlers_running 0",
                     "pawl_handler_duration_seconds_count 3", "pawl_handler_wait_seconds_count 3"):
            until(lambda line=line: line + "\n" in fetch(url + "/metrics")[1])
        assert "ojs_queue_depth" not in fetch(url + "/metrics")[1]  # that is the store's
        equal(fetch(url + "/healthz"), (200, '{"status":"ok"}'))
        for path in ("/", "/ready", "/ojs/v1/jobs", "/ojs/v1/jobs/" + ids[0], "/openapi.json"):
            status, text = fetch(url + path)
            equal((path, status), (path, 404))
            has(text, "this node serves /metrics and /healthz only")
        taken = box.fails(1, "work", "--metrics", url.removeprefix("http://"), "--exec", "t=true")
        has(taken.err, "could not listen on")
        equal(node.stop(), 0)
        equal([entry["level"] for entry in node.logged() if entry["message"] == "stopping"], [])


@test
def a_node_s_metrics_are_not_public(box):
    if SERVED:
        return
    public = ("--metrics", "0.0.0.0:0", "--exec", "t=true")
    has(box.fails(2, "work", *public).err, "can be reached from outside, and there is no token")
    token = box.ok("token", "add", "--scope", "read", "--json").json["token"]
    with Node(box, *public) as node:
        url = metrics_url(node).replace("0.0.0.0", "127.0.0.1")
        equal(fetch(url + "/healthz")[0], 200)
        equal(fetch(url + "/metrics")[0], 401)
        equal(fetch(url + "/metrics", token)[0], 200)
        equal(node.stop(), 0)


@test
def a_server_counts_what_nodes_did_to_its_store(box):
    if SERVED:
        return
    good, bad = box.submit("t"), box.submit("bad", "--max-attempts", "1")
    once(box, "t=true", "bad=exit 1")
    server = box.start("serve", "--listen", "127.0.0.1:0", stdout=subprocess.PIPE,
                       stderr=subprocess.DEVNULL)
    with server.stdout as out:
        text = fetch(out.readline().split()[1] + "/metrics")[1]
    has(text, 'ojs_queue_depth{queue="default",state="completed"} 1\n')
    has(text, 'ojs_queue_depth{queue="default",state="discarded"} 1\n')
    equal((box.state(good), box.state(bad)), ("completed", "discarded"))
    server.terminate()
    equal(server.wait(DEADLINE_S), 0)


@test
def a_terminal_shows_how_things_are(box):
    box.submit("t")
    terminal = Terminal(box, "work", "--exec", "t=sleep 1", "--name", "n")
    terminal.read(until="1 running, 0 done, 0 failed, ")
    terminal.read(until="0 running, 1 done, 0 failed, ")
    terminal.type("\003")
    equal(terminal.end(), 0)
    has(terminal.text, 'Z info node "n" is up: queue default; runs t')
    has(terminal.text, 'node "n" is down: 1 done, 0 failed, 0 given back')
    # Nothing of it without a terminal, or when asked to be quiet.
    box.submit("t")
    assert "running" not in once(box, "t=true").err
    equal(box.ok("work", "-q", "--once", "--exec", "t=true").err, "")


@test
def a_wrong_command_line_runs_nothing(box):
    for args, part in (
            ((), "at least one --exec is required"),
            (("--exec", "t"), "cannot be"), (("--exec", "=x"), "cannot be"),
            (("--exec", "t= "), "cannot be"),
            (("--exec", "t=a", "--exec", "t=b"), 'type "t" has two commands'),
            (("--exec", "t=a", "--queue", "q=0"), "cannot be"),
            (("--exec", "t=a", "--queue", "q=x"), "cannot be"),
            (("--exec", "t=a", "--queue", "q", "--queue", "q=2"), '"q" is named twice'),
            (("--exec", "t=a", "--workers", "0"), "cannot be"),
            (("--exec", "t=a", "--name", "n" * 256), "255 bytes"),
            (("--exec", "t=a", "--lease", "0s"), "cannot be")):
        has(box.fails(2, "work", "--once", *args).err, part)
    box.has_no_store()
    box.submit("t")
    for args, part in ((("--exec", "Bad Type=a"), 'type "Bad Type"'),
                       (("--exec", "t=a", "--queue", "No Good"), '"No Good"'),
                       (("--exec", "t=a", "--workers", "2000"), "workers"),
                       (("--exec", "t=a", "--lease", "10ms"), "100 ms")):
        has(box.fails(2, "work", "--once", *args).err, part)
    equal(box.ok("list", "--count", "--state", "available").out, "1\n")
