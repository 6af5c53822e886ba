#!/usr/bin/env python3
"""HTTP on the wire: requests that are malformed, too large, too slow or cut off.

Usage: transport_test.py PAWL [TEST...]
"""
import datetime
import os
import resource
import signal
import socket
import subprocess
import threading
import time

from raw import EMPTY_POST, HOST, Wire, connect, exchange, took
from server_kit import ENV, PAWL, SCALE, Server, json, main, test, until

HEALTH = b"GET /health HTTP/1.1\r\n" + HOST + b"\r\n"
JOB = b'{"type":"a.b","args":[]}'
TYPE = b"Content-Type: application/json\r\n"


def post(body, *headers, path=b"/ojs/v1/jobs"):
    head = b"POST " + path + b" HTTP/1.1\r\n" + HOST + TYPE + b"".join(headers)
    return head + b"Content-Length: %d\r\n\r\n" % len(body) + body


def chunked(*chunks, end=b"0\r\n\r\n"):
    body = b"".join(b"%x\r\n%s\r\n" % (len(chunk), chunk) for chunk in chunks)
    return EMPTY_POST + TYPE + b"Transfer-Encoding: chunked\r\n\r\n" + body + end


def get(*headers, target=b"/health", version=b"HTTP/1.1", host=HOST):
    return b"GET " + target + b" " + version + b"\r\n" + host + b"".join(headers) + b"\r\n"


def coded(*values):
    """A chunked job under these transfer codings."""
    head = b"".join(b"Transfer-Encoding: " + value + b"\r\n" for value in values)
    return chunked(JOB).replace(b"Transfer-Encoding: chunked\r\n", head)


CL = b"Content-Length: 5\r\n"
TE = b"Transfer-Encoding: chunked\r\n"

