-- The working set: pawl_set_row and the other tables of that prefix are virtual ones, over arrays
-- that set.c holds. Rows are in order of key.

-- What rows are read by: where in the array, what the store keeps for its own use, the fields.
-- fragment: set_live_row
    s.at, j.key, j.lane, {{row.fixed of j}}, {{row.plan of j}},
    {{row.stand of d
    | state = CASE WHEN w.key IS NOT NULL THEN w.state
                   WHEN a.key IS NOT NULL THEN 4
                   WHEN d.key IS NOT NULL THEN d.state
                   ELSE 2 END
    | paused_from = w.paused_from
    | run = coalesce(w.run, a.run, d.run, r.run, 0)
    | base_run = coalesce(w.base_run, a.base_run, d.base_run, r.base_run, 0)
    | free_runs = coalesce(w.free_runs, a.free_runs, d.free_runs, r.free_runs, 0)
    | started_at_ms = coalesce(w.started_at_ms, a.started_at_ms, d.started_at_ms)
    | lease_until_ms = coalesce(w.lease_until_ms, a.lease_until_ms)
    | worker = coalesce(w.worker, a.worker, d.worker)
    | reason = w.reason
    | end_reason = d.reason}}

-- fragment: set_archived_row
    s.at, j.key, j.lane, {{row.fixed of j}}, {{row.plan of j}},
    {{row.stand of j | paused_from = NULL | lease_until_ms = NULL | reason = NULL
    | end_reason = j.reason}}

-- name: set_active
-- Runs. What is not found here is looked for by set_live.
SELECT s.at, j.key, j.lane, {{row.fixed of j}}, {{row.plan of j}},
    {{row.stand of a | state = 4 | paused_from = NULL | finished_at_ms = NULL | dead_letter = NULL
    | reason = NULL | end_reason = NULL}}
FROM pawl_set_row AS s
CROSS JOIN pawl_active AS a ON a.key = s.key
CROSS JOIN pawl_job AS j ON j.key = a.key
WHERE a.tail = s.tail

-- name: set_live
SELECT {{set_live_row}}
FROM pawl_set_row AS s
CROSS JOIN pawl_job AS j ON j.key = s.head
{{places}}
WHERE j.tail = s.tail AND j.head IS NULL

-- name: set_live_displaced
SELECT {{set_live_row}}
FROM pawl_set_row AS s
CROSS JOIN pawl_job AS j ON j.head = s.head AND j.tail = s.tail
{{places}}

-- name: set_archived
SELECT {{set_archived_row}}
FROM pawl_set_row AS s
CROSS JOIN pawl_archive AS j ON j.key = s.head
WHERE j.tail = s.tail AND j.head IS NULL

-- name: set_archived_displaced
SELECT {{set_archived_row}}
FROM pawl_set_row AS s
CROSS JOIN pawl_archive AS j ON j.head = s.head AND j.tail = s.tail

-- name: set_job
-- Arguments that are not wanted are not read.
SELECT {{own}}, {{job.facts of j | args = CASE WHEN s.brief THEN NULL ELSE j.args END}}, s.at
FROM pawl_set_row AS s
CROSS JOIN pawl_job AS j ON j.key = s.key

-- name: set_crashes
SELECT s.at, (
    SELECT count(*)
    FROM pawl_failure AS f
    WHERE f.key = s.key AND f.run > s.base_run AND f.lapsed = 1
)
FROM pawl_set_row AS s

-- name: set_restore_job
INSERT INTO pawl_job ({{own_columns}}, {{job.facts}})
SELECT {{facts}}
FROM pawl_set_row AS s
CROSS JOIN pawl_archive AS j ON j.key = s.key

-- name: set_restore_done
INSERT INTO pawl_done (key, lane, {{end_columns}})
SELECT j.key, j.lane, {{job.stand of j | no paused_from | no lease_until_ms}}
FROM pawl_set_row AS s
CROSS JOIN pawl_archive AS j ON j.key = s.key

-- name: set_leave_archive
DELETE FROM pawl_archive
WHERE key IN (SELECT key FROM pawl_set_row)

-- name: set_archive
INSERT INTO pawl_archive ({{own_columns}}, {{job.facts}}, {{end_columns}})
SELECT {{facts}}, {{job.stand of d | no paused_from | no lease_until_ms}}
FROM pawl_set_row AS s
CROSS JOIN pawl_job AS j ON j.key = s.key
CROSS JOIN pawl_done AS d ON d.key = j.key

