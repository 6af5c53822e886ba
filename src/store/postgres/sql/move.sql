-- The statements that move a job from one place to another.
--
-- The planner may believe that a table is empty when it is not any more, and then it joins by
-- comparing everything with everything. So no table is joined here that could be: rows are named
-- by = ANY, looked up by LATERAL with OFFSET 0 or by a scalar subquery, and sets are asked inside
-- CASE, where IN is a hash table. tests/postgres/plan_test.py looks at it.

-- name: ready_next
-- The first rows of each lane behind the place named, so many of each. The index gives them in
-- order and the LATERAL keeps LIMIT and locks to one lane at a time; who comes second skips what
-- the first one holds.
SELECT g.at, r.rank, r.seat, r.place, r.ids
FROM unnest(:lanes, :ranks, :seats, :limits) WITH ORDINALITY AS g (lane, rank, seat, rows, at)
CROSS JOIN LATERAL (
    SELECT l.rank, l.seat, l.ids, l.ctid AS place
    FROM pawl_ready AS l
    WHERE l.lane = g.lane AND (l.rank, l.seat) > (g.rank, g.seat)
    ORDER BY l.rank, l.seat
    LIMIT g.rows
    FOR UPDATE SKIP LOCKED
) AS r

-- name: ready_ahead
-- Of the first :wanted ids of these lanes behind the place named, in order, those up to the last
-- job that can be given: how many of each lane, and on how many rows of the roll. So many rows of
-- each lane are looked at; nothing counts that comes behind the last of them, if the lane may go
-- on. Nothing is locked: it says how much is to be.
SELECT c.lane_at, count(*), count(*) FILTER (WHERE c.at = 1)
FROM (
    SELECT s.lane_at, s.at, count(*) FILTER (WHERE s.good) OVER (ORDER BY s.rank, s.seat, s.at
        ROWS BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING) AS before
    FROM (
        SELECT r.lane_at, r.rank, r.seat, i.at, (
            SELECT coalesce(j.expires_at_ms > :now_ms, true)
            FROM pawl_job AS j
            WHERE j.id = i.id AND j.state = 2
        ) AS good
        FROM (
            SELECT g.at AS lane_at, l.rank, l.seat, l.ids,
                sum(cardinality(l.ids)) OVER before_it AS ids_before,
                bool_or(l.nth = g.rows) OVER before_it AS is_behind
            FROM unnest(:lanes, :limits) WITH ORDINALITY AS g (lane, rows, at)
            CROSS JOIN LATERAL (
                SELECT f.rank, f.seat, f.ids, row_number() OVER (ORDER BY f.rank, f.seat) AS nth
                FROM pawl_ready AS f
                WHERE f.lane = g.lane AND (f.rank, f.seat) > (:rank, :seat)
                ORDER BY f.rank, f.seat
                LIMIT g.rows
            ) AS l
            WINDOW before_it AS (ORDER BY l.rank, l.seat
                ROWS BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING)
        ) AS r
        CROSS JOIN LATERAL unnest(r.ids) WITH ORDINALITY AS i (id, at)
        WHERE coalesce(r.ids_before, 0) < :wanted AND r.is_behind IS NOT TRUE
        ORDER BY r.rank, r.seat, i.at
        LIMIT :wanted
    ) AS s
) AS c
WHERE c.before < :givable
GROUP BY c.lane_at

-- name: ready_any
SELECT EXISTS (SELECT 1 FROM pawl_ready WHERE lane = ANY (:lanes))

-- name: ready_delete
DELETE FROM pawl_ready
WHERE ctid = ANY (:places)

-- name: ready_rest
UPDATE pawl_ready
SET seat = (:ids)[1], ids = :ids
WHERE ctid = ANY (:places)

-- name: ready_put
INSERT INTO pawl_ready (lane, rank, seat, ids)
SELECT g.lane, g.rank, g.seat, (:ids)[g.first::integer:g.last::integer]
FROM unnest(:lanes, :ranks, :firsts, :lasts, :seats) AS g (lane, rank, first, last, seat)

