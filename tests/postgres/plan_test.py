#!/usr/bin/env python3
"""Statements use their index, whatever the planner's statistics are. Every statement is planned
here, or listed as an exception with a reason. Prints TAP.

Usage: plan_test.py SOURCE_ROOT PAWL MODULE_DIR
"""
import os
import re
import subprocess
import sys

sys.dont_write_bytecode = True
import server

ROOT = sys.argv[1]
sys.path.insert(0, os.path.join(ROOT, "mk"))
import embed_sql

FOLDER = os.path.join(ROOT, "src/store/postgres")
FILES = ["migrations/0001_initial.sql", "sql/job.sql", "sql/move.sql", "sql/gather.sql",
         "sql/set.sql", "sql/new.sql", "sql/cluster.sql", "sql/read.sql",
         "sql/schedule.sql"]

# Of set_write and set_write_restored.
SET_LISTS = ", ".join(["bigint[]"] * 14 + ["text[]"] * 3 + ["bigint[]", "text[]"])

NODE_LISTS = ", ".join(["text[]"] * 2 + ["bigint[]"] * 4)
LOCK_LISTS = ", ".join(["text[]"] * 2 + ["bigint[]"] * 3)
TOKEN_LISTS = ", ".join(["text[]"] * 3 + ["bytea[]"] + ["bigint[]"] * 4)
SCHEMA_LISTS = ", ".join(["text[]"] * 5 + ["bigint[]", "text[]"])
REQUEST_LISTS = "text[], text[], bigint[]"
FLOW_LISTS = ", ".join(["uuid[]"] + ["text[]"] * 3 + ["bigint[]"] * 9 + ["text[]"]
                       + ["bigint[]"] * 3)
FLOW_GROUP_LISTS = ", ".join(["uuid[]"] + ["bigint[]"] * 13)
FLOW_NODE_LISTS = ", ".join(["uuid[]", "bigint[]", "uuid[]", "text[]"] + ["bigint[]"] * 17
                            + ["text[]"] * 2)
FLOW_MEMBER_LISTS = "uuid[], uuid[], bigint[]"
FLOW_EDGE_LISTS = ", ".join(["uuid[]"] + ["bigint[]"] * 6 + ["text[]"] * 3)
FLOW_SIGNAL_LISTS = ", ".join(["uuid[]", "bigint[]", "text[]"] + ["bigint[]"] * 3 + ["text[]"]
                              + ["bigint[]"] * 3 + ["text[]"])
FLOW_TIMER_LISTS = "uuid[], bigint[]"
SCHEDULE_LISTS = ", ".join(["text[]", "bigint[]", "bigint[]", "text[]"] + ["bigint[]"] * 5
                          + ["uuid[]"] + ["bigint[]"] * 3 + ["bytea[]"] * 2 + ["text[]"]
                          + ["bigint[]"] * 4)
SCHEDULE_PLAN_LISTS = ", ".join(["text[]"] * 3 + ["bigint[]"] * 2 + ["bytea[]"] + ["bigint[]"] * 10
                               + ["text[]"] * 8 + ["bigint[]"] * 6 + ["text[]"] * 7)
FIRING_LISTS = ", ".join(["text[]"] + ["bigint[]"] * 8 + ["uuid[]"] + ["bigint[]"] * 2
                         + ["text[]"] * 3)
# Of a job, without created_at_ms.
FACT_LISTS = ", ".join(["bigint[]"] * 3 + ["text[]"] + ["bigint[]"] * 6 + ["text[]"] * 11
                       + ["bigint[]"])

