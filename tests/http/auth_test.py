#!/usr/bin/env python3
"""Tokens: what each scope allows, and what is logged.

Usage: auth_test.py PAWL [TEST...]
"""
import hashlib
import re
import subprocess
import time

from raw import EMPTY_POST, HOST, Wire, exchange
from server_kit import ENV, PAWL, Server, json, main, test, until

JOB = {"type": "a.b", "args": ["secret-argument"]}
ROUTES = {  # one of each scope: what it answers to whom it lets in
    "read": ("GET", "/ojs/v1/queues", None, 200),
    "submit": ("POST", "/ojs/v1/jobs", JOB, 201),
    "work": ("POST", "/ojs/v1/workers/fetch", {"queues": ["none"]}, 200),
}


def bearer(token):
    return {"Authorization": "Bearer " + token}


def add(server, *options):
    return json.loads(server.pawl("token", "add", "--json", *options))


def tokens(server):
    return {token["id"]: token for token in json.loads(server.pawl("token", "list", "--json"))}


def status(server, scope, headers=None):
    method, path, body, _ = ROUTES[scope]
    return server.ask(method, path, body, headers).status


def seen(server, token):
    """Waits until the server knows of it."""
    until(lambda: status(server, "read") == 401)
    until(lambda: status(server, "read", bearer(token["token"])) != 401)


@test
def lets_everybody_in_until_there_is_a_token():
    with Server() as server:
        for scope, (*_, good) in ROUTES.items():
            assert status(server, scope) == good, scope
        add(server, "--scope", "read")
        until(lambda: status(server, "read") == 401)


@test
def asks_for_the_scope_of_each_route():
    with Server() as server:
        made = {scope: add(server, "--scope", scope) for scope in (*ROUTES, "admin")}
        both = add(server, "--scope", "submit,work", "--name", "both")
        seen(server, both)
        for scope, (*_, good) in ROUTES.items():
            for owned, token in made.items():
                wanted = good if owned in (scope, "admin") else 403
                assert status(server, scope, bearer(token["token"])) == wanted, (scope, owned)
            wanted = 403 if scope == "read" else good
            assert status(server, scope, bearer(both["token"])) == wanted, scope
            assert status(server, scope) == 401, scope
        reply = server.ask("GET", "/ojs/v1/queues", headers=bearer(both["token"]))
        error = reply.json["error"]
        assert error["code"] == "permission_denied" and '"read"' in error["message"], error
        assert '"both"' in error["message"]
        assert 'error="insufficient_scope", scope="read"' in reply.headers["WWW-Authenticate"]


@test
def some_routes_are_open_to_all():
    with Server() as server:
        add(server, "--scope", "admin")
        until(lambda: status(server, "read") == 401)
        for path in ("/health", "/healthz", "/ready", "/readyz", "/ojs/v1/health", "/ojs/manifest"):
            assert server.ask("GET", path).status == 200, path
            assert server.ask("GET", path, headers=bearer("wrong")).status == 200, path
        assert server.ask("GET", "/metrics").status == 401
        assert server.ask("GET", "/nowhere").status == 404


@test
def refuses_what_is_not_a_token():
    with Server() as server:
        token = add(server, "--scope", "admin")["token"]
        until(lambda: status(server, "read") == 401)
        for value in ("", "Bearer", "Bearer ", "Bearer " + token[:-1], "Bearer " + token + "a",
                      "Bearer " + token.upper(), token, "Basic " + token, "Bearer " + "a" * 5000,
                      "Bearer " + token + " " + token, "Bearer pawl_"):
            reply = server.ask("GET", "/ojs/v1/queues", headers={"Authorization": value})
            assert reply.status == 401, value
            assert reply.json["error"]["code"] == "unauthenticated"
            assert 'realm="pawl"' in reply.headers["WWW-Authenticate"]
        for value in ("Bearer " + token, "bearer " + token, "BEARER  " + token,
                      "Bearer " + token + " ", "\tBearer " + token + " \t"):
            reply = server.ask("GET", "/ojs/v1/queues", headers={"Authorization": value})
            assert reply.status == 200, value


@test
def keeps_only_hashes():
    with Server() as server:
        token = add(server, "--scope", "admin", "--name", "n")
        assert re.fullmatch(r"pawl_[A-Za-z0-9_-]{43}", token["token"])
        digest = hashlib.sha256(token["token"].encode()).hexdigest()
        assert digest.startswith(token["id"])
        server.pawl("backup", "copy.db")
        with open(server.path + "/copy.db", "rb") as file:
            kept = file.read()
        assert bytes.fromhex(digest) in kept and token["token"].encode() not in kept
        assert token["token"] not in server.pawl("token", "list")
        assert len({add(server, "--scope", "read")["token"] for _ in range(5)}) == 5


