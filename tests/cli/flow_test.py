"""pawl flow: what is submitted, what is drawn while it runs, and what is refused."""
import json
import re
import subprocess
import xml.etree.ElementTree

from kit import DEADLINE_S, equal, has, test

MISSING = "01890000-0000-7000-8000-00000000dead"
DIAMOND = {"name": "nightly", "meta": {"team": "a"}, "nodes": [
    {"name": "extract", "type": "etl.extract", "queue": "a", "args": ["orders"]},
    {"name": "left", "type": "etl.load", "queue": "b", "after": "extract"},
    {"name": "right", "type": "etl.load", "queue": "c", "after": ["extract"]},
    {"name": "alarm", "type": "mail.send", "after": [{"parent": "right", "on": "failure"}],
     "on_parent_failure": "skip"},
    {"name": "report", "type": "mail.send", "queue": "d", "after": ["left", "right"]}]}


def submitted(box, flow, *args):
    done = box.ok("flow", "submit", "-", *args, stdin=json.dumps(flow))
    return done.out.strip()


def states(box, flow_id):
    nodes = box.ok("flow", "show", flow_id, "--json").json["nodes"]
    return {node["name"]: node["state"] for node in nodes}


def picture(box, flow_id):
    """The lines below the facts, without what depends on the time."""
    lines = box.ok("flow", "show", flow_id).out.split("\n\n")[1].splitlines()
    return [re.sub(r" {2,}", "  ", re.sub(r"(ended|since) (now|\d+s ago)", r"\1", line)).rstrip()
            for line in lines]


@test
def a_flow_is_submitted_from_a_file_and_drawn_as_it_runs(box):
    path = box.file("nightly.json", json.dumps(DIAMOND))
    done = box.ok("flow", "submit", path)
    flow_id = done.out.strip()
    equal(done.err, '"nightly" of 5 nodes is submitted\n')
    equal(picture(box, flow_id),
          ["NODE  TYPE  STATE  WHEN  NOTE",
           "○ extract  etl.extract  available",
           "├─· left  etl.load  pending",
           "╰─┼─· right  etl.load  pending",
           "  ├─┤",
           "  │ ╰─· alarm  mail.send  pending  on failure",
           "  · report  mail.send  pending  waits for 2 more"])
    box.work("claim:a", 'complete:{"rows":3}')
    equal(states(box, flow_id), {"extract": "completed", "left": "available", "right": "available",
                                 "alarm": "pending", "report": "pending"})
    box.work("claim:b", "complete:1", "claim:c", "complete:2", "claim:d", "complete:3")
    equal(states(box, flow_id)["alarm"], "skipped")
    shown = box.ok("flow", "show", flow_id).out
    has(shown, "  state         completed\n")
    has(shown, "  jobs          4 of 5 completed, 1 skipped (100 % ended)\n")


@test
def commands_get_what_their_parents_left(box):
    flow = {"nodes": [
        {"name": "a", "type": "count"}, {"name": "b", "type": "bad", "retry": {"attempts_max": 1}},
        {"name": "sum", "type": "sum", "after": ["a", "b"], "on_parent_failure": "run"}]}
    flow_id = submitted(box, flow)
    box.run("work", "--once", "--exec", "count=echo '{\"n\": 3}'; echo ${PAWL_INPUTS-none} >&2",
            "--exec", "bad=exit 1", "--exec", "sum=cat; echo \"$PAWL_INPUTS\" >&2")
    nodes = {node["name"]: node for node in
             box.ok("flow", "show", flow_id, "--json").json["nodes"]}
    story = box.job(nodes["sum"]["id"])
    wanted = [
        {"name": "a", "id": nodes["a"]["id"], "state": "completed", "result": {"n": 3}},
        {"name": "b", "id": nodes["b"]["id"], "state": "discarded",
         "reason": nodes["b"]["reason"], "result": None}]
    equal(story["result"]["inputs"], wanted)
    equal(json.loads(story["log"][0]["text"]), wanted)
    first = box.job(nodes["a"]["id"])
    equal((first["result"], first["log"][0]["text"]), ({"n": 3}, "none"))


@test
def too_long_results_of_parents_are_left_out(box):
    flow = {"nodes": [{"name": name, "type": "long"} for name in "ab"] +
            [{"name": "c", "type": "end", "after": ["a", "b"]}]}
    flow_id = submitted(box, flow)
    box.run("work", "--once", "--exec", "long=head -c 600000 /dev/zero | tr '\\0' x",
            "--exec", "end=cat")
    node = box.ok("flow", "show", flow_id, "--json").json["nodes"][2]
    got = box.job(node["id"])["result"]
    equal((got["inputs_omitted_bytes"], [parent["result"] for parent in got["inputs"]]),
          (1200004, [None, None]))


