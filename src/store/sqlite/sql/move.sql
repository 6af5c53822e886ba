-- The statements that move a job from one place to another.

-- name: ready_next
-- The index is the table: nothing is sorted. CROSS JOIN keeps the planner from turning it round.
-- Long arguments lie on pages of their own, which are read only for a job that is given.
SELECT r.rank, r.key, r.run, r.base_run, r.free_runs, j.tail, j.head, j.extras,
    {{job.head of j | args = CASE WHEN j.extras < 2 THEN j.args END}}
FROM pawl_ready AS r
CROSS JOIN pawl_job AS j ON j.key = r.key
WHERE r.lane = :lane AND (r.rank, r.key) > (:rank, :key)
ORDER BY r.rank, r.key
LIMIT :limit

-- name: ready_delete_through
-- All that ready_next gave out, in one sweep of the index.
DELETE FROM pawl_ready
WHERE lane = :lane AND (rank, key) <= (:rank, :key)

-- name: ready_delete
DELETE FROM pawl_ready
WHERE lane = :lane AND rank = :rank AND key = :key

-- name: head_get
SELECT low, high
FROM pawl_head

-- name: head_put
INSERT INTO pawl_head (id, low, high)
VALUES (1, :low, :high)
ON CONFLICT (id) DO UPDATE SET low = excluded.low, high = excluded.high

-- name: head_clear
DELETE FROM pawl_head

-- name: head_absorb
INSERT INTO pawl_ready (lane, rank, key, run, base_run, free_runs)
SELECT lane, rank, key, 0, 0, 0
FROM pawl_head_job

-- name: active_lapsed
-- A scan: the table holds only what runs just now, and an index would cost every claim and finish.
SELECT coalesce(j.head, j.key), j.tail
FROM pawl_active AS a
LEFT JOIN pawl_job AS j ON j.key = a.key
WHERE a.lease_until_ms <= :now_ms
ORDER BY a.lease_until_ms, a.key
LIMIT :limit

-- name: active_next_lease
SELECT min(lease_until_ms)
FROM pawl_active

-- name: wait_due
SELECT coalesce(j.head, j.key), j.tail, j.ties, w.lane, w.state, w.run
FROM pawl_wait AS w
LEFT JOIN pawl_job AS j ON j.key = w.key
WHERE w.state IN (1, 5) AND w.due_at_ms <= :now_ms
ORDER BY w.due_at_ms, w.key
LIMIT :limit

-- The first of wait_due, as many as have no ties.
-- fragment: due_plain
    FROM pawl_wait AS w
    CROSS JOIN pawl_job AS j ON j.key = w.key
    WHERE w.state IN (1, 5) AND w.due_at_ms <= :now_ms AND j.ties IS NULL
    ORDER BY w.due_at_ms, w.key
    LIMIT :limit

-- name: promote_enter
-- pawl_wait knows all that pawl_ready needs.
INSERT INTO pawl_ready (lane, rank, key, run, base_run, free_runs)
SELECT w.lane, w.rank, w.key, w.run, w.base_run, w.free_runs
{{due_plain}}

-- name: promote_leave
DELETE FROM pawl_wait
WHERE key IN (
    SELECT w.key
{{due_plain}}
)

-- name: job_next_due
SELECT min(due_at_ms)
FROM pawl_wait
WHERE state IN (1, 5)

-- name: wait_lapsed
SELECT coalesce(j.head, j.key), j.tail
FROM pawl_wait AS w
LEFT JOIN pawl_job AS j ON j.key = w.key
WHERE w.lease_until_ms IS NOT NULL AND w.lease_until_ms <= :now_ms
ORDER BY w.lease_until_ms, w.key
LIMIT :limit

-- name: wait_next_lease
SELECT min(lease_until_ms)
FROM pawl_wait
WHERE lease_until_ms IS NOT NULL

-- Members of flows (PAWL__TIE_FLOW, 8) go with them: flow_ended and flow_old.

-- name: done_completed
-- Bounded by what it looks at, not only by what it finds; the caller goes on from the last key.
SELECT d.key, coalesce(j.head, j.key), j.tail, d.lane,
    d.state = 7 AND d.finished_at_ms < :before_ms AND coalesce(j.ties, 0) & 8 = 0
FROM pawl_done AS d
LEFT JOIN pawl_job AS j ON j.key = d.key
WHERE d.key > :after AND d.key < :until
ORDER BY d.key
LIMIT :limit

-- name: done_ended
-- A discarded job that an operator paused is not done with.
SELECT d.key, coalesce(j.head, j.key), j.tail, d.lane
FROM pawl_done AS d
LEFT JOIN pawl_job AS j ON j.key = d.key
WHERE d.state <> 7 AND d.state = :state AND d.finished_at_ms < :before_ms
    AND coalesce(j.ties, 0) & 8 = 0
    AND NOT EXISTS (SELECT 1 FROM pawl_wait AS w WHERE w.key = d.key)
ORDER BY d.finished_at_ms
LIMIT :limit

-- name: archive_completed
SELECT key, coalesce(head, key), tail, lane,
    state = 7 AND finished_at_ms < :before_ms
        AND (keep_ms IS NULL OR finished_at_ms + keep_ms <= :kept_until_ms)
        AND coalesce(ties, 0) & 8 = 0
FROM pawl_archive
WHERE key > :after AND key < :until
ORDER BY key
LIMIT :limit

-- name: archive_old
SELECT key, coalesce(head, key), tail, lane
FROM pawl_archive
WHERE state <> 7 AND state = :state AND finished_at_ms < :before_ms
    AND (keep_ms IS NULL OR finished_at_ms + keep_ms <= :kept_until_ms)
    AND coalesce(ties, 0) & 8 = 0
ORDER BY finished_at_ms
LIMIT :limit

-- name: expiry_due
SELECT coalesce(j.head, j.key), j.tail
FROM pawl_expiry AS e
LEFT JOIN pawl_job AS j ON j.key = e.key
WHERE e.at_ms <= :now_ms
ORDER BY e.at_ms, e.key
LIMIT :limit

-- name: expiry_forget
-- Those that expiry_due found.
DELETE FROM pawl_expiry
WHERE (at_ms, key) IN (
    SELECT at_ms, key
    FROM pawl_expiry
    WHERE at_ms <= :now_ms
    ORDER BY at_ms, key
    LIMIT :limit
)

-- name: job_next_expiry
SELECT min(at_ms)
FROM pawl_expiry

-- name: deadline_due
SELECT {{deadline.fields}}
FROM pawl_deadline
WHERE at_ms < :before_ms
ORDER BY at_ms
LIMIT :limit

-- name: deadline_next
SELECT min(at_ms)
FROM pawl_deadline

-- name: key_forget
DELETE FROM pawl_key
WHERE (digest, id) IN (
    SELECT digest, id
    FROM pawl_key
    WHERE until_ms <= :now_ms
    ORDER BY until_ms
    LIMIT :limit
)

-- name: request_forget
DELETE FROM pawl_request_key
WHERE key IN (
    SELECT key
    FROM pawl_request_key
    WHERE until_ms <= :now_ms
    ORDER BY until_ms
    LIMIT :limit
)

-- name: count_add
-- Not an upsert: it would ask the CHECK about the change instead of the sum.
UPDATE pawl_count
SET n = n + :delta
WHERE lane = :lane AND state = :state

-- name: count_insert
INSERT INTO pawl_count (lane, state, n)
VALUES (:lane, :state, :delta)
