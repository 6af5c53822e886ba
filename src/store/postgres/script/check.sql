-- What every function uses, and what a value may be, as src/api has it.
-- name: script_check
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
CREATE OR REPLACE FUNCTION pawl__store_notify(what text) RETURNS void
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

-- An interval or a timestamptz in milliseconds; NULL for 0, which is as if it were not given.
CREATE OR REPLACE FUNCTION pawl__ms(field text, value anyelement) RETURNS bigint
LANGUAGE plpgsql AS $$
DECLARE
    ms numeric := round(extract(epoch FROM value)::numeric * 1000);
    lasts boolean := pg_typeof(value) = 'interval'::regtype;
BEGIN
    IF ms < 0 THEN
        PERFORM pawl__refuse(1, field, format('%s must not be negative', field));
    ELSIF ms > (CASE WHEN lasts THEN 3155760000000 ELSE 253402300799999 END) THEN
        PERFORM pawl__refuse(1, field, format(CASE WHEN lasts THEN '%s is more than 100 years'
            ELSE '%s is beyond the year 9999' END, field));
    END IF;
    RETURN nullif(ms::bigint, 0);
END $$;

-- `kind`: what it must be; NULL: anything. The pattern leaves of a text the colons outside of its
-- strings: as many as there are members, but for those that jsonb drops because they occur twice.
CREATE OR REPLACE FUNCTION pawl__json(field text, value text, bytes_max integer, kind text)
RETURNS jsonb
LANGUAGE plpgsql AS $$
DECLARE
    parsed jsonb;
    why text;
BEGIN
    IF octet_length(value) > bytes_max THEN
        PERFORM pawl__refuse(17, field, format('%s is longer than %s bytes', field, bytes_max));
    END IF;
    BEGIN
        parsed := value::jsonb;
    EXCEPTION
        WHEN untranslatable_character OR numeric_value_out_of_range OR statement_too_complex
        THEN
            PERFORM pawl__refuse(18, field, format('%s cannot be given from SQL: %s', field,
                SQLERRM));
        WHEN invalid_text_representation THEN
            GET STACKED DIAGNOSTICS why = PG_EXCEPTION_DETAIL;
            PERFORM pawl__refuse(1, field, format('%s: not valid JSON: %s', field,
                lower(left(why, 1)) || rtrim(substr(why, 2), '.')));
    END;
    IF jsonb_typeof(parsed) <> kind THEN
        PERFORM pawl__refuse(1, field, format('%s must be a JSON %s', field, kind));
    ELSIF jsonb_path_exists(parsed,
        'strict $.**{32} ? (@.type() == "array" || @.type() == "object")')
    THEN
        PERFORM pawl__refuse(17, field, format('%s: JSON is nested deeper than 32 levels', field));
    ELSIF length(regexp_replace(value, '"([^"\\]|\\.)*"|[^":]+', '', 'g')) <> (SELECT count(*)
        FROM jsonb_path_query(parsed, 'strict $.** ? (@.type() == "object").keyvalue()'))
    THEN
        PERFORM pawl__refuse(1, field, format('%s: not valid JSON: a member occurs twice', field));
    END IF;
    RETURN parsed;
END $$;
