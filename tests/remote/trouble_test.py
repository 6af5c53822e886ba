#!/usr/bin/env python3
"""Faults between a program and a remote server, and the errors that users see.

Usage: trouble_test.py PAWL WORKER [TEST...]
"""
import json
import os
import shutil
import socket
import subprocess
import sys
import threading
import urllib.request

sys.dont_write_bytecode = True  # the tree stays as it was
sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "cli"))

import kit
from kit import Skip, equal, has, test


def read_request(stream):
    """(first line, body) of a request, or None when the other side has gone."""
    first = stream.readline()
    if not first:
        return None
    length = 0
    for line in iter(stream.readline, b"\r\n"):
        if line.lower().startswith(b"content-length:"):
            length = int(line.split(b":")[1])
    return first.decode(), stream.read(length)


def connections():
    with open("/proc/net/tcp", encoding="utf-8") as table:
        return table.read()


class Stand:
    """A server that is not one: `answer(first line, body)` gives the bytes of each reply."""

    def __init__(self, answer):
        self.answer, self.asked = answer, []
        self.listener = socket.create_server(("127.0.0.1", 0))
        self.url = "http://127.0.0.1:%d" % self.listener.getsockname()[1]
        threading.Thread(target=self.run, daemon=True).start()

    def run(self):
        while True:
            try:
                conn, _ = self.listener.accept()
            except OSError:
                return
            threading.Thread(target=self.talk, args=(conn,), daemon=True).start()

    def talk(self, conn):
        with conn, conn.makefile("rb") as stream:
            while request := read_request(stream):
                self.asked.append(request)
                reply = self.answer(*request)
                if not reply:
                    return
                conn.sendall(reply)

    def paths(self):
        return [first.split()[1] for first, _ in self.asked]

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.listener.close()


def reply(status, body):
    data = body if isinstance(body, bytes) else json.dumps(body).encode()
    return b"HTTP/1.1 %d X\r\nContent-Length: %d\r\n\r\n" % (status, len(data)) + data


def hello(**more):
    return reply(200, {"pawl": "0.1.0", "protocol": 1, "body_max": 10485760, "now_ms": 1, **more})


def pass_on(url, first, body):
    """The real server's reply to the same request."""
    host, port = url[len("http://"):].split(":")
    with socket.create_connection((host, int(port))) as conn:
        conn.sendall(f"{first}Host: {host}\r\nContent-Type: application/json\r\nConnection: close"
                     f"\r\nContent-Length: {len(body)}\r\n\r\n".encode() + body)
        parts = []
        while more := conn.recv(65536):
            parts.append(more)
    whole = b"".join(parts)
    head, _, rest = whole.partition(b"\r\n\r\n")
    return reply(int(head.split()[1]), rest)


# ---- no server ----


@test
def a_server_that_is_not_there_is_named(box):
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
    done = box.fails(3, "list", "--server", f"http://127.0.0.1:{port}")
    has(done.err, f'could not reach the server at "http://127.0.0.1:{port}"')
    has(done.err, 'is "pawl serve" running there?')


@test
def another_server_is_not_taken_for_ours(box):
    answers = {"404": reply(404, b"no"), "200": reply(200, b"<html>"), "200 {}": reply(200, {})}
    for name, answer in answers.items():
        with Stand(lambda *_: answer) as stand:
            done = box.fails(3, "list", "--server", stand.url)
            has(done.err, stand.url)
            has(done.err, "is not a pawl server" if name == "404" else "expects")


@test
def another_protocol_is_refused(box):
    with Stand(lambda *_: hello(pawl="9.9", protocol=2)) as stand:
        done = box.fails(3, "submit", "t", "--server", stand.url)
        has(done.err, "is pawl 9.9 and speaks protocol 2")
        has(done.err, "use the same version on both sides")


@test
def a_url_that_is_none_is_explained(box):
    has(box.fails(2, "list", "--server", "localhost:8080").err, "http://HOST:PORT")
    has(box.fails(2, "list", "--server", "http://127.0.0.1:99999").err, "http://HOST:PORT")
    has(box.fails(2, "list", "--server", "http://127.0.0.1:1?x=1").err, "no query")


@test
def store_and_server_are_not_both_named(box):
    url = box.serve()
    has(box.fails(2, "list", "--server", url, "--store", "sqlite:x").err, "both a store and")
    both = {"PAWL_SERVER": url, "PAWL_STORE": "sqlite:x"}
    has(box.fails(2, "list", env=both).err, "the environment names both")
    box.ok("list", "--server", url, env=both)  # the command line has said it
    job_id = box.ok("submit", "t", env={"PAWL_SERVER": url}).out.strip()
    config = box.file("c", f"server = {url}\n")
    has(box.ok("list", "--config", config).out, job_id)
    box.file("d", f"server = {url}\nstore = sqlite:x\n")
    has(box.fails(2, "list", "--config", "d").err, "the configuration names both")


