"""Bytes to and from a server, without a client that knows better."""
import socket
import time

from server_kit import DEADLINE_S, json

HOST = b"Host: localhost\r\n"
EMPTY_POST = b"POST /ojs/v1/jobs HTTP/1.1\r\n" + HOST


def connect(server):
    host, port = server.address.rsplit(":", 1)
    raw = socket.create_connection((host, int(port)), timeout=DEADLINE_S)
    raw.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    return raw


class Answer:
    """One reply, taken apart by hand."""

    def __init__(self, head, body):
        lines = head.decode("latin-1").split("\r\n")
        self.version, status, self.reason = lines[0].split(" ", 2)
        self.status, self.body = int(status), body
        self.headers = {}
        for line in lines[1:]:
            name, value = line.split(": ", 1)
            assert name.lower() not in self.headers, f"{name} is there twice: {head}"
            self.headers[name.lower()] = value

    @property
    def json(self):
        return json.loads(self.body)

    @property
    def closes(self):
        return self.headers.get("connection") == "close"


class Wire:
    """A connection; reads replies one by one."""

    def __init__(self, server):
        self.socket, self.buffer = connect(server), b""

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.socket.close()

    def send(self, *pieces):
        for piece in pieces:
            self.socket.sendall(piece)
        return self

    def more(self):
        """False: the server has closed."""
        try:
            got = self.socket.recv(65536)
        except ConnectionResetError:
            got = b""
        self.buffer += got
        return bool(got)

    def answer(self, head_only=False):
        while b"\r\n\r\n" not in self.buffer:
            assert self.more(), f"closed without an answer: {self.buffer!r}"
        head, self.buffer = self.buffer.split(b"\r\n\r\n", 1)
        answer = Answer(head, b"")
        length = 0 if head_only else int(answer.headers.get("content-length", 0))
        while len(self.buffer) < length:
            assert self.more(), "closed in the middle of an answer"
        answer.body, self.buffer = self.buffer[:length], self.buffer[length:]
        return answer

    def ended(self):
        """Waits until the server closes; nothing may come before."""
        while self.more():
            pass
        assert not self.buffer, f"something more came: {self.buffer!r}"
        return True

    def hang_up(self):
        self.socket.shutdown(socket.SHUT_WR)
        return self


def exchange(server, *pieces):
    with Wire(server) as wire:
        return wire.send(*pieces).answer()


def took(function):
    """How long it takes, in seconds, and what it returns."""
    began = time.monotonic()
    result = function()
    return time.monotonic() - began, result
