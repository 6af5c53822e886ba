"""Clients and workers that are, on the wire, what the JavaScript and the Python SDK of the Open Job
Spec are: the same headers, bodies and readings of replies, the same loop of a worker. Version 0.4.0
of both."""
import datetime
import http.client
import json
import ssl
import threading
import time
import traceback
import uuid

DEADLINE_S = 60
TYPE = "application/openjobspec+json"


class Refused(Exception):
    """An error reply, as both SDKs read it."""

    def __init__(self, status, body):
        error = body["error"]
        super().__init__(f"{status} {error['code']}: {error['message']}")
        self.status, self.code, self.message = status, error["code"], error["message"]
        self.retryable, self.details = error["retryable"], error.get("details", {})
        self.request_id = error["request_id"]


class Sdk:
    """What both have in common. A connection per thread, kept alive."""

    name = None
    headers = {}
    fetch_max = 1

    def __init__(self, url, token=None, ca=None):
        self.scheme, self.address = url.split("://")
        self.token, self.ca = token, ca
        self.here = threading.local()

    def connect(self):
        if self.scheme == "http":
            return http.client.HTTPConnection(self.address, timeout=DEADLINE_S)
        context = ssl.create_default_context(cafile=self.ca)
        return http.client.HTTPSConnection(self.address, timeout=DEADLINE_S, context=context)

    def send(self, method, path, body):
        """The request as it goes out; an absent body of a POST has length 0, but a type."""
        self.here.request_id = str(uuid.uuid4())
        headers = {**self.headers, "Content-Type": TYPE, "Accept": TYPE, "OJS-Version": "1.0",
                   "X-Request-ID": self.here.request_id}
        if self.token:
            headers["Authorization"] = f"Bearer {self.token}"
        if not hasattr(self.here, "connection"):
            self.here.connection = self.connect()
        text = None if body is None else json.dumps(body, separators=(",", ":"))
        self.here.connection.request(method, path, text, headers)
        return self.here.connection.getresponse()

    def call(self, method, path, body=None, raw=False):
        response = self.send(method, path if raw else "/ojs/v1" + path, body)
        text = response.read()
        assert response.headers["OJS-Version"] == "1.0", dict(response.headers)
        assert response.headers["X-Request-Id"] == self.here.request_id, dict(response.headers)
        if response.status >= 400:
            raise Refused(response.status, json.loads(text))
        return {} if response.status == 204 else self.read(response, text)

    def read(self, response, text):
        raise NotImplementedError

    def close(self):
        if hasattr(self.here, "connection"):
            self.here.connection.close()
            del self.here.connection

    # ---- client ----

    def options(self, options):
        """The options of a job as the SDK writes them."""
        raise NotImplementedError

    def envelope(self, kind, args=(), meta=None, **options):
        body = {"type": kind, "args": list(args)}
        if meta:
            body["meta"] = meta
        options = self.options(options)
        return {**body, "options": options} if options else body

    def enqueue(self, kind, args=(), meta=None, **options):
        return self.call("POST", "/jobs", self.envelope(kind, args, meta, **options))["job"]

    def batch(self, envelopes):
        return self.call("POST", "/jobs/batch", {"jobs": envelopes})["jobs"]

    def job(self, job_id):
        return self.call("GET", f"/jobs/{job_id}")["job"]

    def state(self, job_id):
        return self.job(job_id)["state"]

    def cancel(self, job_id):
        return self.call("DELETE", f"/jobs/{job_id}")["job"]

    def dead_letters(self, queue):
        raise NotImplementedError

    # ---- worker ----

    def fetch(self, worker_id, queues, slots):
        body = {"queues": queues, "count": min(slots, self.fetch_max), "worker_id": worker_id,
                "visibility_timeout_ms": 30000}
        return self.call("POST", "/workers/fetch", body).get("jobs", [])

    def heartbeat(self, worker_id, state, ids):
        raise NotImplementedError

    def progress(self, job_id, percentage, message, data):
        self.call("POST", "/workers/progress", {"job_id": job_id, "percentage": percentage,
                                                "message": message, "data": data})

    # ---- durable: the path has its beginning twice ----

    def checkpoint_load(self, job_id):
        found = self.call("GET", f"/ojs/v1/checkpoints/{job_id}/resume")
        if not found.get("has_checkpoint"):
            return None
        return json.loads(found["checkpoint"]["metadata"]["_replay_log"])

    def checkpoint_save(self, job_id, attempt, step, state, log):
        metadata = {"_replay_log": json.dumps(log), "attempt": str(attempt)}
        self.call("POST", f"/ojs/v1/checkpoints/{job_id}",
                  {"state": state, "step_index": step, "metadata": metadata})

    def checkpoint_delete(self, job_id):
        self.call("DELETE", f"/ojs/v1/checkpoints/{job_id}")

    # ---- events ----

    def stream_path(self, channel):
        return f"/ojs/v1/events/stream?channel={channel}"

    def listen(self, channel):
        """Events of a channel: (id, type, data). Lines are split at \\n alone, as the SDKs do."""
        connection = self.connect()
        headers = {**self.headers, "Accept": "text/event-stream", "Cache-Control": "no-cache"}
        if self.token:
            headers["Authorization"] = f"Bearer {self.token}"
        connection.request("GET", self.stream_path(channel), headers=headers)
        response = connection.getresponse()
        if response.status != 200:
            raise Refused(response.status, json.loads(response.read()))
        return self.events(connection, response)

    @staticmethod
    def events(connection, response):
        fields = {"event": "", "id": "", "data": ""}
        try:
            for line in iter(response.readline, b""):
                line = line.decode()
                assert line.endswith("\n") and "\r" not in line, line
                name, _, value = line[:-1].partition(":")
                if line == "\n":
                    if fields["data"]:
                        yield fields["id"], fields["event"], json.loads(fields["data"])
                    fields = {"event": "", "id": "", "data": ""}
                elif name in fields:
                    fields[name] = value.lstrip()
        finally:
            connection.close()


