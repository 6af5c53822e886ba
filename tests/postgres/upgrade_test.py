#!/usr/bin/env python3
"""A cluster is upgraded node by node: programs one step apart share a store. Speaks TAP.

Usage: upgrade_test.py PAWL MODULE_DIR OLDER_MODULE_DIR STEADY

The older one is this one's source, built to know all migrations but the newest.
"""
import os
import subprocess
import sys
import traceback

sys.dont_write_bytecode = True
import server
import steady

PATIENCE_S = 120
PAWL, NEW, OLD, STEADY = map(os.path.abspath, sys.argv[1:5])
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
    crew = [steady.Steady(STEADY, url, OLD)]
    try:
        crew[0].await_accepted(20)
        assert 'run "pawl migrate"' in pawl(NEW, url, "submit", "a.b", code=3)
        pawl(NEW, url, "migrate")  # under the older one's feet
        assert version_of(NEW, url) == older + 1
        crew.append(steady.Steady(STEADY, url, NEW))
        crew.append(steady.Steady(STEADY, url, OLD))  # one that was restarted before its upgrade
        for one in crew:
            one.await_accepted(20)
    finally:
        for one in crew:
            one.close()
    wrong = steady.audit(postgres, crew, place_of(url))
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


def main():
    if not server.find_binaries():
        print("1..0 # SKIP there is no PostgreSQL server here (on Debian: postgresql)")
        return
    tests = [older_and_newer_share_a_store, what_is_too_new_is_refused_with_the_reason,
             many_migrate_at_once_and_one_does]
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
