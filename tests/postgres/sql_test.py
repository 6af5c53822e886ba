#!/usr/bin/env python3
"""Jobs from SQL, in the transactions of programs that know nothing of pawl: what pawl_submit and
its fellows write is what the library would have written, and is seen when it is committed. Speaks
TAP.

Usage: sql_test.py MODULE_DIR PAWL GUEST PQ_GUEST [TEST]...
"""
import json
import os
import re
import subprocess
import sys
import time
import urllib.parse

sys.dont_write_bytecode = True
HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(os.path.dirname(HERE), "sql"))
ROOT = os.path.dirname(os.path.dirname(HERE))
sys.path.append(os.path.join(ROOT, "mk"))
import embed_sql  # the lists of src/fields, as the build reads them
import server
from kit import PATIENCE_S, Program, run_all, test, timeless

MISSION = os.path.join(ROOT, "..", "shared", "mission")


class Refused(Exception):
    """An error of the server: .state is its SQLSTATE, .field the column that it names."""

    def __init__(self, lines):
        found = re.search(r"ERROR:  (\w{5}): (.*)", "\n".join(lines))
        field = re.search(r"COLUMN NAME:  (.*)", "\n".join(lines))
        self.state, self.text = found.groups() if found else ("?", "\n".join(lines))
        self.field = field.group(1) if field else ""
        super().__init__(f"{self.state} {self.field}: {self.text}")


class Session:
    """A connection of an application."""

    def __init__(self, place, url=None):
        self.psql = Program([place.postgres.bin + "/psql", "-X", "-A", "-t", "-q",
                             url or place.url], cwd="/")
        self.psql.say("\\set VERBOSITY verbose")

    def begin(self, text):
        """Sends it without waiting for the answer."""
        self.psql.say(text + ";\n\\echo @end")

    def end(self):
        lines = []
        while (line := self.psql.line()) != "@end":
            lines.append(line)
        if any(re.search(r"(ERROR|FATAL):  ", line) for line in lines):
            raise Refused(lines)
        return "\n".join(lines)

    def sql(self, text):
        self.begin(text)
        return self.end()

    def close(self):
        self.psql.close()


def escape(text):
    """As one word of libpq's options."""
    return text.replace("\\", "\\\\").replace(" ", "\\ ")


class Place:
    """A store in a schema of its own, and who is at work on it."""

    def __init__(self, postgres, schema):
        self.postgres, self.schema, self.open = postgres, schema, []
        self.other = None
        postgres.sql(f"CREATE SCHEMA {schema}")
        self.url = f"{postgres.url}&options=-csearch_path%3D{urllib.parse.quote(escape(schema))}"
        self.pawl("migrate")

    def beside(self):
        """Another store, for the library to do the same in."""
        self.other = Place(self.postgres, self.schema + "_c")
        return self.other

    def pawl(self, *args, stdin="", code=0):
        done = subprocess.run([PAWL, "--store", self.url, *args], input=stdin, text=True,
                              capture_output=True, check=False)
        assert done.returncode == code, f"pawl {args}: {done.returncode} {done.stdout}{done.stderr}"
        return done.stdout

    def show(self, job):
        return json.loads(self.pawl("show", job, "--json"))

    def settle(self):
        """What a node does a moment after a commit."""
        self.pawl("upkeep")
        assert self.sql("SELECT count(*) FROM pawl_unsettled") == "0"

    def session(self, url=None):
        self.open.append(Session(self, url))
        return self.open[-1]

    def guest(self):
        self.open.append(Program([GUEST, self.url]))
        return self.open[-1]

    def application(self, url=None):
        self.open.append(Program([PQ_GUEST, url or self.url]))
        return self.open[-1]

    def sql(self, text):
        return self.postgres.sql(f"SET search_path = {self.schema}; {text}")

    def close(self):
        for each in self.open:
            each.close()
        if self.other:
            self.other.close()
        found = self.pawl("check")
        assert found == "no damage found\n", found


def refuses(session, text, state, field, words):
    try:
        session.sql(text)
    except Refused as why:
        assert (why.state, why.field) == (state, field), f"{text}: {why}"
        assert words in why.text, f"{text}: {why}"
        return why.text
    raise AssertionError(f"{text} is not refused")


def await_lock(place, session_pid):
    """Until the server says that its process waits for a lock."""
    for _ in range(PATIENCE_S * 20):
        if place.sql(f"SELECT wait_event_type FROM pg_stat_activity WHERE pid = {session_pid}") \
                == "Lock":
            return
        time.sleep(0.05)
    raise AssertionError("it does not wait")


# ---- transactions ----


@test
def rolled_back_is_never_seen(place):
    app, guest = place.session(), place.guest()
    app.sql("BEGIN")
    job = app.sql("SELECT pawl_submit('mail.send', '[1]', tags => '{a}', business_key => 'b')")
    assert guest.ask("claim default w") == "none"
    app.sql("ROLLBACK")
    assert guest.ask("claim default w") == "none"
    place.pawl("show", job, code=1)
    assert place.sql("SELECT (SELECT count(*) FROM pawl_job) + (SELECT count(*) FROM pawl_key) + "
                     "(SELECT count(*) FROM pawl_tag) + (SELECT count(*) FROM pawl_count_delta)"
                     ) == "0"


@test
def committed_wakes_a_node(place):
    app, guest = place.session(), place.guest()
    app.sql("SELECT pawl_submit('mail.send')")
    assert guest.ask("work mail.send default") == "OK"
    assert guest.line().startswith("ran ")
    for delay in ("0 s", "1 s"):
        app.sql("BEGIN")
        job = app.sql(f"SELECT pawl_submit('mail.send', delay => '{delay}')")
        app.sql("COMMIT")
        assert guest.line() == "ran " + job


@test
def two_with_one_business_key_take_turns(place):
    one, two = place.session(), place.session()
    pid = two.sql("SELECT pg_backend_pid()")
    submit = "SELECT pawl_submit('a', '[7]', business_key => 'k')"
    one.sql("BEGIN")
    one.sql(submit)
    two.begin(submit)
    await_lock(place, pid)
    one.sql("ROLLBACK")
    job = two.end()  # the first one never was
    one.sql("BEGIN")
    refuses(one, submit, "PW005", "business_key",
            f'job "{job}", which is available, holds the same')
    one.sql("ROLLBACK")


@test
def of_two_with_one_unique_key_the_first_stays(place):
    """A node decides, in the order in which they came; nobody waits for an open transaction."""
    one, two = place.session(), place.session()
    submit = "SELECT pawl_submit('a', '[7]', uniqueness => '{\"keys\":[\"args\"]}')"
    one.sql("SELECT pawl_submit('a')")  # else the new queue is what it waits for
    one.sql("BEGIN")
    one.sql(submit)
    first = two.sql(submit)
    one.sql("ROLLBACK")
    one.sql("BEGIN ISOLATION LEVEL SERIALIZABLE")
    second = one.sql(submit)
    one.sql("COMMIT")
    assert [place.show(job)["state"] for job in (first, second)] == ["pending"] * 2
    place.settle()
    assert place.show(first)["state"] == "available"
    shown = place.show(second)
    assert shown["state"] == "cancelled", shown
    assert shown["reason"] == f'job "{first}", which is available, holds the same unique key', shown
    place.pawl("submit", "a", "[7]", "--unique", "args", code=1)  # the library knows of it


@test
def a_unique_key_in_use_is_not_waited_for(place):
    """What another node has locked is looked at by the next sweep."""
    app, holder = place.session(), place.session()
    plain = app.sql("SELECT pawl_submit('a', retry => '{}')")
    job = app.sql("SELECT pawl_submit('a', uniqueness => '{\"keys\":[\"type\"]}')")
    holder.sql("BEGIN")
    holder.sql("SELECT pg_advisory_xact_lock(8097884910729035779)")  # of all keys
    place.pawl("upkeep")
    assert place.show(plain)["state"] == "available"
    assert place.show(job)["state"] == "pending"
    holder.sql("ROLLBACK")
    place.settle()
    assert place.show(job)["state"] == "available"