class JavaScript(Sdk):
    name = "javascript"
    headers = {"connection": "keep-alive", "accept-language": "*", "sec-fetch-mode": "cors",
               "user-agent": "node", "accept-encoding": "gzip, deflate"}
    fetch_max = 10

    def read(self, response, text):
        assert response.headers["Content-Type"] == TYPE, dict(response.headers)
        return json.loads(text)  # any success must have JSON in it

    def options(self, options):
        if "delay_ms" in options:
            when = datetime.datetime.fromtimestamp(time.time() + options.pop("delay_ms") / 1000,
                                                   datetime.timezone.utc)
            options["delay_until"] = when.isoformat(timespec="milliseconds").replace("+00:00", "Z")
        return options

    def dead_letters(self, queue):
        return [job for job in self.call("GET", "/dead-letter")["jobs"] if job["queue"] == queue]

    def heartbeat(self, worker_id, state, ids):
        return self.call("POST", "/workers/heartbeat", {
            "worker_id": worker_id, "state": state, "active_jobs": len(ids), "active_job_ids": ids,
            "hostname": "unknown", "pid": 4711, "queues": ["default"], "concurrency": 10,
            "labels": []})["state"]

    def stream_path(self, channel):
        return super().stream_path(channel.replace(":", "%3A"))

    @staticmethod
    def failure(error):
        return {"code": "handler_error", "message": str(error), "retryable": True,
                "details": {"stack": traceback.format_exc()}}

    @staticmethod
    def no_handler(kind):
        return {"code": "handler_not_found", "retryable": False,
                "message": f"No handler registered for job type '{kind}'."}


