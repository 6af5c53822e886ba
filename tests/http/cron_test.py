#!/usr/bin/env python3
"""Recurring jobs over HTTP: both layouts, changes, pauses, runs, history, refusals.

Usage: cron_test.py PAWL [TEST...]
"""
import datetime
import time

from jobs_kit import JOBS, Shared, queue_name
from server_kit import DEADLINE_S, main, test

SERVER = Shared()
CRON = "/ojs/v1/cron"
NEVER_SOON = "0 0 1 1 *"


def name_of(prefix="job"):
    return f"{prefix}-{queue_name()[2:]}"


def template(**more):
    return {"type": "report.send", "args": ["daily"], **more}


def create(expression=NEVER_SOON, status=201, **more):
    body = {"name": name_of(), "expression": expression, "job_template": template(), **more}
    return SERVER.post(CRON, body, status)["cron"]


def get(name):
    return SERVER.get(f"{CRON}/{name}")["cron"]


def at(text):
    return datetime.datetime.fromisoformat(text.replace("Z", "+00:00"))


@test
def a_schedule_is_made_from_a_template():
    name = name_of()
    body = {"name": name, "expression": "*/5 * * * *", "timezone": "Europe/Berlin",
            "description": "what for",
            "job_template": template(meta={"team": "a"}, options={
                "queue": "reports", "priority": 3, "tags": ["x"], "enqueue_ttl": 60,
                "retry": {"max_attempts": 5, "initial_interval": "PT2S"}})}
    reply = SERVER.post(CRON, body, 201)
    cron = reply["cron"]
    assert reply["cron_job"] == cron and {key: reply[key] for key in cron if key != "cron"} == {
        key: cron[key] for key in cron if key != "cron"}
    assert cron["expression"] == cron["cron"] == cron["schedule"] == "*/5 * * * *"
    assert (cron["name"], cron["timezone"], cron["enabled"], cron["status"], cron["run_count"],
            cron["overlap_policy"], cron["last_run_at"], cron["description"]) == (
                name, "Europe/Berlin", True, "active", 0, "skip", None, "what for"), cron
    assert at(cron["next_run_at"]) > at(cron["created_at"])
    assert at(cron["next_run_at"]).minute % 5 == 0
    made = cron["job_template"]
    assert (made["type"], made["args"], made["meta"]) == ("report.send", ["daily"], {"team": "a"})
    options = made["options"]
    assert options == {"queue": "reports", "priority": 3, "tags": ["x"], "enqueue_ttl": 60,
                       "retry": {"max_attempts": 5, "initial_interval": "PT2S"}}, options
    assert (cron["type"], cron["args"], cron["options"]) == ("report.send", ["daily"], options)
    assert "every 5 minutes" in cron["words"], cron
    assert SERVER.get(f"{CRON}/{name}") == reply


@test
def the_flat_layout_is_read_too():
    name = name_of()
    body = {"name": name, "cron": "@daily", "type": "a.b", "args": [1], "meta": {"k": 1},
            "options": {"queue": "flat"}, "overlap_policy": "enqueue"}
    cron = SERVER.post(CRON, body, 201)["cron_job"]
    assert (cron["type"], cron["args"], cron["meta"], cron["queue"], cron["overlap_policy"]) == (
        "a.b", [1], {"k": 1}, "flat", "enqueue"), cron
    # arguments may be left out, as the command line of the Open Job Spec does
    cron = create(job_template={"type": "a.b", "options": {"queue": "default"}})
    assert cron["args"] == [] and cron["queue"] == "default"


@test
def the_same_name_again_is_an_update():
    cron = create()
    body = {"name": cron["name"], "expression": "@daily", "job_template": template()}
    changed = SERVER.post(CRON, body, 200)["cron"]
    assert changed["expression"] == "@daily" and changed["version"] == cron["version"] + 1
    assert SERVER.post(CRON, body, 200)["cron"] == changed
    assert SERVER.put(f"{CRON}/{cron['name']}", {**body, "expression": "@hourly"})["cron"][
        "expression"] == "@hourly"
    assert SERVER.put(f"{CRON}/{name_of()}", {key: body[key] for key in body if key != "name"},
                      201)["cron"]["enabled"]


@test
def what_was_read_can_be_sent_back():
    cron = create(jitter_ms=1000, misfire_policy="catch_up", catch_up=3, max_runs=7,
                  end_at="2150-01-01T00:00:00Z")
    assert SERVER.put(f"{CRON}/{cron['name']}", cron)["cron"] == cron
    assert SERVER.expect("PATCH", f"{CRON}/{cron['name']}", cron)["cron"]["version"] == \
        cron["version"]


