#!/usr/bin/env python3
"""A rolling upgrade: programs of adjacent versions share a store. Prints TAP.

Usage: upgrade_test.py PAWL MODULE_DIR NEWER_MODULE_DIR STEADY

The newer one is this one's source with what is in ahead.h: one more migration, another script.
"""
import os
import subprocess
import sys
import traceback

sys.dont_write_bytecode = True
import server
import steady

PATIENCE_S = 120
PAWL, OLD, NEW, STEADY = map(os.path.abspath, sys.argv[1:5])
SUM = "0" * 64


def start(modules, url, *args):
    env = {**{name: value for name, value in os.environ.items() if not name.startswith("PAWL_")},
           "PAWL_MODULE_DIR": modules}
    return subprocess.Popen([PAWL, "--store", url, *args], env=env, cwd="/", text=True,
                            stdout=subprocess.PIPE, stderr=subprocess.PIPE)


def pawl(modules, url, *args, code=0):
    done = start(modules, url, *args)
    out, err = done.communicate(timeout=PATIENCE_S)
    assert done.returncode == code, (args, done.returncode, out, err)
    return err if code else out


def version_of(modules, url):
    """What `pawl migrate --check` says of an up-to-date store."""
    said = pawl(modules, url, "migrate", "--check")
    assert said.startswith("schema: version "), said
    return int(said.split()[2].rstrip(","))


def place_of(url):
    """The schema that it leads to."""
    return url.rsplit("%3D", 1)[1]


def step(postgres, place, number, compatible):
    """As if a program of the future had been here."""
    postgres.sql(f"INSERT INTO {place}.pawl_migration "
                 "(version, checksum, applied_at_ms, compatible) "
                 f"VALUES ({number}, '{SUM}', 1, {compatible})")


def older_and_newer_share_a_store(postgres, url):
    pawl(OLD, url, "migrate")
    older = version_of(OLD, url)
    clients = [steady.Steady(STEADY, url, OLD)]
    try:
        clients[0].await_accepted(20)
        assert 'run "pawl migrate"' in pawl(NEW, url, "submit", "a.b", code=3)
        pawl(NEW, url, "migrate")  # under the older one's feet
        assert version_of(NEW, url) == older + 1
        clients.append(steady.Steady(STEADY, url, NEW))
        clients.append(steady.Steady(STEADY, url, OLD))  # one that was restarted before its upgrade
        for one in clients:
            one.await_accepted(20)
    finally:
        for one in clients:
            one.close()
    wrong = steady.audit(postgres, clients, place_of(url))
    assert not wrong, wrong
    job = pawl(NEW, url, "submit", "a.b", "--queue", "mixed").strip()
    pawl(OLD, url, "work", "--once", "--queue", "mixed", "--exec", "a.b=true")
    assert "completed" in pawl(NEW, url, "show", job)
    for modules in (OLD, NEW):
        assert pawl(modules, url, "check") == "no damage found\n"


def what_is_too_new_is_refused_with_the_reason(postgres, url):
    place = place_of(url)
    pawl(NEW, url, "migrate")
    newest = version_of(NEW, url)
    step(postgres, place, newest + 1, "true")
    pawl(NEW, url, "submit", "a.b")  # one compatible step ahead is fine
    said = pawl(OLD, url, "submit", "a.b", code=3)  # for the older one it is two
    assert f"knows up to {newest - 1}" in said and "more than one step" in said, said
    step(postgres, place, newest + 2, "true")
    said = pawl(NEW, url, "submit", "a.b", code=3)
    assert f"schema version {newest + 2}" in said and "more than one step" in said, said
    postgres.sql(f"DELETE FROM {place}.pawl_migration WHERE version > {newest}")
    step(postgres, place, newest + 1, "false")
    said = pawl(NEW, url, "submit", "a.b", code=3)
    assert "not compatible" in said and "use a newer pawl" in said, said


def many_migrate_at_once_and_one_does(postgres, url):
    place = place_of(url)
    for before in (None, OLD):
        if before:
            postgres.sql(f"DROP SCHEMA {place} CASCADE; CREATE SCHEMA {place}")
            pawl(before, url, "migrate")
        running = [start(NEW, url, "migrate") for _ in range(4)]
        for one in running:
            out, err = one.communicate(timeout=PATIENCE_S)
            assert one.returncode == 0, (out, err)
        newest = version_of(NEW, url)
        assert postgres.sql(f"SELECT count(*) = {newest} AND max(version) = {newest} "
                            f"FROM {place}.pawl_migration") == "t"
        pawl(NEW, url, "submit", "a.b")


