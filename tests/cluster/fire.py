"""What the scenarios share: the server, a network that can be cut, TAP.

Each scenario has a database of its own, and its books must agree. PAWL_TEST_SCALE is the percentage
of rounds, PAWL_TEST_SEED repeats the choices of a run (not its timing). When something is wrong the
directory with ledger and logs is kept and named.
"""
import os
import random
import shutil
import sys
import tempfile
import time
import traceback

sys.path.insert(1, os.path.join(os.path.dirname(os.path.dirname(os.path.abspath(__file__))),
                                "postgres"))
import kit
import server
import wires
from kit import Books, uptime, until

PAWL, MODULE_DIR, SKEW = map(os.path.abspath, sys.argv[1:4])
SCALE = int(os.environ.get("PAWL_TEST_SCALE") or 100)
SEED = int(os.environ.get("PAWL_TEST_SEED") or random.SystemRandom().randrange(1 << 32))
KILLS = max(5, 30 * SCALE // 100)
ROUNDS = max(1, 2 * SCALE // 100)  # of what takes longer than a lease
CALM_LEASE_S = 30  # where nothing must lapse, however busy the machine is

SCENARIOS = []


class Skip(Exception):
    """A scenario that cannot be made here; the reason is its text."""


def scenario(*checks):
    """Marks one: it is called with a cluster and the ground, returns comments, and leaves nodes
    that finish what is left. `checks` are made of its books besides those that always are."""
    def mark(function):
        SCENARIOS.append((function, checks))
        return function
    return mark


def spread(times):
    """In words."""
    times = sorted(times)
    if not times:
        return "no recovery"
    return (f"{len(times)} recoveries, {times[len(times) // 2]:.2f} s in the middle, "
            f"{times[-1]:.2f} s at most")


def taken_over(cluster, job_id, node, since):
    """How long it took from then until another node began the job that was taken from this one."""
    when, _, name = until("another to take over", lambda: cluster.ledger.next_start(job_id, 1))
    assert name != node.name, name
    return when - since


def still_runs(cluster, job_id, owner):
    """What its first owner says now, too late, changes nothing."""
    job = cluster.job(job_id)
    assert job["state"] != "completed", job
    first = job["failures"][0]
    assert first["run"] == 1 and first["lapsed"] and first["worker"] == owner, job


def hold_and(cluster, nodes, strike, undo):
    """(job, node, when): a first run that still is its node's when that is struck."""
    while True:
        job_id, node = cluster.hold(*nodes)
        since = uptime()
        strike(node)
        job = cluster.job(job_id)
        if job["state"] == "active" and job["run"] == 1:
            return job_id, node, since
        undo(node)  # the machine was so busy that the lease had lapsed already
        cluster.let_go(job_id)


def is_back(cluster, node):
    """It takes what only it can take."""
    cluster.completed(cluster.submit("quick", "--queue", node.name))


# ---- one after the other ----


class Ground:
    """What the scenarios share: the server, and a network that can be cut."""

    def __init__(self):
        self.dir = tempfile.mkdtemp(prefix="pawl-fire-")
        self.namespace, self.why_no_namespace = None, None
        config = "max_connections = 200\n"
        try:
            self.namespace = wires.Namespace()
            config += self.network_config()
        except OSError as error:
            self.why_no_namespace = str(error)
        try:
            self.postgres = server.Server(config)
        except BaseException:
            if self.namespace:
                self.namespace.close()
            shutil.rmtree(self.dir)
            raise

    def network_config(self):
        path = os.path.join(self.dir, "hba.conf")
        os.chmod(self.dir, 0o755)
        with open(path, "w", encoding="ascii") as file:
            file.write(f"local all all trust\nhost all all {self.namespace.there}/32 trust\n")
        return f"listen_addresses = '{self.namespace.here}'\nhba_file = '{path}'\n"

    def close(self):
        self.postgres.close()
        if self.namespace:
            self.namespace.close()
        shutil.rmtree(self.dir)


def run(ground, number, function, checks):
    """(complaints, comments, reason to skip)"""
    with kit.Cluster(PAWL, MODULE_DIR, ground.postgres, f"scenario_{number}", SEED) as cluster:
        try:
            comments = function(cluster, ground)
            complaints = kit.settle(cluster)
            books = Books(cluster)
            complaints += kit.audit(books, *checks)
            comments.append(f"{len(books.jobs)} jobs, {sum(books.lapses.values())} lapses, "
                            f"{sum(s.refused for s in cluster.submitters)} submissions refused")
        except Skip as reason:
            return [], [], str(reason)
        except Exception:  # pylint: disable=broad-except
            complaints, comments = traceback.format_exc().splitlines(), []
            complaints += cluster.troubles
        if complaints:
            print(f"# kept for a look: {cluster.keep()}")
        return complaints, comments, None


def main():
    """Runs all scenarios, or those that are named; the exit code."""
    if not server.find_binaries():
        print("1..0 # SKIP there is no PostgreSQL server here (on Debian: postgresql)")
        return 0
    chosen = [(function, checks) for function, checks in SCENARIOS
              if function.__name__ in (sys.argv[4:] or [function.__name__])]
    print(f"1..{len(chosen)}\n# seed {SEED}, scale {SCALE}", flush=True)
    ground = Ground()
    failed = 0
    try:
        for number, (function, checks) in enumerate(chosen, 1):
            began = time.monotonic()
            complaints, comments, skipped = run(ground, number, function, checks)
            failed += bool(complaints)
            print(f"{'not ' if complaints else ''}ok {number} - {function.__name__}"
                  f"{f' # SKIP {skipped}' if skipped else ''}")
            for line in complaints[:100] + comments:
                print("# " + line)
            print(f"# {time.monotonic() - began:.1f} s", flush=True)
    finally:
        ground.close()
    return 1 if failed else 0

