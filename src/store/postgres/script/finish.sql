-- What the owner of a run does with it.
-- name: script_finish
CREATE OR REPLACE FUNCTION pawl__owned(job uuid, run bigint) RETURNS pawl__place
LANGUAGE plpgsql AS $$
DECLARE
    p pawl__place;
BEGIN
    IF job IS NULL THEN
        PERFORM pawl__refuse(1, 'job', 'job is missing');
    ELSIF run IS NULL OR run < 1 THEN
        PERFORM pawl__refuse(1, 'run', 'run must be the number that the claim gave');
    END IF;
    p := pawl__place_of(job);
    IF p.id IS NULL THEN
        PERFORM pawl__refuse(3, 'job', format('there is no job "%s"', job));
    ELSIF p.state <> 4 OR p.run <> run THEN
        PERFORM pawl__refuse(7, 'run', format(
            'run %s of job "%s" is over: the job is %s and has had %s runs', run, job,
            pawl__state_name(p.state), p.run));
    END IF;
    RETURN p;
END $$;

-- The run is done. Its row is locked until the caller commits, and nobody else can finish it.
CREATE OR REPLACE FUNCTION pawl_complete(job uuid, run bigint, result text DEFAULT NULL)
RETURNS void
LANGUAGE plpgsql SECURITY DEFINER
SET search_path FROM CURRENT SET extra_float_digits FROM CURRENT AS $$
DECLARE
    p pawl__place := pawl__owned(job, run);
BEGIN
    PERFORM pawl__check_json('result', nullif(result, ''), 1048576, NULL);
    PERFORM pawl__end(p, 7, pawl__now(), NULL, nullif(result, ''), false);
END $$;

CREATE OR REPLACE FUNCTION pawl_complete(job uuid, run bigint, result jsonb) RETURNS void
LANGUAGE sql SECURITY DEFINER
SET search_path FROM CURRENT SET extra_float_digits FROM CURRENT AS $$
    SELECT pawl_complete(job, run, result::text)
$$;

-- first * factor^power, stopped at the cap; exact for whole factors.
CREATE OR REPLACE FUNCTION pawl__power(first bigint, factor double precision,
    power double precision, cap_ms bigint) RETURNS bigint
LANGUAGE plpgsql AS $$
DECLARE
    wait numeric := first;
    steps bigint := least(power, 64);
BEGIN
    IF factor = floor(factor) AND factor < 1e18 AND power = floor(power) THEN
        FOR i IN 1..steps LOOP
            EXIT WHEN wait >= cap_ms OR factor = 1;
            wait := wait * factor::bigint;
        END LOOP;
        RETURN least(wait, cap_ms);
    END IF;
    RETURN least(floor(least(first::double precision * factor ^ power, 1e18) + 0.5),
        cap_ms)::bigint;
EXCEPTION
    WHEN numeric_value_out_of_range THEN
        RETURN cap_ms;
END $$;

CREATE OR REPLACE FUNCTION pawl__delay(policy pawl__policy, n bigint) RETURNS bigint
LANGUAGE plpgsql AS $$
DECLARE
    wait bigint := CASE policy.backoff
        WHEN 'exponential' THEN pawl__power(policy.initial_ms, policy.coefficient,
            CASE WHEN policy.exponent_max > 0 THEN least(n - 1, policy.exponent_max) ELSE n - 1 END,
            policy.cap_ms)
        WHEN 'linear' THEN pawl__power(policy.initial_ms, n, 1, policy.cap_ms)
        WHEN 'polynomial' THEN pawl__power(policy.initial_ms, n, policy.coefficient, policy.cap_ms)
        WHEN 'constant' THEN least(policy.initial_ms, policy.cap_ms)
        ELSE 0 END;
BEGIN
    IF wait = 0 OR NOT policy.jitter THEN
        RETURN wait;
    END IF;
    RETURN least(floor(wait * (policy.jitter_low
        + (policy.jitter_high - policy.jitter_low) * random())), policy.cap_ms)::bigint;
END $$;

-- Does a list of error types name it? "auth.*" is a prefix.
CREATE OR REPLACE FUNCTION pawl__is_final(listed text[], kind text) RETURNS boolean
LANGUAGE sql IMMUTABLE AS $$
    SELECT EXISTS (SELECT 1 FROM unnest(listed) AS e (entry)
        WHERE e.entry = kind
            OR right(e.entry, 2) = '.*' AND starts_with(kind, left(e.entry, -1)))
$$;

-- What follows a failure. why is NULL when the job will be tried again.
CREATE OR REPLACE FUNCTION pawl__verdict(policy pawl__policy, charged bigint, kinds text[],
    code text, retryable boolean, OUT why text, OUT letter boolean)
LANGUAGE sql IMMUTABLE AS $$
    SELECT CASE
            WHEN code = 'DISCARD' THEN 'discarded by its handler'
            WHEN code = 'FAIL' THEN 'failed for good by its handler'
            WHEN code = 'DEAD_LETTER' THEN 'sent to the dead letters by its handler'
            WHEN EXISTS (SELECT 1 FROM unnest(kinds) AS k
                WHERE pawl__is_final(policy.non_retryable, k))
                THEN 'error is listed as not retryable'
            WHEN NOT retryable THEN 'not retryable'
            WHEN charged >= policy.attempts_max THEN 'attempts spent'
            END,
        CASE WHEN code IN ('DISCARD', 'FAIL') THEN false WHEN code = 'DEAD_LETTER' THEN true
            ELSE policy.on_exhaustion = 'dead_letter' END
