"""Operations on jobs: cancel, pause and so on, priority, delete, dead."""
from kit import Terminal, equal, has, test

MISSING = "01890000-0000-7000-8000-00000000dead"


@test
def each_verb_moves_a_job(box):
    job_id = box.submit("t")
    steps = [("pause", "paused", "paused"), ("resume", "resumed, now available", "available"),
             ("cancel", "cancelled", "cancelled"), ("retry", "retried, now available", "available"),
             ("skip", "skipped", "skipped")]
    for verb, text, state in steps:
        equal(box.ok(verb, job_id).out, f"{job_id} {text}\n")
        equal(box.state(job_id), state)
    later = box.submit("t", "--delay", "1h", "--queue", "later")
    equal(box.ok("promote", later).out, f"{later} promoted, now available\n")
    held = box.submit("t", "--pending")
    equal(box.ok("activate", held).out, f"{held} activated, now available\n")
    box.work("claim:default")
    equal(box.ok("discard", held).out, f"{held} discarded\n")


@test
def verbs_answer_programs_with_the_job(box):
    job_id = box.submit("t", "--queue", "q")
    equal(box.ok("cancel", job_id, "--json").json,
          {"id": job_id, "type": "t", "queue": "q", "state": "cancelled", "attempt": 0,
           "action": "cancel", "ok": True})
    done = box.fails(1, "cancel", job_id, "--json")
    answer = done.json
    equal((answer["ok"], answer["error"], answer["state"]), (False, "STATE", "cancelled"))
    equal(box.ok("delete", job_id, "--json").json["action"], "delete")


@test
def the_action_is_audited(box):
    job_id = box.submit("t")
    box.ok("cancel", job_id, "--reason", "not needed", "--actor", "ann")
    box.ok("retry", job_id)
    deeds = box.job(job_id)["deeds"]
    equal([(d["action"], d["actor"], d.get("reason")) for d in deeds],
          [("cancel", "ann", "not needed"), ("retry", "tester", None)])


@test
def a_refused_move_names_the_state(box):
    job_id = box.submit("t")
    done = box.fails(1, "resume", job_id)
    has(done.err, job_id)
    has(done.err, "available")
    equal(done.out, "")


@test
def retrying_a_waiting_job_hints_at_promote(box):
    job_id = box.submit("t", "--at", "2099-01-02T03:04:05Z")
    done = box.fails(1, "retry", job_id)
    equal(done.err, f'pawl: cannot retry job "{job_id}": it is scheduled\n'
                    "hint: it runs by itself at 2099-01-02T03:04:05.000Z; "
                    f"to run it now: pawl promote {job_id}\n")
    equal(done.out, "")
    has(box.fails(1, "activate", job_id).err, f"to run it now: pawl promote {job_id}\n")
    done = box.fails(1, "promote", box.submit("t"))
    has(done.err, "it is available")
    assert "hint" not in done.err, done.err


@test
def a_refusal_names_the_command_for_the_job_s_state(box):
    ended, held, paused = box.submit("t"), box.submit("t", "--pending"), box.submit("t")
    has(box.fails(1, "delete", ended).err, f"to end it: pawl cancel {ended}\n")
    box.ok("cancel", ended)
    box.ok("pause", paused)
    for verb in ("promote", "activate"):
        has(box.fails(1, verb, ended).err, f"hint: to run it again: pawl retry {ended}\n")
    for verb in ("promote", "retry"):
        has(box.fails(1, verb, held).err, f"hint: to let it run: pawl activate {held}\n")
    for verb in ("promote", "retry", "activate"):
        has(box.fails(1, verb, paused).err,
            f"hint: to put it back where it was: pawl resume {paused}\n")
    skipped = box.submit("t")
    box.ok("skip", skipped)
    has(box.fails(1, "promote", skipped).err, f"pawl rerun {skipped}\n")


