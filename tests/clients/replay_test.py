#!/usr/bin/env python3
"""Requests of the published clients of the Open Job Spec, and what they need in the replies.
Usage: replay_test.py PAWL [TEST...]

Each JSON file beside this one has the requests of one client, as README.md describes. They are sent
to a server of their own, one after the other, with their headers as recorded.
"""
import datetime
import glob
import http.client
import json
import os
import re
import ssl
import subprocess
import sys
import time

sys.path.append(os.path.join(os.path.dirname(os.path.abspath(__file__)), "../http"))
import server_kit
from server_kit import DEADLINE_S, Server, outside, until

HERE = os.path.dirname(os.path.abspath(__file__))
VARIABLE = re.compile(r"\$\{(\w+)\}")


def is_time(value):
    """RFC 3339 with an offset."""
    return isinstance(value, str) and "T" in value and \
        datetime.datetime.fromisoformat(value.replace("Z", "+00:00")).tzinfo is not None


def is_integer(value):
    return isinstance(value, int) and not isinstance(value, bool)


TYPES = {
    "string": lambda value: isinstance(value, str),
    "integer": is_integer,
    "number": lambda value: is_integer(value) or isinstance(value, float),
    "boolean": lambda value: isinstance(value, bool),
    "array": lambda value: isinstance(value, list),
    "object": lambda value: isinstance(value, dict),
    "time": is_time,
    "any": lambda value: value is not None,
    "absent": lambda value: False,
}


class Replay:
    """One client's requests in their order, and the variables that the answers set."""

    def __init__(self, recording, address, token=None, ca=None):
        self.shapes, self.headers = recording["shapes"], recording["headers"]
        self.exchanges, self.address = recording["exchanges"], address
        self.token, self.ca = token, ca
        self.variables, self.streams = {}, []
        self.connection = self.connect()

    def connect(self):
        if self.ca is None:
            return http.client.HTTPConnection(self.address, timeout=DEADLINE_S)
        context = ssl.create_default_context(cafile=self.ca)
        return http.client.HTTPSConnection(self.address, timeout=DEADLINE_S, context=context)

    def close(self):
        self.connection.close()
        for _, connection, _, _ in self.streams:
            connection.close()

    def filled(self, value):
        """A recorded value with its variables replaced."""
        text = json.dumps(value)
        return json.loads(VARIABLE.sub(lambda match: self.variables[match.group(1)], text))

    # ---- requests ----

    def run(self):
        for number, exchange in enumerate(self.exchanges, 1):
            try:
                self.exchange(exchange)
            except Exception as error:
                raise AssertionError(f"{number}, {exchange['name']}: {error}") from error
        for stream in self.streams:
            self.hear(*stream)

    def exchange(self, exchange):
        """Sends it, again while it may still become true, and checks the answer."""
        request = self.filled(exchange["request"])
        if "events" in exchange["needs"]:
            self.listen(exchange["name"], request, exchange["needs"])
            return
        needs = self.filled(exchange["needs"])
        end = time.monotonic() + (DEADLINE_S if exchange.get("until") else 0)
        while True:
            answer = self.send(self.connection, request)
            body = self.read(request, answer)
            try:
                self.check(answer, body, needs)
                break
            except AssertionError:
                if time.monotonic() >= end:
                    raise
                time.sleep(0.02)
        for name, path in exchange.get("keep", {}).items():
            self.variables[name] = member(body, path)

    def send(self, connection, request):
        body = b"" if "body" not in request else json.dumps(request["body"]).encode()
        connection.putrequest(request["method"], request["path"], skip_accept_encoding=True)
        for name, value in self.headers[request["headers"]]:
            connection.putheader(name, value)
        if self.token is not None:
            connection.putheader("Authorization", f"Bearer {self.token}")
        if body or request["method"] == "POST":
            connection.putheader("Content-Length", str(len(body)))
        connection.endheaders(body)
        return connection.getresponse()

    def read(self, request, answer):
        """The body, after what holds for every answer."""
        text = answer.read()
        for name, value in self.headers[request["headers"]]:
            if name.lower() == "x-request-id":
                assert answer.headers["X-Request-Id"] == value, dict(answer.headers)
        if request["path"].startswith("/ojs/"):
            assert answer.headers["OJS-Version"] == "1.0", dict(answer.headers)
        if "json" in answer.headers.get("Content-Type", ""):
            return json.loads(text)
        return text.decode()

    # ---- answers ----

    def check(self, answer, body, needs):
        assert answer.status == needs["status"], (answer.status, body)
        assert needs.get("type", "") in answer.headers.get("Content-Type", ""), \
            dict(answer.headers)
        if "body" in needs:
            self.match(body, needs["body"], "")

    def match(self, value, template, path):
        """Raises where `value` is not what `template` asks for."""
        if isinstance(template, str) and template.startswith("<"):
            self.match_type(value, template[1:-1], path)
        elif isinstance(template, dict):
            assert isinstance(value, dict), f"{path} must be an object: {value!r}"
            for name, wanted in template.items():
                if name == "...":
                    self.match(value, wanted, path)
                else:
                    self.match(value.get(name), wanted, f"{path}.{name}")
        elif isinstance(template, list):
            assert isinstance(value, list), f"{path} must be an array: {value!r}"
            if template[-1:] == ["..."]:
                template = template[:-2] + template[-2:-1] * (len(value) - len(template) + 2)
            assert len(value) == len(template), f"{path} has {len(value)} elements: {value!r}"
            for number, wanted in enumerate(template):
                self.match(value[number], wanted, f"{path}.{number}")
        else:
            assert value == template, f"{path} must be {template!r}: {value!r}"

    def match_type(self, value, name, path):
        optional, name = name.endswith("?") or name == "absent", name.rstrip("?")
        if value is None and optional:
            return
        if name in self.shapes:
            self.match(value, self.shapes[name], path)
        else:
            assert TYPES[name](value), f"{path} must be of type {name}: {value!r}"

    # ---- events ----

    def listen(self, name, request, needs):
        """Opens a stream; the events that it must bring are looked for at the end."""
        connection = self.connect()
        answer = self.send(connection, request)
        assert answer.status == needs["status"], (answer.status, answer.read())
        assert answer.headers["Content-Type"] == "text/event-stream", dict(answer.headers)
        self.streams.append((name, connection, answer, needs["events"]))

    def hear(self, name, _, answer, events):
        """Takes these events from a stream in their order; others may come between: of other jobs,
        or the move of this job that was answered just before the stream was opened."""
        for template in self.filled(events):
            while True:
                kind, data = next_event(answer)
                if kind == template["event"] and all(
                        data.get(key) == template["data"].get(key) for key in ("job_id", "to")):
                    self.match(data, template["data"], name)
                    break