@test
def a_revoked_token_ends_and_stays_closed():
    with Server() as server:
        first, second = add(server, "--scope", "read"), add(server, "--scope", "read")
        seen(server, second)
        assert status(server, "read", bearer(first["token"])) == 200  # two at a time
        assert first["id"] in server.pawl("token", "revoke", first["id"])
        until(lambda: status(server, "read", bearer(first["token"])) == 401)
        reply = server.ask("GET", "/ojs/v1/queues", headers=bearer(first["token"]))
        assert "revoked" in reply.json["error"]["message"], reply.json
        reply = server.ask("GET", "/ojs/v1/queues", headers=bearer("pawl_unheard_of"))
        assert "within 2 seconds" in reply.json["error"]["message"], reply.json
        assert status(server, "read", bearer(second["token"])) == 200
        server.pawl("token", "revoke", second["id"])
        server.pawl("token", "revoke", second["id"])
        until(lambda: status(server, "read", bearer(second["token"])) == 401)
        assert status(server, "read") == 401  # nobody is let in again
        assert {token["status"] for token in tokens(server).values()} == {"revoked"}


@test
def an_expired_token_ends():
    with Server() as server:
        token = add(server, "--scope", "read", "--expires", "3s")
        seen(server, token)
        until(lambda: status(server, "read", bearer(token["token"])) == 401)
        reply = server.ask("GET", "/ojs/v1/queues", headers=bearer(token["token"]))
        assert "expired" in reply.json["error"]["message"]
        assert tokens(server)[token["id"]]["status"] == "expired"


@test
def notes_when_a_token_was_used():
    with Server() as server:
        used, idle = add(server, "--scope", "read"), add(server, "--scope", "read")
        seen(server, idle)
        until(lambda: "last_used_at" in tokens(server)[idle["id"]])
        assert "last_used_at" not in tokens(server)[used["id"]]
        noted = tokens(server)[idle["id"]]["last_used_at"]
        end = time.monotonic() + 2.5
        while time.monotonic() < end:  # at most once a minute
            assert status(server, "read", bearer(idle["token"])) == 200
        assert tokens(server)[idle["id"]]["last_used_at"] == noted


@test
def a_public_address_needs_a_usable_token():
    with Server() as server:

        def serve(*options):
            process = subprocess.Popen(
                [PAWL, "serve", "--store", server.store, "--listen", "0.0.0.0:0", *options],
                stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env=ENV)
            line = process.stdout.readline()
            process.terminate()
            return line, process.communicate(timeout=30)[1]

        line, said = serve()
        assert not line and "pawl token add" in said, said
        token = add(server, "--scope", "admin")
        line, said = serve()
        assert line.startswith("serving http://0.0.0.0:"), said
        server.pawl("token", "revoke", token["id"])
        line, said = serve()
        assert not line and "there is no token" in said, said


@test
def strangers_bodies_are_not_read():
    with Server() as server:
        add(server, "--scope", "admin")
        until(lambda: status(server, "read") == 401)
        with Wire(server) as wire:
            wire.send(EMPTY_POST + b"Content-Length: 9000000\r\n\r\n")
            assert wire.answer().status == 401  # without any of it
        with Wire(server) as wire:
            wire.send(EMPTY_POST + b"Transfer-Encoding: chunked\r\n\r\n")
            wire.send(b"20000\r\n" + b"a" * 0x20000 + b"\r\n")
            assert wire.answer().status == 401
        with Wire(server) as wire:
            wire.send(EMPTY_POST + b"Content-Length: 5\r\nExpect: 100-continue\r\n\r\n")
            assert wire.answer().status == 401
        with Wire(server) as wire:  # a little is read, so that the connection can go on
            wire.send(EMPTY_POST + b"Content-Length: 5\r\n\r\nhello")
            answer = wire.answer()
            assert answer.status == 401 and not answer.closes
            assert wire.send(b"GET /health HTTP/1.1\r\n" + HOST + b"\r\n").answer().status == 200


@test
def tokens_are_made_with_care():
    with Server() as server:
        for options, text in [
                ([], "--scope"), (["--scope", "all"], "read, submit, work, admin"),
                (["--scope", "read,"], "cannot be"), (["--scope", ""], "cannot be"),
                (["--scope", "read", "--name", "n" * 65], "64 bytes"),
                (["--scope", "read", "--expires", "2001-01-01T00:00:00Z"], "past"),
                (["--scope", "read", "--expires", "never"], "cannot be")]:
            done = subprocess.run([PAWL, "token", "add", "--store", server.store, *options],
                                  capture_output=True, text=True, env=ENV, check=False)
            assert done.returncode == 2 and text in done.stderr, (options, done)
        done = subprocess.run([PAWL, "token", "revoke", "--store", server.store, "nope"],
                              capture_output=True, text=True, env=ENV, check=False)
        assert done.returncode == 1 and '"nope"' in done.stderr, done
        assert tokens(server) == {}
        made = add(server, "--scope", "READ,admin", "--scope", "work", "--expires", "90d")
        assert made["scopes"] == ["read", "work", "admin"] and made["expires_at"]