-- name: set_plan
-- A column behind args may have got a value by that.
UPDATE pawl_job
SET {{row.plan set s}},
    extras = extras | (s.expires_at_ms IS NOT NULL OR s.ties IS NOT NULL)
FROM pawl_set_row AS s
WHERE pawl_job.key = s.key

-- name: set_leave_ready
DELETE FROM pawl_ready
WHERE (lane, rank, key) IN (SELECT lane, was_rank, key FROM pawl_set_row)

-- name: set_leave_active
DELETE FROM pawl_active
WHERE key IN (SELECT key FROM pawl_set_row)

-- name: set_leave_wait
DELETE FROM pawl_wait
WHERE key IN (SELECT key FROM pawl_set_row)

-- name: set_leave_done
DELETE FROM pawl_done
WHERE key IN (SELECT key FROM pawl_set_row)

-- name: set_enter_ready
INSERT INTO pawl_ready (lane, rank, key, run, base_run, free_runs)
SELECT lane, rank, key, run, base_run, free_runs
FROM pawl_set_row

-- name: set_enter_active
INSERT INTO pawl_active (key, tail, lane, run, base_run, free_runs, started_at_ms, lease_until_ms,
    worker)
SELECT key, CASE WHEN hidden THEN NULL ELSE tail END, lane, run, base_run, free_runs,
    started_at_ms, lease_until_ms, worker
FROM pawl_set_row

-- name: set_enter_wait
INSERT INTO pawl_wait (key, lane, rank, due_at_ms,
    {{row.stand | no finished_at_ms | no dead_letter | no end_reason}})
SELECT key, lane, rank, due_at_ms,
    {{row.stand | no finished_at_ms | no dead_letter | no end_reason}}
FROM pawl_set_row

-- name: set_enter_done
-- A job that was paused after it had ended is there as it ended.
INSERT INTO pawl_done (key, lane, {{end_columns}})
SELECT key, lane, {{job.stand | no paused_from | no lease_until_ms
    | state = CASE state WHEN 6 THEN paused_from ELSE state END | reason = end_reason}}
FROM pawl_set_row

-- name: set_expiry
-- While a job ran or was paused its expiry may have been looked at and put away; and a node of a
-- flow may have none before it is released.
INSERT OR IGNORE INTO pawl_expiry (at_ms, key)
SELECT expires_at_ms, key
FROM pawl_set_row

-- name: set_failure
INSERT INTO pawl_failure (key, {{failure.fields}})
SELECT key, {{failure.fields | retry_delay_ms = nullif(retry_delay_ms, -1)
    | worker = coalesce(worker, '')}}
FROM pawl_set_failure

-- name: set_trim
-- Lapses stay: they are the crash credits.
DELETE FROM pawl_failure
WHERE (key, run) IN (
    SELECT f.key, f.run
    FROM pawl_set_trim AS s
    CROSS JOIN pawl_failure AS f ON f.key = s.key AND f.run <= s.run
    WHERE f.lapsed = 0
)

-- name: set_audit
INSERT INTO pawl_audit ({{audit.fields}})
SELECT {{audit.fields | job_id = nullif(job_id, zeroblob(16))}}
FROM pawl_set_audit

-- name: set_key_drop
DELETE FROM pawl_key
WHERE (digest, id) IN (SELECT digest, id FROM pawl_set_key_drop)

-- name: set_key_new
INSERT INTO pawl_key ({{key.fields}})
SELECT {{key.fields}}
FROM pawl_set_key_new

-- name: set_key_put
INSERT INTO pawl_key ({{key.fields}})
SELECT {{key.fields}}
FROM pawl_set_key_put
WHERE true -- or SQLite takes ON for that of a join
ON CONFLICT (digest, id) DO UPDATE SET until_ms = excluded.until_ms

-- name: set_progress_read
SELECT s.at, {{progress.fields of p}}
FROM pawl_set_row AS s
CROSS JOIN pawl_progress AS p ON p.key = s.key

-- name: set_run_data_read
SELECT s.at, (SELECT c.sequence FROM pawl_checkpoint AS c WHERE c.key = s.key),
    (SELECT max(l.seq) FROM pawl_log AS l WHERE l.key = s.key)
