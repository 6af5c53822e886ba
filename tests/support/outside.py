"""The store that a test from outside runs on: a file in its directory, or, when PAWL_TEST_STORES is
"postgres", a schema of its own on the server that PAWL_TEST_POSTGRES names (see suites.py)."""
import os
import secrets
import subprocess
import sys

sys.path.append(os.path.join(os.path.dirname(os.path.abspath(__file__)), "../postgres"))
import server

POSTGRES = os.environ.get("PAWL_TEST_STORES") == "postgres"


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
