-- Submitting, as src/api/spec.c has it.
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

-- A key that a new job brings. kind: 1 idempotency, 2 business, 3 unique.
SELECT pawl__type('pawl__key_of',
    'kind integer, digest bytea, states text[], period_ms bigint, on_conflict text');

-- What asking one key came to; adds to what those before it said.
SELECT pawl__type('pawl__answer',
    'stands_in uuid, state smallint, replaced boolean, due_at_ms bigint');

CREATE OR REPLACE FUNCTION pawl__meet(key pawl__key_of, j pawl_job, now_ms bigint,
    answer pawl__answer)
RETURNS pawl__answer
LANGUAGE plpgsql AS $$
DECLARE
    field text := ('{idempotency_key,business_key,unique}'::text[])[key.kind];
BEGIN
    IF key.on_conflict = 'ignore' THEN
        answer.stands_in := j.id;
        answer.state := j.state;
    ELSIF key.on_conflict = 'reject' THEN
        PERFORM pawl__refuse(5, field, format('job "%s", which is %s, holds the same %s', j.id,
            pawl__state_name(j.state), CASE key.kind WHEN 3 THEN 'unique key' ELSE field END));
    ELSIF j.state < 7 THEN
        answer.replaced := true;
        IF key.on_conflict = 'replace_except_schedule' THEN
            answer.due_at_ms := j.due_at_ms;
        END IF;
        PERFORM pawl__end(j, 9, 'replaced', NULL);
        INSERT INTO pawl_deed (at_ms, job_id, action, reason, from_state, to_state)
        VALUES (now_ms, j.id, 'replace', 'replaced by a job with the same key', j.state, 9);
        IF j.state = 4 THEN
            PERFORM pawl__tell('c');
        END IF;
    END IF;
    RETURN answer;
END $$;

CREATE OR REPLACE FUNCTION pawl__ask(key pawl__key_of, now_ms bigint, answer pawl__answer)
RETURNS pawl__answer
LANGUAGE plpgsql AS $$
DECLARE
    holder record;
    j pawl_job;
    ended integer := 0;
    over boolean;
BEGIN
    FOR holder IN SELECT k.id, k.until_ms FROM pawl_key AS k WHERE k.digest = key.digest
        ORDER BY k.id DESC
    LOOP
        SELECT * INTO j FROM pawl_job AS o WHERE o.id = holder.id FOR NO KEY UPDATE;
        IF NOT FOUND THEN
            SELECT a.state, a.created_at_ms INTO j.state, j.created_at_ms FROM pawl_archive AS a
            WHERE a.id = holder.id;
        END IF;
        IF key.kind = 1 AND (holder.until_ms IS NULL OR holder.until_ms > now_ms)
            OR key.kind <> 1 AND pawl__state_name(j.state) = ANY (key.states)
            AND (key.period_ms = 0 OR j.created_at_ms + key.period_ms > now_ms)
        THEN
            j.id := holder.id; -- the record may be gone, and only the key is left
            answer := pawl__meet(key, j, now_ms, answer);
            EXIT WHEN answer.stands_in IS NOT NULL;
            CONTINUE;
        END IF;
        over := j.state IS NULL OR j.state >= 7;
        IF over AND key.kind <> 1 THEN
            ended := ended + 1;
        END IF;
        IF over AND (key.kind = 1 OR ended > 16 OR j.state IS NULL) THEN
            DELETE FROM pawl_key AS k WHERE k.digest = key.digest AND k.id = holder.id;
        END IF;
    END LOOP;
    RETURN answer;
END $$;

-- The locks of all keys that one job brings, in the order that everybody takes them.
CREATE OR REPLACE FUNCTION pawl__keys_lock(keys pawl__key_of[]) RETURNS void
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
    FOR number IN SELECT DISTINCT ('x' || encode(substr(k.digest, 1, 8), 'hex'))::bit(64)::bigint
        FROM unnest(keys) AS k ORDER BY 1
    LOOP
        PERFORM pg_advisory_xact_lock(number);
    END LOOP;
END $$;

CREATE OR REPLACE FUNCTION pawl__tags(tags text[]) RETURNS text
LANGUAGE plpgsql AS $$
DECLARE
    kept text[] := '{}';
    tag text;
