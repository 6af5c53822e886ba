"""pawl submit."""
import json
import os
import signal
import subprocess
import sys
import time
import uuid

from kit import ROOT, Skip, Terminal, equal, has, test

sys.path.append(os.path.join(ROOT, "mk"))
import embed_sql  # the lists of src/fields, as the build reads them

SOME_ID = "01890000-0000-7000-8000-000000000001"


@test
def submit_prints_the_id_alone_on_standard_output(box):
    done = box.ok("submit", "mail.send", '["ann@example.com"]')
    equal(str(uuid.UUID(done.out.strip())), done.out.strip())
    equal(done.err, 'mail.send is available in queue "default"\n')
    equal(box.ok("submit", "mail.send", "--quiet").err, "")


@test
def submit_answers_programs_with_one_object(box):
    answer = box.ok("submit", "a.b", "[1]", "--queue", "q", "--json").json
    uuid.UUID(answer.pop("id"))
    equal(answer, {"type": "a.b", "queue": "q", "state": "available", "attempt": 0,
                   "deduplicated": False, "replaced": False})


@test
def submit_keeps_arguments_byte_for_byte(box):
    text = '[1.0, "\\u00e9\u00e9", {"b":1,  "a":[]}, 12345678901234567890]'
    job_id = box.submit("t", text)
    has(box.ok("show", job_id).out, text)
    # For programs the white space between tokens goes, because a job must stay on its line.
    has(box.ok("show", job_id, "--json").out,
        '"args":[1.0,"\\u00e9\u00e9",{"b":1,"a":[]},12345678901234567890]')


@test
def submit_takes_every_option(box):
    job_id = box.submit(
        "t", '[{"x":1,"y":2}]', "--queue", "q.1", "--priority", "-7",
        "--at", "2031-01-02T03:04:05Z",
        "--expires", "2031-02-02T00:00:00+01:00", "--timeout", "90s", "--lease", "PT1M",
        "--max-attempts", "9", "--retry-initial", "250ms", "--retry-factor", "1.5",
        "--retry-max", "1h", "--retry-backoff", "linear", "--no-jitter",
        "--non-retryable", "auth.*", "--non-retryable", "bad", "--dead-letter",
        "--key", "k", "--key-ttl", "1d", "--business-key", "b",
        "--unique", "type,queue", "--unique-args", "x,y", "--unique-period", "2h",
        "--unique-states", "available,active", "--on-conflict", "ignore",
        "--meta", "n=5", "--meta", "s=a b", "--meta", '{"o": {"p": null}}',
        "--tag", "red", "-t", "blue", "--id", SOME_ID, "--keep", "3d",
        "--principal", "ann", "--trace", "tr-1",
        "--soft-sla", "2031-03-01T00:00:00Z", "--hard-sla", "2031-04-01T00:00:00Z")
    equal(job_id, SOME_ID)
    job = box.job(job_id)
    wanted = {
        "type": "t", "queue": "q.1", "priority": -7, "state": "scheduled", "max_attempts": 9,
        "due_at": "2031-01-02T03:04:05.000Z", "expires_at": "2031-02-01T23:00:00.000Z",
        "timeout_ms": 90000, "lease_ms": 60000, "keep_ms": 3 * 86400000,
        "idempotency_key": "k", "business_key": "b", "principal": "ann", "trace_id": "tr-1",
        "meta": {"n": 5, "s": "a b", "o": {"p": None}}, "tags": ["red", "blue"],
        "sla_soft_at": "2031-03-01T00:00:00.000Z", "sla_hard_at": "2031-04-01T00:00:00.000Z"}
    equal({name: job.get(name) for name in wanted}, wanted)
    retry = json.dumps(job["retry"])
    for part in ("auth.*", "linear", "dead_letter", "1.5"):
        has(retry, part)
    equal(job["unique"]["on_conflict"], "ignore")


