#!/usr/bin/env python3
"""Workflows over HTTP: layouts of the Open Job Spec, pawl's own, their jobs, lists and refusals.

Usage: workflows_test.py PAWL [TEST...]
"""
from jobs_kit import NOBODY, Shared, new_id, queue_name
from server_kit import main, test, until

SERVER = Shared()
FLOWS = "/ojs/v1/workflows"


def job(kind="a.b", queue=None, **more):
    options = {"queue": queue, **more.pop("options", {})} if queue else more.pop("options", {})
    return {"type": kind, "args": [], **({"options": options} if options else {}), **more}


def submit(flow, server=SERVER):
    return server.post(FLOWS, flow, 201)["workflow"]


def look(flow, server=SERVER):
    return server.get(f"{FLOWS}/{flow['id']}")["workflow"]


def states(flow, server=SERVER):
    return {step["id"]: step["state"] for step in look(flow, server)["steps"]}


def complete(queue, result=None, server=SERVER):
    """Fetches the next job of the queue, which must be the only one, and completes it."""
    fetched = server.fetch(queue, count=2)
    assert len(fetched) == 1, fetched
    server.ack(fetched[0]["id"], result)
    return fetched[0]


def fail(queue, server=SERVER):
    fetched = server.fetch(queue)
    assert len(fetched) == 1, fetched
    server.nack(fetched[0]["id"])


# ---- layouts ----

@test
def a_chain_is_stored_whole_and_shown_twice():
    queue = queue_name()
    flow = {"type": "chain", "name": "nightly", "meta": {"team": "etl"},
            "steps": [job("etl.extract", queue), job("etl.load", queue)]}
    reply = SERVER.ask("POST", FLOWS, flow)
    assert reply.status == 201, reply.body
    made = reply.json["workflow"]
    assert reply.headers["Location"] == f"{FLOWS}/{made['id']}"
    assert made["id"][14] == "7" and made["created_at"].endswith("Z")
    wanted = {"type": "chain", "name": "nightly", "state": "running", "steps_total": 2,
              "steps_completed": 0, "progress": 0, "meta": {"team": "etl"}}
    assert {name: made[name] for name in wanted} == wanted
    assert made["metadata"] == {"created_at": made["created_at"], "job_count": 2,
                                "completed_count": 0, "failed_count": 0}
    first, second = made["steps"]
    assert (first["id"], first["index"], first["type"], first["depends_on"]) == \
        ("0", 0, "etl.extract", [])
    assert (first["state"], second["state"]) == ("pending", "waiting")
    assert (second["pawl_state"], second["depends_on"]) == ("pending", ["0"])
    assert SERVER.job(first["job_id"])["queue"] == queue
    for member, value in made.items():  # at the top level as well, but for the steps
        assert member == "steps" or reply.json[member] == value, member
    assert look(made) == made


@test
def a_chain_runs_one_step_after_another():
    queue = queue_name()
    flow = submit({"type": "chain", "jobs": [job(f"s.{i}", queue) for i in "abc"]})
    for number, kind in enumerate(["s.a", "s.b", "s.c"]):
        assert look(flow)["steps_completed"] == number
        assert complete(queue, {"n": number})["type"] == kind
    ended = look(flow)
    assert (ended["state"], ended["steps_completed"], ended["progress"]) == ("completed", 3, 100)
    assert [step["result"] for step in ended["steps"]] == [{"n": 0}, {"n": 1}, {"n": 2}]
    assert ended["started_at"] <= ended["steps"][1]["started_at"] <= ended["completed_at"]
    assert ended["metadata"]["completed_count"] == 3


@test
def a_failed_step_ends_its_chain():
    queue = queue_name()
    flow = submit({"type": "chain", "options": {"queue": queue, "retry": {"max_attempts": 1}},
                   "steps": [job("a"), job("b"), job("c")]})
    complete(queue)
    fail(queue)
    ended = look(flow)
    assert ended["state"] == "failed" and ended["steps_completed"] == 1
    assert states(flow) == {"0": "completed", "1": "failed", "2": "cancelled"}
    failed = ended["steps"][1]["job_id"]
    assert ended["failed_step_index"] == 1 and ended["failed_job_ids"] == [failed]
    assert ended["errors"] == [{"job_id": failed, "code": "handler_error", "message": "no",
                                "attempt": 1}]
    assert ended["steps"][2]["reason"] == "upstream_discarded"
    assert SERVER.fetch(queue) == []