@test
def a_finished_job_is_submitted_again(box):
    given = ("t", "[1]", "--queue", "q", "--priority", "7", "--tag", "a", "--meta", '{"k":1}',
             "--timeout", "9s", "--max-attempts", "5", "--key", "once", "--business-key", "b")
    job_id = box.submit(*given)
    done = box.fails(1, "rerun", job_id)
    equal(done.err, f'pawl: cannot rerun job "{job_id}": it is available\n'
                    f"hint: it has not ended yet; to wait for that: pawl wait {job_id}\n")
    for command, hint in [(["pause", job_id], "pawl resume"), (["resume", job_id], "pawl wait")]:
        box.ok(*command)
        has(box.fails(1, "rerun", job_id).err, f"{hint} {job_id}\n")
    for option, hint in [("--delay=1h", "pawl promote"), ("--pending", "pawl activate")]:
        other = box.submit("t", option)
        has(box.fails(1, "rerun", other).err, f"{hint} {other}\n")
    box.ok("skip", job_id)
    has(box.fails(1, "retry", job_id).err, f"pawl rerun {job_id}")
    new_id = box.ok("rerun", job_id).out.strip()
    assert new_id != job_id
    old, new = box.job(job_id), box.job(new_id)
    equal((old["state"], new["state"], new["attempt"]), ("skipped", "available", 0))
    for name in ("type", "args", "queue", "priority", "tags", "meta", "timeout_ms",
                 "max_attempts", "business_key"):
        equal(new.get(name), old.get(name))
    equal(new.get("idempotency_key"), None)
    has(box.fails(1, "rerun", job_id).err, new_id)  # the business key is held now
    other = box.submit("t")
    box.ok("cancel", other)
    done = box.fails(1, "rerun", MISSING, other, "--json")
    equal((done.json["rerun_of"], done.json["state"]), (other, "available"))
    has(done.err, MISSING)


@test
def all_that_wait_are_promoted(box):
    box.ok("submit", "-", stdin='{"type":"t","queue":"a","delay":"1h"}\n' * 20 +
           '{"type":"t","queue":"b","delay":"1h"}\n')
    box.submit("t", "--queue", "a")
    done = box.ok("promote", "--all-matching", "--queue", "a", "--yes", "--json")
    equal(done.json, {"action": "promote", "matched": 20, "changed": 20})
    equal(box.ok("list", "--count", "--state", "available").out, "21\n")
    equal(box.ok("list", "--count", "--state", "scheduled").out, "1\n")
    first = box.ok("list", "--queue", "a", "--oldest-first", "--limit", "1", "--json").json[0]
    assert first["due_at"] < "2099", first
    has(box.fails(2, "promote").err, "no jobs given")


@test
def several_ids_are_answered_one_by_one(box):
    first, second = box.submit("t"), box.submit("t")
    done = box.fails(1, "cancel", first, MISSING, second.upper())
    equal(done.out, f"{first} cancelled\n{second} cancelled\n")
    equal(done.err, f'pawl: there is no job "{MISSING}"\n')
    # A slip in one of them is found before anything is done.
    box.fails(2, "retry", first, "nonsense")
    equal(box.state(first), "cancelled")


@test
def controls_require_ids_or_a_filter(box):
    job_id = box.submit("t")
    has(box.fails(2, "cancel").err, "hint: give ids, or use --all-matching with a filter")
    has(box.fails(2, "cancel", "--queue", "default").err, "--all-matching")
    has(box.fails(2, "cancel", job_id, "--queue", "default").err, "not both")
    has(box.fails(2, "cancel", "--all-matching", "--state", "completed", "--yes").err,
        "jobs in these states cannot be cancelled")
    equal(box.state(job_id), "available")


@test
def many_need_a_yes_without_a_terminal(box):
    box.ok("submit", "-", stdin='{"type":"t"}\n' * 3)
    done = box.fails(2, "cancel", "--all-matching", "--type", "t")
    equal(done.err, "pawl: cancel 3 jobs? there is no terminal for the answer\n"
                    "hint: use --yes to confirm\n")
    done = box.ok("cancel", "--all-matching", "--type", "t", "--yes")
    equal((done.out, done.err), ("cancelled 3 jobs\n", "3 jobs match\n"))
    equal(box.ok("cancel", "--all-matching", "--type", "t").out, "cancelled 0 jobs\n")


@test
def many_are_asked_for_on_a_terminal(box):
    box.ok("submit", "-", stdin='{"type":"t"}\n' * 3)
    terminal = Terminal(box, "cancel", "--all-matching")
    terminal.read(until="cancel 3 jobs? [y/N] ")
    terminal.type("n\n")
    equal(terminal.end(), 1)
    has(terminal.text, "nothing was done")
    equal(box.ok("list", "--count", "--state", "available").out, "3\n")
    terminal = Terminal(box, "cancel", "--all-matching")
    terminal.read(until="[y/N] ")
    terminal.type("y\n")
    equal(terminal.end(), 0)
    has(terminal.text, "cancelled 3 jobs")
    equal(box.ok("list", "--count", "--state", "cancelled").out, "3\n")


