#!/usr/bin/env python3
"""Runs the Open Job Spec conformance cases (JSON files) against an HTTP server.

Standard library only.  Every construct in a case file must be understood: an
unknown key, action or matcher makes that case a RUNNER-ERROR (counted as a
failure), and a case in which no assertion was evaluated fails too.

Exit status: 0 nothing failed; 1 at least one case failed; 2 the run could not
be carried out (bad arguments, no cases, reset URL refused) or the runner met
something in a case file that it does not understand.
"""

import argparse
import fnmatch
import http.client
import json
import os
import re
import sys
import threading
import time
import urllib.parse
from concurrent.futures import ThreadPoolExecutor

MEDIA_TYPE = "application/openjobspec+json"
API = "/ojs/v1"

CASE_KEYS = {
    "test_id",
    "level",
    "category",
    "name",
    "description",
    "spec_ref",
    "tags",
    "steps",
    "setup",
    "teardown",
    "preconditions",
}
STEP_KEYS = {
    "id",
    "action",
    "intent",
    "path",
    "headers",
    "body",
    "raw_body",
    "delay_ms",
    "duration_ms",
    "description",
    "assertions",
    "expect",
    "capture",
    "captures",
    "store",
    "request",
    "repeat",
    "parallel_with",
}
ASSERT_KEYS = {
    "status",
    "status_in",
    "status_one_of",
    "body",
    "body_absent",
    "body_contains",
    "headers",
    "timing_ms",
    "exclusive_claim",
    "equality",
}
HTTP_METHODS = {"GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS"}
# Abstract operations used by a few suites instead of method + path.
OPERATIONS = {"push", "get", "fetch", "ack", "nack", "cancel"}
OBJECT_OPS = {
    "$exists",
    "$type",
    "$match",
    "$in",
    "$size",
    "$or",
    "$empty",
    "$gte",
    "$lte",
    "$gt",
    "$lt",
    "$eq",
    "range",
}
JSON_TYPES = {"string", "number", "integer", "boolean", "null", "array", "object"}

UUID = re.compile(r"[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}\Z")
UUID7 = re.compile(r"[0-9a-f]{8}-[0-9a-f]{4}-7[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}\Z")
DATETIME = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?(Z|[+-]\d\d:\d\d)\Z")
TEMPLATE = re.compile(r"\{\{\s*([^{}]+?)\s*\}\}|\$\{([A-Za-z_][\w-]*)\}|\$ref\.([A-Za-z_]\w*)")
MATCHER_LOOK = re.compile(
    r"(string|number|array|object|boolean|bool|integer|date|datetime|uuid|"
    r"regex|matches|one_of|any_of|not|type|min|max|len|length|contains|"
    r"not_contains|json):"
)


class RunnerError(Exception):
    """The case file holds something this runner cannot evaluate."""


class Unresolved(Exception):
    """A template refers to a value that an earlier step did not produce."""


class PathError(Exception):
    """A path walks into something that is not an object or array."""


class Missing:
    def __repr__(self):
        return "<missing>"


MISSING = Missing()


def show(value, limit=160):
    if value is MISSING:
        return "nothing (field is missing)"
    text = json.dumps(value, ensure_ascii=False, separators=(",", ":"))
    return text if len(text) <= limit else text[:limit] + "..."


def json_type(value):
    if value is MISSING or value is None:
        return "null"
    if isinstance(value, bool):
        return "boolean"
    if isinstance(value, (int, float)):
        return "number"
    return {str: "string", list: "array", dict: "object"}[type(value)]


def is_number(value):
    return isinstance(value, (int, float)) and not isinstance(value, bool)


# --------------------------------------------------------------------- paths

PATH_TOKEN = re.compile(
    r"""
      \[\?\(@\.(?P<fkey>[\w.-]+)\s*==\s*(?P<fval>'[^']*'|"[^"]*"|[^)\]]+)\)\]
    | \[(?P<index>-?\d+)\]
    | \[(?P<star>\*)\]
    | \[(?P<quoted>'[^']*'|"[^"]*")\]
    | \.?(?P<name>[^.\[\]]+)
""",
    re.X,
)


def parse_path(path):
    text = path[1:] if path.startswith("$") and not path.startswith("$$") else path
    tokens, pos = [], 0
    while pos < len(text):
        found = PATH_TOKEN.match(text, pos)
        if not found or found.end() == pos:
            raise RunnerError("path %r is not understood" % path)
        kind = found.lastgroup
        if kind == "fval":
            tokens.append(("filter", found.group("fkey"), found.group("fval").strip("'\"")))
        elif kind == "index":
            tokens.append(("index", int(found.group("index"))))
        elif kind == "star":
            tokens.append(("star",))
        elif kind == "quoted":
            tokens.append(("name", found.group("quoted")[1:-1]))
        else:
            tokens.append(("name", found.group("name")))
        pos = found.end()
    return tokens


def walk(tokens, data):
    """Value at the path, MISSING, or PathError.

    A run of names may also be one literal key with dots in it, such as
    meta["ojs.codec.key_id"]; the plain reading is tried first.
    """
    if not tokens:
        return data
    head, rest = tokens[0], tokens[1:]
    if head[0] == "name":
        if not isinstance(data, dict):
            raise PathError("expected an object at %r, found %s" % (head[1], json_type(data)))
        if head[1] in data:
            return walk(rest, data[head[1]])
        key, used = head[1], 1
        for token in rest:
            if token[0] != "name":
                break
            key, used = key + "." + token[1], used + 1
            if key in data:
                return walk(tokens[used:], data[key])
        return MISSING
    if not isinstance(data, list):
        raise PathError("expected an array, found %s" % json_type(data))
    if head[0] == "index":
        if not 0 <= head[1] < len(data):
            raise PathError("index %d is outside an array of %d" % (head[1], len(data)))
        return walk(rest, data[head[1]])
    if head[0] == "star":
        out = []
        for item in data:
            try:
                value = walk(rest, item)
            except PathError:
                continue
            if value is not MISSING and value is not None:
                out.append(value)
        return out
    for item in data:  # filter: first match only
        if isinstance(item, dict) and head[1] in item and plain(item[head[1]]) == head[2]:
            return walk(rest, item)
    if rest:
        raise PathError("no element with %s == %r" % (head[1], head[2]))
    return MISSING


