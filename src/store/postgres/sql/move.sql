-- The statements that move a job from one place to another.
--
-- The planner may believe that a table is empty when it is not any more, and then it joins by
-- comparing everything with everything. So no table is joined here that could be: rows are named
-- by = ANY, looked up by LATERAL with OFFSET 0 or by a scalar subquery, and sets are asked inside
-- CASE, where IN is a hash table. tests/postgres/plan_test.py looks at it.

-- name: ready_next
-- The best of each lane behind the place named. The index gives them in order and the LATERAL keeps
-- LIMIT and locks to one lane at a time; who comes second skips what the first one holds.
SELECT g.at, r.rank, r.run, r.base_run, r.free_runs, r.place, {{facts}}
FROM unnest(:lanes, :ranks, :ids) WITH ORDINALITY AS g (lane, rank, id, at)
CROSS JOIN LATERAL (
    SELECT l.id, l.rank, l.run, l.base_run, l.free_runs, l.ctid AS place
    FROM pawl_live AS l
    WHERE l.lane = g.lane AND l.state = 2 AND (l.rank, l.id) > (g.rank, g.id)
    ORDER BY l.rank, l.id
    LIMIT :limit
    FOR UPDATE SKIP LOCKED
) AS r
CROSS JOIN LATERAL (SELECT {{fact_columns}} FROM pawl_job WHERE id = r.id OFFSET 0) AS j

-- name: look
-- Is there anything to be claimed, promoted, taken back, expired, archived or purged? First entries
-- of indexes, and nothing but those.
SELECT now.ms,
    (SELECT version FROM pawl_catalog WHERE id = 1),
    EXISTS (SELECT 1 FROM pawl_live WHERE state = 2 AND lane = ANY (:lanes)),
    (SELECT due_at_ms FROM pawl_live WHERE state IN (1, 5) ORDER BY due_at_ms, id LIMIT 1),
    (SELECT lease_until_ms FROM pawl_live WHERE lease_until_ms IS NOT NULL
        ORDER BY lease_until_ms, id LIMIT 1),
    (SELECT expires_at_ms FROM pawl_live WHERE expires_at_ms IS NOT NULL AND state IN (1, 2, 3, 5)
        ORDER BY expires_at_ms, id LIMIT 1),
    (SELECT until_ms FROM pawl_key WHERE until_ms IS NOT NULL ORDER BY until_ms LIMIT 1),
    EXISTS (SELECT 1 FROM pawl_done
        WHERE state = ANY (:ended_states) AND finished_at_ms < :ended_before_ms),
    EXISTS (SELECT 1 FROM pawl_archive
        WHERE state = ANY (:old_states) AND finished_at_ms < :old_before_ms
            AND (keep_ms IS NULL OR finished_at_ms + keep_ms <= now.ms))
FROM (SELECT coalesce(:now_ms, (extract(epoch FROM clock_timestamp()) * 1000)::bigint)) AS now (ms)

-- name: live_insert
INSERT INTO pawl_live (id, rank, due_at_ms, run, base_run, free_runs, lane, state, paused_from,
    expires_at_ms, started_at_ms, lease_until_ms, worker, reason)
VALUES (:id, :rank, :due_at_ms, :run, :base_run, :free_runs, :lane, :state, :paused_from,
    :expires_at_ms, :started_at_ms, :lease_until_ms, :worker, :reason)

-- name: live_update
UPDATE pawl_live
SET rank = :rank, due_at_ms = :due_at_ms, run = :run, base_run = :base_run, free_runs = :free_runs,
    state = :state, paused_from = :paused_from, expires_at_ms = :expires_at_ms,
    started_at_ms = :started_at_ms, lease_until_ms = :lease_until_ms, worker = :worker,
    reason = :reason
WHERE id = :id

-- name: live_delete
DELETE FROM pawl_live
WHERE id = ANY (:ids)

-- name: live_rerank
UPDATE pawl_live
SET rank = :rank
WHERE id = :id

-- name: live_extend
-- A lease that has run out cannot be revived: somebody may be about to take the job. coalesce keeps
-- the planner from the index on leases, which would be read from its beginning.
UPDATE pawl_live AS l
SET lease_until_ms = coalesce((
    SELECT CASE
        WHEN j.timeout_ms IS NULL THEN NULL
        WHEN :timed THEN least(:lease_until_ms, l.started_at_ms + j.timeout_ms)
        ELSE :lease_until_ms
            + CASE WHEN :lease_until_ms = l.started_at_ms + j.timeout_ms THEN 1 ELSE 0 END
        END
    FROM pawl_job AS j
    WHERE j.id = l.id), :lease_until_ms)
WHERE l.id = ANY (:ids) AND l.state = 4 AND coalesce(l.lease_until_ms, 0) > :now_ms
    AND CASE WHEN (l.id, l.run) IN (SELECT g.id, g.run FROM unnest(:ids, :runs) AS g (id, run))
        THEN true ELSE false END
RETURNING l.id, l.run

-- name: job_known_many
SELECT g.at
FROM unnest(:ids) WITH ORDINALITY AS g (id, at)
WHERE (SELECT true FROM pawl_job AS j WHERE j.id = g.id)
    OR (SELECT true FROM pawl_archive AS j WHERE j.id = g.id)