# What servers and proxies have read differently, and what is just wrong: (name, bytes, status).
MALFORMED = [
    ("length and chunks", EMPTY_POST + CL + TE + b"\r\n0\r\n\r\n", 400),
    ("chunks and length", EMPTY_POST + TE + CL + b"\r\n0\r\n\r\n", 400),
    ("two lengths", EMPTY_POST + CL + b"Content-Length: 6\r\n\r\nhello!", 400),
    ("the same length twice", EMPTY_POST + CL + CL + b"\r\nhello", 400),
    ("a list of lengths", EMPTY_POST + b"Content-Length: 5, 5\r\n\r\nhello", 400),
    ("a signed length", EMPTY_POST + b"Content-Length: +5\r\n\r\nhello", 400),
    ("a negative length", EMPTY_POST + b"Content-Length: -5\r\n\r\nhello", 400),
    ("a length in hexadecimal", EMPTY_POST + b"Content-Length: 0x5\r\n\r\nhello", 400),
    ("a length beyond numbers", EMPTY_POST + b"Content-Length: 99999999999999999999\r\n\r\n", 400),
    ("an empty length", EMPTY_POST + b"Content-Length:\r\n\r\n", 400),
    ("a blank before the colon", EMPTY_POST + b"Content-Length : 5\r\n\r\nhello", 400),
    ("another coding", coded(b"gzip"), 501),
    ("another coding, then chunks", coded(b"gzip, chunked"), 501),
    ("another coding with a parameter", coded(b"gzip;q=1, chunked"), 501),
    ("identity", coded(b"identity"), 501),
    ("xchunked", coded(b"xchunked"), 501),
    ("two codings in two headers", coded(b"identity", b"chunked"), 400),
    ("chunked twice", coded(b"chunked", b"chunked"), 400),
    ("chunked twice in a list", coded(b"chunked, chunked"), 400),
    ("chunked but not last", coded(b"chunked, gzip"), 400),
    ("chunked with a parameter", coded(b"chunked;a=b"), 400),
    ("chunked in a list with nothing else", coded(b",chunked"), 400),
    ("chunked behind a vertical tab", coded(b"\x0bchunked"), 400),
    ("no coding", coded(b""), 400),
    ("no coding and a length", EMPTY_POST + b"Transfer-Encoding:\r\n" + CL + b"\r\nhello", 400),
    ("a length beside no coding", EMPTY_POST + CL + b"Transfer-Encoding: \r\n\r\nhello", 400),
    ("identity and a length", EMPTY_POST + CL + b"Transfer-Encoding: identity\r\n\r\nhello", 400),
    ("chunks in HTTP/1.0", EMPTY_POST.replace(b"1.1", b"1.0") + TE + b"\r\n0\r\n\r\n", 400),
    ("a folded header", get(b"X-A: b\r\n c\r\n"), 400),
    ("a folded header, by a tab", get(b"X-A: b\r\n\tc\r\n"), 400),
    ("a folded first header", get(b"X-A: b\r\n", host=b" " + HOST), 400),
    ("a lone line feed", b"GET /health HTTP/1.1\nHost: localhost\n\n", 400),
    ("a lone line feed in headers", get(b"X-A: b\nX-C: d\r\n"), 400),
    ("a lone carriage return", get(b"X-A: b\rX-C: d\r\n"), 400),
    ("a hidden header", get(b"X-A:\rTransfer-Encoding: chunked\r\n"), 400),
    ("a NUL in a header", get(b"X-A: b\x00c\r\n"), 400),
    ("a NUL in a name", get(b"X-\x00A: b\r\n"), 400),
    ("a NUL in the target", get(target=b"/hea\x00lth"), 400),
    ("a control character", get(b"X-A: b\x01c\r\n"), 400),
    ("no name", get(b": b\r\n"), 400),
    ("no colon", get(b"X-A\r\n"), 400),
    ("a name that is none", get(b"X(A): b\r\n"), 400),
    ("no host", get(host=b""), 400),
    ("two hosts", get(HOST), 400),
    ("a host that is none", get(host=b"Host: a b\r\n"), 400),
    ("a host with a path", get(host=b"Host: a/b\r\n"), 400),
    ("an empty host", get(host=b"Host:\r\n"), 400),
    ("a host that is blank", get(host=b"Host: \t\r\n"), 400),
    ("a host without a name", get(host=b"Host: :80\r\n"), 400),
    ("a port that is none", get(host=b"Host: localhost:abc\r\n"), 400),
    ("a port beyond ports", get(host=b"Host: localhost:65536\r\n"), 400),
    ("an address that is open", get(host=b"Host: [::1\r\n"), 400),
    ("a name that looks like an address", get(host=b"Host: [evil.example\r\n"), 400),
    ("a name as an address", get(host=b"Host: [evil.example]\r\n"), 400),
    ("a host with a user", get(host=b"Host: a@localhost\r\n"), 400),
    ("a target with a user", get(target=b"http://a@localhost/health"), 400),
    ("a target without a host", get(target=b"http:///health"), 400),
    ("two authorizations", get(b"Authorization: Bearer a\r\n" * 2), 400),
    ("HTTP/0.9", b"GET /health\r\n\r\n", 400),
    ("HTTP/1.2", get(version=b"HTTP/1.2"), 400),
    ("HTTP/2.0", get(version=b"HTTP/2.0"), 400),
    ("an HTTP/2 preface", b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n", 400),
    ("http in small letters", get(version=b"http/1.1"), 400),
    ("another protocol", b"DESCRIBE / RTSP/1.0\r\n" + HOST + b"\r\n", 400),
    ("two blanks", get(target=b" /health"), 400),
    ("a blank behind the version", get(version=b"HTTP/1.1 "), 400),
    ("a blank in the target", get(target=b"/hea lth"), 400),
    ("a tab in the request line", b"GET\t/health\tHTTP/1.1\r\n" + HOST + b"\r\n", 400),
    ("a blank before the method", b" " + HEALTH, 400),
    ("a target without a slash", get(target=b"health"), 400),
    ("a target that is a fragment", get(target=b"/health#a"), 400),
    ("a target that is not ASCII", get(target=b"/h\xc3\xa9"), 400),
    ("a URL without a path", get(target=b"http://localhost"), 400),
    ("a TLS greeting", b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03" + b"\x00" * 64, 400),
    ("no request at all", b"\r\n" * 10, 400),
    ("a chunk without a size", chunked(end=b"\r\n\r\n"), 400),
    ("a chunk size that is none", chunked(end=b"zz\r\n\r\n"), 400),
    ("a chunk size with a sign", chunked(end=b"+2\r\nab\r\n0\r\n\r\n"), 400),
    ("a chunk size with 0x", chunked(end=b"0x2\r\nab\r\n0\r\n\r\n"), 400),
    ("a chunk size beyond numbers", chunked(end=b"f" * 17 + b"\r\n"), 400),
    ("a chunk that is longer", chunked(end=b"2\r\nabc\r\n0\r\n\r\n"), 400),
    ("a chunk that ends in a line feed", chunked(end=b"2\nab\n0\n\n"), 400),
    ("a last chunk that ends in a line feed", chunked(JOB, end=b"0\r\n\n"), 400),
    ("a last size that ends in a line feed", chunked(JOB, end=b"0\n\r\n"), 400),
    ("data that ends in a line feed", chunked(end=b"2\r\nab\n0\r\n\r\n"), 400),
    ("a blank behind a chunk size", chunked(end=b"2 \r\nab\r\n0\r\n\r\n"), 400),
    ("a chunk size of many zeros", chunked(JOB, end=b"0" * 20 + b"\r\n\r\n"), 400),
    ("headers behind the body", chunked(JOB, end=b"0\r\nX-A: b\r\n\r\n"), 400),
    ("endless extensions of a chunk", chunked(end=b"1;" + b"a" * 300000), 400),
    ("a long method", b"A" * 100 + b" / HTTP/1.1\r\n", 405),
    ("a method in small letters", b"get / HTTP/1.1\r\n" + HOST + b"\r\n", 405),
    ("an unknown method", b"ASSERT / HTTP/1.1\r\n" + HOST + b"\r\n", 405),
    ("CONNECT", b"CONNECT localhost:80 HTTP/1.1\r\n" + HOST + b"\r\n", 405),
    ("a long target", get(target=b"/" + b"a" * 9000), 414),
    ("another expectation", EMPTY_POST + b"Expect: a miracle\r\n\r\n", 417),
    ("a long header", get(b"X-A: " + b"a" * 20000 + b"\r\n"), 431),
    ("a long header of blanks", get(b"X-A: " + b" " * 20000 + b"\r\n"), 431),
    ("a long name", get(b"a" * 20000 + b": b\r\n"), 431),
    ("many headers", get(*[b"X-%d: b\r\n" % i for i in range(100)]), 431),
]


@test
def refuses_what_is_malformed():
    with Server() as server:
        for name, sent, status in MALFORMED:
            for pieces in ([sent], [sent[:10], sent[10:]]):
                with Wire(server) as wire:
                    answer = wire.send(*pieces).answer()
                    assert answer.status == status, (name, answer.status, answer.body)
                    error = answer.json["error"]
                    assert error["code"] and error["message"] and error["request_id"], (name, error)
                    assert answer.closes and wire.hang_up().ended(), name
                    if status == 405:
                        assert "GET" in answer.headers["allow"], name
        assert exchange(server, HEALTH).status == 200


@test
def blanks_around_values_are_no_part_of_them():
    with Server() as server:
        for blanks in (b" ", b"\t", b" \t "):
            for sent, status in [
                    (get(host=b"Host:" + blanks + b"localhost" + blanks + b"\r\n"), 200),
                    (get(b"X-Request-Id: mine" + blanks + b"\r\n"), 200),
                    (post(JOB).replace(TYPE, TYPE[:-2] + blanks + b"\r\n"), 201)]:
                answer = exchange(server, sent)
                assert answer.status == status, (sent, answer.body)
                if b"X-Request-Id" in sent:
                    assert answer.headers["x-request-id"] == "mine"
            with Wire(server) as wire:
                wire.send(post(JOB, b"Expect: 100-continue" + blanks + b"\r\n"))
                assert wire.answer().status == 100 and wire.answer().status == 201
        assert exchange(server, coded(b" chunked  ")).status == 201
        assert exchange(server, coded(b"CHUNKED")).status == 201


@test
def refuses_byte_by_byte_too():
    with Server() as server:
        for name, sent, status in MALFORMED:
            if len(sent) > 400:
                continue
            with Wire(server) as wire:
                try:
                    for byte in sent:
                        wire.send(bytes([byte]))
                except ConnectionError:
                    pass  # it has heard enough
                answer = wire.answer()
                assert answer.status == status, (name, answer.status, answer.body)


@test
def understands_what_is_unusual():
    with Server() as server:
        for sent in [
                get(target=b"http://localhost/health"), get(target=b"HTTP://[::1]:1/health?a=b"),
                get(target=b"/health?a=%7a"), get(b"X-A:\tb\t\r\n"), get(b"X-A:\r\n"),
                b"\r\n" + HEALTH, get(version=b"HTTP/1.0", host=b""),
                get(b"Connection: Upgrade, HTTP2-Settings\r\nUpgrade: h2c\r\n"),
                get(b"cOnNeCtIoN: kEeP-aLiVe\r\n"), get(*[b"X-%d: b\r\n" % i for i in range(99)]),
                get(b"X-A: " + b"\xc3\xa9" * 10 + b"\r\n")]:
            answer = exchange(server, sent)
            assert answer.status == 200 and answer.json == {"status": "ok"}, (sent, answer.body)
        for sent in [get(target=b"/ojs/v1/jobs/%zz"), get(target=b"/ojs/v1/jobs/%00"),
                     get(target=b"/ojs/v1/jobs/%"), get(target=b"/health?a=%zz"),
                     get(target=b"/health?a=%00")]:
            assert exchange(server, sent).status == 400, sent
        for sent in [get(target=b"/x"), get(target=b"//health"), get(target=b"/health//"),
                     get(target=b"//"), get(target=b"/../health"), get(target=b"/health%2f"),
                     get(target=b"/ojs/v1/jobs/%2e%2e"), get(target=b"*/health"),
                     get(target=b"/ojs/v1/ojs/v1/ojs/v1/queues")]:
            assert exchange(server, sent).status in (400, 404), sent


@test
def a_slash_at_the_end_changes_nothing():
    with Server() as server:
        assert exchange(server, post(JOB, path=b"/ojs/v1/jobs/")).status == 201
        job = exchange(server, post(JOB)).json["job"]["id"].encode()
        for target in (b"/health/", b"/?a=b", b"/ojs/v1/queues/?limit=1",
                       b"/ojs/v1/jobs/" + job + b"/", b"/ojs/v1/ojs/v1/jobs/" + job):
            assert exchange(server, get(target=target)).status == 200, target


@test
def says_what_may_be_asked():
    with Server() as server:
        def options(target, *more):
            return b"OPTIONS " + target + b" HTTP/1.1\r\n" + HOST + b"".join(more) + b"\r\n"

        with Wire(server) as wire:
            for target, allow in [(b"*", "GET, HEAD, POST, PUT, PATCH, DELETE"),
                                  (b"/health", "GET, HEAD"), (b"/ojs/v1/jobs/batch", "POST"),
                                  (b"/ojs/v1/queues/", "GET, HEAD, POST"),
                                  (b"/api/jobs/x/stop", "GET, POST"),
                                  (b"/ojs/v1/jobs/x", "GET, HEAD, DELETE, PATCH")]:
                answer = wire.send(options(target)).answer()
                assert answer.status == 204 and not answer.closes, (target, answer.body)
                assert answer.headers["allow"] == allow, (target, answer.headers)
                assert "access-control-allow-methods" not in answer.headers
            assert wire.send(options(b"/nowhere")).answer().status == 404
        foreign = options(b"/health").replace(HOST, b"Host: evil.example\r\n")
        assert exchange(server, foreign).status == 403
        server.pawl("token", "add", "--scope", "read")
        until(lambda: exchange(server, get(target=b"/ojs/v1/queues")).status == 401)
        assert exchange(server, options(b"/ojs/v1/queues")).status == 204


@test
def takes_bodies_whole_in_pieces_and_in_chunks():
    with Server() as server:
        spaced = JOB.replace(b",", b" " * 70000 + b",")
        for sent in [post(JOB), post(spaced), chunked(JOB), chunked(JOB[:7], JOB[7:]),
                     chunked(spaced), chunked(*[JOB[i:i + 1] for i in range(len(JOB))]),
                     chunked(end=b"%x;a=b\r\n%s\r\n0\r\n\r\n" % (len(JOB), JOB))]:
            assert exchange(server, sent).status == 201, sent[:200]
            half = len(sent) // 2
            assert exchange(server, sent[:half], sent[half:]).status == 201, sent[:200]


@test
def a_request_is_of_the_time_when_it_is_complete():
    with Server() as server:
        sent = post(b'{"type":"a.b","args":[],"options":{"delay_until":"+PT10S"}}')
        with Wire(server) as wire:
            wire.send(sent[:-1])
            time.sleep(0.5)
            now = time.time()
            due = wire.send(sent[-1:]).answer().json["job"]["scheduled_at"]
        due = datetime.datetime.fromisoformat(due.replace("Z", "+00:00")).timestamp()
        assert due >= now + 9.99, (due, now)


@test
def refuses_too_much_before_reading_it():
    with Server("--body-bytes-max", "1000") as server:
        for sent in [EMPTY_POST + TYPE + b"Content-Length: 1001\r\n\r\n",
                     EMPTY_POST + TYPE + b"Content-Length: 1001\r\nExpect: 100-continue\r\n\r\n",
                     chunked(b"a" * 600, b"b" * 600, end=b"")]:
            with Wire(server) as wire:
                answer = wire.send(sent).answer()  # and not 100 Continue
                assert answer.status == 413 and answer.closes, answer.body
                assert answer.json["error"]["code"] == "envelope_too_large"
        body = JOB.replace(b",", b" " * (1000 - len(JOB)) + b",")
        assert exchange(server, post(body)).status == 201


@test
def a_client_that_sends_on_still_reads_its_refusal():
    with Server("--body-bytes-max", "1000") as server:
        with Wire(server) as wire:
            wire.send(EMPTY_POST + TYPE + b"Content-Length: 4000000\r\n\r\n")
            wire.send(b"a" * 4000000)
            assert wire.answer().status == 413


@test
def asks_for_the_body_when_it_is_wanted():
    with Server() as server:
        with Wire(server) as wire:
            wire.send(EMPTY_POST + TYPE + b"Content-Length: %d\r\n" % len(JOB))
            wire.send(b"Expect: 100-continue\r\n\r\n")
            assert wire.answer().status == 100
            assert wire.send(JOB).answer().status == 201
            wire.send(EMPTY_POST.replace(b"jobs", b"jobz") + b"Content-Length: 24\r\n")
            assert wire.send(b"Expect: 100-continue\r\n\r\n").answer().status == 404


@test
def a_body_may_not_take_many_times_its_size():
    with Server() as server:
        body = b'{"type":"t","args":[' + b"1," * 1000000 + b"1]}"
        answer = exchange(server, post(body))
        assert answer.status == 400, answer.body[:300]
        assert answer.json["error"]["code"] == "invalid_payload"
        assert "more than 1000000 values" in answer.json["error"]["message"]
        body = b'{"type":"t","args":[' + b"1," * 999000 + b"1]}"
        assert exchange(server, post(body)).status == 201


@test
def bounds_bodies_under_way_together():
    with Server("--body-bytes-max", "1MiB", "--bodies-bytes-max", "2MiB") as server:
        head = EMPTY_POST + TYPE + b"Content-Length: 1000000\r\n\r\n"
        wires = [Wire(server).send(head, b"a" * 999999) for _ in range(2)]
        time.sleep(0.1)  # they are being read: nothing tells of it
        third = Wire(server).send(head, b"a" * 200000)
        answer = third.answer()
        assert answer.status == 503 and answer.headers["retry-after"], answer.body
        for wire in [*wires, third]:
            wire.socket.close()
        until(lambda: exchange(server, head, b"a" * 1000000).status == 400)


@test
def answers_pipelined_requests_in_order():
    with Server() as server:
        with Wire(server) as wire:
            ids = [b"X-Request-Id: r%d\r\n" % i for i in range(100)]
            requests = [post(JOB, name) if i % 3 else get(name) for i, name in enumerate(ids)]
            wire.send(b"".join(requests))
            for i in range(100):
                answer = wire.answer()
                assert answer.headers["x-request-id"] == f"r{i}", (i, answer.headers)
                assert answer.status == (201 if i % 3 else 200), answer.body


@test
def pipelined_jobs_run_in_order_whatever_their_ids():
    now = f"{int(time.time() * 1000):012x}"  # half of them of now, half of whenever
    heads = [f"{now[:8]}-{now[8:]}", "01900000-0000"]
    ids = [f"{heads[i % 2]}-7{(i * 37 + 11) % 61:03x}-8000-{i:012x}" for i in range(60)]
    with Server() as server:
        with Wire(server) as wire:
            wire.send(b"".join(post(json.dumps({"id": job, "type": "a.b", "args": []}).encode())
                               for job in ids))
            for job in ids:
                answer = wire.answer()
                assert answer.status == 201 and answer.json["job"]["id"] == job, answer.body
        batch = [f"{heads[0]}-7{i:03x}-8000-0000000000ff" for i in (1, 3, 0, 4, 2)]
        jobs = [{"id": job, "type": "a.b", "args": []} for job in batch]
        assert server.post("/ojs/v1/jobs/batch", {"jobs": jobs}, 201)["count"] == len(batch)
        claimed = [job["id"] for job in server.fetch(count=100)]
        assert claimed == ids + batch, claimed


@test
def a_pipeline_that_nobody_reads_is_bounded():
    with Server("--write-timeout", "2s") as server:
        before = memory_kib(server)
        with Wire(server) as wire:
            wire.socket.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 64 * 1024)
            wire.socket.settimeout(1)
            sent = grown = 0

            def is_cut_off():  # its time to take the replies is over
                nonlocal sent, grown
                grown = max(grown, memory_kib(server) - before)
                try:
                    sent += wire.socket.send(get(target=b"/nowhere") * 100)
                except TimeoutError:
                    assert exchange(server, HEALTH).status == 200
                except ConnectionError:
                    return True
                assert sent < 32 * 1024 * 1024, f"the server took {sent} bytes"
                return False

            until(is_cut_off)
            assert grown < 8 * 1024 or sanitizer(), f"the server grew by {grown} KiB"


@test
def keeps_alive_unless_asked_to_close():
    with Server() as server:
        with Wire(server) as wire:
            for _ in range(3):
                answer = wire.send(HEALTH).answer()
                assert answer.status == 200 and "connection" not in answer.headers
            answer = wire.send(get(b"Connection: close\r\n")).answer()
            assert answer.closes and wire.ended()
        with Wire(server) as wire:
            answer = wire.send(get(version=b"HTTP/1.0")).answer()
            assert answer.closes and wire.ended()
        with Wire(server) as wire:
            old = get(b"Connection: keep-alive\r\n", version=b"HTTP/1.0")
            for _ in range(2):
                assert wire.send(old).answer().headers["connection"] == "keep-alive"


@test
def heads_are_those_of_gets_without_bodies():
    with Server() as server:
        with Wire(server) as wire:
            full = wire.send(HEALTH).answer()
            head = wire.send(HEALTH.replace(b"GET", b"HEAD")).answer(head_only=True)
            assert head.headers["content-length"] == full.headers["content-length"]
            again = wire.send(HEALTH).answer()  # nothing stands between
            assert again.body == full.body
            answer = wire.send(HEALTH.replace(b"GET", b"DELETE")).answer()
            assert answer.status == 405 and answer.headers["allow"] == "GET, HEAD", answer.headers


@test
def replies_carry_what_all_replies_carry():
    with Server() as server:
        answer = exchange(server, get(b"X-Request-Id: mine\r\n"))
        assert answer.headers["x-request-id"] == "mine"
        for sent in [HEALTH, get(target=b"/nowhere"), get(b"X-Request-Id: \x80\r\n"),
                     get(b"X-Request-Id: " + b"a" * 200 + b"\r\n"), get(b"X-A\r\n")]:
            answer = exchange(server, sent)
            assert answer.headers["ojs-version"] == "1.0"
            assert answer.headers["content-type"] == "application/openjobspec+json"
            assert answer.headers["x-request-id"].startswith("req_"), answer.headers
            assert answer.headers["date"].endswith(" GMT")
            assert answer.headers["x-content-type-options"] == "nosniff"
        answer = exchange(server, get(b"OJS-Version: 2.0\r\n"))
        assert answer.status == 422 and answer.json["error"]["code"] == "unsupported"
        assert exchange(server, post(JOB, b"Content-Encoding: gzip\r\n")).status == 415
        plain = post(JOB).replace(TYPE, b"Content-Type: text/plain\r\n")
        answer = exchange(server, plain)
        assert answer.status == 400 and answer.json["error"]["details"]["field"] == "Content-Type"
        assert "application/json" in answer.json["error"]["message"], answer.body
        assert exchange(server, post(JOB).replace(TYPE, b"")).status == 201


@test
def times_out_heads_bodies_and_the_idle():
    options = ("--header-timeout", "500ms", "--body-timeout", "500ms", "--idle-timeout", "500ms")
    with Server(*options) as server:
        for sent, status in [(HEALTH[:20], 408), (EMPTY_POST + CL + b"\r\nhe", 408),
                             (chunked(b"a", end=b""), 408)]:
            with Wire(server) as wire:
                seconds, answer = took(lambda w=wire, s=sent: w.send(s).answer())
                assert answer.status == status and answer.closes, answer.body
                assert 0.3 < seconds < 5, seconds
        for sent in (b"", HEALTH):
            with Wire(server) as wire:
                if sent:
                    wire.send(sent).answer()
                seconds, _ = took(wire.ended)
                assert 0.3 < seconds < 5, seconds
        with Wire(server) as wire:  # a byte now and then does not help
            began = time.monotonic()
            try:
                for byte in HEALTH:
                    wire.send(bytes([byte]))
                    time.sleep(0.05)
            except ConnectionError:
                pass
            assert wire.answer().status == 408 and time.monotonic() - began < 10


@test
def many_slow_clients_delay_nobody():
    count = 500
    with Server() as server:
        slow = [connect(server) for _ in range(count)]
        for raw in slow:
            raw.sendall(HEALTH[:20])
        longest = 0
        for i in range(200):
            slow[i].sendall(HEALTH[20:21])
            seconds, answer = took(lambda: exchange(server, HEALTH))
            assert answer.status == 200
            longest = max(longest, seconds)
        print(f"# with {count} slow clients the longest of 200 requests took "
              f"{longest * 1000:.1f} ms", flush=True)
        assert longest < 1, longest
        for raw in slow:
            raw.close()


@test
def refuses_connections_beyond_the_limits():
    for option in ("--connections-max", "--connections-per-address-max"):
        with Server(option, "5") as server:
            wires = [Wire(server) for _ in range(5)]
            for wire in wires:
                assert wire.send(HEALTH).answer().status == 200
            with Wire(server) as wire:
                answer = wire.answer()  # before anything was asked
                assert answer.status == 503 and answer.headers["retry-after"], answer.body
                assert answer.closes
            wires.pop().socket.close()
            until(lambda: exchange(server, HEALTH).status == 200)
            for wire in wires:
                assert wire.send(HEALTH).answer().status == 200
                wire.socket.close()


@test
def answers_clients_that_send_no_more():
    with Server() as server:
        bulk = post(b'{"jobs":[' + JOB + b"]}", path=b"/ojs/v1/jobs/bulk")
        long = JOB.replace(b"[]", b'["' + b"x" * 100000 + b'"]')
        batch = post(b'{"jobs":[' + long + b"]}", path=b"/ojs/v1/jobs/batch")
        for sent in [HEALTH, post(JOB), get(target=b"/ojs/v1/health"), chunked(JOB), bulk,
                     post(long), batch]:
            with Wire(server) as wire:
                assert wire.send(sent).hang_up().answer().status in (200, 201), sent
                assert wire.ended()
        with Wire(server) as wire:
            wire.send(post(JOB) * 3).hang_up()
            assert [wire.answer().status for _ in range(3)] == [201] * 3
            assert wire.ended()
        for sent in [HEALTH[:30], EMPTY_POST + CL + b"\r\nhe"]:
            with Wire(server) as wire:
                assert wire.send(sent).hang_up().answer().status == 400
                assert wire.ended()
        with Wire(server) as wire:
            assert wire.hang_up().ended()


@test
def a_client_that_sends_no_more_while_it_waits_is_answered():
    with Server() as server:
        fetch = post(b'{"queues":["q"],"wait_ms":60000}', path=b"/ojs/v1/workers/fetch")
        with Wire(server) as wire, Wire(server) as other:  # it may have gone: it claims nothing
            wire.send(fetch)
            until(lambda: server.metric("pawl_fetches_waiting") == 1)
            seconds, answer = took(wire.hang_up().answer)
            assert answer.status == 200 and answer.json == {"jobs": []} and seconds < 30
            job = JOB.replace(b"[]", b'[],"options":{"queue":"q"}')
            job = exchange(server, post(job)).json["job"]["id"]
            assert [each["id"] for each in other.send(fetch).answer().json["jobs"]] == [job]
        result = get(target=f"/ojs/v1/jobs/{job}/result?wait=true&timeout=60".encode())
        with Wire(server) as wire:  # this only looks, so it waits on
            wire.send(result).hang_up()
            time.sleep(0.2)  # it has been parked: nothing tells of it
            server.ack(job, 42)
            answer = wire.answer()
            assert answer.status == 200 and answer.json["result"] == 42, answer.body
            assert wire.ended()


@test
def survives_clients_that_vanish():
    with Server() as server:
        for i in range(100):
            raw = connect(server)
            kinds = [post(JOB), get(target=b"/ojs/v1/health"), post(JOB)[:-3], HEALTH * 50]
            raw.sendall(kinds[i % 4])
            if i % 2:  # with a reset
                raw.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, b"\1\0\0\0\0\0\0\0")
            raw.close()
        fetch = json.dumps({"queues": ["none"], "wait_ms": 30000}).encode()
        parked = [connect(server) for _ in range(20)]
        for raw in parked:
            raw.sendall(post(fetch, path=b"/ojs/v1/workers/fetch"))
        assert exchange(server, HEALTH).status == 200
        for raw in parked:
            raw.close()
        until(lambda: connections(server) == 0)