def plain(value):
    """The text form used by contains:/not_contains: and by filters."""
    if isinstance(value, str):
        return value
    if isinstance(value, float) and value.is_integer():
        return str(int(value))
    return json.dumps(value, separators=(",", ":"))


# ------------------------------------------------------------------ matchers


def match_string(matcher, value):
    """None when the value satisfies the textual matcher, else what was expected."""
    text = value if isinstance(value, str) else None
    arr = value if isinstance(value, list) else None
    absent = value is MISSING or value is None
    if matcher == "any":
        return "any value" if absent else None
    if matcher == "exists":
        return "the field to exist" if absent else None
    if matcher == "absent":
        return None if absent else "the field to be absent"
    if matcher in ("string:nonempty", "string:non_empty"):
        return None if text else "a non-empty string"
    if matcher == "string:uuid":
        return None if text is not None and UUID.match(text) else "a UUID"
    if matcher == "string:uuidv7":
        return None if text is not None and UUID7.match(text) else "a lowercase UUIDv7"
    if matcher == "string:datetime":
        return None if text is not None and DATETIME.match(text) else "an RFC 3339 timestamp"
    if matcher.startswith("string:contains:"):
        part = matcher[len("string:contains:") :]
        return None if text is not None and part in text else "a string containing %r" % part
    if matcher.startswith("string:pattern(") and matcher.endswith(")"):
        pattern = matcher[len("string:pattern(") : -1]
        return (
            None if text is not None and re.search(pattern, text) else "a match of /%s/" % pattern
        )
    if matcher == "number:positive":
        return None if is_number(value) and value > 0 else "a number > 0"
    if matcher == "number:non_negative":
        return None if is_number(value) and value >= 0 else "a number >= 0"
    found = re.fullmatch(r"number:range\(\s*(-?[\d.]+)\s*,\s*(-?[\d.]+)\s*\)", matcher)
    if found:
        low, high = float(found.group(1)), float(found.group(2))
        return (
            None
            if is_number(value) and low <= value <= high
            else "a number in [%g, %g]" % (low, high)
        )
    found = re.fullmatch(r"~(\d+(?:\.\d+)?)", matcher)
    if found:
        want = float(found.group(1))
        slack = max(want * TOLERANCE / 100.0, 0)
        return (
            None
            if is_number(value) and abs(value - want) <= slack
            else "about %g (+/- %g)" % (want, slack)
        )
    if matcher == "array:nonempty":
        return None if arr else "a non-empty array"
    if matcher == "array:empty":
        return None if arr is not None and not arr else "an empty array"
    found = re.fullmatch(r"array:length(?::|\()(\d+)\)?", matcher)
    if found:
        return (
            None
            if arr is not None and len(arr) == int(found.group(1))
            else "an array of length " + found.group(1)
        )
    found = re.fullmatch(r"array:(?:min_length|min):(\d+)", matcher)
    if found:
        return (
            None
            if arr is not None and len(arr) >= int(found.group(1))
            else "an array of at least " + found.group(1)
        )
    if matcher.startswith("contains:"):
        part = matcher[len("contains:") :]
        return (
            None
            if arr is not None and part in map(plain, arr)
            else "an array containing %r" % part
        )
    if matcher.startswith("not_contains:"):
        part = matcher[len("not_contains:") :]
        return (
            None
            if arr is not None and part not in map(plain, arr)
            else "an array without %r" % part
        )
    if MATCHER_LOOK.match(matcher):
        raise RunnerError("matcher %r is not understood" % matcher)
    return None if text is not None and text == matcher else show(matcher)


def match(matcher, value, path_keys=False):
    """None when value satisfies matcher, else a description of what was expected."""
    if matcher is None:
        return None if value is None or value is MISSING else "null"
    if isinstance(matcher, bool):
        return None if isinstance(value, bool) and value == matcher else show(matcher)
    if is_number(matcher):
        return None if is_number(value) and abs(value - matcher) <= 1e-9 else show(matcher)
    if isinstance(matcher, str):
        return match_string(matcher, value)
    if isinstance(matcher, list):
        if not isinstance(value, list) or len(value) != len(matcher):
            return "an array equal to " + show(matcher)
        for pos, (want, got) in enumerate(zip(matcher, value)):
            problem = match(want, got, path_keys)
            if problem:
                return "[%d] to be %s" % (pos, problem)
        return None
    ops = [key for key in matcher if key.startswith("$") or key in OBJECT_OPS]
    if ops:
        if len(ops) != len(matcher):
            raise RunnerError("matcher mixes operators and fields: " + show(matcher))
        for op in ops:
            problem = match_operator(op, matcher[op], value)
            if problem:
                return problem
        return None
    if not isinstance(value, dict):
        return "an object matching " + show(matcher)
    for key, want in matcher.items():
        if path_keys:
            try:
                got = walk(parse_path(key), value)
            except PathError as err:
                return "field %r (%s)" % (key, err)
        else:
            got = value.get(key, MISSING)
        if got is MISSING and want != "absent":
            return "field %r to exist" % key
        problem = match(want, got, path_keys)
        if problem:
            return "field %r to be %s" % (key, problem)
    return None


