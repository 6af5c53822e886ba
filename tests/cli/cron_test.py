"""pawl cron: coming fires, clocks, words, refusals, without a store; schedules, files of them."""
from kit import SERVED, Terminal, equal, has, test

BERLIN = ("--zone", "Europe/Berlin")


def rows(done):
    """The lines of the table, without its titles, each as [local, UTC, note]."""
    lines = done.out.splitlines()
    start = next(i for i, line in enumerate(lines) if line.startswith("LOCAL"))
    note = lines[start].index("NOTE") if "NOTE" in lines[start] else 1000
    return [[*line.split()[:2], line[note:].strip()] for line in lines[start + 1:]]


@test
def coming_fires_are_listed_without_a_store(box):
    done = box.ok("cron", "next", "0 9 * * 1-5", *BERLIN, "--from", "2030-01-03T12:00:00Z",
                  "--count", "2")
    equal(done.out.splitlines()[0], "every weekday at 09:00 Europe/Berlin")
    equal([row[:2] for row in rows(done)],
          [["2030-01-04T09:00:00+01:00", "2030-01-04T08:00:00.000Z"],
           ["2030-01-07T09:00:00+01:00", "2030-01-07T08:00:00.000Z"]])
    if not SERVED:
        box.has_no_store()


@test
def five_fires_from_now_are_the_default(box):
    done = box.ok("cron", "next", "@hourly", "--json").json
    equal((len(done["next"]), done["zone"], done["words"]), (5, "UTC", "every hour"))
    assert all(fire["note"] == "plain" for fire in done["next"]), done


@test
def changes_of_the_clocks_are_shown(box):
    lost = box.ok("cron", "next", "30 2 * * *", *BERLIN, "--from", "2026-03-28T12:00:00Z", "-n1")
    equal(lost.out.splitlines()[1], "  2026-03-29: 02:30 does not exist, skipped")
    equal(rows(lost), [["2026-03-29T03:00:00+02:00", "2026-03-29T01:00:00.000Z",
                        "no fire: clocks jump 1h, over 1 time"],
                       ["2026-03-30T02:30:00+02:00", "2026-03-30T00:30:00.000Z", ""]])
    shifted = box.ok("cron", "next", "30 2 * * *", *BERLIN, "--from", "2026-03-28T12:00:00Z",
                     "-n1", "--gap", "shift")
    equal(rows(shifted), [["2026-03-29T03:00:00+02:00", "2026-03-29T01:00:00.000Z",
                           "for a time that clocks jump over"]])
    doubled = box.ok("cron", "next", "30 * * * *", *BERLIN, "--from", "2026-10-25T00:00:00Z",
                     "-n3", "--json").json
    equal([fire["note"] for fire in doubled["next"]], ["twice_first", "twice_second", "plain"])
    equal([fire["local"] for fire in doubled["next"]][:2],
          ["2026-10-25T02:30:00+02:00", "2026-10-25T02:30:00+01:00"])
    once = box.ok("cron", "next", "30 2 * * *", *BERLIN, "--from", "2026-10-25T00:00:00Z", "-n1",
                  "--json").json
    equal(once["next"][0]["note"], "first")


@test
def bounds_and_dialects_apply(box):
    done = box.ok("cron", "next", "0 0 0 ? * 2", "--dialect", "quartz", "--start",
                  "2030-01-01T00:00:00Z", "--end", "2030-01-15T00:00:00Z", "--json").json
    equal([fire["at"][:10] for fire in done["next"]], ["2030-01-07", "2030-01-14"])  # Mondays
    done = box.ok("cron", "next", "0 0 0 ? * 2", "--dialect", "cron", "--from",
                  "2029-12-31T00:00:00Z", "-n1", "--json").json
    equal(done["next"][0]["at"][:10], "2030-01-01")  # a Tuesday


@test
def an_end_is_said(box):
    done = box.ok("cron", "next", "0 0 0 1 1 ? 2020")
    has(done.err, "it does not fire any more")
    equal(box.ok("cron", "next", "0 0 0 1 1 ? 2020", "--json").json["next"], [])


@test
def seconds_of_odd_offsets_are_shown(box):
    done = box.ok("cron", "next", "@daily", "--zone", "Africa/Monrovia", "--from",
                  "1971-01-01T00:00:00Z", "-n1", "--json").json
    equal(done["next"][0]["local"], "1971-01-01T00:00:00-00:44:30")


