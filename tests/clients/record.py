#!/usr/bin/env python3
"""Records what a client sends. Usage: record.py PAWL FILE COMMAND [ARGUMENT...]

Starts `pawl serve` on a new store, a proxy in front of it, and COMMAND with the proxy's address in
OJS_URL. The exchanges go to FILE in the form that replay_test.py reads, each with the whole answer
under "answer": README.md says how to make test data of that.
"""
import json
import os
import re
import socket
import subprocess
import sys
import tempfile
import threading
import urllib.parse

ID = re.compile(r"[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}")
CONNECTION = {"host", "content-length", "transfer-encoding"}  # the replay writes its own


class Peer:
    """One side of a connection: reads messages, and remembers their bytes."""

    def __init__(self, sock):
        self.file, self.socket = sock.makefile("rb"), sock

    def head(self):
        """The first line, the headers in order, the bytes; or None at the end."""
        lines = []
        while (line := self.file.readline()) not in (b"\r\n", b""):
            lines.append(line)
        if not lines:
            return None
        headers = [line.decode("latin-1").rstrip("\r\n").split(": ", 1) for line in lines[1:]]
        return lines[0].decode().rstrip(), headers, b"".join(lines) + b"\r\n"

    def body(self, headers, to_end):
        """Pieces of the body: (bytes on the wire, content)."""
        by_name = {name.lower(): value for name, value in headers}
        if by_name.get("transfer-encoding") == "chunked":
            while True:
                size = self.file.readline()
                data = self.file.read(int(size, 16) + 2)
                yield size + data, data[:-2]
                if int(size, 16) == 0:
                    return
        elif "content-length" in by_name:
            data = self.file.read(int(by_name["content-length"]))
            yield data, data
        elif to_end:
            while data := self.file.read1(65536):
                yield data, data


class Proxy:
    """Passes on every byte unchanged, and keeps the exchanges in the order of their requests."""

    def __init__(self, upstream):
        host, port = upstream.rsplit(":", 1)
        self.upstream, self.exchanges = (host, int(port)), []
        self.listener = socket.create_server(("127.0.0.1", 0))
        self.url = f"http://127.0.0.1:{self.listener.getsockname()[1]}"
        threading.Thread(target=self.accept, daemon=True).start()

    def accept(self):
        while True:
            sock, _ = self.listener.accept()
            threading.Thread(target=self.serve, args=[sock], daemon=True).start()

    def serve(self, sock):
        with sock, socket.create_connection(self.upstream) as server_sock:
            client, server = Peer(sock), Peer(server_sock)
            try:
                while self.exchange(client, server):
                    pass
            except OSError:
                pass  # one side is gone

    def exchange(self, client, server):
        head = client.head()
        if head is None:
            return False
        line, headers, raw = head
        pieces = list(client.body(headers, to_end=False))
        method, path, _ = line.split(" ")
        entry = {"method": method, "path": path, "headers": headers,
                 "body": b"".join(content for _, content in pieces)}
        self.exchanges.append(entry)
        server.socket.sendall(raw + b"".join(wire for wire, _ in pieces))
        line, headers, raw = server.head()
        entry["status"], entry["answer"] = int(line.split(" ")[1]), b""
        client.socket.sendall(raw)
        for wire, content in server.body(headers, to_end=entry["status"] not in (204, 304)):
            entry["answer"] += content
            client.socket.sendall(wire)
        return True


def parsed(data):
    """Bytes as JSON, or as text."""
    if not data:
        return None
    try:
        return json.loads(data)
    except ValueError:
        return data.decode("utf-8", "replace")


def path_to(value, wanted, path=""):
    """Where in a JSON value a string is, as "job.id" or "jobs.0.id"."""
    if value == wanted:
        return path[1:]
    items = value.items() if isinstance(value, dict) else \
        enumerate(value) if isinstance(value, list) else ()
    for name, member in items:
        if (found := path_to(member, wanted, f"{path}.{name}")) is not None:
            return found
    return None


class Recording:
    """Exchanges with variables for the ids that the server gave."""

    def __init__(self):
        self.names, self.entries = {}, []

    def add(self, raw):
        headers = [pair for pair in raw["headers"] if pair[0].lower() not in CONNECTION]
        request = {"method": raw["method"], "path": raw["path"], "headers": headers}
        if raw["body"]:
            request["body"] = parsed(raw["body"])
        request = json.loads(ID.sub(self.variable, json.dumps(request)))
        answer = parsed(raw.get("answer"))
        entry = {"name": f"{raw['method']} {raw['path']}", "request": request,
                 "needs": {"status": raw.get("status")}, "answer": answer}
        for found in ID.findall(json.dumps(answer)):
            where = path_to(answer, found)
            if found not in self.names and where and where.endswith("id"):
                self.names[found] = f"id{len(self.names) + 1}"
                entry.setdefault("keep", {})[self.names[found]] = where
        self.entries.append(entry)

    def variable(self, match):
        name = self.names.get(match.group())
        return match.group() if name is None else "${%s}" % name


def main():
    pawl, out, command = sys.argv[1], sys.argv[2], sys.argv[3:]
    with tempfile.TemporaryDirectory() as directory:
        store = "sqlite:" + os.path.join(directory, "pawl.db")
        with subprocess.Popen([pawl, "serve", "--store", store, "--listen", "127.0.0.1:0"],
                              stdout=subprocess.PIPE, text=True) as server:
            address = urllib.parse.urlsplit(server.stdout.readline().split()[1]).netloc
            proxy = Proxy(address)
            try:
                env = {**os.environ, "OJS_URL": proxy.url}
                done = subprocess.run(command, env=env, check=False)
            finally:
                server.terminate()
    recording = Recording()
    for raw in proxy.exchanges:
        recording.add(raw)
    with open(out, "w", encoding="utf-8") as file:
        json.dump({"exchanges": recording.entries}, file, indent=1)
    sys.exit(done.returncode)


if __name__ == "__main__":
    main()