@test
def submit_counts_durations_from_now(box):
    job = box.job(box.submit("t", "--delay", "2h", "--expires", "1h"))
    before = box.job(box.submit("t", "--at", "2001-01-01T00:00:00Z"))
    equal(job["state"], "scheduled")
    equal(before["state"], "available")
    assert job["due_at"][:10] >= job["created_at"][:10], job
    assert job["expires_at"] > job["due_at"], job


@test
def submit_holds_a_pending_job_until_it_is_activated(box):
    job_id = box.submit("t", "--pending")
    equal(box.state(job_id), "pending")
    has(box.ok("activate", job_id).out, f"{job_id} activated, now available")


@test
def submit_refuses_arguments_that_are_no_array(box):
    done = box.fails(2, "submit", "t", '{"a":1}')
    equal(done.err, "pawl: the arguments must be a JSON array\n"
                    "hint: put it in brackets: '[{\"a\":1}]'\n")
    has(box.fails(2, "submit", "t", "hello").err, "hint: a list of arguments is written '[")


@test
def a_refused_command_line_makes_no_store(box):
    box.fails(2, "submit", "t", "not json")
    box.fails(2, "submit", "t", "--delay", "soon")
    box.fails(2, "submit", "t", "--delay", "1s", "--at", "2031-01-01T00:00:00Z")
    box.fails(2, "submit", "t", "--on-conflict", "ignore")
    box.has_no_store()


@test
def submit_names_the_value_that_was_refused(box):
    has(box.fails(2, "submit", "Not A Type").err, "Not A Type")
    has(box.fails(2, "submit", "t", "--queue", "UPPER").err, "UPPER")
    has(box.fails(2, "submit", "t", "--tag", "x" * 100).err, "longer than 64 bytes")


@test
def a_repeated_idempotency_key_gets_the_first_job(box):
    first = box.ok("submit", "a", "--key", "k", "--json").json
    again = box.ok("submit", "b", "--key", "k", "--queue", "other", "--json").json
    equal(again, {**first, "deduplicated": True})
    has(box.ok("submit", "c", "--key", "k").err, "already exists")
    equal(box.ok("list", "--count").out, "1\n")


@test
def a_unique_job_is_refused_ignored_or_replaces(box):
    first = box.submit("u", "[1]", "--unique", "type,args")
    has(box.fails(1, "submit", "u", "[1]", "--unique", "type,args").err, first)
    box.submit("u", "[2]", "--unique", "type,args")
    ignored = box.ok("submit", "u", "[1]", "-u", "type,args", "--on-conflict", "ignore", "--json")
    equal((ignored.json["id"], ignored.json["deduplicated"]), (first, True))
    other = box.ok("submit", "u", "[1]", "-u", "args,type", "--on-conflict", "replace", "--json")
    equal((other.json["replaced"], other.json["deduplicated"]), (True, False))
    equal(box.state(first), "cancelled")


@test
def a_business_key_is_refused_while_it_lives(box):
    first = box.submit("t", "--business-key", "b")
    has(box.fails(1, "submit", "t", "--business-key", "b").err, first)
    box.ok("cancel", first)
    box.submit("t", "--business-key", "b")


@test
def an_id_can_be_taken_only_once(box):
    equal(box.submit("t", "--id", SOME_ID.upper()), SOME_ID)
    has(box.fails(1, "submit", "t", "--id", SOME_ID).err, SOME_ID)


# ---- JSON Lines ----


def lines(count, **more):
    return "".join(json.dumps({"type": "t", "args": [n], **more}) + "\n" for n in range(count))