def next_event(answer):
    """The next event of a stream, its lines split at \\n alone as the clients do."""
    fields = {}
    while True:
        line = answer.readline()
        assert line.endswith(b"\n") and b"\r" not in line, f"the stream ended: {line!r}"
        name, _, value = line[:-1].decode().partition(":")
        if line != b"\n":
            fields[name] = value.lstrip()
        elif "data" in fields:
            return fields["event"], json.loads(fields["data"])
        else:
            fields = {}


def member(value, path):
    """What is at "jobs.0.id"."""
    for name in path.split("."):
        value = value[int(name)] if isinstance(value, list) else value[name]
    return value


def replay(recording, server, **more):
    client = Replay(recording, server.address, **more)
    try:
        client.run()
    finally:
        client.close()


def certificate(folder):
    """A certificate for 127.0.0.1, and its key."""
    cert, key = os.path.join(folder, "cert.pem"), os.path.join(folder, "key.pem")
    subprocess.run(["openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt",
                    "ec_paramgen_curve:P-256", "-nodes", "-keyout", key, "-out", cert, "-days",
                    "2", "-subj", "/CN=localhost", "-addext",
                    "subjectAltName=DNS:localhost,IP:127.0.0.1"], check=True,
                   stderr=subprocess.DEVNULL)
    return cert, key


def add_tests(name, recording):
    def plain():
        with Server() as server:
            replay(recording, server)

    def with_token_and_tls():
        folder = server_kit.tempfile.mkdtemp(prefix="pawl-tls-")
        try:
            cert, key = certificate(folder)
            with Server("--tls-cert", cert, "--tls-key", key) as server:
                token = server.pawl("token", "add", "--scope", "admin").strip()
                context = ssl.create_default_context(cafile=cert)

                def refused():
                    ask = http.client.HTTPSConnection(server.address, context=context)
                    ask.request("GET", "/ojs/v1/queues")
                    return ask.getresponse().status == 401
                until(refused)
                replay(recording, server, token=token, ca=cert)
        finally:
            server_kit.shutil.rmtree(folder)
    plain.__name__ = name.replace("-", "_")
    server_kit.TESTS.append(plain)
    if not outside.POSTGRES:  # it is the same for every store
        with_token_and_tls.__name__ = plain.__name__ + "_with_token_and_tls"
        server_kit.TESTS.append(with_token_and_tls)


for file_name in sorted(glob.glob(os.path.join(HERE, "*.json"))):
    with open(file_name, encoding="utf-8") as file:
        add_tests(os.path.basename(file_name).removesuffix(".json"), json.load(file))
server_kit.main()
