-- Whole batches in one statement: gathered_* are virtual tables over rows that plain.c holds.

-- name: gathered_active
INSERT INTO pawl_active (key, tail, lane, run, base_run, free_runs, started_at_ms, lease_until_ms,
    worker)
SELECT key, tail, lane, run, base_run, free_runs, started_at_ms, lease_until_ms, worker
FROM gathered_run

-- name: gathered_done
-- gathered_own notes that the row's run is still its owner's, and of which lane it is.
INSERT INTO pawl_done (key, lane, state, run, base_run, free_runs, started_at_ms, finished_at_ms,
    dead_letter, worker, result)
SELECT gathered_own(g.at, a.lane, a.key), a.lane, 7, a.run, a.base_run, a.free_runs,
    a.started_at_ms, g.finished_at_ms, 0, a.worker, g.result
FROM gathered_end AS g
CROSS JOIN pawl_active AS a ON a.key = g.key
WHERE a.tail = g.tail AND a.run = g.run

-- name: gathered_left
DELETE FROM pawl_active
WHERE key IN (SELECT key FROM gathered_end WHERE owned)