@test
def a_flow_is_one_object_for_programs(box):
    answer = box.ok("flow", "submit", "-", "--json", stdin=json.dumps(DIAMOND)).json
    equal((answer["name"], answer["nodes"]), ("nightly", 5))
    shown = box.ok("flow", "show", answer["id"], "--json").json
    equal((shown["id"], shown["state"], shown["percent"], shown["jobs"]["total"], shown["meta"]),
          (answer["id"], "running", 0, 5, {"team": "a"}))
    equal([node["name"] for node in shown["nodes"]],
          ["extract", "left", "right", "alarm", "report"])
    equal(len(shown["edges"]), 5)
    equal({edge["on"] for edge in shown["edges"]}, {"success", "failure"})
    node = shown["nodes"][0]
    equal(box.job(node["id"])["args"], ["orders"])


@test
def layouts_of_the_open_job_spec_are_flows(box):
    chain = {"type": "chain", "options": {"queue": "q"}, "steps": [{"type": "a"}, {"type": "b"}]}
    flow_id = submitted(box, chain)
    shown = box.ok("flow", "show", flow_id, "--json").json
    equal((shown["layout"], [node["queue"] for node in shown["nodes"]]), ("chain", ["q", "q"]))
    box.work("claim:q", "complete:1", "claim:q", "complete:2")
    equal(box.ok("flow", "show", flow_id, "--json").json["state"], "completed")
    batch = {"type": "batch", "jobs": [{"type": "a", "queue": "x"}, {"type": "a", "queue": "y"}],
             "callbacks": {"on_complete": {"type": "done"}, "on_failure": {"type": "sorry"}}}
    flow_id = submitted(box, batch)
    box.work("claim:x", "complete:1", "claim:y", "end:no:never")
    equal(states(box, flow_id),
          {"jobs": "discarded", "0": "completed", "1": "discarded", "on_complete": "available",
           "on_failure": "available"})


@test
def lines_without_utf8_are_plain(box):
    flow_id = submitted(box, {"type": "chain", "steps": [{"type": "a"}, {"type": "b"}]})
    shown = box.ok("flow", "show", flow_id, env={"LC_ALL": "C"}).out
    assert shown.isascii(), shown
    has(shown, "\no 0 ")


@test
def pictures_are_svg_without_scripts(box):
    flow_id = submitted(box, DIAMOND)
    box.ok("flow", "show", flow_id, "--svg", "nightly.svg")
    with open(box.file("nightly.svg"), encoding="utf-8") as file:
        text = file.read()
    equal(box.ok("flow", "show", flow_id, "--svg", "-").out, text)
    root = xml.etree.ElementTree.fromstring(text)
    names = [node.text for node in root.iter("{http://www.w3.org/2000/svg}text")]
    for name in ("nightly", "extract", "left", "right", "alarm", "report", "on failure"):
        assert name in names, names
    assert "script" not in text, text
    has(box.fails(1, "flow", "show", flow_id, "--svg", "no/such/dir.svg").err,
        'could not write "no/such/dir.svg"')


@test
def many_alike_nodes_are_a_few_lines(box):
    jobs = [{"type": "page.scan"} for _ in range(500)]
    flow_id = submitted(box, {"type": "group", "jobs": jobs})
    shown = picture(box, flow_id)
    equal(len(shown), 7)
    equal(shown[-1], "… 495 more  495 available")


@test
def flows_are_listed_and_filtered(box):
    first = submitted(box, DIAMOND)
    other = {"name": "other", "type": "group", "jobs": [{"type": "a", "queue": "x"}]}
    second = submitted(box, other)
    box.work("claim:x", "complete:1")
    listed = box.ok("flow", "list", "--json").json
    equal([flow["id"] for flow in listed], [second, first])
    equal([flow["id"] for flow in box.ok("flow", "--name", "nightly", "--json").json], [first])
    equal([flow["id"] for flow in box.ok("flow", "list", "--state", "completed", "--json").json],
          [second])
    equal(len(box.ok("flow", "list", "--limit", "1", "--json").json), 1)
    has(box.ok("flow", "list").out, "nightly")
    has(box.fails(2, "flow", "list", "--state", "done").err,
        "running, completed, failed or cancelled")


@test
def a_store_without_flows_says_so(box):
    box.submit("t")
    done = box.ok("flow", "list")
    equal((done.out, done.err), ("", "no flows\n"))


@test
def ids_of_flows_may_be_cut(box):
    flow_id = submitted(box, DIAMOND)
    has(box.ok("flow", "show", flow_id[:13]).out, f"Flow {flow_id}\n")
    has(box.fails(2, "flow", "show", "nightly").err, '"nightly" is not a flow\'s id')
    has(box.fails(1, "flow", "show", "ffffffff").err, "there is no flow whose id begins with")
    has(box.fails(1, "flow", "show", MISSING).err, MISSING)
    done = box.run("flow", "show", MISSING, flow_id)
    equal(done.code, 1)
    has(done.out, f"Flow {flow_id}\n")  # the other one is shown