@test
def stops_within_milliseconds_when_idle():
    with Server() as server:
        with Wire(server) as idle:
            idle.send(HEALTH).answer()
            seconds, code = took(server.stop)
            assert code == 0 and idle.ended()
        print(f"# stopped in {seconds * 1000:.0f} ms", flush=True)
        assert seconds < 0.4 * (5 if SCALE < 100 else 1), seconds


@test
def finishes_requests_before_it_stops():
    with Server() as server:
        half, wire = post(JOB)[:-5], Wire(server)
        wire.send(half)
        waiting = Wire(server)
        until(lambda: connections(server) == 2)
        server.process.send_signal(signal.SIGTERM)
        until(lambda: is_refused(server))
        answer = wire.send(post(JOB)[-5:]).answer()
        assert answer.status == 201 and answer.closes
        assert wire.ended() and waiting.ended()
        assert server.process.wait(10) == 0


@test
def cuts_off_what_takes_too_long_to_finish():
    for options, second in ((["--drain", "300ms"], False), ([], True)):
        with Server(*options) as server:
            wire = Wire(server).send(post(JOB)[:-5])
            until(lambda: connections(server) == 1)
            server.process.send_signal(signal.SIGTERM)
            until(lambda: is_refused(server))
            if second:
                server.process.send_signal(signal.SIGINT)
            assert server.process.wait(10) == 0
            assert wire.ended()