@test
def a_patch_changes_only_what_it_says():
    cron = create(job_template=template(options={"queue": "a", "priority": 4}))
    path = f"{CRON}/{cron['name']}"
    patched = SERVER.expect("PATCH", path, {"expression": "@daily"})["cron"]
    assert (patched["expression"], patched["type"], patched["queue"]) == (
        "@daily", "report.send", "a")
    patched = SERVER.expect("PATCH", path, {"job_template": {"options": {"queue": "b"}}})["cron"]
    assert (patched["type"], patched["args"], patched["options"]) == (
        "report.send", ["daily"], {"queue": "b", "priority": 4}), patched
    patched = SERVER.expect("PATCH", path, {"job_template": {"type": "other"}})["cron"]
    assert (patched["type"], patched["queue"]) == ("other", "b")
    assert patched["version"] == cron["version"] + 3
    assert SERVER.expect("PATCH", path, {"timezone": "Asia/Tokyo"})["cron"]["timezone"] == \
        "Asia/Tokyo"


@test
def a_schedule_is_paused_and_resumed():
    cron = create()
    path = f"{CRON}/{cron['name']}"
    for off, on in [("/pause", "/resume"), ("/disable", "/enable")]:
        paused = SERVER.post(path + off, {})["cron"]
        assert (paused["enabled"], paused["next_run_at"]) == (False, None), paused
        resumed = SERVER.post(path + on, {})["cron"]
        assert (resumed["enabled"], resumed["next_run_at"]) == (True, cron["next_run_at"])
    paused = SERVER.expect("PATCH", path, {"enabled": False})
    assert paused["enabled"] is False and paused["cron"]["status"] != "active"
    assert SERVER.expect("PATCH", path, {"enabled": True})["enabled"] is True
    disabled = create(enabled=False)
    assert (disabled["enabled"], disabled["status"], disabled["next_run_at"]) == (
        False, "disabled", None), disabled
    assert SERVER.post(f"{CRON}/{disabled['name']}/resume", {})["cron"]["enabled"] is True


@test
def a_schedule_is_run_now():
    queue = queue_name()
    cron = create(job_template=template(options={"queue": queue}))
    path = f"{CRON}/{cron['name']}"
    ran = SERVER.post(path + "/trigger", {}, 201)
    job = SERVER.job(ran["job_id"])
    assert (job["type"], job["queue"], job["args"]) == ("report.send", queue, ["daily"])
    assert job["meta"]["cron_name"] == cron["name"] and job["meta"]["cron_triggered_at"]
    assert get(cron["name"])["run_count"] == 0
    # the first one has not ended
    SERVER.refused("POST", path + "/run", {}, 409, "conflict", reason="overlap_skip")
    again = SERVER.post(path + "/run", {"force": True}, 201)
    history = SERVER.get(path + "/history")
    assert [one["job_id"] for one in history["executions"]] == [again["job_id"], ran["job_id"]]
    assert [one["state"] for one in history["executions"]] == ["available", "available"]
    assert [one["kind"] for one in history["history"]] == ["ran", "skipped", "ran",
                                                              "changed"], history
    first = SERVER.get(path + "/history?limit=1")
    assert [one["number"] for one in first["history"]] == [4]
    second = SERVER.get(f"{path}/history?limit=3&cursor={first['next_cursor']}")
    assert [one["number"] for one in second["history"]] == [3, 2, 1] and "next_cursor" not in second


@test
def a_schedule_fires():
    queue = queue_name()
    cron = create("* * * * * *", job_template=template(options={"queue": queue}))
    end = time.monotonic() + DEADLINE_S
    while not SERVER.get(f"{JOBS}?queue={queue}")["jobs"]:
        assert time.monotonic() < end, get(cron["name"])
        time.sleep(0.1)
    job = SERVER.get(f"{JOBS}?queue={queue}")["jobs"][0]
    assert job["meta"]["cron_name"] == cron["name"], job
    due = at(job["meta"]["cron_triggered_at"])
    assert due.microsecond == 0 and due > at(cron["created_at"])
    now = get(cron["name"])
    assert now["run_count"] == 1 and at(now["last_run_at"]) == due, now
    end = time.monotonic() + DEADLINE_S  # it has not ended, so the next instants are skipped
    while not get(cron["name"])["skip_count"]:
        assert time.monotonic() < end, get(cron["name"])
        time.sleep(0.1)
    history = SERVER.get(f"{CRON}/{cron['name']}/history")["history"]
    assert {"overlap_skip", "created"} <= {one.get("reason") for one in history}, history
    assert len(SERVER.get(f"{JOBS}?queue={queue}")["jobs"]) == 1
    SERVER.delete(f"{CRON}/{cron['name']}")


