"""Trouble with the store, and its maintenance."""
import contextlib
import os
import signal
import sqlite3
import subprocess

from kit import (DEADLINE_S, PAWL, POSTGRES, SERVED, Skip, Terminal, equal, has, is_alive, test,
                 until)


@contextlib.contextmanager
def as_nobody():
    """Runs commands as a user without permissions."""
    if os.geteuid() != 0:
        raise Skip("only root can become another user")
    os.setegid(65534)
    os.seteuid(65534)
    try:
        yield
    finally:
        os.seteuid(0)
        os.setegid(0)


@test
def a_missing_store_is_not_made_by_looking(box):
    for args in (("list",), ("stats",), ("show", "01890000-0000-7000-8000-00000000dead"),
                 ("check",), ("cancel", "--all-matching", "--yes"), ("upkeep",), ("queue",)):
        done = box.fails(3, *args)
        has(done.err, "there is no store " + ("in database" if POSTGRES else 'at "pawl.db"'))
        has(done.err, 'hint: "pawl submit" creates a store; choose another with --store')
    box.has_no_store()


@test
def a_missing_directory_is_named(box):
    done = box.fails(3, "submit", "t", "--store", "sqlite:no/such/pawl.db")
    has(done.err, 'hint: there is no directory "no/such"')
    has(box.fails(3, "list", "--store", "sqlite:no/such/pawl.db").err, "mkdir -p")


@test
def a_directory_is_no_store(box):
    os.mkdir(box.file("dir"))
    has(box.fails(2, "submit", "t", "--store", "sqlite:dir").err,
        '"dir" is a directory\nhint: name a file in it')


@test
def a_file_that_is_no_database_is_left_alone(box):
    text = "this is a text, not a database\n" * 200
    box.file("notes.txt", text)
    for args in (("list",), ("submit", "t"), ("migrate",)):
        done = box.fails(3, *args, "--store", "sqlite:notes.txt")
        has(done.err, "database")
        has(done.err, "hint: this is not a pawl store")
    with open(box.file("notes.txt"), encoding="utf-8") as file:
        equal(file.read(), text)


@test
def a_store_may_live_beside_other_tables(box):
    db = sqlite3.connect(box.file("other.db"))
    db.execute("CREATE TABLE customer (name)")
    db.execute("INSERT INTO customer VALUES ('ann')")
    db.commit()
    db.close()
    other = ("--store", "sqlite:other.db")
    box.fails(3, "list", *other)  # looking does not make one there either
    box.ok("submit", "t", *other)
    equal(box.ok("list", "--count", *other).out, "1\n")
    db = sqlite3.connect(box.file("other.db"))
    equal(db.execute("SELECT name FROM customer").fetchall(), [("ann",)])
    db.close()


@test
def an_unknown_scheme_is_explained(box):
    has(box.fails(2, "list", "--store", "sqlite:").err, 'hint: write "sqlite:pawl.db"')
    has(box.fails(2, "list", "--store", "jobs.db").err,
        'hint: a store is a URL: "sqlite:jobs.db"')
    has(box.fails(2, "list", "--store", "carrier-pigeon://x").err, "sqlite:PATH")


@test
def a_store_that_may_not_be_written_is_explained(box):
    if POSTGRES or SERVED:
        raise Skip("about a file")
    job = box.submit("t")
    looks = (("list",), ("show", job[:20]), ("stats",), ("queue", "list"), ("node", "list"),
             ("check",), ("__known", "ids"))
    os.chmod(box.path, 0o755)
    with as_nobody():
        for args in looks:
            box.ok(*args)
        box.fails(124, "wait", job, "--timeout", "0s")
        done = box.fails(3, "submit", "t")
        has(done.err, "may not be written by this user; list, show, stats")
    # While another process writes it, and its log is beside it.
    node = subprocess.Popen([PAWL, "work", "--exec", "u=sleep 600"], cwd=box.path, env=box.env,
                            stderr=subprocess.DEVNULL)
    try:
        late = box.submit("u")
        until(lambda: box.job(late)["state"] == "active")
        with as_nobody():
            for args in looks:
                box.ok(*args)
            equal(box.job(late)["state"], "active")
            equal(os.listdir(box.path).count("pawl.db-wal"), 1)
    finally:
        node.kill()
        node.wait()