FROM pawl_set_row AS s

-- name: set_run
-- It goes on, with another lease or with other ties.
UPDATE pawl_active
SET tail = CASE WHEN s.hidden THEN NULL ELSE s.tail END, lease_until_ms = s.lease_until_ms
FROM pawl_set_row AS s
WHERE pawl_active.key = s.key

-- name: set_progress
INSERT OR REPLACE INTO pawl_progress (key, {{progress.fields}})
SELECT key, {{progress.fields}}
FROM pawl_set_progress

-- name: set_checkpoint_drop
DELETE FROM pawl_checkpoint
WHERE key IN (SELECT key FROM pawl_set_checkpoint_drop)

-- name: set_checkpoint_put
INSERT OR REPLACE INTO pawl_checkpoint (key, {{checkpoint.fields}})
SELECT key, {{checkpoint.fields}}
FROM pawl_set_checkpoint_put

-- name: set_line
-- An empty line is a line.
INSERT INTO pawl_log (key, seq, run, at_ms, level, text)
SELECT key, line, run, at_ms, level, coalesce(text, '')
FROM pawl_set_line

-- name: set_line_trim
DELETE FROM pawl_log
WHERE (key, seq) IN (
    SELECT l.key, l.seq
    FROM pawl_set_line_trim AS s
    CROSS JOIN pawl_log AS l ON l.key = s.key AND l.seq > s.after AND l.seq <= s.line
)

-- Jobs that are deleted, with all that is kept with them.

-- name: set_drop_tags
DELETE FROM pawl_tag
WHERE (tag, key) IN (
    SELECT t.value, j.key
    FROM pawl_set_row AS s
    CROSS JOIN pawl_job AS j ON j.key = s.key
    CROSS JOIN json_each(j.tags) AS t
)

-- name: set_drop_archived_tags
DELETE FROM pawl_tag
WHERE (tag, key) IN (
    SELECT t.value, j.key
    FROM pawl_set_row AS s
    CROSS JOIN pawl_archive AS j ON j.key = s.key
    CROSS JOIN json_each(j.tags) AS t
)

-- name: set_drop_failure
DELETE FROM pawl_failure
WHERE key IN (SELECT key FROM pawl_set_row)

-- name: set_drop_progress
DELETE FROM pawl_progress
WHERE key IN (SELECT key FROM pawl_set_row)

-- name: set_drop_checkpoint
DELETE FROM pawl_checkpoint
WHERE key IN (SELECT key FROM pawl_set_row)

-- name: set_drop_line
DELETE FROM pawl_log
WHERE key IN (SELECT key FROM pawl_set_row)

-- name: set_drop_audit
DELETE FROM pawl_audit
WHERE job_id IN (SELECT id FROM pawl_set_row)

-- name: set_drop_deadline
DELETE FROM pawl_deadline
WHERE job_id IN (SELECT id FROM pawl_set_row)

-- name: set_drop_expiry
DELETE FROM pawl_expiry
WHERE (at_ms, key) IN (SELECT expires_at_ms, key FROM pawl_set_row)

-- name: set_drop_job
DELETE FROM pawl_job
WHERE key IN (SELECT key FROM pawl_set_row)

-- name: set_checked
UPDATE pawl_job
SET {{checked.fields set s}}
FROM pawl_set_checked AS s
WHERE pawl_job.key = s.key

-- name: set_followed
DELETE FROM pawl_unsettled
WHERE seq IN (SELECT seq FROM pawl_set_followed)

-- name: set_moot
-- A scan: entries are few, and it is rare.
DELETE FROM pawl_unsettled
WHERE (job_id, ties) IN (SELECT job_id, ties FROM pawl_set_moot)

-- name: set_unsettled
INSERT INTO pawl_unsettled ({{unsettled.fields}})
SELECT {{unsettled.fields}}
FROM pawl_set_unsettled

-- name: unsettled_list
SELECT seq, {{unsettled.fields}}
FROM pawl_unsettled
WHERE seq > :after AND ties & :ties <> 0
ORDER BY seq
LIMIT :limit

-- name: unsettled_next
SELECT at_ms
FROM pawl_unsettled
WHERE ties & :ties <> 0
ORDER BY seq
LIMIT 1

