#!/usr/bin/env python3
"""Jobs from SQL in the transactions of programs that have the store's file open in SQLite: what the
extension writes is what the library would have written, and is seen when it is committed. Speaks
TAP.

Usage: sqlite_test.py PAWL GUEST EXTENSION [TEST]...
"""
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile

sys.dont_write_bytecode = True
from kit import Program, run_all, test, timeless

class Shell(Program):
    """An application: the sqlite3 shell with the extension."""

    def __init__(self, path):
        super().__init__(["sqlite3", "-batch", path])
        self.say(".timeout 100000")
        self.say(".load " + EXTENSION.removesuffix(".so"))

    def begin(self, text):
        self.say(text + ";\n.print @end")

    def end(self):
        lines = []
        while (line := self.line()) != "@end":
            lines.append(line)
        return "\n".join(lines)

    def sql(self, text):
        self.begin(text)
        return self.end()


class Box:
    """A file with the store and the application's own tables."""

    def __init__(self):
        self.dir = tempfile.mkdtemp(prefix="pawl-sql-")
        self.path = self.dir + "/app.db"
        self.open = []
        self.pawl("migrate")

    def pawl(self, *args, stdin="", code=0):
        done = subprocess.run([PAWL, "--store", "sqlite:" + self.path, *args], input=stdin,
                              text=True, capture_output=True, check=False)
        assert done.returncode == code, f"pawl {args}: {done.returncode} {done.stdout}{done.stderr}"
        return done.stdout

    def show(self, job):
        return json.loads(self.pawl("show", job, "--json"))

    def shell(self):
        self.open.append(Shell(self.path))
        return self.open[-1]

    def guest(self):
        self.open.append(Program([GUEST, "sqlite:" + self.path]))
        return self.open[-1]

    def close(self):
        for each in self.open:
            each.close()
        try:
            found = self.pawl("check")
            assert found == "no damage found\n", found
        finally:
            shutil.rmtree(self.dir)


@test
def rolled_back_is_never_seen(box):
    app, guest = box.shell(), box.guest()
    app.sql("BEGIN IMMEDIATE")
    job = app.sql("SELECT pawl_submit('mail.send', '[1]', '{\"business_key\":\"b\"}')")
    assert re.fullmatch(r"[0-9a-f-]{36}", job), job
    app.sql("ROLLBACK")
    assert guest.ask("claim default w") == "none"
    box.pawl("show", job, code=1)
    assert app.sql("SELECT count(*) FROM pawl_key") == "0"


@test
def committed_wakes_a_node(box):
    app, guest = box.shell(), box.guest()
    box.pawl("submit", "mail.send")
    assert guest.ask("work mail.send default") == "OK"
    assert guest.line().startswith("ran ")
    for options in ("{}", '{"delay_ms":1000}'):
        app.sql("BEGIN IMMEDIATE")
        job = app.sql(f"SELECT pawl_submit('mail.send', '[]', '{options}')")
        app.sql("COMMIT")
        assert guest.line() == "ran " + job
    job = app.sql("SELECT pawl_submit('mail.send')")  # a transaction of its own
    assert guest.line() == "ran " + job


@test
def writers_outside_and_inside_see_each_other(box):
    app, guest = box.shell(), box.guest()
    jobs = []
    for turn in range(20):  # new queues, lanes and fresh jobs on both sides
        lane = f"q{turn % 3}"
        jobs.append(app.sql(f"SELECT pawl_submit('t{turn % 4}', '[]', '{{\"queue\":\"{lane}\"}}')"))
        jobs.append(box.pawl("submit", f"t{turn % 5}", "--queue", lane).strip())
        if turn % 2:
            claimed = guest.ask(f"claim {lane} w").split()
            assert claimed[0] in jobs, claimed
            app.sql(f"SELECT pawl_complete('{claimed[0]}', {claimed[1]})")
    done = sum(box.show(job)["state"] == "completed" for job in jobs)
    assert done == 10, done
    for lane in ("q0", "q1", "q2"):
        while (claimed := guest.ask(f"claim {lane} w")) != "none":
            assert guest.ask("complete " + claimed) == "OK"
    assert all(box.show(job)["state"] == "completed" for job in jobs)


