-- Columns of the views at the end, of a row of pawl_job or pawl_archive.
-- fragment: ratchet_columns
    j.id AS job_id, n.type AS job_type, q.name AS queue, j.priority::integer AS priority,
    pawl__time(j.due_at_ms) AS scheduled_time, pawl__time(j.created_at_ms) AS created_at,
    j.args AS payload, j.meta AS params, j.business_key, j.idempotency_key,
    j.principal AS caller_principal, j.trace_id AS trace_context,
    j.timeout_ms / 1000.0 AS timeout_sec, j.attempts_max - 1 AS max_retries,
    j.run - j.base_run - j.free_runs AS attempts, j.run AS claim_seq,
    j.worker AS picked_by, pawl__time(j.started_at_ms) AS picked_at,
    (SELECT f.message FROM pawl_failure AS f WHERE f.id = j.id ORDER BY f.run DESC LIMIT 1)
        AS last_error,
    pawl__time(j.finished_at_ms) AS terminated_at,
    CASE WHEN j.state >= 7 THEN j.reason END AS terminal_error, j.result AS job_result,
    j.dead_letter

-- fragment: ratchet_boost
    CASE WHEN j.state < 7
        THEN greatest(0, extract(epoch FROM statement_timestamp())::numeric * 1000 - j.due_at_ms)
            / coalesce((SELECT nullif(s.value::bigint, 0) FROM pawl_setting AS s
                WHERE s.name = 'rank.boost_ms'), 900000)
        ELSE 0 END AS age_boost

-- fragment: ratchet_names
    LEFT JOIN pawl_lane AS n ON n.id = j.lane
    LEFT JOIN pawl_queue AS q ON q.id = n.queue_id

-- One that was paused after its end, and has gone back there, can be on the roll twice.
-- fragment: ratchet_ended
    FROM pawl_ended AS e
    JOIN pawl_job AS j ON j.id = ANY (e.ids) AND j.state = e.state
        AND j.finished_at_ms = e.finished_at_ms
    {{ratchet_names}}
    WHERE NOT EXISTS (SELECT 1 FROM pawl_ended AS o WHERE o.state = e.state
        AND o.finished_at_ms = e.finished_at_ms AND o.ctid < e.ctid AND j.id = ANY (o.ids))

-- name: migration_2
-- Jobs from SQL, in the caller's own transaction: pawl_submit, pawl_complete, pawl_fail and
-- pawl_give_back; and views that show the store under the names that other tools know.
--
-- compatible: it adds, and changes nothing that was there. A program that knows only the schema
-- before it works on this one.
--
-- The rules are those of the library, word for word: src/api/spec.c, check.c and unique.c for what
-- a job may be, src/lifecycle/retry.c for what follows a failure, submit.c, keys.c, place.c and
-- finish.c beside this for what is written. tests/postgres/sql_test.py compares the two.
--
-- Errors have an SQLSTATE of "PW" and the library's number of three digits (PW001 is ARG); the
-- field that broke a rule is the error's column name.
--
-- Functions whose names have two underscores are for the others. What may be granted runs with its
-- owner's rights and a search path of its own, and nobody else may call it until it was; the rest
-- runs with its caller's, who can do with it what he could without.

SELECT set_config('check_function_bodies', 'off', true),
    set_config('extra_float_digits', '1', true),
    set_config('search_path', quote_ident(current_schema()) || ', pg_temp', true);

CREATE FUNCTION pawl__refuse(number integer, field text, message text) RETURNS void
LANGUAGE plpgsql AS $$
BEGIN
    RAISE EXCEPTION USING ERRCODE = 'PW' || lpad(number::text, 3, '0'), MESSAGE = message,
        COLUMN = coalesce(field, '');
END $$;

CREATE FUNCTION pawl__now() RETURNS bigint
LANGUAGE sql VOLATILE AS $$
    SELECT (extract(epoch FROM clock_timestamp()) * 1000)::bigint
$$;

CREATE FUNCTION pawl__time(ms bigint) RETURNS timestamptz
LANGUAGE sql IMMUTABLE AS $$
    SELECT '1970-01-01 00:00:00+00'::timestamptz + ms * interval '1 millisecond'
$$;

CREATE FUNCTION pawl__state_name(state integer) RETURNS text
LANGUAGE sql IMMUTABLE AS $$
    SELECT ('{scheduled,available,pending,active,retryable,paused,completed,skipped,cancelled,'
        'discarded,expired}'::text[])[state]
$$;

-- The same channel that the store's nodes listen to. Sixteen noughts are nobody's name there, so
-- every node hears it.
CREATE FUNCTION pawl__tell(what text) RETURNS void
LANGUAGE sql AS $$
    SELECT pg_notify(CASE WHEN current_schema() = 'public' THEN 'pawl'
        ELSE 'pawl_' || convert_from(substr(convert_to(current_schema(), 'UTF8'), 1, 50), 'UTF8')
        END, '0000000000000000' || what)
$$;

-- ---- checks ----

CREATE FUNCTION pawl__quoted(value text) RETURNS text
LANGUAGE sql IMMUTABLE AS $$
    SELECT CASE WHEN length(value) > 60 THEN left(shown, 60) || '...' ELSE shown END
    FROM regexp_replace(value, '[\u0001-\u001f\u007f-\u009f]', '?', 'g') AS shown
$$;

CREATE FUNCTION pawl__check_text(field text, value text, bytes_max integer) RETURNS void
LANGUAGE plpgsql AS $$
BEGIN
    IF value = '' THEN
        PERFORM pawl__refuse(1, field, format('%s must not be empty', field));
    ELSIF octet_length(value) > bytes_max THEN
        PERFORM pawl__refuse(17, field, format('%s is longer than %s bytes', field, bytes_max));
    ELSIF value ~ '[\u0001-\u001f\u007f-\u009f]' THEN
        PERFORM pawl__refuse(1, field, format(
            '%s "%s" must be UTF-8 without control characters', field, pawl__quoted(value)));
    END IF;
END $$;

-- NULL and 0: not given.
CREATE FUNCTION pawl__check_time(field text, value_ms bigint, most_ms bigint) RETURNS void
LANGUAGE plpgsql AS $$
BEGIN
    IF value_ms < 0 THEN
        PERFORM pawl__refuse(1, field, format('%s must not be negative', field));
    ELSIF value_ms > most_ms THEN
        PERFORM pawl__refuse(1, field, CASE WHEN most_ms = 3155760000000
            THEN format('%s is more than 100 years', field)
            ELSE format('%s is beyond the year 9999', field) END);
    END IF;