-- name: lease_put
INSERT INTO pawl_lease (until_ms, worker, ids)
SELECT g.until_ms, g.worker, (:ids)[g.first::integer:g.last::integer]
FROM unnest(:untils, :workers, :firsts, :lasts) AS g (until_ms, worker, first, last)

-- name: ended_put
INSERT INTO pawl_ended (state, finished_at_ms, ids)
SELECT g.state, g.finished_at_ms, (:ids)[g.first::integer:g.last::integer]
FROM unnest(:states, :finished, :firsts, :lasts) AS g (state, finished_at_ms, first, last)

-- pawl__lease_of in SQL: tests/settle compares.
-- fragment: lease_ms
    CASE WHEN j.lease_ms < :lease_min THEN :lease_min ELSE coalesce(j.lease_ms, :lease_ms) END

-- fragment: lease_end
    :now_ms + CASE
        WHEN j.timeout_ms IS NULL THEN {{lease_ms}}
        WHEN :timed THEN least(j.timeout_ms, {{lease_ms}})
        WHEN j.timeout_ms = {{lease_ms}} THEN j.timeout_ms + 1
        ELSE {{lease_ms}} END

-- name: claim_take
-- xmax: those that nobody holds. A row that somebody holds must not be waited for. It is also that
-- of one who held it and moved it here, by a retry or a promotion: claim.c looks at what is left,
-- and so at jobs with ties. That of a member of a flow (8) does not concern claims.
UPDATE pawl_job AS j
SET state = 4, run = j.run + 1, started_at_ms = :now_ms, lease_until_ms = {{lease_end}},
    worker = :worker, reason = NULL, perishes = false
WHERE j.id = ANY (:ids) AND j.state = 2 AND j.rank <= :rank_max AND j.xmax = '0'::xid
    AND (j.ties IS NULL OR j.ties = 8)
    AND (j.expires_at_ms IS NULL OR j.expires_at_ms > :now_ms)
RETURNING j.rank, j.run, j.base_run, j.free_runs, j.lease_until_ms, octet_length(j.args),
    {{claimed_facts}}

-- name: claim_take_light
-- The same if they are not too heavy together, else none: claim.c then chooses. The length is known
-- without reading what it is of.
UPDATE pawl_job AS j
SET state = 4, run = j.run + 1, started_at_ms = :now_ms, lease_until_ms = {{lease_end}},
    worker = :worker, reason = NULL, perishes = false
WHERE j.id = ANY (:ids) AND j.state = 2 AND j.rank <= :rank_max AND j.xmax = '0'::xid
    AND (j.ties IS NULL OR j.ties = 8)
    AND (j.expires_at_ms IS NULL OR j.expires_at_ms > :now_ms)
    AND (SELECT sum(octet_length(args)) FROM pawl_job WHERE id = ANY (:ids)) <= :bytes_max
RETURNING j.rank, j.run, j.base_run, j.free_runs, j.lease_until_ms, octet_length(j.args),
    {{claimed_facts}}

-- name: claim_left
SELECT j.id, j.rank
FROM pawl_job AS j
WHERE j.id = ANY (:ids) AND j.state = 2 AND j.rank <= :rank_max

-- name: claim_hold
-- Those that have expired, and of the others the best, as many as can be given.
WITH expired AS MATERIALIZED (
    SELECT j.id, j.rank, octet_length(j.args) AS bytes
    FROM pawl_job AS j
    WHERE j.id = ANY (:ids) AND j.state = 2 AND j.rank <= :rank_max AND j.expires_at_ms <= :now_ms
    FOR NO KEY UPDATE SKIP LOCKED
), others AS MATERIALIZED (
    SELECT j.id, j.rank, octet_length(j.args) AS bytes
    FROM pawl_job AS j
    WHERE j.id = ANY (:ids) AND j.state = 2 AND j.rank <= :rank_max
        AND (j.expires_at_ms IS NULL OR j.expires_at_ms > :now_ms)
    ORDER BY j.rank, coalesce(j.arrival, j.id)
    LIMIT :givable
    FOR NO KEY UPDATE SKIP LOCKED
)
SELECT id, rank, bytes, true AS expired
FROM expired
UNION ALL
SELECT id, rank, bytes, false
FROM others

