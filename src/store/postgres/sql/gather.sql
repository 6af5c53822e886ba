-- Whole batches in one statement.

-- name: gathered_jobs_plain
INSERT INTO pawl_job (id, lane, priority, attempts_max, created_at_ms, due_at_ms, args)
SELECT id, lane, priority, attempts_max, :now_ms, due_at_ms, args
FROM unnest(:ids, :lanes, :priorities, :attempts, :dues, :args)
    AS g (id, lane, priority, attempts_max, due_at_ms, args)
ON CONFLICT (id) DO NOTHING
RETURNING id

-- Most jobs of a batch differ in little: each list that need not be taken apart, each id that need
-- not be looked for before it is written, is a fifth of the cost of a row.
-- name: gathered_jobs_alike
INSERT INTO pawl_job (id, lane, priority, attempts_max, created_at_ms, due_at_ms, args)
SELECT id, :lane, :priority, :attempts_max, :now_ms, :due_at_ms, args
FROM unnest(:ids, :args) AS g (id, args)

-- name: gathered_live_alike
INSERT INTO pawl_live (id, rank, due_at_ms, run, base_run, free_runs, lane, state)
SELECT id, :rank, :due_at_ms, 0, 0, 0, :lane, :state
FROM unnest(:ids) AS g (id)

-- name: gathered_jobs
INSERT INTO pawl_job ({{fact_columns}})
SELECT id, lane, priority, attempts_max, :now_ms, due_at_ms, args, expires_at_ms, timeout_ms,
    lease_ms, sla_soft_at_ms, sla_hard_at_ms, keep_ms, meta, extra, tags, retry, uniqueness, keys,
    idempotency_key, business_key, principal, trace_id
FROM unnest(:ids, :lanes, :priorities, :attempts, :dues, :args, :expiries, :timeouts, :leases,
        :softs, :hards, :keeps, :metas, :extras, :tags, :retries, :uniques, :keys, :idempotencies,
        :businesses, :principals, :traces)
    AS g (id, lane, priority, attempts_max, due_at_ms, args, expires_at_ms, timeout_ms, lease_ms,
        sla_soft_at_ms, sla_hard_at_ms, keep_ms, meta, extra, tags, retry, uniqueness, keys,
        idempotency_key, business_key, principal, trace_id)
ON CONFLICT (id) DO NOTHING
RETURNING id

-- name: gathered_live
INSERT INTO pawl_live (id, rank, due_at_ms, run, base_run, free_runs, lane, state, expires_at_ms)
SELECT id, rank, due_at_ms, 0, 0, 0, lane, state, expires_at_ms
FROM unnest(:ids, :ranks, :dues, :lanes, :states, :expiries)
    AS g (id, rank, due_at_ms, lane, state, expires_at_ms)
ON CONFLICT (id) DO NOTHING
RETURNING id

-- name: gathered_keys
INSERT INTO pawl_key (digest, id, until_ms)
SELECT digest, id, until_ms
FROM unnest(:digests, :ids, :untils) AS g (digest, id, until_ms)
ON CONFLICT (digest, id) DO UPDATE SET until_ms = excluded.until_ms

-- name: gathered_active
-- Rows that ready_next has locked.
UPDATE pawl_live
SET state = 4, run = run + 1, started_at_ms = :now_ms, lease_until_ms = :lease_until_ms,
    worker = :worker, reason = NULL
WHERE ctid = ANY (:places)

-- name: gathered_done_alike
-- As gathered_done, for runs of one number without results.
WITH gone AS (
    DELETE FROM pawl_live
    WHERE id = ANY (:ids) AND state = 4 AND run = :run
    RETURNING id, lane, run, base_run, free_runs, started_at_ms, worker
)
INSERT INTO pawl_done (id, lane, state, run, base_run, free_runs, started_at_ms, finished_at_ms,
    dead_letter, worker)
SELECT id, lane, 7, run, base_run, free_runs, started_at_ms, :now_ms, false, worker
FROM gone
RETURNING id, lane

-- name: gathered_done
-- Only runs that are still their owners'; which they were comes back. Each id once. What was found
-- may be moved by another before it is deleted, so its run is asked about again then.
WITH found AS MATERIALIZED (
    SELECT g.at, g.result, r.place, r.id, r.lane, r.run, r.base_run, r.free_runs, r.started_at_ms,
        r.worker
    FROM unnest(:ids, :runs, :results) WITH ORDINALITY AS g (id, run, result, at)
    CROSS JOIN LATERAL (
        SELECT l.ctid AS place, l.id, l.lane, l.run, l.base_run, l.free_runs, l.started_at_ms,
            l.worker
        FROM pawl_live AS l
        WHERE l.id = g.id AND l.state = 4 AND l.run = g.run
        OFFSET 0
    ) AS r
), gone AS (
    DELETE FROM pawl_live AS l
    WHERE l.ctid = ANY (ARRAY (SELECT place FROM found)) AND l.state = 4
        AND CASE WHEN (l.id, l.run) IN (SELECT id, run FROM found) THEN true ELSE false END
    RETURNING l.id
), ended AS (
    INSERT INTO pawl_done (id, lane, state, run, base_run, free_runs, started_at_ms,
        finished_at_ms, dead_letter, worker, result)
    SELECT id, lane, 7, run, base_run, free_runs, started_at_ms, :now_ms, false, worker, result
    FROM found
    WHERE CASE WHEN id IN (SELECT id FROM gone) THEN true ELSE false END
)
SELECT at, lane
FROM found
WHERE CASE WHEN id IN (SELECT id FROM gone) THEN true ELSE false END