UNIQUE = "uniqueness => '{\"keys\":[\"type\"]}'"
REPLACES = "uniqueness => '{\"keys\":[\"type\"],\"on_conflict\":\"replace\"}'"
AN_ID = "0198c3a0-0000-7000-8000-000000000001"


@test
def an_id_that_comes_again_is_another_job(place):
    """What was left to be decided about the first one goes with it."""
    app, guest = place.session(), place.guest()
    app.sql(f"SELECT pawl_submit('a', id => '{AN_ID}', {UNIQUE})")
    place.pawl("cancel", AN_ID)
    assert app.sql(f"SELECT count(*) FROM {place.schema}.pawl_unsettled") == "0"
    place.pawl("delete", AN_ID)
    app.sql(f"SELECT pawl_submit('a', id => '{AN_ID}', {UNIQUE})")
    place.settle()
    assert place.show(AN_ID)["state"] == "available"
    assert guest.ask("claim default w") == f"{AN_ID} 1"
    app.sql(f"SELECT pawl_fail('{AN_ID}', 1, 'boom')")
    place.pawl("cancel", AN_ID)
    place.pawl("delete", AN_ID)
    app.sql(f"SELECT pawl_submit('a', id => '{AN_ID}')")
    assert guest.ask("claim default w") == f"{AN_ID} 1"
    place.settle()
    assert place.show(AN_ID)["state"] == "active"
    app.sql(f"SELECT pawl_complete('{AN_ID}', 1)")


@test
def a_job_that_ended_unchecked_is_checked_when_it_comes_back(place):
    app, guest = place.session(), place.guest()
    for swept in (False, True):
        job = app.sql(f"SELECT pawl_submit('a', {UNIQUE})")
        other = app.sql(f"SELECT pawl_submit('a', {UNIQUE})")
        place.pawl("cancel", job)
        if swept:
            place.settle()
            assert place.show(other)["state"] == "available"
        place.pawl("retry", job)
        place.settle()
        assert place.show(other)["state"] == "available"
        assert other in place.show(job)["reason"]
        place.pawl("cancel", other)
        place.pawl("retry", job)  # the key is free by now
        place.settle()
        assert place.show(job)["state"] == "available"
        place.pawl("submit", "a", "--unique", "type", code=1)
        place.pawl("cancel", job)
    # an operator lets it run unchecked, and the application ends it
    job = app.sql(f"SELECT pawl_submit('a', {UNIQUE})")
    place.pawl("activate", job)
    assert guest.ask("claim default w") == f"{job} 1"
    app.sql(f"SELECT pawl_complete('{job}', 1)")
    assert app.sql(f"SELECT count(*) FROM {place.schema}.pawl_unsettled") == "0"
    job = app.sql("SELECT pawl_submit('a', retry => '{\"tries\":1}')")
    place.settle()
    assert place.show(job)["state"] == "cancelled"
    place.pawl("retry", job)
    place.settle()
    assert '"tries"' in place.show(job)["reason"]


@test
def paused_jobs_keep_no_others_from_their_keys(place):
    """They are more than one sweep asks about."""
    app = place.session()
    app.sql("SELECT pawl_submit('a', json_build_array(n)::text, queue => 'held',"
            " uniqueness => '{\"keys\":[\"args\"]}') FROM generate_series(1, 300) AS n")
    place.pawl("pause", "--all-matching", "--yes")
    job = app.sql(f"SELECT pawl_submit('b', {UNIQUE})")
    place.pawl("upkeep")
    assert place.show(job)["state"] == "available"
    assert app.sql(f"SELECT count(*) FROM {place.schema}.pawl_unsettled") == "300"


@test
def of_two_that_replace_the_newer_one_stays(place):
    """In whatever order they are checked, and whether the newer one has ended by then or not."""
    app, holder = place.session(), place.session()
    for ended in (False, True):
        for paused in (False, True):
            older = app.sql(f"SELECT pawl_submit('a', {REPLACES})")
            newer = app.sql(f"SELECT pawl_submit('a', {REPLACES})")
            holder.sql("BEGIN")
            if paused:
                place.pawl("pause", older)
            else:
                holder.sql(f"SELECT 1 FROM {place.schema}.pawl_job WHERE id = '{older}' FOR UPDATE")
            place.pawl("upkeep")
            assert place.show(newer)["state"] == "available"
            if ended:
                place.pawl("skip", newer)
            holder.sql("ROLLBACK")
            if paused:
                place.pawl("resume", older)
            place.settle()
            shown = place.show(older)
            assert (shown["state"], shown["reason"]) == ("cancelled", "replaced"), shown
            assert place.show(newer)["state"] == ("skipped" if ended else "available")


@test
def the_library_waits_for_an_open_transaction(place):
    app = place.session()
    app.sql("SELECT pawl_submit('a', queue => 'made')")  # else the new queue is what it waits for
    app.sql("BEGIN")
    job = app.sql("SELECT pawl_submit('a', queue => 'made', idempotency_key => 'k')")
    late = subprocess.Popen([PAWL, "--store", place.url, "submit", "a", "--queue", "made", "--key",
                             "k"], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL,
                            text=True)
    for _ in range(PATIENCE_S * 20):
        if place.sql("SELECT count(*) FROM pg_locks WHERE NOT granted AND locktype = 'advisory'") \
                != "0":
            break
        time.sleep(0.05)
    app.sql("COMMIT")
    said = late.communicate(timeout=PATIENCE_S)[0]
    assert job in said, said
    assert app.sql("SELECT pawl_submit('a', idempotency_key => 'k')") == job


@test
def keys_need_to_see_what_others_commit(place):
    app = place.session()
    app.sql("BEGIN ISOLATION LEVEL REPEATABLE READ")
    refuses(app, "SELECT pawl_submit('a', business_key => 'k')", "PW018", "", "READ COMMITTED")
    app.sql("ROLLBACK")
    app.sql("BEGIN ISOLATION LEVEL SERIALIZABLE")
    app.sql("SELECT pawl_submit('a')")
    app.sql("COMMIT")


@test
def a_role_needs_one_grant(place):
    place.sql(f"CREATE ROLE clerk_{place.schema} LOGIN; GRANT USAGE ON SCHEMA {place.schema} TO "
              f"clerk_{place.schema}")
    owner = place.session()
    clerk = place.session(place.url.replace("user=pawl", f"user=clerk_{place.schema}"))
    submit = "SELECT pawl_submit('a', business_key => 'k', tags => '{t}')"
    refuses(clerk, submit, "42501", "", "permission denied for function pawl_submit")
    owner.sql(f"SELECT pawl_grant('clerk_{place.schema}')")
    job = clerk.sql(submit)
    assert place.show(job)["business_key"] == "k"
    refuses(clerk, "SELECT 1 FROM pawl_job", "42501", "", "permission denied for table")
    refuses(clerk, "SELECT pawl__lane('x', 'y')", "42501", "", "permission denied for table")
    owner.sql(f"GRANT SELECT ON scheduler_job TO clerk_{place.schema}")
    assert clerk.sql("SELECT job_id, status FROM scheduler_job") == f"{job}|PENDING"
    # found from elsewhere, and not led astray by what is there
    clerk.sql("SET search_path = pg_temp; CREATE TEMP TABLE pawl_job (id uuid)")
    assert clerk.sql(f"SELECT {place.schema}.pawl_submit('a')")