@test
def waiting_for_a_flow_ends_with_it(box):
    flow_id = submitted(box, {"type": "chain", "steps": [{"type": "a", "queue": "x"},
                                                         {"type": "b", "queue": "x"}]})
    process = box.start("flow", "wait", flow_id, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    box.work("claim:x", "complete:1")
    equal(process.poll(), None)
    box.work("claim:x", "complete:2")
    out, err = process.communicate(timeout=DEADLINE_S)
    equal((process.returncode, out, err), (0, f"{flow_id} completed: 2 of 2 jobs completed\n", ""))


@test
def waiting_for_a_flow_says_how_it_ended(box):
    chain = {"type": "chain", "steps": [{"type": "a", "queue": "x"}, {"type": "b"}]}
    failed = submitted(box, chain)
    done = box.run("flow", "wait", failed, "--timeout", "0s")
    equal((done.code, done.out, done.err),
          (124, "", "pawl: 1 of 1 flows had not ended in time\n"))
    box.work("claim:x", "end:no:never")
    equal(states(box, failed), {"0": "discarded", "1": "cancelled"})
    done = box.run("flow", "wait", failed)
    equal((done.code, done.out), (1, f"{failed} failed: 0 of 2 jobs completed, 1 failed\n"))
    equal(box.run("flow", "wait", failed, "--json").json["state"], "failed")
    equal(box.run("flow", "wait", MISSING).code, 1)


@test
def a_flow_is_cancelled_and_resumed_and_its_failures_retried(box):
    nodes = [{"name": "a", "type": "t", "queue": "a"},
             {"name": "b", "type": "t", "queue": "b", "after": "a"},
             {"name": "c", "type": "t", "queue": "c", "after": "b"}]
    flow_id = submitted(box, {"nodes": nodes})
    equal(box.ok("flow", "cancel", flow_id[:8], "--reason", "wrong day").out,
          f"flow {flow_id} is cancelled\n")
    equal(set(states(box, flow_id).values()), {"cancelled"})
    shown = box.ok("flow", "show", flow_id, "--json").json
    equal((shown["state"], shown["reason"]), ("cancelled", "wrong day"))
    has(box.fails(1, "flow", "cancel", flow_id).err, "was cancelled before")
    has(box.fails(1, "flow", "retry", flow_id).err, "was cancelled: resume it")
    equal(box.ok("flow", "resume", flow_id).out, f"flow {flow_id} is resumed\n")
    equal(states(box, flow_id), {"a": "available", "b": "pending", "c": "pending"})
    equal(box.ok("flow", "pause", flow_id).out, f"flow {flow_id} is paused\n")
    equal(set(states(box, flow_id).values()), {"paused"})
    has(box.ok("flow", "show", flow_id).out, "running, paused")
    equal(box.ok("flow", "resume", flow_id, "--json").json,
          {"id": flow_id, "done": "resumed"})
    box.work("claim:a", "complete:1", "claim:b", "end:no:never")
    equal(states(box, flow_id), {"a": "completed", "b": "discarded", "c": "cancelled"})
    equal(box.ok("flow", "retry", flow_id).out, f"flow {flow_id}: 1 node begins anew\n")
    equal(states(box, flow_id), {"a": "completed", "b": "available", "c": "pending"})
    equal(box.ok("flow", "retry", flow_id).out, f"flow {flow_id}: no node has failed\n")
    has(box.fails(1, "flow", "retry", flow_id, "a").err, 'node "a" has not failed')
    box.work("claim:b", "complete:1")
    equal(box.ok("flow", "retry", flow_id, "a", "--all-below").out,
          f"flow {flow_id}: 1 node begins anew\n")
    equal(box.ok("flow", "cancel", flow_id, "c").out, f"flow {flow_id}: c is cancelled\n")
    equal(states(box, flow_id), {"a": "available", "b": "pending", "c": "cancelled"})
    has(box.fails(1, "flow", "cancel", flow_id, "x").err, 'the flow has no node "x"')


@test
def a_wrong_flow_is_refused_with_its_place_and_nothing_is_stored(box):
    def refused(flow):
        text = flow if isinstance(flow, str) else json.dumps(flow)
        return box.fails(2, "flow", "submit", "-", stdin=text).err
    has(refused("{"), "-: not valid JSON")
    has(refused({"nodes": []}), '"nodes" must not be empty')
    has(refused({"nodes": [{"name": "a", "type": "t", "quque": "q"}]}),
        'nodes[0]: "quque" is not a known member; did you mean "queue"?')
    has(refused({"nodes": [{"name": "a", "type": "t", "after": [{"parent": "b", "on": "x"}]}]}),
        '"nodes[0].after[0].on" must be success, failure or always, not "x"')
    has(refused({"type": "circle", "steps": [{"type": "a"}]}),
        '"type" must be chain, group, batch or dag')
    has(box.fails(2, "flow", "submit", "missing.json").err, 'cannot read "missing.json"')
    box.has_no_store()


@test
def a_graph_that_is_none_is_refused(box):
    def refused(nodes):
        return box.fails(2, "flow", "submit", "-", stdin=json.dumps({"nodes": nodes})).err
    has(refused([{"name": "a", "type": "t", "after": "a"}]), '"a"')
    has(refused([{"name": "a", "type": "t", "after": "b"}]), '"b"')
    has(refused([{"name": "a", "type": "t"}, {"name": "a", "type": "t"}]), '"a"')
    has(refused([{"name": "a", "type": "t", "after": "b"},
                 {"name": "b", "type": "t", "after": "a"}]), "cycle")
    equal(box.ok("flow", "list", "--json").json, [])
