"""The store of a test that runs the binary: a file in its directory or, if PAWL_TEST_STORES is
"postgres", a schema of its own on the server that PAWL_TEST_POSTGRES names (see suites.py)."""
import contextlib
import os
import secrets
import sqlite3
import subprocess
import sys

sys.path.append(os.path.join(os.path.dirname(os.path.abspath(__file__)), "../postgres"))
import server

PATIENCE_S = 120  # with whoever is writing
POSTGRES = os.environ.get("PAWL_TEST_STORES") == "postgres"


# All tables or none, so that nobody waits for us while we wait for him; but for that of pawl_turn,
# to which readers write too.
LOCK_ALL = """
BEGIN;
DO $$ BEGIN LOOP
    BEGIN
        EXECUTE (SELECT format('LOCK TABLE %s IN EXCLUSIVE MODE NOWAIT',
                               string_agg(quote_ident(tablename), ', '))
                 FROM pg_tables
                 WHERE schemaname = current_schema() AND tablename <> 'pawl_turn');
        EXIT;
    EXCEPTION WHEN lock_not_available THEN
        PERFORM pg_sleep(0.01);
    END;
END LOOP; END $$;
"""


def environment():
    """Ours, without the settings of pawl that are none of a test's."""
    return {name: value for name, value in os.environ.items()
            if not name.startswith("PAWL_") or name == "PAWL_MODULE_DIR"}


def make_store(directory):
    """The URL of a store that is not there yet."""
    if not POSTGRES:
        return "sqlite:" + os.path.join(directory, "pawl.db")
    url, name = os.environ["PAWL_TEST_POSTGRES"], "t" + secrets.token_hex(8)
    subprocess.run([server.find_binaries() + "/psql", "-X", "-q", url, "-c",
                    f"CREATE SCHEMA {name}"], check=True, cwd="/")
    return f"{url}&options=-csearch_path%3D{name}"


@contextlib.contextmanager
def hold(url):
    """Keeps everybody else from writing to the store; they may read."""
    if not POSTGRES:
        db = sqlite3.connect(url.removeprefix("sqlite:"), timeout=PATIENCE_S, isolation_level=None)
        db.execute("BEGIN IMMEDIATE")
        try:
            yield
        finally:
            db.close()  # rolls back
        return
    with subprocess.Popen([server.find_binaries() + "/psql", "-X", "-q", "-A", "-t", url], cwd="/",
                          stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as psql:
        psql.stdin.write(LOCK_ALL + "SELECT 'held';\n")
        psql.stdin.flush()
        assert psql.stdout.readline() == "held\n"
        yield  # and it ends with its input
