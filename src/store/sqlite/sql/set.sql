-- The working set: pawl_set_row, pawl_set_failure and pawl_set_audit are virtual tables over arrays
-- that set.c holds. Rows are in order of key.

-- fragment: set_facts
    j.key, j.lane, j.priority, j.attempts_max, j.created_at_ms, j.due_at_ms, j.rank,
    j.expires_at_ms, j.timeout_ms, j.sla_soft_at_ms, j.sla_hard_at_ms, j.retry, j.keys

-- name: set_active
-- Runs. What is not found here is looked for by set_live.
SELECT s.at, {{set_facts}},
    a.run, a.base_run, a.free_runs, a.started_at_ms, a.lease_until_ms, a.worker
FROM pawl_set_row AS s
CROSS JOIN pawl_active AS a ON a.key = s.key
CROSS JOIN pawl_job AS j ON j.key = a.key
WHERE a.tail = s.tail

-- name: set_live
SELECT s.at, {{set_facts}},
    coalesce(w.run, a.run, d.run, r.run, 0),
    coalesce(w.base_run, a.base_run, d.base_run, r.base_run, 0),
    coalesce(w.free_runs, a.free_runs, d.free_runs, r.free_runs, 0),
    coalesce(w.started_at_ms, a.started_at_ms, d.started_at_ms),
    coalesce(w.lease_until_ms, a.lease_until_ms),
    coalesce(w.worker, a.worker, d.worker),
    CASE WHEN w.key IS NOT NULL THEN w.state
         WHEN a.key IS NOT NULL THEN 4
         WHEN d.key IS NOT NULL THEN d.state
         ELSE 2 END,
    w.paused_from, d.finished_at_ms, d.dead_letter, w.reason, d.reason
FROM pawl_set_row AS s
CROSS JOIN pawl_job AS j ON j.key = s.key
{{places}}
WHERE j.tail = s.tail AND coalesce(j.head, j.key) = s.head

-- name: set_archived
SELECT 0, {{set_facts}},
    j.run, j.base_run, j.free_runs, j.started_at_ms, NULL, j.worker,
    j.state, NULL, j.finished_at_ms, j.dead_letter, NULL, j.reason
FROM pawl_archive AS j
WHERE j.key = :key

-- name: set_facts_write
UPDATE pawl_job
SET due_at_ms = s.due_at_ms, rank = s.rank, expires_at_ms = s.expires_at_ms
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

-- name: set_enter_wait
INSERT INTO pawl_wait (key, lane, state, paused_from, rank, run, base_run, free_runs, due_at_ms,
    started_at_ms, lease_until_ms, worker, reason)
SELECT key, lane, state, paused_from, rank, run, base_run, free_runs, due_at_ms,
    started_at_ms, lease_until_ms, worker, reason
FROM pawl_set_row

-- name: set_enter_done
INSERT INTO pawl_done (key, lane, state, run, base_run, free_runs, started_at_ms, finished_at_ms,
    dead_letter, worker, reason, result)
SELECT key, lane, end_state, run, base_run, free_runs, started_at_ms, finished_at_ms,
    dead_letter, worker, end_reason, result
FROM pawl_set_row

-- name: set_expiry
-- While a job ran or was paused its expiry may have been looked at and put away.
INSERT OR IGNORE INTO pawl_expiry (at_ms, key)
SELECT expires_at_ms, key
FROM pawl_set_row

-- name: set_failures
INSERT INTO pawl_failure (key, run, attempt, lapsed, started_at_ms, failed_at_ms, retry_delay_ms,
    worker, type, code, message, details)
SELECT key, run, attempt, lapsed, started_at_ms, :now_ms, retry_delay_ms,
    worker, type, code, message, details
FROM pawl_set_failure

-- name: set_audits
INSERT INTO pawl_deed (at_ms, job_id, action, actor, reason, from_state, to_state)
SELECT :now_ms, job_id, action, actor, reason, from_state, to_state
FROM pawl_set_audit