@test
def an_early_signal_stops_it_as_well():
    for _ in range(5):
        with Server() as server:  # it has just said where it listens
            server.process.send_signal(signal.SIGTERM)
            assert server.process.wait(10) == 0


@test
def leaks_neither_descriptors_nor_memory():
    count = max(200, 20 * SCALE)
    with Server() as server:

        def storm(times):
            for i in range(times):
                sent = [HEALTH, post(JOB)[:40], get(b"X-A\r\n"), HEALTH * 3, b"",
                        get(target=b"/no")]
                with Wire(server) as wire:
                    wire.send(sent[i % len(sent)])
                    if i % len(sent) in (0, 2, 3, 5):
                        wire.answer()
            until(lambda: connections(server) == 0)

        storm(count // 4)
        files, before = descriptors(server), memory_kib(server)
        storm(count)
        grown = memory_kib(server) - before
        print(f"# {count} connections: grew by {grown} KiB", flush=True)
        assert descriptors(server) <= files + 1, (files, descriptors(server))
        assert grown < 2048 or sanitizer(), f"{grown} KiB after {count} connections"


@test
def an_idle_connection_is_small():
    count = 1000
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (min(hard, max(soft, 4096)), hard))
    with Server() as server:

        def idle():
            raw = connect(server)
            raw.sendall(HEALTH)
            assert raw.recv(4096).startswith(b"HTTP/1.1 200")
            return raw

        first = [idle() for _ in range(100)]
        before = memory_kib(server)
        more = [idle() for _ in range(count)]
        each = (memory_kib(server) - before) * 1024 / count
        print(f"# an idle connection takes {each:.0f} bytes", flush=True)
        assert each < 20 * 1024 or sanitizer(), each
        for raw in first + more:
            raw.close()


