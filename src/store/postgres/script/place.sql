-- Where a job stands, and its moves: rows, rolls and counts.
-- name: script_place
CREATE OR REPLACE FUNCTION pawl__count(lane integer, from_state integer, to_state integer)
RETURNS void
LANGUAGE sql AS $$
    INSERT INTO pawl_count_delta (lane, state, delta)
    SELECT $1, c.state, c.delta
    FROM (VALUES ($2, -1), ($3, 1)) AS c (state, delta)
    WHERE c.state IS NOT NULL
$$;

-- A job, as it was before, has moved. What follows where it has ties is left to a node.
CREATE OR REPLACE FUNCTION pawl__moved(j pawl_job, to_state integer) RETURNS void
LANGUAGE plpgsql AS $$
BEGIN
    PERFORM pawl__count(j.lane, j.state, to_state);
    IF j.ties & ~3 <> 0 THEN
        INSERT INTO pawl_unsettled (at_ms, job_id, ties, run, from_state, to_state)
        VALUES (pawl__now(), j.id, j.ties & ~3, j.run, j.state, to_state);
        PERFORM pawl__tell('');
    END IF;
END $$;

CREATE OR REPLACE FUNCTION pawl__end(j pawl_job, to_state integer, why text, outcome text)
RETURNS void
LANGUAGE plpgsql AS $$
DECLARE
    now_ms bigint := pawl__now();
BEGIN
    UPDATE pawl_job
    SET state = to_state, waits = false, held = false, perishes = false, paused_from = NULL,
        lease_until_ms = NULL, finished_at_ms = now_ms, dead_letter = false, reason = why,
        end_reason = NULL, result = outcome, ties = nullif(ties & ~3, 0)
    WHERE id = j.id;
    INSERT INTO pawl_ended (state, finished_at_ms, ids) VALUES (to_state, now_ms, ARRAY[j.id]);
    PERFORM pawl__moved(j, to_state);
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
