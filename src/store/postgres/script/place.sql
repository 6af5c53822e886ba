-- Where a job stands, and its moves: rolls and counts.
-- name: script_place
CREATE OR REPLACE FUNCTION pawl__count(lane integer, from_state integer, to_state integer)
RETURNS void
LANGUAGE sql AS $$
    INSERT INTO pawl_count_delta (lane, state, delta)
    SELECT $1, c.state, c.delta
    FROM (VALUES ($2, -1), ($3, 1)) AS c (state, delta)
    WHERE c.state IS NOT NULL
$$;

-- A job, as it was before, has moved. What follows where it has ties is left to a node. 7: the ties
-- that are about the job itself; 4: it is yet to be checked, and if it ends before, its entry goes.
-- 256 concerns no move, 32 only a completion, 128 only a failure.
CREATE OR REPLACE FUNCTION pawl__moved(j pawl_job, to_state integer) RETURNS void
LANGUAGE plpgsql AS $$
DECLARE
    others integer := j.ties & ~263
        & CASE WHEN to_state < 7 THEN ~160 WHEN to_state = 7 THEN ~128 ELSE ~32 END;
BEGIN
    PERFORM pawl__count(j.lane, j.state, to_state);
    IF others <> 0 THEN
        INSERT INTO pawl_unsettled (at_ms, job_id, ties, run, from_state, to_state, details)
        VALUES (pawl__now(), j.id, others, j.run, j.state, to_state,
            CASE WHEN to_state = 7 THEN (SELECT o.result FROM pawl_job AS o WHERE o.id = j.id) END);
        PERFORM pawl__store_notify('');
    END IF;
    IF j.ties & 4 <> 0 AND to_state >= 7 THEN
        DELETE FROM pawl_unsettled WHERE job_id = j.id AND ties = 4;
    END IF;
END $$;

CREATE OR REPLACE FUNCTION pawl__rank(due bigint, priority integer, sla_soft_at_ms bigint,
    sla_hard_at_ms bigint) RETURNS bigint
LANGUAGE sql STABLE AS $$
    SELECT greatest(least(
        due::numeric - priority::numeric * coalesce((SELECT nullif(s.value::bigint, 0)
            FROM pawl_setting AS s WHERE s.name = 'rank.boost_ms'), 900000),
        sla_soft_at_ms - 86400000 - priority, sla_hard_at_ms - 172800000 - priority,
        9223372036854775807),
        -9223372036854775808)::bigint
$$;

-- Onto the roll that claims read.
CREATE OR REPLACE FUNCTION pawl__enrol(j pawl_job) RETURNS void
LANGUAGE sql AS $$
    INSERT INTO pawl_ready (lane, rank, seat, ids)
    VALUES (j.lane, j.rank, coalesce(j.arrival, j.id), ARRAY[j.id])
$$;
