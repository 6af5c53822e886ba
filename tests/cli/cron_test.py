"""pawl cron next: coming fires, clocks, words, refusals; without a store."""
from kit import SERVED, equal, has, test

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