def script_of(postgres, url):
    return postgres.sql(f"SELECT version, checksum FROM {place_of(url)}.pawl_script").split("|")


def functions_are_renewed_but_never_by_an_older_program(postgres, url):
    place = place_of(url)
    pawl(OLD, url, "migrate")
    older = script_of(postgres, url)
    postgres.sql(f"SET search_path = {place}; CREATE ROLE buyer; SELECT pawl_grant('buyer');"
                 "CREATE VIEW mine AS SELECT status, count(*) AS n FROM scheduler_job GROUP BY 1;"
                 "CREATE FUNCTION pawl_mine() RETURNS integer LANGUAGE sql AS 'SELECT 1'")
    said = pawl(NEW, url, "migrate")
    assert said == "schema: version 1 before, version 2 now\n", said
    newer = script_of(postgres, url)
    assert newer[0] == "99.0.0" and newer != older, (older, newer)
    for _ in range(2):  # then with the older one, which leaves it
        assert postgres.sql(f"SET search_path = {place}; SELECT pawl_ahead()") == "ahead"
        assert postgres.sql(f"SET search_path = {place}; SET ROLE buyer; "
                            "SELECT pawl_submit('a', '[1]'::jsonb) IS NOT NULL") == "t"
        assert postgres.sql(f"SELECT {place}.pawl_mine() FROM {place}.mine LIMIT 1") == "1"
        pawl(OLD, url, "migrate")
        assert script_of(postgres, url) == newer


def other_functions_of_the_same_version_are_replaced(postgres, url):
    """As after an edit of the script: some are gone, some give something else."""
    place = place_of(url)
    pawl(OLD, url, "migrate")
    current = script_of(postgres, url)
    before = (f"SET search_path = {place};"
              "CREATE FUNCTION pawl_gone() RETURNS integer LANGUAGE sql AS 'SELECT 1';"
              "DROP FUNCTION pawl_give_back;"
              "CREATE FUNCTION pawl_give_back(job uuid, run bigint, delay interval DEFAULT NULL) "
              "RETURNS integer LANGUAGE sql AS 'SELECT 1';"
              "UPDATE pawl_script SET checksum = 'x', made = made || 'FUNCTION pawl_gone()'::text")
    postgres.sql(before)
    pawl(OLD, url, "migrate", "--check", code=1)
    pawl(OLD, url, "submit", "a.b")  # other commands leave it
    assert script_of(postgres, url)[1] == "x"
    assert pawl(OLD, url, "migrate") == "schema: version 1, the functions for SQL were renewed\n"
    assert script_of(postgres, url) == current
    assert postgres.sql(f"SELECT string_agg(proname || ' ' || prorettype::regtype, ',') "
                        f"FROM pg_proc WHERE pronamespace = '{place}'::regnamespace "
                        "AND proname IN ('pawl_gone', 'pawl_give_back')") == "pawl_give_back void"
    assert pawl(OLD, url, "migrate") == "schema: version 1, up to date\n"


def works(url):
    """Does a program that owns the schema, and would renew the script, open the store?"""
    one = steady.Steady(STEADY, url, OLD)
    try:
        one.await_accepted(5)
    finally:
        one.close()


def script_that_fails_leaves_the_old_one(postgres, url):
    place = place_of(url)
    pawl(OLD, url, "migrate")
    postgres.sql(f"SET search_path = {place}; ALTER VIEW scheduler_node RENAME node_id TO other;"
                 "UPDATE pawl_script SET checksum = 'x'")
    before = postgres.sql(f"SELECT count(*), max(oid) FROM pg_proc "
                          f"WHERE pronamespace = '{place}'::regnamespace")
    assert "view column" in pawl(OLD, url, "migrate", code=3)
    assert before == postgres.sql(f"SELECT count(*), max(oid) FROM pg_proc "
                                  f"WHERE pronamespace = '{place}'::regnamespace")
    assert script_of(postgres, url)[1] == "x"
    assert postgres.sql(f"SELECT {place}.pawl_submit('a') IS NOT NULL") == "t"
    works(url)
    assert script_of(postgres, url)[1] == "x"
    said = start(OLD, url, "work", "--once", "--exec", "a=true").communicate(timeout=PATIENCE_S)[1]
    assert "functions for SQL are out of date" in said, said