@test
def a_schema_may_have_any_name(place):
    odd = place.other = Place(place.postgres, '"Odd ' + place.schema + '"')
    app = odd.session()
    job = app.sql("SELECT pawl_submit('a', '[1]')")
    odd.sql("CREATE ROLE odd; SELECT pawl_grant('odd')")
    assert app.sql("SET ROLE odd; SELECT pawl_submit('a', '[2]') IS NOT NULL") == "t"
    assert odd.guest().ask("claim default w") == f"{job} 1"


@test
def a_run_ends_with_its_effects(place):
    app, guest = place.session(), place.guest()
    app.sql("CREATE TABLE sent (job uuid)")
    job = app.sql("SELECT pawl_submit('mail.send')")
    run = int(guest.ask("claim default w").split()[1])
    for end, state, effects in (("ROLLBACK", "active", "0"), ("COMMIT", "completed", "1")):
        app.sql("BEGIN")
        app.sql(f"INSERT INTO sent VALUES ('{job}')")
        app.sql(f"SELECT pawl_complete('{job}', {run}, '{{\"sent\": true}}')")
        app.sql(end)
        assert place.show(job)["state"] == state
        assert app.sql("SELECT count(*) FROM sent") == effects
    assert place.show(job)["result"] == {"sent": True}
    assert guest.ask(f"complete {job} {run}") == "STALE"


CHAIN = '{"type": "chain", "steps": [{"type": "a"}, {"type": "b"}, {"type": "c"}]}'


@test
def what_waits_for_a_run_is_released_after_it(place):
    app, guest = place.session(), place.guest()
    flow = place.pawl("flow", "submit", "-", stdin=CHAIN).strip()

    def states():
        nodes = json.loads(place.pawl("flow", "show", flow, "--json"))["nodes"]
        return [node["state"] for node in nodes]

    first, run = guest.ask("claim default w").split()
    app.sql(f"SELECT pawl_complete('{first}', {run}, '[1]')")
    assert states() == ["completed", "pending", "pending"]
    place.settle()
    assert states() == ["completed", "available", "pending"]
    second, run = guest.ask("claim default w").split()
    app.sql("BEGIN")
    app.sql(f"SELECT pawl_complete('{second}', {run})")
    app.sql("ROLLBACK")
    place.settle()
    assert states() == ["completed", "active", "pending"]
    app.sql(f"SELECT pawl_fail('{second}', {run}, retryable => false)")
    place.settle()
    assert states() == ["completed", "discarded", "cancelled"]
    assert json.loads(place.pawl("flow", "show", flow, "--json"))["state"] == "failed"


@test
def a_lost_run_is_refused(place):
    app, guest = place.session(), place.guest()
    job = app.sql("SELECT pawl_submit('mail.send', attempts_max => 5)")
    assert guest.ask("claim default w") == f"{job} 1"
    assert guest.ask(f"give_back {job} 1 0") == "OK"
    assert guest.ask("claim default w") == f"{job} 2"
    for call in ("pawl_complete", "pawl_fail", "pawl_give_back"):
        refuses(app, f"SELECT {call}('{job}', 1)", "PW007", "run",
                f'run 1 of job "{job}" is over: the job is active and has had 2 runs')
        refuses(app, f"SELECT {call}('{job.replace(job[-4:], 'ffff')}', 1)", "PW003", "job",
                "there is no job")
        refuses(app, f"SELECT {call}('{job}', 0)", "PW001", "run", "the number that the claim")
    refuses(app, f"SELECT pawl_complete('{job}', 2, '[')", "PW001", "result", "not valid JSON")
    app.sql(f"SELECT pawl_give_back('{job}', 2)")  # at once: no rule is needed for that
    assert guest.ask("claim default w") == f"{job} 3"
    app.sql(f"SELECT pawl_complete('{job}', 3, '{{}}'::jsonb)")


@test
def a_report_ends_the_run_and_a_node_decides_what_follows(place):
    app, guest = place.session(), place.guest()
    for number, report in enumerate(("pawl_fail('{}', 1, 'boom', type => 'io.disk')",
                                     "pawl_give_back('{}', 1, '1 h')")):
        lane = f"q{number}"
        job = app.sql(f"SELECT pawl_submit('a', queue => '{lane}')")
        assert guest.ask(f"claim {lane} w") == f"{job} 1"
        report = "SELECT " + report.format(job)
        app.sql("BEGIN")
        app.sql(report)
        refuses(app, report, "PW007", "run", "is over: its end has been reported")
        app.sql("ROLLBACK")  # so it never was
        app.sql("BEGIN")
        app.sql(report)
        app.sql("COMMIT")
        for call in (report, f"SELECT pawl_complete('{job}', 1)",
                     f"SELECT pawl_give_back('{job}', 1)"):
            refuses(app, call, "PW007", "run", "is over: its end has been reported")
        # whoever started the run reports its end too
        assert guest.ask(f"complete {job} 1") == "STALE"
        assert guest.ask(f"fail {job} 1 - - other") == "STALE"
        assert guest.ask(f"give_back {job} 1 0") == "STALE"
        assert place.show(job)["state"] == "active"
        place.settle()
        assert place.show(job)["state"] == ("retryable", "scheduled")[number]
        assert place.sql(f"SELECT ties IS NULL FROM pawl_job WHERE id = '{job}'") == "t"
    assert [f["type"] for f in json.loads(place.pawl("show", place.sql(
        "SELECT id FROM pawl_failure"), "--json"))["failures"]] == ["io.disk"]


@test
def a_reported_failure_is_no_lost_lease(place):
    """Even when the lease has ended before a node could look at the report."""
    app, guest, holder = place.session(), place.guest(), place.session()
    job = app.sql("SELECT pawl_submit('a')")
    assert guest.ask("claim default w") == f"{job} 1"
    app.sql(f"SELECT pawl_fail('{job}', 1, 'boom')")
    place.sql("UPDATE pawl_job SET lease_until_ms = 1; UPDATE pawl_lease SET until_ms = 1")
    holder.sql("BEGIN")
    holder.sql("SELECT 1 FROM pawl_unsettled FOR UPDATE")  # another node has it in hand
    place.pawl("upkeep")
    assert place.show(job)["state"] == "active"
    holder.sql("ROLLBACK")
    place.settle()
    assert place.show(job)["state"] == "retryable"
    assert place.sql("SELECT count(*), bool_or(lapsed), min(message) FROM pawl_failure") \
        == "1|f|boom"


@test
def an_operator_is_faster_than_a_report(place):
    app, guest = place.session(), place.guest()
    job = app.sql("SELECT pawl_submit('a')")
    assert guest.ask("claim default w") == f"{job} 1"
    app.sql(f"SELECT pawl_fail('{job}', 1, 'boom')")
    place.pawl("cancel", job)
    place.settle()
    assert place.show(job)["state"] == "cancelled"
    assert place.sql("SELECT count(*) FROM pawl_failure") == "0"


@test
def a_node_is_woken_to_decide(place):
    """The node looks for jobs once an hour."""
    app, guest, node = place.session(), place.guest(), place.guest()
    assert node.ask("work mail.send default") == "OK"
    for policy in ("retry => '{}'", "retry => '{\"backoff\":\"immediate\"}'",
                   "uniqueness => '{\"keys\":[\"type\"]}'"):
        job = app.sql(f"SELECT pawl_submit('mail.send', {policy})")
        assert node.line() == "ran " + job
    job = app.sql("SELECT pawl_submit('a', queue => 'q')")
    assert guest.ask("claim q w") == f"{job} 1"
    app.sql(f"SELECT pawl_fail('{job}', 1, 'boom', retry_after => '1 h')")
    for _ in range(PATIENCE_S * 20):
        if place.show(job)["state"] == "retryable":
            break
        time.sleep(0.05)
    assert place.show(job)["state"] == "retryable"