# Statement: the types of its parameters, in order, and the index of its hot table.
PLANS = {
    "ready_next": ("bigint[], bigint[], uuid[], bigint[]", "pawl_ready_next"),
    "ready_any": ("bigint[]", "pawl_ready_next"),
    "ready_delete": ("tid[]", "Tid Scan on pawl_ready"),
    "ready_rest": ("uuid[], tid[]", "Tid Scan on pawl_ready"),
    "claim_take": ("bigint, bigint, bigint, boolean, text, uuid[], bigint, bigint",
                   "pawl_job_pkey"),
    "set_job": ("bigint, uuid[]", "pawl_job_pkey"),
    "claim_left": ("uuid[], bigint", "pawl_job_pkey"),
    "claim_hold": ("uuid[], bigint, bigint, bigint", "pawl_job_pkey"),
    "ready_ahead": ("bigint, bigint[], bigint[], bigint, uuid, bigint, bigint",
                    "pawl_ready_next"),
    "gathered_done_alike": ("bigint, uuid[], bigint", "pawl_job_pkey"),
    "gathered_done": ("uuid[], bigint[], text[], bigint", "Tid Scan on pawl_job"),
    "peek": ("bigint[], bigint[], bigint, bigint[], bigint, bigint, bigint", "pawl_ready_next"),
    "set_archive": ("uuid[]", "pawl_job_pkey"),
    "set_progress_read": ("uuid[]", "pawl_progress_pkey"),
    "set_run_data_read": ("uuid[]", "pawl_log_pkey"),
    "set_line_trim": ("uuid[], bigint[], bigint[]", "pawl_log_pkey"),
    "job_promote": ("tid[]", "Tid Scan on pawl_job"),
    "key_forget": ("bigint, bigint", "pawl_key_until"),
    "deadline_due": ("bigint, bigint", "pawl_deadline_at"),
    "deadline_next": ("", "pawl_deadline_at"),
    "deadline_load": ("uuid[]", "pawl_deadline_pkey"),
    "set_deadline_put": ("uuid[], bigint[]", "pawl_deadline_pkey"),
    "set_deadline_drop": ("uuid[], bigint[]", "pawl_deadline_pkey"),
    "set_drop_deadline": ("uuid[]", "pawl_deadline_pkey"),
    "set_live": ("uuid[]", "pawl_job_pkey"),
    "set_archived": ("uuid[]", "pawl_archive_pkey"),
    "set_live_free": ("uuid[]", "pawl_job_pkey"),
    "set_live_shared": ("uuid[]", "pawl_job_pkey"),
    "set_archived_free": ("uuid[]", "pawl_archive_pkey"),
    "set_checked": ("uuid[], bytea[]", "pawl_job_pkey"),
    "set_followed": ("bigint[]", "pawl_unsettled_pkey"),
    "unsettled_list": ("bigint, bigint, bigint", "pawl_unsettled_pkey"),
    "unsettled_next": ("bigint", "pawl_unsettled_pkey"),
    "set_known": ("uuid[]", "pawl_archive_pkey"),
    "set_crashes": ("uuid[]", "pawl_failure_pkey"),
    "set_holders": ("bytea[]", "pawl_key_pkey"),
    "set_restore": ("uuid[]", "pawl_archive_pkey"),
    "set_drop_tags": ("uuid[]", "pawl_tag_pkey"),
    "set_trim": ("uuid[], bigint[]", "pawl_failure_pkey"),
    "set_key_drop": ("bytea[], uuid[], bigint[]", "pawl_key_pkey"),
    "set_write": ("tid[], " + SET_LISTS, "Tid Scan on pawl_job"),
    "set_write_restored": ("uuid[], " + SET_LISTS, "pawl_job_pkey"),
    "job_due": ("bigint, bigint", "pawl_job_due"),
    "job_next_due": ("", "pawl_job_due"),
    "lease_due": ("bigint, bigint", "pawl_lease_next"),
    "lease_lapsed": ("uuid[], bigint", "pawl_job_pkey"),
    "lease_hold": ("uuid[], bigint, bigint", "pawl_job_pkey"),
    "lease_weed": ("bigint", "pawl_lease_next"),
    "lease_next": ("", "pawl_lease_next"),
    "job_expiring": ("bigint, bigint", "pawl_job_expiry"),
    "job_next_expiry": ("", "pawl_job_expiry"),
    "ended_due": ("bigint, bigint, bigint, bigint", "pawl_ended_next"),
    "ended_old": ("uuid[], bigint, bigint", "pawl_job_pkey"),
    "ended_hold": ("uuid[], bigint, bigint, bigint", "pawl_job_pkey"),
    "archive_old": ("bigint, bigint, bigint, bigint", "pawl_archive_ended"),
    "node_load": ("text[]", "pawl_node_pkey"),
    "lock_load": ("text[]", "pawl_lock_pkey"),
    "turn_load": ("text[]", "pawl_lock_pkey"),
    "setting_load": ("text[]", "pawl_setting_pkey"),
    "token_load": ("text[]", "pawl_token_pkey"),
    "schema_load": ("text[], text[], text[]", "pawl_args_schema_pkey"),
    "config_load": ("text[]", "pawl_queue_config_pkey"),
    "request_load": ("text[]", "pawl_request_key_pkey"),
    "request_forget": ("bigint, bigint", "pawl_request_key_until"),
    "set_schema_put": (SCHEMA_LISTS, "pawl_args_schema_pkey"),
    "set_schema_drop": (SCHEMA_LISTS, "pawl_args_schema_pkey"),
    "set_config_put": ("text[], text[]", "pawl_queue_config_pkey"),
    "set_config_drop": ("text[], text[]", "pawl_queue_config_pkey"),
    "set_request_put": (REQUEST_LISTS, "pawl_request_key_pkey"),
    "set_node_put": (NODE_LISTS, "pawl_node_pkey"),
    "set_lock_put": (LOCK_LISTS, "pawl_lock_pkey"),
    "set_setting_drop": ("text[], text[]", "pawl_setting_pkey"),
    "key_records": ("uuid[]", "pawl_job_pkey"),
    "claim_take_light": ("bigint, bigint, bigint, boolean, text, uuid[], bigint, bigint, bigint",
                         "pawl_job_pkey"),
    "archive_has": ("uuid[]", "pawl_archive_pkey"),
    "job_delete": ("uuid[]", "pawl_job_pkey"),
    "archive_delete": ("uuid[]", "pawl_archive_pkey"),
    "set_drop_failure": ("uuid[]", "pawl_failure_pkey"),
    "set_drop_progress": ("uuid[]", "pawl_progress_pkey"),
    "set_drop_checkpoint": ("uuid[]", "pawl_checkpoint_pkey"),
    "set_drop_line": ("uuid[]", "pawl_log_pkey"),
    "set_drop_audit": ("uuid[]", "pawl_audit_job"),
    "lease_delete": ("tid[]", "Tid Scan on pawl_lease"),
    "ended_delete": ("tid[]", "Tid Scan on pawl_ended"),
    "set_key_put": ("bytea[], uuid[], bigint[]", "pawl_key_pkey"),
    "set_progress": ("uuid[], bigint[], bigint[], float8[], text[], text[]", "pawl_progress_pkey"),
    "set_checkpoint_drop": ("uuid[], bigint[], bigint[], text[]", "pawl_checkpoint_pkey"),
    "set_checkpoint_put": ("uuid[], bigint[], bigint[], text[]", "pawl_checkpoint_pkey"),
    "set_node_drop": (NODE_LISTS, "pawl_node_pkey"),
    "set_token_put": (TOKEN_LISTS, "pawl_token_pkey"),
    "set_setting_put": ("text[], text[]", "pawl_setting_pkey"),
    "flow_load": ("uuid[]", "pawl_flow_pkey"),
    "flow_stale": ("bigint, bigint", "pawl_flow_recount"),
    "flow_stale_next": ("", "pawl_flow_recount"),
    "flow_group_load": ("uuid[], bigint[]", "pawl_flow_group_pkey"),
    "flow_node_load": ("uuid[], bigint[]", "pawl_flow_node_pkey"),
    "flow_member_load": ("uuid[]", "pawl_flow_member_pkey"),
    "flow_edge_load": ("uuid[], bigint[]", "pawl_flow_edge_pkey"),
    "set_flow_put": (FLOW_LISTS, "pawl_flow_pkey"),
    "set_flow_drop": (FLOW_LISTS, "pawl_flow_pkey"),
    "set_flow_group_drop": (FLOW_GROUP_LISTS, "pawl_flow_group_pkey"),
    "set_flow_node_drop": (FLOW_NODE_LISTS, "pawl_flow_node_pkey"),
    "set_flow_member_drop": (FLOW_MEMBER_LISTS, "pawl_flow_member_pkey"),
    "set_flow_edge_drop": (FLOW_EDGE_LISTS, "pawl_flow_edge_pkey"),
    "set_flow_signal_drop": (FLOW_SIGNAL_LISTS, "pawl_flow_signal_pkey"),
    "flow_ended": ("bigint, bigint, bigint", "pawl_flow_ended"),
    "flow_old": ("bigint, bigint, bigint, bigint", "pawl_flow_old"),
    "set_flow_group_put": (FLOW_GROUP_LISTS, "pawl_flow_group_pkey"),
    "set_flow_node_put": (FLOW_NODE_LISTS, "pawl_flow_node_pkey"),
    "set_flow_member_put": (FLOW_MEMBER_LISTS, "pawl_flow_member_pkey"),
    "set_flow_edge_put": (FLOW_EDGE_LISTS, "pawl_flow_edge_pkey"),
    "flow_signal_load": ("uuid[], bigint[]", "pawl_flow_signal_pkey"),
    "set_flow_signal_put": (FLOW_SIGNAL_LISTS, "pawl_flow_signal_pkey"),
    "flow_waits": ("text, bigint", "pawl_flow_signal_waits"),
    "flow_timer_load": ("uuid[]", "pawl_flow_timer_pkey"),
    "set_flow_timer_put": (FLOW_TIMER_LISTS, "pawl_flow_timer_pkey"),
    "set_flow_timer_drop": (FLOW_TIMER_LISTS, "pawl_flow_timer_pkey"),
    "flow_due": ("bigint, bigint", "pawl_flow_timer_at"),
    "flow_next_due": ("", "pawl_flow_timer_at"),
    "schedule_load": ("text[]", "pawl_schedule_pkey"),
    "schedule_plan_load": ("text[]", "pawl_schedule_plan_pkey"),
    "schedule_member_load": ("uuid[]", "pawl_schedule_member_pkey"),
    "schedule_due": ("bigint, bigint", "pawl_schedule_look"),
    "schedule_next": ("", "pawl_schedule_look"),
    "set_schedule_put": (SCHEDULE_LISTS, "pawl_schedule_pkey"),
    "set_schedule_drop": (SCHEDULE_LISTS, "pawl_schedule_pkey"),
    "set_schedule_plan_put": (SCHEDULE_PLAN_LISTS, "pawl_schedule_plan_pkey"),
    "set_schedule_plan_drop": (SCHEDULE_PLAN_LISTS, "pawl_schedule_plan_pkey"),
    "set_schedule_member_put": ("uuid[], text[]", "pawl_schedule_member_pkey"),
    "set_schedule_member_drop": ("uuid[], text[]", "pawl_schedule_member_pkey"),
    "set_firing_cut": ("text[], bigint[]", "pawl_firing_pkey"),
    # these read nothing but their parameters
    "ready_put": ("uuid[], bigint[], bigint[], bigint[], bigint[], uuid[]", "Insert on pawl_ready"),
    "lease_put": ("uuid[], bigint[], text[], bigint[], bigint[]", "Insert on pawl_lease"),
    "ended_put": ("uuid[], bigint[], bigint[], bigint[], bigint[]", "Insert on pawl_ended"),
    "new_jobs_plain": ("bigint, uuid[], bigint[], bigint[], bigint[], uuid[], bigint[], bigint[], "
                       "bigint[], text[]", "Insert on pawl_job"),
    "new_jobs_alike": (", ".join(["bigint"] * 7) + ", boolean, boolean, uuid[], text[]",
                       "Insert on pawl_job"),
    "new_jobs": (f"bigint, uuid[], bigint[], bigint[], bigint[], uuid[], {FACT_LISTS}, bytea[]",
                 "Insert on pawl_job"),
    "set_key_new": ("bytea[], uuid[], bigint[]", "Insert on pawl_key"),
    "set_failure": (", ".join(["uuid[]"] + ["bigint[]"] * 6 + ["text[]"] * 5),
                    "Insert on pawl_failure"),
    "set_audit": ("bigint[], uuid[], text[], text[], text[], text[], bigint[], bigint[]",
                  "Insert on pawl_audit"),
    "set_line": ("uuid[], bigint[], bigint[], bigint[], bigint[], text[]", "Insert on pawl_log"),
    "set_unsettled": (", ".join(["bigint[]", "uuid[]"] + ["bigint[]"] * 7 + ["text[]"] * 5),
                      "Insert on pawl_unsettled"),
    "tag_insert": ("uuid[], text[]", "Insert on pawl_tag"),
    "set_setting_new": ("text[], text[]", "Insert on pawl_setting"),
    "set_schema_new": (SCHEMA_LISTS, "Insert on pawl_args_schema"),
    "set_config_new": ("text[], text[]", "Insert on pawl_queue_config"),
    "set_request_new": (REQUEST_LISTS, "Insert on pawl_request_key"),
    "set_node_new": (NODE_LISTS, "Insert on pawl_node"),
    "set_deadline_new": ("uuid[], bigint[]", "Insert on pawl_deadline"),
    "set_lock_new": (LOCK_LISTS, "Insert on pawl_lock"),
    "set_token_new": (TOKEN_LISTS, "Insert on pawl_token"),
    "set_flow_new": (FLOW_LISTS, "Insert on pawl_flow"),
    "set_flow_group_new": (FLOW_GROUP_LISTS, "Insert on pawl_flow_group"),
    "set_flow_node_new": (FLOW_NODE_LISTS, "Insert on pawl_flow_node"),
    "set_flow_member_new": (FLOW_MEMBER_LISTS, "Insert on pawl_flow_member"),
    "set_flow_edge_new": (FLOW_EDGE_LISTS, "Insert on pawl_flow_edge"),
    "set_flow_signal_new": (FLOW_SIGNAL_LISTS, "Insert on pawl_flow_signal"),
    "set_flow_timer_new": (FLOW_TIMER_LISTS, "Insert on pawl_flow_timer"),
    "set_schedule_new": (SCHEDULE_LISTS, "Insert on pawl_schedule"),
    "set_schedule_plan_new": (SCHEDULE_PLAN_LISTS, "Insert on pawl_schedule_plan"),
    "set_schedule_member_new": ("uuid[], text[]", "Insert on pawl_schedule_member"),
    "set_firing": (FIRING_LISTS, "Insert on pawl_firing"),
    "count_add": ("bigint[], bigint[], bigint[]", "Insert on pawl_count_delta"),
}

