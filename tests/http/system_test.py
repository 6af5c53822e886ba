#!/usr/bin/env python3
"""Health, metrics, manifest, OpenAPI.

Usage: system_test.py PAWL [TEST...]
"""
import glob
import json
import os
import re
import signal

import server_kit
from server_kit import ROOT, Server, test, until

ID = "01a1e2d6-fe45-7076-8d9f-908ebc529600"
SCOPES = {"NONE": None, "READ": "read", "SUBMIT": "submit", "WORK": "work", "ADMIN": "admin"}


# ---- health ----

@test
def says_how_it_is():
    with Server() as server:
        for path in ("/health", "/healthz"):
            assert server.get(path) == {"status": "ok"}
        for path in ("/ready", "/readyz"):
            assert server.get(path) == {"status": "ready"}
        health = server.get("/ojs/v1/health")
        assert health["status"] == "ok" and health["version"] == "1.0"
        assert health["uptime_seconds"] >= 0
        backend = health["backend"]
        assert backend["type"] == server.store.split(":")[0] and backend["status"] == "ok"
        assert 0 <= backend["latency_ms"] < 60000
        for path in ("/health", "/ready", "/ojs/v1/health"):
            reply = server.ask("HEAD", path)
            assert reply.status == 200 and not reply.body


@test
def says_that_it_is_not_ready_before_it_stops():
    with Server("--unready", "100s") as server:
        server.process.send_signal(signal.SIGTERM)
        until(lambda: server.ask("GET", "/readyz").status == 503)
        assert server.get("/health") == {"status": "ok"}
        server.submit()  # whoever still comes is served
        assert server.process.poll() is None
        server.process.send_signal(signal.SIGTERM)  # does not wait for the rest
        assert server.process.wait(server_kit.DEADLINE_S) == 0
    with Server("--unready", "1ms") as server:
        server.process.send_signal(signal.SIGTERM)
        assert server.process.wait(server_kit.DEADLINE_S) == 0


@test
def says_when_the_store_is_unwell():
    with Server() as server:
        for name in ("pawl.db", "pawl.db-wal"):
            os.truncate(os.path.join(server.path, name), 0)

        def unwell():
            # what is cached is good until something changes
            server.ask("POST", "/ojs/v1/jobs", {"type": "a.b", "args": []})
            reply = server.ask("GET", "/ojs/v1/health")
            return reply.status == 503 and reply.json

        health = until(unwell)
        assert health["status"] == "degraded" and health["backend"]["status"] == "unhealthy"
        assert server.get("/health") == {"status": "ok"}  # the process itself is alive
        server.kill()


# ---- metrics ----

LINE = re.compile(r'([a-z_]+)(?:\{((?:[a-z_]+="(?:[^"\\\n]|\\[\\"n])*",?)*)\})? (\S+)\Z')
LABEL = re.compile(r'([a-z_]+)="((?:[^"\\]|\\.)*)"')


def scrape(server):
    """{(name, labels): value}, with the format checked on the way."""
    text = server.ask("GET", "/metrics").body.decode()
    found, types, family = {}, {}, None
    assert text.endswith("\n")
    for line in text.splitlines():
        if line.startswith("# HELP "):
            family = line.split()[2]
            assert family not in types, f"{family} comes twice"
            continue
        if line.startswith("# TYPE "):
            _, _, name, kind = line.split()
            assert name == family and kind in ("counter", "gauge", "histogram"), line
            assert (kind == "counter") == name.endswith("_total"), line
            types[name] = kind
            continue
        match = LINE.match(line)
        assert match, line
        name, labels, value = match.groups()
        base = re.sub("_(bucket|sum|count)$", "", name) if types[family] == "histogram" else name
        assert base == family, line
        key = (name, tuple(sorted(LABEL.findall(labels or ""))))
        assert key not in found, line
        found[key] = float(value)
    return found