END $$;

CREATE FUNCTION pawl__check_names(queue text, type text) RETURNS void
LANGUAGE plpgsql AS $$
BEGIN
    IF type IS NULL THEN
        PERFORM pawl__refuse(1, 'type', 'type is missing');
    ELSIF octet_length(type) > 255 THEN
        PERFORM pawl__refuse(17, 'type', 'type is longer than 255 bytes');
    ELSIF type COLLATE "C" !~ '^[a-z][a-z0-9_-]*(\.[a-z][a-z0-9_-]*)*(@[0-9]+\.[0-9]+)?$' THEN
        PERFORM pawl__refuse(1, 'type', format('type "%s" must be lower-case words joined by dots, '
            'as in "mail.send" or "mail.send@1.0"', pawl__quoted(type)));
    ELSIF octet_length(queue) > 128 THEN
        PERFORM pawl__refuse(17, 'queue', 'queue is longer than 128 bytes');
    ELSIF queue COLLATE "C" !~ '^[a-z0-9][a-z0-9._-]*$' THEN
        PERFORM pawl__refuse(1, 'queue', format('queue "%s" must be a-z, 0-9, ".", "_" and "-", '
            'and begin with a letter or digit', pawl__quoted(queue)));
    END IF;
END $$;

-- What is inside a value, for it is well-formed already: depth, and names that occur twice.
CREATE FUNCTION pawl__check_inside(field text, value json, room integer) RETURNS void
LANGUAGE plpgsql AS $$
DECLARE
    kind text := json_typeof(value);
    part record;
BEGIN
    IF kind NOT IN ('array', 'object') THEN
        RETURN;
    ELSIF room = 0 THEN
        PERFORM pawl__refuse(17, field, format('%s: JSON is nested deeper than 32 levels', field));
    END IF;
    IF kind = 'array' THEN
        FOR part IN SELECT e.value FROM json_array_elements(value) AS e (value)
            WHERE json_typeof(e.value) IN ('array', 'object')
        LOOP
            PERFORM pawl__check_inside(field, part.value, room - 1);
        END LOOP;
        RETURN;
    END IF;
    FOR part IN SELECT min(e.key) AS key FROM json_each(value) AS e (key, value)
        GROUP BY e.key COLLATE "C" HAVING count(*) > 1
    LOOP
        PERFORM pawl__refuse(1, field, format('%s: not valid JSON: member "%s" occurs twice', field,
            pawl__quoted(part.key)));
    END LOOP;
    FOR part IN SELECT e.value FROM json_each(value) AS e (key, value)
        WHERE json_typeof(e.value) IN ('array', 'object')
    LOOP
        PERFORM pawl__check_inside(field, part.value, room - 1);
    END LOOP;
END $$;

-- `kind`: what it must be; NULL: anything.
CREATE FUNCTION pawl__check_json(field text, value text, bytes_max integer, kind text)
RETURNS void
LANGUAGE plpgsql AS $$
DECLARE
    parsed json;
    reason text;
BEGIN
    IF octet_length(value) > bytes_max THEN
        PERFORM pawl__refuse(17, field, format('%s is longer than %s bytes', field, bytes_max));
    END IF;
    BEGIN
        parsed := value::json;
        IF value LIKE '%\\u%' AND regexp_replace(replace(value, '\\', ''),
            '\\u[dD][89abAB][0-9a-fA-F]{2}\\u[dD][c-fC-F][0-9a-fA-F]{2}', '', 'g')
            ~ '\\u[dD][89a-fA-F]'
        THEN
            reason := 'a surrogate without its partner';
        ELSIF json_typeof(parsed) IN ('array', 'object') THEN
            PERFORM pawl__check_inside(field, parsed, 32);
        END IF;
    EXCEPTION
        WHEN invalid_text_representation OR statement_too_complex OR untranslatable_character THEN
            GET STACKED DIAGNOSTICS reason = PG_EXCEPTION_DETAIL;
            reason := coalesce(nullif(reason, ''), SQLERRM);
    END;
    IF reason IS NOT NULL THEN
        PERFORM pawl__refuse(1, field, format('%s: not valid JSON: %s', field,
            lower(left(reason, 1)) || rtrim(substr(reason, 2), '.')));
    ELSIF json_typeof(parsed) <> kind THEN
        PERFORM pawl__refuse(1, field, format('%s must be a JSON %s', field, kind));
    END IF;
END $$;

-- A list of names from JSON, in order.
CREATE FUNCTION pawl__names(field text, value json) RETURNS text[]
LANGUAGE plpgsql AS $$
BEGIN
    IF json_typeof(value) <> 'array' THEN
        PERFORM pawl__refuse(1, field, format('"%s" must be an array', field));
    ELSIF EXISTS (SELECT 1 FROM json_array_elements(value) AS e (value)
        WHERE json_typeof(e.value) <> 'string')
    THEN
        PERFORM pawl__refuse(1, field, format('"%s" must hold strings alone', field));
    END IF;
    RETURN ARRAY(SELECT e.value FROM json_array_elements_text(value) WITH ORDINALITY
        AS e (value, at) ORDER BY e.at);
END $$;

CREATE FUNCTION pawl__whole(field text, value json) RETURNS bigint
LANGUAGE plpgsql AS $$
DECLARE
    number numeric;
BEGIN
    IF json_typeof(value) = 'number' AND length(value::text) < 100
        AND value::text !~ '[eE][+-]?[0-9]{4}'
    THEN
        number := value::text::numeric;
    END IF;
    IF number IS NULL OR number <> trunc(number)
        OR number NOT BETWEEN -9223372036854775808 AND 9223372036854775807
    THEN
        PERFORM pawl__refuse(1, field, format('"%s" must be a whole number that fits', field));
    END IF;
    RETURN number;
END $$;

-- ---- retry policies ----

-- As src/lifecycle/decimal.c prints it.
CREATE FUNCTION pawl__decimal(value double precision) RETURNS text
LANGUAGE plpgsql AS $$
DECLARE
    part text[] := regexp_match(value::text, '^(\d+)(?:\.(\d+))?(?:e([+-]\d+))?$');
    digits text := part[1] || coalesce(part[2], '');
    power integer := length(part[1]) + coalesce(part[3], '0')::integer
        - (length(digits) - length(ltrim(digits, '0')));
