-- Rights.
-- name: script_end
-- What a role needs to submit and to finish jobs, and no more: it sees none of the tables.
CREATE OR REPLACE FUNCTION pawl_grant(role name) RETURNS void
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

-- Functions that the script before made and this one did not.
DO $$
DECLARE
    fn text;
BEGIN
    FOR fn IN SELECT p.oid::regprocedure::text FROM pawl_script AS s
        JOIN pg_proc AS p ON 'FUNCTION ' || p.oid::regprocedure::text = ANY (s.made)
        WHERE p.xmin <> pg_current_xact_id()::xid
    LOOP
        BEGIN
            EXECUTE 'DROP FUNCTION IF EXISTS ' || fn;
        EXCEPTION
            WHEN dependent_objects_still_exist THEN
                NULL; -- it stays, and is on record: the next script will try again
        END;
    END LOOP;
END $$;

-- Functions that this transaction made, and roles that had a grant on one of that name before.
DO $$
DECLARE
    fn record;
    given record;
BEGIN
    FOR fn IN SELECT p.oid::regprocedure AS signature, p.proname AS name FROM pg_proc AS p
        WHERE p.pronamespace = quote_ident(current_schema())::regnamespace
            AND p.xmin = pg_current_xact_id()::xid AND p.prosecdef
    LOOP
        EXECUTE format('REVOKE EXECUTE ON FUNCTION %s FROM PUBLIC', fn.signature);
        FOR given IN SELECT DISTINCT g.role, g.option
            FROM json_to_recordset(current_setting('pawl.grants')::json)
                AS g (name text, role text, option text)
            WHERE g.name = fn.name
        LOOP
            EXECUTE format('GRANT EXECUTE ON FUNCTION %s TO %s%s', fn.signature, given.role,
                given.option);
        END LOOP;
    END LOOP;
END $$;