@test
def metrics_follow_the_jobs():
    with Server() as server:
        retry = {"max_attempts": 2, "initial_interval": "PT0.01S", "jitter": False}
        job = server.submit("a.b", "mail", options={"retry": retry})
        server.fetch("mail")
        server.nack(job)
        until(lambda: server.fetch("mail"))
        server.ack(job)
        other = server.submit("a.c", "mail")
        server.ask("DELETE", f"/ojs/v1/jobs/{other}")
        server.submit("a.d", "late", options={"expires_at": "+PT0.05S"})
        key = (("queue", "mail"), ("type", "a.b"))
        expired = ("ojs_job_expired_total", (("queue", "late"), ("type", "a.d")))
        found = until(lambda: (lambda all: all if expired in all else None)(scrape(server)))
        for name, count in (("enqueued", 1), ("started", 2), ("failed", 1), ("retried", 1),
                            ("completed", 1)):
            assert found[f"ojs_job_{name}_total", key] == count, name
        assert found["ojs_job_cancelled_total", (("queue", "mail"), ("type", "a.c"))] == 1
        assert ("ojs_job_cancelled_total", key) not in found
        ended = tuple(sorted((*key, ("state", "completed"))))
        assert found["ojs_job_duration_seconds_count", ended] == 1
        most = tuple(sorted((*ended, ("le", "+Inf"))))
        assert found["ojs_job_duration_seconds_bucket", most] == 1
        assert found["ojs_job_queue_time_seconds_count", key] == 2
        assert found["ojs_queue_depth", (("queue", "mail"), ("state", "completed"))] == 1
        assert found["ojs_queue_depth", (("queue", "late"), ("state", "discarded"))] == 1
        assert found["pawl_submitted_total", ()] == 3 and found["pawl_commits_total", ()] > 3
        assert found["pawl_events_lost_total", ()] == 0
        text = server.ask("GET", "/metrics").body.decode()
        assert job not in text and other not in text


@test
def metrics_count_requests_and_who_is_there():
    with Server() as server:
        server.post("/ojs/v1/workers/heartbeat", {"worker_id": "w1", "active_jobs": []})
        server.ask("GET", f"/ojs/v1/jobs/{ID}")
        server.ask("GET", "/nowhere/at/all")
        with server.listen("/ojs/v1/events/stream"):
            connection = server.connect()
            connection.request("POST", "/ojs/v1/workers/fetch",
                               json.dumps({"queues": ["q"], "wait_ms": 30000}),
                               {"Content-Type": "application/json"})
            until(lambda: server.metric("pawl_fetches_waiting") == 1)
            found = scrape(server)
            connection.close()
        assert found["pawl_http_streams", ()] == 1 and found["pawl_http_connections", ()] == 3
        assert found["ojs_workers_active", ()] == 1 and found["ojs_workers_busy", ()] == 0
        requests = "pawl_http_requests_total"
        key = (("method", "GET"), ("route", "/ojs/v1/jobs/{id}"))
        assert found[requests, (*key, ("status", "4xx"))] == 1
        assert found[requests, (("method", ""), ("route", ""), ("status", "4xx"))] == 1
        assert found["pawl_http_request_duration_seconds_count", key] == 1
        stream = (("method", "GET"), ("route", "/ojs/v1/events/stream"))
        assert ("pawl_http_request_duration_seconds_count", stream) not in found
        until(lambda: server.metric("pawl_fetches_waiting") == 0)
        found = scrape(server)
        assert found[requests, (*stream, ("status", "2xx"))] == 1
        assert ("pawl_http_request_duration_seconds_count", stream) not in found


@test
def metrics_have_the_type_that_is_asked_for():
    with Server() as server:
        versioned = "text/plain; version=0.0.4; charset=utf-8"
        for accept, kind in ((None, versioned), ("text/plain", "text/plain"),
                             ("text/plain;version=0.0.4;q=0.5,*/*;q=0.1", versioned),
                             ("*/*", versioned)):
            headers = {"Accept": accept} if accept else {}
            assert server.ask("GET", "/metrics", headers=headers).headers["Content-Type"] == kind


@test
def labels_are_bounded():
    with Server() as server:
        for start in range(0, 600, 200):
            server.post("/ojs/v1/jobs/batch", {"jobs": [
                {"type": f"t.n{number}", "args": [], "options": {"queue": "mail"}}
                for number in range(start, start + 200)]}, 201)
        others = ("ojs_job_enqueued_total", (("queue", "_other"), ("type", "_other")))
        until(lambda: scrape(server).get(others) == 100)
        found = [key for key in scrape(server) if key[0] == "ojs_job_enqueued_total"]
        assert len(found) == 501


# ---- manifest ----