-- Nodes, locks, what programs keep. What is wanted of a table is shown by the virtual table of a
-- list that is written to it: its first columns are the key.

-- name: node_load
SELECT {{node.fields of n}}
FROM pawl_set_node_put AS s
CROSS JOIN pawl_node AS n ON n.name = s.name

-- fragment: lock_wanted
SELECT {{lock.fields of l}}
FROM pawl_set_lock_put AS s
CROSS JOIN pawl_lock AS l ON l.name = s.name

-- name: lock_load
{{lock_wanted}}

-- name: turn_load
{{lock_wanted}}

-- name: setting_load
SELECT {{setting.fields of t}}
FROM pawl_set_setting_put AS s
CROSS JOIN pawl_setting AS t ON t.name = s.name

-- name: token_load
SELECT {{token.fields of t}}
FROM pawl_set_token_put AS s
CROSS JOIN pawl_token AS t ON t.id = s.id

-- name: schema_load
SELECT {{schema.fields of t}}
FROM pawl_set_schema_put AS s
CROSS JOIN pawl_args_schema AS t ON t.uri = coalesce(s.uri, '')
    AND t.type = coalesce(s.type, '') AND t.version = coalesce(s.version, '')

-- name: config_load
SELECT {{config.fields of t}}
FROM pawl_set_config_put AS s
CROSS JOIN pawl_queue_config AS t ON t.queue = s.queue

-- name: request_load
SELECT {{request.fields of t}}
FROM pawl_set_request_put AS s
CROSS JOIN pawl_request_key AS t ON t.key = s.key

-- name: set_node_new
INSERT INTO pawl_node ({{node.fields}})
SELECT {{node.fields}}
FROM pawl_set_node_new

-- name: set_node_put
INSERT OR REPLACE INTO pawl_node ({{node.fields}})
SELECT {{node.fields}}
FROM pawl_set_node_put

-- name: set_node_drop
DELETE FROM pawl_node
WHERE name IN (SELECT name FROM pawl_set_node_drop)

-- name: set_runs_end
-- It is the same instant for all.
UPDATE pawl_active
SET lease_until_ms = (SELECT max(at_ms) FROM pawl_set_runs_end)
WHERE worker IN (SELECT name FROM pawl_set_runs_end)
    AND lease_until_ms > (SELECT max(at_ms) FROM pawl_set_runs_end)

-- name: set_lock_new
INSERT INTO pawl_lock ({{lock.fields}})
SELECT {{lock.fields | owner = coalesce(owner, '')}}
FROM pawl_set_lock_new

-- name: set_lock_put
INSERT OR REPLACE INTO pawl_lock ({{lock.fields}})
SELECT {{lock.fields | owner = coalesce(owner, '')}}
FROM pawl_set_lock_put

-- name: set_token_new
INSERT INTO pawl_token ({{token.fields}})
SELECT {{token.fields}}
FROM pawl_set_token_new

-- name: set_token_put
INSERT OR REPLACE INTO pawl_token ({{token.fields}})
SELECT {{token.fields}}
FROM pawl_set_token_put

-- name: set_setting_new
INSERT INTO pawl_setting ({{setting.fields}})
SELECT {{setting.fields | value = coalesce(value, '')}}
FROM pawl_set_setting_new

-- name: set_setting_put
INSERT OR REPLACE INTO pawl_setting ({{setting.fields}})
SELECT {{setting.fields | value = coalesce(value, '')}}
FROM pawl_set_setting_put

-- name: set_setting_drop
DELETE FROM pawl_setting
WHERE name IN (SELECT name FROM pawl_set_setting_drop)

-- A key is three texts, of which some are empty: NULL in a list.
-- fragment: schema_named
    {{schema.fields | uri = coalesce(uri, '') | type = coalesce(type, '')
        | version = coalesce(version, '')}}

-- name: set_schema_new
INSERT INTO pawl_args_schema ({{schema.fields}})
SELECT
{{schema_named}}
FROM pawl_set_schema_new

-- name: set_schema_put
INSERT OR REPLACE INTO pawl_args_schema ({{schema.fields}})
SELECT
{{schema_named}}
FROM pawl_set_schema_put

-- name: set_schema_drop
DELETE FROM pawl_args_schema
WHERE (uri, type, version) IN (
    SELECT coalesce(uri, ''), coalesce(type, ''), coalesce(version, '')
    FROM pawl_set_schema_drop
)