def match_operator(op, want, value):
    absent = value is MISSING or value is None
    if op == "$exists":
        return (
            None
            if want is (not absent)
            else ("the field to exist" if want else "the field to be absent")
        )
    if op == "$type":
        if want not in JSON_TYPES:
            raise RunnerError("$type %r is not understood" % want)
        if want == "integer":
            good = is_number(value) and float(value).is_integer()
        else:
            good = value is not MISSING and json_type(value) == want
        return None if good else "a value of type " + want
    if op == "$match":
        return (
            None if isinstance(value, str) and re.search(want, value) else "a match of /%s/" % want
        )
    if op in ("$in", "$or"):
        return None if any(match(item, value) is None for item in want) else "one of " + show(want)
    if op == "$size":
        if not isinstance(value, list):
            return "an array of size " + show(want)
        if is_number(want):
            return None if len(value) == want else "an array of size %d" % want
        return match(want, len(value))
    if op == "$eq":
        return None if value == want and type(value) is type(want) else show(want)
    if op in ("$gte", "$lte", "$gt", "$lt"):
        sign = {"$gte": ">=", "$lte": "<=", "$gt": ">", "$lt": "<"}[op]
        good = (
            is_number(value)
            and {
                "$gte": value >= want,
                "$lte": value <= want,
                "$gt": value > want,
                "$lt": value < want,
            }[op]
        )
        return None if good else "a number %s %g" % (sign, want)
    if op == "$empty":
        return (
            None
            if (absent or value in ("", [], {})) is want
            else "an empty value"
            if want
            else "a value"
        )
    if op == "range":
        low, high = want.get("min", float("-inf")), want.get("max", float("inf"))
        if set(want) - {"min", "max"}:
            raise RunnerError("range %s is not understood" % show(want))
        return (
            None
            if is_number(value) and low <= value <= high
            else "a number in [%g, %g]" % (low, high)
        )
    raise RunnerError("operator %r is not understood" % op)


def match_status(want, status):
    if isinstance(want, str) and want.startswith("one_of:"):
        want = [int(code) for code in want[len("one_of:") :].split(",")]
    if isinstance(want, dict) and set(want) == {"$in"}:
        want = want["$in"]
    if isinstance(want, list):
        return None if status in want else "one of %s" % want
    if isinstance(want, dict):
        raise RunnerError("status %s is not understood" % show(want))
    return match(want, status)


# ------------------------------------------------------------- case file lint


def lint_matcher(matcher):
    if isinstance(matcher, str):
        if not TEMPLATE.search(matcher):
            match_string(matcher, MISSING)
    elif isinstance(matcher, list):
        for item in matcher:
            lint_matcher(item)
    elif isinstance(matcher, dict):
        for key, item in matcher.items():
            if key in ("$in", "$or"):
                lint_matcher(item)
            elif key in ("$exists", "$empty"):
                if not isinstance(item, bool):
                    raise RunnerError("%s wants true or false" % key)
            elif key.startswith("$") or key in OBJECT_OPS:
                match_operator(key, item, MISSING)
            else:
                lint_matcher(item)


def lint_step(step):
    unknown = set(step) - STEP_KEYS
    if unknown:
        raise RunnerError("step %s has unknown keys %s" % (step.get("id"), sorted(unknown)))
    action = step.get("action", "")
    if action.upper() not in HTTP_METHODS | {"WAIT", "ASSERT"} and action not in OPERATIONS:
        raise RunnerError("action %r is not understood" % action)
    asserted = step.get("assertions") or {}
    unknown = {key for key in asserted if key not in ASSERT_KEYS and not key.endswith("_comment")}
    if unknown:
        raise RunnerError("assertion kinds %s are not understood" % sorted(unknown))
    for matcher in (asserted.get("body") or {}).items():
        if matcher[0] == "$or":
            for alternative in matcher[1]:
                for key, item in alternative.items():
                    if not key.startswith("$") or key.startswith("$."):
                        lint_matcher(item)
                    elif key != "$empty":
                        raise RunnerError("body operator %r is not understood" % key)
        elif matcher[0].startswith("$") and matcher[0][1:2] not in ("", ".", "["):
            raise RunnerError("body operator %r is not understood" % matcher[0])
        else:
            lint_matcher(matcher[1])
    for name, matcher in (asserted.get("headers") or {}).items():
        if isinstance(matcher, dict) and set(matcher) - {"$exists", "$match", "$eq", "$in"}:
            raise RunnerError("header matcher %s is not understood" % show(matcher))
    for key in asserted.get("timing_ms") or {}:
        if key not in ("less_than", "greater_than", "approximate"):
            raise RunnerError("timing_ms.%s is not understood" % key)
    for key, matcher in (step.get("expect") or {}).items():
        if key in ("status", "status_in"):
            continue
        if key == "body" or key.startswith("body."):
            lint_matcher(matcher)
        else:
            raise RunnerError("expect.%s is not understood" % key)


def lint_case(case):
    unknown = set(case) - CASE_KEYS
    if unknown:
        raise RunnerError("case has unknown keys %s" % sorted(unknown))
    for block in ("setup", "teardown"):
        if block in case and set(case[block] or {}) - {"steps"}:
            raise RunnerError("%s holds more than steps" % block)
    for step in all_steps(case):
        lint_step(step)


def all_steps(case):
    for block in ("setup", "teardown"):
        yield from (case.get(block) or {}).get("steps", [])
    yield from case.get("steps", [])


# ---------------------------------------------------------------------- http


class Response:
    def __init__(self, status, headers, raw, elapsed_ms):
        self.status, self.headers, self.raw, self.elapsed_ms = status, headers, raw, elapsed_ms
        self.json_error = None
        self.body = MISSING
        if raw:
            try:
                self.body = json.loads(raw.decode("utf-8"), parse_constant=self._reject)
            except ValueError as err:
                self.json_error = str(err)

    @staticmethod
    def _reject(name):
        raise ValueError("%s is not JSON" % name)

    def header(self, name):
        for key, value in self.headers:
            if key.lower() == name.lower():
                return value
        return None


