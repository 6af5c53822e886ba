-- Where a job stands, and its moves: rows, rolls and counts.
-- name: script_place
-- Where a job stands, locked: in pawl_job, else in the archive.
DO $$
BEGIN
    IF to_regtype('pawl__place') IS NULL THEN
        CREATE TYPE pawl__place AS (
            id            uuid,
            arrival       uuid,
            lane          integer,
            state         smallint,
            run           bigint,
            base_run      bigint,
            free_runs     bigint,
            created_at_ms bigint,
            due_at_ms     bigint,
            expires_at_ms bigint,
            started_at_ms bigint,
            worker        text,
            attempts_max  integer,
            retry         text,
            ties          smallint
        );
    END IF;
END $$;

CREATE OR REPLACE FUNCTION pawl__place_of(job uuid) RETURNS pawl__place
LANGUAGE plpgsql AS $$
DECLARE
    p pawl__place;
BEGIN
    FOR i IN 1..2 LOOP -- one that comes back while we look is met the second time
        SELECT j.id, j.arrival, j.lane, j.state, j.run, j.base_run, j.free_runs, j.created_at_ms,
            j.due_at_ms, j.expires_at_ms, j.started_at_ms, j.worker, j.attempts_max, j.retry,
            j.ties
        INTO p
        FROM pawl_job AS j
        WHERE j.id = job
        FOR NO KEY UPDATE;
        IF FOUND THEN
            RETURN p;
        END IF;
        SELECT a.id, a.arrival, a.lane, a.state, a.run, a.base_run, a.free_runs, a.created_at_ms,
            a.due_at_ms, a.expires_at_ms, a.started_at_ms, a.worker, a.attempts_max, a.retry,
            a.ties
        INTO p
        FROM pawl_archive AS a
        WHERE a.id = job
        FOR UPDATE;
        IF FOUND THEN
            RETURN p;
        END IF;
    END LOOP;
    RETURN NULL;
END $$;

CREATE OR REPLACE FUNCTION pawl__count(lane integer, from_state integer, to_state integer)
RETURNS void
LANGUAGE sql AS $$
    INSERT INTO pawl_count_delta (lane, state, delta)
    SELECT $1, c.state, c.delta
    FROM (VALUES ($2, -1), ($3, 1)) AS c (state, delta)
    WHERE c.state IS NOT NULL
$$;

-- What follows from the move of a job with ties is left to a node.
CREATE OR REPLACE FUNCTION pawl__unsettle(p pawl__place, to_state integer) RETURNS void
LANGUAGE plpgsql AS $$
BEGIN
    IF p.ties IS NOT NULL THEN
        INSERT INTO pawl_unsettled (at_ms, job_id, ties, run, from_state, to_state)
        VALUES (pawl__now(), p.id, p.ties, p.run, p.state, to_state);
        PERFORM pawl__tell('');
    END IF;
END $$;

CREATE OR REPLACE FUNCTION pawl__end(p pawl__place, to_state integer, now_ms bigint, why text,
    outcome text, letter boolean) RETURNS void
LANGUAGE plpgsql AS $$
BEGIN
    UPDATE pawl_job
    SET state = to_state, free_runs = p.free_runs, waits = false, held = false, perishes = false,
        paused_from = NULL, lease_until_ms = NULL, finished_at_ms = now_ms, dead_letter = letter,
        reason = why, end_reason = NULL, result = outcome
    WHERE id = p.id;
    INSERT INTO pawl_ended (state, finished_at_ms, ids) VALUES (to_state, now_ms, ARRAY[p.id]);
    PERFORM pawl__count(p.lane, p.state, to_state);
    PERFORM pawl__unsettle(p, to_state);
END $$;

CREATE OR REPLACE FUNCTION pawl__rank(due bigint, priority integer, sla_soft_at_ms bigint,
    sla_hard_at_ms bigint) RETURNS bigint
LANGUAGE sql STABLE AS $$
    SELECT greatest(least(
        due::numeric - priority::numeric * coalesce((SELECT nullif(s.value::bigint, 0)
            FROM pawl_setting AS s WHERE s.name = 'rank.boost_ms'), 900000),
        sla_soft_at_ms - 86400000, sla_hard_at_ms - 172800000, 9223372036854775807),
        -9223372036854775808)::bigint
$$;

-- Onto the roll that claims read.
CREATE OR REPLACE FUNCTION pawl__enrol(lane integer, rank bigint, id uuid, arrival uuid)
RETURNS void
LANGUAGE sql AS $$
    INSERT INTO pawl_ready (lane, rank, seat, ids) VALUES ($1, $2, coalesce($4, $3), ARRAY[$3])
$$;

-- A run's job, to be tried again: now or later.
CREATE OR REPLACE FUNCTION pawl__wait(p pawl__place, to_state integer, due bigint) RETURNS void
LANGUAGE plpgsql AS $$
DECLARE
    new_rank bigint;
BEGIN
    UPDATE pawl_job AS j
    SET state = to_state, due_at_ms = due,
        rank = pawl__rank(due, j.priority, j.sla_soft_at_ms, j.sla_hard_at_ms),
        free_runs = p.free_runs, waits = to_state <> 2, perishes = j.expires_at_ms IS NOT NULL,
        lease_until_ms = NULL, reason = NULL,
        started_at_ms = CASE WHEN to_state = 2 THEN NULL ELSE j.started_at_ms END,
        worker = CASE WHEN to_state = 2 THEN NULL ELSE j.worker END
    WHERE j.id = p.id
    RETURNING j.rank INTO new_rank;
    IF to_state = 2 THEN
        PERFORM pawl__enrol(p.lane, new_rank, p.id, p.arrival);
    END IF;
    PERFORM pawl__count(p.lane, p.state, to_state);
    PERFORM pawl__unsettle(p, to_state);
    PERFORM pawl__tell(CASE WHEN to_state = 2 THEN 'r' ELSE '' END);
END $$;