-- name: set_config_new
INSERT INTO pawl_queue_config ({{config.fields}})
SELECT {{config.fields}}
FROM pawl_set_config_new

-- name: set_config_put
INSERT OR REPLACE INTO pawl_queue_config ({{config.fields}})
SELECT {{config.fields}}
FROM pawl_set_config_put

-- name: set_config_drop
DELETE FROM pawl_queue_config
WHERE queue IN (SELECT queue FROM pawl_set_config_drop)

-- name: set_request_new
INSERT INTO pawl_request_key ({{request.fields}})
SELECT {{request.fields}}
FROM pawl_set_request_new

-- name: set_request_put
INSERT OR REPLACE INTO pawl_request_key ({{request.fields}})
SELECT {{request.fields}}
FROM pawl_set_request_put

-- name: set_queue_put
UPDATE pawl_queue
SET {{queue.fields set s | no name}}
FROM pawl_set_queue_put AS s
WHERE pawl_queue.name = s.name

-- Flows. Their records are wanted in the same way.

-- name: flow_load
SELECT {{flow.fields of f | meta = NULL}}
FROM pawl_set_flow_put AS s
CROSS JOIN pawl_flow AS f ON f.id = s.id

-- name: flow_group_load
SELECT {{flow.group_fields of f}}
FROM pawl_set_flow_group_put AS s
CROSS JOIN pawl_flow_group AS f ON f.flow = s.flow AND f.no = s.no

-- name: flow_node_load
SELECT {{flow.node_fields of f}}
FROM pawl_set_flow_node_put AS s
CROSS JOIN pawl_flow_node AS f ON f.flow = s.flow AND f.no = s.no

-- name: deadline_load
SELECT {{deadline.fields of d}}
FROM pawl_set_deadline_put AS s
CROSS JOIN pawl_deadline AS d ON d.job_id = s.job_id

-- name: set_deadline_new
INSERT INTO pawl_deadline ({{deadline.fields}})
SELECT {{deadline.fields}}
FROM pawl_set_deadline_new

-- name: set_deadline_put
INSERT OR REPLACE INTO pawl_deadline ({{deadline.fields}})
SELECT {{deadline.fields}}
FROM pawl_set_deadline_put

-- name: set_deadline_drop
DELETE FROM pawl_deadline
WHERE job_id IN (SELECT job_id FROM pawl_set_deadline_drop)

-- name: flow_member_load
SELECT {{flow.member_fields of f}}
FROM pawl_set_flow_member_put AS s
CROSS JOIN pawl_flow_member AS f ON f.id = s.id

-- name: flow_edge_load
SELECT {{flow.edge_fields of f}}
FROM pawl_set_flow_edge_put AS s
CROSS JOIN pawl_flow_edge AS f ON f.flow = s.flow AND f.parent = s.parent

-- name: set_flow_new
INSERT INTO pawl_flow ({{flow.fields}})
SELECT {{flow.fields}}
FROM pawl_set_flow_new

-- name: set_flow_put
UPDATE pawl_flow
SET finished_at_ms = s.finished_at_ms, state = s.state, reopened = s.reopened, stops = s.stops,
    paused = s.paused, resets = s.resets,
    nodes = s.nodes, reason = s.reason, recount_at_ms = s.recount_at_ms,
    keep_ms = s.keep_ms, shelved = s.shelved
FROM pawl_set_flow_put AS s
WHERE pawl_flow.id = s.id

-- name: set_flow_group_new
INSERT INTO pawl_flow_group ({{flow.group_fields}})
SELECT {{flow.group_fields}}
FROM pawl_set_flow_group_new

-- name: set_flow_group_put
UPDATE pawl_flow_group
SET {{flow.group_fields set s | no flow | no no}}
FROM pawl_set_flow_group_put AS s
WHERE pawl_flow_group.flow = s.flow AND pawl_flow_group.no = s.no

-- name: set_flow_node_new
INSERT INTO pawl_flow_node ({{flow.node_fields}})
SELECT {{flow.node_fields}}
FROM pawl_set_flow_node_new