class Client:
    """One keep-alive connection per thread."""

    def __init__(self, base, timeout):
        parts = urllib.parse.urlsplit(base)
        if parts.scheme not in ("http", "https") or not parts.hostname:
            raise SystemExit("not an HTTP URL: %r" % base)
        self.secure, self.host = parts.scheme == "https", parts.hostname
        self.port, self.prefix, self.timeout = parts.port, parts.path.rstrip("/"), timeout
        self.local = threading.local()

    def _connect(self):
        kind = http.client.HTTPSConnection if self.secure else http.client.HTTPConnection
        return kind(self.host, self.port, timeout=self.timeout)

    def request(self, method, path, headers=None, payload=None):
        headers = dict(headers or {})
        names = {name.lower() for name in headers}
        if payload is not None and "content-type" not in names:
            headers["Content-Type"] = MEDIA_TYPE
        if "user-agent" not in names:
            headers["User-Agent"] = "ojs-conformance-py"
        path = urllib.parse.quote(self.prefix + path, safe="/?&=%:;,+@!$'()*~#-._")
        for attempt in (0, 1):
            conn = getattr(self.local, "conn", None)
            reused = conn is not None
            if conn is None:
                conn = self.local.conn = self._connect()
            started = time.monotonic()
            try:
                conn.request(method, path or "/", body=payload, headers=headers)
                reply = conn.getresponse()
            except (http.client.HTTPException, OSError):
                conn.close()
                self.local.conn = None
                if reused and attempt == 0:
                    continue  # an idle connection that the server had closed
                raise
            try:
                raw = reply.read()
            except (http.client.HTTPException, OSError):
                conn.close()
                self.local.conn = None
                raise
            elapsed = int((time.monotonic() - started) * 1000)
            if reply.will_close:
                conn.close()
                self.local.conn = None
            return Response(reply.status, reply.getheaders(), raw, elapsed)


# -------------------------------------------------------------------- running