@test
def lines_take_every_member(box):
    line = {
        "type": "t", "args": [1], "queue": "q", "priority": 3, "delay_ms": 3600000,
        "expires_at": "2031-02-01T23:00:00Z", "timeout": 5, "lease": "10s", "keep": "PT1H",
        "meta": {"a": 1}, "tags": ["x"], "id": SOME_ID, "idempotency_key": "k",
        "idempotency_ttl": "1h", "business_key": "b", "principal": "p", "trace_id": "tr",
        "retry": {"max_attempts": 7, "initial_interval": "PT2S", "backoff_coefficient": 3,
                  "max_interval": "10m", "jitter": False, "backoff_strategy": "polynomial",
                  "non_retryable_errors": ["e.*"], "on_exhaustion": "dead_letter"},
        "unique": {"keys": ["type", "meta"], "meta_keys": ["a"], "period": "PT1H",
                   "states": ["available"], "on_conflict": "replace"},
        "x_more": {"kept": [1, 2]}, "state": "completed", "attempt": 9, "error": {"no": 1}}
    box.ok("submit", "-", stdin=json.dumps(line) + "\n")
    job = box.job(SOME_ID)
    wanted = {"type": "t", "args": [1], "queue": "q", "priority": 3, "state": "scheduled",
              "attempt": 0, "max_attempts": 7, "expires_at": "2031-02-01T23:00:00.000Z",
              "timeout_ms": 5000, "lease_ms": 10000, "keep_ms": 3600000, "meta": {"a": 1},
              "tags": ["x"], "idempotency_key": "k", "business_key": "b", "principal": "p",
              "trace_id": "tr", "extra": {"x_more": {"kept": [1, 2]}}}
    equal({name: job.get(name) for name in wanted}, wanted)
    for part in ("e.*", "polynomial", "dead_letter"):
        has(json.dumps(job["retry"]), part)
    equal(job["unique"]["on_conflict"], "replace")


def every_field():
    """{name: (value in JSON, as people see it)} of all fields that need no code of their own."""
    fields = embed_sql.read_lists(os.path.join(ROOT, "src/fields/fields.h"))
    kept = {name for _, _, _, _, name, _ in fields["JOB_EXTRAS"]}
    made = {}
    for day, (_, kind, name, _) in enumerate(fields["SPEC_FIELDS"], 1):
        if name in kept and kind in ("KEY", "NOTE"):
            made[name] = (f"some {name}", f"some {name}")
        elif name in kept and kind in ("MS", "LEASE"):
            made[name] = (day * 86400000, f"{day}d")
        elif name in kept and kind == "AT":
            instant = f"2031-01-{day:02}T00:00:00.000Z"
            made[name] = (instant, instant)
    return made


@test
def lines_take_and_show_prints_every_field_of_the_list(box):
    fields = every_field()
    line = {name: value for name, (value, _) in fields.items()}
    job_id = box.ok("submit", "-", "--json", stdin=json.dumps({"type": "t", **line})).json["id"]
    job = box.job(job_id)
    equal({name: job.get(name) for name in line}, line)
    shown = box.ok("show", job_id).out
    for _, text in fields.values():
        has(shown, text)


@test
def lines_may_use_the_form_of_ojs(box):
    job = {"type": "t", "args": [], "options": {"queue": "o", "scheduled_at": "+PT1H",
                                                "visibility_timeout_ms": 5000, "tags": None}}
    answer = box.ok("submit", "-", "--json", stdin=json.dumps(job)).lines
    equal((answer[0]["queue"], answer[0]["state"]), ("o", "scheduled"))
    equal(box.job(answer[0]["id"])["lease_ms"], 5000)


@test
def a_listing_can_be_submitted_elsewhere(box):
    box.submit("t", '[1,  {"a":"b"}]', "--meta", "k=v", "--tag", "x", "--max-attempts", "5",
               "--delay", "1d")
    box.ok("submit", "-", stdin='{"type":"t2","x_extra":[1]}')
    there = "sqlite:" + box.file("there.db")
    listed = box.ok("list", "--jsonl", "--oldest-first").out
    box.ok("submit", "-", "--store", there, stdin=listed)
    again = box.ok("list", "--jsonl", "--oldest-first", "--store", there).lines

    def lasting(jobs):
        return [{k: v for k, v in job.items() if k not in ("created_at", "due_at")}
                for job in jobs]

    first = [json.loads(line) for line in listed.splitlines()]
    equal(lasting(again), lasting(first))
    equal(again[0]["due_at"], first[0]["due_at"])  # tomorrow there, too