@test
def a_filter_reaches_all_that_match_and_no_others(box):
    box.ok("submit", "-", stdin='{"type":"t","queue":"a"}\n' * 2500 +
           '{"type":"t","queue":"b"}\n' * 10)
    done = box.ok("cancel", "--all-matching", "--queue", "a", "--yes", "--json")
    equal(done.json, {"action": "cancel", "matched": 2500, "changed": 2500})
    equal(box.ok("list", "--count", "--state", "cancelled").out, "2500\n")
    equal(box.ok("list", "--count", "--queue", "b", "--state", "available").out, "10\n")
    equal(box.ok("retry", "--all-matching", "--yes", "-q").out, "")
    equal(box.ok("list", "--count", "--state", "available").out, "2510\n")
    box.ok("check")


@test
def only_jobs_that_can_move_are_counted(box):
    done_id = box.submit("t")
    box.ok("cancel", done_id)
    box.submit("t")
    has(box.fails(2, "cancel", "--all-matching").err, "cancel 1 job?")
    has(box.fails(2, "delete", "--all-matching").err, "delete 1 job?")
    has(box.fails(2, "pause", "--all-matching").err, "pause 1 job?")


@test
def every_verb_counts_what_it_then_does(box):
    """The states that the count goes by are those in which the store lets it happen."""
    for verb in ("cancel", "pause", "resume", "retry", "discard", "activate", "skip", "promote",
                 "delete"):
        store = ("--store", "sqlite:" + box.file(verb + ".db"))
        box.store = store[1]

        def add(*args):
            return box.ok("submit", "t", "-q", *args, *store).out.strip()

        def do(deed, *args):
            return box.ok(deed, *args, *store)

        add()
        add("--delay", "1h")
        add("--pending")
        do("pause", add())
        do("cancel", add())
        do("skip", add())
        add("--queue", "w1")
        box.work("claim:w1")
        add("--queue", "w2")
        box.work("claim:w2", "fail:e:m")
        add("--queue", "w3")
        box.work("claim:w3", "end:e:m")
        add("--queue", "w4")
        box.work("claim:w4", "complete:1")
        equal(len({j["state"] for j in do("list", "--json").json}), 10)
        answer = do(verb, "--all-matching", "--yes", "--json").json
        equal((verb, answer["changed"]), (verb, answer["matched"]))
        assert answer["changed"] > 0, answer
        # And what was left out could not have been done.
        left = [j for j in do("list", "--json").json]
        for job in left:
            if job["state"] not in ("available", "cancelled", "paused", "skipped", "discarded"):
                again = box.run(verb, job["id"], *store)
                equal((verb, job["state"], again.code), (verb, job["state"], 1))


@test
def priority_comes_last_and_may_be_negative(box):
    first, second = box.submit("t", "-p", "3"), box.submit("t")
    equal(box.ok("priority", first, second, "-20").out,
          f"{first} priority -20, was 3\n{second} priority -20, was 0\n")
    answer = box.ok("priority", first, "7", "--json").json
    equal((answer["id"], answer["priority"], answer["before"]), (first, 7, -20))
    has(box.fails(2, "priority", first, "101").err, "from -100 to 100")
    has(box.fails(2, "priority", first).err, "needs ID... N")
    has(box.fails(1, "priority", MISSING, "1").err, MISSING)
    equal(box.job(first)["priority"], 7)


@test
def only_ended_jobs_are_deleted(box):
    job_id = box.submit("t")
    has(box.fails(1, "delete", job_id).err, "available")
    box.ok("cancel", job_id)
    equal(box.ok("delete", job_id).out, f"{job_id} deleted\n")
    box.fails(1, "show", job_id)
    box.fails(1, "delete", job_id)