@test
def what_needs_the_store_says_so(box):
    url = box.serve()
    for command in (["backup", "x"], ["check"], ["migrate"], ["upkeep"], ["serve"],
                    ["token", "list"], ["token", "add", "--scope", "read"],
                    ["token", "revoke", "x"]):
        for option in ("--server", "--store"):
            done = box.fails(2, *command, option, url)
            has(done.err, "needs the store itself, not a server")
            has(done.err, f'run it where "{url}" keeps its jobs')


@test
def a_server_that_is_slow_to_accept_is_waited_for(box):
    """However little patience there is with a busy store: the two have nothing in common."""
    with socket.create_server(("127.0.0.1", 0), backlog=0) as listener:
        address = listener.getsockname()
        with socket.create_connection(address):  # now its queue is full
            url = "http://127.0.0.1:%d" % address[1]
            child = box.start("list", "--server", url, "--busy-timeout", "1ms",
                              stdout=subprocess.PIPE, stderr=subprocess.PIPE)
            connecting = f"{address[1]:04X} 02 "  # SYN_SENT
            kit.until(lambda: child.poll() is not None or connecting in connections())
            for _ in range(2):
                listener.accept()[0].close()
            has(child.communicate(timeout=kit.DEADLINE_S)[1], "could not hear from the server")


# ---- tokens ----


def token(box, *scopes):
    return box.ok("token", "add", "--scope", ",".join(scopes), "--json").json["token"]


@test
def a_token_opens_what_its_scopes_say(box):
    box.ok("migrate")
    submit, read, admin = token(box, "submit"), token(box, "read"), token(box, "admin")
    url = box.serve()
    done = box.fails(2, "list", "--server", url)
    has(done.err, "asks for a token")
    has(done.err, "hint: give it with --token or PAWL_TOKEN")
    done = box.fails(2, "list", "--server", url, "--token", "pawl_no")
    has(done.err, "the token is not known; a new one is known within 2 seconds (status 401)")
    has(done.err, 'hint: "pawl token add --scope SCOPE" creates another one')
    job_id = box.ok("submit", "t", "--server", url, "--token", submit).out.strip()
    done = box.fails(2, "cancel", job_id, "--server", url, "--token", read)
    has(done.err, 'lacks the scope "admin" (status 403)')
    has(done.err, 'hint: "pawl token add --scope SCOPE" creates another one')
    assert "PAWL_TOKEN" not in done.err, done.err
    has(box.ok("list", "--server", url, env={"PAWL_TOKEN": read}).out, job_id)
    within = url.replace("://", f"://{admin}@")
    box.ok("cancel", job_id, "--server", within)
    shown = box.ok("stats", "--server", within)
    has(shown.out, url)
    assert admin not in shown.out + shown.err
    has(box.fails(2, "list", "--server", url, "--token", "a b").err, "no blanks")


@test
def who_did_it_is_written_down_with_the_token(box):
    box.ok("migrate")
    secret = box.ok("token", "add", "--scope", "admin", "--name", "ops", "--json").json["token"]
    where = ["--server", box.serve(), "--token", secret]
    job_id = box.ok("submit", "t", *where).out.strip()
    box.ok("cancel", job_id, *where, "--actor", "ann", "--reason", "no need")
    deed = box.ok("show", job_id, "--json", *where).json["deeds"][-1]
    equal((deed["actor"], deed["reason"]), ("ann via ops", "no need"))


@test
def tokens_are_no_settings_for_programs_elsewhere(box):
    box.ok("migrate")
    secret = token(box, "admin")
    url = box.serve()

    def ask(path, body):
        request = urllib.request.Request(url + path, json.dumps(body).encode(), {
            "Authorization": f"Bearer {secret}", "Content-Type": "application/json"})
        with urllib.request.urlopen(request, timeout=kit.DEADLINE_S) as answer:
            return json.load(answer)

    equal(ask("/pawl/v1/settings", {"prefix": ""}), {})
    refused = box.run("token", "list", "--server", url, env={"PAWL_TOKEN": secret})
    equal(refused.code, 2)
    has(refused.err, "needs the store itself, not a server")


# ---- TLS ----