-- Is the row of the roll of any use?
-- fragment: lease_good
    EXISTS (SELECT 1 FROM pawl_job AS j
        WHERE j.id = ANY (l.ids) AND j.lease_until_ms = l.until_ms)

-- name: peek
-- Is there anything to be claimed, promoted, taken back, expired, archived, purged or settled, or a
-- deadline?
-- First entries of indexes, and nothing but those. Sixteen rows of leases that are of no use are
-- worth a sweep.
SELECT now.ms,
    (SELECT version FROM pawl_catalog WHERE id = 1),
    EXISTS (SELECT 1 FROM pawl_ready WHERE lane = ANY (:lanes)),
    (SELECT due_at_ms FROM pawl_job WHERE waits ORDER BY due_at_ms, id LIMIT 1),
    (SELECT coalesce(min(until_ms) FILTER (WHERE good), CASE count(*) WHEN 16 THEN now.ms END)
        FROM (SELECT l.until_ms, {{lease_good}} AS good FROM pawl_lease AS l
            ORDER BY l.until_ms LIMIT 16) AS first_rows),
    (SELECT expires_at_ms FROM pawl_job WHERE perishes ORDER BY expires_at_ms, id LIMIT 1),
    least((SELECT until_ms FROM pawl_key WHERE until_ms IS NOT NULL ORDER BY until_ms LIMIT 1),
        (SELECT until_ms FROM pawl_request_key ORDER BY until_ms LIMIT 1)),
    EXISTS (SELECT 1 FROM pawl_ended
        WHERE state = ANY (:ended_states) AND finished_at_ms < now.ms - :ended_age_ms)
        OR EXISTS (SELECT 1 FROM pawl_flow
            WHERE finished_at_ms IS NOT NULL AND shelved < nodes
                AND finished_at_ms < now.ms - :ended_age_ms),
    EXISTS (SELECT 1 FROM pawl_archive
        WHERE state = ANY (:old_states) AND finished_at_ms < now.ms - :old_age_ms
            AND (keep_ms IS NULL OR finished_at_ms + keep_ms <= now.ms)
            AND coalesce(ties, 0) & 8 = 0)
        OR EXISTS (SELECT 1 FROM pawl_flow
            WHERE finished_at_ms IS NOT NULL AND shelved >= nodes
                AND finished_at_ms < now.ms - :old_age_ms
                AND (keep_ms IS NULL OR finished_at_ms + keep_ms <= now.ms)),
    (SELECT at_ms FROM pawl_unsettled WHERE ties & :ties <> 0 ORDER BY seq LIMIT 1),
    (SELECT recount_at_ms FROM pawl_flow WHERE recount_at_ms IS NOT NULL
        ORDER BY recount_at_ms, id LIMIT 1),
    (SELECT at_ms FROM pawl_flow_timer ORDER BY at_ms LIMIT 1),
    (SELECT look_at_ms FROM pawl_schedule WHERE look_at_ms IS NOT NULL ORDER BY look_at_ms LIMIT 1),
    (SELECT at_ms FROM pawl_deadline ORDER BY at_ms LIMIT 1)
FROM (SELECT coalesce(:now_ms, (extract(epoch FROM clock_timestamp()) * 1000)::bigint)) AS now (ms)

-- name: lease_due
-- Rows of the roll that somebody holds are being swept already.
SELECT ctid, ids
FROM pawl_lease
WHERE until_ms <= :now_ms
ORDER BY until_ms
LIMIT :limit
FOR UPDATE SKIP LOCKED

-- name: lease_lapsed
SELECT id, lease_until_ms, worker
FROM pawl_job
WHERE id = ANY (:ids) AND state IN (3, 4) AND lease_until_ms <= :now_ms

-- name: lease_hold
-- A job that somebody holds is being moved already.
SELECT id
FROM pawl_job
WHERE id = ANY (:ids) AND state IN (3, 4) AND lease_until_ms <= :now_ms
ORDER BY state DESC, lease_until_ms, id
LIMIT :limit
FOR NO KEY UPDATE SKIP LOCKED

-- name: lease_delete
DELETE FROM pawl_lease
WHERE ctid = ANY (:places)