@test
def listens_only_where_it_may():
    cases = [(["--listen", "0.0.0.0:0"], 2, "there is no token"),
             (["--listen", "[::]:0"], 2, "there is no token"),
             (["--listen", "0.0.0.0:0", "--test-mode"], 2, "test mode"),
             (["--listen", "nowhere"], 2, "is not an address and a port"),
             (["--listen", "127.0.0.1:99999"], 2, "is not an address and a port"),
             (["--listen", "127.0.0.1:+80"], 2, "is not an address and a port"),
             (["--cors-origin", "nothing"], 2, "is not an origin"),
             (["--cors-origin", "http://a\r\nX: y"], 2, "is not an origin"),
             (["--allow-host", "http://jobs"], 2, "is not a name or an address"),
             (["--allow-host", "[::1"], 2, "is not a name or an address"),
             (["--tls-cert", "/dev/null"], 2, "go together"),
             (["--header-bytes-max", "0"], 2, "cannot be"),
             (["--idle-timeout", "0s"], 2, "cannot be")]
    with Server() as server:
        cases.append((["--listen", server.address], 1, "stop the program that listens there"))
        for options, code, text in cases:
            done = subprocess.run([PAWL, "serve", "--store", "sqlite::memory:", *options],
                                  capture_output=True, text=True, timeout=30, check=False)
            assert done.returncode == code and text in done.stderr, (options, done)


