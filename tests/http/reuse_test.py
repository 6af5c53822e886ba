#!/usr/bin/env python3
"""Memory that was used by one request does not leak into the next.

Usage: reuse_test.py PAWL [TEST...]
"""
from raw import HOST, Wire
from server_kit import Server, json, main, test

TYPE = b"Content-Type: application/json\r\n"


def post(path, body, *headers):
    head = b"POST " + path + b" HTTP/1.1\r\n" + HOST + TYPE + b"".join(headers)
    return head + b"Content-Length: %d\r\n\r\n" % len(body) + body


def job(n, size=0):
    return json.dumps({"type": "a.b", "args": [n, "x" * size]}).encode()


@test
def forgets_the_headers_of_the_one_before():
    with Server() as server, Wire(server) as wire:
        wire.send(post(b"/ojs/v1/jobs?wait=1", job(1), b"X-Request-Id: mine\r\n",
                       b"X-OJS-Tenant: ada\r\n"))
        first = wire.answer()
        assert first.status == 201 and first.headers["x-request-id"] == "mine"
        assert first.json["job"]["meta"]["tenant_id"] == "ada"
        second = wire.send(post(b"/ojs/v1/jobs", job(2))).answer()
        assert second.status == 201 and second.headers["x-request-id"].startswith("req_")
        assert second.json["job"]["meta"] == {}, second.json
        assert second.json["job"]["args"] == [2, ""]


@test
def forgets_a_refusal_and_its_headers():
    with Server() as server, Wire(server) as wire:
        refused = wire.send(b"DELETE /health HTTP/1.1\r\n" + HOST + b"\r\n").answer()
        assert refused.status == 405 and "allow" in refused.headers
        answered = wire.send(b"GET /health HTTP/1.1\r\n" + HOST + b"\r\n").answer()
        assert answered.status == 200 and "allow" not in answered.headers


@test
def bodies_of_all_lengths_come_one_after_the_other():
    """Also those that are too long for their memory to be kept."""
    with Server() as server, Wire(server) as wire:
        for n, size in enumerate([10, 100000, 5, 17000, 0, 300000, 1, 16000, 3]):
            reply = wire.send(post(b"/ojs/v1/jobs", job(n, size))).answer()
            assert reply.status == 201, reply.body[:300]
            assert reply.json["job"]["args"] == [n, "x" * size]


def batch(jobs):
    return post(b"/ojs/v1/jobs/batch", json.dumps({"jobs": jobs}).encode())


@test
def long_batches_are_answered_as_short_ones_are():
    """The pool reads and prints them."""
    with Server() as server, Wire(server) as wire:
        for size in (1, 400):
            jobs = [{"type": "a.b", "args": [n, "x" * size]} for n in range(100)]
            made = wire.send(batch(jobs)).answer()
            assert made.status == 201 and made.json["count"] == 100, made.body[:300]
            assert [job["args"] for job in made.json["jobs"]] == [job["args"] for job in jobs]
            jobs[42] = {"type": "a.b", "args": "none"}
            refused = wire.send(batch(jobs)).answer()
            assert refused.status == 400, refused.body[:300]
            assert refused.json["error"]["details"]["index"] == 42
            jobs[42] = {"type": "a.b", "args": [], "id": made.json["jobs"][0]["id"]}
            again = wire.send(batch(jobs)).answer()
            assert again.status == 409, again.body[:300]
            broken = wire.send(batch(jobs).replace(b"]}]}", b"]}]]")).answer()
            assert broken.status == 400 and broken.json["error"]["code"] == "invalid_payload"


@test
def a_client_that_leaves_a_long_batch_behind_harms_nobody():
    with Server() as server, Wire(server) as wire:
        jobs = [{"type": "a.b", "args": ["x" * 400]} for n in range(200)]
        for _ in range(50):
            with Wire(server) as gone:
                gone.send(batch(jobs))
        assert wire.send(batch(jobs)).answer().status == 201


@test
def many_at_once_keep_to_themselves():
    """More than are kept for later, in waves."""
    with Server() as server:
        wires = [Wire(server) for _ in range(400)]
        for wave in range(3):
            for n, wire in enumerate(wires):
                wire.send(post(b"/ojs/v1/jobs", job(n * 10 + wave, n)))
            for n, wire in enumerate(wires):
                assert wire.answer().json["job"]["args"] == [n * 10 + wave, "x" * n]
        for wire in wires:
            wire.socket.close()


main()