@test
def a_locked_store_has_a_hint(box):
    box.submit("t")
    with box.held():
        done = box.fails(3, "submit", "t", "--busy-timeout", "100ms")
        has(done.err, "hint: nothing was changed; --busy-timeout")
        equal(box.ok("list", "--count").out, "1\n")  # readers are not in its way
    box.submit("t")


def catches(child, number):
    """Whether the process has come so far as to handle the signal."""
    with open(f"/proc/{child.pid}/status", encoding="utf-8") as status:
        caught = next(line for line in status if line.startswith("SigCgt"))
    return bool(int(caught.split()[1], 16) & 1 << (number - 1))


@test
def waiting_for_a_locked_store_can_be_interrupted(box):
    job_id = box.submit("t")
    with box.held():
        child = box.start("priority", job_id, "5", stdout=subprocess.PIPE, stderr=subprocess.PIPE)
        while not catches(child, signal.SIGINT):
            assert child.poll() is None, "it did not wait"
        child.send_signal(signal.SIGINT)
        _, err = child.communicate(timeout=60)
        equal((child.returncode, err), (130, "pawl: interrupted\n"))


@test
def a_newer_schema_is_refused(box):
    box.submit("t")
    db = sqlite3.connect(box.file("pawl.db"))
    tables = [row[0] for row in db.execute(
        "SELECT name FROM sqlite_schema WHERE type = 'table' AND name LIKE '%migration%'")]
    version = db.execute("PRAGMA user_version").fetchone()[0]
    if version:
        db.execute(f"PRAGMA user_version = {version + 1000}")
    for table in tables:
        columns = [row[1] for row in db.execute(f"PRAGMA table_info({table})")]
        number = columns.index("version") if "version" in columns else 0
        row = list(db.execute(f"SELECT * FROM {table} LIMIT 1").fetchone())
        row[number] = 1001
        db.execute(f"INSERT INTO {table} VALUES ({','.join('?' * len(row))})", row)
    db.commit()
    db.close()
    for args in (("list",), ("submit", "t"), ("migrate",)):
        has(box.fails(3, *args).err, "newer")
    has(box.run("migrate", "--check").out + box.run("migrate", "--check").err, "100")
    equal(box.run("migrate", "--check").code, 3)


@test
def migrate_creates_the_store(box):
    equal(box.run("migrate", "--check").code, 1)
    box.has_no_store()
    has(box.ok("migrate").out, "schema: none before, version ")
    has(box.ok("migrate").out, ", up to date")
    has(box.ok("migrate", "--check").out, ", up to date")
    answer = box.ok("migrate", "--json").json
    equal(answer["before"], answer["after"])
    equal(answer["after"], answer["newest"])


@test
def backup_is_a_store_of_its_own(box):
    job_id = box.submit("t", '["kept"]')
    equal(box.ok("backup", "copy.db").out, "backed up to copy.db\n")
    box.ok("cancel", job_id)
    copy = ("--store", "sqlite:copy.db")
    equal(box.ok("show", job_id, "--json", *copy).json["state"], "available")
    box.ok("check", *copy)
    has(box.fails(1, "backup", "copy.db").err, "hint: choose another name")
    equal(box.ok("backup", "second.db", "--json").json, {"file": "second.db"})
    has(box.fails(3, "backup", "no/such/dir.db").err, 'there is no directory "no/such"')
    os.symlink("pawl.db", box.file("alias.db"))
    os.mkdir(box.file("dir"))
    for name, text in (("pawl.db", "is the store itself"), ("alias.db", "is the store itself"),
                       ("dir", "is a directory")):
        done = box.fails(1, "backup", name)
        has(done.err, text)
        assert "remove" not in done.err, done