$$;

-- The run failed: the job's retry policy says what follows. delay_ms is -1 when nothing does, and
-- due_at_ms 0. What the library's pawl_fail_pq calls.
CREATE OR REPLACE FUNCTION pawl__fail(job uuid, run bigint, message text, type text, code text,
    error_class text, details text, retryable boolean, retry_after_ms bigint,
    OUT to_state integer, OUT attempt bigint, OUT due_at_ms bigint, OUT delay_ms bigint)
LANGUAGE plpgsql SECURITY DEFINER
SET search_path FROM CURRENT SET extra_float_digits FROM CURRENT AS $$
DECLARE
    p pawl__place;
    policy pawl__policy;
    verdict record;
    charged bigint;
    now_ms bigint;
BEGIN
    type := nullif(type, '');
    code := nullif(code, '');
    error_class := nullif(error_class, '');
    details := nullif(details, '');
    PERFORM pawl__check_text('type', type, 255);
    PERFORM pawl__check_text('code', code, 255);
    PERFORM pawl__check_text('error_class', error_class, 255);
    IF octet_length(message) > 1048576 THEN
        PERFORM pawl__refuse(17, 'message', 'message is longer than 1048576 bytes');
    END IF;
    PERFORM pawl__check_json('details', details, 1048576, NULL);
    PERFORM pawl__check_time('retry_after_ms', retry_after_ms, 3155760000000);
    p := pawl__owned(job, run);
    now_ms := pawl__now();
    policy := pawl__policy_read(p.retry);
    policy.attempts_max := p.attempts_max;
    charged := p.run - p.base_run - p.free_runs;
    verdict := pawl__verdict(policy, charged, ARRAY[type, error_class, code], code, retryable);
    to_state := CASE WHEN verdict.why IS NOT NULL THEN 10 WHEN p.expires_at_ms <= now_ms THEN 11
        ELSE 5 END;
    delay_ms := CASE WHEN to_state <> 5 THEN -1 WHEN retry_after_ms > 0 THEN retry_after_ms
        ELSE pawl__delay(policy, charged) END;
    due_at_ms := CASE WHEN to_state = 5 THEN now_ms + delay_ms ELSE 0 END;
    attempt := p.run - p.base_run;
    INSERT INTO pawl_failure (id, run, attempt, lapsed, started_at_ms, failed_at_ms, retry_delay_ms,
        worker, type, code, message, details)
    VALUES (p.id, p.run, attempt, false, p.started_at_ms, now_ms, nullif(delay_ms, -1),
        coalesce(p.worker, ''), coalesce(type, error_class, code), code, nullif(message, ''),
        details);
    DELETE FROM pawl_failure AS f WHERE f.id = p.id AND f.run <= p.run - 100 AND NOT f.lapsed;
    IF to_state = 5 THEN
        PERFORM pawl__wait(p, 5, due_at_ms);
    ELSE
        PERFORM pawl__end(p, to_state, now_ms,
            coalesce(verdict.why, 'expired after a failed attempt'), NULL,
            verdict.why IS NOT NULL AND verdict.letter);
    END IF;
END $$;

-- Gives the name of the state that follows.
CREATE OR REPLACE FUNCTION pawl_fail(job uuid, run bigint, message text DEFAULT NULL,
    type text DEFAULT NULL,
    code text DEFAULT NULL, error_class text DEFAULT NULL, details text DEFAULT NULL,
    retryable boolean DEFAULT true, retry_after interval DEFAULT NULL) RETURNS text
LANGUAGE sql SECURITY DEFINER
SET search_path FROM CURRENT SET extra_float_digits FROM CURRENT AS $$
    SELECT pawl__state_name((pawl__fail(job, run, message, type, code, error_class, details,
        retryable, pawl__ms('retry_after', retry_after))).to_state)
$$;

-- Give the job back: no attempt is charged. With a delay it waits that long.
CREATE OR REPLACE FUNCTION pawl_give_back(job uuid, run bigint, delay interval DEFAULT NULL)
RETURNS text
LANGUAGE plpgsql SECURITY DEFINER
SET search_path FROM CURRENT SET extra_float_digits FROM CURRENT AS $$
DECLARE
    wait bigint := coalesce(pawl__ms('delay', delay), 0);
    p pawl__place := pawl__owned(job, run);
    now_ms bigint := pawl__now();
    to_state integer := CASE WHEN wait = 0 THEN 2 WHEN p.expires_at_ms <= now_ms THEN 11 ELSE 1 END;
BEGIN
    p.free_runs := p.free_runs + 1;
    IF to_state = 11 THEN
        PERFORM pawl__end(p, 11, now_ms, 'expired after it snoozed', NULL, false);
    ELSE
        PERFORM pawl__wait(p, to_state, CASE WHEN wait = 0 THEN p.due_at_ms ELSE now_ms + wait END);
    END IF;
    RETURN pawl__state_name(to_state);
END $$;
