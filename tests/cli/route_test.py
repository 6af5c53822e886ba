"""pawl route, assign, unroute, complete and fail: leases in two steps, for workers that are
scripts."""
import json

from kit import equal, has, test

MISSING = "01890000-0000-7000-8000-00000000dead"


def submitted(box, *args):
    return box.ok("submit", *(args or ["page.ocr", "[7]"])).out.strip()


def routed(box, *args):
    return box.ok("route", "--worker", "gpu-1", "--json", *args).json


@test
def a_routed_job_is_assigned_and_completed(box):
    job = submitted(box)
    one = routed(box, "--for", "1h")
    equal([(r["id"], r["type"], r["queue"], r["args"], r["worker"]) for r in one],
          [(job, "page.ocr", "default", [7], "gpu-1")])
    token = str(one[0]["token"])
    equal(box.ok("list", "--json").json[0]["state"], "pending")
    box.fails(1, "assign", job, token, "--worker", "gpu-2")
    run = box.ok("assign", job, token, "--worker", "gpu-1").out.strip()
    equal(run, "1")
    box.fails(1, "assign", job, token, "--worker", "gpu-1")
    box.fails(1, "complete", job, "2")
    equal(box.ok("complete", job, run, '{"pages": 3}').out, f"{job} completed\n")
    shown = box.ok("show", job, "--json").json
    equal((shown["state"], shown["result"]), ("completed", {"pages": 3}))
    box.fails(1, "complete", job, run)


@test
def a_job_that_is_given_back_is_free_for_others(box):
    job = submitted(box)
    first = routed(box, "--for", "1h")[0]
    equal(routed(box), [])
    equal(box.ok("unroute", job, str(first["token"]), "--worker", "gpu-1").out,
          f"{job} given back\n")
    second = box.ok("route", "--worker", "gpu-2", "--for", "1h")
    has(second.out, "TOKEN")
    has(second.out, "page.ocr")
    box.fails(1, "unroute", job, str(first["token"]), "--worker", "gpu-1")
    equal(box.ok("show", job, "--json").json["attempt"], 0)


@test
def a_router_may_reserve_under_its_own_name(box):
    job = submitted(box)
    token = box.ok("route", "--worker", "router", "--for", "1h", "--json").json[0]["token"]
    started = box.ok("assign", job, token, "--worker", "router", "--to", "gpu-7", "--json").json
    equal(started["worker"], "gpu-7")
    equal(box.ok("show", job, "--json").json["worker"], "gpu-7")


@test
def a_failed_run_is_retried_as_its_policy_says(box):
    job = submitted(box, "a.b", "--max-attempts", "3")
    token = str(routed(box, "--for", "1h")[0]["token"])
    started = box.ok("assign", job, token, "--worker", "gpu-1", "--json").json
    equal((started["run"], started["args"], started["worker"]), (1, [], "gpu-1"))
    box.ok("fail", job, "1", "no such page", "--error-type", "PageMissing", "--retry-after", "1h")
    shown = box.ok("show", job, "--json").json
    equal(shown["state"], "retryable")
    failure = shown["failures"][0]
    equal((failure["type"], failure["message"]), ("PageMissing", "no such page"))
    box.ok("promote", job)
    token = str(routed(box, "--for", "1h")[0]["token"])
    run = box.ok("assign", job, token, "--worker", "gpu-1").out.strip()
    equal(run, "2")
    box.ok("fail", job, run, "no", "--for-good", "-q")
    equal(box.ok("show", job, "--json").json["state"], "discarded")


@test
def routes_take_from_queues_and_types_that_are_named(box):
    submitted(box, "a", "--queue", "low")
    high = submitted(box, "a", "--queue", "high")
    submitted(box, "b", "--queue", "high")
    equal([r["id"] for r in routed(box, "--queue", "high", "--queue", "low", "--type", "a",
                                   "--for", "1h")], [high])
    equal(len(routed(box, "--queue", "high", "--queue", "low", "--limit", "9")), 2)
    equal(box.ok("route", "--worker", "w").err, "no jobs\n")


@test
def routes_that_make_no_sense_are_refused(box):
    job = submitted(box)
    for args in [("route",), ("assign", job, "5"), ("unroute", job, "5")]:
        has(box.fails(2, *args).err, "--worker is required")
    for args in [("assign", job, "x", "--worker", "w"), ("unroute", job, "0", "--worker", "w")]:
        has(box.fails(2, *args).err, "a token cannot be")
    has(box.fails(2, "complete", job, "x").err, "a run cannot be")
    has(box.fails(1, "assign", MISSING, "5", "--worker", "w").err, "there is no job")
    has(box.fails(1, "complete", MISSING, "1").err, "there is no job")
    has(box.fails(2, "route", "--worker", "w", "--for", "1ms").err, "--for must be at least 100ms")
    has(box.fails(2, "assign", job, "5", "--worker", "w", "--lease", "1ms").err, "--lease must be")