@test
def a_group_runs_all_at_once():
    queue = queue_name()
    flow = submit({"type": "group", "jobs": [job("a", queue), job("b", queue), job("c", queue)]})
    assert (flow["jobs_total"], flow["jobs_completed"]) == (3, 0) and "steps_total" not in flow
    fetched = SERVER.fetch(queue, count=5)
    assert [one["type"] for one in fetched] == ["a", "b", "c"]
    for one in fetched:
        SERVER.ack(one["id"])
    assert look(flow)["state"] == "completed" and look(flow)["jobs_completed"] == 3


@test
def callbacks_of_a_batch_are_no_jobs_of_it():
    queue = queue_name()
    callbacks = {name: job("c." + name, queue)
                 for name in ["on_complete", "on_success", "on_failure"]}
    for fails in [False, True]:
        flow = submit({"type": "batch", "jobs": [job("a", queue, options={"retry":
                                                                          {"max_attempts": 1}})],
                       "callbacks": callbacks})
        assert flow["jobs_total"] == 1
        if fails:
            fail(queue)
        else:
            complete(queue)
        assert look(flow)["state"] == "running"
        called = sorted(SERVER.fetch(queue, count=5), key=lambda one: one["type"])
        assert [one["type"] for one in called] == \
            ["c.on_complete", "c.on_failure" if fails else "c.on_success"]
        for one in called:
            SERVER.ack(one["id"])
        assert look(flow)["state"] == "completed"  # a callback heard of the failure
        unwanted = "on_success" if fails else "on_failure"
        step = [step for step in look(flow)["steps"] if step["id"] == unwanted][0]
        assert (step["state"], step["pawl_state"], step["callback"]) == \
            ("cancelled", "skipped", True)


@test
def layouts_nest_three_levels_deep():
    queue = queue_name()
    inner = {"type": "chain", "steps": [job("c", queue), job("d", queue)]}
    middle = {"type": "group", "jobs": [inner, job("e", queue)]}
    flow = submit({"type": "chain", "steps": [job("a", queue), middle, job("z", queue)]})
    kinds = {step["id"]: step["type"] for step in flow["steps"]}
    assert kinds == {"0": "a", "1": "group", "1.0": "group", "1.0.0": "c", "1.0.1": "d",
                     "1.1": "e", "2": "z"}
    group = flow["steps"][1]
    assert group["job_id"] is None and flow["steps"][2]["group"] == "1"
    assert flow["steps_total"] == 5
    order = []
    while fetched := SERVER.fetch(queue):
        order.append(fetched[0]["type"])
        SERVER.ack(fetched[0]["id"])
    assert order[0] == "a" and order[-1] == "z" and sorted(order) == list("acdez"), order
    assert order.index("c") < order.index("d") and look(flow)["state"] == "completed"
    deeper = {"type": "chain", "steps": [{"type": "group", "jobs": [middle]}]}
    SERVER.refused("POST", FLOWS, deeper, 400, "invalid_workflow",
                   field="steps[0].jobs[0].jobs[0]")


@test
def steps_with_dependencies_are_a_graph():
    queue = queue_name()
    flow = submit({"name": "g", "steps": [
        job("x", queue, id="load", depends_on=["extract"]),
        job("e", queue, id="extract", options={"retry": {"max_attempts": 1}}),
        job("r", queue, id="undo", depends_on=["extract"],
            options={"callback_type": "on_failure"}),
        job("l", queue, id="log", depends_on=["load", "undo"], callback_type="on_complete")]})
    assert flow["type"] == "dag" and flow["name"] == "g" and flow["steps_total"] == 4
    assert flow["steps"][3]["depends_on"] == ["load", "undo"]
    fail(queue)
    assert complete(queue)["type"] == "r"
    assert complete(queue)["type"] == "l"
    assert states(flow) == {"extract": "failed", "load": "cancelled", "undo": "completed",
                            "log": "completed"}
    assert look(flow)["state"] == "failed"