BEGIN
    IF value < 9007199254740992 AND value = floor(value) THEN
        RETURN value::bigint::text;
    END IF;
    digits := trim(BOTH '0' FROM digits);
    IF power BETWEEN -3 AND 0 THEN
        RETURN '0.' || repeat('0', -power) || digits;
    ELSIF power > 0 AND power < length(digits) THEN
        RETURN left(digits, power) || '.' || substr(digits, power + 1);
    END IF;
    RETURN left(digits, 1) || CASE WHEN length(digits) > 1 THEN '.' || substr(digits, 2) ELSE '' END
        || CASE WHEN power > 0 THEN 'e+' ELSE 'e' END || power - 1;
END $$;

-- A policy, all of it, with what was not given filled in.
CREATE TYPE pawl__policy AS (
    attempts_max  bigint,
    backoff       text,
    initial_ms    bigint,
    coefficient   double precision,
    cap_ms        bigint,
    exponent_max  bigint,
    jitter        boolean,
    jitter_low    double precision,
    jitter_high   double precision,
    on_exhaustion text,
    non_retryable text[]
);

CREATE FUNCTION pawl__policy_number(field text, value json) RETURNS double precision
LANGUAGE plpgsql AS $$
BEGIN
    IF json_typeof(value) <> 'number' THEN
        PERFORM pawl__refuse(1, field, format('"%s" must be a number', field));
    END IF;
    RETURN value::text::double precision;
EXCEPTION
    WHEN numeric_value_out_of_range THEN
        PERFORM pawl__refuse(1, field, format('"%s" must be a number', field));
        RETURN NULL;
END $$;

CREATE FUNCTION pawl__policy_word(field text, value json, known text[]) RETURNS text
LANGUAGE plpgsql AS $$
BEGIN
    IF json_typeof(value) <> 'string' THEN
        PERFORM pawl__refuse(1, field, format('"%s" must be a string', field));
    ELSIF value #>> '{}' <> ALL (known) THEN
        PERFORM pawl__refuse(1, field, format('"%s" is not a word that is known', field));
    END IF;
    RETURN value #>> '{}';
END $$;

CREATE FUNCTION pawl__policy_check(p pawl__policy) RETURNS void
LANGUAGE plpgsql AS $$
DECLARE
    broken text;
    entry record;
BEGIN
    broken := CASE
        WHEN p.attempts_max < 1 THEN 'attempts_max must be at least 1'
        WHEN p.initial_ms < 1 THEN 'initial_ms must be at least 1'
        WHEN p.initial_ms > 3155760000000 THEN 'initial_ms is over 100 years'
        WHEN NOT p.coefficient >= 1 THEN 'coefficient must be a number of at least 1'
        WHEN p.cap_ms < p.initial_ms THEN 'cap_ms is less than initial_ms'
        WHEN p.cap_ms > 3155760000000 THEN 'cap_ms is over 100 years'
        WHEN p.exponent_max < 0 THEN 'exponent_max is negative'
        WHEN NOT p.jitter_low >= 0 THEN 'jitter_low must be a number of at least 0'
        WHEN NOT p.jitter_high >= p.jitter_low
            THEN 'jitter_high must be a number of at least jitter_low'
        END;
    IF broken IS NOT NULL THEN
        PERFORM pawl__refuse(1, 'retry.' || split_part(broken, ' ', 1),
            regexp_replace(broken, '^(\w+)', '"retry.\1"'));
    END IF;
    IF cardinality(p.non_retryable) > 100 THEN
        PERFORM pawl__refuse(17, 'retry.non_retryable', format(
            '"retry.non_retryable" has %s entries, at most 100', cardinality(p.non_retryable)));
    END IF;
    FOR entry IN SELECT e.at - 1 AS at, octet_length(e.value) AS bytes
        FROM unnest(p.non_retryable) WITH ORDINALITY AS e (value, at) ORDER BY e.at
    LOOP
        IF entry.bytes = 0 THEN
            PERFORM pawl__refuse(1, 'retry.non_retryable',
                format('entry %s of "retry.non_retryable" is empty', entry.at));
        ELSIF entry.bytes > 255 THEN
            PERFORM pawl__refuse(17, 'retry.non_retryable',
                format('entry %s of "retry.non_retryable" is over 255 bytes', entry.at));
        END IF;
    END LOOP;
END $$;

CREATE FUNCTION pawl__policy_read(value text) RETURNS pawl__policy
LANGUAGE plpgsql AS $$
DECLARE
    p pawl__policy;
    member record;
    field text;
BEGIN
    FOR member IN SELECT e.key, e.value FROM json_each(coalesce(value, '{}')::json)
        AS e (key, value)
    LOOP
        field := 'retry.' || member.key;
        CASE member.key
        WHEN 'attempts_max' THEN p.attempts_max := pawl__whole(field, member.value);
        WHEN 'backoff' THEN p.backoff := pawl__policy_word(field, member.value,
            '{exponential,linear,polynomial,constant,immediate}');
        WHEN 'initial_ms' THEN p.initial_ms := pawl__whole(field, member.value);
        WHEN 'coefficient' THEN p.coefficient := pawl__policy_number(field, member.value);
        WHEN 'cap_ms' THEN p.cap_ms := pawl__whole(field, member.value);
        WHEN 'exponent_max' THEN p.exponent_max := pawl__whole(field, member.value);
        WHEN 'jitter' THEN
            IF json_typeof(member.value) <> 'boolean' THEN
                PERFORM pawl__refuse(1, field, format('"%s" must be true or false', field));
            END IF;
            p.jitter := member.value::text::boolean;
        WHEN 'jitter_low' THEN p.jitter_low := pawl__policy_number(field, member.value);
        WHEN 'jitter_high' THEN p.jitter_high := pawl__policy_number(field, member.value);
        WHEN 'on_exhaustion' THEN p.on_exhaustion := pawl__policy_word(field, member.value,
            '{discard,dead_letter}');
        WHEN 'non_retryable' THEN p.non_retryable := pawl__names(field, member.value);
        ELSE PERFORM pawl__refuse(1, 'retry',
            format('"retry" has no member "%s"', pawl__quoted(member.key)));
        END CASE;
    END LOOP;
    IF greatest(abs(p.attempts_max), abs(p.exponent_max)) > 2147483647 THEN
        field := 'retry.' || CASE WHEN abs(p.attempts_max) > 2147483647 THEN 'attempts_max'
            ELSE 'exponent_max' END;
        PERFORM pawl__refuse(1, field, format('"%s" must be a whole number that fits', field));
    END IF;
    -- nought is "not given", as in the library
    p.attempts_max := coalesce(nullif(p.attempts_max, 0), 3);
    p.backoff := coalesce(p.backoff, 'exponential');
    p.initial_ms := coalesce(nullif(p.initial_ms, 0), 1000);
    p.coefficient := coalesce(nullif(p.coefficient, 0), 2);
    p.cap_ms := coalesce(nullif(p.cap_ms, 0), greatest(p.initial_ms, 300000));
    p.exponent_max := coalesce(p.exponent_max, 0);
    p.jitter := coalesce(p.jitter, true);
    p.jitter_low := coalesce(nullif(p.jitter_low, 0), 0.5);
    p.jitter_high := coalesce(nullif(p.jitter_high, 0), 1.5);
    p.on_exhaustion := coalesce(p.on_exhaustion, 'discard');
    p.non_retryable := coalesce(p.non_retryable, '{}');
    PERFORM pawl__policy_check(p);
    RETURN p;