def who_reads_a_view_keeps_nobody_from_opening_the_store(postgres, url):
    place = place_of(url)
    pawl(OLD, url, "migrate")
    current = script_of(postgres, url)
    postgres.sql(f"UPDATE {place}.pawl_script SET checksum = 'x'")
    reader = subprocess.Popen([postgres.bin + "/psql", "-XqAt", url], text=True,
                              stdin=subprocess.PIPE, stdout=subprocess.PIPE)
    try:
        reader.stdin.write("BEGIN; SELECT count(*) FROM scheduler_node;\n")
        reader.stdin.flush()
        assert reader.stdout.readline() == "0\n"
        works(url)
        assert script_of(postgres, url)[1] == "x"
    finally:
        reader.communicate("ROLLBACK;\n", timeout=PATIENCE_S)
    works(url)
    assert script_of(postgres, url) == current


def what_depends_on_a_function_stays_as_it_is(postgres, url):
    """A view of the user's uses functions that are replaced, and one that is not made any more."""
    place = place_of(url)
    pawl(OLD, url, "migrate")
    made = f"SELECT array_length(made, 1) FROM {place}.pawl_script"
    count = int(postgres.sql(made))
    oid = f"SELECT '{place}.pawl_complete(uuid, bigint, anycompatible)'::regprocedure::oid"
    before = postgres.sql(oid)
    postgres.sql(f"SET search_path = {place};"
                 "CREATE FUNCTION pawl_gone() RETURNS integer LANGUAGE sql AS 'SELECT 1';"
                 "CREATE VIEW mine AS SELECT pawl_gone(), pawl__now() > 0 AS late,"
                 " pawl_submit('a') IS NOT NULL AS sent;"
                 "UPDATE pawl_script SET checksum = 'x', "
                 "made = made || 'FUNCTION pawl_gone()'::text")
    pawl(OLD, url, "migrate")
    assert postgres.sql(oid) == before  # replaced: who has just called it does not notice
    assert postgres.sql(f"SELECT * FROM {place}.mine") == "1|t|t"
    assert int(postgres.sql(made)) == count + 1  # the next script will try again
    postgres.sql(f"DROP VIEW {place}.mine; UPDATE {place}.pawl_script SET checksum = 'x'")
    pawl(OLD, url, "migrate")
    assert postgres.sql(f"SELECT to_regprocedure('{place}.pawl_gone()') IS NULL") == "t"
    assert int(postgres.sql(made)) == count


def role_that_may_only_use_the_store_opens_it(postgres, url):
    """It cannot renew the functions, and needs not."""
    place = place_of(url)
    pawl(OLD, url, "migrate")
    postgres.sql(f"UPDATE {place}.pawl_script SET checksum = 'x'; CREATE ROLE user_of LOGIN; "
                 f"GRANT USAGE ON SCHEMA {place} TO user_of; "
                 f"GRANT ALL ON ALL TABLES IN SCHEMA {place} TO user_of")
    its = url.replace("user=pawl", "user=user_of")
    assert pawl(OLD, its, "migrate") == "schema: version 1, up to date\n"  # may change what it may
    pawl(OLD, its, "submit", "a.b")
    assert script_of(postgres, url)[1] == "x"
    postgres.sql(f"CREATE ROLE reader_of LOGIN; GRANT USAGE ON SCHEMA {place} TO reader_of; "
                 f"GRANT SELECT ON ALL TABLES IN SCHEMA {place} TO reader_of")
    assert "a.b" in pawl(OLD, url.replace("user=pawl", "user=reader_of"), "list")


def main():
    if not server.find_binaries():
        print("1..0 # SKIP there is no PostgreSQL server here (on Debian: postgresql)")
        return
    tests = [older_and_newer_share_a_store, what_is_too_new_is_refused_with_the_reason,
             many_migrate_at_once_and_one_does,
             functions_are_renewed_but_never_by_an_older_program,
             other_functions_of_the_same_version_are_replaced, script_that_fails_leaves_the_old_one,
             who_reads_a_view_keeps_nobody_from_opening_the_store,
             what_depends_on_a_function_stays_as_it_is,
             role_that_may_only_use_the_store_opens_it]
    print(f"1..{len(tests)}", flush=True)
    with server.Server() as postgres:
        for number, test in enumerate(tests, 1):
            postgres.sql(f"CREATE SCHEMA s{number}")
            try:
                test(postgres, f"{postgres.url}&options=-csearch_path%3Ds{number}")
                print(f"ok {number} - {test.__name__}", flush=True)
            except Exception:  # pylint: disable=broad-except
                print(f"not ok {number} - {test.__name__}", flush=True)
                for line in traceback.format_exc().splitlines():
                    print("#", line, flush=True)


if __name__ == "__main__":
    main()