@test
def jobs_run_as_they_came_whatever_their_ids(box):
    app, guest = box.shell(), box.guest()
    given = [f"{(i * 37 + 11) % 61:02x}000000-0000-4000-8000-{i:012x}" for i in range(30)]
    app.sql("BEGIN")
    jobs = [app.sql("SELECT pawl_submit('t', '[]', '{\"queue\":\"q\"" +
                    (f', "id":"{job}"' if i % 3 else "") + "}')")
            for i, job in enumerate(given)]
    app.sql("COMMIT")
    assert [job for i, job in enumerate(jobs) if i % 3] == \
        [job for i, job in enumerate(given) if i % 3]
    claimed = [guest.ask("claim q w").split()[0] for _ in jobs]
    assert claimed == jobs, (claimed, jobs)


@test
def a_run_ends_with_its_effects(box):
    app, guest = box.shell(), box.guest()
    app.sql("CREATE TABLE sent (job)")
    job = app.sql("SELECT pawl_submit('mail.send')")
    assert guest.ask("claim default w") == f"{job} 1"
    for end, state, effects in (("ROLLBACK", "active", "0"), ("COMMIT", "completed", "1")):
        app.sql("BEGIN IMMEDIATE")
        app.sql(f"INSERT INTO sent VALUES ('{job}')")
        assert "Error" not in app.sql(f"SELECT pawl_complete('{job}', 1, '{{\"sent\":true}}')")
        app.sql(end)
        assert box.show(job)["state"] == state
        assert app.sql("SELECT count(*) FROM sent") == effects
    assert box.show(job)["result"] == {"sent": True}
    assert guest.ask(f"complete {job} 1") == "STALE"
    assert "STALE: run 1 of job" in app.sql(f"SELECT pawl_complete('{job}', 1)")
    assert "NOT_FOUND" in app.sql(f"SELECT pawl_complete('{job[:-4]}ffff', 1)")


@test
def a_failure_is_judged_by_the_policy(box):
    app, guest = box.shell(), box.guest()
    job = app.sql("SELECT pawl_submit('a', '[]', '{\"retry\":{\"attempts_max\":2}}')")
    assert guest.ask("claim default w") == f"{job} 1"
    assert app.sql(f"SELECT pawl_give_back('{job}', 1)") == ""
    assert guest.ask("claim default w") == f"{job} 2"
    assert app.sql(f"SELECT pawl_fail('{job}', 2, 'boom', 'io')") == "retryable"
    shown = box.show(job)
    assert shown["failures"][0]["message"] == "boom" and shown["failures"][0]["type"] == "io", shown
    assert "STALE" in app.sql(f"SELECT pawl_fail('{job}', 1, 'late')")


@test
def what_waits_for_a_run_is_released_with_it(box):
    app, guest = box.shell(), box.guest()
    chain = json.dumps({"nodes": [
        {"name": "A", "type": "a"},
        {"name": "B", "type": "b", "after": ["A"], "retry": {"attempts_max": 1}},
        {"name": "C", "type": "c", "after": ["B"]}]})
    flow = box.pawl("flow", "submit", "-", stdin=chain).strip()

    def states():
        return [node["state"] for node in json.loads(box.pawl("flow", "show", flow, "--json"))
                ["nodes"]]

    first, run = guest.ask("claim default w").split()
    for end, state in (("ROLLBACK", ["active", "pending"]), ("COMMIT", ["completed", "available"])):
        app.sql("BEGIN IMMEDIATE")
        assert app.sql(f"SELECT pawl_complete('{first}', {run})") == ""
        app.sql(end)
        assert states()[:2] == state, states()
    second, run = guest.ask("claim default w").split()
    assert app.sql(f"SELECT pawl_fail('{second}', {run}, 'no')") == "discarded"
    assert states() == ["completed", "discarded", "cancelled"], states()


@test
def two_with_one_key_take_turns(box):
    one, two = box.shell(), box.shell()
    submit = "SELECT pawl_submit('a', '[7]', '{\"unique\":{\"keys\":[\"args\"]}}')"
    one.sql("BEGIN IMMEDIATE")
    job = one.sql(submit)
    two.begin(submit)  # waits, or will: the lock is the other's
    one.sql("COMMIT")
    said = two.end()
    assert f'DUPLICATE: job "{job}", which is available, holds the same unique key' in said, said


SPECS = [
    ("[]", {}),
    ('[1, 2.50,{"b":[null],"a":"é"}]', {"queue": "q.1", "priority": -7, "tags": [" A ", "a"]}),
    ("[]", {"delay_ms": 3600000, "expires_in_ms": 60000, "timeout_ms": 1500, "lease_ms": 90000}),
    ("[]", {"meta": {"t": 1}, "extra": {"x": [1]}, "keep_ms": 5, "principal": "ann",
            "trace_id": "t", "pending": True}),
    ("[]", {"retry": {"attempts_max": 9, "backoff": "linear", "non_retryable": ["auth.*"]},
            "idempotency_key": "i", "idempotency_ms": 5000, "business_key": "b"}),
    ('[{"to":"a"}]', {"unique": {"keys": ["args", "queue"], "args_keys": ["to"], "period_ms": 5,
                                 "states": ["active"], "on_conflict": "ignore"}}),
]