@test
def an_unknown_member_is_reported_once(box):
    text = '{"type":"a"}\n' + 2 * '{"type":"a","dealy":"1h","x_own":1,"extra":{"kept":1}}\n'
    done = box.ok("submit", "-", stdin=text)
    equal(done.err,
          'pawl: line 2: unknown member "dealy" has no effect; did you mean "delay"?\n')
    job = box.ok("list", "--json").json[0]
    equal((job["state"], job["extra"]), ("available", {"dealy": "1h", "x_own": 1, "kept": 1}))
    equal(box.ok("submit", "-", "--quiet", stdin=text).err, "")


@test
def strict_lines_have_no_unknown_member(box):
    done = box.fails(1, "submit", "-", "--strict", stdin='{"type":"a"}\n{"type":"a","dealy":1}\n')
    has(done.err, 'line 2: "dealy" is not a known member; did you mean "delay"?')
    box.ok("submit", "-", "--strict", stdin='{"type":"a","delay":"1h","x_own":1}\n')


@test
def an_instant_may_be_local(box):
    def due(at, zone):
        job = box.ok("submit", "t", "--at", at, "--quiet", env={"TZ": zone}).out.strip()
        return box.job(job)["due_at"]

    equal(due("2031-01-02 09:30", "UTC-1"), "2031-01-02T08:30:00.000Z")
    equal(due("2031-01-02T09:30:15", "UTC+2"), "2031-01-02T11:30:15.000Z")
    equal(due("2031-01-02", "UTC0"), "2031-01-02T00:00:00.000Z")
    # Summer time begins at 2:00 in this zone, so that there is no 2:30.
    done = box.fails(2, "submit", "t", "--at", "2031-03-30 02:30",
                     env={"TZ": "CET-1CEST,M3.5.0,M10.5.0/3"})
    has(done.err, 'cannot be "2031-03-30 02:30"')


@test
def options_are_defaults_for_lines(box):
    text = '{"type":"a"}\n{"type":"b","queue":"own","at":"2031-01-01T00:00:00Z"}\n'
    box.ok("submit", "-", "--queue", "given", "--delay", "1h", "--tag", "x", stdin=text)
    jobs = {job["type"]: job for job in box.ok("list", "--json").json}
    equal((jobs["a"]["queue"], jobs["a"]["state"], jobs["a"]["tags"]),
          ("given", "scheduled", ["x"]))
    equal((jobs["b"]["queue"], jobs["b"]["due_at"]), ("own", "2031-01-01T00:00:00.000Z"))


@test
def what_must_differ_cannot_be_a_default(box):
    for option in ("--id=" + SOME_ID, "--key=k", "--business-key=b"):
        has(box.fails(2, "submit", "-", option, stdin='{"type":"a"}').err, "cannot be the same")
    has(box.fails(2, "submit", "-", "[1]", stdin="").err, "cannot be given when jobs are read")


@test
def without_a_type_lines_are_read_from_a_pipe(box):
    equal(box.ok("submit", stdin='\n  \n{"type":"a"}\r\n').out, "added 1 job\n")
    box.fails(2, "submit", stdin="")


@test
def ten_thousand_lines_arrive(box):
    done = box.ok("submit", "-", stdin=lines(10000))
    equal((done.out, done.err), ("added 10000 jobs\n", ""))
    equal(box.ok("list", "--count").out, "10000\n")
    seen = [job["args"][0] for job in
            box.ok("list", "--all", "--jsonl", "--oldest-first").lines]
    equal(seen, list(range(10000)))


@test
def each_line_is_answered_in_order(box):
    text = '{"type":"a","idempotency_key":"k"}\n{"type":"b"}\n{"type":"c","idempotency_key":"k"}\n'
    answers = box.ok("submit", "-", "--json", stdin=text).lines
    equal([a["type"] for a in answers], ["a", "b", "a"])
    equal([a["deduplicated"] for a in answers], [False, False, True])
    equal(answers[0]["id"], answers[2]["id"])
    equal(box.ok("submit", "-", stdin=text).out, "added 1 job; 2 more already existed\n")