@test
def nodes_are_pawl_s_own_layout():
    queue = queue_name()
    flow = submit({"name": "own", "nodes": [
        {"name": "ask", "select": "first", **job("a", queue)},
        {"name": "big", "after": [{"parent": "ask", "arm": 1, "when": "/result/n > 9"}],
         **job("b", queue)},
        {"name": "small", "after": [{"parent": "ask", "arm": 2, "otherwise": True}],
         **job("s", queue)},
        {"name": "both", "kind": "join", "after": ["big", "small"]}]})
    assert flow["type"] == "dag" and flow["steps_total"] == 3
    assert [step["type"] for step in flow["steps"]] == ["a", "b", "s", "join"]
    complete(queue, {"n": 3})
    assert states(flow) == {"ask": "completed", "big": "cancelled", "small": "pending",
                            "both": "waiting"}
    assert complete(queue)["type"] == "s"
    assert look(flow)["state"] == "completed"


# ---- what jobs get ----

@test
def options_and_tenants_are_for_all_steps():
    queue = queue_name()
    body = {"type": "group", "options": {"queue": queue, "priority": 7, "tags": ["t"]},
            "jobs": [job("a"), job("b", options={"priority": 8})]}
    reply = SERVER.ask("POST", FLOWS, body, {"X-OJS-Tenant": "acme"})
    jobs = [SERVER.job(step["job_id"]) for step in reply.json["workflow"]["steps"]]
    assert [one["priority"] for one in jobs] == [7, 8]
    for one in jobs:
        assert one["queue"] == queue and one["tags"] == ["t"]
        assert one["meta"] == {"tenant_id": "acme"}


@test
def envelopes_are_kept_as_they_are():
    queue = queue_name()
    step = job("a", queue, meta={"x.y": 1.50}, x_own=[1], version="2",
               options={"retry": {"maxAttempts": 4}, "timeout_ms": 5000})
    flow = submit({"type": "chain", "steps": [step]})
    kept = SERVER.job(flow["steps"][0]["job_id"])
    assert (kept["meta"], kept["x_own"], kept["version"]) == ({"x.y": 1.50}, [1], "2")
    assert kept["max_attempts"] == 4 and kept["timeout_ms"] == 5000


@test
def unknown_members_are_told_by_their_paths():
    flow = {"type": "chain", "steps": [job("a"), job("b", dealy="5s")], "nmae": "x"}
    reply = SERVER.post(FLOWS, flow, 201)
    assert [one["field"] for one in reply["warnings"]] == ["steps[1].dealy"]
    strict = SERVER.ask("POST", FLOWS, flow, {"Prefer": "handling=strict"})
    assert strict.status == 400 and strict.headers["Preference-Applied"] == "handling=strict"
    assert strict.json["error"]["details"]["field"] == "nmae"
    del flow["nmae"]
    strict = SERVER.ask("POST", FLOWS, flow, {"Prefer": "handling=strict"})
    assert strict.json["error"]["details"]["field"] == "steps[1].dealy", strict.body


# ---- results of earlier steps ----

@test
def a_step_gets_the_results_of_all_earlier_ones():
    queue = queue_name()
    retry = {"retry": {"max_attempts": 1}}
    middle = {"type": "group", "jobs": [job("b", queue), job("c", queue, options=retry)]}
    flow = submit({"type": "chain", "steps": [job("a", queue), middle]})
    first = SERVER.fetch(queue)[0]
    assert first["parent_results"] == [] and first["workflow_id"] == flow["id"]
    SERVER.ack(first["id"], {"n": 1})
    for one in SERVER.fetch(queue, count=2):
        assert one["parent_results"] == [{"n": 1}], one
        SERVER.ack(one["id"], one["type"])
    assert SERVER.job(first["id"])["workflow_id"] == flow["id"]
    assert "parent_results" not in SERVER.job(first["id"])
    listed = SERVER.get(f"/ojs/v1/jobs?queue={queue}")["jobs"]
    assert [one["workflow_id"] for one in listed] == [flow["id"]] * 3
    plain = SERVER.submit(queue=queue)
    fetched = SERVER.fetch(queue)[0]
    assert fetched["id"] == plain
    assert "parent_results" not in fetched and "workflow_id" not in fetched