class Run:
    """One execution of one case."""

    def __init__(self, case, client):
        self.case, self.client = case, client
        self.steps, self.vars = {}, {}
        self.failures, self.checks, self.notes = [], 0, []
        self.made = {"jobs": [], "workflows": [], "crons": [], "schemas": [], "queues": set()}
        self.lock = threading.Lock()

    # -- templates

    def lookup(self, name):
        parts = name.split(".", 1)
        if parts[0] == "steps":
            found = re.fullmatch(r"steps\.([^.]+)\.response\.body(?:\.(.+))?", name)
            if not found:
                raise RunnerError("template %r is not understood" % name)
            reply = self.steps.get(found.group(1))
            if reply is None or reply.body is MISSING:
                raise Unresolved(name)
            try:
                value = walk(parse_path(found.group(2) or "$"), reply.body)
            except PathError:
                raise Unresolved(name)
            if value is MISSING or value is None:
                raise Unresolved(name)
            return value
        if name not in self.vars:
            raise Unresolved(name)
        return self.vars[name]

    def fill(self, value):
        if isinstance(value, str):
            whole = TEMPLATE.fullmatch(value)
            if whole:
                return self.lookup(next(group for group in whole.groups() if group))
            return TEMPLATE.sub(
                lambda m: plain(self.lookup(next(g for g in m.groups() if g))), value
            )
        if isinstance(value, list):
            return [self.fill(item) for item in value]
        if isinstance(value, dict):
            return {self.fill(key): self.fill(item) for key, item in value.items()}
        return value

    # -- recording

    def fail(self, step_id, where, expected, got):
        with self.lock:
            self.failures.append(
                {"step": step_id, "where": where, "expected": expected, "got": got}
            )

    def check(self, step_id, where, problem, got):
        with self.lock:
            self.checks += 1
        if problem is not None:
            self.fail(step_id, where, problem, got)

    # -- one step

    def do_step(self, step, number):
        step_id = step.get("id") or "#%d %s" % (number, step.get("action"))
        action = step["action"]
        pause = step.get("delay_ms", 0)
        if action.upper() == "WAIT":
            pause = (step.get("duration_ms") or pause) + (pause if step.get("duration_ms") else 0)
        if pause and self.failures and pause > 5000:
            pause = 0  # the verdict is settled: do not sit through a long wait
            if action.upper() != "DELETE":
                return
        time.sleep(pause / 1000.0)
        if action.upper() == "WAIT":
            return
        if action.upper() == "ASSERT":
            self.do_assert(step_id, step.get("assertions") or {})
            return
        for _ in range(step.get("repeat", 1)):
            try:
                self.do_request(step_id, step)
            except Unresolved as err:
                self.fail(
                    step_id,
                    "template {{%s}}" % err,
                    "a value from an earlier step",
                    "nothing; step not run",
                )
                return
            except (http.client.HTTPException, OSError) as err:
                self.fail(
                    step_id, "request", "an HTTP response", "%s: %s" % (type(err).__name__, err)
                )
                return

    def do_request(self, step_id, step):
        action, headers = step["action"], self.fill(step.get("headers") or {})
        payload, body = None, None
        if action in OPERATIONS:
            method, path, body = self.operation(action, self.fill(step.get("request") or {}))
        else:
            method, path = action.upper(), self.fill(step.get("path") or "")
            body = self.fill(step["body"]) if "body" in step else None
        if "raw_body" in step:
            payload = step["raw_body"].encode("utf-8")
        elif body is not None or "body" in step:
            payload = json.dumps(body, ensure_ascii=False).encode("utf-8")
        self.note_use(method, path, body)
        reply = self.client.request(method, path, headers, payload)
        with self.lock:
            self.steps[step_id] = reply
        self.note_made(method, path, reply)
        if step.get("assertions"):
            self.check_assertions(step_id, step["assertions"], reply)
        if step.get("expect"):
            self.check_expect(step_id, step["expect"], reply)
        for spec in ("capture", "captures", "store"):
            for name, where in (step.get(spec) or {}).items():
                value = self.take(where, reply.body)
                if value is MISSING or value is None:
                    self.fail(step_id, "capture %s" % where, "a value", "nothing")
                else:
                    self.vars[name] = value

    @staticmethod
    def operation(action, request):
        """HTTP form of an abstract operation."""
        rest = {key: value for key, value in request.items() if key != "id"}
        job = urllib.parse.quote(str(request.get("id", "")), safe="")
        if action == "push":
            return "POST", API + "/jobs", request
        if action == "get":
            return "GET", API + "/jobs/" + job, None
        if action == "cancel":
            return "DELETE", API + "/jobs/" + job, None
        if action == "fetch":
            return "POST", API + "/workers/fetch", request
        return "POST", API + "/workers/" + action, dict(rest, job_id=request.get("id"))

    def take(self, where, body):
        """A captured value; `$.id` also finds the id inside a {"job": ...} wrapper."""
        where = re.sub(r"^body\.", "", where)
        try:
            value = walk(parse_path(where), body)
        except PathError:
            value = MISSING
        if value is MISSING and isinstance(body, dict) and isinstance(body.get("job"), dict):
            try:
                value = walk(parse_path(where), body["job"])
            except PathError:
                value = MISSING
            if value is not MISSING:
                self.notes.append("%s was read inside the job wrapper" % where)
        return value

    # -- assertions

    def check_assertions(self, step_id, spec, reply):
        if "status" in spec:
            self.check(step_id, "status", match_status(spec["status"], reply.status), reply.status)
        for key in ("status_in", "status_one_of"):
            if key in spec:
                self.check(
                    step_id, "status", match_status(list(spec[key]), reply.status), reply.status
                )
        if spec.get("body"):
            self.check_body(step_id, spec["body"], reply)
        for path in spec.get("body_absent", []):
            value = self.value_at(path, reply)
            self.check(
                step_id,
                path,
                None if value is MISSING or value is None else "the field to be absent",
                show(value),
            )
        for part in spec.get("body_contains", []):
            text = reply.raw.decode("utf-8", "replace")
            self.check(
                step_id, "body", None if part in text else "text containing %r" % part, text[:160]
            )
        for name, matcher in (spec.get("headers") or {}).items():
            got = reply.header(name)
            if isinstance(matcher, dict):
                problem = match(matcher, MISSING if got is None else got)
            else:
                problem = None if got == matcher else show(matcher)
            self.check(step_id, "header " + name, problem, "nothing" if got is None else show(got))
        for key, limit in (spec.get("timing_ms") or {}).items():
            took = reply.elapsed_ms
            good = {
                "less_than": took < limit,
                "greater_than": took > limit,
                "approximate": abs(took - limit) <= max(limit * TOLERANCE / 100.0, 100),
            }[key]
            self.check(
                step_id, "time", None if good else "%s %d ms" % (key, limit), "%d ms" % took
            )
        if "exclusive_claim" in spec or "equality" in spec:
            self.do_assert(
                step_id, {key: spec[key] for key in ("exclusive_claim", "equality") if key in spec}
            )

    def value_at(self, path, reply):
        try:
            return walk(parse_path(path), reply.body)
        except PathError:
            return MISSING

    def check_body(self, step_id, spec, reply):
        for path, matcher in spec.items():
            if path == "$or":
                good = any(self.alternative(option, reply) for option in matcher)
                self.check(
                    step_id,
                    "body",
                    None if good else "one alternative of " + show(matcher, 300),
                    reply.raw.decode("utf-8", "replace")[:160] or "an empty body",
                )
                continue
            try:
                path, matcher = self.fill(path), self.fill(matcher)
            except Unresolved as err:
                self.check(step_id, path, "{{%s}} from an earlier step" % err, "nothing")
                continue
            if reply.body is MISSING:
                got = (
                    "invalid JSON (%s)" % reply.json_error if reply.json_error else "an empty body"
                )
                self.check(step_id, path, "a JSON body", got)
                continue
            try:
                value = walk(parse_path(path), reply.body)
            except PathError as err:
                self.check(step_id, path, None if matcher == "absent" else show(matcher), str(err))
                continue
            self.check(step_id, path, match(matcher, value), show(value))

    def alternative(self, option, reply):
        for path, matcher in option.items():
            if path == "$empty":
                if (not reply.raw) is not matcher:
                    return False
                continue
            try:
                if reply.body is MISSING or match(
                    self.fill(matcher), walk(parse_path(self.fill(path)), reply.body)
                ):
                    return False
            except (PathError, Unresolved):
                return False
        return True

    def check_expect(self, step_id, spec, reply):
        """The older `expect` block: status, status_in, body, body.<path>."""
        for key, matcher in spec.items():
            if key in ("status", "status_in"):
                self.check(step_id, "status", match_status(matcher, reply.status), reply.status)
                continue
            wanted = matcher if key == "body" else {key[len("body.") :]: matcher}
            for path, item in wanted.items():
                try:
                    item = self.fill(item)
                except Unresolved as err:
                    self.check(step_id, path, "{{%s}} from an earlier step" % err, "nothing")
                    continue
                value = self.take(path, reply.body)
                self.check(step_id, path, match(item, value, path_keys=True), show(value))

    def do_assert(self, step_id, spec):
        if not spec:
            raise RunnerError("an ASSERT step without assertions")
        unknown = {
            key
            for key in spec
            if key not in ("exclusive_claim", "equality") and not key.endswith("_comment")
        }
        if unknown:
            raise RunnerError("assertion kinds %s are not understood in ASSERT" % sorted(unknown))
        claim = spec.get("exclusive_claim")
        if claim:
            if set(claim) - {"job_id", "fetches", "exactly_one_has_job", "exactly_one_empty"}:
                raise RunnerError("exclusive_claim is not understood: " + show(claim))
            try:
                job_id, fetches = self.fill(claim["job_id"]), self.fill(claim["fetches"])
            except Unresolved as err:
                self.check(
                    step_id, "exclusive_claim", "{{%s}} from an earlier step" % err, "nothing"
                )
                return
            holders = sum(
                any(isinstance(job, dict) and job.get("id") == job_id for job in jobs)
                for jobs in fetches
            )
            empty = sum(not jobs for jobs in fetches)
            if claim.get("exactly_one_has_job"):
                self.check(
                    step_id,
                    "exclusive_claim",
                    None if holders == 1 else "the job in exactly one fetch",
                    "in %d of %d" % (holders, len(fetches)),
                )
            if claim.get("exactly_one_empty"):
                self.check(
                    step_id,
                    "exclusive_claim",
                    None if empty == 1 else "exactly one empty fetch",
                    "%d empty of %d" % (empty, len(fetches)),
                )
        for left, right in (spec.get("equality") or {}).items():
            try:
                first = self.lookup(re.sub(r"^\$\.", "", left))
                second = self.fill(right)
            except Unresolved as err:
                self.check(step_id, left, "{{%s}} from an earlier step" % err, "nothing")
                continue
            self.check(
                step_id, left, None if first == second else "equal to " + show(second), show(first)
            )

    # -- bookkeeping for isolation

    def note_use(self, method, path, body):
        with self.lock:
            if (
                method == "POST"
                and path.startswith(API + "/cron")
                and isinstance(body, dict)
                and "name" in body
            ):
                self.made["crons"].append(body["name"])
            found = re.fullmatch(re.escape(API) + r"/admin/schemas/([^/]+)/([^/]+)", path)
            if method == "PUT" and found:
                self.made["schemas"].append(path)
            for name in queue_names(body):
                self.made["queues"].add(name)

    def note_made(self, method, path, reply):
        if not isinstance(reply.body, dict) or reply.status >= 400:
            return
        jobs = [reply.body.get("job")] + list(reply.body.get("jobs") or [])
        with self.lock:
            for job in jobs:
                if (
                    isinstance(job, dict)
                    and isinstance(job.get("id"), str)
                    and job["id"] not in self.made["jobs"]
                ):
                    self.made["jobs"].append(job["id"])
            flow = reply.body.get("workflow")
            if method == "POST" and isinstance(flow, dict) and isinstance(flow.get("id"), str):
                self.made["workflows"].append(flow["id"])

    # -- the whole case

    def go(self):
        case = self.case
        number = 0
        for step in (case.get("setup") or {}).get("steps", []):
            self.do_step(step, number)
            number += 1
        steps = case.get("steps", [])
        pos = 0
        while pos < len(steps):
            group = self.parallel_group(steps, pos)
            if len(group) > 1:
                threads = [
                    threading.Thread(target=self.guarded, args=(step, pos + i))
                    for i, step in enumerate(group)
                ]
                for thread in threads:
                    thread.start()
                for thread in threads:
                    thread.join()
            else:
                self.do_step(steps[pos], pos)
            pos += len(group)
        for step in (case.get("teardown") or {}).get("steps", []):
            self.do_step(step, number)
            number += 1

    def guarded(self, step, number):
        try:
            self.do_step(step, number)
        except RunnerError as err:
            self.fail(step.get("id"), "runner", "a construct the runner understands", str(err))

    @staticmethod
    def parallel_group(steps, pos):
        ids = {steps[pos].get("id"), steps[pos].get("parallel_with")} - {None}
        group = [steps[pos]]
        for step in steps[pos + 1 :]:
            linked = step.get("parallel_with") in ids or (
                step.get("id") in ids and steps[pos].get("parallel_with")
            )
            if not linked:
                break
            group.append(step)
            ids |= {step.get("id"), step.get("parallel_with")} - {None}
        return group


