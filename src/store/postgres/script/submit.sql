-- Submitting, as src/store/intake.c has it. Policies and follow-ups are checked by a node, a moment
-- after the commit: src/store/core/unchecked.c.
-- name: script_submit
-- UUIDv7. The fraction of the millisecond stands behind it, so that those of one transaction sort
-- as they were made.
CREATE OR REPLACE FUNCTION pawl__id() RETURNS uuid
LANGUAGE sql VOLATILE AS $$
    SELECT (lpad(to_hex(t.us / 1000), 12, '0') || '7'
        || lpad(to_hex(t.us % 1000 * 4096 / 1000), 3, '0')
        || substr(replace(gen_random_uuid()::text, '-', ''), 17))::uuid
    FROM (SELECT (extract(epoch FROM clock_timestamp()) * 1000000)::bigint AS us) AS t
$$;

-- Found, or made: then the catalog's row comes first, as for everybody who makes one.
CREATE OR REPLACE FUNCTION pawl__lane(text, text) RETURNS integer
LANGUAGE plpgsql AS $$
DECLARE
    found_lane integer;
BEGIN
    FOR i IN 1..2 LOOP
        SELECT n.id INTO found_lane
        FROM pawl_queue AS q
        JOIN pawl_lane AS n ON n.queue_id = q.id
        WHERE q.name = $1 AND n.type = $2;
        EXIT WHEN found_lane IS NOT NULL OR i = 2;
        UPDATE pawl_catalog SET version = version + 1 WHERE id = 1;
        INSERT INTO pawl_queue (name, created_at_ms) VALUES ($1, pawl__now())
        ON CONFLICT (name) DO NOTHING;
        INSERT INTO pawl_lane (queue_id, type)
        SELECT q.id, $2 FROM pawl_queue AS q WHERE q.name = $1
        ON CONFLICT (queue_id, type) DO NOTHING;
    END LOOP;
    RETURN found_lane;
END $$;

-- As src/store/digest.c has it. kind: 1 idempotency, 2 business.
CREATE OR REPLACE FUNCTION pawl__digest(kind integer, value text) RETURNS bytea
LANGUAGE sql IMMUTABLE AS $$
    SELECT substr(sha256(set_byte('\x00'::bytea, 0, kind) || convert_to(value, 'UTF8')), 1, 16)
$$;

-- The locks of a job's keys, in the order that everybody takes them.
CREATE OR REPLACE FUNCTION pawl__keys_lock(digests bytea[]) RETURNS void
LANGUAGE plpgsql AS $$
DECLARE
    number bigint;
BEGIN
    IF current_setting('transaction_isolation') NOT IN ('read committed', 'read uncommitted') THEN
        PERFORM pawl__refuse(18, NULL, format('a job with keys cannot be submitted in a '
            'transaction that is %s: it would not see who took them meanwhile; use READ COMMITTED',
            upper(current_setting('transaction_isolation'))));
    END IF;
    PERFORM pg_advisory_xact_lock_shared(8097884910729035779);
    FOR number IN SELECT DISTINCT ('x' || encode(substr(d, 1, 8), 'hex'))::bit(64)::bigint
        FROM unnest(digests) AS d WHERE d IS NOT NULL ORDER BY 1
    LOOP
        PERFORM pg_advisory_xact_lock(number);
    END LOOP;
END $$;

-- The newest job in the way of one that brings this key: one that lives for a business key, for an
-- idempotency key any, even if only the key is left of it. Who asks has the key's lock, and so has
-- who brings a job back to life. Of those that have ended the sixteen newest are remembered.
CREATE OR REPLACE FUNCTION pawl__holder(key bytea, live boolean, now_ms bigint, OUT id uuid,
    OUT state integer)
