"""pawl list, show, stats, queue list."""
import json
import urllib.request

from kit import Terminal, equal, has, test


def fill(box):
    """A job for each filter."""
    ids = {}
    ids["mail"] = box.submit("mail.send", '["ann"]', "--queue", "mail", "-p", "5", "--tag", "red")
    ids["late"] = box.submit("report", "--delay", "1h", "-p", "-5", "--tag", "blue")
    ids["keyed"] = box.submit("report", "--key", "k1", "--business-key", "b1", "--principal", "ann",
                              "--trace", "tr", "--meta", "size=7", "--meta", "name=x")
    ids["held"] = box.submit("sync", "--pending")
    ids["gone"] = box.submit("sync", "--queue", "mail")
    box.ok("cancel", ids["gone"])
    return ids


def listed(box, *args):
    return [job["id"] for job in box.ok("list", "--json", *args).json]


@test
def list_is_newest_first_by_default(box):
    ids = list(fill(box).values())
    equal(listed(box), ids[::-1])
    equal(listed(box, "--oldest-first"), ids)


@test
def each_filter_restricts(box):
    ids = fill(box)
    cases = {
        ("--state", "scheduled"): ["late"],
        ("--state", "pending,cancelled"): ["held", "gone"],
        ("--state", "pending", "--state", "scheduled"): ["late", "held"],
        ("--queue", "mail"): ["mail", "gone"],
        ("--queue", "mail", "--queue", "default"): ["mail", "late", "keyed", "held", "gone"],
        ("--type", "report"): ["late", "keyed"],
        ("--type", "report", "--type", "sync", "--queue", "mail"): ["gone"],
        ("--tag", "red", "-t", "blue"): ["mail", "late"],
        ("--business-key", "b1"): ["keyed"],
        ("--key", "k1"): ["keyed"],
        ("--principal", "ann"): ["keyed"],
        ("--trace", "tr"): ["keyed"],
        ("--meta", "size=7"): ["keyed"],
        ("--meta", "name=x"): ["keyed"],
        ("--meta", "name=y"): [],
        ("--priority", "5"): ["mail"],
        ("--priority", "-5..0", "--state", "scheduled,pending"): ["late", "held"],
        ("--priority", "1.."): ["mail"],
        ("--priority", "..-1"): ["late"],
        ("--created-after", "1h"): ["mail", "late", "keyed", "held", "gone"],
        ("--created-before", "1h"): [],
        ("--created-after", "2031-01-01T00:00:00Z"): [],
        ("--due-after", "2001-01-01T00:00:00Z", "--due-before", "0s", "--type", "report"):
            ["keyed"],
        ("--finished-after", "1h"): ["gone"],
        ("--finished-before", "1h"): [],
        ("--dead",): [],
        ("--worker", "nobody"): [],
    }
    for args, names in cases.items():
        equal((args, listed(box, "--oldest-first", *args)), (args, [ids[n] for n in names]))
        equal((args, box.ok("list", "--count", *args).out), (args, f"{len(names)}\n"))


@test
def states_may_be_said_in_another_vocabulary(box):
    ids = fill(box)
    equal(listed(box, "--vocabulary", "ratchet", "--state", "canceled"), [ids["gone"]])
    equal(len(listed(box, "--vocabulary", "marie", "--state", "CREATED")), 4)
    job = box.ok("list", "--json", "--vocabulary", "ratchet", "--queue", "mail", "--limit",
                 "1").json[0]
    equal(job["state"], "CANCELED")
    has(box.fails(2, "list", "--vocabulary", "ratchet", "--state", "available").err,
        'there is no state "available"')


@test
def a_worker_s_jobs_are_found(box):
    job_id = box.submit("t")
    box.work("claim:default")
    equal(listed(box, "--worker", "worker-1"), [job_id])
    equal(listed(box, "--state", "active"), [job_id])


@test
def a_page_has_the_cursor_of_the_next(box):
    ids = [box.submit("t") for _ in range(5)][::-1]
    done = box.ok("list", "--limit", "2", "--json")
    has(done.err, "there are more: continue with --cursor ")
    seen = [job["id"] for job in done.json]
    while "--cursor" in done.err:
        done = box.ok("list", "--limit", "2", "--json", "--cursor", done.err.split()[6][:-1])
        seen += [job["id"] for job in done.json]
    equal(seen, ids)
    equal(listed(box, "--all"), ids)
    equal(box.ok("list", "--limit", "2", "-q").err, "")
    box.fails(2, "list", "--cursor", "nonsense")