BEGIN
    FOREACH tag IN ARRAY coalesce(tags, '{}') LOOP
        IF tag IS NULL THEN
            PERFORM pawl__refuse(1, 'tags', 'tags is missing');
        END IF;
        tag := btrim(tag, E' \t\n\x0b\f\r');
        IF octet_length(tag) > 64 THEN
            PERFORM pawl__refuse(17, 'tags', format('tag "%s" is longer than 64 bytes',
                pawl__quoted(tag)));
        ELSIF tag ~ '[\u0001-\u001f\u007f-\u009f]' THEN
            PERFORM pawl__refuse(1, 'tags', format(
                'tag "%s" must be UTF-8 without control characters', pawl__quoted(tag)));
        END IF;
        tag := lower(tag COLLATE "C");
        CONTINUE WHEN tag = '' OR tag = ANY (kept);
        kept := kept || tag;
        IF cardinality(kept) > 32 THEN
            PERFORM pawl__refuse(17, 'tags', 'tags has more than 32 members');
        END IF;
    END LOOP;
    RETURN pawl__list_print(kept);
END $$;

CREATE OR REPLACE FUNCTION pawl__keys(type text, queue text, args text, meta text, u pawl__same,
    idempotency_key text, idempotency_ms bigint, business_key text) RETURNS pawl__key_of[]
LANGUAGE plpgsql AS $$
DECLARE
    live text[] := '{scheduled,available,pending,active,retryable,paused}';
    keys pawl__key_of[] := '{}';
BEGIN
    IF idempotency_key IS NOT NULL THEN
        keys := keys || (1, pawl__digest(1, idempotency_key), NULL, coalesce(idempotency_ms, 0),
            'ignore')::pawl__key_of;
    END IF;
    IF business_key IS NOT NULL THEN
        keys := keys || (2, pawl__digest(2, business_key), live, 0, 'reject')::pawl__key_of;
    END IF;
    IF u.keys IS NOT NULL THEN
        keys := keys || (3, pawl__digest(3, pawl__fingerprint(u, type, queue, args, meta)),
            CASE WHEN u.states = '{}' THEN live ELSE u.states END, u.period_ms,
            u.on_conflict)::pawl__key_of;
    END IF;
    RETURN keys;
END $$;

-- The rows of a job whose facts have been checked and whose keys are its own.
-- unchecked: a node looks at its retry policy before it may run.
CREATE OR REPLACE FUNCTION pawl__enter(j pawl_job, keys pawl__key_of[], pending boolean,
    unchecked boolean, now_ms bigint)
RETURNS smallint
LANGUAGE plpgsql AS $$
DECLARE
    taken boolean;
BEGIN
    j.state := CASE WHEN pending THEN 3 WHEN j.due_at_ms > now_ms THEN 1 WHEN unchecked THEN 3
        ELSE 2 END;
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
        PERFORM pawl__enrol(j.lane, j.rank, j.id, j.arrival);
    END IF;
    INSERT INTO pawl_tag (tag, id)
    SELECT t.tag, j.id FROM json_array_elements_text(j.tags::json) AS t (tag)
    ON CONFLICT DO NOTHING;
    INSERT INTO pawl_key (digest, id, until_ms)
    SELECT k.digest, j.id, CASE WHEN k.kind = 1 AND k.period_ms > 0 THEN now_ms + k.period_ms END
    FROM unnest(keys) AS k
    ON CONFLICT (digest, id) DO UPDATE SET until_ms = excluded.until_ms;
    PERFORM pawl__count(j.lane, NULL, j.state);
    IF unchecked THEN
        INSERT INTO pawl_unsettled (at_ms, job_id, ties, run, to_state)
        VALUES (now_ms, j.id, 4, 0, CASE WHEN pending THEN 3 END);
    END IF;
    IF unchecked OR NOT pending THEN
        PERFORM pawl__tell(CASE j.state WHEN 2 THEN 'r' ELSE '' END);
    END IF;
    RETURN j.state;
END $$;