def queue_names(body):
    """Queue names mentioned anywhere in a request body."""
    if isinstance(body, dict):
        for key, value in body.items():
            if key == "queue" and isinstance(value, str):
                yield value
            elif key == "queues" and isinstance(value, list):
                yield from (item for item in value if isinstance(item, str))
            else:
                yield from queue_names(value)
    elif isinstance(body, list):
        for item in body:
            yield from queue_names(item)


# ------------------------------------------------------------------ isolation


def reset(url, timeout):
    parts = urllib.parse.urlsplit(url)
    client = Client("%s://%s" % (parts.scheme, parts.netloc), timeout)
    reply = client.request(
        "POST", parts.path + ("?" + parts.query if parts.query else ""), payload=b"{}"
    )
    if not 200 <= reply.status < 300:
        raise SystemExit("reset URL answered %d" % reply.status)


def clean_up(run):
    """Without a reset URL: undo what the case left behind, as far as the API allows."""
    client = run.client

    def quiet(method, path, body=None):
        try:
            return client.request(
                method, path, payload=None if body is None else json.dumps(body).encode()
            )
        except (http.client.HTTPException, OSError):
            return None

    for name in run.made["crons"]:
        quiet("DELETE", API + "/cron/" + urllib.parse.quote(name, safe=""))
    for flow in run.made["workflows"]:
        quiet("DELETE", API + "/workflows/" + flow)
    for job in run.made["jobs"]:
        quiet("DELETE", API + "/jobs/" + job)
    for path in run.made["schemas"]:
        quiet("DELETE", path)
    for name in sorted(run.made["queues"]):
        for _ in range(20):
            reply = quiet(
                "POST",
                API + "/workers/fetch",
                {"queues": [name], "count": 100, "worker_id": "clean-up"},
            )
            jobs = (
                reply.body.get("jobs")
                if reply is not None and isinstance(reply.body, dict)
                else None
            )
            if not jobs:
                break
            for job in jobs:
                if isinstance(job, dict) and job.get("id"):
                    quiet("DELETE", API + "/jobs/%s" % job["id"])


# ----------------------------------------------------------------------- main