@test
def every_limit_has_its_option():
    path = os.path.join(os.path.dirname(__file__), "../../src/http/http.h")
    with open(path, encoding="utf-8") as file:
        text = file.read().split("#define PAWL__HTTP_LIMITS(X)")[1].split("struct")[0]
    rows = [line.strip()[2:].split(", ") for line in text.splitlines() if line.strip()[:2] == "X("]
    shown = subprocess.run([PAWL, "serve", "--help"], capture_output=True, text=True,
                           check=True).stdout
    words = " ".join(shown.split())
    units = {"": 1, "KiB": 1 << 10, "MiB": 1 << 20, "s": 1000}
    assert len(rows) > 10
    for name, default, *_ in rows:
        option = "--" + name.replace("_ms", "").replace("_", "-")
        assert option + " " in words, f"there is no {option}"
        about = words.split(option + " ")[1].split(" --")[0]
        value = about.split("[")[1].split("]")[0].split()[-1].strip('"')
        digits = value.rstrip("KMiBs")
        assert int(digits) * units[value[len(digits):]] == int(default), (option, value, default)


@test
def pages_from_elsewhere_get_nothing_done():
    with Server() as server:
        job = exchange(server, post(JOB)).json["job"]["id"].encode()
        stop = get(target=b"/api/jobs/" + job + b"/stop")
        for name, more, allowed in [
                (b"localhost", b"", True),
                (b"127.0.0.1:80", b"Origin: http://127.0.0.1:80\r\n", True),
                (b"localhost", b"Sec-Fetch-Site: same-origin\r\n", True),
                (b"localhost", b"Sec-Fetch-Site: none\r\n", True),
                (b"localhost:80", b"Referer: http://localhost:80/a?b\r\n", True),
                (b"127.0.0.1:80", b"Origin: http://127.0.0.1:81\r\n", False),
                (b"127.0.0.1", b"Origin: http://evil.example\r\n", False),
                (b"evil.example", b"Origin: http://evil.example\r\n", False),
                (b"127.0.0.1", b"Origin: null\r\n", False),
                (b"localhost", b"Sec-Fetch-Site: cross-site\r\n", False),
                (b"localhost", b"Sec-Fetch-Site: same-site\r\n", False),
                (b"localhost", b"Referer: http://localhost.evil.example/\r\n", False),
                (b"localhost:80", b"Referer: http://localhost:81/\r\n", False),
                (b"localhost", b"Referer: nonsense\r\n", False)]:
            for sent in (post(JOB), stop):
                sent = sent.replace(HOST, b"Host: " + name + b"\r\n" + more)
                answer = exchange(server, sent)
                # what is stopped already is refused for another reason
                assert (answer.status != 403) == allowed, (name, more, answer.body)
                assert "access-control-allow-origin" not in answer.headers
                if not allowed:
                    error = answer.json["error"]
                    assert error["code"] == "permission_denied", error
                    option = "--allow-host" if name == b"evil.example" else "--cors-origin"
                    assert option in error["message"], error