@test
def an_application_in_c_does_it_in_its_transaction(place):
    app, guest = place.application(), place.guest()
    assert app.ask("sql BEGIN") == "OK"
    job, state = app.ask("submit mail.send [7] -").split()
    assert state == "pending"
    assert app.ask("sql ROLLBACK") == "OK"
    place.pawl("show", job, code=1)
    job = app.ask("submit mail.send [7] key").split()[0]
    again = app.ask("submit mail.send [7] -").split()[0]
    place.settle()
    assert place.show(again)["state"] == "cancelled" and job in place.show(again)["reason"]
    said = app.ask("submit mail.send [8] key")
    assert said == f'DUPLICATE business_key: job "{job}", which is available, holds the same ' \
        "business_key", said
    assert app.ask("submit Mail [8] key").startswith("ARG type: type \"Mail\" must be")
    shown = place.show(job)
    assert (shown["args"], shown["tags"]) == ([7], ["one", 'two "quoted"']), shown
    assert (shown["timeout_ms"], shown["max_attempts"], shown["priority"]) == (1500, 4, 3), shown
    assert guest.ask("claim default w") == f"{job} 1"
    assert app.ask(f"give_back {job} 1 0") == "OK"
    assert guest.ask("claim default w") == f"{job} 2"
    assert app.ask(f"complete {job} 1 {{}}").startswith("STALE run: run 1 of job")
    assert app.ask(f"fail {job} 2") == "OK"  # what follows is not known yet
    place.settle()
    failed = place.show(job)
    assert failed["state"] == "retryable", failed
    assert failed["failures"][-1]["retry_delay_ms"] == 5000, failed
    job = app.ask("submit mail.send [9] -").split()[0]
    place.settle()
    assert guest.ask("claim default w") == f"{job} 1"
    assert app.ask("sql BEGIN") == "OK"
    # what breaks a rule is not sent, so that the transaction lives
    assert app.ask(f"complete {job} 1 {{").startswith("ARG result: ")
    assert app.ask(f"give_back {job} 1 -1").startswith("ARG delay_ms: ")
    assert app.ask(f"fail {job} 0").startswith("ARG run: ")
    assert app.ask(f'complete {job} 1 {{"n":1}}') == "OK"
    assert place.show(job)["state"] == "active"
    assert app.ask("sql COMMIT") == "OK"
    assert place.show(job)["result"] == {"n": 1}
    elsewhere = place.application(place.postgres.url)
    assert elsewhere.ask("submit mail.send [7] -").startswith("NOT_FOUND store: there is no store")


# ---- the same as the library ----

YEAR_3000 = 32503680000
FIELDS = embed_sql.read_lists(os.path.join(ROOT, "src/fields/fields.h"))


def parameters(*kinds):
    """What pawl_submit calls the fields of these kinds."""
    return [{"idempotency_ms": "idempotency_for"}.get(member, member.removesuffix("_ms"))
            for member, kind, *_ in FIELDS["SPEC_FIELDS"] if kind in kinds]


DURATIONS, INSTANTS = parameters("MS", "LEASE"), parameters("AT")
APART = ("delay", "due_at", "expires_in", "expires_at", "idempotency_for")
EVERY = {name: 86400000 + i if name in DURATIONS else YEAR_3000 + i if name in INSTANTS
         else f"some {name}"
         for i, name in enumerate(parameters("MS", "LEASE", "AT", "NOTE")) if name not in APART}
SPECS = [
    {},
    {"args": '[1, 2.50,{"b":[null,true],"a":"\\u00e9 \\" "}]', "queue": "q.1", "priority": -7},
    {"args": "[]", "delay": 3600000, "expires_in": 60000, "timeout": 1500, "lease": 90000},
    {"due_at": YEAR_3000, "expires_at": YEAR_3000 + 5, "keep": 86400000, "pending": True},
    {"due_at": 5, "sla_soft_at": YEAR_3000, "sla_hard_at": YEAR_3000 + 1, "priority": 100},
    {"sla_hard_at": 1000},
    EVERY,
    {"meta": '{ "tenant" : "t1", "n": 1e2}', "tags": [" A ", "b", "a", "", "é"]},
    {"extra": '{"x":[1]}', "retry": '{"attempts_max":9}'},
    {"retry": '{"backoff":"constant","initial_ms":600000,"jitter":false}'},
    {"retry": '{"coefficient":1.1,"cap_ms":86400000,"exponent_max":20,"jitter_low":0.25,'
              '"jitter_high":1e3,"on_exhaustion":"dead_letter",'
              '"non_retryable":["auth.*","x\\"y"]}'},
    {"retry": '{"coefficient":12345678901234567890.5,"jitter_low":0.00001234,"initial_ms":1.0e3}'},
    {"type": "f.one", "on_success": '{"type":"next","queue":"default","args":[]}',
     "on_failure": '{"type":"alarm","queue":"ops","args":[1],"delay_ms":7,"retry":'
                   '{"attempts_max":9},"on_failure":{"type":"page","queue":"default","args":[]}}'},
    {"idempotency_key": "i1"},
    {"idempotency_key": "i2", "idempotency_for": 3600000, "business_key": "b ä"},
    {"uniqueness": '{"keys":["type"]}', "type": "u.one@1.0"},
    {"uniqueness": '{"keys":["queue","args"],"period_ms":60000}', "type": "u.two",
     "args": '[100, 1.50, -0, 1E2, 0.000001, 1e-7, 123456789012345678901234567890, 1e21, 1e400,'
             ' -12.5e-3, "\\ud83d\\ude00\\u0001\\n\\/", {"z":1,"\u00e9":2,"a":{"c":[],"b":{}}}]'},
    {"uniqueness": '{"keys":["args","meta"],"args_keys":["to","id","to"],"meta_keys":["x","t"],'
                   '"states":["completed","active"],"on_conflict":"ignore"}', "type": "u.three",
     "args": '[{"id":1,"to":"a"},"to",{"to":[1.0]}]', "meta": '{"t":null,"other":1}'},
    # the second of each of these meets the first
    {"uniqueness": '{"keys":["type"],"on_conflict":"replace"}', "type": "u.four"},
    {"uniqueness": '{"keys":["type"],"on_conflict":"replace"}', "type": "u.four"},
    {"uniqueness": '{"keys":["type"],"on_conflict":"replace_except_schedule"}', "type": "u.five",
     "due_at": YEAR_3000},
    {"uniqueness": '{"keys":["type"],"on_conflict":"replace_except_schedule"}', "type": "u.five"},
    {"uniqueness": '{"keys":["type"],"on_conflict":"ignore"}', "type": "u.six"},
    {"uniqueness": '{"keys":["type"],"on_conflict":"ignore"}', "type": "u.six"},
    {"idempotency_key": "i1", "business_key": "b ä"},
]
FACTS = [column for _, column, *_ in FIELDS["JOB_FACTS"]
         if column not in ("created_at_ms", "due_at_ms", "expires_at_ms", "ties")]


def quote(text):
    return "'" + text.replace("'", "''") + "'"


def as_sql(spec):
    """The call of pawl_submit."""
    parts = []
    for name, value in {"type": "plain", **spec}.items():
        if name in DURATIONS:
            text = f"interval '{value} milliseconds'"
        elif name in INSTANTS:
            text = f"to_timestamp({value})"
        elif name == "tags":
            text = "ARRAY[" + ",".join(map(quote, value)) + "]"
        else:
            text = quote(value) if isinstance(value, str) else json.dumps(value)
        parts.append(f"{name} => {text}")
    return f"SELECT pawl_submit({', '.join(parts)})"


def as_line(spec):
    """The line that "pawl submit" reads, in which payloads stand as they are."""
    names = {"uniqueness": "unique", **{name: name + "_ms" for name in DURATIONS},
             "idempotency_for": "idempotency_ms"}
    parts = []
    for name, value in {"type": "plain", **spec}.items():
        if name in ("args", "meta", "extra", "retry", "uniqueness", "on_success", "on_failure"):
            text = value
        elif name in INSTANTS:
            text = time.strftime('"%Y-%m-%dT%H:%M:%SZ"', time.gmtime(value))
        else:
            text = json.dumps(value)
        parts.append(f'"{names.get(name, name)}":{text}')
    return "{" + ",".join(parts) + "}"