END $$;

-- What differs from the default; NULL: nothing does.
CREATE FUNCTION pawl__policy_print(p pawl__policy) RETURNS text
LANGUAGE sql STABLE AS $$
    SELECT '{' || string_agg('"' || m.name || '":' || m.value, ',' ORDER BY m.at) || '}'
    FROM (VALUES
        (1, 'attempts_max', nullif(p.attempts_max, 3)::text),
        (2, 'backoff', to_json(nullif(p.backoff, 'exponential'))::text),
        (3, 'initial_ms', nullif(p.initial_ms, 1000)::text),
        (4, 'coefficient', pawl__decimal(nullif(p.coefficient, 2))),
        (5, 'cap_ms', nullif(p.cap_ms, 300000)::text),
        (6, 'exponent_max', nullif(p.exponent_max, 0)::text),
        (7, 'jitter', nullif(p.jitter, true)::text),
        (8, 'jitter_low', pawl__decimal(nullif(p.jitter_low, 0.5))),
        (9, 'jitter_high', pawl__decimal(nullif(p.jitter_high, 1.5))),
        (10, 'on_exhaustion', to_json(nullif(p.on_exhaustion, 'discard'))::text),
        (11, 'non_retryable', (SELECT '[' || string_agg(to_json(e.value)::text, ',' ORDER BY e.at)
            || ']' FROM unnest(p.non_retryable) WITH ORDINALITY AS e (value, at)))
    ) AS m (at, name, value)
    WHERE m.value IS NOT NULL
$$;

-- ---- what makes two jobs the same ----

-- As src/base/json_canonical.c lays it out: all digits, no double in between.
CREATE FUNCTION pawl__canonical_number(value text) RETURNS text
LANGUAGE plpgsql IMMUTABLE AS $$
DECLARE
    part text[] := regexp_match(value, '^(-?)(\d+)(?:\.(\d+))?(?:[eE]([+-]?\d+))?$');
    digits text := part[2] || coalesce(part[3], '');
    k integer;
    n numeric := length(part[2]) + coalesce(part[4], '0')::numeric
        - (length(digits) - length(ltrim(digits, '0')));
BEGIN
    digits := trim(BOTH '0' FROM digits);
    k := length(digits);
    IF k = 0 THEN
        RETURN '0';
    ELSIF n > 21 OR n <= -6 THEN
        RETURN part[1] || left(digits, 1)
            || CASE WHEN k > 1 THEN '.' || substr(digits, 2) ELSE '' END
            || CASE WHEN n > 0 THEN 'e+' ELSE 'e' END || n - 1;
    ELSIF n <= 0 THEN
        RETURN part[1] || '0.' || repeat('0', -n::integer) || digits;
    ELSIF k <= n THEN
        RETURN part[1] || digits || repeat('0', n::integer - k);
    END IF;
    RETURN part[1] || left(digits, n::integer) || '.' || substr(digits, n::integer + 1);
END $$;