# All other statements, by the reason why their plan is of no interest.
EXCEPTIONS = {
    "has no plan to choose": """
        begin begin_read commit rollback conduct_write conduct_read conduct_migrate conduct_check
        who_serves turn_begin turn_mark turn_settle now notify key_lock key_lock_all key_try
        migration_lock migration_insert""",
    "reads a small table as a whole, and is rare": """
        set_moot identify catalog_grow queue_all queue_insert set_queue_put lane_since lane_insert
        node_census node_silent node_old nodes_all lock_owned locks_all token_all setting_list
        schema_by_uri schema_by_type config_list
        stats_counts count_fold turn_forget""",
    "reads the roll of leases as a whole, when a node is gone": "set_runs_end",
    "is put together from filters: sql/filter_test.c, and below": """
        query_live query_archive page_sized query_within match_live match_archive count_live
        count_archive""",
    "is a reader's, who plans as usual: by the statistics of the moment": """
        get_many story_failures story_log story_audit story_progress story_checkpoint
        setting_get flow_one flow_one_counts flow_list flow_list_counts flow_nodes flow_edges
        flow_groups flow_signals flow_own flow_parents schedule_one schedule_plan_one
        schedule_list schedule_plan_list firing_list""",
    "looks at everything: that is its task": """
        check_places check_orphans check_facts check_counts check_flows stats_bytes""",
    "compares a few flows with all of their jobs": "flow_doubts",
    "is the schema's own": """
        migration_1 migration_table migration_table_exists migration_all script_may script_get
        script_put""",
}
MARK = "== "  # before the name of a statement whose plan follows
# These begin with the first entry of an index, and take a few.
FIRST_ENTRIES = {"peek", "job_next_due", "job_next_expiry", "lease_next", "lease_weed",
                 "unsettled_list", "unsettled_next", "flow_stale_next", "flow_next_due",
                 "schedule_next", "deadline_next"}