LANGUAGE plpgsql AS $$
BEGIN
    DELETE FROM pawl_key AS k
    USING (SELECT h.id FROM pawl_key AS h LEFT JOIN pawl_job AS o ON o.id = h.id
        WHERE live AND h.digest = key AND coalesce(o.state, 7) >= 7
        ORDER BY h.id DESC OFFSET 16) AS old
    WHERE k.digest = key AND k.id = old.id;
    SELECT k.id, coalesce(o.state, a.state, 0) INTO id, state
    FROM pawl_key AS k
    LEFT JOIN pawl_job AS o ON o.id = k.id
    LEFT JOIN pawl_archive AS a ON a.id = k.id
    WHERE k.digest = key
        AND CASE WHEN live THEN o.state < 7 ELSE coalesce(k.until_ms > now_ms, true) END
    ORDER BY k.id DESC
    LIMIT 1;
END $$;

CREATE OR REPLACE FUNCTION pawl__tags(tags text[]) RETURNS text
LANGUAGE plpgsql AS $$
DECLARE
    kept text[] := ARRAY(
        SELECT lower(btrim(t.tag, E' \t\n\x0b\f\r') COLLATE "C")
        FROM unnest(tags) WITH ORDINALITY AS t (tag, at)
        GROUP BY 1 HAVING btrim(min(t.tag), E' \t\n\x0b\f\r') <> '' ORDER BY min(t.at));
BEGIN
    PERFORM pawl__check_text('tags', t, 64) FROM unnest(kept) AS t;
    IF array_position(tags, NULL) IS NOT NULL THEN
        PERFORM pawl__refuse(1, 'tags', 'tags is missing');
    ELSIF cardinality(kept) > 32 THEN
        PERFORM pawl__refuse(17, 'tags', 'tags has more than 32 members');
    END IF;
    RETURN '[' || (SELECT string_agg(to_json(t.tag)::text, ',' ORDER BY t.at)
        FROM unnest(kept) WITH ORDINALITY AS t (tag, at)) || ']';
END $$;

-- `prefix`: of the names of fields, "on_failure." in a follow-up.
CREATE OR REPLACE FUNCTION pawl__check_lane(prefix text, queue text, type text) RETURNS void
LANGUAGE plpgsql AS $$
DECLARE
    whose text := CASE WHEN prefix <> '' THEN rtrim(prefix, '.') || ': ' ELSE '' END;
BEGIN
    PERFORM pawl__refuse(r.number, prefix || r.field, whose || r.message) FROM (VALUES
        (1, 'type', type IS NULL, 'type is missing'),
        (17, 'type', octet_length(type) > 255, 'type is longer than 255 bytes'),
        (1, 'type', type COLLATE "C" !~ '^[a-z][a-z0-9_-]*(\.[a-z][a-z0-9_-]*)*(@[0-9]+\.[0-9]+)?$',
            format('type "%s" must be lower-case words joined by dots, as in "mail.send" or '
            '"mail.send@1.0"', pawl__quoted(type))),
        (17, 'queue', octet_length(queue) > 128, 'queue is longer than 128 bytes'),
        (1, 'queue', queue COLLATE "C" !~ '^[a-z0-9][a-z0-9._-]*$', format('queue "%s" must be '
            'a-z, 0-9, ".", "_" and "-", and begin with a letter or digit', pawl__quoted(queue)))
    ) AS r (number, field, broken, message) WHERE r.broken;
END $$;

-- The lanes of a follow-up and of its own, which must be there when it is submitted: a node does
-- that, and checks the rest of it a moment after the commit.
CREATE OR REPLACE FUNCTION pawl__follow_lanes(field text, spec jsonb, depth integer)
RETURNS TABLE (lane_queue text, lane_type text)
LANGUAGE plpgsql AS $$
BEGIN
    IF spec IS NULL OR spec = 'null' THEN
        RETURN;
    ELSIF jsonb_typeof(spec) <> 'object' THEN
        PERFORM pawl__refuse(1, field, format('%s must be a JSON object', field));
    ELSIF depth > 3 THEN
        PERFORM pawl__refuse(17, field, format('%s: follow-ups are nested more than 3 deep',
            field));
    END IF;
    lane_queue := coalesce(spec ->> 'queue', 'default');
    lane_type := spec ->> 'type';
    PERFORM pawl__check_lane(field || '.', lane_queue, lane_type);
    RETURN NEXT;
    RETURN QUERY SELECT f.* FROM (VALUES ('on_success'), ('on_failure')) AS n (name),
        pawl__follow_lanes(field || '.' || n.name, spec -> n.name, depth + 1) AS f;