ROWS = """
SELECT json_build_object('type', n.type, 'queue', q.name, 'wait', (j.due_at_ms - j.created_at_ms)
        / 60000, 'live', j.expires_at_ms - j.due_at_ms, 'state', j.state,
    'rank', (j.rank - j.due_at_ms) / 60000, 'reason', j.reason, 'keys', encode(j.keys, 'hex'),
    'held', (SELECT json_agg(json_build_array(encode(k.digest, 'hex'), k.until_ms - j.created_at_ms)
        ORDER BY k.digest) FROM pawl_key AS k WHERE k.id = j.id),
    'tagged', (SELECT json_agg(t.tag ORDER BY t.tag) FROM pawl_tag AS t WHERE t.id = j.id),
    'facts', json_build_object({facts}),
    'audit', (SELECT json_agg(json_build_array(e.action, e.reason, e.from_state, e.to_state))
        FROM pawl_audit AS e WHERE e.job_id = j.id),
    'deadline', EXISTS (SELECT 1 FROM pawl_deadline AS d WHERE d.job_id = j.id),
    'failures', (SELECT json_agg(json_build_array(f.run, f.attempt, f.lapsed, f.retry_delay_ms,
        f.worker, f.type, f.code, f.message) ORDER BY f.run) FROM pawl_failure AS f
        WHERE f.id = j.id),
    'place', json_build_array(j.run, j.base_run, j.free_runs, j.worker, j.dead_letter, j.result,
        j.started_at_ms IS NULL, j.lease_until_ms, j.finished_at_ms IS NULL, j.waits, j.held,
        j.perishes, j.paused_from, j.end_reason),
    'rolls', json_build_array(
        j.state = 2 AND EXISTS (SELECT 1 FROM pawl_ready AS r WHERE r.lane = j.lane
            AND r.rank = j.rank AND r.seat = coalesce(j.arrival, j.id) AND r.ids = ARRAY[j.id]),
        EXISTS (SELECT 1 FROM pawl_ended AS e WHERE e.state = j.state
            AND e.finished_at_ms = j.finished_at_ms AND e.ids = ARRAY[j.id])))
FROM pawl_job AS j
JOIN pawl_lane AS n ON n.id = j.lane
JOIN pawl_queue AS q ON q.id = n.queue_id
ORDER BY j.created_at_ms, j.id
""".replace("{facts}", ", ".join(f"'{column}', j.{column}" for column in FACTS))


def rows(place):
    return [json.loads(line) for line in place.sql(ROWS).splitlines()]


POLICY = {"attempts_max": 3, "backoff": "exponential", "initial_ms": 1000, "coefficient": 2,
          "cap_ms": 300000, "exponent_max": 0, "jitter": True, "jitter_low": 0.5,
          "jitter_high": 1.5, "on_exhaustion": "discard", "non_retryable": []}


def resolved(policy):
    """All of it: from SQL a policy is kept as it was given, and the library leaves defaults out."""
    cap_ms = max(POLICY["cap_ms"], policy.get("initial_ms", 0))
    return {**POLICY, "cap_ms": cap_ms, **policy}


def normal(policy):
    """The same for a unique policy."""
    if not policy:
        return policy
    return {"on_conflict": "reject", **policy, "keys": sorted({"type", *policy["keys"]}),
            "states": sorted(policy.get("states", []))}


def compare(ours, theirs):
    for row in ours + theirs:
        if "facts" in row:
            row["facts"]["retry"] = resolved(json.loads(row["facts"]["retry"] or "{}"))
            row["facts"]["uniqueness"] = normal(json.loads(row["facts"]["uniqueness"] or "{}"))
        if "retry" in row:
            row["retry"] = resolved(row["retry"])
        if "unique" in row:
            row["unique"] = normal(row["unique"])
    assert len(ours) == len(theirs), (len(ours), len(theirs))
    for here, there in zip(ours, theirs):
        # they were submitted one after the other: the minute may have changed between them
        for name in ("wait", "rank"):
            minutes = here.pop(name, None), there.pop(name, None)
            assert minutes[0] == minutes[1] or abs(minutes[0] - minutes[1]) <= 1, (minutes, here)
        assert here == there, f"\nSQL:     {here}\nlibrary: {there}"


@test
def submits_what_the_library_submits(place):
    other = place.beside()
    app, ours, theirs = place.session(), [], []
    for spec in SPECS:
        ours.append(app.sql(as_sql(spec)))
        if {"retry", "uniqueness", "on_success"} & set(spec):
            place.settle()  # it is held until a node has checked the policy or the follow-ups
        theirs.append(json.loads(other.pawl("submit", "-", "--json", stdin=as_line(spec)))["id"])
        if theirs[-1] in theirs[:-1] and ours[-1] not in ours[:-1]:
            # ignored: the transaction had its job before a node could tell
            assert place.show(ours[-1])["state"] == "cancelled"
            place.pawl("delete", ours[-1])
            ours[-1] = ours[theirs.index(theirs[-1])]
    assert len(set(ours)) == len(set(theirs)) == len(SPECS) - 2, (ours, theirs)
    place.settle()
    other.settle()  # a deadline that has passed is reported in both
    compare(rows(place), rows(other))
    shown = [timeless(place.show(job)) for job in ours]
    compare(shown, [timeless(other.show(job)) for job in theirs])
    counts = "--json stats".split()
    mine, its = json.loads(place.pawl(*counts)), json.loads(other.pawl(*counts))
    assert mine["queues"] == its["queues"], (mine, its)


@test
def jobs_run_as_they_came_whatever_their_ids(place):
    app, guest = place.session(), place.guest()
    for round_, how in enumerate(("", "SET LOCAL synchronous_commit = on;")):
        given = [f"{(i * 37 + 11) % 61:02x}00000{round_}-0000-4000-8000-{i:012x}"
                 for i in range(30)]
        app.sql("BEGIN;" + how)
        jobs = [app.sql("SELECT pawl_submit('t', queue => 'q'" +
                        (f", id => '{job}'" if i % 3 else "") + ")")
                for i, job in enumerate(given)]
        app.sql("COMMIT")
        assert [job for i, job in enumerate(jobs) if i % 3] == \
            [job for i, job in enumerate(given) if i % 3]
        claimed = [guest.ask("claim q w").split()[0] for _ in jobs]
        assert claimed == jobs, (claimed, jobs)


FAILURES = [
    ("{}", "- - boom", "", 3), ("{}", "io.disk E7 -", "", 1),
    ('{"attempts_max":2,"on_exhaustion":"dead_letter","jitter":false}', "- - a", "", 2),
    ('{"non_retryable":["auth.*"]}', "auth.token - a", "", 1),
    ('{"non_retryable":["auth.*"]}', "auth - a", "", 1),
    ('{"non_retryable":["E7"],"on_exhaustion":"dead_letter"}', "- E7 a", "", 1),
    ("{}", "x DISCARD a", "", 1), ("{}", "x DEAD_LETTER a", "", 1), ("{}", "x FAIL a", "", 1),
    ('{"backoff":"linear","jitter":false,"initial_ms":70,"attempts_max":9}', "- - a", "", 3),
    ('{"backoff":"polynomial","coefficient":2.5,"jitter":false,"attempts_max":9}', "- - a", "", 3),
    ('{"coefficient":1.5,"jitter":false,"attempts_max":9}', "- - a", "", 3),
    ('{"jitter":false,"exponent_max":1,"attempts_max":9}', "- - a", "", 4),
    ('{"jitter":false,"cap_ms":1500,"attempts_max":9}', "- - a", "", 3),
    ('{"backoff":"immediate"}', "- - a", "", 1),
    ('{"backoff":"constant","jitter":false}', "- - a", "", 1),
    ('{"jitter":false}', "- - a", "expired", 1),
]