@test
def a_follow_up_gets_the_result_of_the_job_before():
    queue = queue_name()
    after = {"type": "report", "args": [1], "on_failure": {"type": "page", "args": []},
             "options": {"queue": queue, "retry": {"max_attempts": 7}}}
    options = {"queue": queue, "on_success": after}
    first = SERVER.post("/ojs/v1/jobs", {"type": "count", "args": [], "options": options}, 201)
    assert first["job"]["on_success"] == after, first
    assert SERVER.job(first["job"]["id"])["on_success"] == after
    SERVER.fetch(queue)
    SERVER.ack(first["job"]["id"], {"n": 42})
    fetched = SERVER.fetch(queue)[0]
    assert (fetched["type"], fetched["max_attempts"], fetched["parent_results"]) == \
        ("report", 7, [{"n": 42}]), fetched
    assert fetched["meta"] == {"parent_id": first["job"]["id"], "parent_state": "completed"}
    assert fetched["on_failure"] == {"type": "page", "args": []} and "workflow_id" not in fetched


@test
def a_bad_follow_up_is_refused_with_its_path():
    for follow, field in (
            ({"args": []}, "on_failure.type"), (7, "on_failure"),
            ({"type": "a", "args": [], "queue": "Q"}, "on_failure.queue"),
            ({"type": "a", "args": [], "id": "01890000-0000-7000-8000-000000000001"},
             "on_failure.id"),
            ({"type": "a", "args": [], "rate_limit": {"max_per_second": 1}},
             "on_failure.rate_limit"),
            ({"type": "a", "args": [], "on_success": {"type": "b", "args": {}}},
             "on_failure.on_success.args")):
        body = {"type": "t", "args": [], "on_failure": follow}
        reply = SERVER.ask("POST", "/ojs/v1/jobs", body)
        assert reply.status in (400, 422), (follow, reply.body)
        assert reply.json["error"]["details"]["field"] == field, reply.body
    body = {"type": "t", "args": [], "on_failure": {"type": "a", "args": [], "qeue": 1}}
    reply = SERVER.ask("POST", "/ojs/v1/jobs", body)
    assert reply.json["warnings"][0]["field"] == "on_failure.qeue", reply.body


@test
def a_callback_gets_the_results_of_all_jobs():
    queue = queue_name()
    retry = {"retry": {"max_attempts": 1}}
    submit({"type": "batch", "jobs": [job(k, queue, options=retry) for k in "abc"],
            "callbacks": {"on_complete": job("z", queue)}})
    for number, one in enumerate(SERVER.fetch(queue, count=3)):
        if number == 1:
            SERVER.nack(one["id"])
        else:
            SERVER.ack(one["id"], [number])
    callback = SERVER.fetch(queue)[0]
    assert callback["type"] == "z" and callback["parent_results"] == [[0], None, [2]]
    parents = SERVER.get(f"/ojs/v1/jobs/{callback['id']}/parents")
    assert parents["step"] == "on_complete"
    assert [(one["id"], one["state"], one["result"]) for one in parents["parents"]] == \
        [("0", "completed", [0]), ("1", "failed", None), ("2", "completed", [2])]


@test
def a_retried_step_gets_them_again():
    queue = queue_name()
    submit({"type": "chain", "steps": [job("a", queue), job("b", queue)]})
    complete(queue, "x" * 70000)
    again = SERVER.fetch(queue)[0]
    SERVER.post("/ojs/v1/workers/nack", {"job_id": again["id"], "requeue": True})
    assert SERVER.fetch(queue)[0]["parent_results"] == again["parent_results"] == ["x" * 70000]


@test
def results_beyond_1_mib_are_not_cut():
    queue, result = queue_name(), "x" * (600 * 1024)
    flow = submit({"type": "chain", "steps": [job(k, queue) for k in "abc"]})
    complete(queue, result)
    assert complete(queue, result)["parent_results"] == [result]
    last = SERVER.fetch(queue)[0]
    assert last["parent_results"] is None
    assert last["parent_results_omitted"] == {"count": 2, "bytes": 2 * len(result) + 4}
    parents = SERVER.get(f"/ojs/v1/jobs/{last['id']}/parents")
    assert parents["workflow_id"] == flow["id"] and parents["results_omitted_bytes"] > 1 << 20
    for one in parents["parents"]:
        assert one["result"] is None
        assert SERVER.get(f"/ojs/v1/jobs/{one['job_id']}/result")["result"] == result