END $$;

-- The rows of a job whose facts have been checked and whose keys are its own.
CREATE OR REPLACE FUNCTION pawl__enter(j pawl_job, idempotency_until_ms bigint) RETURNS void
LANGUAGE plpgsql AS $$
DECLARE
    taken boolean;
BEGIN
    j.rank := pawl__rank(j.due_at_ms, j.priority, j.sla_soft_at_ms, j.sla_hard_at_ms);
    j.run := 0;
    j.base_run := 0;
    j.free_runs := 0;
    j.waits := j.state = 1;
    j.held := j.state = 3;
    j.perishes := j.expires_at_ms IS NOT NULL;
    j.dead_letter := false;
    INSERT INTO pawl_job SELECT (j).* ON CONFLICT (id) DO NOTHING;
    taken := NOT FOUND;
    IF taken OR EXISTS (SELECT 1 FROM pawl_archive AS a WHERE a.id = j.id) THEN
        PERFORM pawl__refuse(4, 'id', format('there is a job "%s" already', j.id));
    END IF;
    IF j.state = 2 THEN
        PERFORM pawl__enrol(j);
    END IF;
    INSERT INTO pawl_tag (tag, id)
    SELECT t.tag, j.id FROM json_array_elements_text(j.tags::json) AS t (tag)
    ON CONFLICT DO NOTHING;
    INSERT INTO pawl_key (digest, id, until_ms)
    SELECT k.digest, j.id, k.until_ms
    FROM (VALUES (pawl__digest(1, j.idempotency_key), idempotency_until_ms),
        (pawl__digest(2, j.business_key), NULL)) AS k (digest, until_ms)
    WHERE k.digest IS NOT NULL
    ON CONFLICT (digest, id) DO UPDATE SET until_ms = excluded.until_ms;
    PERFORM pawl__count(j.lane, NULL, j.state);
END $$;

-- All that a job may be, NULL where nothing is given. `checked`: the library has checked the retry
-- policy. state is 0 when the job that stands in is gone and only its key is left.
CREATE OR REPLACE FUNCTION pawl__submit(
    type text, args text, queue text, priority integer, delay interval, due_at timestamptz,
    attempts_max integer, retry text, timeout interval, expires_in interval,
    expires_at timestamptz, idempotency_key text, idempotency_for interval, business_key text,
    uniqueness text, tags text[], meta text, lease interval, sla_soft_at timestamptz,
    sla_hard_at timestamptz, keep interval, principal text, trace_id text, extra text,
    pending boolean, given uuid, checked boolean, on_success text, on_failure text,
    OUT id uuid, OUT state integer, OUT deduplicated boolean)
LANGUAGE plpgsql SECURITY DEFINER SET search_path FROM CURRENT AS $$
DECLARE
    j pawl_job;
    policy jsonb := pawl__json('retry', nullif(retry, ''), 65536, 'object');
    attempts numeric;
    same jsonb := pawl__json('unique', nullif(uniqueness, ''), 65536, 'object');
    lives_ms bigint := pawl__ms('expires_in', expires_in);
    kept_ms bigint := pawl__ms('idempotency_for', idempotency_for);
    digests bytea[] := ARRAY[pawl__digest(1, idempotency_key), pawl__digest(2, business_key)];
    success jsonb := pawl__json('on_success', nullif(on_success, ''), 65536, 'object');
    failure jsonb := pawl__json('on_failure', nullif(on_failure, ''), 65536, 'object');
    unchecked boolean := same IS NOT NULL
        OR coalesce(policy, success, failure) IS NOT NULL AND NOT checked;
    now_ms bigint;
