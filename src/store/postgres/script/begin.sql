-- name: script_begin
-- Jobs from SQL, in the caller's own transaction: pawl_submit, pawl_complete, pawl_fail and
-- pawl_give_back; and views that show the store under the names that other tools know.
--
-- The files of this folder are one script. `pawl migrate` runs it, in one transaction, when the
-- store has one that is older or different (src/store/sql/migrate.c). So it is edited in place:
--
-- 1. Functions are replaced, which callers and objects that depend on them do not notice: hence
--    CREATE OR REPLACE everywhere. Those of the script before that are not made any more are
--    dropped in the end, unless something depends on them. PostgreSQL refuses to replace a function
--    whose result or parameters have changed: then the whole script runs once more, and
--    script_clear drops what it can first. What a grant was given on gets it back in the end.
-- 2. Views are always replaced. A view's columns stay as they are, and new ones come last.
-- 3. It needs the newest schema and changes no table.
--
-- Errors have an SQLSTATE of "PW" and the library's number of three digits (PW001 is ARG); the
-- field that broke a rule is the error's column name.
--
-- Functions whose names have two underscores are for the others. What may be granted runs with its
-- owner's rights and a search path of its own, and no other role may call it before it is granted;
-- the rest runs with its caller's rights.

SELECT set_config('check_function_bodies', 'off', true),
    set_config('search_path', quote_ident(current_schema()) || ', pg_temp', true);

-- The grants, as a JSON array for script_end.
SELECT set_config('pawl.grants', coalesce(json_agg(json_build_object('name', p.proname,
    'role', CASE WHEN a.grantee = 0 THEN 'PUBLIC' ELSE a.grantee::regrole::text END,
    'option', CASE WHEN a.is_grantable THEN ' WITH GRANT OPTION' ELSE '' END)), '[]')::text, true)
FROM pawl_script AS s
JOIN pg_proc AS p ON 'FUNCTION ' || p.oid::regprocedure::text = ANY (s.made)
CROSS JOIN LATERAL aclexplode(p.proacl) AS a
WHERE a.grantee <> p.proowner;

-- name: script_clear
DO $$
DECLARE
    object text;
BEGIN
    FOR object IN SELECT regexp_replace(m.object, ' ', ' IF EXISTS ')
        FROM pawl_script AS s
        CROSS JOIN LATERAL unnest(s.made) AS m (object)
    LOOP
        BEGIN
            EXECUTE 'DROP ' || object;
        EXCEPTION
            WHEN dependent_objects_still_exist THEN
                NULL; -- it is replaced
        END;
    END LOOP;
END $$;