@test
def a_server_s_certificate_is_checked(box):
    if not shutil.which("openssl"):
        raise Skip("openssl is not installed")
    cert, key = box.file("cert.pem"), box.file("key.pem")
    subprocess.run(["openssl", "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-days", "2",
                    "-subj", "/CN=localhost", "-addext", "subjectAltName=IP:127.0.0.1", "-keyout",
                    key, "-out", cert], check=True, stderr=subprocess.DEVNULL)
    url = box.serve("--tls-cert", cert, "--tls-key", key)
    equal(url[:8], "https://")
    has(box.fails(3, "list", "--server", url).err, "name who vouches for it with --ca-file")
    job_id = box.ok("submit", "t", "--server", url, "--ca-file", cert).out.strip()
    has(box.ok("list", "--server", url, env={"PAWL_CA_FILE": cert}).out, job_id)
    done = box.fails(3, "list", "--server", url.replace("https", "http"))
    has(done.err, "server at")
    plain = box.serve()
    has(box.fails(3, "list", "--server", plain.replace("http", "https")).err, "speak TLS?")


# ---- broken requests ----


@test
def a_lost_answer_is_looked_for(box):
    """The server did it, the connection broke: the job is there, once, and its id is told."""
    url = box.serve()

    def answer(first, body):
        got = pass_on(url, first, body)
        return b"" if "/submit" in first else got

    with Stand(answer) as stand:
        job_id = box.ok("submit", "t", "--server", stand.url).out.strip()
        equal(stand.paths().count("/pawl/v1/submit"), 1)
    equal([job["id"] for job in box.ok("list", "--json").json], [job_id])


@test
def a_lost_request_is_not_sent_again(box):
    url = box.serve()

    def answer(first, body):
        return b"" if "/submit" in first else pass_on(url, first, body)

    with Stand(answer) as stand:
        done = box.fails(3, "submit", "t", "--server", stand.url)
        has(done.err, "could not hear from the server")
        has(done.err, "whether it did what was asked is not known")
        equal(stand.paths().count("/pawl/v1/submit"), 1)
    equal(box.ok("list", "--json").json, [])


@test
def a_lost_answer_to_a_chosen_id_stays_unknown(box):
    """The id may have been taken before: that it is there proves nothing."""
    url = box.serve()
    job_id = "01890000-0000-7000-8000-00000000dead"

    def answer(first, body):
        got = pass_on(url, first, body)
        return b"" if "/submit" in first else got

    with Stand(answer) as stand:
        done = box.fails(3, "submit", "t", "--id", job_id, "--server", stand.url)
        has(done.err, "is not known")


@test
def a_busy_server_is_not_a_broken_one(box):
    for status, text in ((503, "busy or stopping"), (429, "busy or stopping"),
                         (500, "trouble of its own"), (507, "trouble of its own"),
                         (413, "more than the server")):
        with Stand(lambda first, _: hello() if "hello" in first else reply(status, b"{}")) as stand:
            done = box.run("submit", "t", "--server", stand.url)
            assert done.code in (2, 3), done
            has(done.err, text)


@test
def nonsense_is_not_taken_for_an_answer(box):
    for body in (b"", b"{}", b"[1]", b'{"answers":[]}', b'{"answers":[{}]}', b'{"answers":[5]}',
                 b'{"answers":[{"submitted":[{"id":7}]}]}'):
        with Stand(lambda first, _: hello() if "hello" in first else reply(200, body)) as stand:
            done = box.fails(3, "submit", "t", "--server", stand.url)
            has(done.err, "on both sides")


@test
def what_is_too_much_for_the_server_is_refused_here(box):
    url = box.serve("--body-bytes-max", "100KiB")
    done = box.run("submit", "t", json.dumps(["x" * 110000]), "--server", url)
    equal(done.code, 2)
    has(done.err, "more than the 102400 that the server at")
    has(done.err, "--body-bytes-max")
    lines = "".join(json.dumps({"type": "t", "args": ["y" * 1000]}) + "\n" for _ in range(50))
    box.ok("submit", "-", "--server", url, stdin=lines)


@test
def refusals_come_back_as_what_they_were(box):
    """The same words and exit codes as from a store."""
    url = box.serve()
    lines = '{"type":"a"}\n{"type":"B"}\n'
    job_id = box.submit("t", "--business-key", "k")
    for args, stdin in ((["submit", "B"], ""), (["submit", "-"], lines),
                        (["submit", "t", "--business-key", "k"], ""),
                        (["show", "01890000-0000-7000-8000-00000000beef"], ""),
                        (["retry", job_id], ""), (["activate", job_id], ""),
                        (["priority", "01890000-0000-7000-8000-00000000beef", "5"], "")):
        here, there = box.run(*args, stdin=stdin), box.run(*args, "--server", url, stdin=stdin)
        assert here.code, here
        equal((there.code, there.out, there.err), (here.code, here.out, here.err))


kit.main()