def fail_by_sql(app, job, run, report):
    names = ("type", "code", "message")
    given = [f"{name} => {quote(value)}" for name, value in zip(names, report.split())
             if value != "-"]
    app.sql(f"SELECT pawl_fail('{job}', {run}, {', '.join(given)})")


@test
def fails_as_the_library_fails(place):
    other = place.beside()
    states = []
    for where, sql in ((place, True), (other, False)):
        app, guest, seen = where.session(), where.guest(), []
        for number, (retry, report, more, runs) in enumerate(FAILURES):
            lane = f"q{number}"
            job = app.sql(f"SELECT pawl_submit('f', queue => '{lane}', retry => '{retry}')")
            where.settle()
            for run in range(1, runs + 1):
                # due at once, whatever the policy said
                app.sql(f"WITH due AS (UPDATE pawl_job SET state = 2, waits = false, worker = NULL,"
                        f" started_at_ms = NULL WHERE id = '{job}' AND state = 5 RETURNING lane, "
                        f"rank, id), ready AS (INSERT INTO pawl_ready SELECT lane, rank, id, "
                        f"ARRAY[id] FROM due) INSERT INTO pawl_count_delta SELECT lane, c.state, "
                        f"c.delta FROM due, (VALUES (5, -1), (2, 1)) AS c (state, delta)")
                assert guest.ask(f"claim {lane} w") == f"{job} {run}"
                if more == "expired":
                    app.sql(f"UPDATE pawl_job SET expires_at_ms = 1 WHERE id = '{job}'")
                if sql:
                    fail_by_sql(app, job, run, report)
                    where.settle()
                    state = where.show(job)["state"]
                else:
                    state = guest.ask(f"fail {job} {run} {report}")
                seen.append(state.replace("available", "retryable"))  # settling promotes as well
        states.append(seen)
    assert states[0] == states[1], states
    ours, theirs = rows(place), rows(other)
    for row in ours + theirs:
        for failure in row["failures"]:
            if '"jitter":false' not in (row["facts"]["retry"] or ""):
                failure[3] = failure[3] is not None  # drawn by lot
        row["wait"] = row["rank"] = row["live"] = None
        if row["state"] in (2, 5):
            row["state"], row["place"], row["rolls"] = "waits", row["place"][:3], None
    compare(ours, theirs)


@test
def gives_back_as_the_library_does(place):
    other = place.beside()
    for where, sql in ((place, True), (other, False)):
        app, guest = where.session(), where.guest()
        for lane, delay in (("now", 0), ("later", 3600000)):
            job = app.sql(f"SELECT pawl_submit('g', queue => '{lane}', delay => '0 s')")
            assert guest.ask(f"claim {lane} w") == f"{job} 1"
            if sql:
                app.sql(f"SELECT pawl_give_back('{job}', 1, interval '{delay} milliseconds')")
            else:
                assert guest.ask(f"give_back {job} 1 {delay}") == "OK"
    place.settle()
    compare(rows(place), rows(other))


# What only a node can tell: the job ends with the reason.
REFUSED_LATE = [
    ("retry => '{\"backoff\":\"never\"}'", "PW001", "retry.backoff", "must be exponential,"),
    ("retry => '{\"tries\":1}'", "PW001", "retry", 'no member "tries"'),
    ("retry => '{\"initial_ms\":1.5}'", "PW001", "retry.initial_ms", "a whole number"),
    ("retry => '{\"cap_ms\":10}'", "PW001", "retry.cap_ms", "is less than initial_ms"),
    ("retry => '{\"coefficient\":0.5}'", "PW001", "retry.coefficient", "at least 1"),
    ("retry => '{\"non_retryable\":[\"\"]}'", "PW001", "retry.non_retryable", "is empty"),
    ("retry => '{\"attempts_max\":-1}'", "PW001", "retry.attempts_max", "at least 1"),
    ("retry => '{\"attempts_max\":1.5}'", "PW001", "retry.attempts_max", "a whole number"),
    ("uniqueness => '{\"keys\":[\"colour\"]}'", "PW001", "unique.keys", '"colour"'),
    ("uniqueness => '{\"keys\":\"type\"}'", "PW001", "unique.keys", "must be an array"),
    ("uniqueness => '{\"keys\":[\"type\"],\"colour\":1}'", "PW001", "unique",
     'no member "colour"'),
    ("uniqueness => '{\"keys\":[\"type\"],\"on_conflict\":\"fight\"}'", "PW001",
     "unique.on_conflict", "must be reject, replace,"),
    ("uniqueness => '{\"keys\":[\"type\"],\"period_ms\":-1}'", "PW001", "unique.period_ms",
     "must not be negative"),
    ("uniqueness => '{\"keys\":[\"type\"],\"args_keys\":[\"a\"]}'", "PW001", "unique.args_keys",
     'needs "args"'),
    ("uniqueness => '{\"keys\":[\"args\"],\"args_keys\":[\"a\"]}'", "PW001", "unique.args_keys",
     "which no object in args has"),
    ("uniqueness => '{\"keys\":[\"meta\"]}'", "PW001", "unique.meta_keys", "is required"),
    ("uniqueness => '{\"keys\":[\"type\"],\"states\":[\"lost\"]}'", "PW001", "unique.states",
     "lost"),
    ("on_success => '{\"type\":\"b\",\"colour\":1}'", "PW001", "on_success.colour",
     'on_success: there is no option "colour"'),
    ("on_failure => '{\"type\":\"b\",\"on_success\":{\"type\":\"c\",\"delay_ms\":-1}}'",
     "PW001", "on_failure.on_success.delay_ms", "delay_ms must not be negative"),
]