@test
def a_job_of_no_workflow_has_no_earlier_steps():
    lone = SERVER.submit(queue=queue_name())
    for one in [lone, NOBODY]:
        SERVER.refused("GET", f"/ojs/v1/jobs/{one}/parents", None, 404, "not_found")


# ---- cancelling, retrying, pausing ----

@test
def a_cancelled_workflow_lets_what_runs_finish():
    queue = queue_name()
    flow = submit({"type": "chain", "steps": [job(k, queue) for k in "abc"]})
    complete(queue)
    running = SERVER.fetch(queue)[0]
    path = f"{FLOWS}/{flow['id']}"
    cancelled = SERVER.delete(path)["workflow"]
    assert cancelled["state"] == "cancelled" and cancelled["id"] == flow["id"]
    assert states(flow) == {"0": "completed", "1": "active", "2": "cancelled"}
    error = SERVER.refused("DELETE", path, None, 409, "conflict", current_state="cancelled")
    assert "cancelled" in error["message"]
    SERVER.ack(running["id"], {"late": True})
    ended = look(flow)
    assert ended["state"] == "cancelled" and ended["steps"][1]["result"] == {"late": True}
    assert ended["cancelled_at"].endswith("Z") and "completed_at" not in ended
    assert SERVER.fetch(queue) == []
    SERVER.refused("DELETE", f"{FLOWS}/{NOBODY}", None, 404, "not_found")


@test
def a_workflow_is_stopped_with_what_runs():
    queue = queue_name()
    flow = submit({"type": "group", "jobs": [job("a", queue), job("b", queue)]})
    running = SERVER.fetch(queue)[0]
    SERVER.post(f"{FLOWS}/{flow['id']}/cancel", {"stop": True})
    assert set(states(flow).values()) == {"cancelled"}
    SERVER.refused("POST", "/ojs/v1/workers/ack", {"job_id": running["id"]}, 409, "conflict")


@test
def one_step_is_cancelled_with_what_is_below():
    queue = queue_name()
    flow = submit({"steps": [job("a", queue, id="a"), job("b", queue, id="b", depends_on=["a"]),
                             job("c", queue, id="c")]})
    path = f"{FLOWS}/{flow['id']}/cancel"
    SERVER.refused("POST", path, {"step": "z"}, 404, "not_found", field="step")
    SERVER.refused("POST", path, {"steps": "a"}, 400, "invalid_request", field="steps")
    assert SERVER.post(path, {"step": "a"})["workflow"]["state"] == "running"
    assert states(flow) == {"a": "cancelled", "b": "cancelled", "c": "pending"}
    complete(queue)
    assert look(flow)["state"] == "failed"


@test
def what_failed_is_run_again():
    queue = queue_name()
    flow = submit({"type": "chain", "options": {"queue": queue, "retry": {"max_attempts": 1}},
                   "steps": [job("a"), job("b"), job("c")]})
    complete(queue)
    fail(queue)
    path = f"{FLOWS}/{flow['id']}/retry"
    SERVER.refused("POST", path, {"steps": ["9"]}, 404, "not_found", field="steps")
    again = SERVER.post(path)
    assert again["retried"] == 1 and again["workflow"]["reopened"] == 1
    assert again["workflow"]["state"] == "running"
    assert complete(queue)["type"] == "b" and complete(queue)["type"] == "c"
    assert look(flow)["state"] == "completed"
    assert SERVER.post(path)["retried"] == 0  # nothing failed


@test
def a_paused_workflow_goes_on_when_it_is_resumed():
    queue = queue_name()
    flow = submit({"type": "group", "jobs": [job("a", queue)]})
    path = f"{FLOWS}/{flow['id']}"
    assert SERVER.post(path + "/pause")["workflow"]["paused"] is True
    assert SERVER.fetch(queue) == []
    assert "paused" not in SERVER.post(path + "/resume")["workflow"]
    complete(queue)
    SERVER.refused("POST", path + "/pause", {}, 409, "conflict", current_state="completed")


# ---- growing ----

