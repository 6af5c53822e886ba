-- What a value may be, as src/api/check.c has it; and what every function uses.
-- name: script_check
-- Made unless it is there. One that is not the same is in the way, as a function is that cannot be
-- replaced (duplicate_object): then script_clear drops it first.
CREATE OR REPLACE FUNCTION pawl__type(name text, attributes text) RETURNS void
LANGUAGE plpgsql AS $$
DECLARE
    current text := (SELECT string_agg(a.attname || ' ' || format_type(a.atttypid, a.atttypmod),
            ', ' ORDER BY a.attnum) FROM pg_attribute AS a
        WHERE a.attrelid = to_regclass(name) AND a.attnum > 0 AND NOT a.attisdropped);
BEGIN
    IF current IS NULL THEN
        EXECUTE format('CREATE TYPE %I AS (%s)', name, attributes);
    ELSIF current <> attributes THEN
        RAISE duplicate_object USING MESSAGE = format('type "%s" is in use as (%s)', name, current);
    END IF;
END $$;

CREATE OR REPLACE FUNCTION pawl__refuse(number integer, field text, message text) RETURNS void
LANGUAGE plpgsql AS $$
BEGIN
    RAISE EXCEPTION USING ERRCODE = 'PW' || lpad(number::text, 3, '0'), MESSAGE = message,
        COLUMN = coalesce(field, '');
END $$;

CREATE OR REPLACE FUNCTION pawl__now() RETURNS bigint
LANGUAGE sql VOLATILE AS $$
    SELECT (extract(epoch FROM clock_timestamp()) * 1000)::bigint
$$;

CREATE OR REPLACE FUNCTION pawl__time(ms bigint) RETURNS timestamptz
LANGUAGE sql IMMUTABLE AS $$
    SELECT '1970-01-01 00:00:00+00'::timestamptz + ms * interval '1 millisecond'
$$;

CREATE OR REPLACE FUNCTION pawl__state_name(state integer) RETURNS text
LANGUAGE sql IMMUTABLE AS $$
    SELECT ('{scheduled,available,pending,active,retryable,paused,completed,skipped,cancelled,'
        'discarded,expired}'::text[])[state]
$$;

-- The same channel that the store's nodes listen to. Sixteen noughts are nobody's name there, so
-- every node hears it.
CREATE OR REPLACE FUNCTION pawl__tell(what text) RETURNS void
LANGUAGE sql AS $$
    SELECT pg_notify(CASE WHEN current_schema() = 'public' THEN 'pawl'
        ELSE 'pawl_' || convert_from(substr(convert_to(current_schema(), 'UTF8'), 1, 50), 'UTF8')
        END, '0000000000000000' || what)
$$;

CREATE OR REPLACE FUNCTION pawl__quoted(value text) RETURNS text
LANGUAGE sql IMMUTABLE AS $$
    SELECT CASE WHEN length(value) > 60 THEN left(shown, 60) || '...' ELSE shown END
    FROM regexp_replace(value, '[\u0001-\u001f\u007f-\u009f]', '?', 'g') AS shown
$$;

CREATE OR REPLACE FUNCTION pawl__check_text(field text, value text, bytes_max integer) RETURNS void
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
CREATE OR REPLACE FUNCTION pawl__check_time(field text, value_ms bigint, most_ms bigint)
RETURNS void
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

CREATE OR REPLACE FUNCTION pawl__check_names(queue text, type text) RETURNS void
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
CREATE OR REPLACE FUNCTION pawl__check_inside(field text, value json, room integer) RETURNS void
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
CREATE OR REPLACE FUNCTION pawl__check_json(field text, value text, bytes_max integer, kind text)
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
CREATE OR REPLACE FUNCTION pawl__names(field text, value json) RETURNS text[]
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

CREATE OR REPLACE FUNCTION pawl__whole(field text, value json) RETURNS bigint
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

CREATE OR REPLACE FUNCTION pawl__word(field text, value json, known text[]) RETURNS text
LANGUAGE plpgsql AS $$
BEGIN
    IF json_typeof(value) <> 'string' THEN
        PERFORM pawl__refuse(1, field, format('"%s" must be a string', field));
    ELSIF value #>> '{}' <> ALL (known) THEN
        PERFORM pawl__refuse(1, field, format('"%s" is not a word that is known', field));
    END IF;
    RETURN value #>> '{}';
END $$;