-- All that a job may be, times in milliseconds, NULL where nothing is given; what the library's
-- pawl_submit_pq calls, which has checked the retry policy. state is 0 when the job that stands in
-- is gone and only its key is left.
CREATE OR REPLACE FUNCTION pawl__submit(
    type text, args text, queue text, meta text, extra text, tags text[], priority integer,
    delay_ms bigint, due_at_ms bigint, expires_in_ms bigint, expires_at_ms bigint,
    timeout_ms bigint, lease_ms bigint, sla_soft_at_ms bigint, sla_hard_at_ms bigint,
    keep_ms bigint, retry text, idempotency_key text, idempotency_ms bigint, business_key text,
    uniqueness text, principal text, trace_id text, pending boolean, given uuid,
    attempts_max bigint DEFAULT NULL, unchecked boolean DEFAULT false,
    OUT id uuid, OUT state integer, OUT deduplicated boolean, OUT replaced boolean)
LANGUAGE plpgsql SECURITY DEFINER
SET search_path FROM CURRENT AS $$
DECLARE
    hundred_years CONSTANT bigint := 3155760000000;
    year_9999 CONSTANT bigint := 253402300799999;
    same pawl__same;
    keys pawl__key_of[];
    key pawl__key_of;
    answer pawl__answer;
    j pawl_job;
    now_ms bigint;
BEGIN
    IF given = '00000000-0000-0000-0000-000000000000' THEN
        PERFORM pawl__refuse(1, 'id', 'id must not be all zeroes');
    END IF;
    queue := coalesce(queue, 'default');
    args := coalesce(nullif(args, ''), '[]');
    meta := nullif(meta, '');
    extra := nullif(extra, '');
    priority := coalesce(priority, 0);
    PERFORM pawl__check_names(queue, type);
    IF priority NOT BETWEEN -100 AND 100 THEN
        PERFORM pawl__refuse(1, 'priority', format('priority %s must lie between -100 and 100',
            priority));
    END IF;
    PERFORM pawl__check_time('delay_ms', delay_ms, hundred_years);
    PERFORM pawl__check_time('due_at_ms', due_at_ms, year_9999);
    PERFORM pawl__check_time('expires_in_ms', expires_in_ms, hundred_years);
    PERFORM pawl__check_time('expires_at_ms', expires_at_ms, year_9999);
    PERFORM pawl__check_time('timeout_ms', timeout_ms, hundred_years);
    PERFORM pawl__check_time('lease_ms', lease_ms, hundred_years);
    IF lease_ms BETWEEN 1 AND 99 THEN
        PERFORM pawl__refuse(1, 'lease_ms', 'lease_ms is less than 100 ms');
    END IF;
    PERFORM pawl__check_time('sla_soft_at_ms', sla_soft_at_ms, year_9999);
    PERFORM pawl__check_time('sla_hard_at_ms', sla_hard_at_ms, year_9999);
    PERFORM pawl__check_time('keep_ms', keep_ms, hundred_years);
    PERFORM pawl__check_time('idempotency_ms', idempotency_ms, hundred_years);
    IF delay_ms > 0 AND due_at_ms > 0 THEN
        PERFORM pawl__refuse(1, 'due_at_ms', 'due_at_ms and delay_ms cannot both be given');
    ELSIF expires_in_ms > 0 AND expires_at_ms > 0 THEN
        PERFORM pawl__refuse(1, 'expires_at_ms',
            'expires_at_ms and expires_in_ms cannot both be given');
    ELSIF sla_hard_at_ms > 0 AND sla_soft_at_ms > sla_hard_at_ms THEN
        PERFORM pawl__refuse(1, 'sla_soft_at_ms',
            'sla_soft_at_ms must not be after sla_hard_at_ms');
    END IF;
    PERFORM pawl__check_text('idempotency_key', idempotency_key, 255);
    PERFORM pawl__check_text('business_key', business_key, 255);
    IF idempotency_ms > 0 AND idempotency_key IS NULL THEN
        PERFORM pawl__refuse(1, 'idempotency_ms', 'idempotency_ms needs an idempotency_key');
    END IF;
    PERFORM pawl__check_json('unique', nullif(uniqueness, ''), 65536, 'object');
    IF uniqueness <> '' THEN
        same := pawl__same_read(uniqueness);
    END IF;
    PERFORM pawl__check_text('principal', nullif(principal, ''), 255);
    PERFORM pawl__check_text('trace_id', nullif(trace_id, ''), 255);
    PERFORM pawl__check_json('args', args, 10485760, 'array');
    PERFORM pawl__check_json('meta', meta, 65536, 'object');
    PERFORM pawl__check_json('extra', extra, 10485760, 'object');
    j.tags := pawl__tags(tags);
    PERFORM pawl__check_json('retry', nullif(retry, ''), 65536, 'object');
    IF retry <> '' AND retry::json -> 'attempts_max' IS NOT NULL THEN
        attempts_max := nullif(pawl__whole('retry.attempts_max', retry::json -> 'attempts_max'), 0);
    END IF;
    IF attempts_max NOT BETWEEN 1 AND 2147483647 THEN
        PERFORM pawl__refuse(1, 'retry.attempts_max', '"retry.attempts_max" must be at least 1');
    END IF;
    keys := pawl__keys(type, queue, args, meta, same, idempotency_key, idempotency_ms,
        business_key);
    IF keys <> '{}' THEN
        PERFORM pawl__keys_lock(keys);
    END IF;
    now_ms := pawl__now(); -- when we have the locks
    FOREACH key IN ARRAY keys LOOP
        answer := pawl__ask(key, now_ms, answer);
        EXIT WHEN answer.stands_in IS NOT NULL;
    END LOOP;
    deduplicated := answer.stands_in IS NOT NULL;
    replaced := coalesce(answer.replaced, false) AND NOT deduplicated;
    IF deduplicated THEN
        id := answer.stands_in;
        state := coalesce(answer.state, 0);
        RETURN;
    END IF;
    id := coalesce(given, pawl__id());
    j.id := id;
    j.arrival := CASE WHEN given IS NOT NULL THEN pawl__id() END;
    j.created_at_ms := now_ms;
    j.due_at_ms := greatest(now_ms, coalesce(answer.due_at_ms, nullif(due_at_ms, 0),
        now_ms + coalesce(delay_ms, 0)));
    j.lane := pawl__lane(queue, type);
    j.attempts_max := coalesce(attempts_max, 3);
    j.priority := priority;
    j.args := args;
    j.expires_at_ms := coalesce(j.due_at_ms + nullif(expires_in_ms, 0), nullif(expires_at_ms, 0));
    j.timeout_ms := nullif(timeout_ms, 0);
    j.lease_ms := nullif(lease_ms, 0);
    j.sla_soft_at_ms := nullif(sla_soft_at_ms, 0);
    j.sla_hard_at_ms := nullif(sla_hard_at_ms, 0);
    j.keep_ms := nullif(keep_ms, 0);
    j.meta := meta;
    j.extra := extra;
    j.retry := coalesce(nullif(retry, ''), '{"attempts_max":' || nullif(attempts_max, 3) || '}');
    j.uniqueness := CASE WHEN same.keys IS NOT NULL THEN pawl__same_print(same) END;
    j.keys := (SELECT string_agg(set_byte('\x00'::bytea, 0, k.kind) || k.digest, '' ORDER BY k.kind)
        FROM unnest(keys) AS k);
    j.idempotency_key := idempotency_key;
    j.business_key := business_key;
    j.principal := nullif(principal, '');
    j.trace_id := nullif(trace_id, '');
    state := pawl__enter(j, keys, coalesce(pending, false), unchecked AND retry <> '', now_ms);
