#!/usr/bin/env python3
"""Faults of the nodes of a cluster: they are killed, suspended, slow, replaced, or have wrong
clocks. Prints TAP.

Usage: nodes_test.py PAWL MODULE_DIR SKEW [SCENARIO...]
"""
import datetime
import http.client
import sys
import time

sys.dont_write_bytecode = True
import fire
import kit
from fire import (CALM_LEASE_S, KILLS, ROUNDS, hold_and, is_back, scenario, spread, still_runs,
                  taken_over)
from kit import LEASE_S, Books, uptime, until

SKEW_S = 300  # far longer than the test waits for anything


@scenario()
def nodes_are_killed_at_random(cluster, _):
    nodes = cluster.nodes(3)
    cluster.load()
    cut = []  # (run, when)
    for number in range(KILLS):
        time.sleep(cluster.random.choice([0.1, 0.4, 1.0]) * cluster.random.random())
        if number == 0 or cluster.random.random() < 0.7:  # so that there is something to recover
            until("a run", lambda: any(cluster.ledger.open_runs(node.name) for node in nodes))
        busy = [node for node in nodes if cluster.ledger.open_runs(node.name)]
        node = cluster.random.choice(busy or nodes)
        node.kill()
        cut += [(run, uptime()) for run in cluster.ledger.open_runs(node.name)]
        nodes[nodes.index(node)] = cluster.begin_node()
    cluster.progress(10)
    again = [(cluster.ledger.next_start(*run), when) for run, when in cut]
    return [f"{KILLS} kills; " + spread(start[0] - when for start, when in again if start)]


@scenario()
def a_node_is_suspended_past_its_lease(cluster, _):
    nodes = cluster.nodes(3)
    cluster.load()
    took = []
    for _ in range(ROUNDS):
        job_id, node, since = hold_and(cluster, nodes, kit.Node.pause, kit.Node.wake)
        took.append(taken_over(cluster, job_id, node, since))
        cluster.let_go(job_id, 1)  # its command ends well, and tells a node that does not listen
        until("the first run's end", lambda: cluster.ledger.read().ends.get((job_id, 1)))
        node.wake()
        is_back(cluster, node)
        still_runs(cluster, job_id, node.name)
        cluster.let_go(job_id)
        cluster.completed(job_id)
    return [spread(took)]


@scenario()
def a_late_acknowledgement_is_refused(cluster, _):
    """A worker in another language falls silent, and speaks up while its job runs elsewhere."""
    servers = [cluster.serve(), cluster.serve()]
    job_id = cluster.submit("held", "--queue", "both")
    status, body = servers[0].ask("POST", "/ojs/v1/workers/fetch", {
        "queues": ["both"], "worker_id": "w1", "visibility_timeout_ms": LEASE_S * 1000})
    assert status == 200 and [job["id"] for job in body["jobs"]] == [job_id], body
    since = uptime()
    node = cluster.node(name="both")
    cluster.load()
    when, _, _ = until("a node to take over", lambda: cluster.ledger.next_start(job_id, 1))
    for one in servers:
        for path in ("ack", "nack"):
            status, body = one.ask("POST", "/ojs/v1/workers/" + path, {
                "job_id": job_id, "worker_id": "w1", "result": "late", "error": {
                    "code": "handler_error", "message": "late", "type": "Late"}})
            assert status in (404, 409), (status, body)
    assert cluster.job(job_id)["state"] != "completed"
    cluster.let_go(job_id)
    assert cluster.completed(job_id)["worker"] == node.name
    return [spread([when - since])]


# ---- clocks ----


def clock_error_s(node):
    """By how much its clock is off, as its log shows."""
    said_at = datetime.datetime.fromisoformat(node.logged()[0]["time"].replace("Z", "+00:00"))
    return (said_at - datetime.datetime.now(datetime.timezone.utc)).total_seconds()


@scenario()
def clocks_are_minutes_off(cluster, _):
    ahead, behind = ({"LD_PRELOAD": fire.SKEW, "SKEW_S": str(s)} for s in (SKEW_S, -SKEW_S))
    fast = cluster.node(env=ahead)
    slow = cluster.node(env=behind, lease_s=CALM_LEASE_S)
    cluster.node()
    assert clock_error_s(fast) > SKEW_S / 2 and clock_error_s(slow) < -SKEW_S / 2
    cluster.load(env=[ahead, behind])
    took = []
    for env in (ahead, behind, None):
        since = uptime()
        job_id = cluster.submit("quick", "--delay", "1s", env=env)
        cluster.completed(job_id)
        took.append(cluster.ledger.next_start(job_id)[0] - since)
    assert min(took) >= 1 - kit.TICK_S, took
    # its leases end when they should: others do not wait until its clock says so
    job_id, _, since = hold_and(cluster, [fast], kit.Node.pause, kit.Node.wake)
    recovered = taken_over(cluster, job_id, fast, since)
    fast.kill()
    # and so does its name: who comes next has a better clock, which is behind its own
    again = cluster.node(name=fast.name)
    now_ms = cluster.sql("SELECT (extract(epoch FROM clock_timestamp()) * 1000)::bigint")
    until("its heartbeat", lambda: cluster.sql(
        f"SELECT 1 FROM pawl_node WHERE name = '{again.name}' AND heartbeat_at_ms > {now_ms}"))
    is_back(cluster, again)
    lapsed = cluster.sql(f"SELECT count(*) FROM pawl_failure WHERE lapsed AND worker = "
                         f"'{slow.name}'")
    assert lapsed == "0", f"{lapsed} runs were taken from the node whose clock is behind"
    return [f"jobs due in 1 s began after {', '.join(f'{s:.2f}' for s in took)} s",
            spread([recovered])]


# ---- coming and going ----


def stop_server(cluster, one):
    """It says that it is not ready before it is gone, and never again that it is."""
    assert one.ask("GET", "/readyz")[0] == 200
    one.terminate()
    until("it to be not ready", lambda: one.ask("GET", "/readyz")[0] == 503)
    one.terminate()  # does not wait until all have looked elsewhere
    while one.process.poll() is None:
        try:
            assert one.ask("GET", "/readyz")[0] == 503
        except (OSError, http.client.HTTPException):
            pass
        time.sleep(0.01)
    cluster.stop(one)


@scenario(Books.nothing_was_charged)
def nodes_and_servers_are_replaced_one_by_one(cluster, _):
    calm = {"lease_s": CALM_LEASE_S}
    nodes = cluster.nodes(3, **calm)
    servers = [cluster.serve(unready="1h"), cluster.serve(unready="1h")]
    cluster.load()
    cluster.load_by(servers)
    for number in range(3):
        cluster.progress(10)
        old, nodes[number] = nodes[number], cluster.node(**calm)
        cluster.stop(old)
    for number in range(2):
        old, servers[number] = servers[number], cluster.serve()
        stop_server(cluster, old)
    more = cluster.nodes(2, **calm)  # up by two
    for node in more:
        is_back(cluster, node)
    for node in nodes[:2]:  # down by two
        cluster.stop(node)
    cluster.progress(10)
    free = cluster.sql("SELECT coalesce(sum(free_runs), 0) FROM pawl_job WHERE state > 6")
    return [f"{free} runs given back, free of charge"]


sys.exit(fire.main())