REFUSED = [
    ("retry => '[]'", "PW001", "retry", "retry must be a JSON object"),
    ("type => NULL", "PW001", "type", "type is missing"),
    ("type => 'Mail'", "PW001", "type", "must be lower-case words joined by dots"),
    ("type => repeat('a', 256)", "PW017", "type", "type is longer than 255 bytes"),
    ("queue => '-q'", "PW001", "queue", 'queue "-q" must be a-z, 0-9'),
    ("priority => 101", "PW001", "priority", "priority 101 must lie between -100 and 100"),
    ("args => '{}'", "PW001", "args", "args must be a JSON array"),
    ("args => '[1,]'", "PW001", "args", "args: not valid JSON"),
    ("args => '[{\"a\":1,\"a\":2}]'", "PW001", "args", "a member occurs twice"),
    ("args => '[{\"a\":\":\",\"b\":[{\"c\":{},\"\\\\\":1,\"c\":2}]}]'", "PW001", "args",
     "a member occurs twice"),
    ("args => '[\"\\u0000\"]'", "PW018", "args", "args cannot be given from SQL"),
    ("args => '[1e999999]'", "PW018", "args", "args cannot be given from SQL"),
    ("args => '[\"\\ud800 \"]'", "PW001", "args", "surrogate must follow"),
    ("args => repeat('[', 33) || repeat(']', 33)", "PW017", "args", "deeper than 32 levels"),
    ("meta => '[]'", "PW001", "meta", "meta must be a JSON object"),
    ("meta => '{\"a\":\"' || repeat('x', 65536) || '\"}'", "PW017", "meta", "than 65536 bytes"),
    ("delay => '-1 s'", "PW001", "delay", "delay must not be negative"),
    ("delay => '101 years'", "PW001", "delay", "delay is more than 100 years"),
    ("lease => '99 ms'", "PW001", "lease", "is less than 100 ms"),
    ("due_at => 'infinity'", "PW001", "due_at", "due_at is beyond the year 9999"),
    ("due_at => now(), delay => '1 s'", "PW001", "due_at", "cannot both be given"),
    ("expires_at => now(), expires_in => '1 s'", "PW001", "expires_at", "cannot both be given"),
    ("sla_soft_at => '2030-01-02', sla_hard_at => '2030-01-01'", "PW001", "sla_soft_at",
     "must not be after"),
    ("business_key => ''", "PW001", "business_key", "business_key must not be empty"),
    ("business_key => E'a\\nb'", "PW001", "business_key", "without control characters"),
    ("idempotency_for => '1 s'", "PW001", "idempotency_for", "needs an idempotency_key"),
    ("attempts_max => 0", "PW001", "attempts_max", "attempts_max must be at least 1"),
    ("attempts_max => 2, retry => '{\"attempts_max\":2}'", "PW001", "attempts_max", "both"),
    ("uniqueness => '{}'", "PW001", "unique.keys", "must say what makes two jobs the same"),
    ("uniqueness => '[]'", "PW001", "unique", "unique must be a JSON object"),
    ("tags => ARRAY[repeat('x', 65)]", "PW017", "tags", "is longer than 64 bytes"),
    ("tags => (SELECT array_agg(n::text) FROM generate_series(1, 33) AS n)", "PW017", "tags",
     "more than 32"),
    ("id => '00000000-0000-0000-0000-000000000000'", "PW001", "id", "all zeroes"),
    ("on_success => '[]'", "PW001", "on_success", "on_success must be a JSON object"),
    ("on_failure => '{}'", "PW001", "on_failure.type", "on_failure: type is missing"),
    ("on_failure => '{\"type\":\"b\",\"queue\":\"-q\"}'", "PW001", "on_failure.queue", '"-q"'),
    ("on_failure => '{\"type\":\"b\",\"on_success\":7}'", "PW001", "on_failure.on_success",
     "must be a JSON object"),
    ("on_failure => '{\"type\":\"b\",\"on_success\":{\"type\":\"B\"}}'", "PW001",
     "on_failure.on_success.type", "must be lower-case words"),
    ("on_success => '" + "{\"type\":\"b\",\"on_success\":" * 3 + "{\"type\":\"b\"}" + "}" * 3 + "'",
     "PW017", "on_success.on_success.on_success.on_success", "nested more than 3 deep"),
    ("on_success => '{\"type\":\"b\",\"args\":[\"' || repeat('x', 65536) || '\"]}'", "PW017",
     "on_success", "than 65536 bytes"),
]
REFUSED += [(f"{name} => repeat('x', 256)", "PW017", name, "is longer than 255 bytes")
            for name in parameters("KEY", "NOTE")]


@test
def what_breaks_a_rule_is_refused_with_field_and_rule(place):
    app = place.session()
    for call, state, field, words in REFUSED:
        call = call if call.startswith("type") else "type => 'a', " + call
        refuses(app, f"SELECT pawl_submit({call})", state, field, words)
    job = app.sql("SELECT pawl_submit('a', id => gen_random_uuid())")
    refuses(app, f"SELECT pawl_submit('a', id => '{job}')", "PW004", "id", "there is a job")
    assert place.sql("SELECT count(*) FROM pawl_job") == "1"


@test
def what_only_a_node_can_refuse_ends_the_job_with_its_reason(place):
    app, guest = place.session(), place.guest()
    for number, (call, _, _, words) in enumerate(REFUSED_LATE):
        more = ("", ", pending => true", ", delay => '1 h'")[number % 3]
        job = app.sql(f"SELECT pawl_submit('a', {call}{more})")
        assert place.show(job)["state"] == "pending"
        assert guest.ask("claim default w") == "none"
        place.settle()
        shown = place.show(job)
        assert shown["state"] == "cancelled" and words in shown["reason"], (call, shown)
    for state, more in (("available", ""), ("pending", ", pending => true"),
                        ("scheduled", ", delay => '1 h'")):
        job = app.sql(f"SELECT pawl_submit('b', retry => '{{\"initial_ms\":7}}'{more})")
        place.settle()
        assert place.show(job)["state"] == state


FOLLOWED = ("on_success => '{\"type\":\"fresh.cheer\",\"queue\":\"new\"}', "
            "on_failure => '{\"type\":\"fresh.alarm\",\"queue\":\"new\",\"on_failure\":"
            "{\"type\":\"fresh.page\",\"queue\":\"newer\"}}'")


def made(place):
    """What followed, oldest first: type, and how the job before it ended."""
    jobs = json.loads(place.pawl("list", "--queue", "new", "--queue", "newer", "--oldest-first",
                                 "--json"))
    return [(job["type"], job["meta"]["parent_state"]) for job in jobs]


@test
def ends_from_sql_have_their_follow_ups(place):
    """In lanes that were made with the job: a node makes none inside a transaction."""
    app, guest = place.session(), place.guest()
    for _ in range(2):
        app.sql(f"SELECT pawl_submit('a', attempts_max => 1, {FOLLOWED})")
    place.settle()
    job, run = guest.ask("claim default w").split()
    app.sql("BEGIN")
    app.sql(f"SELECT pawl_complete('{job}', {run}, '{{\"n\":1}}')")
    app.sql("ROLLBACK")
    place.settle()
    assert made(place) == []
    app.sql(f"SELECT pawl_complete('{job}', {run}, '{{\"n\":1}}')")
    assert made(place) == []
    place.settle()
    assert made(place) == [("fresh.cheer", "completed")]
    job, run = guest.ask("claim default w").split()
    app.sql(f"SELECT pawl_fail('{job}', {run}, 'no')")
    place.settle()
    assert made(place) == [("fresh.cheer", "completed"), ("fresh.alarm", "discarded")]
    guest.ask("claim new w")
    alarm = guest.ask("claim new w").split()[0]
    place.pawl("cancel", alarm)
    assert made(place)[2:] == [("fresh.page", "cancelled")]
    assert place.sql("SELECT count(*) FROM pawl_unsettled") == "0"


@test
def jobs_from_c_are_followed_when_sql_ends_them(place):
    app, guest, pq = place.session(), place.guest(), place.application()
    place.pawl("submit", "a", "--on-success", '{"type": "cheer", "queue": "new"}')
    job, run = guest.ask("claim default w").split()
    assert pq.ask(f"complete {job} {run} 5") == "OK"
    place.settle()
    assert made(place) == [("cheer", "completed")]
    follow, run = guest.ask("claim new w").split()
    app.sql(f"SELECT pawl_complete('{follow}', {run}, '6')")  # of which nothing is left to a node
    assert place.sql("SELECT count(*) FROM pawl_unsettled") == "0"


# ---- the views ----


def mission(name):
    """The statements of a document, as they are printed there."""
    with open(os.path.join(HERE, "mission", name + ".sql"), encoding="utf-8") as file:
        statements = file.read().strip().split("\n\n")
    document = os.path.join(MISSION, name + ".txt")
    if os.path.exists(document):
        with open(document, encoding="utf-8") as file:
            text = file.read()
        for statement in statements:
            assert statement in text, f"{statement} is not in {document}"
    return statements


def plan_among_finished_jobs(app, statement):
    """How the server means to answer when far more jobs have ended than live."""
    app.sql("BEGIN")
    app.sql("INSERT INTO pawl_job (id, created_at_ms, due_at_ms, rank, lane, attempts_max, "
            "base_run, free_runs, priority, waits, held, perishes, dead_letter, state, run, "
            "started_at_ms, finished_at_ms, worker, args) SELECT gen_random_uuid(), 1, 1, 1, 1, 1, "
            "0, 0, 0, false, false, false, false, 7, 1, 1, 1, 'node-0', '[]' "
            "FROM generate_series(1, 20000)")
    app.sql("ANALYZE")
    plan = app.sql("EXPLAIN " + statement)
    app.sql("ROLLBACK")
    return plan


