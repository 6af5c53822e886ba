"""What the tests of jobs, queues and administration share: one server for many tests, raw bodies,
refusals."""
import atexit
import http.client
import json
import uuid

import server_kit
from server_kit import Reply, Server

NOBODY = "01900000-0000-7000-8000-000000000000"
JOBS = "/ojs/v1/jobs"


class Shared(Server):
    """A server for all tests of a program: each uses queues of its own."""

    def __init__(self, *options):
        super().__init__(*options)
        atexit.register(self.leave_nothing)

    def leave_nothing(self):
        """Whatever happened, no process stays behind."""
        if self.process.poll() is None:
            self.process.kill()

    def ends_well(self):
        """Stops it; a sanitizer's complaint or a leak is a failure."""
        self.__exit__(None, None, None)

    def restart(self):
        """Another process on the same store."""
        code = self.stop()
        assert code == 0 and "Sanitizer" not in self.said(), (code, self.said())
        self.start()

    def raw(self, method, path, body, **headers):
        """A body as it is, bytes or text."""
        if isinstance(body, str):
            body = body.encode()
        headers = {"Content-Type": "application/json", **headers}
        connection = self.connect()
        try:
            connection.request(method, path, body, headers)
            response = connection.getresponse()
            return Reply(response, response.read())
        finally:
            connection.close()

    def put(self, path, body, status=200):
        return self.expect("PUT", path, body, status)

    def delete(self, path, body=None, status=200):
        return self.expect("DELETE", path, body, status)

    def expect(self, method, path, body=None, status=200):
        reply = self.ask(method, path, body)
        assert reply.status == status, (method, path, reply.status, reply.body)
        return reply.json if reply.body else None

    def refused(self, method, path, body, status, code, **details):
        """Sends what must be refused; checks the whole shape of the refusal."""
        if isinstance(body, (str, bytes)):
            reply = self.raw(method, path, body)
        else:
            reply = self.ask(method, path, body)
        return check_refusal(reply, status, code, details)

    def job(self, job):
        return self.get(f"{JOBS}/{job}")["job"]

    def state(self, job):
        return self.job(job)["state"]

    def run(self, job, queue, result=None):
        """Fetches the job, which must be the next one of its queue, and completes it."""
        fetched = self.fetch(queue)
        assert [one["id"] for one in fetched] == [job], fetched
        return self.ack(job, result)

    def discard(self, queue, dead_letter=True, error="Oops", **more):
        """A job that has failed for good."""
        retry = {"max_attempts": 1}
        if dead_letter:
            retry["on_exhaustion"] = "dead_letter"
        job = self.submit(queue=queue, options={"retry": retry}, **more)
        assert self.fetch(queue)[0]["id"] == job
        body = {"job_id": job, "error": {"code": "handler_error", "message": "no", "type": error}}
        assert self.post("/ojs/v1/workers/nack", body)["state"] == "discarded"
        return job


def check_refusal(reply, status, code, details):
    assert reply.status == status, (reply.status, reply.body)
    error = reply.json["error"]
    assert error["code"] == code, error
    assert error["message"] and isinstance(error["retryable"], bool), error
    assert error["request_id"] == reply.headers["X-Request-Id"], error
    assert error["hint"] and error["docs_url"], error
    for name, value in details.items():
        assert error["details"][name] == value, (name, value, error)
    return error


def queue_name():
    return "q-" + uuid.uuid4().hex[:12]


def new_id(last=0):
    """A UUID of version 7, as a client would choose one."""
    return f"01900000-0000-7000-8000-{uuid.uuid4().hex[:11]}{last:x}"


def pages(server, path, member, limit):
    """All items of a list, page by page by its cursor."""
    found, cursor = [], ""
    while True:
        reply = server.get(f"{path}{'&' if '?' in path else '?'}limit={limit}{cursor}")
        found += reply[member]
        page = reply["pagination"]
        assert len(reply[member]) <= limit and page["limit"] == limit, page
        assert page["has_more"] == ("next_cursor" in page), page
        if not page["has_more"]:
            return found
        cursor = "&cursor=" + page["next_cursor"]


class Later:
    """A request whose answer is waited for elsewhere: the connection is left open."""

    def __init__(self, server, method, path):
        self.connection = http.client.HTTPConnection(server.address,
                                                     timeout=server_kit.DEADLINE_S)
        self.connection.request(method, path)

    def reply(self):
        response = self.connection.getresponse()
        body = response.read()
        self.connection.close()
        return Reply(response, body)

    def is_silent(self, seconds):
        """Has nothing come after that long?"""
        self.connection.sock.settimeout(seconds)
        try:
            self.connection.sock.recv(1)
        except TimeoutError:
            self.connection.sock.settimeout(server_kit.DEADLINE_S)
            return True
        return False

    def go_away(self):
        self.connection.close()


def as_json(value):
    return json.dumps(value, separators=(",", ":"))
