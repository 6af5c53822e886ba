"""What the tests of the server share: a server process, requests, streams, TAP."""
import http.client
import json
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import time
import traceback
import urllib.parse

sys.path.append(os.path.join(os.path.dirname(os.path.abspath(__file__)), "../support"))
import outside

PAWL = os.path.abspath(sys.argv[1])
ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
DEADLINE_S = 60  # nothing waits longer, however slow a sanitizer makes things
SCALE = int(os.environ.get("PAWL_TEST_SCALE", "100"))
ENV = outside.environment()

TESTS = []


class Skip(Exception):
    """A test that cannot be made here; the reason is its text."""


def test(function):
    """Marks a test: it proves what its name says."""
    TESTS.append(function)
    return function


class Reply:
    """What the server answered."""

    def __init__(self, response, body):
        self.status, self.headers, self.body = response.status, response.headers, body

    @property
    def json(self):
        return json.loads(self.body)


class Server:
    """A `pawl serve` on a port of its own, and a store of its own if none is given."""

    def __init__(self, *options, store=None):
        self.killed = False
        self.path = tempfile.mkdtemp(prefix="pawl-http-")
        self.store = store or outside.make_store(self.path)
        self.options = options
        self.start()

    def start(self):
        """Also again after a stop, on the same store."""
        self.log = open(os.path.join(self.path, "log"), "a+", encoding="utf-8")
        args = [PAWL, "serve", "--store", self.store, "--listen", "127.0.0.1:0", *self.options]
        self.process = subprocess.Popen(args, cwd=self.path, env=ENV, stdin=subprocess.DEVNULL,
                                        stdout=subprocess.PIPE, stderr=self.log, text=True)
        line = self.process.stdout.readline()
        if not line.startswith("serving "):
            raise AssertionError(f"the server said {line!r}: {self.said()}")
        self.address = urllib.parse.urlsplit(line.split()[1]).netloc

    def __enter__(self):
        return self

    def __exit__(self, kind, value, trace):
        code = self.stop()
        said = self.said()
        shutil.rmtree(self.path)
        if kind is None and not self.killed and (code != 0 or "Sanitizer" in said):
            raise AssertionError(f"the server ended with {code}: {said}")

    def said(self):
        with open(self.log.name, encoding="utf-8") as log:
            return log.read()[-4000:]

    def stop(self):
        """Asks it to stop, if it runs, and waits for it."""
        if self.process.poll() is None:
            self.process.send_signal(signal.SIGTERM)
        code = self.process.wait(DEADLINE_S)
        self.process.stdout.close()
        self.log.close()
        return code

    def kill(self):
        """For servers that cannot end well."""
        self.killed = True
        self.process.kill()

    def connect(self):
        return http.client.HTTPConnection(self.address, timeout=DEADLINE_S)

    def ask(self, method, path, body=None, headers=None):
        """One request on a connection of its own."""
        connection = self.connect()
        try:
            headers = dict(headers or {})
            if body is not None:
                headers.setdefault("Content-Type", "application/openjobspec+json")
                body = json.dumps(body)
            connection.request(method, path, body, headers)
            response = connection.getresponse()
            return Reply(response, response.read())
        finally:
            connection.close()

    def get(self, path, status=200, **headers):
        reply = self.ask("GET", path, headers=headers)
        assert reply.status == status, (path, reply.status, reply.body)
        return reply.json

    def post(self, path, body=None, status=200):
        reply = self.ask("POST", path, {} if body is None else body)
        assert reply.status == status, (path, reply.status, reply.body)
        return reply.json

    def submit(self, kind="a.b", queue="default", **more):
        options = {"queue": queue, **more.pop("options", {})}
        body = {"type": kind, "args": [], "options": options, **more}
        return self.post("/ojs/v1/jobs", body, 201)["job"]["id"]

    def fetch(self, queue="default", worker="w1", **more):
        body = {"queues": [queue], "worker_id": worker, **more}
        return self.post("/ojs/v1/workers/fetch", body)["jobs"]

    def ack(self, job, result=None):
        return self.post("/ojs/v1/workers/ack", {"job_id": job, "result": result})

    def nack(self, job, **more):
        error = {"code": "handler_error", "message": "no", "type": "Oops"}
        return self.post("/ojs/v1/workers/nack", {"job_id": job, "error": error, **more})

    def pawl(self, *args):
        """The command line, another process on the same store."""
        done = subprocess.run([PAWL, *args, "--store", self.store], cwd=self.path, env=ENV,
                              capture_output=True, text=True, timeout=DEADLINE_S, check=False)
        assert done.returncode == 0, (args, done.stderr)
        return done.stdout

    def metric(self, name):
        text = self.ask("GET", "/metrics").body.decode()
        for line in text.splitlines():
            if line.startswith(name + " "):
                return float(line.split()[-1])
        return 0

    def events(self, query=""):
        return self.get("/ojs/v1/events" + query)["events"]

    def listen(self, path, **headers):
        return Stream(self, path, headers)


class Stream:
    """Server-Sent Events, one at a time."""

    def __init__(self, server, path, headers):
        self.connection = server.connect()
        self.connection.request("GET", path, headers={"Accept": "text/event-stream", **headers})
        self.response = self.connection.getresponse()
        assert self.response.status == 200, (path, self.response.status, self.response.read())
        assert self.response.headers["Content-Type"] == "text/event-stream"
        self.comments = []
        self.retry = None

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.connection.close()

    def next(self):
        """(event, id, data); None at the end."""
        fields = {}
        while True:
            line = self.response.readline()
            if not line:
                assert not fields, f"the stream ended within an event: {fields}"
                return None
            assert line.endswith(b"\n") and b"\r" not in line, line
            line = line[:-1].decode()
            if line.startswith(":"):
                self.comments.append(line)
            elif line:
                name, value = line.split(": ", 1)
                fields[name] = value
            elif "data" in fields:
                return fields["event"], fields["id"], json.loads(fields["data"])
            elif "retry" in fields:
                self.retry = fields.pop("retry")
            elif self.comments:
                return ":", None, self.comments[-1]

    def rest(self):
        """All that comes until the end."""
        found = []
        while (event := self.next()) is not None:
            found.append(event)
        return found


def until(what):
    """Waits for something to become true, and returns it."""
    end = time.monotonic() + DEADLINE_S
    while time.monotonic() < end:
        value = what()
        if value:
            return value
        time.sleep(0.01)
    raise AssertionError("it did not happen")


def main():
    wanted = sys.argv[2:]
    tests = [function for function in TESTS if not wanted or function.__name__ in wanted]
    print(f"1..{len(tests)}", flush=True)
    failed = 0
    for number, function in enumerate(tests, 1):
        try:
            function()
            print(f"ok {number} - {function.__name__}", flush=True)
        except Skip as reason:
            print(f"ok {number} - {function.__name__} # SKIP {reason}", flush=True)
        except Exception:  # pylint: disable=broad-except
            failed += 1
            print(f"not ok {number} - {function.__name__}", flush=True)
            for line in traceback.format_exc().splitlines():
                print(f"# {line}", flush=True)
    sys.exit(failed > 0)