END $$;

CREATE OR REPLACE FUNCTION pawl__ms(field text, value interval) RETURNS bigint
LANGUAGE plpgsql STRICT AS $$
DECLARE
    ms numeric := extract(epoch FROM value)::numeric * 1000;
BEGIN
    PERFORM pawl__check_time(field, least(greatest(ms, -1), 3155760000001)::bigint, 3155760000000);
    RETURN ms::bigint;
END $$;

CREATE OR REPLACE FUNCTION pawl__ms(field text, value timestamptz) RETURNS bigint
LANGUAGE plpgsql STRICT AS $$
DECLARE
    at_s double precision := extract(epoch FROM value); -- infinity too
BEGIN
    PERFORM pawl__check_time(field, (least(greatest(at_s, -1), 253402300800) * 1000)::bigint,
        253402300799999);
    RETURN (extract(epoch FROM value) * 1000)::bigint;
END $$;

-- Only `type` is required. The manual is docs/sql.md.
CREATE OR REPLACE FUNCTION pawl_submit(
    type text, args text DEFAULT '[]', queue text DEFAULT 'default', priority integer DEFAULT 0,
    delay interval DEFAULT NULL, due_at timestamptz DEFAULT NULL,
    attempts_max integer DEFAULT NULL, retry text DEFAULT NULL,
    timeout interval DEFAULT NULL, expires_in interval DEFAULT NULL,
    expires_at timestamptz DEFAULT NULL, idempotency_key text DEFAULT NULL,
    idempotency_for interval DEFAULT NULL, business_key text DEFAULT NULL,
    uniqueness text DEFAULT NULL, tags text[] DEFAULT NULL, meta text DEFAULT NULL,
    lease interval DEFAULT NULL, sla_soft_at timestamptz DEFAULT NULL,
    sla_hard_at timestamptz DEFAULT NULL, keep interval DEFAULT NULL,
    principal text DEFAULT NULL, trace_id text DEFAULT NULL, extra text DEFAULT NULL,
    pending boolean DEFAULT false, id uuid DEFAULT NULL) RETURNS uuid