-- name: lease_weed
-- The first rows of the roll, without those that are on it for nothing: none of their jobs has a
-- lease that ends then. How many they were, and was any of use?
WITH rows AS MATERIALIZED (
    SELECT l.place, {{lease_good}} AS good
    FROM (
        SELECT ctid AS place, until_ms, ids
        FROM pawl_lease
        ORDER BY until_ms
        LIMIT :limit
        FOR UPDATE SKIP LOCKED
    ) AS l
), gone AS (
    DELETE FROM pawl_lease
    WHERE ctid = ANY (ARRAY (SELECT place FROM rows WHERE NOT good))
)
SELECT count(*), coalesce(bool_or(good), false)
FROM rows

-- name: lease_next
SELECT (
    SELECT until_ms
    FROM pawl_lease
    ORDER BY until_ms
    LIMIT 1
)

-- name: job_due
SELECT id, ctid, ties, lane, state, run, rank, arrival
FROM pawl_job
WHERE waits AND due_at_ms <= :now_ms
ORDER BY due_at_ms, id
LIMIT :limit
FOR NO KEY UPDATE SKIP LOCKED

-- name: job_promote
-- The rows are locked, so they are where job_due found them.
UPDATE pawl_job
SET state = 2, waits = false, started_at_ms = NULL, worker = NULL, reason = NULL
WHERE ctid = ANY (:places) AND ties IS NULL

-- name: job_next_due
SELECT (
    SELECT due_at_ms
    FROM pawl_job
    WHERE waits
    ORDER BY due_at_ms, id
    LIMIT 1
)

-- name: job_expiring
SELECT id
FROM pawl_job
WHERE perishes AND expires_at_ms <= :now_ms
ORDER BY expires_at_ms, id
LIMIT :limit
FOR NO KEY UPDATE SKIP LOCKED

-- name: job_next_expiry
SELECT (
    SELECT expires_at_ms
    FROM pawl_job
    WHERE perishes
    ORDER BY expires_at_ms, id
    LIMIT 1
)

-- name: ended_due
SELECT ctid, ids
FROM pawl_ended
WHERE state = :state AND finished_at_ms > :after_ms AND finished_at_ms < :before_ms
ORDER BY finished_at_ms
LIMIT :limit
FOR UPDATE SKIP LOCKED

-- Members of flows (PAWL__TIE_FLOW, 8) go with them: flow_ended.
-- name: ended_old
SELECT id, finished_at_ms, coalesce(ties, 0) & 8 <> 0
FROM pawl_job
WHERE id = ANY (:ids) AND state = :state AND finished_at_ms < :before_ms

-- name: ended_hold
SELECT id, lane
FROM pawl_job
WHERE id = ANY (:ids) AND state = :state AND finished_at_ms < :before_ms
    AND coalesce(ties, 0) & 8 = 0
ORDER BY finished_at_ms
LIMIT :limit
FOR UPDATE SKIP LOCKED

-- name: ended_delete
DELETE FROM pawl_ended
WHERE ctid = ANY (:places)

-- name: archive_old
SELECT id
FROM pawl_archive
WHERE state = :state AND finished_at_ms < :before_ms
    AND (keep_ms IS NULL OR finished_at_ms + keep_ms <= :kept_until_ms)
    AND coalesce(ties, 0) & 8 = 0
ORDER BY finished_at_ms
LIMIT :limit
FOR UPDATE SKIP LOCKED

-- name: deadline_due
-- What another sweep looks at just now is passed over.
SELECT {{deadline.fields}}
FROM pawl_deadline
WHERE at_ms < :before_ms
ORDER BY at_ms
LIMIT :limit
FOR UPDATE SKIP LOCKED

-- name: deadline_next
SELECT (
    SELECT at_ms
    FROM pawl_deadline
    ORDER BY at_ms
    LIMIT 1
)

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

-- name: request_forget
DELETE FROM pawl_request_key
WHERE ctid = ANY (ARRAY (
    SELECT ctid
    FROM pawl_request_key
    WHERE until_ms <= :now_ms
    ORDER BY until_ms
    LIMIT :limit
    FOR UPDATE SKIP LOCKED
))