@test
def check_finds_damage_and_exits_with_one(box):
    for _ in range(3):
        box.submit("t", '["' + "x" * 3000 + '"]')
    equal(box.ok("check").out, "no damage found\n")
    equal(box.ok("check", "--json").json, {"findings": [], "ok": True})
    db = sqlite3.connect(box.file("pawl.db"))
    db.execute("PRAGMA wal_checkpoint(TRUNCATE)")
    size = db.execute("PRAGMA page_size").fetchone()[0]
    # A page that belongs to the jobs' table, overwritten in its middle.
    root = db.execute("SELECT rootpage FROM sqlite_schema WHERE type = 'table' "
                      "AND name = 'pawl_job'").fetchone()[0]
    db.close()
    with open(box.file("pawl.db"), "r+b") as file:
        file.seek((root - 1) * size + 3)
        file.write(b"\xff" * 60)
    done = box.run("check")
    assert done.code in (1, 3) and done.err.startswith("pawl: "), done
    has(done.err, "hint: keep a copy of the file as it is")
    if done.code == 1:
        assert done.out, done
        answer = box.run("check", "--json").json
        assert not answer["ok"] and answer["findings"], answer


@test
def upkeep_does_what_is_due(box):
    box.submit("t", "--delay", "1ms")
    box.submit("t", "--expires", "1ms", "--delay", "1ms")
    done = box.submit("t")
    box.ok("cancel", done)
    first = box.ok("upkeep", "--json").json
    assert first["promoted"] + first["expired"] >= 2, first
    equal((first["archived"], first["purged"]), (0, 0))
    second = box.ok("upkeep", "--archive-after", "0s", "--purge-after", "never", "--json").json
    assert second["archived"] >= 1 and second["purged"] == 0, second
    equal(box.ok("list", "--count", "--state", "cancelled").out, "0\n")
    equal(box.ok("list", "--count", "--state", "cancelled", "--archived").out, "1\n")
    equal(box.job(done)["archived"], True)
    third = box.ok("upkeep", "--purge-after", "0s", "--json").json
    assert third["purged"] >= 1, third
    has(box.ok("upkeep").out, "promoted 0\n")


@test
def nodes_are_listed(box):
    box.ok("migrate")
    equal(box.ok("node").err, "no nodes\n")
    equal(box.ok("node", "--json").json, [])
    box.work("node:alpha")
    node = box.ok("node", "list", "--json").json[0]
    equal((node["name"], node["info"], node["active"]), ("alpha", "a test", 0))
    has(box.ok("node").out, "alpha")


@test
def a_lock_has_one_owner(box):
    equal(box.ok("lock", "try", "nightly", "--owner", "a").out, "1\n")
    has(box.fails(1, "lock", "try", "nightly", "--owner", "b").err, '"a"')
    lock = box.ok("lock", "--json").json[0]
    equal((lock["name"], lock["owner"], lock["fence"], lock["expired"]),
          ("nightly", "a", 1, False))
    has(box.ok("lock").out, "nightly")
    box.ok("lock", "renew", "nightly", "--owner", "a", "--ttl", "1h")
    box.fails(1, "lock", "renew", "nightly", "--owner", "b")
    box.fails(1, "lock", "release", "nightly", "--owner", "b")
    box.ok("lock", "release", "nightly", "--owner", "a")
    answer = box.ok("lock", "try", "nightly", "--owner", "b", "--json").json
    equal((answer["owner"], answer["action"]), ("b", "try"))
    assert answer["fence"] > 1, answer


@test
def a_lock_s_owner_must_be_said(box):
    for verb in ("try", "renew", "release"):
        has(box.fails(2, "lock", verb, "l").err, "hint: give each contender its own name")
    box.has_no_store()


# ---- running a command under a lock ----


