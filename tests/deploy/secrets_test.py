#!/usr/bin/env python3
"""The password of a store appears in no output or error of a command, and in no reply or log of the
server. Prints TAP.

Usage: secrets_test.py PAWL
"""
import os
import subprocess
import sys
import tempfile

sys.dont_write_bytecode = True
HERE = os.path.dirname(os.path.abspath(__file__))
sys.path[:0] = [os.path.join(HERE, "..", "http"), os.path.join(HERE, "..", "postgres")]
import server as postgres
import server_kit
from server_kit import DEADLINE_S, ENV, PAWL, main, test, until

SECRET = "hunter2xyzzy"
COMMANDS = """\
stats
stats --json
top --json
list
list --json
submit a.b
migrate
migrate --check --json
check
upkeep
queue list
node list --json
lock list
token list
backup copy.db
work --once --exec a.b=true --verbose
"""
WRONG = [
    "postgres://ann:{}@127.0.0.1:1/db",  # nobody listens
    "postgres://ann:{}@[::1/db",
    "postgres://ann:{}@h/db?nope=1",
    "postgres://ann:{}%zz@h/db",
    "postgres://ann:{}@h:1x/db",
    "postgres://ann:a@{}@h/db",
    "postgres://ann:a/{}@h/db",
    "postgres://ann:{}/a@h/db",
    "postgres://ann:{}?a@/db?host=/nowhere",
    "postgres:///db?host=/nowhere&password={}",
    "postgres:///db?host=/nowhere&sslpassword={}",
    "postgres:ann:{}@h",
    "mysql://ann:{}@h/db",
    "password={}",
]

WRONG_WAKES = [
    "redis://:{}@127.0.0.1:1",  # nobody listens
    "redis://:{}@[::1",
    "redis://:{}%zz@127.0.0.1:1",
    "redis://{}@127.0.0.1:1",
    "redis://:a/{}@127.0.0.1:1",
    "redis:{}@127.0.0.1",
    "rediss://:{}@127.0.0.1:1",
    "amqp://ann:{}@127.0.0.1:1",
]


def run(*args, **env):
    """Exit code, and all that it printed."""
    with tempfile.TemporaryDirectory() as folder:
        done = subprocess.run([PAWL, *args], cwd=folder, env={**ENV, **env}, text=True, check=False,
                              stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                              stderr=subprocess.STDOUT, timeout=DEADLINE_S)
    return done.returncode, done.stdout


def url_of(database):
    """It asks for no password and lets everybody in, whatever they say."""
    return f"postgres://pawl:{SECRET}@/postgres?host={database.dir}&sslpassword={SECRET}"


@test
def commands_do_not_print_it():
    with postgres.Server() as database:
        run("migrate", PAWL_STORE=url_of(database))
        shown = 0
        for line in COMMANDS.splitlines():
            code, said = run(*line.split(), PAWL_STORE=url_of(database))
            refused = line.startswith("backup")  # the server's own tools do that
            assert (code != 0) == refused, (line, said)
            assert SECRET not in said, (line, said)
            shown += "pawl:***@" in said
        assert shown >= 2, f"only {shown} commands show their store"


@test
def complaints_do_not_quote_it():
    for pattern in WRONG:
        url = pattern.format(SECRET)
        for args, env in ((["stats", "--store", url], {}), (["stats"], {"PAWL_STORE": url}),
                          (["submit", "a.b", "--store=" + url], {}), (["stats", url], {}),
                          (["stats", "--server", url], {}), (["stats"], {"PAWL_SERVER": url})):
            code, said = run(*args, **env)
            assert code in (2, 3) and said.startswith("pawl: "), (url, args, code, said)
            assert SECRET not in said, (url, args, said)


@test
def nor_that_of_what_wakes_them():
    complaints = 0
    for pattern in WRONG_WAKES:
        wake = pattern.format(SECRET)
        for args, env in ((["--wake", wake], {}), ([], {"PAWL_WAKE": wake})):
            code, said = run("work", "--once", "--exec", "a.b=true", *args, **env)
            assert SECRET not in said, (wake, said)
            complaints += code != 0
    assert complaints > len(WRONG_WAKES), "hardly a complaint"


@test
def complaints_about_a_configuration_do_not_quote_it():
    url = WRONG[0].format(SECRET)
    with tempfile.NamedTemporaryFile("w", suffix=".conf") as file:
        for line in (f"store {url}", f"server = {url}", f"store = {url}\nstore = {url}"):
            file.seek(0)
            file.truncate()
            file.write(line + "\n")
            file.flush()
            code, said = run("stats", "--config", file.name)
            assert code == 2 and said.startswith("pawl: "), (line, code, said)
            assert SECRET not in said, (line, said)


@test
def the_server_neither_answers_nor_logs_it():
    paths = ("/health", "/ready", "/ojs/v1/health", "/ojs/manifest", "/metrics", "/openapi.json",
             "/ojs/v1/queues", "/ojs/v1/jobs/01890000-0000-7000-8000-00000000dead")
    job = {"type": "a.b", "args": []}
    with postgres.Server() as database:
        options = ("--log-level", "debug", "--access-log", "--busy-timeout", "5s")
        with server_kit.Server(*options, store=url_of(database)) as server:
            texts = [server.ask("GET", path).body.decode() for path in paths]
            assert server.ask("POST", "/ojs/v1/jobs", job).status == 201
            database.stop()
            # in trouble it has more to say
            reply = until(lambda: [r for r in [server.ask("POST", "/ojs/v1/jobs", job)]
                                   if r.status >= 500])[0]
            texts += [reply.body.decode()]
            texts += [server.ask("GET", path).body.decode() for path in paths]
            database.start()
            until(lambda: server.ask("POST", "/ojs/v1/jobs", job).status == 201)
            server.stop()
            with open(server.log.name, encoding="utf-8") as log:
                texts.append(log.read())
    assert "stopping" in texts[-1], texts[-1]
    for text in texts:
        assert SECRET not in text, text


if __name__ == "__main__":
    main()