@test
def submits_what_the_library_submits(box):
    app, other = box.shell(), Box()
    try:
        for args, options in SPECS:
            line = json.dumps({"type": "t", **options})[:-1] + f',"args":{args}}}'
            theirs = json.loads(other.pawl("submit", "-", "--json", stdin=line))["id"]
            ours = app.sql(f"SELECT pawl_submit('t', '{args}', '{json.dumps(options)}')")
            mine, its = timeless(box.show(ours)), timeless(other.show(theirs))
            assert mine == its, f"\nSQL:     {mine}\nlibrary: {its}"
        keys = "SELECT hex(keys) FROM pawl_job WHERE keys IS NOT NULL ORDER BY 1"
        dump = subprocess.run(["sqlite3", other.path, keys], capture_output=True, text=True,
                              check=True).stdout.strip()
        assert app.sql(keys) == dump, dump
    finally:
        other.close()


@test
def what_breaks_a_rule_is_refused(box):
    app = box.shell()
    app.sql("BEGIN IMMEDIATE; CREATE TABLE mine (x)")
    for call, words in (("'Mail'", 'ARG: type "Mail" must be'), ("NULL", "ARG: type is missing"),
                        ("'a', '{}'", "ARG: args must be a JSON array"),
                        ("'a', '[]', '[]'", "ARG: the options must be a JSON object"),
                        ("'a', '[]', '{\"colour\":1}'", 'ARG: there is no option "colour"'),
                        ("'a', '[]', '{\"priority\":101}'", "ARG: priority 101 must lie"),
                        ("'a', '[]', '{\"retry\":{\"tries\":1}}'", 'no member "tries"'),
                        ("'a', '[]', '{\"unique\":{\"keys\":[\"x\"]}}'", 'args and meta, not "x"'),
                        ("'a', '[]', '{\"id\":\"7\"}'", "ARG: id must be a UUID")):
        said = app.sql(f"SELECT pawl_submit({call})")
        assert words in said, said
    app.sql("COMMIT")
    assert app.sql("SELECT count(*) FROM mine") == "0"  # the transaction went on
    assert app.sql("SELECT count(*) FROM pawl_job") == "0"


@test
def a_database_without_a_store_is_told(box):
    app = Shell(box.dir + "/bare.db")
    said = app.sql("SELECT pawl_submit('a')")
    app.close()
    assert "NOT_FOUND: there is no store in this database" in said, said


PYTHON = """
import sqlite3, sys
db = sqlite3.connect(sys.argv[1])
if not hasattr(db, "enable_load_extension"):
    sys.exit(77)
db.enable_load_extension(True)
db.load_extension(sys.argv[2])
with db:
    db.execute("CREATE TABLE orders (item)")
    cursor = db.execute("INSERT INTO orders VALUES ('book')")
    print(db.execute("SELECT pawl_submit('order.ship', json_array(?))", (cursor.lastrowid,))
          .fetchone()[0])
    assert db.execute("SELECT last_insert_rowid()").fetchone()[0] == cursor.lastrowid
"""


@test
def python_calls_it_too(box):
    for python in (sys.executable, "/usr/bin/python3"):
        if not os.path.exists(python):
            continue
        done = subprocess.run([python, "-c", PYTHON, box.path, EXTENSION], capture_output=True,
                              text=True, check=False)
        if done.returncode == 77:  # built without
            continue
        assert done.returncode == 0, done.stderr
        assert box.show(done.stdout.strip())["args"] == [1]
        return


@test
def it_calls_the_hosts_sqlite_alone(_):
    done = subprocess.run(["nm", "-D", "--undefined-only", EXTENSION], capture_output=True,
                          text=True, check=True)
    assert "sqlite3_" not in done.stdout, done.stdout


def main():
    if not shutil.which("sqlite3"):
        print("1..0 # SKIP there is no sqlite3 here (on Debian: sqlite3)")
        return 0
    return run_all(sys.argv[4:], lambda _: Box())


if __name__ == "__main__":
    PAWL, GUEST, EXTENSION = map(os.path.abspath, sys.argv[1:4])
    sys.exit(main())