SORT_A_FEW = {"flow_load", "schedule_load", "claim_hold", "ready_ahead", "lease_hold", "ended_hold",
              "schema_load", "set_progress", "set_checkpoint_put"}

FILL = """
INSERT INTO pawl_queue (name, created_at_ms) VALUES ('q', 0);
INSERT INTO pawl_lane (queue_id, type) VALUES (1, 't');
INSERT INTO pawl_job (id, created_at_ms, due_at_ms, rank, lane, attempts_max, priority, args, state,
    run, base_run, free_runs, waits, held, perishes, dead_letter)
SELECT gen_random_uuid(), n, n, n, 1, 3, 0, '[]', 2, 0, 0, 0, false, false, false, false
FROM generate_series(1, 20000) AS n;
INSERT INTO pawl_ready (lane, rank, seat, ids)
SELECT lane, rank / 50, (array_agg(id))[1], array_agg(id) FROM pawl_job GROUP BY 1, 2;
"""

# What the planner knows when it plans; the tables are as they are when the statements run.
SITUATIONS = {
    "new": [],
    "filled": [FILL],
    "analyzed": ["ANALYZE"],
    "emptied": ["DELETE FROM pawl_ready", "VACUUM ANALYZE pawl_ready"],
    "worked off": ["UPDATE pawl_job SET state = 7, finished_at_ms = 1, run = 1",
                   "INSERT INTO pawl_ended (state, finished_at_ms, ids) "
                   "SELECT 7, rank, array_agg(id) FROM pawl_job GROUP BY rank / 50, rank",
                   "VACUUM ANALYZE"],
    "archived": ["DELETE FROM pawl_job", "DELETE FROM pawl_ended", "VACUUM ANALYZE"],
}


