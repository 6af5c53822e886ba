#!/usr/bin/env python3
"""TLS: versions, bad files, reloading, closing.

Usage: tls_test.py PAWL [TEST...]
"""
import os
import shutil
import signal
import socket
import ssl
import subprocess
import tempfile

from raw import HOST, took
from server_kit import DEADLINE_S, ENV, PAWL, Server, main, test, until

HEALTH = b"GET /health HTTP/1.1\r\n" + HOST + b"\r\n"
BODY = b'{"type":"a.b","args":[]}'
POST = (b"POST /ojs/v1/jobs HTTP/1.1\r\n" + HOST + b"Content-Type: application/json\r\n"
        + b"Content-Length: %d\r\n\r\n" % len(BODY) + BODY)


class Place:
    """A directory with a certificate and its key in it."""

    def __init__(self, kind="ec"):
        self.kind = ["ec", "-pkeyopt", "ec_paramgen_curve:P-256"] if kind == "ec" else [kind]
        self.path = tempfile.mkdtemp(prefix="pawl-tls-")
        self.cert, self.key = os.path.join(self.path, "cert"), os.path.join(self.path, "key")
        self.make("first")

    def __enter__(self):
        return self

    def __exit__(self, *_):
        shutil.rmtree(self.path)

    def make(self, name):
        subprocess.run(
            ["openssl", "req", "-x509", "-newkey", *self.kind, "-nodes",
             "-keyout", self.key, "-out", self.cert, "-days", "2", "-subj", "/CN=" + name,
             "-addext", "subjectAltName=IP:127.0.0.1"], check=True, capture_output=True)

    @property
    def options(self):
        return "--tls-cert", self.cert, "--tls-key", self.key


def secure(server, version=None):
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    context.check_hostname, context.verify_mode = False, ssl.CERT_NONE
    if version:
        context.minimum_version = context.maximum_version = version
    host, port = server.address.rsplit(":", 1)
    raw = socket.create_connection((host, int(port)), timeout=DEADLINE_S)
    return context.wrap_socket(raw)


def name_of(server):
    """What the certificate says that the server shows now."""
    with secure(server) as wire:
        shown = wire.getpeercert(binary_form=True)
    return "second" if b"second" in shown else "first"


def answer(wire):
    got = b""
    while b"}" not in got:
        more = wire.recv(65536)
        assert more, got
        got += more
    return int(got.split(b" ")[1])


@test
def speaks_the_versions_that_are_safe():
    with Place() as place, Server(*place.options) as server:
        for version in (ssl.TLSVersion.TLSv1_2, ssl.TLSVersion.TLSv1_3):
            with secure(server, version) as wire:
                for _ in range(3):
                    wire.sendall(HEALTH)
                    assert answer(wire) == 200
                wire.sendall(POST)
                assert answer(wire) == 201
        for version in ("-tls1_1", "-tls1"):
            done = subprocess.run(
                ["openssl", "s_client", "-connect", server.address, version, "-cipher",
                 "DEFAULT:@SECLEVEL=0"], input="", capture_output=True, text=True, check=False)
            assert done.returncode != 0, version


@test
def takes_only_ciphers_that_authenticate():
    def shakes_hands(server, cipher):
        done = subprocess.run(
            ["openssl", "s_client", "-connect", server.address, "-tls1_2", "-cipher",
             cipher + ":@SECLEVEL=0"], input="", capture_output=True, text=True, check=False)
        return done.returncode == 0 and f"Cipher is {cipher}\n" in done.stdout

    for kind, name in [("ec", "ECDSA"), ("rsa", "RSA")]:
        with Place(kind) as place, Server(*place.options) as server:
            for cipher in ("AES128-GCM-SHA256", "AES256-GCM-SHA384", "CHACHA20-POLY1305"):
                assert shakes_hands(server, f"ECDHE-{name}-{cipher}"), cipher
            for cipher in ("AES128-SHA", "AES256-SHA", "AES128-SHA256", "AES256-SHA384"):
                assert not shakes_hands(server, f"ECDHE-{name}-{cipher}"), cipher
            for cipher in ("AES128-SHA", "AES256-GCM-SHA384", "DHE-RSA-AES128-GCM-SHA256"):
                assert not shakes_hands(server, cipher), cipher