-- name: live_lapsed
-- A row that somebody holds is being moved, or swept, already.
SELECT id
FROM pawl_live
WHERE lease_until_ms IS NOT NULL AND lease_until_ms <= :now_ms AND state = :state
ORDER BY lease_until_ms, id
LIMIT :limit
FOR UPDATE SKIP LOCKED

-- name: live_next_lease
SELECT (
    SELECT lease_until_ms
    FROM pawl_live
    WHERE lease_until_ms IS NOT NULL
    ORDER BY lease_until_ms, id
    LIMIT 1
)

-- name: live_due
SELECT id, lane, state, run
FROM pawl_live
WHERE state IN (1, 5) AND due_at_ms <= :now_ms
ORDER BY due_at_ms, id
LIMIT :limit
FOR UPDATE SKIP LOCKED

-- name: live_promote
UPDATE pawl_live
SET state = 2, started_at_ms = NULL, worker = NULL, reason = NULL
WHERE id = ANY (:ids)

-- name: live_next_due
SELECT (
    SELECT due_at_ms
    FROM pawl_live
    WHERE state IN (1, 5)
    ORDER BY due_at_ms, id
    LIMIT 1
)

-- name: live_expiring
SELECT id
FROM pawl_live
WHERE expires_at_ms IS NOT NULL AND state IN (1, 2, 3, 5) AND expires_at_ms <= :now_ms
ORDER BY expires_at_ms, id
LIMIT :limit
FOR UPDATE SKIP LOCKED

-- name: live_next_expiry
SELECT (
    SELECT expires_at_ms
    FROM pawl_live
    WHERE expires_at_ms IS NOT NULL AND state IN (1, 2, 3, 5)
    ORDER BY expires_at_ms, id
    LIMIT 1
)

-- name: done_insert
INSERT INTO pawl_done (id, lane, state, run, base_run, free_runs, started_at_ms, finished_at_ms,
    dead_letter, worker, reason, result)
VALUES (:id, :lane, :state, :run, :base_run, :free_runs, :started_at_ms, :finished_at_ms,
    :dead_letter, :worker, :reason, :result)

-- name: done_delete
DELETE FROM pawl_done
WHERE id = ANY (:ids)

-- name: done_ended
-- A discarded job that an operator paused is not done with.
SELECT d.id, d.lane
FROM pawl_done AS d
WHERE d.state = :state AND d.finished_at_ms < :before_ms
    AND (SELECT true FROM pawl_live AS l WHERE l.id = d.id) IS NULL
ORDER BY d.finished_at_ms
LIMIT :limit
FOR UPDATE OF d SKIP LOCKED

-- name: archive_old
SELECT id, lane, tags, keys
FROM pawl_archive
WHERE state = :state AND finished_at_ms < :before_ms
    AND (keep_ms IS NULL OR finished_at_ms + keep_ms <= :now_ms)
ORDER BY finished_at_ms
LIMIT :limit
FOR UPDATE SKIP LOCKED

-- name: key_forget
DELETE FROM pawl_key
WHERE ctid = ANY (ARRAY (
    SELECT ctid
    FROM pawl_key
    WHERE until_ms IS NOT NULL AND until_ms <= :now_ms
    ORDER BY until_ms
    LIMIT :limit
    FOR UPDATE SKIP LOCKED
))

-- name: failure_insert
INSERT INTO pawl_failure (id, run, attempt, lapsed, started_at_ms, failed_at_ms, retry_delay_ms,
    worker, type, code, message, details)
VALUES (:id, :run, :attempt, :lapsed, :started_at_ms, :failed_at_ms, :retry_delay_ms,
    :worker, :type, :code, :message, :details)

-- name: failure_trim
-- Lapses stay: they are the crash credits.
DELETE FROM pawl_failure
WHERE id = :id AND run <= :run AND NOT lapsed

-- name: failure_crashes
SELECT count(*)
FROM pawl_failure
WHERE id = :id AND run > :base_run AND lapsed

-- name: failure_delete
DELETE FROM pawl_failure
WHERE id = ANY (:ids)

-- name: progress_get
SELECT run, value, message, data
FROM pawl_progress
WHERE id = :id

-- name: progress_put
INSERT INTO pawl_progress (id, run, at_ms, value, message, data)
VALUES (:id, :run, :at_ms, :value, :message, :data)
ON CONFLICT (id) DO UPDATE
SET run = excluded.run, at_ms = excluded.at_ms, value = excluded.value,
    message = excluded.message, data = excluded.data

-- name: progress_delete
DELETE FROM pawl_progress
WHERE id = ANY (:ids)

-- name: checkpoint_put
INSERT INTO pawl_checkpoint (id, sequence, at_ms, state)
VALUES (:id, 1, :at_ms, :state)
ON CONFLICT (id) DO UPDATE
SET sequence = pawl_checkpoint.sequence + 1, at_ms = excluded.at_ms, state = excluded.state
RETURNING sequence

-- name: checkpoint_delete
DELETE FROM pawl_checkpoint
WHERE id = ANY (:ids)

-- name: log_insert
INSERT INTO pawl_log (id, run, at_ms, level, text)
VALUES (:id, :run, :at_ms, :level, :text)

-- name: log_trim
DELETE FROM pawl_log
WHERE id = :id AND seq <= (
    SELECT seq
    FROM pawl_log
    WHERE id = :id
    ORDER BY seq DESC
    OFFSET :keep
    LIMIT 1
)

-- name: log_delete
DELETE FROM pawl_log
WHERE id = ANY (:ids)