@test
def programs_turn_pages(box):
    ids = [box.submit("t") for _ in range(5)][::-1]
    seen, next_page = [], []
    while True:
        done = box.ok("list", "--limit", "2", "--paged", *next_page)
        equal(done.err, "")
        seen += [job["id"] for job in done.json["jobs"]]
        if "next" not in done.json:
            break
        next_page = ["--cursor", done.json["next"]]
    equal(seen, ids)
    equal(box.ok("list", "--paged", "--json", "--type", "other").json, {"jobs": []})
    has(box.fails(2, "list", "--paged", "--jsonl").err, "cannot both be given")


@test
def list_all_takes_more_than_one_page(box):
    box.ok("submit", "-", stdin='{"type":"t"}\n' * 2100)
    equal(len(box.ok("list").out.splitlines()), 51)
    equal(len(box.ok("list", "--all").out.splitlines()), 2101)
    equal(len(listed(box, "--limit", "1500")), 1500)
    equal(len(box.ok("list", "--all", "--jsonl").lines), 2100)


@test
def json_is_an_array_or_lines(box):
    box.submit("t", '["a",\n "b"]', "--meta", '{"x":\n1}')
    equal(box.ok("list", "--json", "--queue", "none").json, [])
    equal(box.ok("list", "--jsonl", "--queue", "none").out, "")
    equal(box.ok("list", "--jsonl").lines[0]["args"], ["a", "b"])
    equal(box.ok("list", "--json", "--count").json, {"count": 1})


@test
def an_empty_listing_is_reported_on_standard_error(box):
    box.ok("migrate")
    done = box.ok("list")
    equal((done.out, done.err), ("", "no jobs\n"))


@test
def a_table_fits_the_terminal(box):
    box.submit("a.type.with.quite.a.long.name", '["' + "words " * 50 + '"]', "--queue",
               "a-queue-with-quite-a-long-name", "--delay", "1h")
    for columns in (64, 80, 100, 200):
        terminal = Terminal(box, "list", columns=columns, env={"NO_COLOR": "1"})
        equal(terminal.end(), 0)
        rows = terminal.text.splitlines()
        equal(len(rows), 2)
        for row in rows:
            assert len(row) <= columns, (columns, row)
        has(rows[1], "scheduled")
    assert "ARGS" in rows[0], rows  # at 200 there is room for all


@test
def wide_characters_are_counted_as_wide(box):
    box.submit("t", '["\u65e5\u672c\u8a9e\u65e5\u672c\u8a9e\u65e5\u672c\u8a9e\u65e5\u672c"]')
    terminal = Terminal(box, "list", columns=110, env={"NO_COLOR": "1"})
    equal(terminal.end(), 0)
    row = terminal.text.splitlines()[1]
    width = sum(2 if ord(c) > 0x2e80 else 1 for c in row)
    assert width <= 110, (width, row)


@test
def colours_are_for_terminals_that_want_them(box):
    box.submit("t", "--delay", "1h")

    def coloured(*args, **env):
        terminal = Terminal(box, "list", *args, env=env)
        equal(terminal.end(), 0)
        return "\033[" in terminal.text

    equal(coloured(), True)
    equal(coloured("--no-color"), False)
    equal(coloured(NO_COLOR="1"), False)
    equal(coloured(PAWL_NO_COLOR="yes"), False)
    equal(coloured(TERM="dumb"), False)
    equal(coloured("--json"), False)
    assert "\033" not in box.ok("list").out


@test
def what_others_wrote_cannot_command_the_terminal(box):
    line = '{"type":"t","args":["\\u001b]0;owned\\u0007", "\u202egpj.exe", "\u009b31m"]}'
    box.ok("submit", "-", stdin=line)
    job_id = listed(box)[0]
    box.work("claim:default", "log:\033[2Jgone", "fail:err\033[31m:\033c\r\nmessage")
    for args in (("list",), ("show", job_id)):
        done = box.ok(*args)
        for c in "\033\u009b\u202e\r\x07":
            assert c not in done.out + done.err, (args, c)
    has(box.ok("show", job_id).out, "\\x1b[2Jgone")


