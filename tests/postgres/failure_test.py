#!/usr/bin/env python3
"""Faults of the database server, and the errors of the store: refused connections, a locked job, a
standby, a full disk, a failover during commits. Prints TAP.

Usage: failure_test.py PAWL MODULE_DIR STEADY
"""
import json
import os
import signal
import subprocess
import sys
import time
import traceback
import urllib.error
import urllib.request

sys.dont_write_bytecode = True
import server
import steady

PATIENCE_S = 120
PAWL, MODULE_DIR, STEADY = map(os.path.abspath, sys.argv[1:4])
ENV = {**{name: value for name, value in os.environ.items()
          if not name.startswith(("PAWL_", "PG"))}, "PAWL_MODULE_DIR": MODULE_DIR}


def pawl(url, *args):
    return subprocess.run([PAWL, "--store", url, *args], env=ENV, cwd="/", text=True, check=False,
                          capture_output=True, timeout=PATIENCE_S)


def refused(url, *args):
    done = pawl(url, *args)
    assert done.returncode == 3, (args, done)
    return done.stderr


def until(what):
    end = time.monotonic() + PATIENCE_S
    while not (found := what()):
        assert time.monotonic() < end, "it did not happen"
        time.sleep(0.05)
    return found


class Front:
    """A `pawl serve`, and what it says of itself."""

    def __init__(self, url):
        self.process = subprocess.Popen(
            [PAWL, "serve", "--store", url, "--listen", "127.0.0.1:0", "--log-level", "error"],
            env=ENV, cwd="/", stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True)
        self.url = self.process.stdout.readline().split()[1]

    def ask(self, path, body=None):
        request = urllib.request.Request(
            self.url + path, data=None if body is None else json.dumps(body).encode(),
            headers={"Content-Type": "application/openjobspec+json"})
        try:
            with urllib.request.urlopen(request, timeout=PATIENCE_S) as reply:
                return reply.status, reply.read().decode()
        except urllib.error.HTTPError as error:
            with error:
                return error.code, error.read().decode()

    def healthy(self):
        return self.ask("/ojs/v1/health")[0] == 200

    def submits(self):
        return self.ask("/ojs/v1/jobs", {"type": "t", "args": [], "options": {"queue": "web"}})[0]

    def metric(self, name):
        for line in self.ask("/metrics")[1].splitlines():
            if line.startswith(name + " "):
                return float(line.split()[1])
        raise AssertionError(f"there is no metric {name}")

    def close(self):
        self.process.terminate()
        self.process.wait(PATIENCE_S)
        self.process.stdout.close()


# ---- connections that are refused ----

def refusals_say_what_to_do(postgres):
    def url(**parts):
        named = {"host": postgres.dir, "user": "pawl", "db": "postgres", **parts}
        return "postgres:///{db}?host={host}&user={user}".format(**named)

    postgres.sql("CREATE ROLE locked LOGIN PASSWORD 'right' CONNECTION LIMIT 0")
    said = refused(url(user="locked"), "stats")
    assert "too many connections" in said and "PgBouncer" in said, said
    postgres.sql("CREATE ROLE guest LOGIN PASSWORD 'right'")
    with open(postgres.data + "/pg_hba.conf", "r+", encoding="utf-8") as file:
        rest = file.read()
        file.seek(0)
        file.write("local all guest scram-sha-256\n" + rest)
    postgres.sql("SELECT pg_reload_conf()")

    def asks_for_password():  # the new rules are read soon
        return "PGPASSWORD" in refused(url(user="guest"), "stats")
    until(asks_for_password)
    said = refused(url(user="guest") + "&password=wrong", "stats")
    assert "password authentication failed" in said and "PGPASSWORD" in said, said
    assert "wrong" not in said, said
    said = refused(url(db="nosuch"), "submit", "a.b")
    assert 'database "nosuch" does not exist' in said and "with createdb, or" in said, said
    said = refused(url(user="nobody_known"), "stats")
    assert 'role "nobody_known" does not exist' in said and "with createuser, or" in said, said
    said = refused(url(host="/tmp/no-such-directory"), "stats")
    assert "is the server running there?" in said, said
    done = pawl(url(), "stats")  # a database without a store
    assert done.returncode == 3 and "there is no store" in done.stderr, done
    # may look, may not write
    assert pawl(url(), "submit", "a.b").returncode == 0
    postgres.sql("GRANT SELECT ON ALL TABLES IN SCHEMA public TO guest")
    assert pawl(url() , "stats").returncode == 0
    said = refused(url(user="guest") + "&password=right", "submit", "a.b")
    assert "permission denied" in said and "the user must own the database" in said, said
    done = pawl(url(), "backup", "/tmp/never.dump")
    assert done.returncode == 3 and "pg_dump" in done.stderr, done
    done = pawl(url(), "check")
    assert (done.returncode, done.stdout) == (0, "no damage found\n"), done