CREATE FUNCTION pawl__canonical(value json) RETURNS text
LANGUAGE plpgsql IMMUTABLE AS $$
BEGIN
    CASE json_typeof(value)
    WHEN 'object' THEN
        RETURN '{' || coalesce((SELECT string_agg(to_json(e.key)::text || ':'
            || pawl__canonical(e.value), ',' ORDER BY e.key COLLATE "C")
            FROM json_each(value) AS e (key, value)), '') || '}';
    WHEN 'array' THEN
        RETURN '[' || coalesce((SELECT string_agg(pawl__canonical(e.value), ',' ORDER BY e.at)
            FROM json_array_elements(value) WITH ORDINALITY AS e (value, at)), '') || ']';
    WHEN 'number' THEN
        RETURN pawl__canonical_number(btrim(value::text, E' \t\r\n'));
    WHEN 'string' THEN
        RETURN to_json(value #>> '{}')::text;
    ELSE
        RETURN btrim(value::text, E' \t\r\n');
    END CASE;
END $$;

CREATE FUNCTION pawl__digest(kind integer, value text) RETURNS bytea
LANGUAGE sql IMMUTABLE AS $$
    SELECT substr(sha256(set_byte('\x00'::bytea, 0, kind) || convert_to(value, 'UTF8')), 1, 16)
$$;

-- A unique policy, all of it.
CREATE TYPE pawl__same AS (
    keys        text[],
    args_keys   text[],
    meta_keys   text[],
    period_ms   bigint,
    states      text[],
    on_conflict text
);

CREATE FUNCTION pawl__same_names(field text, list text[], needs text, keys text[]) RETURNS void
LANGUAGE plpgsql AS $$
DECLARE
    entry text;
BEGIN
    IF cardinality(list) > 32 THEN
        PERFORM pawl__refuse(17, field, format('%s has %s members, more than 32', field,
            cardinality(list)));
    ELSIF cardinality(list) > 0 AND needs <> ALL (keys) THEN
        PERFORM pawl__refuse(1, field, format('%s needs "%s" among unique.keys', field, needs));
    END IF;
    FOREACH entry IN ARRAY list LOOP
        PERFORM pawl__check_text(field, entry, 255);
    END LOOP;
END $$;

CREATE FUNCTION pawl__same_read(value text) RETURNS pawl__same
LANGUAGE plpgsql AS $$
DECLARE
    u pawl__same;
    member record;
    field text;
    unknown text;
BEGIN
    FOR member IN SELECT e.key, e.value FROM json_each(value::json) AS e (key, value) LOOP
        field := 'unique.' || member.key;
        CASE member.key
        WHEN 'keys' THEN u.keys := pawl__names(field, member.value);
        WHEN 'args_keys' THEN u.args_keys := pawl__names(field, member.value);
        WHEN 'meta_keys' THEN u.meta_keys := pawl__names(field, member.value);
        WHEN 'period_ms' THEN u.period_ms := pawl__whole(field, member.value);
        WHEN 'states' THEN u.states := pawl__names(field, member.value);
        WHEN 'on_conflict' THEN u.on_conflict := pawl__policy_word(field, member.value,
            '{reject,replace,replace_except_schedule,ignore}');
        ELSE PERFORM pawl__refuse(1, 'unique',
            format('"unique" has no member "%s"', pawl__quoted(member.key)));
        END CASE;
    END LOOP;
    IF coalesce(cardinality(u.keys), 0) = 0 THEN
        PERFORM pawl__refuse(1, 'unique.keys',
            'unique.keys must say what makes two jobs the same');
    END IF;
    SELECT k INTO unknown FROM unnest(u.keys) AS k
    WHERE k <> ALL ('{type,queue,args,meta}'::text[]) LIMIT 1;
    IF unknown IS NOT NULL THEN
        PERFORM pawl__refuse(1, 'unique.keys', format('unique.keys "%s" is not known',
            pawl__quoted(unknown)));
    END IF;
    SELECT s INTO unknown FROM unnest(u.states) AS s
    WHERE NOT EXISTS (SELECT 1 FROM generate_series(1, 11) AS n WHERE pawl__state_name(n) = s)
    LIMIT 1;
    IF unknown IS NOT NULL THEN
        PERFORM pawl__refuse(1, 'unique.states', format('unique.states "%s" is not a state',
            pawl__quoted(unknown)));
    END IF;
    u.args_keys := coalesce(u.args_keys, '{}');
    u.meta_keys := coalesce(u.meta_keys, '{}');
    PERFORM pawl__same_names('unique.args_keys', u.args_keys, 'args', u.keys);
    PERFORM pawl__same_names('unique.meta_keys', u.meta_keys, 'meta', u.keys);
    IF 'meta' = ANY (u.keys) AND u.meta_keys = '{}' THEN
        PERFORM pawl__refuse(1, 'unique.meta_keys',
            'unique.meta_keys is required with "meta" among unique.keys');
    END IF;
    PERFORM pawl__check_time('unique.period_ms', u.period_ms, 3155760000000);
    u.period_ms := coalesce(u.period_ms, 0);
    u.states := coalesce(u.states, '{}');
    u.on_conflict := coalesce(u.on_conflict, 'reject');
    RETURN u;
END $$;

CREATE FUNCTION pawl__list_print(list text[]) RETURNS text
LANGUAGE sql IMMUTABLE AS $$
    SELECT '[' || string_agg(to_json(e.value)::text, ',' ORDER BY e.at) || ']'
    FROM unnest(list) WITH ORDINALITY AS e (value, at)
$$;

CREATE FUNCTION pawl__same_print(u pawl__same) RETURNS text
LANGUAGE sql STABLE AS $$
    SELECT '{"keys":' || pawl__list_print(ARRAY(
            SELECT d.name FROM unnest('{type,queue,args,meta}'::text[]) WITH ORDINALITY
                AS d (name, at) WHERE d.name = 'type' OR d.name = ANY (u.keys) ORDER BY d.at))
        || coalesce(',"args_keys":' || pawl__list_print(u.args_keys), '')
        || coalesce(',"meta_keys":' || pawl__list_print(u.meta_keys), '')
        || CASE WHEN u.period_ms > 0 THEN ',"period_ms":' || u.period_ms ELSE '' END
        || coalesce(',"states":' || pawl__list_print(ARRAY(
            SELECT pawl__state_name(n) FROM generate_series(1, 11) AS n
            WHERE pawl__state_name(n) = ANY (u.states) ORDER BY n)), '')
        || ',"on_conflict":"' || u.on_conflict || '"}'
$$;

CREATE FUNCTION pawl__fingerprint(u pawl__same, type text, queue text, args text, meta text)
RETURNS text
LANGUAGE plpgsql AS $$
DECLARE
    parts text := '{';
    name text;
    chosen text;
    found text;
BEGIN
    IF 'args' = ANY (u.keys) AND u.args_keys = '{}' THEN
        parts := parts || '"args":' || pawl__canonical(args::json) || ',';
    ELSIF 'args' = ANY (u.keys) THEN
        FOR name IN SELECT DISTINCT k COLLATE "C" AS k FROM unnest(u.args_keys) AS k ORDER BY 1 LOOP
            SELECT string_agg(pawl__canonical(m.value), ',' ORDER BY e.at) INTO found
            FROM json_array_elements(args::json) WITH ORDINALITY AS e (value, at)
            CROSS JOIN LATERAL json_each(CASE WHEN json_typeof(e.value) = 'object' THEN e.value
                ELSE '{}' END) AS m (key, value)
            WHERE m.key = name;
            IF found IS NULL THEN
                PERFORM pawl__refuse(1, 'unique.args_keys', format('unique.args_keys names "%s", '
                    'which no object in args has', pawl__quoted(name)));
            END IF;
            chosen := concat_ws(',', chosen, to_json(name)::text || ':[' || found || ']');
        END LOOP;
        parts := parts || '"args":{' || chosen || '},';
    END IF;
    IF 'meta' = ANY (u.keys) THEN
        parts := parts || '"meta":{' || coalesce((
            SELECT string_agg(to_json(m.key)::text || ':' || pawl__canonical(m.value), ','
                ORDER BY m.key COLLATE "C")
            FROM json_each(coalesce(meta, '{}')::json) AS m (key, value)
            WHERE m.key = ANY (u.meta_keys)), '') || '},';
    END IF;
    IF 'queue' = ANY (u.keys) THEN
        parts := parts || '"queue":' || to_json(queue)::text || ',';
    END IF;
    RETURN parts || '"type":' || to_json(type)::text || '}';
EXCEPTION
    WHEN untranslatable_character THEN
        PERFORM pawl__refuse(18, 'unique', 'unique: a string with \u0000 in it cannot be compared '
            'from SQL');
        RETURN NULL;
END $$;

-- ---- places ----

-- Where a job stands, locked: in pawl_job, else in the archive.
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
    retry         text
);

CREATE FUNCTION pawl__place_of(job uuid) RETURNS pawl__place
LANGUAGE plpgsql AS $$
DECLARE
    p pawl__place;