@test
def a_get_that_stops_a_job_is_not_for_other_pages():
    with Server() as server:
        job = exchange(server, post(JOB)).json["job"]["id"].encode()
        stop = get(target=b"/api/jobs/" + job + b"/stop")
        for more in (b"Origin: http://evil.example\r\n", b"Sec-Fetch-Site: cross-site\r\n",
                     b"Referer: http://evil.example/\r\n"):
            assert exchange(server, stop.replace(HOST, HOST + more)).status == 403, more
            assert exchange(server, get(target=b"/ojs/v1/jobs/" + job)).json["job"]["state"] \
                == "available", more
        assert exchange(server, stop).status == 200
        assert exchange(server, get(target=b"/ojs/v1/jobs/" + job)).json["job"]["state"] \
            == "cancelled"


@test
def without_tokens_only_own_names_are_served():
    hosts = [(b"127.0.0.1:8080", 200), (b"127.9.9.9", 200), (b"[::1]", 200), (b"localhost:80", 200),
             (b"LOCALHOST", 200), (b"a.localhost", 200), (b"evil.example", 403),
             (b"1.2.3.4.evil.example:8080", 403), (b"localhost.evil.example", 403),
             (b"evillocalhost", 403), (b"0.0.0.0:80", 403), (b"10.0.0.1", 403), (b"[::2]", 403)]
    added = [(b"jobs.example:8080", 200), (b"JOBS.example", 200), (b"10.0.0.1:1", 200),
             (b"[::2]:80", 200), (b"a.jobs.example", 403), (b"evil.example", 403)]
    with Server() as server:
        for host, status in hosts:
            for sent in [get(host=b"Host: " + host + b"\r\n"),
                         get(target=b"http://" + host + b"/health")]:
                answer = exchange(server, sent)
                assert answer.status == status, (host, answer.body)
        error = answer.json["error"]
        assert error["details"]["field"] == "Host" and '"[::2]"' in error["message"], error
        assert "--allow-host" in error["message"] and "pawl token add" in error["message"], error
        assert exchange(server, get(target=b"http://localhost/health",
                                    host=b"Host: evil.example\r\n")).status == 200
        # from the first token on a client must know one, whatever name it uses
        server.pawl("token", "add", "--scope", "read")
        foreign = get(host=b"Host: 10.0.0.1:8080\r\n", target=b"/readyz")
        until(lambda: exchange(server, foreign).status == 200)
        assert exchange(server, get(host=b"Host: evil.example\r\n",
                                    target=b"/ojs/v1/queues")).status == 401
    options = [word for name in ("jobs.example", "10.0.0.1", "[::2]")
               for word in ("--allow-host", name)]
    with Server(*options) as server:
        for host, status in added:
            answer = exchange(server, get(host=b"Host: " + host + b"\r\n"))
            assert answer.status == status, (host, answer.body)