def load(root):
    cases = []
    for folder, names, files in os.walk(root):
        names.sort()
        for name in sorted(files):
            if not name.endswith(".json"):
                continue
            full = os.path.join(folder, name)
            with open(full, encoding="utf-8") as handle:
                try:
                    case = json.load(handle)
                except ValueError as err:
                    case = {"test_id": "?", "steps": [], "broken": "not JSON: %s" % err}
            case_file = os.path.relpath(full, root)
            entry = {
                "case": case,
                "file": case_file,
                "suite": case_file.split(os.sep)[0],
                "id": case.get("test_id", "?"),
            }
            found = re.match(r"level-(\d+)", entry["suite"])
            entry["level"] = int(found.group(1)) if found else None
            entry["wait"] = (
                sum(
                    step.get("delay_ms", 0) + step.get("duration_ms", 0)
                    for step in all_steps(case)
                )
                / 1000.0
            )
            cases.append(entry)
    return cases


def chosen(entry, args):
    if args.level and entry["level"] not in args.level:
        return False
    if args.suite and not any(fnmatch.fnmatch(entry["suite"], pattern) for pattern in args.suite):
        return False
    if args.category and entry["case"].get("category") not in args.category:
        return False
    if args.test and not any(
        entry["id"] == wanted or fnmatch.fnmatch(entry["file"], wanted) for wanted in args.test
    ):
        return False
    return True


def execute(entry, args, client):
    result = {
        "file": entry["file"],
        "suite": entry["suite"],
        "id": entry["id"],
        "level": entry["level"],
        "status": "pass",
        "checks": 0,
        "failures": [],
        "notes": [],
        "seconds": 0.0,
    }
    for pattern in args.skip:
        if fnmatch.fnmatch(entry["file"], pattern) or entry["id"] == pattern:
            result.update(status="skip", reason="--skip " + pattern)
            return result
    if args.max_wait is not None and entry["wait"] > args.max_wait:
        result.update(status="skip", reason="waits %.0f s" % entry["wait"])
        return result
    started = time.monotonic()
    run = Run(entry["case"], client)
    try:
        if "broken" in entry["case"]:
            raise RunnerError(entry["case"]["broken"])
        lint_case(entry["case"])
        run.go()
    except RunnerError as err:
        result["status"] = "runner-error"
        run.failures.append(
            {
                "step": "-",
                "where": "runner",
                "expected": "a construct it understands",
                "got": str(err),
            }
        )
    else:
        if any(item["where"] == "runner" for item in run.failures):
            result["status"] = "runner-error"
        elif run.failures:
            result["status"] = "fail"
        elif run.checks == 0:
            result["status"] = "fail"
            run.failures.append(
                {
                    "step": "-",
                    "where": "case",
                    "expected": "at least one assertion",
                    "got": "none ran",
                }
            )
    result.update(
        checks=run.checks,
        failures=run.failures,
        notes=sorted(set(run.notes)),
        seconds=round(time.monotonic() - started, 3),
    )
    waiver = args.waived.get(entry["file"])
    if waiver and result["status"] == "fail":
        result.update(status="skip", reason="waived: " + waiver, waived=True)
    if not args.reset_url and not args.no_clean:
        clean_up(run)
    return result


def report_line(result):
    first = result["failures"][0]
    more = len(result["failures"]) - 1
    word = "RUNNER-ERROR" if result["status"] == "runner-error" else "FAIL"
    return "%s %s [%s] %s: %s: expected %s, got %s%s" % (
        word,
        result["file"],
        result["id"],
        first["step"],
        first["where"],
        first["expected"],
        first["got"],
        " (+%d more)" % more if more else "",
    )


def shared_groups(entries):
    """Cases that touch a common queue (or other shared thing) stay in one serial group."""
    parent = list(range(len(entries)))

    def top(item):
        while parent[item] != item:
            parent[item] = parent[parent[item]]
            item = parent[item]
        return item

    seen = {}
    for pos, entry in enumerate(entries):
        things = set()
        for step in all_steps(entry["case"]):
            body = step.get("body", step.get("request"))
            names = set(queue_names(body))
            if (
                step.get("action") in ("POST", "push")
                and (step.get("path") or API + "/jobs") == API + "/jobs"
                and not names
            ):
                names = {"default"}
            things |= {"queue " + name for name in names}
            path = step.get("path") or ""
            if "/admin/" in path or "/dead-letter" in path or "/webhooks" in path:
                things.add(re.sub(r"\{\{.*|\$\{.*", "", path).split("?")[0].rsplit("/", 1)[0])
        for thing in things:
            if thing in seen:
                parent[top(pos)] = top(seen[thing])
            seen.setdefault(thing, pos)
    groups = {}
    for pos, entry in enumerate(entries):
        groups.setdefault(top(pos), []).append(entry)
    return sorted(groups.values(), key=lambda group: -sum(item["wait"] for item in group))


TOLERANCE = 50.0