BEGIN
    queue := coalesce(queue, 'default');
    j.priority := coalesce(priority, 0);
    j.args := coalesce(nullif(args, ''), '[]');
    j.meta := nullif(meta, '');
    j.extra := nullif(extra, '');
    j.idempotency_key := idempotency_key;
    j.business_key := business_key;
    j.principal := nullif(principal, '');
    j.trace_id := nullif(trace_id, '');
    j.timeout_ms := pawl__ms('timeout', timeout);
    j.lease_ms := pawl__ms('lease', lease);
    j.sla_soft_at_ms := pawl__ms('sla_soft_at', sla_soft_at);
    j.sla_hard_at_ms := pawl__ms('sla_hard_at', sla_hard_at);
    j.keep_ms := pawl__ms('keep', keep);
    PERFORM pawl__check_lane('', queue, type);
    PERFORM pawl__refuse(r.number, r.field, r.message) FROM (VALUES
        (1, 'id', given = '00000000-0000-0000-0000-000000000000', 'id must not be all zeroes'),
        (1, 'priority', j.priority NOT BETWEEN -100 AND 100,
            format('priority %s must lie between -100 and 100', j.priority)),
        (1, 'due_at', due_at IS NOT NULL AND delay IS NOT NULL,
            'due_at and delay cannot both be given'),
        (1, 'expires_at', expires_at IS NOT NULL AND expires_in IS NOT NULL,
            'expires_at and expires_in cannot both be given'),
        (1, 'lease', j.lease_ms < 100, 'lease is less than 100 ms'),
        (1, 'sla_soft_at', j.sla_soft_at_ms > j.sla_hard_at_ms,
            'sla_soft_at must not be after sla_hard_at'),
        (1, 'idempotency_for', kept_ms IS NOT NULL AND idempotency_key IS NULL,
            'idempotency_for needs an idempotency_key'),
        (1, 'attempts_max', attempts_max < 1, 'attempts_max must be at least 1'),
        (1, 'attempts_max', attempts_max IS NOT NULL AND policy ? 'attempts_max',
            'attempts_max and retry.attempts_max cannot both be given'),
        (1, 'unique.keys', coalesce(same -> 'keys', '[]') = '[]' AND same IS NOT NULL,
            'unique.keys must say what makes two jobs the same')
    ) AS r (number, field, broken, message) WHERE r.broken;
    PERFORM pawl__check_text(t.field, t.value, 255) FROM (VALUES
        ('idempotency_key', idempotency_key), ('business_key', business_key),
        ('principal', j.principal), ('trace_id', j.trace_id)) AS t (field, value);
    PERFORM pawl__json('args', j.args, 10485760, 'array'), pawl__json('meta', j.meta, 65536,
        'object'), pawl__json('extra', j.extra, 10485760, 'object');
    PERFORM pawl__follow_lanes('on_success', success, 1), pawl__follow_lanes('on_failure', failure,
        1);
    j.tags := pawl__tags(tags);
    IF idempotency_key IS NOT NULL OR business_key IS NOT NULL THEN
        PERFORM pawl__keys_lock(digests);
    END IF;
    now_ms := pawl__now(); -- when we have the locks
    SELECT h.id, h.state INTO id, state FROM pawl__holder(digests[1], false, now_ms) AS h;
    deduplicated := id IS NOT NULL;
    IF deduplicated THEN
        RETURN;
    END IF;
    PERFORM pawl__refuse(5, 'business_key', format('job "%s", which is %s, holds the same '
        'business_key', h.id, pawl__state_name(h.state)))
    FROM pawl__holder(digests[2], true, now_ms) AS h WHERE h.id IS NOT NULL;
    id := coalesce(given, pawl__id());
    j.id := id;
    j.arrival := CASE WHEN given IS NOT NULL THEN pawl__id() END;
    j.created_at_ms := now_ms;
    j.due_at_ms := greatest(now_ms, coalesce(pawl__ms('due_at', due_at),
        now_ms + pawl__ms('delay', delay)));
    j.expires_at_ms := coalesce(j.due_at_ms + lives_ms, pawl__ms('expires_at', expires_at));
    j.lane := pawl__lane(queue, type);
    PERFORM pawl__lane(f.lane_queue, f.lane_type)
    FROM (SELECT * FROM pawl__follow_lanes('on_success', success, 1)
        UNION ALL SELECT * FROM pawl__follow_lanes('on_failure', failure, 1)) AS f;
    IF jsonb_typeof(policy -> 'attempts_max') = 'number' THEN
        attempts := (policy ->> 'attempts_max')::numeric;
    END IF;
    j.attempts_max := CASE WHEN attempts BETWEEN 1 AND 2147483647 AND attempts = trunc(attempts)
        THEN attempts ELSE coalesce(attempts_max, 3) END;
    j.retry := coalesce(nullif(retry, ''), '{"attempts_max":' || nullif(attempts_max, 3) || '}');
    j.uniqueness := nullif(uniqueness, '');
    j.keys := nullif(coalesce('\x01'::bytea || digests[1], '') || coalesce('\x02'::bytea
        || digests[2], ''), '');
    j.state := CASE WHEN pending OR unchecked THEN 3 WHEN j.due_at_ms > now_ms THEN 1 ELSE 2 END;
    j.on_success := CASE WHEN success IS NOT NULL THEN on_success END;
    j.on_failure := CASE WHEN failure IS NOT NULL THEN on_failure END;
    j.ties := nullif(CASE WHEN unchecked THEN 4 ELSE 0 END | CASE WHEN success IS NOT NULL THEN 32
        ELSE 0 END | CASE WHEN failure IS NOT NULL THEN 128 ELSE 0 END, 0);
    state := j.state;
    PERFORM pawl__enter(j, now_ms + kept_ms);
    INSERT INTO pawl_deadline (job_id, at_ms)
    SELECT j.id, least(j.sla_soft_at_ms, j.sla_hard_at_ms)
    WHERE least(j.sla_soft_at_ms, j.sla_hard_at_ms) IS NOT NULL;
    IF unchecked THEN
        INSERT INTO pawl_unsettled (at_ms, job_id, ties, bytes, run, to_state, delay_ms)
        VALUES (now_ms, j.id, 4, CASE WHEN same IS NOT NULL
            THEN octet_length(concat(j.args, j.meta, j.extra)) END, 0,
            CASE WHEN pending THEN 3 END, lives_ms);
    END IF;
    IF unchecked OR pending IS NOT TRUE THEN
        PERFORM pawl__store_notify(CASE j.state WHEN 2 THEN 'r' ELSE '' END);
    END IF;