BEGIN
    FOR i IN 1..2 LOOP -- one that comes back while we look is met the second time
        SELECT j.id, j.arrival, j.lane, j.state, j.run, j.base_run, j.free_runs, j.created_at_ms,
            j.due_at_ms, j.expires_at_ms, j.started_at_ms, j.worker, j.attempts_max, j.retry
        INTO p
        FROM pawl_job AS j
        WHERE j.id = job
        FOR NO KEY UPDATE;
        IF FOUND THEN
            RETURN p;
        END IF;
        SELECT a.id, a.arrival, a.lane, a.state, a.run, a.base_run, a.free_runs, a.created_at_ms,
            a.due_at_ms, a.expires_at_ms, a.started_at_ms, a.worker, a.attempts_max, a.retry
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

CREATE FUNCTION pawl__count(lane integer, from_state integer, to_state integer) RETURNS void
LANGUAGE sql AS $$
    INSERT INTO pawl_count_delta (lane, state, delta)
    SELECT $1, c.state, c.delta
    FROM (VALUES ($2, -1), ($3, 1)) AS c (state, delta)
    WHERE c.state IS NOT NULL
$$;

CREATE FUNCTION pawl__end(p pawl__place, to_state integer, now_ms bigint, why text, outcome text,
    letter boolean) RETURNS void
LANGUAGE plpgsql AS $$
BEGIN
    UPDATE pawl_job
    SET state = to_state, free_runs = p.free_runs, waits = false, held = false, perishes = false,
        paused_from = NULL, lease_until_ms = NULL, finished_at_ms = now_ms, dead_letter = letter,
        reason = why, end_reason = NULL, result = outcome
    WHERE id = p.id;
    INSERT INTO pawl_ended (state, finished_at_ms, ids) VALUES (to_state, now_ms, ARRAY[p.id]);
    PERFORM pawl__count(p.lane, p.state, to_state);
END $$;

CREATE FUNCTION pawl__rank(due bigint, priority integer, sla_soft_at_ms bigint,
    sla_hard_at_ms bigint) RETURNS bigint
LANGUAGE sql STABLE AS $$
    SELECT greatest(least(
        due::numeric - priority::numeric * coalesce((SELECT nullif(s.value::bigint, 0)
            FROM pawl_setting AS s WHERE s.name = 'rank.boost_ms'), 900000),
        sla_soft_at_ms - 86400000, sla_hard_at_ms - 172800000, 9223372036854775807),
        -9223372036854775808)::bigint
$$;

-- Onto the roll that claims read.
CREATE FUNCTION pawl__enrol(lane integer, rank bigint, id uuid, arrival uuid) RETURNS void
LANGUAGE sql AS $$
    INSERT INTO pawl_ready (lane, rank, seat, ids) VALUES ($1, $2, coalesce($4, $3), ARRAY[$3])
$$;

-- A run's job, to be tried again: now or later.
CREATE FUNCTION pawl__wait(p pawl__place, to_state integer, due bigint) RETURNS void
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
    PERFORM pawl__tell(CASE WHEN to_state = 2 THEN 'r' ELSE '' END);
END $$;

-- ---- submitting ----

-- UUIDv7. The fraction of the millisecond stands behind it, so that those of one transaction sort
-- as they were made.
CREATE FUNCTION pawl__id() RETURNS uuid
LANGUAGE sql VOLATILE AS $$
    SELECT (lpad(to_hex(t.us / 1000), 12, '0') || '7'
        || lpad(to_hex(t.us % 1000 * 4096 / 1000), 3, '0')
        || substr(replace(gen_random_uuid()::text, '-', ''), 17))::uuid
    FROM (SELECT (extract(epoch FROM clock_timestamp()) * 1000000)::bigint AS us) AS t
$$;

-- Found, or made: then the catalog's row comes first, as for everybody who makes one.
CREATE FUNCTION pawl__lane(text, text) RETURNS integer
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
CREATE TYPE pawl__key_of AS (
    kind        integer,
    digest      bytea,
    states      text[],
    period_ms   bigint,
    on_conflict text
);

-- What asking one key came to; adds to what those before it said.
CREATE TYPE pawl__answer AS (
    stands_in uuid,
    state     smallint,
    replaced  boolean,
    due_at_ms bigint
);

CREATE FUNCTION pawl__meet(key pawl__key_of, p pawl__place, now_ms bigint, answer pawl__answer)
RETURNS pawl__answer
LANGUAGE plpgsql AS $$
DECLARE
    field text := ('{idempotency_key,business_key,unique}'::text[])[key.kind];
BEGIN
    IF key.on_conflict = 'ignore' THEN
        answer.stands_in := p.id;
        answer.state := p.state;
    ELSIF key.on_conflict = 'reject' THEN
        PERFORM pawl__refuse(5, field, format('job "%s", which is %s, holds the same %s', p.id,
            pawl__state_name(p.state), CASE key.kind WHEN 3 THEN 'unique key' ELSE field END));
    ELSIF p.state < 7 THEN
        answer.replaced := true;
        IF key.on_conflict = 'replace_except_schedule' THEN
            answer.due_at_ms := p.due_at_ms;
        END IF;
        PERFORM pawl__end(p, 9, now_ms, 'replaced', NULL, false);
        INSERT INTO pawl_deed (at_ms, job_id, action, reason, from_state, to_state)
        VALUES (now_ms, p.id, 'replace', 'replaced by a job with the same key', p.state, 9);
        IF p.state = 4 THEN
            PERFORM pawl__tell('c');
        END IF;
    END IF;
    RETURN answer;
END $$;

CREATE FUNCTION pawl__ask(key pawl__key_of, now_ms bigint, answer pawl__answer)
RETURNS pawl__answer
LANGUAGE plpgsql AS $$
DECLARE
    holder record;
    p pawl__place;
    ended integer := 0;
    over boolean;
BEGIN
    FOR holder IN SELECT k.id, k.until_ms FROM pawl_key AS k WHERE k.digest = key.digest
        ORDER BY k.id DESC
    LOOP
        p := pawl__place_of(holder.id);
        IF key.kind = 1 AND (holder.until_ms IS NULL OR holder.until_ms > now_ms)
            OR key.kind <> 1 AND pawl__state_name(p.state) = ANY (key.states)
            AND (key.period_ms = 0 OR p.created_at_ms + key.period_ms > now_ms)
        THEN
            p.id := holder.id; -- the record may be gone, and only the key is left
            answer := pawl__meet(key, p, now_ms, answer);
            EXIT WHEN answer.stands_in IS NOT NULL;
            CONTINUE;
        END IF;
        over := p.state IS NULL OR p.state >= 7;
        IF over AND key.kind <> 1 THEN
            ended := ended + 1;
        END IF;
        IF over AND (key.kind = 1 OR ended > 16 OR p.state IS NULL) THEN
            DELETE FROM pawl_key AS k WHERE k.digest = key.digest AND k.id = holder.id;
        END IF;
    END LOOP;
    RETURN answer;