def text_of(path):
    with open(path, encoding="utf-8") as file:
        return file.read()


def lock_of(box, name):
    """The lock, or None."""
    return next((lock for lock in box.ok("lock", "--json").json if lock["name"] == name), None)


@test
def a_command_runs_under_a_lock(box):
    done = box.run("lock", "run", "nightly", "--", "sh", "-c", "echo $PAWL_LOCK_FENCE; exit 7")
    equal((done.code, done.out), (7, "1\n"))
    equal(lock_of(box, "nightly"), None)
    done = box.run("lock", "run", "nightly", "--", "sh", "-c", "echo $PAWL_LOCK_FENCE; kill -9 $$")
    equal((done.code, done.out), (128 + 9, "2\n"))
    has(box.fails(127, "lock", "run", "nightly", "--", "no-such-command").err, "no-such-command")
    equal(lock_of(box, "nightly"), None)


@test
def a_command_does_not_run_without_its_lock(box):
    box.ok("lock", "try", "nightly", "--owner", "somebody", "--ttl", "1h")
    path = box.file("ran")
    has(box.fails(1, "lock", "run", "nightly", "--", "touch", path).err, '"somebody"')
    equal(os.path.exists(path), False)
    equal(lock_of(box, "nightly")["owner"], "somebody")
    has(box.fails(2, "lock", "run", "nightly").err, "COMMAND")
    for option in ("-l", "--long"):
        has(box.fails(2, "lock", "run", "nightly", "ls", option).err, 'hint: put "--" before')


@test
def a_lock_is_renewed_while_its_command_runs(box):
    box.ok("migrate")
    with box.start("lock", "run", "l", "--ttl", "9s", "--", "sleep", "100") as run:
        try:
            first = until(lambda: lock_of(box, "l"))
            until(lambda: lock_of(box, "l")["expires_at"] > first["expires_at"])
            box.fails(1, "lock", "try", "l", "--owner", "other")
            run.terminate()
            equal(run.wait(DEADLINE_S), 128 + 15)  # passed on
        finally:
            run.kill()
    equal(lock_of(box, "l"), None)


@test
def signals_reach_a_stopped_command(box):
    path = box.file("pid")
    with box.start("lock", "run", "l", "--", "sh", "-c", f"echo $$ >{path}; kill -STOP $$") as run:
        try:
            pid = until(lambda: os.path.exists(path) and text_of(path)).strip()
            until(lambda: " T " in text_of(f"/proc/{pid}/stat"))
            run.terminate()
            equal(run.wait(DEADLINE_S), 128 + 15)
        finally:
            run.kill()


@test
def the_command_gets_the_terminal_of_a_foreground_process(box):
    """The inner one runs in the background, and reading works after it."""
    script = f"set -m; {PAWL} lock run inner -- true & wait; read word; echo got $word"
    terminal = Terminal(box, "lock", "run", "outer", "--", "sh", "-c", script)
    try:
        terminal.type("this\n")
        terminal.read("got this")
        equal(terminal.end(), 0)
    finally:
        terminal.process.kill()


@test
def a_command_whose_lock_is_lost_is_stopped(box):
    box.ok("migrate")
    path = box.file("pid")
    script = f"sleep 1000 & echo $! >{path}; wait"
    with box.start("lock", "run", "l", "--ttl", "6s", "--", "sh", "-c", script,
                   stderr=subprocess.PIPE) as run:
        try:
            pid = int(until(lambda: os.path.exists(path) and text_of(path)))
            box.ok("lock", "release", "l", "--owner", lock_of(box, "l")["owner"])
            box.ok("lock", "try", "l", "--owner", "other", "--ttl", "1h")
            equal(run.wait(DEADLINE_S), 1)
            has(run.stderr.read(), 'lock "l" was lost')
            until(lambda: not is_alive(pid))  # with all that it had started
        finally:
            run.kill()
    equal(lock_of(box, "l")["owner"], "other")
