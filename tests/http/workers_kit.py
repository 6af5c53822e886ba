"""What the tests of workers add to the server's kit: a server in test mode for each test, calls
that say what they expect, restarts."""
import functools
import json
import signal
import time

import server_kit
from server_kit import DEADLINE_S, Reply, main  # pylint: disable=unused-import

JSON = "application/openjobspec+json"


def test(function):
    """Marks a test: it is called with a Server, and proves what its name says."""
    @functools.wraps(function)
    def run():
        with Server() as server:
            function(server)
    return server_kit.test(run)


class Server(server_kit.Server):
    """Paths are under /ojs/v1; a body may be text, or whatever JSON can hold."""

    def __init__(self, store=None):
        super().__init__("--test-mode", store=store)

    def restart(self):
        self.process.send_signal(signal.SIGKILL)
        self.stop()
        self.start()

    def call(self, method, path, body=None, connection=None):
        own = connection or self.connect()
        if body is not None and not isinstance(body, (str, bytes)):
            body = json.dumps(body)
        own.request(method, "/ojs/v1" + path, body, {"Content-Type": JSON} if body else {})
        response = own.getresponse()
        reply = Reply(response, response.read())
        if not connection:
            own.close()
        return reply

    def ok(self, method, path, body=None, connection=None):
        reply = self.call(method, path, body, connection)
        assert reply.status in (200, 201), (method, path, body, reply.status, reply.body[:2000])
        return reply.json

    def refused(self, status, method, path, body=None):
        """Returns the error."""
        reply = self.call(method, path, body)
        assert reply.status == status, (status, method, path, body, reply.status,
                                        reply.body[:2000])
        error = reply.json["error"]
        for name in ("code", "message", "request_id", "hint"):
            assert error[name], f"no {name} in {error}"
        return error

    def submit(self, queue="default", **options):  # pylint: disable=arguments-differ
        """Returns the job's id."""
        body = {"type": "test.job", "args": [1], "options": {"queue": queue, **options}}
        return self.ok("POST", "/jobs", body)["job"]["id"]

    def fetch(self, *queues, **more):  # pylint: disable=arguments-differ
        """Returns the jobs."""
        body = {"queues": list(queues) or ["default"], **more}
        return self.ok("POST", "/workers/fetch", body)["jobs"]

    def job(self, job_id):
        return self.ok("GET", f"/jobs/{job_id}")["job"]

    def wait_for(self, job_id, state):
        """Until the job is in that state; the job."""
        end = time.monotonic() + DEADLINE_S
        while True:
            job = self.job(job_id)
            if job["state"] == state:
                return job
            assert time.monotonic() < end, f"not {state}: {job}"
            time.sleep(0.02)


def equal(got, wanted):
    assert got == wanted, f"got {got!r}, wanted {wanted!r}"


def has(text, part):
    assert part in text, f"no {part!r} in {text!r}"
