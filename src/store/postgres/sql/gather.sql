-- Whole batches in one statement.

-- name: gathered_jobs_plain
INSERT INTO pawl_job (id, lane, priority, attempts_max, created_at_ms, due_at_ms, rank, state,
    waits, held, perishes, arrival, args, {{unborn}})
SELECT id, lane, priority, attempts_max, :now_ms, due_at_ms, rank, state,
    state = 1, state = 3, false, arrival, args, 0, 0, 0, false
FROM unnest(:ids, :lanes, :priorities, :attempts, :dues, :ranks, :states, :arrivals, :args)
    AS g (id, lane, priority, attempts_max, due_at_ms, rank, state, arrival, args)
ON CONFLICT (id) DO NOTHING
RETURNING id

-- Most jobs of a batch differ in little: each list that need not be taken apart, each id that need
-- not be looked for before it is written, makes a row cheaper.
-- name: gathered_jobs_alike
INSERT INTO pawl_job (id, lane, priority, attempts_max, created_at_ms, due_at_ms, rank, state,
    waits, held, perishes, args, {{unborn}})
SELECT id, :lane, :priority, :attempts_max, :now_ms, :due_at_ms, :rank, :state,
    :waits, :held, false, args, 0, 0, 0, false
FROM unnest(:ids, :args) AS g (id, args)

-- name: gathered_jobs
INSERT INTO pawl_job ({{fact_columns}}, rank, state, waits, held, perishes, arrival, {{unborn}})
SELECT id, lane, priority, attempts_max, :now_ms, due_at_ms, args, expires_at_ms, timeout_ms,
    lease_ms, sla_soft_at_ms, sla_hard_at_ms, keep_ms, meta, extra, tags, retry, uniqueness, keys,
    idempotency_key, business_key, principal, trace_id, rank, state,
    state = 1, state = 3, expires_at_ms IS NOT NULL, arrival, 0, 0, 0, false
FROM unnest(:ids, :lanes, :priorities, :attempts, :dues, :ranks, :states, :arrivals, :args,
        :expiries, :timeouts, :leases, :softs, :hards, :keeps, :metas, :extras, :tags, :retries,
        :uniques, :keys, :idempotencies, :businesses, :principals, :traces)
    AS g (id, lane, priority, attempts_max, due_at_ms, rank, state, arrival, args, expires_at_ms,
        timeout_ms, lease_ms, sla_soft_at_ms, sla_hard_at_ms, keep_ms, meta, extra, tags, retry,
        uniqueness, keys, idempotency_key, business_key, principal, trace_id)
ON CONFLICT (id) DO NOTHING
RETURNING id

-- name: gathered_keys
INSERT INTO pawl_key (digest, id, until_ms)
SELECT digest, id, until_ms
FROM unnest(:digests, :ids, :untils) AS g (digest, id, until_ms)
ON CONFLICT (digest, id) DO UPDATE SET until_ms = excluded.until_ms

-- name: gathered_done_alike
-- As gathered_done, for runs of one number without results.
UPDATE pawl_job
SET state = 7, lease_until_ms = NULL, finished_at_ms = :now_ms
WHERE id = ANY (:ids) AND state = 4 AND run = :run
RETURNING id, lane

-- name: gathered_done
-- Only runs that are still their owners'; which they were comes back. Each id once. What was found
-- may be moved by another before it is written, so its run is asked about again then.
WITH found AS MATERIALIZED (
    SELECT g.at, g.run, g.result, r.place
    FROM unnest(:ids, :runs, :results) WITH ORDINALITY AS g (id, run, result, at)
    CROSS JOIN LATERAL (
        SELECT j.ctid AS place
        FROM pawl_job AS j
        WHERE j.id = g.id AND j.state = 4 AND j.run = g.run
        OFFSET 0
    ) AS r
)
UPDATE pawl_job AS j
SET state = 7, lease_until_ms = NULL, finished_at_ms = :now_ms, result = found.result
FROM found
WHERE j.ctid = found.place AND j.state = 4 AND j.run = found.run
RETURNING found.at, j.lane
