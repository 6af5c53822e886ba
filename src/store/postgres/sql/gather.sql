-- Whole batches of completions in one statement.

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