def statements():
    fragments, found = {}, {}
    lists = embed_sql.read_fields(*(os.path.join(ROOT, "src", path)
                                    for path in ("fields/fields.h", "store/core/fields.h")))
    for path in FILES:
        for name, body in embed_sql.statements(os.path.join(FOLDER, path), fragments, lists):
            params = list(dict.fromkeys(re.findall(embed_sql.PARAMETER, embed_sql.strip(body))))
            found[name] = "\n".join(embed_sql.number(line, params)
                                    for line in embed_sql.compact(body))
    return found


def conduct(text):
    """What the writer's connection is told, as far as it concerns plans."""
    told = re.findall(r"set_config\('(enable_\w+|plan_cache_mode)', '(\w+)'", text)
    assert len(told) >= 4, told
    return "".join(f"SET {name} = {value};" for name, value in told)


def explain(name, text, types):
    count = types.count(",") + 1 if types else 0
    head = f"PREPARE {name} ({types}) AS" if types else f"PREPARE {name} AS"
    args = f"({', '.join(['NULL'] * count)})" if count else ""
    return f"{head} {text}; SELECT '{MARK}{name}'; EXPLAIN EXECUTE {name} {args};\n"


def plans_of(postgres, settings, found):
    """All in one session, which takes a hundredth of the time that one for each does."""
    script = "".join(explain(name, found[name], types) for name, (types, _) in PLANS.items())
    said = postgres.sql(settings + script).split(MARK)[1:]
    return dict(plan.split("\n", 1) for plan in said)