@test
def an_unsealed_workflow_grows_until_it_is_sealed():
    queue = queue_name()
    flow = submit({"unsealed": True, "nodes": [{"name": "a", **job("a", queue)}]})
    path = f"{FLOWS}/{flow['id']}"
    complete(queue)
    assert look(flow)["state"] == "running"
    more = {"nodes": [{"name": "b", "after": "a", **job("b", queue)}]}
    grown = SERVER.post(path + "/steps", more)["workflow"]
    assert [step["id"] for step in grown["steps"]] == ["a", "b"] and grown["steps_total"] == 2
    for body, status, code, field in [
            (more, 409, "duplicate", None), ({"nodes": []}, 400, "invalid_request", "nodes"),
            ({"name": "n", **more}, 400, "invalid_request", "name"),
            ({"type": "chain", "steps": [job("c")]}, 400, "invalid_request", "type"),
            ({"nodes": [{"name": "c", **job("C")}]}, 400, "invalid_request", "nodes[0].type"),
            ({"nodes": [{"name": "c", "after": "z", **job("c")}]}, 400, "invalid_workflow",
             "parent")]:
        details = {"field": field} if field else {}
        SERVER.refused("POST", path + "/steps", body, status, code, **details)
    SERVER.refused("POST", f"{FLOWS}/{NOBODY}/steps", more, 404, "not_found")
    SERVER.refused("POST", path + "/seal", {"group": "no"}, 404, "not_found", field="group")
    assert complete(queue)["type"] == "b"
    assert look(flow)["state"] == "running"
    assert SERVER.post(path + "/seal")["workflow"]["state"] == "completed"
    late = {"nodes": [{"name": "d", **job("d", queue)}]}
    SERVER.refused("POST", path + "/steps", late, 409, "conflict")


# ---- signals ----

def approval(name, **more):
    return {"name": name, "kind": "signal", **more}


@test
def a_step_waits_for_its_approval():
    queue = queue_name()
    flow = submit({"nodes": [approval("ask", signal_key="k-" + queue),
                             {"name": "deploy", "after": "ask", **job("d", queue)}]})
    path = f"{FLOWS}/{flow['id']}/signal"
    for body, field in [({}, "step"), ({"step": "ask"}, "signal"),
                        ({"step": "ask", "signal": "maybe"}, "signal"),
                        ({"step": "ask", "signal": "approve", "reason": 1}, "reason")]:
        SERVER.refused("POST", path, body, 400, "invalid_request", field=field)
    SERVER.refused("POST", path, {"step": "no", "signal": "approve"}, 404, "not_found")
    assert SERVER.fetch(queue) == []
    body = {"step": "ask", "signal": "approve", "payload": {"by": "ann"}}
    approved = SERVER.post(path, body)["workflow"]["steps"][0]
    assert (approved["state"], approved["result"]) == ("completed", {"by": "ann"})
    SERVER.refused("POST", path, body, 409, "conflict", current_state="running")
    deploy = complete(queue)
    assert deploy["parent_results"] == [{"by": "ann"}]
    assert look(flow)["state"] == "completed"


@test
def a_key_reaches_all_that_wait():
    queue = queue_name()
    key = "k-" + queue
    flows = [submit({"nodes": [approval("ask", signal_key=key),
                               {"name": "d", "after": "ask", **job("d", queue)}]})
             for _ in range(3)]
    assert flows[0]["steps"][0]["signal_key"] == key
    assert SERVER.post("/ojs/v1/signals", {"key": key, "signal": "reject"}) == {"delivered": 3}
    assert SERVER.post("/ojs/v1/signals", {"key": key, "signal": "reject"}) == {"delivered": 0}
    assert {look(flow)["state"] for flow in flows} == {"failed"}
    SERVER.refused("POST", "/ojs/v1/signals", {"signal": "approve"}, 400, "invalid_request",
                   field="key")


# ---- events ----

def happened(flow, count, kinds="workflow.*"):
    """The events of the workflow, once there are so many: (type, data)."""
    def seen():
        events = SERVER.events(f"?types={kinds}&limit=1000")
        mine = [(one["type"], one["data"]) for one in events if one["subject"] == flow["id"]]
        return mine if len(mine) >= count else None
    found = until(seen)
    assert len(found) == count, found
    return found