def main():
    global TOLERANCE
    here = os.path.dirname(os.path.abspath(__file__))
    parser = argparse.ArgumentParser(
        description="Run the OJS conformance cases against an HTTP server."
    )
    parser.add_argument("--url", default=os.environ.get("OJS_TEST_URL", "http://127.0.0.1:8080"))
    parser.add_argument(
        "--suites", default=os.path.join(here, "suites"), help="directory with the case files"
    )
    parser.add_argument(
        "--level", type=int, action="append", help="only the folder level-N-* (repeatable)"
    )
    parser.add_argument(
        "--suite",
        action="append",
        help="only folders matching this pattern, e.g. 'ext-*' (repeatable)",
    )
    parser.add_argument("--category", action="append", help="only this category (repeatable)")
    parser.add_argument(
        "--test", action="append", help="only this test id or file pattern (repeatable)"
    )
    parser.add_argument("--reset-url", help="POST here before every case; must answer 2xx")
    parser.add_argument(
        "--no-clean",
        action="store_true",
        help="without a reset URL: do not cancel and drain after a case",
    )
    parser.add_argument(
        "--skip",
        action="append",
        default=[],
        help="skip this test id or file pattern (repeatable)",
    )
    parser.add_argument(
        "--waivers", help="JSON object {file: reason}; a waived case that fails counts as skipped"
    )
    parser.add_argument(
        "--max-wait", type=float, help="skip cases whose scripted waits exceed this many seconds"
    )
    parser.add_argument("--timeout", type=float, default=30.0, help="seconds per request")
    parser.add_argument(
        "--tolerance", type=float, default=50.0, help="percent allowed by ~N matchers"
    )
    parser.add_argument("--jobs", type=int, default=1, help="cases to run at once")
    parser.add_argument("--json", help="write the full results to this file")
    parser.add_argument("--list", action="store_true", help="list the selected cases and stop")
    parser.add_argument("-v", "--verbose", action="store_true")
    args = parser.parse_args()
    TOLERANCE = args.tolerance
    sys.stdout.reconfigure(line_buffering=True)

    args.waived = {}
    if args.waivers:
        with open(args.waivers, encoding="utf-8") as handle:
            args.waived = {
                key: value for key, value in json.load(handle).items() if not key.startswith("_")
            }
    if not os.path.isdir(args.suites):
        parser.error("no such directory: " + args.suites)
    everything = load(args.suites)
    unknown = set(args.waived) - {entry["file"] for entry in everything}
    if unknown:
        parser.error("waivers name unknown files: " + ", ".join(sorted(unknown)))
    entries = [entry for entry in everything if chosen(entry, args)]
    if not entries:
        parser.error("no case matches")
    if args.list:
        for entry in entries:
            print("%-75s %-14s %6.1f s of waits" % (entry["file"], entry["id"], entry["wait"]))
        return 0

    client = Client(args.url, args.timeout)
    try:
        client.request("GET", API + "/health")
    except (http.client.HTTPException, OSError) as err:
        print("cannot reach %s: %s" % (args.url, err))
        print("0 passed, %d failed, 0 skipped" % len(entries))
        return 2
    print(
        "%d cases against %s, isolation: %s"
        % (
            len(entries),
            args.url,
            "none"
            if args.no_clean and not args.reset_url
            else "POST %s" % args.reset_url
            if args.reset_url
            else "cancel and drain after each case",
        )
    )
    results = []
    lock = threading.Lock()

    def one(entry):
        if args.reset_url:
            reset(args.reset_url, args.timeout)
        result = execute(entry, args, client)
        with lock:
            results.append(result)
            if result["status"] in ("fail", "runner-error"):
                print(report_line(result))
            elif result["status"] == "skip":
                print("SKIP %s [%s] %s" % (result["file"], result["id"], result["reason"]))
            elif args.verbose:
                print(
                    "ok   %s [%s] %d assertions, %.1f s"
                    % (result["file"], result["id"], result["checks"], result["seconds"])
                )
            if args.verbose:
                for item in (
                    result["failures"][1:] if result["status"] != "skip" else result["failures"]
                ):
                    print(
                        "       %s: %s: expected %s, got %s"
                        % (item["step"], item["where"], item["expected"], item["got"])
                    )
                if result["status"] in ("fail", "runner-error"):
                    print("       %d assertions checked" % result["checks"])
                for note in result["notes"]:
                    print("       note: " + note)

    started = time.monotonic()
    if args.jobs <= 1:
        for entry in entries:
            one(entry)
    else:
        if args.reset_url:
            reset(args.reset_url, args.timeout)
        args.reset_url = None  # a reset would disturb the cases running beside it
        with ThreadPoolExecutor(args.jobs) as pool:
            for future in [
                pool.submit(lambda group: [one(entry) for entry in group], group)
                for group in shared_groups(entries)
            ]:
                future.result()

    print_summary(results, everything, time.monotonic() - started)
    if args.json:
        with open(args.json, "w", encoding="utf-8") as handle:
            json.dump(
                {"url": args.url, "results": sorted(results, key=lambda item: item["file"])},
                handle,
                indent=1,
            )
    counts = {
        word: sum(item["status"] == word for item in results)
        for word in ("pass", "fail", "runner-error", "skip")
    }
    if counts["runner-error"]:
        print(
            "!! %d case(s) hold something this runner does not understand; see RUNNER-ERROR above"
            % counts["runner-error"]
        )
    print(
        "%d passed, %d failed, %d skipped"
        % (counts["pass"], counts["fail"] + counts["runner-error"], counts["skip"])
    )
    return 2 if counts["runner-error"] else 1 if counts["fail"] else 0


def print_summary(results, everything, seconds):
    print()
    print(
        "%-24s %6s %6s %6s %7s %10s"
        % ("suite", "cases", "passed", "failed", "skipped", "assertions")
    )
    for suite in sorted({item["suite"] for item in results}):
        mine = [item for item in results if item["suite"] == suite]
        print(
            "%-24s %6d %6d %6d %7d %10d"
            % (
                suite,
                len(mine),
                sum(item["status"] == "pass" for item in mine),
                sum(item["status"] in ("fail", "runner-error") for item in mine),
                sum(item["status"] == "skip" for item in mine),
                sum(item["checks"] for item in mine),
            )
        )
    status = {item["file"]: item for item in results}

    def reached(accept):
        best = None
        for level in range(5):
            files = [entry["file"] for entry in everything if entry["level"] == level]
            if not files or not all(name in status and accept(status[name]) for name in files):
                break
            best = level
        return best

    strict = reached(lambda item: item["status"] == "pass")
    eased = reached(lambda item: item["status"] == "pass" or item.get("waived"))
    print()
    print("highest level fully passed: %s" % ("none" if strict is None else strict))
    if eased != strict:
        print("highest level passed apart from waived cases: %s" % eased)
    print("%.1f s, %d assertions" % (seconds, sum(item["checks"] for item in results)))


if __name__ == "__main__":
    sys.exit(main())
