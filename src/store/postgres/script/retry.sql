-- Retry policies, as src/lifecycle/retry.c has them.
-- name: script_retry
-- As src/lifecycle/decimal.c prints it.
CREATE OR REPLACE FUNCTION pawl__decimal(value double precision) RETURNS text
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
DO $$
BEGIN
    IF to_regtype('pawl__policy') IS NULL THEN
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
    END IF;
END $$;

CREATE OR REPLACE FUNCTION pawl__policy_number(field text, value json) RETURNS double precision
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

CREATE OR REPLACE FUNCTION pawl__policy_word(field text, value json, known text[]) RETURNS text
LANGUAGE plpgsql AS $$
BEGIN
    IF json_typeof(value) <> 'string' THEN
        PERFORM pawl__refuse(1, field, format('"%s" must be a string', field));
    ELSIF value #>> '{}' <> ALL (known) THEN
        PERFORM pawl__refuse(1, field, format('"%s" is not a word that is known', field));
    END IF;
    RETURN value #>> '{}';
END $$;

CREATE OR REPLACE FUNCTION pawl__policy_check(p pawl__policy) RETURNS void
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

CREATE OR REPLACE FUNCTION pawl__policy_read(value text) RETURNS pawl__policy
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
CREATE OR REPLACE FUNCTION pawl__policy_print(p pawl__policy) RETURNS text
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