def faults(name, plan, index):
    if index not in plan:
        yield f"does not use {index}"
    if re.search(r"Seq Scan on pawl_(job|ready|lease|ended|archive|key)", plan):
        yield "reads a whole table"
    lines = plan.splitlines()
    for at, line in enumerate(lines):
        whole = re.search(r"Index (Only )?Scan using \w+ on pawl_", line)
        limited = name in FIRST_ENTRIES and "Limit" in "".join(lines[max(0, at - 2):at])
        if whole and "Index Cond" not in "".join(lines[at + 1:at + 2]) and not limited:
            yield "reads a whole index: " + line.strip()
    # what a plain list gives is a few values; nothing else may be sorted
    if name not in SORT_A_FEW and re.search(r"^\s*(->\s+)?Sort\b", plan, re.MULTILINE):
        yield "sorts"


def every_statement_is_planned_or_excepted(found):
    excepted = [name for names in EXCEPTIONS.values() for name in names.split()]
    listed = list(PLANS) + excepted
    forgotten, unknown = set(found) - set(listed), set(listed) - set(found)
    twice = {name for name in listed if listed.count(name) > 1}
    assert not forgotten, f"neither planned nor excepted: {sorted(forgotten)}"
    assert not unknown, f"planned or excepted, and not there: {sorted(unknown)}"
    assert not twice, f"listed twice: {sorted(twice)}"