@test
def a_workflow_s_steps_and_end_are_events():
    queue = queue_name()
    flow = submit({"type": "chain", "name": "n", "options": {"queue": queue, "retry":
                                                             {"max_attempts": 1}},
                   "steps": [job("a"), job("b"), job("c")]})
    first = complete(queue)
    fail(queue)
    found = happened(flow, 6)
    assert [kind for kind, _ in found] == [
        "workflow.created", "workflow.started", "workflow.step_completed", "workflow.step_failed",
        "workflow.step_failed", "workflow.failed"], found
    step = found[2][1]
    assert (step["step_id"], step["job_id"], step["state"]) == ("0", first["id"], "completed")
    assert (step["workflow_id"], step["workflow_type"], step["name"]) == (flow["id"], "chain", "n")
    assert (found[5][1]["total"], found[5][1]["completed"], found[5][1]["failed"]) == (3, 1, 1)


@test
def callbacks_are_events_when_they_are_released():
    queue = queue_name()
    flow = submit({"type": "batch", "jobs": [job("a", queue)],
                   "callbacks": {"on_success": job("z", queue)}})
    with SERVER.listen("/ojs/v1/events/stream?event_types=workflow.completed") as stream:
        complete(queue)
        complete(queue)
        while (event := stream.next())[2]["subject"] != flow["id"]:
            pass
        assert event[0] == "workflow.completed" and event[2]["completed"] == 1, event
    kinds = [kind for kind, _ in happened(flow, 6)]
    assert sorted(kinds[2:]) == ["workflow.callback_fired", "workflow.completed",
                                 "workflow.job_completed", "workflow.job_completed"], kinds


# ---- looking ----

@test
def workflows_are_listed_newest_first():
    with Shared() as server:
        made = [submit({"type": "group", "name": f"n{i % 2}", "jobs": [job()]}, server)
                for i in range(5)]
        ids = [flow["id"] for flow in reversed(made)]

        def listed(query=""):
            reply = server.get(FLOWS + query)
            return [flow["id"] for flow in reply["workflows"]], reply["pagination"]
        assert listed() == (ids, {"limit": 50, "has_more": False})
        assert "steps" not in server.get(FLOWS)["workflows"][0]
        found, page = listed("?limit=2")
        assert found == ids[:2] and page["has_more"] is True
        found, page = listed(f"?limit=2&cursor={page['next_cursor']}")
        assert found == ids[2:4], found
        assert listed(f"?limit=2&cursor={page['next_cursor']}") == \
            (ids[4:], {"limit": 2, "has_more": False})
        assert listed("?name=n1")[0] == [ids[1], ids[3]]
        assert listed("?state=completed")[0] == [] and listed("?state=running")[0] == ids
        for query, field in [("state=done", "state"), ("limit=0", "limit"), ("limit=201", "limit"),
                             ("cursor=x", "cursor")]:
            server.refused("GET", f"{FLOWS}?{query}", None, 400, "invalid_request", field=field)


@test
def unknown_workflows_are_not_found():
    for name in [NOBODY, "none", NOBODY.upper()]:
        SERVER.refused("GET", f"{FLOWS}/{name}", None, 404, "not_found",
                       resource_type="workflow", resource_id=name)


@test
def results_beyond_16_mib_are_left_out():
    queue, result = queue_name(), "x" * (1024 * 1024 - 2)
    flow = submit({"type": "group", "options": {"queue": queue}, "jobs": [job()] * 17})
    for one in SERVER.fetch(queue, count=17):
        assert "result" not in look(flow)["steps"][16]
        SERVER.ack(one["id"], result)
    shown = look(flow)
    assert shown["results_omitted_bytes"] == 17 * 1024 * 1024
    assert all("result" not in step for step in shown["steps"])
    assert shown["state"] == "completed"


# ---- refusing ----

