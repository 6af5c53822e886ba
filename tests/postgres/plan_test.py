#!/usr/bin/env python3
"""The statements that must be fast go through the index that was made for them, whatever the
planner knows of the tables. Speaks TAP.

Usage: plan_test.py SOURCE_ROOT
"""
import os
import re
import sys

sys.dont_write_bytecode = True
import server

ROOT = sys.argv[1]
sys.path.insert(0, os.path.join(ROOT, "mk"))
import embed_sql

FOLDER = os.path.join(ROOT, "src/store/postgres")
FILES = ["migrations/0001_initial.sql", "sql/job.sql", "sql/move.sql", "sql/gather.sql",
         "sql/cluster.sql", "sql/read.sql"]

# Statement: the types of its parameters, in order, and the index of its hot table.
PLANS = {
    "ready_next": ("bigint[], bigint[], uuid[], bigint", "pawl_live_ready"),
    "gathered_active": ("bigint, bigint, text, tid[]", "Tid Scan on pawl_live"),
    "gathered_done_alike": ("uuid[], bigint, bigint", "pawl_live_pkey"),
    "gathered_done": ("uuid[], bigint[], text[], bigint", "pawl_live_pkey"),
    "look": ("bigint[], bigint[], bigint, bigint[], bigint, bigint", "pawl_live_ready"),
    "live_extend": ("boolean, bigint, uuid[], bigint, bigint[]", "pawl_live_pkey"),
    "archive_insert": ("uuid[]", "pawl_job_pkey"),
    "job_known_many": ("uuid[]", "pawl_job_pkey"),
    "live_promote": ("uuid[]", "pawl_live_pkey"),
    "key_forget": ("bigint, bigint", "pawl_key_until"),
    "live_update": ("bigint, bigint, bigint, bigint, bigint, bigint, bigint, bigint, bigint, "
                    "bigint, text, text, uuid", "pawl_live_pkey"),
    "live_due": ("bigint, bigint", "pawl_live_due"),
    "live_next_due": ("", "pawl_live_due"),
    "live_lapsed": ("bigint, bigint, bigint", "pawl_live_lease"),
    "live_next_lease": ("", "pawl_live_lease"),
    "live_expiring": ("bigint, bigint", "pawl_live_expiry"),
    "live_next_expiry": ("", "pawl_live_expiry"),
    "done_ended": ("bigint, bigint, bigint", "pawl_done_ended"),
    "archive_old": ("bigint, bigint, bigint, bigint", "pawl_archive_ended"),
    "place_live": ("uuid", "pawl_live_pkey"),
    "place_done": ("uuid", "pawl_done_pkey"),
    "key_holders": ("bytea", "pawl_key_pkey"),
    "key_held": ("bytea[]", "pawl_key_pkey"),
    "failure_crashes": ("uuid, bigint", "pawl_failure_pkey"),
}

FILL = """
INSERT INTO pawl_queue (name, created_at_ms) VALUES ('q', 0);
INSERT INTO pawl_lane (queue_id, type) VALUES (1, 't');
INSERT INTO pawl_job (id, created_at_ms, due_at_ms, lane, attempts_max, priority, args)
SELECT gen_random_uuid(), n, n, 1, 3, 0, '[]' FROM generate_series(1, 20000) AS n;
INSERT INTO pawl_live (id, rank, due_at_ms, run, base_run, free_runs, lane, state)
SELECT id, due_at_ms, due_at_ms, 0, 0, 0, 1, 2 FROM pawl_job;
"""

# What the planner knows when it plans; the tables are as they are when the statements run.
SITUATIONS = {
    "new": [],
    "filled": [FILL],
    "analyzed": ["ANALYZE"],
    "emptied": ["DELETE FROM pawl_live", "VACUUM ANALYZE pawl_live"],
    "worked off": ["INSERT INTO pawl_done (id, finished_at_ms, run, base_run, free_runs, lane, "
                   "state, dead_letter) SELECT id, 1, 1, 0, 0, 1, 7, false FROM pawl_job",
                   "VACUUM ANALYZE"],
}


def statements():
    fragments, found = {}, {}
    for path in FILES:
        for name, body in embed_sql.statements(os.path.join(FOLDER, path), fragments):
            params = list(dict.fromkeys(re.findall(embed_sql.PARAMETER, embed_sql.strip(body))))
            found[name] = "\n".join(embed_sql.number(line, params)
                                    for line in embed_sql.compact(body))
    return found


def conduct(text):
    """What the writer's connection is told, as far as it concerns plans."""
    told = re.findall(r"set_config\('(enable_\w+|plan_cache_mode)', '(\w+)'", text)
    assert len(told) >= 4, told
    return "".join(f"SET {name} = {value};" for name, value in told)


def plan_of(postgres, settings, text, types):
    count = types.count(",") + 1 if types else 0
    head = f"PREPARE p ({types}) AS" if types else "PREPARE p AS"
    args = f"({', '.join(['NULL'] * count)})" if count else ""
    return postgres.sql(f"{settings} {head} {text}; EXPLAIN EXECUTE p {args}")


def faults(name, plan, index):
    if index not in plan:
        yield f"does not use {index}"
    if re.search(r"Seq Scan on pawl_(live|job|done|archive|key)", plan):
        yield "reads a whole table"
    lines = plan.splitlines()
    looks = name == "look" or name.startswith("live_next_")  # at no more than the first row
    for above, line, below in zip([""] + lines, lines, lines[1:] + [""]):
        whole = re.search(r"Index (Only )?Scan using \w+ on pawl_", line)
        if whole and "Index Cond" not in below and not (looks and "Limit" in above):
            yield "reads a whole index: " + line.strip()
    # what a plain list gives is a few values; nothing else may be sorted
    if re.search(r"^\s*(->\s+)?Sort\b", plan, re.MULTILINE):
        yield "sorts"


def main():
    if not server.find_binaries():
        print("1..0 # SKIP there is no PostgreSQL server here (on Debian: postgresql-15)")
        return
    number, found = 0, statements()
    settings = conduct(found["conduct_write"])
    with server.Server() as postgres:
        postgres.sql(found["migration_1"])
        for situation, texts in SITUATIONS.items():
            for text in texts:
                postgres.sql(text)
            for name, (types, index) in PLANS.items():
                plan = plan_of(postgres, settings, found[name], types)
                wrong = list(faults(name, plan, index))
                number += 1
                print(f"{'not ok' if wrong else 'ok'} {number} - {situation}: {name}")
                for line in wrong + (plan.splitlines() if wrong else []):
                    print("#", line)
    print(f"1..{number}")


if __name__ == "__main__":
    main()