@test
def a_bad_line_is_reported_with_the_lines_that_were_added(box):
    text = lines(1500) + '{"type":"t","queue":7}\n' + lines(1000)
    done = box.fails(1, "submit", "-", stdin=text)
    equal(done.err, 'pawl: line 1501: "queue" must be a string\n'
                    'hint: only lines 1 to 1000 were added; continue with "tail -n +1001"\n')
    equal(done.out, "added 1000 jobs\n")
    equal(box.ok("list", "--count").out, "1000\n")
    rest = "".join(line + "\n" for line in text.splitlines()[1000:] if '"queue"' not in line)
    box.ok("submit", "-", stdin=rest)
    equal(box.ok("list", "--count").out, "2500\n")


@test
def a_line_that_the_store_refuses_has_its_number(box):
    text = lines(3) + '\n{"type":"u","unique":{"keys":["type"]}}\n' * 2 + lines(2)
    done = box.fails(1, "submit", "-", stdin=text)
    has(done.err, "pawl: line 7: ")
    has(done.err, "hint: nothing was added\n")
    equal(box.ok("list", "--count").out, "0\n")
    has(box.fails(1, "submit", "-", stdin=lines(2) + '{"type":"NO"}').err, "pawl: line 3: ")


@test
def a_forgotten_type_is_no_success(box):
    has(box.fails(2, "submit", "--queue", "mail").err, "hint: give a type")
    equal(box.ok("submit", "-").out, "added 0 jobs\n")
    equal(box.ok("submit", stdin='{"type":"t"}\n').out, "added 1 job\n")


@test
def a_line_that_repeats_another_names_it(box):
    for member in ("id", "business_key"):
        value = SOME_ID if member == "id" else "b"
        text = f'{{"type":"t"}}\n\n{{"type":"a","{member}":"{value}"}}\n' + 2 * (
            f'{{"type":"b","{member}":"{value}"}}\n')
        done = box.fails(1, "submit", "-", stdin=text)
        has(done.err, f"pawl: line 4: line 3 has the same {member}\n")


@test
def errors_name_the_option_and_the_line(box):
    has(box.fails(2, "submit", "x", "--key-ttl", "5m").err, 'pawl: "--key-ttl" needs "--key"\n')
    has(box.fails(2, "submit", "x", "--unique-args", "a").err, 'pawl: "--unique-args" names "a"')
    done = box.fails(1, "submit", "-", stdin='{"type":"a","priority":1000}\n')
    has(done.err, "pawl: line 1: priority 1000 must lie")


@test
def a_repeat_with_other_arguments_is_remarked_on(box):
    box.submit("pay", "[1]", "--key", "k")
    has(box.ok("submit", "pay", "[1]", "--key", "k").err, "already exists (available)\n")
    has(box.ok("submit", "pay", "[2]", "--key", "k").err,
        "already exists with other arguments (available)\n")
    has(box.ok("submit", "buy", "[1]", "--key", "k").err, "already exists with another type")