class Python(Sdk):
    name = "python"
    headers = {"Accept-Encoding": "gzip, deflate", "Connection": "keep-alive",
               "User-Agent": "python-httpx/0.28.1"}

    def read(self, response, text):
        # Whatever is not of this type counts as no answer at all.
        assert "application/json" in response.headers["Content-Type"], dict(response.headers)
        return json.loads(text)

    def options(self, options):
        if "delay_ms" in options:
            when = datetime.datetime.fromtimestamp(time.time() + options.pop("delay_ms") / 1000,
                                                   datetime.timezone.utc)
            options["delay_until"] = when.isoformat()
        if "unique" in options:
            options["unique"] = {"on_conflict": "reject", "key": ["type", "queue", "args"],
                                 "states": ["available", "active", "scheduled"],
                                 **options["unique"]}
        return {name: value for name, value in options.items()
                if (name, value) != ("queue", "default")}

    def dead_letters(self, queue):
        found = self.call("GET", f"/dead-letter?limit=50&offset=0&queue={queue}")
        assert found["pagination"]["total"] == len(found["jobs"]), found
        return found["jobs"]

    def heartbeat(self, worker_id, state, ids):
        return self.call("POST", "/workers/heartbeat", {
            "worker_id": worker_id, "active_jobs": ids, "visibility_timeout_ms": 30000})["state"]

    @staticmethod
    def failure(error):
        return {"code": "handler_error", "message": str(error), "retryable": True,
                "details": {"traceback": traceback.format_exc()}}

    @staticmethod
    def no_handler(kind):
        return {"code": "handler_error", "retryable": False,
                "message": f"No handler registered for job type '{kind}'"}


SDKS = [JavaScript, Python]


class Worker(threading.Thread):
    """The loop of a worker: polls, runs each job on a thread of its own, reports up to three times,
    sends heartbeats and obeys what they are answered with."""

    POLL_S, HEARTBEAT_S, SLOTS = 0.02, 0.05, 10

    def __init__(self, sdk, queues, handlers):
        super().__init__()
        self.sdk, self.queues, self.handlers = sdk, queues, handlers
        self.id = f"worker_{uuid.uuid4()}"
        self.running = {}
        self.directive = "running"
        self.stopping = threading.Event()
        self.refused = []  # reports that the server did not take
        self.trouble = None
        self.start()

    def __enter__(self):
        return self

    def __exit__(self, kind, *_):
        self.stop()
        if kind is None and self.trouble:
            raise AssertionError(self.trouble)

    def stop(self):
        """Fetches no more, waits for what runs."""
        self.stopping.set()
        self.join(DEADLINE_S)

    def report(self, path, body):
        for turn in range(3):
            try:
                return self.sdk.call("POST", path, body)
            except Refused as error:
                self.refused.append(error)
                time.sleep(turn * 0.02)
        return None

    def process(self, job):
        try:
            handler = self.handlers.get(job["type"])
            if handler is None:
                error = self.sdk.no_handler(job["type"])
                return self.report("/workers/nack", {"job_id": job["id"], "error": error})
            try:
                result = handler(job)
            except Exception as error:  # pylint: disable=broad-except
                error = self.sdk.failure(error)
                return self.report("/workers/nack", {"job_id": job["id"], "error": error})
            body = {"job_id": job["id"]}
            if result is not None:
                body["result"] = result
            return self.report("/workers/ack", body)
        except Exception:  # pylint: disable=broad-except
            self.trouble = traceback.format_exc()
        finally:
            self.sdk.close()
            del self.running[job["id"]]

    def poll(self):
        slots = self.SLOTS - len(self.running)
        if slots <= 0 or self.directive != "running":
            return
        for job in self.sdk.fetch(self.id, self.queues, slots):
            self.running[job["id"]] = thread = threading.Thread(target=self.process, args=[job])
            thread.start()

    def beat(self):
        said = self.sdk.heartbeat(self.id, self.directive, list(self.running))
        assert said in ("running", "quiet", "terminate"), said
        if said == "terminate":
            self.stopping.set()
        if said != "running":
            self.directive = said

    def run(self):
        try:
            next_beat = 0
            while not self.stopping.is_set():
                if time.monotonic() >= next_beat:
                    self.beat()
                    next_beat = time.monotonic() + self.HEARTBEAT_S
                self.poll()
                self.stopping.wait(self.POLL_S)
            for thread in list(self.running.values()):
                thread.join(DEADLINE_S)
        except Exception:  # pylint: disable=broad-except
            self.trouble = traceback.format_exc()
        finally:
            self.sdk.close()