LANGUAGE plpgsql SECURITY DEFINER
SET search_path FROM CURRENT AS $$
BEGIN
    IF delay IS NOT NULL AND due_at IS NOT NULL THEN
        PERFORM pawl__refuse(1, 'due_at', 'due_at and delay cannot both be given');
    ELSIF expires_in IS NOT NULL AND expires_at IS NOT NULL THEN
        PERFORM pawl__refuse(1, 'expires_at', 'expires_at and expires_in cannot both be given');
    ELSIF idempotency_for IS NOT NULL AND idempotency_key IS NULL THEN
        PERFORM pawl__refuse(1, 'idempotency_for', 'idempotency_for needs an idempotency_key');
    END IF;
    IF attempts_max IS NOT NULL THEN
        PERFORM pawl__check_json('retry', retry, 65536, 'object');
        IF attempts_max < 1 THEN
            PERFORM pawl__refuse(1, 'attempts_max', 'attempts_max must be at least 1');
        ELSIF retry::json -> 'attempts_max' IS NOT NULL THEN
            PERFORM pawl__refuse(1, 'attempts_max',
                'attempts_max and retry.attempts_max cannot both be given');
        END IF;
    END IF;
    RETURN (pawl__submit(type, args, queue, meta, extra, tags, priority, pawl__ms('delay', delay),
        pawl__ms('due_at', due_at), pawl__ms('expires_in', expires_in),
        pawl__ms('expires_at', expires_at), pawl__ms('timeout', timeout), pawl__ms('lease', lease),
        pawl__ms('sla_soft_at', sla_soft_at), pawl__ms('sla_hard_at', sla_hard_at),
        pawl__ms('keep', keep), retry, idempotency_key,
        pawl__ms('idempotency_for', idempotency_for), business_key, uniqueness, principal, trace_id,
        pending, id, attempts_max, true)).id;
END $$;

-- The same for those who have jsonb in their hands. args is required, which tells the two apart.
CREATE OR REPLACE FUNCTION pawl_submit(
    type text, args jsonb, queue text DEFAULT 'default', priority integer DEFAULT 0,
    delay interval DEFAULT NULL, due_at timestamptz DEFAULT NULL,
    attempts_max integer DEFAULT NULL, retry jsonb DEFAULT NULL,
    timeout interval DEFAULT NULL, expires_in interval DEFAULT NULL,
    expires_at timestamptz DEFAULT NULL, idempotency_key text DEFAULT NULL,
    idempotency_for interval DEFAULT NULL, business_key text DEFAULT NULL,
    uniqueness jsonb DEFAULT NULL, tags text[] DEFAULT NULL, meta jsonb DEFAULT NULL,
    lease interval DEFAULT NULL, sla_soft_at timestamptz DEFAULT NULL,
    sla_hard_at timestamptz DEFAULT NULL, keep interval DEFAULT NULL,
    principal text DEFAULT NULL, trace_id text DEFAULT NULL, extra jsonb DEFAULT NULL,
    pending boolean DEFAULT false, id uuid DEFAULT NULL) RETURNS uuid
LANGUAGE sql SECURITY DEFINER
SET search_path FROM CURRENT AS $$
    SELECT pawl_submit(type, args::text, queue, priority, delay, due_at, attempts_max, retry::text,
        timeout, expires_in, expires_at, idempotency_key, idempotency_for, business_key,
        uniqueness::text, tags, meta::text, lease, sla_soft_at, sla_hard_at, keep, principal,
        trace_id, extra::text, pending, id)
$$;