END $$;

-- Only `type` is required. The manual is docs/sql.md. What is JSON may be text or jsonb.
CREATE OR REPLACE FUNCTION pawl_submit(
    type text, args anycompatible DEFAULT NULL, queue text DEFAULT 'default',
    priority integer DEFAULT 0, delay interval DEFAULT NULL, due_at timestamptz DEFAULT NULL,
    attempts_max integer DEFAULT NULL, retry anycompatible DEFAULT NULL,
    timeout interval DEFAULT NULL, expires_in interval DEFAULT NULL,
    expires_at timestamptz DEFAULT NULL, idempotency_key text DEFAULT NULL,
    idempotency_for interval DEFAULT NULL, business_key text DEFAULT NULL,
    uniqueness anycompatible DEFAULT NULL, tags text[] DEFAULT NULL,
    meta anycompatible DEFAULT NULL, lease interval DEFAULT NULL,
    sla_soft_at timestamptz DEFAULT NULL, sla_hard_at timestamptz DEFAULT NULL,
    keep interval DEFAULT NULL, principal text DEFAULT NULL, trace_id text DEFAULT NULL,
    extra anycompatible DEFAULT NULL, pending boolean DEFAULT false, id uuid DEFAULT NULL,
    on_success anycompatible DEFAULT NULL, on_failure anycompatible DEFAULT NULL)
RETURNS uuid
LANGUAGE sql SECURITY DEFINER SET search_path FROM CURRENT AS $$
    SELECT s.id FROM pawl__submit(type, args::text, queue, priority, delay, due_at, attempts_max,
        retry::text, timeout, expires_in, expires_at, idempotency_key, idempotency_for,
        business_key, uniqueness::text, tags, meta::text, lease, sla_soft_at, sla_hard_at, keep,
        principal, trace_id, extra::text, pending, id, false, on_success::text, on_failure::text)
        AS s
$$;