@test
def a_removed_schedule_is_gone():
    cron = create()
    path = f"{CRON}/{cron['name']}"
    gone = SERVER.delete(path)
    assert gone["deleted"] is True and gone["cron"] == cron and gone["name"] == cron["name"]
    for method, part in [("GET", ""), ("DELETE", ""), ("PATCH", ""), ("POST", "/pause"),
                         ("POST", "/resume"), ("POST", "/trigger"), ("GET", "/history")]:
        SERVER.refused(method, path + part, {} if method in ("POST", "PATCH") else None, 404,
                       "not_found", resource_type="cron", resource_id=cron["name"])


@test
def schedules_are_listed_page_by_page():
    with Shared() as server:
        names = [f"s-{i:02}" for i in range(25)]
        for name in names:
            server.post(CRON, {"name": name, "expression": NEVER_SOON, "job_template": template(),
                               "enabled": name != "s-03"}, 201)

        def listed(query="", path=CRON, member="crons"):
            reply = server.get(path + query)
            return [cron["name"] for cron in reply[member]], reply["pagination"]
        reply = server.get(CRON)
        assert reply["crons"] == reply["cron_jobs"] and reply["count"] == 25
        assert listed("?limit=10") == (names[:10], {
            "total": 25, "page": 1, "per_page": 10, "limit": 10, "offset": 0, "has_more": True})
        assert listed("?limit=10&offset=20")[0] == names[20:]
        assert listed("?page=2&per_page=10")[0] == names[10:20]
        assert listed("?enabled=false")[0] == ["s-03"]
        assert len(listed("?enabled=true&limit=100")[0]) == 24
        assert listed("?page=3&per_page=10", "/ojs/v1/crons", "items")[0] == names[20:]
        server.refused("GET", f"{CRON}?enabled=maybe", None, 400, "invalid_request",
                       field="enabled")
        server.refused("GET", f"{CRON}?limit=0", None, 400, "invalid_request", field="limit")


@test
def dashboards_have_paths_of_their_own():
    cron = create()
    path = f"/ojs/v1/crons/{cron['name']}"
    assert SERVER.get(path)["id"] == cron["name"]
    assert SERVER.expect("PATCH", path, {"enabled": False})["enabled"] is False
    assert SERVER.delete(path)["deleted"] is True


@test
def refusals_say_why():
    good = {"name": name_of(), "expression": NEVER_SOON, "job_template": template()}
    cases = [
        ({"expression": "not a valid cron"}, {"field": "expression", "reason": "field_count"}),
        ({"expression": "99 25 32 13 8"}, {"field": "expression", "reason": "out_of_range"}),
        ({"expression": "0 0 30 2 *"}, {"field": "expression", "reason": "never",
                                        "error_code": "OJS-1007"}),
        ({"timezone": "CET"}, {"field": "timezone", "reason": "bad_zone"}),
        ({"timezone": "+02:00"}, {"field": "timezone", "reason": "bad_zone"}),
        ({"expression": None}, {"field": "expression"}),
        ({"name": None}, {"field": "name"}),
        ({"name": "Daily Report"}, {"field": "name"}),
        ({"name": "x" * 256}, {"field": "name"}),
        ({"overlap_policy": "never"}, {"field": "overlap_policy"}),
        ({"catch_up": 1001, "misfire_policy": "catch_up"}, {"field": "catch_up"}),
        ({"job_template": {"args": []}}, {"field": "type"}),
        ({"job_template": template(type="Bad Type")}, {"field": "type"}),
        ({"job_template": template(options={"queue": "Bad"})}, {"field": "options.queue"}),
        ({"job_template": template(id="01900000-0000-7000-8000-000000000000")}, {"field": "id"}),
        ({"job_template": template(options={"delay_until": "+PT5M"})}, {}),
        ({"job_template": template(options={"expires_at": "2150-01-01T00:00:00Z"})},
         {"field": "expires_at"}),
        ({"job_template": template(options={"pending": True})}, {"field": "pending"}),
        ({"job_template": 7}, {"field": "job_template"}),
    ]
    for change, details in cases:
        SERVER.refused("POST", CRON, {**good, **change}, 400, "invalid_request", **details)
    SERVER.refused("POST", CRON, {**good, "job_template": template(
        options={"rate_limit": {"limit": 1, "period": "PT1S"}})}, 422, "unsupported",
        field="rate_limit")
    SERVER.refused("POST", CRON, b"", 400, "invalid_payload")
    SERVER.refused("PUT", f"{CRON}/other", good, 400, "invalid_request", field="name")
    SERVER.refused("GET", f"{CRON}/{good['name']}", None, 404, "not_found")


@test
def misspelt_options_are_reported():
    reply = SERVER.post(CRON, {"name": name_of(), "expression": NEVER_SOON,
                               "job_template": template(options={"priorty": 3})}, 201)
    assert reply["warnings"][0]["field"] == "options.priorty", reply


@test
def ends_without_a_complaint():
    SERVER.ends_well()


if __name__ == "__main__":
    main()