@test
def lines_that_are_no_jobs_are_named(box):
    cases = {
        '{"type":"t"': "line 1: not valid JSON",
        "[1]": "line 1: a job must be an object",
        "{}": 'line 1: the job has no "type"',
        '{"type":"t","max_attempts":-2}': 'line 1: "max_attempts" must be at least 1',
        '{"type":"t","sla_soft_at":"2031-01-01T00:00:00Z","sla_hard_at":"2030-01-01T00:00:00Z"}':
            "line 1: sla_soft_at must not be after sla_hard_at\n",
        '{"type":5}': '"type" must be a string',
        '{"type":"t","args":{}}': '"args" must be an array',
        '{"type":"t","priority":"high"}': '"priority" must be a whole number',
        '{"type":"t","delay":5}': '"delay" must be a string',
        '{"type":"t","delay":"soon"}': '"delay" must be a duration',
        '{"type":"t","at":"tomorrow"}': '"at" must be an instant',
        '{"type":"t","tags":["a",1]}': '"tags" must be a string',
        '{"type":"t","pending":1}': '"pending" must be true or false',
        '{"type":"t","retry":{"max_atempts":1}}': 'did you mean "max_attempts"?',
        '{"type":"t","retry":{"max_interval":"0s"}}': '"max_interval" must be above zero',
        '{"type":"t","unique":{"keys":["size"]}}': '"keys" must be some of',
        '{"type":"t","id":"7"}': '"id" must be a UUID',
        '{"type":"t","type":"t"}': "line 1: ",
        '{"type":"t\\u0000"}': "without NUL",
    }
    for line, part in cases.items():
        has(box.fails(1, "submit", "-", stdin=line + "\n").err, part)
    equal(box.ok("list", "--count").out, "0\n")


@test
def a_line_without_end_is_refused_in_bounded_memory(box):
    done = box.fails(1, "submit", "-", stdin='{"type":"t","args":["' + "x" * (12 << 20))
    has(done.err, "line 1: longer than a job can be")


@test
def a_slow_writer_s_jobs_do_not_wait_for_company(box):
    box.ok("migrate")
    child = box.start("submit", "-", "--json", stdin=subprocess.PIPE, stdout=subprocess.PIPE)
    child.stdin.write('{"type":"first"}\n')
    child.stdin.flush()
    equal(json.loads(child.stdout.readline())["type"], "first")  # while the writer still thinks
    child.stdin.close()
    equal(child.wait(60), 0)
    child.stdout.close()


@test
def an_interrupted_submit_reports_the_lines_that_were_added(box):
    box.ok("migrate")
    child = box.start("submit", "-", stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                      stderr=subprocess.PIPE)
    child.stdin.write(lines(1000))
    child.stdin.flush()
    end = time.monotonic() + 60
    while box.ok("list", "--count").out != "1000\n":
        assert time.monotonic() < end, "the first batch never came"
    child.send_signal(signal.SIGINT)
    code = child.wait(60)
    out, err = child.stdout.read(), child.stderr.read()
    for stream in (child.stdin, child.stdout, child.stderr):
        stream.close()
    equal((code, out), (130, "added 1000 jobs\n"))
    equal(err, "pawl: interrupted\n"
               'hint: only lines 1 to 1000 were added; continue with "tail -n +1001"\n')


@test
def progress_is_drawn_on_a_terminal_and_wiped_away(box):
    with open(box.file("jobs", lines(3000)), encoding="utf-8") as stdin:
        terminal = Terminal(box, "submit", "-", stdin=stdin)
        equal(terminal.end(), 0)
    has(terminal.text, "%")
    last = terminal.text.split("\r\033[K")[-1]
    equal(last, "added 3000 jobs\n")


@test
def on_a_terminal_a_missing_type_is_not_waited_for(box):
    terminal = Terminal(box, "submit")
    equal(terminal.end(), 2)
    has(terminal.text, 'pawl: "pawl submit" needs TYPE')


@test
def two_processes_submit_at_once(box):
    box.ok("migrate")
    count = 2000
    children = []
    for name in ("one", "two", "three"):
        path = box.file(name, lines(count, queue=name))
        with open(path, encoding="utf-8") as stdin:
            children.append(box.start("submit", "-", stdin=stdin, stdout=subprocess.DEVNULL,
                                      stderr=subprocess.PIPE))
    for child in children:
        _, err = child.communicate(timeout=120)
        equal((child.returncode, err), (0, ""))
    stats = box.ok("stats", "--json").json
    equal({q["queue"]: q["total"] for q in stats["queues"]},
          {"one": count, "two": count, "three": count})
    box.ok("check")