def looking_needs_no_more_than_select(postgres):
    """Not even the right to make temporary tables, and nothing is written."""
    postgres.sql("CREATE DATABASE seen")
    postgres.sql("CREATE ROLE looker LOGIN")
    postgres.sql("REVOKE ALL ON DATABASE seen FROM PUBLIC; GRANT CONNECT ON DATABASE seen "
                 "TO looker")
    url = f"postgres:///seen?host={postgres.dir}&user="
    job_id = pawl(url + "pawl", "submit", "a.b").stdout.strip()
    assert pawl(url + "pawl", "lock", "try", "l", "--owner", "me", "--ttl", "1h"
                ).returncode == 0
    assert pawl(url + "pawl", "skip", job_id).returncode == 0
    postgres.sql("REVOKE CREATE ON SCHEMA public FROM PUBLIC; GRANT USAGE ON SCHEMA public "
                 "TO looker; GRANT SELECT ON ALL TABLES IN SCHEMA public TO looker", url + "pawl")
    for command in (["stats"], ["list"], ["list", "--count", "--state", "skipped"],
                    ["show", job_id], ["show", job_id[:18]], ["wait", job_id], ["queue", "list"],
                    ["lock", "list"], ["node", "list"], ["dead", "list"], ["migrate", "--check"],
                    ["check"]):
        done = pawl(url + "looker", *command)
        assert done.returncode == 0 and "pawl: " not in done.stderr, (command, done)
    for command in (["submit", "a.b"], ["retry", job_id], ["queue", "pause", "default"]):
        assert "permission denied" in refused(url + "looker", *command), command


# ---- what others hold ----