@test
def refusals_say_why(box):
    cases = {
        ("60 * * * *",): 'minute "60": out of range, 0 to 59',
        ("0 0 30 2 *",): "no year from 1970 to 2199 has such a day",
        ("@daily", "--zone", "CET"): 'there is no time zone "CET"',
        ("@daily", "--count", "1001"): '"--count" is at most 1000',
        ("@daily", "--gap", "leap"): "it takes skip or shift",
    }
    for args, part in cases.items():
        has(box.fails(2, "cron", "next", *args).err, part)


# ---- schedules ----

YEARLY = "0 0 1 1 *"


def add(box, name="nightly", expression=YEARLY, *args):
    return box.ok("cron", "add", name, expression, "report.send", *args)


def schedule(box, name="nightly"):
    return box.ok("cron", "show", name, "--json").json


def names(box, *args):
    return [one["name"] for one in box.ok("cron", "list", *args, "--json").json]


@test
def a_schedule_is_added_and_shown(box):
    done = add(box, "nightly", "0 9 * * 1-5", '["daily"]', *BERLIN, "--queue", "reports",
               "--jitter", "5m", "--overlap", "queue", "--description", "what for", "--tag", "x")
    has(done.out, "added nightly: every weekday at 09:00 Europe/Berlin")
    has(done.out, "; next 20")
    shown = schedule(box)
    equal([shown[key] for key in ("name", "expression", "zone", "state", "overlap", "misfire",
                                  "jitter_ms", "runs", "skips", "version", "description")],
          ["nightly", "0 9 * * 1-5", "Europe/Berlin", "active", "queue", "once", 300000, 0, 0, 1,
           "what for"])
    equal([shown["job"][key] for key in ("type", "queue", "args", "tags")],
          ["report.send", "reports", ["daily"], ["x"]])
    equal([one["reason"] for one in shown["history"]], ["created"])
    text = box.ok("cron", "show", "nightly").out
    for part in ("Schedule nightly\n", "  description   what for\n",
                 "  when          every weekday at 09:00 Europe/Berlin", "  overlap       queue\n",
                 "  jitter        5m\n", "  job           report.send in queue reports\n",
                 "  runs          0, 0 skipped\n", "\nNext\nLOCAL ", "\nHistory\nWHEN "):
        has(text, part)
    equal(names(box), ["nightly"])
    has(box.ok("cron").out, "every weekday at 09:00 Europe/Berlin")
    has(box.fails(1, "cron", "add", "nightly", YEARLY, "t").err, '"pawl cron edit" changes it')


@test
def an_expression_may_be_a_list_of_instants(box):
    add(box, "closing", "2150-01-31T08:00:00Z,2150-02-28T08:00:00Z")
    shown = schedule(box, "closing")
    equal(shown["instants"], ["2150-01-31T08:00:00.000Z", "2150-02-28T08:00:00.000Z"])
    equal(shown["next_at"], "2150-01-31T08:00:00.000Z")
    next_ones = box.ok("cron", "next", "closing", "--json").json
    equal([fire["at"] for fire in next_ones["next"]], shown["instants"])
    has(box.fails(2, "cron", "add", "x", "2150-13-01", "t").err, "an instant cannot be")


@test
def a_schedule_is_edited(box):
    add(box, "nightly", YEARLY, "--jitter", "5m", "--max-runs", "7", "--queue", "a")
    done = box.ok("cron", "edit", "nightly", "@daily", "--unset", "jitter", "--zone", "Asia/Tokyo")
    has(done.out, "changed nightly: every day at 00:00 Asia/Tokyo")
    shown = schedule(box)
    equal((shown["expression"], shown["zone"], shown.get("jitter_ms"), shown["max_runs"],
           shown["job"]["queue"], shown["version"]), ("@daily", "Asia/Tokyo", None, 7, "a", 2))
    box.ok("cron", "edit", "nightly", "@daily", "other.type", "[1]", "--unset", "max-runs,queue")
    shown = schedule(box)
    equal((shown["job"]["type"], shown["job"]["args"], shown["job"]["queue"],
           shown.get("max_runs"), shown["version"]), ("other.type", [1], "default", None, 3))
    has(box.ok("cron", "edit", "nightly", "@daily").out, "unchanged: nightly")
    has(box.fails(2, "cron", "edit", "nightly").err, "nothing to change")
    has(box.fails(2, "cron", "edit", "nightly", "--unset", "store").err, "no option")
    has(box.fails(1, "cron", "edit", "none", "@daily").err, '"none"')


