-- What the owner of a run does with it, in its own transaction. That the run is his is checked at
-- once, and its row stays locked until the transaction ends. What follows from a failure or a delay
-- is decided by a node, a moment after the commit: src/store/core/finish.c.
-- name: script_finish
-- Locks the job; refuses a run that is over.
CREATE OR REPLACE FUNCTION pawl__owned(job uuid, run bigint) RETURNS pawl_job
LANGUAGE plpgsql AS $$
DECLARE
    j pawl_job;
BEGIN
    IF job IS NULL THEN
        PERFORM pawl__refuse(1, 'job', 'job is missing');
    ELSIF run IS NULL OR run < 1 THEN
        PERFORM pawl__refuse(1, 'run', 'run must be the number that the claim gave');
    END IF;
    SELECT * INTO j FROM pawl_job AS o WHERE o.id = job FOR NO KEY UPDATE;
    IF NOT FOUND THEN
        SELECT a.id, a.state, a.run INTO j.id, j.state, j.run FROM pawl_archive AS a
        WHERE a.id = job;
    END IF;
    IF j.id IS NULL THEN
        PERFORM pawl__refuse(3, 'job', format('there is no job "%s"', job));
    ELSIF j.state <> 4 OR j.run <> run THEN
        PERFORM pawl__refuse(7, 'run', format(
            'run %s of job "%s" is over: the job is %s and has had %s runs', run, job,
            pawl__state_name(j.state), j.run));
    ELSIF j.ties & 3 <> 0 THEN
        PERFORM pawl__refuse(7, 'run', format('run %s of job "%s" is over: its end has been '
            'reported', run, job));
    END IF;
    RETURN j;
END $$;

-- The run is done. The result is JSON, as text or jsonb. What else depends on the job's moves is
-- followed up by a node: pawl__moved.
CREATE OR REPLACE FUNCTION pawl_complete(job uuid, run bigint, result anycompatible DEFAULT NULL)
RETURNS void
LANGUAGE plpgsql SECURITY DEFINER SET search_path FROM CURRENT AS $$
DECLARE
    outcome text := nullif(result::text, '');
    now_ms bigint := pawl__now();
    j pawl_job;
BEGIN
    PERFORM pawl__json('result', outcome, 1048576, NULL);
    j := pawl__owned(job, run);
    UPDATE pawl_job
    SET state = 7, lease_until_ms = NULL, finished_at_ms = now_ms, reason = NULL, result = outcome
    WHERE id = j.id;
    INSERT INTO pawl_ended (state, finished_at_ms, ids) VALUES (7, now_ms, ARRAY[j.id]);
    PERFORM pawl__moved(j, 7);
END $$;

-- The run has failed: the job's retry policy will say what follows.
CREATE OR REPLACE FUNCTION pawl_fail(job uuid, run bigint, message text DEFAULT NULL,
    type text DEFAULT NULL, code text DEFAULT NULL, error_class text DEFAULT NULL,
    details text DEFAULT NULL, retryable boolean DEFAULT true, retry_after interval DEFAULT NULL)
RETURNS void
LANGUAGE plpgsql SECURITY DEFINER SET search_path FROM CURRENT AS $$
DECLARE
    j pawl_job;
BEGIN
    PERFORM pawl__check_text(t.field, nullif(t.value, ''), 255)
    FROM (VALUES ('type', type), ('code', code), ('error_class', error_class)) AS t (field, value);
    IF octet_length(message) > 1048576 THEN
        PERFORM pawl__refuse(17, 'message', 'message is longer than 1048576 bytes');
    END IF;
    PERFORM pawl__json('details', nullif(details, ''), 1048576, NULL);
    j := pawl__owned(job, run);
    UPDATE pawl_job SET ties = coalesce(ties, 0) | 1 WHERE id = j.id;
    INSERT INTO pawl_unsettled (at_ms, job_id, ties, run, delay_ms, not_retryable, type, code,
        error_class, message, details)
    VALUES (pawl__now(), j.id, 1, j.run, pawl__ms('retry_after', retry_after),
        CASE WHEN NOT retryable THEN 1 END, nullif(type, ''), nullif(code, ''),
        nullif(error_class, ''), nullif(message, ''), nullif(details, ''));
    PERFORM pawl__store_notify('');
END $$;

-- Gives the job back: no attempt is charged. With a delay it waits that long, or expires.
CREATE OR REPLACE FUNCTION pawl_give_back(job uuid, run bigint, delay interval DEFAULT NULL)
RETURNS void
LANGUAGE plpgsql SECURITY DEFINER SET search_path FROM CURRENT AS $$
DECLARE
    wait bigint := coalesce(pawl__ms('delay', delay), 0);
    j pawl_job := pawl__owned(job, run);
BEGIN
    IF wait > 0 THEN
        UPDATE pawl_job SET ties = coalesce(ties, 0) | 2 WHERE id = j.id;
        INSERT INTO pawl_unsettled (at_ms, job_id, ties, run, delay_ms)
        VALUES (pawl__now(), j.id, 2, j.run, wait);
        PERFORM pawl__store_notify('');
        RETURN;
    END IF;
    UPDATE pawl_job
    SET state = 2, free_runs = free_runs + 1, perishes = expires_at_ms IS NOT NULL,
        started_at_ms = NULL, lease_until_ms = NULL, worker = NULL, reason = NULL
    WHERE id = j.id;
    PERFORM pawl__enrol(j);
    PERFORM pawl__moved(j, 2);
    PERFORM pawl__store_notify('r');
END $$;
