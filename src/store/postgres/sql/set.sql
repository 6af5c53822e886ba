-- The working set: what one commit batch is about is read and written by a few statements; see
-- set.c. How rows are named, and why, is said in move.sql.

-- fragment: set_facts
    j.id, j.lane, j.priority, j.attempts_max, j.created_at_ms, j.due_at_ms, j.expires_at_ms,
    j.timeout_ms, j.sla_soft_at_ms, j.sla_hard_at_ms, j.retry, j.keys, j.arrival, j.state, j.run,
    j.base_run, j.free_runs, j.started_at_ms, j.worker, j.finished_at_ms, j.dead_letter, j.reason

-- name: set_live
-- Locks the jobs, in one order for all, against all but those who only keep them from being
-- deleted. A row that another transaction held is read as that one left it.
SELECT {{set_facts}}, j.rank, j.paused_from, j.lease_until_ms, j.end_reason, j.ctid
FROM pawl_job AS j
WHERE j.id = ANY (:ids)
ORDER BY j.id
FOR NO KEY UPDATE

-- name: set_archived
SELECT {{set_facts}}
FROM pawl_archive AS j
WHERE j.id = ANY (:ids)
ORDER BY j.id
FOR UPDATE

-- name: set_crashes
SELECT id, run
FROM pawl_failure
WHERE id = ANY (:ids) AND lapsed

-- name: set_holders
SELECT digest, id, until_ms
FROM pawl_key
WHERE digest = ANY (:digests)
ORDER BY digest DESC, id DESC

-- fragment: set_columns
    due_at_ms = g.due_at_ms, rank = g.rank, expires_at_ms = g.expires_at_ms, run = g.run,
    base_run = g.base_run, free_runs = g.free_runs, state = g.state, paused_from = g.paused_from,
    waits = g.state IN (1, 5), held = g.state IN (3, 6),
    perishes = g.expires_at_ms IS NOT NULL AND g.state IN (1, 2, 3, 5),
    started_at_ms = g.started_at_ms, lease_until_ms = g.lease_until_ms,
    finished_at_ms = g.finished_at_ms, dead_letter = g.dead_letter <> 0, worker = g.worker,
    reason = g.reason, end_reason = g.end_reason,
    result = CASE WHEN g.keeps_result <> 0 THEN j.result ELSE g.result END

-- fragment: set_lists
    :dues, :ranks, :expiries, :runs, :base_runs, :free_runs, :states, :pauses, :starts, :leases,
    :finishes, :dead_letters, :workers, :reasons, :end_reasons, :keeps, :results

-- fragment: set_names
    due_at_ms, rank, expires_at_ms, run, base_run, free_runs, state, paused_from, started_at_ms,
    lease_until_ms, finished_at_ms, dead_letter, worker, reason, end_reason, keeps_result, result

-- name: set_write
-- The rows are locked, so they are where they were when they were read.
UPDATE pawl_job AS j
SET {{set_columns}}
FROM unnest(:places, {{set_lists}}) AS g (place, {{set_names}})
WHERE j.ctid = g.place

-- name: set_write_restored
-- The same for jobs that have just come back from the archive.
WITH g AS MATERIALIZED (
    SELECT r.place, l.*
    FROM unnest(:ids, {{set_lists}}) AS l (id, {{set_names}})
    CROSS JOIN LATERAL (
        SELECT j.ctid AS place
        FROM pawl_job AS j
        WHERE j.id = l.id
        OFFSET 0
    ) AS r
)
UPDATE pawl_job AS j
SET {{set_columns}}
FROM g
WHERE j.ctid = g.place

-- name: set_failures
INSERT INTO pawl_failure (id, run, attempt, lapsed, started_at_ms, failed_at_ms, retry_delay_ms,
    worker, type, code, message, details)
SELECT g.id, g.run, g.attempt, g.lapsed <> 0, g.started_at_ms, :now_ms, g.delay_ms,
    coalesce(g.worker, ''), g.type, g.code, g.message, g.details
FROM unnest(:ids, :runs, :attempts, :lapses, :starts, :delays, :workers, :types, :codes, :messages,
        :details)
    AS g (id, run, attempt, lapsed, started_at_ms, delay_ms, worker, type, code, message, details)

-- name: set_audits
INSERT INTO pawl_deed (at_ms, job_id, action, actor, reason, from_state, to_state)
SELECT :now_ms, g.id, g.action, g.actor, g.reason, g.from_state, g.to_state
FROM unnest(:ids, :actions, :actors, :reasons, :froms, :tos)
    AS g (id, action, actor, reason, from_state, to_state)