@test
def show_prints_the_full_history(box):
    job_id = box.submit("report", '[{"n": 1}]', "--retry-initial", "1ms", "--retry-backoff",
                        "constant", "--no-jitter", "--max-attempts", "4", "--queue", "q")
    box.work("claim:q", "log:reading", "progress:40:almost", 'checkpoint:{"row":7}',
             "fail:net.timeout:no answer")
    box.ok("upkeep")
    box.ok("pause", job_id, "--reason", "look first")
    box.ok("resume", job_id, "--actor", "bob")
    box.work("claim:q", 'complete:{"rows":9}')
    text = box.ok("show", job_id).out
    order = ["Job " + job_id, "state         completed", "attempt       2 of 4", "Timeline",
             "created", "attempt 1 started by worker-1",
             "attempt 1 failed: net.timeout: no answer; next try after 1ms",
             "pause by tester: available to paused, because: look first",
             "resume by bob: paused to available", "attempt 2 started by worker-1",
             "completed", "Arguments", '[{"n": 1}]', "Result", '{"rows":9}', "Log", "reading"]
    at = 0
    for part in order:
        has(text[at:], part)
        at = text.index(part, at) + len(part)
    story = box.job(job_id)
    equal((story["state"], story["attempt"], story["result"]), ("completed", 2, {"rows": 9}))
    equal([(f["attempt"], f["type"], f["message"], f["worker"], f["lapsed"])
           for f in story["failures"]], [(1, "net.timeout", "no answer", "worker-1", False)])
    equal([(d["action"], d["actor"], d.get("reason"), d["to"]) for d in story["deeds"]],
          [("pause", "tester", "look first", "paused"), ("resume", "bob", None, "available")])
    equal([line["text"] for line in story["log"]], ["reading"])


@test
def runs_given_back_are_not_counted_as_attempts(box):
    job_id = box.submit("t", "--max-attempts", "2")
    box.work("claim:default", "return:")
    has(box.ok("list").out, " 0/2 ")
    box.work("claim:default", "return:", "claim:default", "fail:net.down:no answer")
    has(box.ok("list").out, " 1/2 ")
    text = box.ok("show", job_id).out
    has(text, "  attempt       1 of 2\n  run           3; 2 of them cost no attempt\n")
    has(text, "run 3 failed: net.down")
    job = box.job(job_id)
    equal((job["attempt"], job["run"], job["free_runs"]), (3, 3, 2))


@test
def show_prints_progress_and_checkpoint(box):
    job_id = box.submit("t")
    box.work("claim:default", "progress:40:almost", 'checkpoint:{"row":7}')
    text = box.ok("show", job_id).out
    has(text, "  40%: almost")
    has(text, "Checkpoint\n  number 1, ")
    has(text, '{"row":7}')
    story = box.job(job_id)
    equal((story["progress"]["value"], story["progress"]["message"]), (0.4, "almost"))
    equal((story["checkpoint"]["sequence"], story["checkpoint"]["state"]), (1, {"row": 7}))


@test
def a_terminal_is_not_flooded(box):
    long = "\u00e4" * 50000  # two bytes each
    job_id = box.submit("t", json.dumps([1]))
    box.work("claim:default", "complete:" + json.dumps(long, ensure_ascii=False))
    for command in ("show", "wait"):
        has(box.ok(command, job_id).out, long)
        equal(box.ok(command, job_id, "--json").json["result"], long)
        terminal = Terminal(box, command, job_id, env={"NO_COLOR": "1"})
        equal(terminal.end(), 0)
        assert 2000 < terminal.text.count("\u00e4") < 2100, terminal.text
        has(terminal.text, "\u00e4... (97.7 KiB in all; --json or a pipe shows the rest)\n")
        assert "\\x" not in terminal.text, terminal.text  # no half of a character
        equal(box.run(command, job_id, "--json").json["state"], "completed")


