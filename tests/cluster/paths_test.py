#!/usr/bin/env python3
"""Faults between the nodes of a cluster: of the network, the server, the notices. Prints TAP.

Usage: paths_test.py PAWL MODULE_DIR SKEW [SCENARIO...]
"""
import contextlib
import signal
import sys
import time

sys.dont_write_bytecode = True
import fire
import kit
import server
import wires
from fire import (CALM_LEASE_S, KILLS, ROUNDS, Skip, hold_and, scenario, spread, still_runs,
                  taken_over)
from kit import LEASE_S, Books, uptime, until


# ---- the network ----


def cut_off(cluster, wire):
    """A node that nobody can reach loses its run, takes nothing, and comes back by itself."""
    far = cluster.node(url=cluster.url_by(wire.where()), prefix=wire.prefix)
    cluster.nodes(2)
    cluster.load()
    took, back = [], []
    for _ in range(ROUNDS):
        job_id, _, since = hold_and(cluster, [far], lambda _: wire.cut(), lambda _: wire.heal())
        took.append(taken_over(cluster, job_id, far, since))
        waits = cluster.submit("quick", "--queue", far.name)
        time.sleep(max(0, since + 4 * LEASE_S - uptime()))
        assert cluster.job(waits)["state"] == "available"
        # two more for a run that was begun in time, and whose command the machine let wait
        late = cluster.ledger.starts_on(far.name, since + 3 * LEASE_S, uptime())
        assert not late, f"began runs {late} that it had lost at {since}"
        healed = uptime()
        wire.heal()
        cluster.completed(waits)
        back.append(cluster.ledger.next_start(waits)[0] - healed)
        still_runs(cluster, job_id, far.name)
        # it had to give the run up, and has stopped the command
        cluster.let_go(job_id)
        cluster.completed(job_id)
        assert (job_id, 1) not in cluster.ledger.read().ends
    return [spread(took), "back at work: " + spread(back)]


@scenario()
def a_node_is_cut_off_in_silence(cluster, ground):
    if not ground.namespace:
        raise Skip(ground.why_no_namespace)
    return cut_off(cluster, ground.namespace)


@contextlib.contextmanager
def proxy_before(cluster, ground):
    proxy = wires.Proxy(cluster.place, ground.postgres.dir)
    try:
        yield proxy
        # A node that stops while it is cut off waits, to learn what became of its last commit.
        kit.settle(cluster)
    finally:
        proxy.close()


@scenario()
def a_node_is_cut_off_and_told(cluster, ground):
    with proxy_before(cluster, ground) as proxy:
        return cut_off(cluster, proxy)


@scenario(Books.nothing_was_charged)
def a_run_ends_while_its_node_is_cut_off(cluster, ground):
    """Its lease still holds when the node is back: what it did counts."""
    with proxy_before(cluster, ground) as proxy:
        far = cluster.node(url=cluster.url_by(proxy.where()), lease_s=CALM_LEASE_S)
        cluster.nodes(2, lease_s=CALM_LEASE_S)
        cluster.load()
        job_id, _ = cluster.hold(far)
        proxy.cut()
        cluster.let_go(job_id)
        until("its end", lambda: cluster.ledger.read().ends.get((job_id, 1)))
        healed = uptime()
        proxy.heal()
        job = cluster.completed(job_id)
        assert job["run"] == 1 and job["worker"] == far.name, job
        return [f"accepted {uptime() - healed:.2f} s after it was healed"]


# ---- the server ----


@scenario()
def the_server_is_restarted(cluster, ground):
    cluster.nodes(3)
    cluster.load()
    took = []
    for how, down_s in ((signal.SIGQUIT, 0), (signal.SIGINT, 0.3), (signal.SIGQUIT, 2 * LEASE_S)):
        cluster.progress(20)
        ground.postgres.stop(how)
        time.sleep(down_s)
        ground.postgres.start()
        up = uptime()
        cluster.progress(1)
        took.append(uptime() - up)
    return [spread(took)]


@scenario()
def connections_are_cut_at_random(cluster, _):
    """Also those that listen, so that notices are lost; and while a commit is under way."""
    cluster.nodes(3)
    cluster.load()
    cuts = 0
    for _ in range(KILLS):
        cuts += int(cluster.sql(
            "SELECT count(pg_terminate_backend(pid)) FROM (SELECT pid FROM pg_stat_activity "
            "WHERE datname = current_database() AND application_name = 'pawl' "
            "ORDER BY random() LIMIT 3) AS unlucky"))
        time.sleep(0.2 * cluster.random.random())
    since = uptime()
    cluster.progress(10)
    return [f"{cuts} connections cut; ten jobs done {uptime() - since:.2f} s after the last"]


# ---- notices ----


@scenario()
def no_notice_arrives(cluster, ground):
    if not server.Pooler.find():
        raise Skip("there is no PgBouncer here (on Debian: pgbouncer)")
    pooler = server.Pooler(ground.postgres)
    try:
        url = cluster.url_by(pooler.where)
        cluster.nodes(3, url=url)
        cluster.load(url=url)
        cluster.progress(50)
        for submitter in cluster.submitters:
            submitter.stopping = True
        until("idleness", lambda: cluster.backlog() == 0)
        since = uptime()
        job_id = cluster.submit("quick")
        cluster.completed(job_id)
        took = cluster.ledger.next_start(job_id)[0] - since
        kit.settle(cluster)
        return [f"an idle cluster took a job up after {took:.2f} s"]
    finally:
        pooler.close()


sys.exit(fire.main())
