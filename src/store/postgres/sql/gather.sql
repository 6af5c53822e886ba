-- Whole batches in one statement.

-- name: gathered_jobs_plain
INSERT INTO pawl_job (id, lane, rank, state, waits, held, perishes, arrival, {{job.head}},
    {{unborn}})
SELECT id, lane, rank, state, state = 1, state = 3, false, arrival,
    {{job.head | created_at_ms = :now_ms}}, 0, 0, 0, false
FROM unnest(:ids, :lanes, :ranks, :states, :arrivals, {{job.head bound | no created_at_ms}})
    AS g (id, lane, rank, state, arrival, {{job.head | no created_at_ms}})
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
INSERT INTO pawl_job (id, lane, rank, state, waits, held, perishes, arrival, keys, {{job.facts}},
    {{unborn}})
SELECT id, lane, rank, state, state = 1, state = 3, expires_at_ms IS NOT NULL, arrival, keys,
    {{job.facts | created_at_ms = :now_ms}}, 0, 0, 0, false
FROM unnest(:ids, :lanes, :ranks, :states, :arrivals, {{job.facts bound | no created_at_ms}}, :keys)
    AS g (id, lane, rank, state, arrival, {{job.facts | no created_at_ms}}, keys)
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
WHERE id = ANY (:ids) AND state = 4 AND run = :run AND ties IS NULL
RETURNING id, lane

-- name: gathered_done
-- Only runs that are still their owners', of jobs without ties; which they were comes back. Each
-- id once. What was found may be moved by another before it is written, so its run is asked about
-- again then.
WITH found AS MATERIALIZED (
    SELECT g.at, g.run, g.result, r.place
    FROM unnest(:ids, :runs, :results) WITH ORDINALITY AS g (id, run, result, at)
    CROSS JOIN LATERAL (
        SELECT j.ctid AS place
        FROM pawl_job AS j
        WHERE j.id = g.id AND j.state = 4 AND j.run = g.run AND j.ties IS NULL
        OFFSET 0
    ) AS r
)
UPDATE pawl_job AS j
SET state = 7, lease_until_ms = NULL, finished_at_ms = :now_ms, result = found.result
FROM found
WHERE j.ctid = found.place AND j.state = 4 AND j.run = found.run AND j.ties IS NULL
RETURNING found.at, j.lane