@test
def manifest_claims_what_is_served():
    with Server() as server:
        manifest = server.get("/ojs/manifest")
        paths = server.get("/openapi.json")["paths"]
        assert manifest["specversion"] == manifest["ojs_version"] == "1.0"
        assert manifest["implementation"]["name"] == "pawl"
        assert manifest["implementation"]["language"] == "c"
        assert manifest["conformance_tier"] == "runtime" and manifest["protocols"] == ["http"]
        assert manifest["backend"] == server.store.split(":")[0]
        assert manifest["unique_job_strength"] == "strong"
        can = manifest["capabilities"]
        assert set(can) == {"batch_enqueue", "cron_jobs", "dead_letter", "delayed_jobs", "job_ttl",
                            "priority_queues", "rate_limiting", "schema_validation", "unique_jobs",
                            "workflows", "pause_resume"}
        assert not can["schema_validation"]  # they are kept, not enforced
        assert can["cron_jobs"] == ("/ojs/v1/cron" in paths)
        assert can["workflows"] == ("/ojs/v1/workflows" in paths)
        level = 4 if can["cron_jobs"] and can["workflows"] else 2 if can["cron_jobs"] else 1
        assert manifest["conformance_level"] == level
        for tier in ("official", "experimental"):
            for entry in manifest["extension_details"][tier]:
                assert entry["uri"] == "urn:ojs:ext:" + entry["name"] and entry["version"]
        assert manifest["payload_limits"]["max_envelope_bytes"] == 10485760
        assert manifest["endpoints"]["base_url"].endswith("/ojs/v1")
        server.get(manifest["endpoints"]["manifest"])
        server.get(manifest["endpoints"]["health"])


# ---- OpenAPI ----

def routes():
    """(method, path, scope) of every route, from the lists that the server is made from."""
    row = re.compile(r'X\("([A-Z]+)", "([^"]+)", (\w+), (\w+), (\w+),')
    found = []
    for name in sorted(glob.glob(os.path.join(ROOT, "src/http/**/*.h"), recursive=True)):
        with open(name, encoding="utf-8") as file:
            for method, path, _, scope, _ in row.findall(file.read().replace("\\\n", "")):
                found.append((method, path, scope))
    assert len(found) > 50
    return found


def references(node):
    if isinstance(node, dict):
        if "$ref" in node:
            yield node["$ref"]
        for value in node.values():
            yield from references(value)
    elif isinstance(node, list):
        for value in node:
            yield from references(value)


def check_schema(schema):
    """As much of JSON Schema as the document uses."""
    assert isinstance(schema, dict)
    known = {"$ref", "type", "required", "properties", "items", "enum", "const", "format",
             "minimum", "maximum", "minItems", "maxLength", "default", "additionalProperties",
             "anyOf"}
    assert set(schema) <= known, set(schema) - known
    assert schema.get("type", "object") in ("object", "array", "string", "integer", "number",
                                            "boolean")
    for name in schema.get("required", []):
        assert name in schema["properties"], name
    for inner in schema.get("properties", {}).values():
        check_schema(inner)
    for inner in schema.get("anyOf", []):
        check_schema(inner)
    if "items" in schema:
        check_schema(schema["items"])


def check_content(content):
    assert len(content) == 1
    for kind, value in content.items():
        assert re.match(r"[a-z]+/[a-z+-]+\Z", kind), kind
        check_schema(value["schema"])


def check_operation(path, operation):
    allowed = {"tags", "operationId", "summary", "parameters", "requestBody", "responses",
               "security"}
    assert set(operation) <= allowed, set(operation) - allowed
    assert operation["summary"] and operation["tags"]
    parts = re.findall(r"\{(\w+)\}", path)
    in_path = [each["name"] for each in operation["parameters"] if each["in"] == "path"]
    assert in_path == parts, path
    names = [(each["in"], each["name"]) for each in operation["parameters"]]
    assert len(set(names)) == len(names), path
    for each in operation["parameters"]:
        assert each["in"] in ("path", "query") and (each["in"] == "query" or each["required"])
        check_schema(each["schema"])
    if "requestBody" in operation:
        check_content(operation["requestBody"]["content"])
    answers = operation["responses"]
    error = "RemoteError" if path.startswith("/pawl/") else "Error"
    assert answers["default"] == {"$ref": "#/components/responses/" + error}
    assert answers["2XX"]["description"]
    check_content(answers["2XX"]["content"])


@test
def openapi_document_is_sound():
    with Server() as server:
        reply = server.ask("GET", "/openapi.json")
        assert reply.headers["Content-Type"] == "application/json"
        document = json.loads(reply.body, object_pairs_hook=unique)
        assert document["openapi"] == "3.1.0"
        assert document["info"]["title"] == "pawl" and document["info"]["version"]
        assert document["servers"] == [{"url": "http://" + server.address}]
        names = []
        for path, item in document["paths"].items():
            assert path.startswith("/")
            for method, operation in item.items():
                assert method in ("get", "put", "post", "delete", "patch"), method
                check_operation(path, operation)
                names.append(operation["operationId"])
        assert len(set(names)) == len(names)
        for schema in document["components"]["schemas"].values():
            check_schema(schema)
        for reference in references(document):
            node = document
            for part in reference.removeprefix("#/").split("/"):
                node = node[part]