@test
def output_that_cannot_be_written_is_an_error(box):
    if not os.path.exists("/dev/full"):
        raise Skip("no /dev/full")
    with open("/dev/full", "w", encoding="utf-8") as full:
        has(box.fails(1, "submit", "t", "--json", stdout=full).err, "could not write the output")


# ---- follow-ups ----


@test
def options_describe_what_follows(box):
    alarm = ('{"type": "alarm", "queue": "ops", "args": [1], "delay": "1s", "retry": '
             '{"max_attempts": 9}, "unique": {"keys": ["type"]}, "on_success": "cheer"}')
    job_id = box.submit("backup.run", "--on-success", "verify", "--on-failure", alarm)
    job = box.job(job_id)
    equal(job["on_success"], {"type": "verify", "queue": "default", "args": []})
    equal({**job["on_failure"], "unique": None},
          {"type": "alarm", "queue": "ops", "args": [1], "delay_ms": 1000,
           "retry": {"attempts_max": 9}, "unique": None,
           "on_success": {"type": "cheer", "queue": "default", "args": []}})
    shown = box.ok("show", job_id).out
    has(shown, '  on success    {"type":"verify"')
    has(shown, '  on failure    {"type":"alarm"')
    box.work("claim:default", "end:e:boom")
    made = box.ok("list", "--queue", "ops", "--json").json
    equal([(one["type"], one["state"], one["args"], one["max_attempts"], one["meta"])
           for one in made],
          [("alarm", "scheduled", [1], 9, {"parent_id": job_id, "parent_state": "discarded"})])
    equal(box.ok("list", "--meta", f"parent_id={job_id}", "--json").json, made)


@test
def what_is_listed_can_be_submitted_again(box):
    """Follow-ups too, in the form in which they are stored."""
    line = {"type": "t", "on_success": "a", "on_failure": {
        "type": "b", "scheduled_at": "2099-01-01T00:00:00Z", "expires_at": "2099-01-02T00:00:00Z",
        "timeout": 5, "tags": ["x"], "on_failure": {"type": "c", "meta": {"k": 1}}}}
    first = box.ok("submit", "-", "--json", stdin=json.dumps(line)).json["id"]
    job = box.ok("list", "--json").json[0]
    equal(job["on_failure"], {
        "type": "b", "queue": "default", "args": [], "tags": ["x"], "due_at_ms": 4070908800000,
        "expires_at_ms": 4070995200000, "timeout_ms": 5000,
        "on_failure": {"type": "c", "queue": "default", "args": [], "meta": {"k": 1}}})
    del job["id"]
    second = box.ok("submit", "-", "--json", stdin=json.dumps(job)).json["id"]
    again, before = box.job(second), box.job(first)
    equal([again[name] for name in ("on_success", "on_failure")],
          [before[name] for name in ("on_success", "on_failure")])


@test
def commands_of_follow_ups_get_the_result_before(box):
    job_id = box.submit("count", "--on-success", "report")
    box.ok("work", "--once", "--exec", "count=echo 42", "--exec", 'report=echo "$PAWL_INPUTS"')
    done = box.ok("list", "--type", "report", "--json").json[0]
    equal(done["result"],
          [{"name": "parent", "id": job_id, "state": "completed", "result": 42}])


@test
def bad_follow_ups_are_refused_with_the_member(box):
    for args, text in (
            (("--on-failure", '{"args": [1]}'), '"--on-failure": the job has no "type"'),
            (("--on-failure", '{"type": "b", "quue": 1}'),
             '"--on-failure": "quue" is not a known member; did you mean "queue"?'),
            (("--on-success", "Bad"), '"--on-success": type "Bad" must be lower-case words'),
            (("--on-success", '{"type": "b", "id": "' + SOME_ID + '"}'),
             '"--on-success": id cannot be given'),
    ):
        has(box.fails(2, "submit", "t", *args).err, text)
    done = box.fails(1, "submit", "-", stdin='{"type": "t", "on_failure": {"typ": "a"}}')
    has(done.err, "line 1: ")
    has(done.err, "on_failure")
    equal(box.ok("list", "--json").json, [])