@test
def the_cluster_document_tells_the_truth(place):
    app, guest = place.session(), place.guest()
    make_lock, all_nodes, stale, active, per_node, locks = mission("ratchet-cluster-configuration")
    for _ in range(3):
        app.sql("SELECT pawl_submit('a')")
    for worker in ("node-0", "node-0", "node-1"):
        guest.ask("claim default " + worker)
    app.sql("SELECT pawl_submit('a')")  # waits
    app.sql("INSERT INTO pawl_node VALUES ('node-0', 'one', pawl__now() - 500000, pawl__now()),"
            "('node-1', 'two', pawl__now() - 900000, pawl__now() - 61000)")
    place.pawl("lock", "try", "held", "--owner", "node-0", "--ttl", "1h")
    place.pawl("lock", "try", "given-back", "--owner", "node-0", "--ttl", "1h")
    place.pawl("lock", "release", "given-back", "--owner", "node-0")
    app.sql("INSERT INTO pawl_lock VALUES ('old', 'node-1', 1, 1000, 2000)")
    assert "already exists, skipping" in app.sql(make_lock)
    listed = {line.split("|")[0]: line.split("|") for line in app.sql(all_nodes).splitlines()}
    nodes = {node["name"]: node for node in json.loads(place.pawl("node", "list", "--json"))}
    assert set(listed) == set(nodes) == {"node-0", "node-1"}
    assert [line[3] for _, line in sorted(listed.items())] == ["one", "two"]
    assert app.sql("SELECT pg_typeof(heartbeat_ts) FROM scheduler_node LIMIT 1") \
        == "timestamp with time zone"
    assert app.sql(stale).split("|")[0] == "node-1"
    assert app.sql(active).split("|")[0] == "node-0"
    assert sorted(app.sql(per_node).splitlines()) == ["node-0|2", "node-1|1"]
    assert {name: str(node["active"]) for name, node in nodes.items()} \
        == dict(line.split("|") for line in app.sql(per_node).splitlines())
    held = [line.split("|")[:2] for line in app.sql(locks).splitlines()]
    assert held == [["held", "node-0"]]
    assert held[0][0] in place.pawl("lock", "list")
    plan = plan_among_finished_jobs(app, per_node)
    assert "pawl_lease" in plan and "pawl_job_pkey" in plan, plan
    assert "Seq Scan on pawl_job" not in plan and "pawl_ended" not in plan, plan
    app.sql("DELETE FROM pawl_node; DELETE FROM pawl_lock")


@test
def the_claim_query_finds_what_a_claim_takes(place):
    app, guest = place.session(), place.guest()
    (claim,) = mission("ratchet-job-lifecycle")
    for priority, due in ((0, "5 min"), (3, "0"), (0, "1 h"), (-2, "0"), (0, "-1 h"),
                          (0, "2 min")):
        app.sql(f"SELECT pawl_submit('a', priority => {priority}, due_at => now() - interval "
                f"'{due}')")
    app.sql("\\set batchSize 3")
    expected = app.sql("SELECT id FROM pawl_job WHERE state = 2 ORDER BY rank, id").split("\n")
    found = [line.split("|")[0] for line in app.sql(claim).splitlines()]
    assert found == expected[:3], (found, expected)
    for statement in (claim, "SELECT * FROM scheduler_job WHERE status = 'FAILED'",
                      f"SELECT * FROM scheduler_job WHERE job_id = '{expected[0]}'"):
        plan = plan_among_finished_jobs(app, statement)
        assert "Seq Scan on pawl_job" not in plan, plan
    for job in expected:
        assert guest.ask("claim default node-7").split()[0] == job
    app.sql(f"SELECT pawl_complete('{expected[0]}', 1, '7')")
    app.sql(f"SELECT pawl_fail('{expected[1]}', 1, 'boom', code => 'FAIL')")
    app.sql(f"SELECT pawl_fail('{expected[2]}', 1, 'again', retry_after => '1 h')")
    place.settle()
    place.pawl("cancel", expected[3])
    words = dict(line.split("|") for line in
                 app.sql("SELECT job_id, status FROM scheduler_job").splitlines())
    for job, word in words.items():
        shown = json.loads(place.pawl("--vocabulary", "ratchet", "show", job, "--json"))
        assert shown["state"] == word, (shown["state"], word)
    assert sorted(words.values()) == ["CANCELED", "FAILED", "PENDING", "PENDING", "RUNNING",
                                      "SUCCEEDED"], words
    assert app.sql(f"SELECT picked_by, attempts, last_error FROM scheduler_job WHERE job_id = "
                   f"'{expected[2]}'") == "node-7|1|again"
    assert app.sql(f"SELECT job_result, terminated_at > picked_at - interval '1 s' FROM "
                   f"scheduler_job WHERE job_id = '{expected[0]}'") == "7|t"
    place.pawl("upkeep", "--archive-after", "1ms")
    assert app.sql("SELECT status FROM scheduler_job_archive ORDER BY 1").split() \
        == ["CANCELED", "FAILED", "SUCCEEDED"]


@test
def a_job_that_goes_and_comes_back_is_shown_once(place):
    app, guest = place.session(), place.guest()
    failed, waiting, later, held = (
        app.sql(f"SELECT pawl_submit('a', queue => 'q{number}', {more})") for number, more in
        enumerate(("tags => '{}'", "tags => '{}'", "delay => '1 h'", "pending => true")))
    assert guest.ask("claim q0 w") == f"{failed} 1"
    app.sql(f"SELECT pawl_fail('{failed}', 1, 'boom', code => 'FAIL')")
    place.settle()
    shown = "SELECT job_id, status, paused_from_status FROM scheduler_job ORDER BY created_at"
    before = app.sql(shown)
    assert [line.split("|")[1] for line in before.splitlines()] == ["FAILED"] + ["PENDING"] * 3
    for _ in range(2):
        place.pawl("pause", failed, waiting, later, held)
        assert app.sql(shown) == (f"{failed}|PAUSED|FAILED\n{waiting}|PAUSED|PENDING\n"
                                  f"{later}|PAUSED|PENDING\n{held}|PAUSED|PENDING")
        place.pawl("resume", failed, waiting, later, held)
        assert app.sql(shown) == before
    assert app.sql(f"SELECT terminal_error, last_error FROM scheduler_job WHERE job_id = "
                   f"'{failed}'") == "failed for good by its handler|boom"
    assert guest.ask("claim q1 w") == f"{waiting} 1"
    assert guest.ask(f"give_back {waiting} 1 0") == "OK"
    assert guest.ask("claim q1 w") == f"{waiting} 2"
    assert app.sql("SELECT job_id FROM scheduler_job WHERE status = 'RUNNING'") == waiting


# ---- the schema's versions ----


@test
def one_compatible_step_ahead_is_fine(place):
    newest = int(place.sql("SELECT max(version) FROM pawl_migration"))
    for rows_ahead, words in ((["true"], ""),
                              (["false"], "the step between them is not compatible"),
                              (["true", "true"], "that is more than one step")):
        for step, compatible in enumerate(rows_ahead, 1):
            place.sql(f"INSERT INTO pawl_migration VALUES ({newest + step}, 'x', 1, {compatible})")
        done = subprocess.run([PAWL, "--store", place.url, "submit", "a"], capture_output=True,
                              text=True, check=False)
        assert (done.returncode == 0) == (not words) and words in done.stderr, done.stderr
        place.sql(f"DELETE FROM pawl_migration WHERE version > {newest}")


def main():
    if not server.find_binaries():
        print("1..0 # SKIP there is no PostgreSQL server here (on Debian: postgresql)")
        return 0
    with server.Server() as postgres:
        return run_all(sys.argv[5:], lambda number: Place(postgres, f"s{number}"))


if __name__ == "__main__":
    os.environ["PAWL_MODULE_DIR"], PAWL, GUEST, PQ_GUEST = map(os.path.abspath, sys.argv[1:5])
    sys.exit(main())