END $$;

-- The locks of all keys that one job brings, in the order that everybody takes them.
CREATE FUNCTION pawl__keys_lock(keys pawl__key_of[]) RETURNS void
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

CREATE FUNCTION pawl__tags(tags text[]) RETURNS text
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

CREATE FUNCTION pawl__keys(type text, queue text, args text, meta text, u pawl__same,
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
CREATE FUNCTION pawl__enter(j pawl_job, keys pawl__key_of[], pending boolean, now_ms bigint)
RETURNS smallint
LANGUAGE plpgsql AS $$
DECLARE
    taken boolean;
BEGIN
    j.state := CASE WHEN pending THEN 3 WHEN j.due_at_ms > now_ms THEN 1 ELSE 2 END;
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
    IF NOT pending THEN
        PERFORM pawl__tell(CASE j.state WHEN 2 THEN 'r' ELSE '' END);
    END IF;
    RETURN j.state;
END $$;

-- All that a job may be, times in milliseconds, NULL where nothing is given; what the library's
-- pawl_submit_pq calls. state is 0 when the job that stands in is gone and only its key is left.
CREATE FUNCTION pawl__submit(
    type text, args text, queue text, meta text, extra text, tags text[], priority integer,
    delay_ms bigint, due_at_ms bigint, expires_in_ms bigint, expires_at_ms bigint,
    timeout_ms bigint, lease_ms bigint, sla_soft_at_ms bigint, sla_hard_at_ms bigint,
    keep_ms bigint, retry text, idempotency_key text, idempotency_ms bigint, business_key text,
    uniqueness text, principal text, trace_id text, pending boolean, given uuid,
    OUT id uuid, OUT state integer, OUT deduplicated boolean, OUT replaced boolean)
LANGUAGE plpgsql SECURITY DEFINER
SET search_path FROM CURRENT SET extra_float_digits FROM CURRENT AS $$
DECLARE
    hundred_years CONSTANT bigint := 3155760000000;
    year_9999 CONSTANT bigint := 253402300799999;
    policy pawl__policy;
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
    policy := pawl__policy_read(nullif(retry, ''));
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
    j.attempts_max := policy.attempts_max;
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
    j.retry := pawl__policy_print(policy);
    j.uniqueness := CASE WHEN same.keys IS NOT NULL THEN pawl__same_print(same) END;
    j.keys := (SELECT string_agg(set_byte('\x00'::bytea, 0, k.kind) || k.digest, '' ORDER BY k.kind)
        FROM unnest(keys) AS k);
    j.idempotency_key := idempotency_key;
    j.business_key := business_key;
    j.principal := nullif(principal, '');
    j.trace_id := nullif(trace_id, '');
    state := pawl__enter(j, keys, coalesce(pending, false), now_ms);
END $$;

CREATE FUNCTION pawl__ms(field text, value interval) RETURNS bigint
LANGUAGE plpgsql STRICT AS $$
DECLARE
    ms numeric := extract(epoch FROM value)::numeric * 1000;
BEGIN
    PERFORM pawl__check_time(field, least(greatest(ms, -1), 3155760000001)::bigint, 3155760000000);
    RETURN ms::bigint;
END $$;

CREATE FUNCTION pawl__ms(field text, value timestamptz) RETURNS bigint
LANGUAGE plpgsql STRICT AS $$
DECLARE
    at_s double precision := extract(epoch FROM value); -- infinity too
BEGIN
    PERFORM pawl__check_time(field, (least(greatest(at_s, -1), 253402300800) * 1000)::bigint,
        253402300799999);
    RETURN (extract(epoch FROM value) * 1000)::bigint;
END $$;

-- Only `type` is required. The manual is docs/sql.md.
CREATE FUNCTION pawl_submit(
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
SET search_path FROM CURRENT SET extra_float_digits FROM CURRENT AS $$
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
        retry := (coalesce(retry, '{}')::jsonb || jsonb_build_object('attempts_max', attempts_max))
            ::text;
    END IF;
    RETURN (pawl__submit(type, args, queue, meta, extra, tags, priority, pawl__ms('delay', delay),
        pawl__ms('due_at', due_at), pawl__ms('expires_in', expires_in),
        pawl__ms('expires_at', expires_at), pawl__ms('timeout', timeout), pawl__ms('lease', lease),
        pawl__ms('sla_soft_at', sla_soft_at), pawl__ms('sla_hard_at', sla_hard_at),
        pawl__ms('keep', keep), retry, idempotency_key,
        pawl__ms('idempotency_for', idempotency_for), business_key, uniqueness, principal, trace_id,
        pending, id)).id;
END $$;

-- The same for those who have jsonb in their hands. args is required, which tells the two apart.
CREATE FUNCTION pawl_submit(
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
SET search_path FROM CURRENT SET extra_float_digits FROM CURRENT AS $$
    SELECT pawl_submit(type, args::text, queue, priority, delay, due_at, attempts_max, retry::text,
        timeout, expires_in, expires_at, idempotency_key, idempotency_for, business_key,
        uniqueness::text, tags, meta::text, lease, sla_soft_at, sla_hard_at, keep, principal,
        trace_id, extra::text, pending, id)
$$;

-- ---- finishing ----

CREATE FUNCTION pawl__owned(job uuid, run bigint) RETURNS pawl__place
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
CREATE FUNCTION pawl_complete(job uuid, run bigint, result text DEFAULT NULL) RETURNS void
LANGUAGE plpgsql SECURITY DEFINER
SET search_path FROM CURRENT SET extra_float_digits FROM CURRENT AS $$
DECLARE
    p pawl__place := pawl__owned(job, run);
BEGIN
    PERFORM pawl__check_json('result', nullif(result, ''), 1048576, NULL);
    PERFORM pawl__end(p, 7, pawl__now(), NULL, nullif(result, ''), false);
END $$;

CREATE FUNCTION pawl_complete(job uuid, run bigint, result jsonb) RETURNS void
LANGUAGE sql SECURITY DEFINER
SET search_path FROM CURRENT SET extra_float_digits FROM CURRENT AS $$
    SELECT pawl_complete(job, run, result::text)
$$;

-- first * factor^power, stopped at the cap; exact for whole factors.
CREATE FUNCTION pawl__power(first bigint, factor double precision, power double precision,
    cap_ms bigint) RETURNS bigint
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

CREATE FUNCTION pawl__delay(policy pawl__policy, n bigint) RETURNS bigint
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
CREATE FUNCTION pawl__is_final(listed text[], kind text) RETURNS boolean
LANGUAGE sql IMMUTABLE AS $$
    SELECT EXISTS (SELECT 1 FROM unnest(listed) AS e (entry)
        WHERE e.entry = kind
            OR right(e.entry, 2) = '.*' AND starts_with(kind, left(e.entry, -1)))
$$;

-- What follows a failure. why is NULL when the job will be tried again.
CREATE FUNCTION pawl__verdict(policy pawl__policy, charged bigint, kinds text[], code text,
    retryable boolean, OUT why text, OUT letter boolean)
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
CREATE FUNCTION pawl__fail(job uuid, run bigint, message text, type text, code text,
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
CREATE FUNCTION pawl_fail(job uuid, run bigint, message text DEFAULT NULL, type text DEFAULT NULL,
    code text DEFAULT NULL, error_class text DEFAULT NULL, details text DEFAULT NULL,
    retryable boolean DEFAULT true, retry_after interval DEFAULT NULL) RETURNS text
LANGUAGE sql SECURITY DEFINER
SET search_path FROM CURRENT SET extra_float_digits FROM CURRENT AS $$
    SELECT pawl__state_name((pawl__fail(job, run, message, type, code, error_class, details,
        retryable, pawl__ms('retry_after', retry_after))).to_state)
$$;

-- Give the job back: no attempt is charged. With a delay it waits that long.
CREATE FUNCTION pawl_give_back(job uuid, run bigint, delay interval DEFAULT NULL) RETURNS text
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

-- ---- views ----

CREATE VIEW scheduler_node AS
SELECT n.name AS node_id, pawl__time(n.heartbeat_at_ms) AS heartbeat_ts,
    pawl__time(n.started_at_ms) AS started_at, n.info AS node_info
FROM pawl_node AS n;

CREATE VIEW scheduler_lock AS
SELECT k.name AS lock_name, k.owner AS owner_node, pawl__time(k.locked_at_ms) AS locked_at,
    pawl__time(k.expires_at_ms) AS expires_at
FROM pawl_lock AS k
WHERE k.owner <> '';

-- One arm for each word, and more where it has several places, so that who asks for a word reads no
-- other's jobs: a roll says where to look, and the job what is so. Those that succeeded are most of
-- the table, and no roll makes that shorter. Joined from the left: what nobody asks for is not
-- looked up.
CREATE VIEW scheduler_job AS
SELECT {{ratchet_columns}}, {{ratchet_boost}}, 'PENDING'::text AS status,
    NULL::text AS paused_from_status
FROM pawl_job AS j
{{ratchet_names}}
WHERE j.waits
UNION ALL
SELECT {{ratchet_columns}}, {{ratchet_boost}}, 'PENDING'::text, NULL::text
FROM pawl_job AS j
{{ratchet_names}}
WHERE j.state = 2 AND j.id IN (SELECT unnest(r.ids) FROM pawl_ready AS r)
UNION ALL
SELECT {{ratchet_columns}}, {{ratchet_boost}}, 'PENDING'::text, NULL::text
FROM pawl_job AS j
{{ratchet_names}}
WHERE j.held AND j.state = 3
UNION ALL
SELECT {{ratchet_columns}}, {{ratchet_boost}}, 'RUNNING'::text, NULL::text
FROM pawl_job AS j
{{ratchet_names}}
WHERE j.state = 4 AND j.id IN (SELECT unnest(l.ids) FROM pawl_lease AS l)
UNION ALL
SELECT {{ratchet_columns}}, {{ratchet_boost}}, 'PAUSED'::text,
    CASE WHEN j.paused_from = 10 THEN 'FAILED' ELSE 'PENDING' END
FROM pawl_job AS j
{{ratchet_names}}
WHERE j.held AND j.state = 6
UNION ALL
SELECT {{ratchet_columns}}, {{ratchet_boost}}, 'SUCCEEDED'::text, NULL::text
FROM pawl_job AS j
{{ratchet_names}}
WHERE j.state IN (7, 8)
UNION ALL
SELECT {{ratchet_columns}}, {{ratchet_boost}}, 'CANCELED'::text, NULL::text
{{ratchet_ended}} AND e.state = 9
UNION ALL
SELECT {{ratchet_columns}}, {{ratchet_boost}}, 'FAILED'::text, NULL::text
{{ratchet_ended}} AND e.state IN (10, 11);

CREATE VIEW scheduler_job_archive AS
SELECT {{ratchet_columns}},
    CASE WHEN j.state IN (7, 8) THEN 'SUCCEEDED' WHEN j.state = 9 THEN 'CANCELED' ELSE 'FAILED' END
        AS status
FROM pawl_archive AS j
{{ratchet_names}};

-- ---- rights ----

-- What a role needs to submit and to finish jobs, and no more: it sees none of the tables.
CREATE FUNCTION pawl_grant(role name) RETURNS void
LANGUAGE plpgsql SET search_path FROM CURRENT AS $$
DECLARE
    home text := (SELECT p.pronamespace::regnamespace::text FROM pg_proc AS p
        WHERE p.oid = 'pawl_grant(name)'::regprocedure);
    fn regprocedure;
BEGIN
    EXECUTE format('GRANT USAGE ON SCHEMA %s TO %I', home, role);
    FOR fn IN SELECT p.oid::regprocedure FROM pg_proc AS p
        WHERE p.pronamespace::regnamespace::text = home AND p.prosecdef
            AND p.proname ~ '^pawl_'
    LOOP
        EXECUTE format('GRANT EXECUTE ON FUNCTION %s TO %I', fn, role);
    END LOOP;
END $$;

DO $$
DECLARE
    fn regprocedure;
BEGIN
    FOR fn IN SELECT p.oid::regprocedure FROM pg_proc AS p
        WHERE p.pronamespace = quote_ident(current_schema())::regnamespace AND p.prosecdef
            AND p.proname ~ '^pawl_'
    LOOP
        EXECUTE format('REVOKE EXECUTE ON FUNCTION %s FROM PUBLIC', fn);
    END LOOP;
END $$;