@test
def dead_letters_are_listed_retried_and_deleted(box):
    one = box.submit("t", "--dead-letter", "--max-attempts", "1")
    box.work("claim:default", "fail:io.error:disk gone")
    two = box.submit("u")
    box.work("claim:default", "end:bad.input:no")
    other = box.submit("t")
    box.ok("cancel", other)
    jobs = {job["id"]: job for job in box.ok("dead", "--json").json}
    equal(set(jobs), {one, two})
    equal((jobs[one].get("dead_letter"), jobs[two].get("dead_letter")), (True, None))
    rows = box.ok("dead").out.splitlines()
    has(rows[0], "LETTER")
    equal(len(rows), 3)
    equal(box.ok("dead", "list", "--dead", "--count").out, "1\n")
    has(box.fails(1, "dead", "delete", other).err, "it is cancelled")
    has(box.fails(1, "dead", "retry", other).err, "it is cancelled")
    equal(box.ok("dead", "retry", one).out, f"{one} retried, now available\n")
    equal(box.ok("dead", "delete", "--all-matching", "--yes").out, "deleted 1 job\n")
    equal(box.ok("dead").err, "no discarded jobs\n")
    equal(box.state(other), "cancelled")
    story = box.job(one)
    equal((story["attempt"], len(story["failures"])), (0, 1))


@test
def a_retried_job_whose_key_is_taken_stays(box):
    first = box.submit("t", "--business-key", "b")
    box.ok("cancel", first)
    second = box.submit("t", "--business-key", "b")
    has(box.fails(1, "retry", first).err, second)
    equal(box.state(first), "cancelled")


@test
def the_beginning_of_an_id_is_enough(box):
    ids = [f"f{number}000000-1111-4222-8333-00000000000{number}" for number in range(8)]
    for job_id in ids:
        box.ok("submit", "t", "--id", job_id)
    equal(box.ok("cancel", ids[1][:8]).out, f"{ids[1]} cancelled\n")
    equal(box.ok("pause", "F2000000-11", ids[3]).out, f"{ids[2]} paused\n{ids[3]} paused\n")
    equal(box.ok("show", ids[4].replace("-", ""), "--json").json["id"], ids[4])
    equal(box.ok("delete", ids[1][:20]).out, f"{ids[1]} deleted\n")
    box.ok("skip", ids[5][:9])
    equal(box.ok("rerun", ids[5][:8], "--json").json["rerun_of"], ids[5])
    equal(box.run("wait", ids[5][:8]).out.split()[0], ids[5])
    has(box.ok("priority", ids[6][:8], "5").out, ids[6])
    done = box.fails(1, "cancel", ids[6], ids[1][:8])  # found before anything is done
    equal(done.out, "")
    equal(done.err, f'pawl: there is no job whose id begins with "{ids[1][:8]}"\n')
    equal(box.state(ids[6]), "available")
    for short in ("f600000", "f60000000g", "f6-00-00"):
        has(box.fails(2, "cancel", short).err, "its first 8 digits")


@test
def the_beginning_of_several_ids_is_refused(box):
    ids = [f"f0000000-1111-4222-8333-00000000000{number}" for number in range(7)]
    for job_id in ids[:2]:
        box.ok("submit", "t", "--id", job_id)
    done = box.fails(1, "cancel", "f0000000")
    equal(done.err, 'pawl: several jobs have ids that begin with "f0000000"\n'
                    f"hint: the newest are {ids[1]}, {ids[0]}\n")
    for job_id in ids[2:]:
        box.ok("submit", "t", "--id", job_id)
    done = box.fails(1, "rerun", "f0000000")
    equal(done.err.splitlines()[1], f"hint: the newest are {', '.join(ids[:1:-1])} and more")
    equal(box.ok("list", "--count", "--state", "available").out.strip(), "7")


@test
def an_empty_queue_can_be_deleted(box):
    job_id = box.submit("t", "--queue", "old")
    has(box.fails(1, "queue", "delete", "odl").err, 'did you mean "old"?')
    equal(box.fails(1, "queue", "delete", "old").err,
          'pawl: cannot delete queue "old": it has 1 job\n')
    box.ok("skip", job_id)
    box.fails(1, "queue", "delete", "old")
    box.ok("delete", job_id)
    box.ok("queue", "pause", "old")
    equal(box.ok("queue", "delete", "old").out, 'queue "old" deleted\n')
    equal(box.ok("queue", "list", "--json").json, [])
    box.fails(1, "queue", "delete", "old")
    box.submit("t", "--queue", "old")
    equal([(q["queue"], q["paused"]) for q in box.ok("queue", "list", "--json").json],
          [("old", False)])
    box.ok("cancel", "--all-matching", "--queue", "old", "--yes")
    box.ok("delete", "--all-matching", "--queue", "old", "--yes")
    equal(box.ok("queue", "list", "--json").json, [])
    box.ok("queue", "pause", "old", "--create")
    equal(box.ok("queue", "delete", "old", "--json").json, {"queue": "old", "deleted": True})