@test
def the_audit_names_who_did_it():
    with Server() as server:
        token = add(server, "--scope", "admin", "--name", "ann")
        seen(server, token)
        headers = bearer(token["token"])
        job = server.ask("POST", "/ojs/v1/jobs", JOB, headers).json["job"]["id"]
        assert server.ask("DELETE", "/ojs/v1/jobs/" + job, None, headers).status == 200
        assert '"ann"' in server.pawl("show", job, "--json")


# ---- the log ----


def lines(server):
    with open(server.log.name, encoding="utf-8") as file:
        return [json.loads(line) for line in file]


@test
def logs_requests_when_asked_to():
    with Server("--access-log") as server:
        token = add(server, "--scope", "submit", "--name", "web")
        until(lambda: status(server, "submit", bearer(token["token"])) == 201)
        headers = {**bearer(token["token"]), "X-Request-Id": "look-for-me"}
        until(lambda: status(server, "read") == 401)
        server.ask("POST", "/ojs/v1/jobs?token=hidden", JOB, headers)
        mine = until(lambda: [x for x in lines(server) if x.get("request_id") == "look-for-me"])
        line = mine[0]
        assert line["route"] == "/ojs/v1/jobs" and line["status"] == 201, line
        assert line["token"] == "web" and line["method"] == "POST" and line["level"] == "info"
        assert line["duration_ms"] >= 0 and line["address"] == "127.0.0.1"
        text = server.said()
        for hidden in (token["token"], "secret-argument", "hidden"):
            assert hidden not in text, hidden


@test
def the_log_shows_a_path_that_led_to_nothing():
    with Server("--access-log") as server:
        for path, shown, route in [
                ("/nowhere/at%22all?token=hidden", "/nowhere/at%22all", None),
                ("/ojs/v1/jobs/unknown", "/ojs/v1/jobs/unknown", "/ojs/v1/jobs/{id}"),
                ("/" + "a" * 1000, "/" + "a" * 199, None)]:
            headers = {"X-Request-Id": "look-" + str(len(path))}
            assert server.ask("GET", path, headers=headers).status == 404
            line = until(lambda h=headers: [x for x in lines(server)
                                            if x.get("request_id") == h["X-Request-Id"]])[0]
            assert line["path"] == shown and line.get("route") == route, line
        assert server.ask("GET", "/health").status == 200
        until(lambda: any(x.get("route") == "/health" for x in lines(server)))
        assert not any("path" in x for x in lines(server) if x.get("status") == 200)
        assert "hidden" not in server.said()


@test
def the_log_is_text_when_asked_for():
    with Server("--access-log", "--log-format", "text") as server:
        server.ask("GET", "/nowhere/a%20b", headers={"X-Request-Id": "look-for-me"})
        until(lambda: re.search(r"^[-\dT:.]+Z info request request_id=look-for-me method=GET "
                                r"path=/nowhere/a%20b address=127.0.0.1 status=404 "
                                r"duration_ms=[\d.]+ bytes=\d+$", server.said(), re.MULTILINE))


@test
def is_silent_unless_asked():
    with Server("--log-level", "warning") as server:
        for _ in range(10):
            assert server.ask("GET", "/health").status == 200
        assert exchange(server, b"nonsense\r\n\r\n").status == 400
        server.stop()
        assert server.said() == ""


@test
def nobody_waits_for_the_log():
    with Server("--access-log") as server:
        blocked = subprocess.Popen(
            [PAWL, "serve", "--store", server.store, "--listen", "127.0.0.1:0", "--access-log"],
            stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env=ENV)
        own, server.address = server.address, blocked.stdout.readline().split("//")[1].strip()
        with Wire(server) as wire:
            request = b"GET /health HTTP/1.1\r\n" + HOST + b"\r\n"
            for _ in range(100):  # far more than a pipe and the buffer hold
                wire.send(request * 100)
                for _ in range(100):
                    assert wire.answer().status == 200
        server.address = own
        blocked.terminate()
        said = blocked.communicate(timeout=30)[1].splitlines()
        assert blocked.returncode == 0
        told = [json.loads(line) for line in said]
        assert len(told) < 10000 and sum(line.get("dropped", 0) for line in told) > 0, len(told)


if __name__ == "__main__":
    main()