@test
def curl_trusts_it():
    with Place() as place, Server(*place.options) as server:
        for version in ("--tlsv1.2", "--tlsv1.3"):
            done = subprocess.run(
                ["curl", "-sS", version, "--cacert", place.cert,
                 f"https://{server.address}/health"], capture_output=True, text=True, check=False)
            assert done.returncode == 0 and done.stdout == '{"status":"ok"}', done
        done = subprocess.run(["curl", "-sS", f"https://{server.address}/health"],
                              capture_output=True, text=True, check=False)
        assert done.returncode == 60, done  # it is nobody's certificate


@test
def takes_large_bodies_and_small_pieces():
    with Place() as place, Server(*place.options) as server:
        body = BODY.replace(b",", b" " * 300000 + b",")
        sent = POST.split(b"Content-Length")[0] + b"Content-Length: %d\r\n\r\n" % len(body)
        with secure(server) as wire:
            wire.sendall(sent + body)
            assert answer(wire) == 201
            for i in range(0, len(POST), 7):
                wire.sendall(POST[i:i + 7])
            assert answer(wire) == 201
            wire.sendall(HEALTH * 20)
            got = b""
            while got.count(b'{"status":"ok"}') < 20:
                got += wire.recv(65536)


@test
def refuses_files_that_do_not_fit():
    with Place() as place, Place() as other:
        for cert, key, option in [
                (place.cert, other.key, "key"), (place.key, place.key, "certificate"),
                ("/nonexistent", place.key, "certificate"), (place.cert, "/nonexistent", "key"),
                ("/dev/null", place.key, "certificate"), (place.cert, place.cert, "key")]:
            done = subprocess.run(
                [PAWL, "serve", "--store", "sqlite::memory:", "--listen", "127.0.0.1:0",
                 "--tls-cert", cert, "--tls-key", key], env=ENV, capture_output=True, text=True,
                timeout=DEADLINE_S, check=False)
            assert done.returncode == 2 and f"could not use the {option}" in done.stderr, done


@test
def reads_its_files_again_on_a_hangup():
    with Place() as place, Server(*place.options) as server:
        with secure(server) as old:
            old.sendall(HEALTH)
            assert answer(old) == 200
            assert name_of(server) == "first"
            place.make("second")
            assert name_of(server) == "first"
            server.process.send_signal(signal.SIGHUP)
            until(lambda: name_of(server) == "second")
            old.sendall(HEALTH)
            assert answer(old) == 200  # connections go on as they are
        with open(place.cert, "w", encoding="utf-8") as file:
            file.write("nonsense")
        server.process.send_signal(signal.SIGHUP)
        until(lambda: "the old certificate stays in force" in server.said())
        assert name_of(server) == "second"


@test
def survives_what_is_no_tls():
    with Place() as place, Server(*place.options) as server:
        for sent in (HEALTH, b"\x16\x03\x01\xff\xff" + b"\x00" * 70000, b"\x80" * 100, b"\x16"):
            host, port = server.address.rsplit(":", 1)
            raw = socket.create_connection((host, int(port)), timeout=DEADLINE_S)
            try:
                raw.sendall(sent)
                raw.shutdown(socket.SHUT_WR)
                while raw.recv(4096):
                    pass
            except OSError:
                pass  # it has heard enough
            raw.close()
        with secure(server) as wire:
            wire.sendall(HEALTH)
            assert answer(wire) == 200


@test
def answers_a_goodbye_that_comes_early():
    """A request under way must survive the end of what its client has to say."""
    with Place() as place, Server(*place.options) as server:
        for i in range(30):
            wire = secure(server)
            wire.sendall(POST * 3)
            wire.setblocking(False)
            try:
                wire.unwrap()
            except (ssl.SSLWantReadError, OSError):
                pass
            if i % 2:
                wire.close()
            else:
                wire.setblocking(True)
                wire.detach()
        with secure(server) as wire:
            wire.sendall(HEALTH)
            assert answer(wire) == 200


@test
def a_handshake_that_does_not_come_is_not_waited_for():
    with Place() as place, Server("--header-timeout", "300ms", *place.options) as server:
        host, port = server.address.rsplit(":", 1)
        with socket.create_connection((host, int(port)), timeout=DEADLINE_S) as raw:
            seconds, got = took(lambda: raw.recv(1))
            assert got == b"" and seconds < 10


if __name__ == "__main__":
    main()