def lapsed_job_that_is_held_is_asked_about_now_and_then(postgres):
    """Its worker is gone, but somebody holds the job: a node cannot take it back, and must not try
    as fast as it can, for each time is a transaction that writes."""
    most_per_second, seconds = 25, 3  # it looks again after 50 ms
    postgres.sql("CREATE DATABASE held")
    url = f"postgres:///held?host={postgres.dir}&user=pawl"
    assert pawl(url, "submit", "t").returncode == 0
    side = [postgres.bin + "/psql", "-XAtq", "-v", "ON_ERROR_STOP=1", url]
    subprocess.run([*side, "-c", "UPDATE pawl_job SET state = 4, run = 1, started_at_ms = 1,"
                    " lease_until_ms = 2, worker = 'gone'",
                    "-c", "INSERT INTO pawl_lease SELECT 2, 'gone', array_agg(id) FROM pawl_job"],
                   check=True)

    def writes():
        return int(subprocess.run([*side, "-c", "SELECT pg_snapshot_xmax(pg_current_snapshot())"],
                                  check=True, capture_output=True, text=True).stdout)

    def states():
        return subprocess.run([*side, "-c", "SELECT state, run FROM pawl_job"], check=True,
                              capture_output=True, text=True).stdout
    with subprocess.Popen(side, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as holder:
        holder.stdin.write("BEGIN;\nSELECT 'held' FROM pawl_job FOR UPDATE;\n")
        holder.stdin.flush()
        assert holder.stdout.readline() == "held\n"
        node = subprocess.Popen([PAWL, "work", "--store", url, "--exec", "t=true"], env=ENV,
                                cwd="/", stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
                                preexec_fn=server.end_with_parent)
        try:
            first = writes()
            until(lambda: writes() > first + 10)  # it is up, and tries
            began, before = time.monotonic(), writes()
            time.sleep(seconds)
            count, took = writes() - before, time.monotonic() - began
            assert count <= most_per_second * took, (count, took)
            assert states() == "4|1\n", states()
            holder.stdin.write("ROLLBACK;\n")
            holder.stdin.flush()
            until(lambda: states() == "7|2\n")
        finally:
            node.terminate()
            node.wait(PATIENCE_S)
            holder.stdin.close()


# ---- a store that is away for a while ----

def server_says_that_its_store_is_away_and_comes_back(postgres):
    """Nobody asks it to do anything meanwhile but to say how it is."""
    front = Front(postgres.url)

    def status_of(path):
        code, body = front.ask(path)
        return code, json.loads(body)["status"]

    def store():
        return [int(front.metric("pawl_store_" + name))
                for name in ("reachable", "losses_total", "returns_total")]
    try:
        for path in ("/ready", "/readyz"):
            assert status_of(path) == (200, "ready"), path
        assert store() == [1, 0, 0], store()
        postgres.stop()
        until(lambda: status_of("/readyz") == (503, "store_unreachable"))
        assert status_of("/ready") == (503, "store_unreachable")
        for path in ("/health", "/healthz"):  # a restart would not help
            assert status_of(path) == (200, "ok"), path
        assert status_of("/ojs/v1/health") == (503, "degraded")
        assert store() == [0, 1, 0], store()
        code, said = front.ask("/ojs/v1/jobs", {"type": "t", "args": []})
        assert code in (500, 503) and json.loads(said)["error"]["retryable"], (code, said)
        postgres.start()
        until(lambda: status_of("/readyz") == (200, "ready"))
        assert front.healthy()
        reachable, losses, returns = store()
        assert reachable == 1 and losses == returns > 0, (reachable, losses, returns)
        assert front.submits() == 201
        assert front.process.poll() is None
    finally:
        front.close()


# ---- a full disk ----

def full_disk_is_reported_and_outlived(postgres):
    """The tables' space is a small file system of its own, which only the server sees."""
    filler = postgres.small + "/filler"
    postgres.sql(f"CREATE TABLESPACE small LOCATION '{postgres.small}/space'")
    postgres.sql("CREATE DATABASE cramped TABLESPACE small")
    url = f"postgres:///cramped?host={postgres.dir}&user=pawl"
    assert pawl(url, "submit", "a.b").returncode == 0
    front = Front(url)
    try:
        assert front.submits() == 201
        postgres.inside("dd", "if=/dev/zero", f"of={filler}", "bs=64k", check=False)
        large = ["x" * 60000]

        def is_full():
            status, said = front.ask("/ojs/v1/jobs", {"type": "t", "args": large})
            return status not in (200, 201) and said
        until(is_full)
        assert front.metric("pawl_commits_failed_total") > 0

        def does_not_fit():  # it may still fit into what is there
            done = pawl(url, "submit", "a.b", json.dumps(large))
            return done if done.returncode else None
        done = until(does_not_fit)
        assert done.returncode == 3 and "No space left on device" in done.stderr, done
        assert "make room on the database server's disk" in done.stderr, done
        postgres.inside("rm", filler)
        until(lambda: front.submits() == 201)  # by itself
        assert front.healthy() and front.metric("pawl_reopened_total") > 0
    finally:
        front.close()
    assert pawl(url, "check").stdout == "no damage found\n"


# ---- another primary ----

def standby_is_told_from_a_primary(standby):
    said = refused(standby.url, "submit", "a.b")
    assert "read-only" in said and "the store needs the primary" in said, said


def failover_loses_nothing_and_needs_nobody(primary, standby):
    """The last commits reach the old primary's disk and never the standby: their answers do not
    come, and on the new primary their numbers are not there."""
    both = f"postgres:///postgres?host={primary.dir},{standby.dir}&user=pawl"
    primary.sql("ALTER SYSTEM SET synchronous_standby_names = '*'")
    primary.sql("SELECT pg_reload_conf()")
    primary.wait_for("SELECT count(*) = 1 FROM pg_stat_replication WHERE sync_state = 'sync'")
    front = Front(both)
    clients = [steady.Steady(STEADY, both, MODULE_DIR) for _ in range(2)]
    try:
        for one in clients:
            one.await_accepted(20)
        assert front.submits() == 201
        standby.leave()
        primary.wait_for("SELECT count(*) >= 2 FROM pg_stat_activity WHERE wait_event = 'SyncRep'")
        primary.stop(signal.SIGQUIT)
        until(lambda: not front.healthy())
        standby.promote()
        for one in clients:
            one.await_accepted(20)
        until(front.healthy)
        until(lambda: front.submits() == 201)
    finally:
        for one in clients:
            one.close()
        front.close()
    wrong = steady.audit(standby, clients)
    assert not wrong, wrong
    assert pawl(standby.url, "check").stdout == "no damage found\n"


# ---- running ----

def run(number, function, *args):
    try:
        function(*args)
        print(f"ok {number} - {function.__name__}", flush=True)
    except Exception:  # pylint: disable=broad-except
        print(f"not ok {number} - {function.__name__}", flush=True)
        for line in traceback.format_exc().splitlines():
            print("#", line, flush=True)


def main():
    if not server.find_binaries():
        print("1..0 # SKIP there is no PostgreSQL server here (on Debian: postgresql)")
        return
    print("1..7", flush=True)
    with server.Server(server.REPLICATED) as primary:
        run(1, refusals_say_what_to_do, primary)
        run(2, server_says_that_its_store_is_away_and_comes_back, primary)
        run(3, looking_needs_no_more_than_select, primary)
        run(4, lapsed_job_that_is_held_is_asked_about_now_and_then, primary)
        with server.Standby(primary) as standby:
            run(5, standby_is_told_from_a_primary, standby)
            run(6, failover_loses_nothing_and_needs_nobody, primary, standby)
    if not server.Cramped.can_be():
        print("ok 7 - full_disk_is_reported_and_outlived # SKIP no file system may be mounted here")
        return
    with server.Cramped() as cramped:
        run(7, full_disk_is_reported_and_outlived, cramped)


if __name__ == "__main__":
    main()
