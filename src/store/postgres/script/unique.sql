-- What makes two jobs the same, as src/api/unique.c has it.
-- name: script_unique
-- As src/base/json_canonical.c lays it out: all digits, no double in between.
CREATE OR REPLACE FUNCTION pawl__canonical_number(value text) RETURNS text
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

CREATE OR REPLACE FUNCTION pawl__canonical(value json) RETURNS text
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

CREATE OR REPLACE FUNCTION pawl__digest(kind integer, value text) RETURNS bytea
LANGUAGE sql IMMUTABLE AS $$
    SELECT substr(sha256(set_byte('\x00'::bytea, 0, kind) || convert_to(value, 'UTF8')), 1, 16)
$$;

-- A unique policy, all of it.
SELECT pawl__type('pawl__same',
    'keys text[], args_keys text[], meta_keys text[], period_ms bigint, states text[], '
    'on_conflict text');

CREATE OR REPLACE FUNCTION pawl__same_names(field text, list text[], needs text, keys text[])
RETURNS void
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

CREATE OR REPLACE FUNCTION pawl__same_read(value text) RETURNS pawl__same
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
        WHEN 'on_conflict' THEN u.on_conflict := pawl__word(field, member.value,
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

CREATE OR REPLACE FUNCTION pawl__list_print(list text[]) RETURNS text
LANGUAGE sql IMMUTABLE AS $$
    SELECT '[' || string_agg(to_json(e.value)::text, ',' ORDER BY e.at) || ']'
    FROM unnest(list) WITH ORDINALITY AS e (value, at)
$$;

CREATE OR REPLACE FUNCTION pawl__same_print(u pawl__same) RETURNS text
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

CREATE OR REPLACE FUNCTION pawl__fingerprint(u pawl__same, type text, queue text, args text,
    meta text)
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
