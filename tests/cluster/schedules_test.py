#!/usr/bin/env python3
"""Recurring jobs of a cluster whose nodes are killed: every instant makes one job. Prints TAP.

Usage: schedules_test.py PAWL MODULE_DIR SKEW [SCENARIO...]
"""
import collections
import datetime
import json
import sys
import time

sys.dont_write_bytecode = True
import fire
from fire import KILLS, scenario
from kit import until

EACH_SECOND = 4  # schedules
STEP_MS = {"* * * * * *": 1000, "*/2 * * * * *": 2000, "@every 3s": 3000}


def milliseconds(text):
    return round(datetime.datetime.fromisoformat(text.replace("Z", "+00:00")).timestamp() * 1000)


def add(cluster, name, expression):
    cluster.pawl("cron", "add", name, expression, "quick", "--overlap", "allow", "--misfire",
                 "catch_up", "--catch-up", "1000", "--max-attempts", "100")


def schedule(cluster, name):
    return json.loads(cluster.pawl("cron", "show", name, "--json"))


def instants(cluster):
    """Those of the jobs of each schedule, sorted."""
    found = collections.defaultdict(list)
    rows = cluster.sql("SELECT meta FROM pawl_job WHERE meta IS NOT NULL "
                       "UNION ALL "
                       "SELECT meta FROM pawl_archive "
                       "WHERE meta IS NOT NULL")
    for row in rows.splitlines():
        meta = json.loads(row)
        if "cron_name" in meta:
            found[meta["cron_name"]].append(milliseconds(meta["cron_triggered_at"]))
    return {name: sorted(times) for name, times in found.items()}


def check(cluster, name, expression, times):
    """Between the first and the last instant none is missing and none is there twice, and the
    schedule counted as many."""
    step = STEP_MS[expression]
    assert times, f"{name} made no jobs"
    wanted = list(range(times[0], times[-1] + 1, step))
    assert times == wanted, (name, sorted(set(wanted) ^ set(times)),
                             [time for time, n in collections.Counter(times).items() if n > 1])
    shown = schedule(cluster, name)
    assert (shown["runs"], shown["skips"]) == (len(times), 0), shown
    assert times[0] - milliseconds(shown["created_at"]) <= step, (times[0], shown)


@scenario()
def every_instant_is_fired_once_while_nodes_are_killed(cluster, _):
    nodes = cluster.nodes(3)
    wanted = {f"each-{i}": "* * * * * *" for i in range(EACH_SECOND)}
    wanted.update({"even": "*/2 * * * * *", "third": "@every 3s"})
    for name, expression in wanted.items():
        add(cluster, name, expression)
    for _ in range(KILLS):
        time.sleep(cluster.random.choice([0.1, 0.5, 1.5]) * cluster.random.random())
        node = cluster.random.choice(nodes)
        node.kill()
        nodes[nodes.index(node)] = cluster.begin_node()
    began = time.monotonic()
    for node in nodes:  # for a while there is none at all
        node.kill()
    time.sleep(3)
    cluster.nodes(3)
    passed = time.time() * 1000
    until("the instants that passed", lambda: all(
        milliseconds(schedule(cluster, name)["next_at"]) > passed for name in wanted))
    for name in wanted:
        cluster.pawl("cron", "pause", name)
    found = instants(cluster)
    for name, expression in wanted.items():
        check(cluster, name, expression, found[name])
    return [f"{KILLS} kills, {sum(map(len, found.values()))} instants, each fired once; "
            f"{time.monotonic() - began:.1f} s without nodes and after"]


@scenario()
def a_schedule_s_overlap_policy_holds_for_the_cluster(cluster, _):
    cluster.nodes(3)
    cluster.pawl("cron", "add", "held", "* * * * * *", "held", "--max-attempts", "100")
    job = until("the first job", lambda: schedule(cluster, "held").get("last_job"))
    cluster.extra.append(job)
    until("skips", lambda: schedule(cluster, "held")["skips"] >= 3)
    shown = schedule(cluster, "held")
    assert (shown["runs"], shown["last_job"]) == (1, job), shown
    cluster.pawl("cron", "remove", "held")
    cluster.let_go(job)
    cluster.completed(job)
    return []


sys.exit(fire.main())