@test
def show_prints_policies_from_http_once(box):
    def submit(**more):
        body = json.dumps({"type": "t", "args": [], **more}).encode()
        request = urllib.request.Request(f"{url}/ojs/v1/jobs", body,
                                         {"Content-Type": "application/json"})
        with urllib.request.urlopen(request) as reply:
            return json.load(reply)["job"]["id"]

    url = box.serve()
    policies = {"retry": {"max_attempts": 5, "initial_interval": "PT2S"},
                "unique": {"keys": ["type"]}}
    job_id = submit(options=policies)
    text = box.ok("show", job_id).out
    equal((text.count("retry "), text.count("unique "), text.count("extra ")), (1, 1, 0))
    assert "initial_interval" not in text, text
    equal(box.ok("show", job_id, "--json").json["extra"]["retry"], policies["retry"])
    other = submit(options={"retry": {"max_attempts": 5}}, x_own={"a": [1]})
    has(box.ok("show", other).out, '  extra         {"x_own":{"a": [1]}}\n')


@test
def show_takes_several_ids_and_misses_none(box):
    first, second = box.submit("a"), box.submit("b")
    missing = "01890000-0000-7000-8000-00000000dead"
    done = box.fails(1, "show", first, missing, second.upper(), "--json")
    equal([job["id"] for job in done.lines], [first, second])
    equal(done.err, f'pawl: there is no job "{missing}"\n')
    has(box.fails(2, "show", first[:7]).err, "is not a job's id")
    has(box.fails(2, "show").err, '"pawl show" needs ID...')


@test
def stats_count_each_queue_and_state(box):
    fill(box)
    stats = box.ok("stats", "--json").json
    queues = {q["queue"]: q for q in stats["queues"]}
    equal({k: v for k, v in queues["mail"]["states"].items() if v},
          {"available": 1, "cancelled": 1})
    equal((queues["default"]["total"], stats["total"], stats["states"]["scheduled"]), (3, 5, 1))
    assert stats["store_bytes"] > 0 and stats["schema_version"] >= 1, stats
    assert stats["next_due_at"], stats
    text = box.ok("stats").out
    equal(text.splitlines()[0].split(),
          ["QUEUE", "scheduled", "available", "pending", "cancelled", "total"])
    equal(text.splitlines()[3].split(), ["all", "1", "2", "1", "1", "5"])
    has(text, "next due: 20")
    ratchet = box.ok("stats", "--json", "--vocabulary", "ratchet").json
    equal({k: v for k, v in ratchet["states"].items() if v}, {"PENDING": 4, "CANCELED": 1})


@test
def stats_can_be_watched_until_interrupted(box):
    box.submit("t")
    terminal = Terminal(box, "stats", "--watch", "10ms")
    terminal.read(until="next due: none", times=3)
    terminal.type("\003")
    equal(terminal.end(), 130)


@test
def a_misspelt_queue_is_not_made(box):
    box.submit("t", "--queue", "mail")
    for command in ("pause", "resume"):
        done = box.fails(1, "queue", command, "mial")
        has(done.err, 'there is no queue "mial"\nhint: did you mean "mail"?')
    has(box.fails(1, "queue", "pause", "other").err, "hint: --create makes it")
    equal([queue["queue"] for queue in box.ok("queue", "list", "--json").json], ["mail"])
    box.ok("queue", "pause", "other", "--create")
    equal({queue["queue"]: queue["paused"] for queue in box.ok("queue", "list", "--json").json},
          {"mail": False, "other": True})


@test
def queues_are_paused_and_resumed(box):
    fill(box)
    equal(box.ok("queue", "pause", "mail", "default", "--reason", "x").out,
          'queue "mail" paused\nqueue "default" paused\n')
    equal([q["paused"] for q in box.ok("queue", "--json").json], [True, True])
    equal(box.ok("queue", "resume", "mail", "--json").json, {"queue": "mail", "paused": False})
    rows = [row.split() for row in box.ok("queue", "list").out.splitlines()]
    equal(rows, [["QUEUE", "PAUSED", "WAITING", "ACTIVE", "ENDED"],
                 ["default", "yes", "3", "0", "0"], ["mail", "1", "0", "1"]])
    has(box.ok("stats").out, "default (paused)")