-- name: set_flow_node_put
UPDATE pawl_flow_node
SET state = s.state, pending = s.pending, good = s.good, dead = s.dead, broken = s.broken,
    blame = s.blame, given_up = s.given_up, finished_at_ms = s.finished_at_ms, reason = s.reason,
    result = s.result
FROM pawl_set_flow_node_put AS s
WHERE pawl_flow_node.flow = s.flow AND pawl_flow_node.no = s.no

-- name: set_flow_member_new
INSERT INTO pawl_flow_member ({{flow.member_fields}})
SELECT {{flow.member_fields}}
FROM pawl_set_flow_member_new

-- name: set_flow_member_put
INSERT OR REPLACE INTO pawl_flow_member ({{flow.member_fields}})
SELECT {{flow.member_fields}}
FROM pawl_set_flow_member_put

-- name: set_flow_edge_new
INSERT INTO pawl_flow_edge ({{flow.edge_fields}})
SELECT {{flow.edge_fields}}
FROM pawl_set_flow_edge_new

-- name: set_flow_edge_put
UPDATE pawl_flow_edge
SET verdict = s.verdict, reason = s.reason
FROM pawl_set_flow_edge_put AS s
WHERE pawl_flow_edge.flow = s.flow AND pawl_flow_edge.parent = s.parent
    AND pawl_flow_edge.child = s.child

-- name: flow_signal_load
SELECT {{flow.signal_fields of f}}
FROM pawl_set_flow_signal_put AS s
CROSS JOIN pawl_flow_signal AS f ON f.flow = s.flow AND f.no = s.no

-- name: set_flow_signal_new
INSERT INTO pawl_flow_signal ({{flow.signal_fields}})
SELECT {{flow.signal_fields}}
FROM pawl_set_flow_signal_new

-- name: set_flow_signal_put
UPDATE pawl_flow_signal
SET waits = s.waits, until_ms = s.until_ms, said = s.said, answer = s.answer
FROM pawl_set_flow_signal_put AS s
WHERE pawl_flow_signal.flow = s.flow AND pawl_flow_signal.no = s.no

-- name: flow_waits
SELECT {{flow.signal_fields}}
FROM pawl_flow_signal
WHERE signal_key = :name AND waits IS NOT NULL
ORDER BY flow, no
LIMIT :limit

-- name: flow_timer_load
SELECT {{flow.timer_fields of f}}
FROM pawl_set_flow_timer_put AS s
CROSS JOIN pawl_flow_timer AS f ON f.id = s.id

-- name: set_flow_timer_new
INSERT INTO pawl_flow_timer ({{flow.timer_fields}})
SELECT {{flow.timer_fields}}
FROM pawl_set_flow_timer_new

-- name: set_flow_timer_put
UPDATE pawl_flow_timer
SET at_ms = s.at_ms
FROM pawl_set_flow_timer_put AS s
WHERE pawl_flow_timer.id = s.id

-- name: set_flow_timer_drop
DELETE FROM pawl_flow_timer
WHERE id IN (SELECT id FROM pawl_set_flow_timer_drop)

-- name: flow_due
SELECT {{flow.timer_fields}}
FROM pawl_flow_timer
WHERE at_ms <= :now_ms
ORDER BY at_ms
LIMIT :limit

-- name: flow_next_due
SELECT at_ms
FROM pawl_flow_timer
ORDER BY at_ms
LIMIT 1

-- name: set_flow_drop
DELETE FROM pawl_flow
WHERE id IN (SELECT id FROM pawl_set_flow_drop)

-- name: set_flow_group_drop
DELETE FROM pawl_flow_group
WHERE (flow, no) IN (SELECT flow, no FROM pawl_set_flow_group_drop)

-- name: set_flow_node_drop
DELETE FROM pawl_flow_node
WHERE (flow, no) IN (SELECT flow, no FROM pawl_set_flow_node_drop)

-- name: set_flow_member_drop
DELETE FROM pawl_flow_member
WHERE id IN (SELECT id FROM pawl_set_flow_member_drop)

-- name: set_flow_edge_drop
DELETE FROM pawl_flow_edge
WHERE (flow, parent, child) IN (SELECT flow, parent, child FROM pawl_set_flow_edge_drop)

-- name: set_flow_signal_drop
DELETE FROM pawl_flow_signal
WHERE (flow, no) IN (SELECT flow, no FROM pawl_set_flow_signal_drop)