@test
def schedules_are_paused_resumed_and_removed(box):
    add(box, "a")
    add(box, "b")
    equal(box.ok("cron", "pause", "a", "b", "--reason", "holidays").out, "paused a\npaused b\n")
    equal(box.ok("cron", "pause", "a").out, "already paused a\n")
    equal((schedule(box, "a")["state"], schedule(box, "a")["reason"]), ("paused", "holidays"))
    equal(names(box, "--state", "paused"), ["a", "b"])
    equal(box.ok("cron", "resume", "a", "--json").json,
          {"name": "a", "action": "resumed", "changed": True})
    equal(names(box, "--state", "active,held"), ["a"])
    done = box.run("cron", "remove", "a", "none", "b")
    equal((done.code, done.out), (1, "removed a\nremoved b\n"))
    has(done.err, '"none"')
    has(box.ok("cron", "list").err, "no schedules")


@test
def a_schedule_is_run_now(box):
    add(box, "nightly", YEARLY, "--queue", "reports")
    done = box.ok("cron", "run", "nightly")
    job = box.job(done.out.strip())
    equal((job["type"], job["queue"], job["meta"]["cron_name"]),
          ("report.send", "reports", "nightly"))
    equal(schedule(box)["runs"], 0)
    done = box.fails(1, "cron", "run", "nightly")
    has(done.err, '"nightly" was not run: overlap_skip')
    equal(box.ok("cron", "run", "nightly", "--force", "--json").json["name"], "nightly")
    kinds = [one["kind"] for one in box.ok("cron", "history", "nightly", "--json").json]
    equal(kinds, ["ran", "skipped", "ran", "changed"])
    equal(len(box.ok("cron", "history", "nightly", "--limit", "1", "--json").json), 1)
    has(box.ok("cron", "history", "nightly").out, "created, by tester")


@test
def coming_fires_of_a_schedule_are_listed(box):
    add(box, "nightly", "30 2 * * *", *BERLIN)
    done = box.ok("cron", "next", "nightly", "--from", "2030-03-30T00:00:00Z", "-n2", "--json").json
    equal((done["name"], done["expression"], done["zone"]),
          ("nightly", "30 2 * * *", "Europe/Berlin"))
    equal([fire["note"] for fire in done["next"]], ["plain", "lost", "plain"])
    other = box.ok("cron", "next", "nightly", "--zone", "UTC", "-n1", "--json").json
    equal(other["zone"], "UTC")
    has(box.fails(1, "cron", "next", "none").err, '"none"')


@test
def schedules_that_cannot_be_are_refused(box):
    cases = {
        ("x", "60 * * * *", "t"): "out of range, 0 to 59",
        ("x", YEARLY, "t", "{}"): "the arguments must be a JSON array",
        ("x", YEARLY, "bad type"): "type",
        ("x", YEARLY, "t", "--misfire", "catch_up", "--catch-up", "1001"):
            '"--catch-up" must be 1 to 1000',
        ("x", YEARLY, "t", "--jitter", "25h"): '"--jitter"',
        ("x", YEARLY, "t", "--overlap", "never"): "skip, allow, queue or cancel_previous",
        ("x", YEARLY, "t", "--delay", "5s"): "has no option",
        ("x", YEARLY, "t", "--expires", "2150-01-01T00:00:00Z"): "--expires",
    }
    for args, part in cases.items():
        has(box.fails(2, "cron", "add", *args).err, part)
    if not SERVED:
        box.has_no_store()


# ---- files ----

FILE = """\
# the jobs of the night
--queue reports --zone Europe/Berlin

nightly   0 9 1 1 *              report.send  ["daily", {"a": 1}]  --overlap allow
cleanup   @yearly        UTC     cleanup.run                       --queue default  # UTC
"""


@test
def a_file_is_applied(box):
    path = box.file("jobs.cron", FILE)
    dry = box.ok("cron", "apply", path, "--dry-run")
    equal(dry.out.splitlines(), ["+ nightly: on 1 January at 09:00 Europe/Berlin",
                                 "+ cleanup: on 1 January at 00:00", "2 to add"])
    equal(names(box), [])
    done = box.ok("cron", "apply", path, "--yes")
    equal(done.out.splitlines()[-1], "2 added")
    equal(names(box), ["cleanup", "nightly"])
    shown = schedule(box)
    equal((shown["zone"], shown["job"]["queue"], shown["job"]["args"], shown["overlap"]),
          ("Europe/Berlin", "reports", ["daily", {"a": 1}], "allow"))
    equal(schedule(box, "cleanup")["job"]["queue"], "default")
    equal(box.ok("cron", "apply", path).out, "2 unchanged\n")  # nothing to ask