@test
def wrong_workflows_are_refused_with_their_place_and_nothing_is_stored():
    with Shared() as server:
        steps, batch = [job()], {"on_success": job()}
        for flow, field in [
                ({}, "nodes"), ({"type": "chain"}, "steps"),
                ({"type": "chain", "steps": []}, "steps"), ({"type": "chain", "steps": 1}, "steps"),
                ({"type": "chain", "steps": [1]}, "steps[0]"),
                ({"type": "group", "jobs": []}, "jobs"), ({"type": "ring", "steps": steps}, "type"),
                ({"type": "batch", "jobs": steps}, "callbacks"),
                ({"type": "batch", "jobs": steps, "callbacks": {}}, "callbacks"),
                ({"type": "batch", "jobs": steps, "callbacks": {"on_end": job()}}, "callbacks"),
                ({"type": "batch", "jobs": [], "callbacks": batch}, "jobs"),
                ({"type": "chain", "steps": steps, "callbacks": batch}, "callbacks"),
                ({"type": "chain", "steps": [{"args": []}]}, "steps[0].type"),
                ({"type": "chain", "steps": [{"type": "a"}]}, "steps[0].args"),
                ({"type": "chain", "steps": steps + [job("A")]}, "steps[1].type"),
                ({"type": "chain", "steps": [job(queue="Q")]}, "steps[0].options.queue"),
                ({"type": "chain", "steps": steps, "options": {"queue": 1}},
                 "steps[0].options.queue"),
                ({"type": "chain", "steps": steps, "options": []}, "options"),
                ({"type": "chain", "steps": [job(depends_on=["0"])]}, "steps[0].depends_on"),
                ({"type": "batch", "jobs": steps, "callbacks": {"on_success": job("A")}},
                 "callbacks.on_success.type"),
                ({"type": "chain", "steps": steps, "name": 7}, "name"),
                ({"type": "chain", "steps": steps, "name": "n" * 129}, "name"),
                ({"type": "chain", "steps": steps, "meta": 1}, "meta"),
                ({"type": "chain", "steps": steps, "id": "wf_1"}, "id"),
                ({"steps": [job(id=7)]}, "steps[0].id"),
                ({"steps": [job(callback_type="on_fire", id="a")]}, "steps[0].callback_type"),
                ({"nodes": [{"name": "a"}], "steps": steps}, "nodes")]:
            reply = server.ask("POST", FLOWS, flow)
            assert reply.status in (400, 413), (flow, reply.body)
            assert reply.json["error"]["details"]["field"] == field, (flow, reply.body)
        for flow, field in [
                ({"steps": [job(id="a", depends_on=["b"])]}, "parent"),
                ({"steps": [job(id="a", depends_on=["a"])]}, "parent"),
                ({"steps": [job(id="a", depends_on=["b"]), job(id="b", depends_on=["a"])]},
                 "parent"),
                ({"steps": [job(id="a"), job(id="a")]}, "name")]:
            server.refused("POST", FLOWS, flow, 400, "invalid_workflow", field=field)
        retry = job(options={"retry": {"max_attempts": -1}})
        server.refused("POST", FLOWS, {"type": "chain", "steps": [retry]}, 422, "invalid_request",
                       field="steps[0].options.retry.max_attempts")
        server.refused("POST", FLOWS, b"{", 400, "invalid_payload")
        server.refused("POST", FLOWS, b"", 400, "invalid_payload")
        many = {"type": "group", "jobs": [{"type": "a", "args": []}] * 10001}
        server.refused("POST", FLOWS, many, 413, "envelope_too_large")
        assert server.get(FLOWS)["workflows"] == []
        assert server.get("/ojs/v1/jobs")["total"] == 0


@test
def what_the_library_refuses_is_told_by_its_path():
    queue, key = queue_name(), "k-" + queue_name()
    unique = {"unique": {"key": ["type", "queue"], "on_conflict": "reject"}}
    SERVER.submit("held", queue, options=unique)
    flow = {"type": "chain", "steps": [job("a", queue), job("held", queue, options=unique)]}
    error = SERVER.refused("POST", FLOWS, flow, 409, "duplicate")
    assert error["message"].startswith("steps[1]: "), error
    tags = {"type": "chain", "steps": [job("a", queue, options={"tags": ["t" * 300]})]}
    error = SERVER.refused("POST", FLOWS, tags, 400, "invalid_request")
    assert error["details"]["field"].startswith("steps[0].tags"), error
    assert [one["type"] for one in SERVER.fetch(queue, count=9)] == ["held"], key


@test
def an_id_may_be_chosen_once():
    mine = new_id()
    flow = {"id": mine, "type": "chain", "steps": [job(queue=queue_name())]}
    assert submit(flow)["id"] == mine
    SERVER.refused("POST", FLOWS, flow, 409, "duplicate")
    assert look({"id": mine})["steps_total"] == 1


@test
def ends_without_a_complaint():
    SERVER.ends_well()


if __name__ == "__main__":
    main()