@test
def allows_the_origin_it_was_told():
    for origin in ("https://jobs.example.com", "*"):
        with Server("--cors-origin", origin) as server:
            theirs = b"Origin: https://jobs.example.com\r\n"
            answer = exchange(server, post(JOB, theirs))
            assert answer.status == 201
            assert answer.headers["access-control-allow-origin"] == origin
            assert ("vary" in answer.headers) == (origin != "*")
            ask = b"OPTIONS /ojs/v1/jobs HTTP/1.1\r\n" + HOST + theirs
            answer = exchange(server, ask + b"Access-Control-Request-Method: POST\r\n\r\n")
            assert answer.status == 204 and "POST" in answer.headers["access-control-allow-methods"]
            assert "Authorization" in answer.headers["access-control-allow-headers"]
            answer = exchange(server, post(JOB, b"Origin: http://evil.example\r\n"))
            assert answer.status == (201 if origin == "*" else 403)


@test
def more_than_a_few_may_wait_for_the_store():
    def threads():
        with Server() as server:
            server.get("/ojs/v1/queues")
            return len(os.listdir(f"/proc/{server.process.pid}/task"))

    many = threads()
    ENV["UV_THREADPOOL_SIZE"] = "1"
    try:
        assert many >= threads() + 15, many
    finally:
        del ENV["UV_THREADPOOL_SIZE"]


@test
def requests_at_once_from_many_connections():
    with Server() as server:
        troubles = []

        def client():
            try:
                with Wire(server) as wire:
                    for i in range(50):
                        kinds = [post(JOB), HEALTH, get(target=b"/ojs/v1/health"), chunked(JOB)]
                        assert wire.send(kinds[i % 4]).answer().status in (200, 201)
            except Exception as error:  # pylint: disable=broad-except
                troubles.append(error)

        threads = [threading.Thread(target=client) for _ in range(20)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert not troubles, troubles[0]


# ---- looking at the process ----


def memory_kib(server):
    with open(f"/proc/{server.process.pid}/status", encoding="utf-8") as file:
        return int(file.read().split("VmRSS:")[1].split()[0])


def descriptors(server):
    return len(os.listdir(f"/proc/{server.process.pid}/fd"))


def connections(server):
    """Established ones, as the kernel sees them."""
    port = f":{int(server.address.rsplit(':', 1)[1]):04X}"
    with open("/proc/net/tcp", encoding="utf-8") as file:
        rows = [line.split() for line in file.readlines()[1:]]
    return sum(row[1].endswith(port) and row[3] in ("01", "08") for row in rows)


def is_refused(server):
    try:
        connect(server).close()
        return False
    except ConnectionError:
        return True


def sanitizer():
    """Is the binary made to use more memory than it needs?"""
    with open(PAWL, "rb") as file:
        binary = file.read()
    return b"__asan_init" in binary or b"__tsan_init" in binary


if __name__ == "__main__":
    main()