@test
def a_changed_file_changes_what_differs(box):
    box.ok("cron", "apply", box.file("jobs.cron", FILE), "--yes")
    add(box, "other")
    changed = FILE.replace("0 9 1 1 *", "0 8 1 1 *").replace("--overlap allow", "--jitter 1s")
    path = box.file("jobs.cron", changed.replace("cleanup ", "#"))
    done = box.ok("cron", "apply", path, "--yes", "--prune")
    lines = done.out.splitlines()
    equal(lines[0][:10], "~ nightly:")
    for part in ('expression: "0 9 1 1 *" to "0 8 1 1 *"', 'overlap: "allow" to "skip"',
                 "jitter_ms: none to 1000"):
        has(lines[0], part)
    equal(lines[1:], ["- cleanup: on 1 January at 00:00",
                      "- other: on 1 January at 00:00", "1 changed, 2 removed"])
    equal(names(box), ["nightly"])
    equal(schedule(box)["version"], 2)


@test
def several_files_have_groups(box):
    add(box, "by-hand")
    one, two = box.file("one", "a @yearly t\nb @yearly t\n"), box.file("two", "c @yearly t\n")
    box.ok("cron", "apply", one, "--group", "one", "--yes")
    box.ok("cron", "apply", two, "--group", "two", "--yes")
    box.file("one", "a @yearly t\n")
    done = box.ok("cron", "apply", one, "--group", "one", "--prune", "--yes")
    equal(done.out.splitlines(), ["- b: on 1 January at 00:00", "1 removed, 1 unchanged"])
    equal(names(box), ["a", "by-hand", "c"])
    equal(names(box, "--group", "two"), ["c"])


@test
def a_file_for_programs(box):
    done = box.ok("cron", "apply", "-", "--yes", "--json", stdin="a @yearly t\n")
    equal(done.json, {"applied": True, "unchanged": 0, "changes": [
        {"name": "a", "action": "add", "line": 1,
         "detail": "on 1 January at 00:00"}]})
    has(box.fails(2, "cron", "apply", "-", stdin="a @daily t\n").err, "there is no terminal")
    equal(schedule(box, "a")["expression"], "@yearly")


@test
def a_terminal_is_asked(box):
    path = box.file("jobs.cron", "a @yearly t\n")
    terminal = Terminal(box, "cron", "apply", path)
    terminal.read("1 to add; apply? [y/N]")
    terminal.type("n\n")
    equal(terminal.end(), 1)
    has(terminal.text, "nothing was changed")
    terminal = Terminal(box, "cron", "apply", path)
    terminal.read("[y/N]")
    terminal.type("y\n")
    equal(terminal.end(), 0)
    equal(names(box), ["a"])


@test
def mistakes_in_a_file_are_named_by_their_lines(box):
    text = "a 60 * * * * t\nb @daily t --priorty 3\nc @daily t\nd @daily t {}\n"
    done = box.run("cron", "apply", box.file("jobs.cron", text), "--yes")
    equal(done.code, 2)
    lines = [line for line in done.err.splitlines() if line.startswith("pawl: ")]
    equal([line.split(": ")[1].rsplit("/", 1)[-1] for line in lines],
          ["jobs.cron:1", "jobs.cron:2", "jobs.cron:4"])
    has(done.err, 'did you mean "--priority"?')
    if not SERVED:
        equal(box.run("cron", "list").code, 3)  # no store was made
    done = box.fails(2, "cron", "apply", box.file("jobs.cron", "a @daily\n"))
    has(done.err, "jobs.cron:1: the type of its jobs is missing")
    has(box.fails(2, "cron", "apply", "none.cron").err, 'cannot read "none.cron"')


@test
def names_are_completed(box):
    add(box, "nightly")
    add(box, "odd name")
    equal(box.ok("__known", "schedules").out, "nightly\n")
    script = box.ok("__complete", "bash").out
    has(script, '"cron show"*) words=$(_pawl_known schedules)')
    has(script, "'cron apply') COMPREPLY=($(compgen -f")


@test
def a_command_lists_its_own_options_alone(box):
    for words, there, not_there in [("show", "Usage", "--force"),
                                    ("cron run", "--force", "--prune"),
                                    ("cron apply", "--prune", "--jitter"),
                                    ("cron add", "--jitter", "--delay")]:
        text = box.ok(*words.split(), "--help").out
        has(text, there)
        assert not_there + " " not in text and not_there + "\n" not in text, (words, not_there)