# ---- what is put together from filters, as it runs ----

# As many again that are archived.
FILL_ARCHIVE = """
INSERT INTO pawl_archive (id, created_at_ms, due_at_ms, lane, attempts_max, priority, args, state,
    run, base_run, free_runs, dead_letter, finished_at_ms)
SELECT gen_random_uuid(), n, n, 1, 3, 0, '[]', 7, 1, 0, 0, false, n
FROM generate_series(1, 20000) AS n;
"""
ROWS_READ = """
SELECT coalesce(sum(coalesce(seq_tup_read, 0) + coalesce(idx_tup_fetch, 0)), 0)
FROM pg_stat_user_tables WHERE relname IN ('pawl_job', 'pawl_archive')
"""
OTHERS = "SELECT count(*) = 0 FROM pg_stat_activity WHERE datname = 'found'"


def ask(url, *args):
    env = {**os.environ, "PAWL_MODULE_DIR": os.path.abspath(sys.argv[3])}
    return subprocess.run([os.path.abspath(sys.argv[2]), *args, "--store", url], env=env, cwd="/",
                          text=True, check=True, stdout=subprocess.PIPE).stdout


def rows_read_by(postgres, url, *args):
    """Of jobs, live and archived. A session's reads are counted when it has ended."""
    postgres.wait_for(OTHERS)
    before = int(postgres.sql(ROWS_READ, url))
    said = ask(url, *args)
    postgres.wait_for(OTHERS)
    return int(postgres.sql(ROWS_READ, url)) - before, said


def jobs_are_found_by_the_beginning_of_their_ids(postgres):
    """Of 40000 jobs a few are read, whatever the planner knows of the tables."""
    postgres.sql("CREATE DATABASE found")
    url = f"postgres:///found?host={postgres.dir}&user=pawl"
    ask(url, "migrate")
    postgres.sql(FILL + FILL_ARCHIVE, url)
    for text in ("SELECT 1", "VACUUM ANALYZE"):
        postgres.sql(text, url)
        for table in ("pawl_job", "pawl_archive"):
            job = postgres.sql(f"SELECT id FROM {table} ORDER BY created_at_ms LIMIT 1", url)
            count, said = rows_read_by(postgres, url, "show", job[:13])
            assert job in said, said
            assert count < 100, f"{text}, {table}: {count} rows were read"


def main():
    if not server.find_binaries():
        print("1..0 # SKIP there is no PostgreSQL server here (on Debian: postgresql)")
        return
    number, found = 0, statements()
    settings = conduct(found["conduct_write"])
    with server.Server() as postgres:
        postgres.sql(found["migration_1"])
        for situation, texts in SITUATIONS.items():
            for text in texts:
                postgres.sql(text)
            plans = plans_of(postgres, settings, found)
            for name, (_, index) in PLANS.items():
                plan = plans[name]
                wrong = list(faults(name, plan, index))
                number += 1
                print(f"{'not ok' if wrong else 'ok'} {number} - {situation}: {name}")
                for line in wrong + (plan.splitlines() if wrong else []):
                    print("#", line)
        for test, subject in ((every_statement_is_planned_or_excepted, found),
                              (jobs_are_found_by_the_beginning_of_their_ids, postgres)):
            number += 1
            try:
                test(subject)
                print(f"ok {number} - {test.__name__}")
            except (AssertionError, subprocess.CalledProcessError) as error:
                print(f"not ok {number} - {test.__name__}\n# {error}")
    print(f"1..{number}")


if __name__ == "__main__":
    main()