def unique(pairs):
    assert len(dict(pairs)) == len(pairs), [name for name, _ in pairs]
    return dict(pairs)


@test
def openapi_document_has_every_route_and_no_other():
    with Server() as server:
        paths = server.get("/openapi.json")["paths"]
        said = {}
        for path, item in paths.items():
            for method, operation in item.items():
                said[method.upper(), path] = operation["security"]
        listed = {}
        for method, path, scope in routes():
            assert (method, path) not in listed, f"{method} {path} is listed twice"
            name = SCOPES[scope]
            listed[method, path] = [{"token": [name]}] if name else []
        assert said == listed, set(map(str, said.items())) ^ set(map(str, listed.items()))


@test
def allow_says_what_the_document_says():
    with Server() as server:
        for path, item in server.get("/openapi.json")["paths"].items():
            assert path.count("/ojs/v1") < 2, path
            target = re.sub(r"\{\w+\}", ID, path)
            methods = [method.upper() for method in item]
            if "get" in item and not path.endswith("/stop"):
                methods.append("HEAD")
            for method, status in (("TRACE", 405), ("OPTIONS", 204)):
                reply = server.ask(method, target)
                assert reply.status == status, (path, reply.status, reply.body)
                assert sorted(reply.headers["Allow"].split(", ")) == sorted(methods), path


@test
def errors_between_programs_of_pawl_are_documented():
    with Server() as server:
        schema = server.get("/openapi.json")["components"]["schemas"]["RemoteError"]
        known = schema["anyOf"][1]["properties"]
        refused = server.post("/pawl/v1/story", {}, 400)
        assert refused == {"err": "ARG", "field": "ids", "text": "ask for one id"}, refused
        assert set(refused) <= set(known), known


@test
def the_documents_name_the_routes_that_need_no_token():
    with Server() as server:
        paths = server.get("/openapi.json")["paths"]
    open_ones = {path for path, item in paths.items()
                 for operation in item.values() if not operation["security"]}
    with open(os.path.join(ROOT, "docs/http.md"), encoding="utf-8") as file:
        text = re.split(r"every request needs\s+one,", file.read())[1].split(":\n")[0]
    assert set(re.findall(r"`([^`]+)`", text)) == open_ones, (text, open_ones)


@test
def every_route_is_answered():
    with Server("--test-mode") as server:
        for method, path, _ in routes():
            target = re.sub(r"\{\w+\}", ID, path)
            connection = server.connect()
            body = "{}" if method.startswith("P") else None
            connection.request(method, target, body, {"Content-Type": "application/json"})
            response = connection.getresponse()
            assert response.status != 405 and response.status < 500, (method, path)
            if response.headers["Content-Type"] != "text/event-stream":
                text = response.read()
                assert b'"resource_type":"path"' not in text, (method, path, text)
            connection.close()


@test
def answers_have_the_shapes_that_the_document_promises():
    with Server() as server:
        schemas = server.get("/openapi.json")["components"]["schemas"]
        job = server.submit(meta={"a": 1})
        fits(schemas, "JobReply", server.get(f"/ojs/v1/jobs/{job}"))
        fits(schemas, "JobsReply", {"jobs": server.fetch()})
        server.ack(job, 3)
        fits(schemas, "JobReply", server.get(f"/ojs/v1/jobs/{job}"))
        until(lambda: len(server.events()) == 3)
        fits(schemas, "EventsReply", server.get("/ojs/v1/events"))
        fits(schemas, "Error", server.get(f"/ojs/v1/jobs/{ID}", 404))


KINDS = {"object": dict, "array": list, "string": str, "integer": int, "number": (int, float),
         "boolean": bool}


def fits(schemas, name, value, schema=None):
    schema = schema or schemas[name]
    if "$ref" in schema:
        schema = schemas[schema["$ref"].rsplit("/", 1)[1]]
    if "type" in schema:
        assert isinstance(value, KINDS[schema["type"]]), (name, value)
    assert value in schema.get("enum", [value]) and value == schema.get("const", value), value
    if isinstance(value, dict):
        for member in schema.get("required", []):
            assert member in value, (name, member, value)
        for member, inner in schema.get("properties", {}).items():
            if member in value and inner:
                fits(schemas, member, value[member], inner)
    if isinstance(value, list) and schema.get("items"):
        for item in value:
            fits(schemas, name, item, schema["items"])


server_kit.main()
