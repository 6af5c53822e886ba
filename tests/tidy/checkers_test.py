#!/usr/bin/env python3
"""Tests of the checkers: each finds its violation, and reports nothing for a clean tree.

Makes small trees with one fault each in a temporary directory. Prints TAP.
"""
import contextlib
import io
import json
import os
import shutil
import subprocess
import sys
import tempfile

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
sys.dont_write_bytecode = True
sys.path.insert(0, os.path.join(ROOT, "mk"))
import check_includes  # noqa: E402
import check_symbols  # noqa: E402
import check_text  # noqa: E402

TESTS = []


def test(function):
    TESTS.append(function)
    return function


def plant(root, files):
    for path, text in files.items():
        full = os.path.join(root, path)
        os.makedirs(os.path.dirname(full), exist_ok=True)
        with open(full, "w", encoding="utf-8") as file:
            file.write(text)


def expect(complaints, *fragments):
    """One complaint for each fragment, in order, and no other."""
    assert len(complaints) == len(fragments), complaints
    for complaint, fragment in zip(complaints, fragments):
        assert fragment in complaint, (complaint, fragment)


# ---- includes ----

CLEAN = {
    "include/pawl/pawl.h": "#include <pawl/error.h>\n#include <stdint.h>\n",
    "include/pawl/error.h": "",
    "src/base/buf.h": "#include <pawl/error.h>\n",
    "src/lifecycle/lifecycle.h": '#include "base/buf.h"\n',
    "src/store/store.h": '#include "lifecycle/lifecycle.h"\n#include "base/buf.h"\n',
    "src/store/inside.h": "",
    "src/store/sqlite/sqlite.c": '#include "store/inside.h"\n#include <sqlite3.h>\n',
    "src/store/sql/filter.h": '#include "store/inside.h"\n',
    "src/store/sqlite/query.c": '#include "store/sql/filter.h"\n',
    "src/api/submit.c": '#include "store/store.h"\n#include <pawl/pawl.h>\n',
    "src/cli/main.c": '#include "cli/main.h"\n#include "base/buf.h"\n#include <pawl/pawl.h>\n',
    "src/cli/main.h": "",
    "tests/contract/a.c": '#include "store/inside.h"\n#include <sqlite3.h>\n',
}


def include_complaints(root, path, text):
    plant(root, {**CLEAN, path: text})
    return check_includes.check(root)[0]


@test
def leaves_a_clean_tree_alone(root):
    plant(root, CLEAN)
    expect(check_includes.check(root)[0])
    expect(check_text.check(root))


@test
def finds_include_against_the_arrows(root):
    expect(include_complaints(root, "src/base/x.c", '#include "store/store.h"\n'),
           "src/base/x.c:1: base may not include store")


@test
def finds_include_of_a_private_header(root):
    expect(include_complaints(root, "src/api/x.c", '\n#include "store/inside.h"\n'),
           "src/api/x.c:2: \"store/inside.h\" is private to store")


@test
def finds_private_header_reached_by_relative_path(root):
    expect(include_complaints(root, "src/api/x.c", '#include "../store/inside.h"\n'),
           "private to store")


@test
def finds_command_line_behind_the_counter(root):
    expect(include_complaints(root, "src/cli/x.c", '#include "store/store.h"\n'),
           "cli may not include store")


@test
def finds_database_header_outside_its_backend(root):
    expect(include_complaints(root, "src/store/x.c", "#include <sqlite3.h>\n"),
           "may include sqlite3.h")


@test
def finds_shared_sql_that_knows_a_backend(root):
    plant(root, {"src/store/sqlite/sqlite.h": ""})
    expect(include_complaints(root, "src/store/sql/x.c", '#include "store/sqlite/sqlite.h"\n'),
           "store/sql may not include store/sqlite")


@test
def finds_backend_that_knows_another(root):
    plant(root, {"src/store/postgres/postgres.h": ""})
    expect(include_complaints(root, "src/store/sqlite/x.c",
                              '#include "store/postgres/postgres.h"\n'),
           "store/sqlite may not include store/postgres")


@test
def finds_header_behind_the_door_of_a_folder(root):
    plant(root, {"src/http/http.h": "", "src/http/transport/transport.h": "",
                 "src/http/transport/conn.h": "", "src/http/server.h": "",
                 "src/http/ojs/a.c": '#include "http/transport/transport.h"\n',
                 "src/http/transport/b.c": '#include "http/http.h"\n'})
    expect(include_complaints(root, "src/http/ojs/x.c", '#include "http/transport/conn.h"\n'),
           "\"http/transport/conn.h\" is private to http/transport")
    expect(include_complaints(root, "src/http/ojs/x.c", '#include "http/server.h"\n'),
           "http/ojs may not include http (")
    expect(include_complaints(root, "src/http/ojs/x.c", '#include "http/http.h"\n'),
           "http/ojs may not include http (")


@test
def finds_installed_header_that_includes_a_private_one(root):
    expect(include_complaints(root, "include/pawl/x.h", '#include "base/buf.h"\n'),
           "not there for those who have pawl installed")


@test
def finds_example_that_knows_too_much(root):
    expect(include_complaints(root, "examples/x.c", '#include "base/buf.h"\n'),
           "not there for those who have pawl installed")


@test
def finds_room_header_in_angle_brackets(root):
    expect(include_complaints(root, "src/api/x.c", "#include <store/store.h>\n"),
           "include it in quotes")


@test
def finds_room_that_nobody_knows(root):
    expect(include_complaints(root, "src/attic/x.c", ""), "no known room")


@test
def ignores_includes_in_comments(root):
    expect(include_complaints(root, "src/base/x.c", '/*\n#include "store/store.h"\n*/\n'))


@test
def refuses_to_check_nothing(root):
    os.makedirs(os.path.join(root, "src"))
    with contextlib.redirect_stdout(io.StringIO()) as out:
        assert check_includes.main(root) == 1
    assert "nothing was checked" in out.getvalue()
    expect(check_text.check(root), "nothing was checked")


# ---- text ----


@test
def finds_tab_but_not_in_makefile(root):
    plant(root, {"src/a.c": "int\ta;\n", "Makefile": "all:\n\ttrue\n"})
    expect(check_text.check(root), "src/a.c:1: a tab")


@test
def finds_line_of_101_columns(root):
    plant(root, {"a.c": "x" * 100 + "\n" + "x" * 101 + "\n", "b.sql": "é" * 100 + "\n"})
    expect(check_text.check(root), "a.c:2: 101 columns")


@test
def lets_tables_and_fences_of_documents_run_on(root):
    long = "x" * 120
    plant(root, {"a.md": f"| {long} |\n```\n{long}\n```\n{long}\n"})
    expect(check_text.check(root), "a.md:5: 120 columns")


@test
def finds_loose_ends(root):
    plant(root, {"a.c": "/* TO" + "DO: later */\n/* autodoc */\n", "b.py": "# FIX" + "ME\n"})
    expect(check_text.check(root), "a.c:1: a loose end", "b.py:1: a loose end")


@test
def finds_trailing_space_and_missing_newline(root):
    plant(root, {"a.c": "int a; \nint b;"})
    expect(check_text.check(root), "no newline at the end", "a.c:1: white space")


# ---- symbols ----


def symbol_complaints(root, header, source):
    plant(root, {"include/pawl/x.h": header, "x.c": '#include "include/pawl/x.h"\n' + source})
    def sh(*command):
        subprocess.run(command, cwd=root, check=True)
    sh("cc", "-fPIC", "-fvisibility=hidden", "-c", "x.c")
    sh("ar", "rc", "libx.a", "x.o")
    sh("cc", "-shared", "-o", "libx.so", "x.o")
    return check_symbols.check(*(os.path.join(root, n) for n in ("libx.a", "libx.so", "include")))


PUBLIC = '#pragma GCC visibility push(default)\nint pawl_a(void); /* pawl_z() */\n' \
         '#pragma GCC visibility pop\n'
DEFINED = "int pawl_a(void) { return 0; }\n"


@test
def leaves_clean_symbols_alone(root):
    source = DEFINED + "int pawl__b(void) { return 0; }\nstatic int c; int *pawl__d = &c;\n"
    expect(symbol_complaints(root, PUBLIC, source))


@test
def finds_global_symbol_without_prefix(root):
    expect(symbol_complaints(root, PUBLIC, DEFINED + "int helper;\n"), "helper: a global symbol")


@test
def finds_exported_private_symbol(root):
    source = DEFINED + '__attribute__((visibility("default"))) int pawl__b;\n'
    expect(symbol_complaints(root, PUBLIC, source), "pawl__b: private, yet exported")


@test
def finds_export_that_no_header_declares(root):
    source = DEFINED + '__attribute__((visibility("default"))) int pawl_b;\n'
    expect(symbol_complaints(root, PUBLIC, source), "pawl_b: exported, yet not declared")


@test
def finds_declaration_that_nobody_defines(root):
    expect(symbol_complaints(root, PUBLIC + "int pawl_missing(int a);\n", DEFINED),
           "pawl_missing: declared in include/pawl, yet not exported")


# ---- tally ----


def tally(root, logs):
    """The output of mk/tally.py over {label.ending: text}, and its exit status."""
    plant(root, logs)
    args = [f"{name.split('.')[0]}={os.path.join(root, name)}" for name in logs]
    done = subprocess.run([os.path.join(ROOT, "mk/tally.py"), *args], capture_output=True,
                          text=True, check=False)
    return done.stdout.splitlines()[-1], done.returncode


def meson_log(*tests):
    return "".join(json.dumps(t) + "\n" for t in tests)


@test
def adds_up_points_not_programs(root):
    log = meson_log({"name": "a", "result": "OK", "returncode": 0,
                     "stdout": "1..2\nok 1 - x\nok 2 - y\n"},
                    {"name": "b", "result": "OK", "returncode": 0, "stdout": "1..1\nok 1\n"})
    assert tally(root, {"plain.json": log, "tidy.tap": "1..1\nok 1 - z\n"}) == \
        ("4 passed, 0 failed", 0)


@test
def counts_failed_points(root):
    log = meson_log({"name": "a", "result": "FAIL", "returncode": 1,
                     "stdout": "1..3\nok 1 - x\nnot ok 2 - y\nok 3 - z\n"})
    assert tally(root, {"plain.json": log}) == ("2 passed, 1 failed", 1)


@test
def counts_what_a_crash_left_undone(root):
    log = meson_log({"name": "a", "result": "ERROR", "returncode": -11,
                     "stdout": "1..40\nok 1 - x\nok 2 - y\n"})
    assert tally(root, {"plain.json": log}) == ("2 passed, 38 failed", 1)


@test
def counts_sanitizer_death_after_the_last_point(root):
    log = meson_log({"name": "a", "result": "FAIL", "returncode": 66,
                     "stdout": "1..1\nok 1 - x\n"})
    assert tally(root, {"asan.json": log}) == ("1 passed, 1 failed", 1)


@test
def counts_silence_as_failure(root):
    empty = meson_log({"name": "a", "result": "OK", "returncode": 0, "stdout": "1..0\n"})
    assert tally(root, {"plain.json": empty}) == ("0 passed, 1 failed", 1)
    assert tally(root, {"plain.json": ""}) == ("0 passed, 1 failed", 1)
    assert tally(root, {"tidy.tap": ""}) == ("0 passed, 1 failed", 1)
    assert tally(root, {}) == ("0 passed, 1 failed", 1)


@test
def counts_missing_log_as_failure(root):
    done = subprocess.run([os.path.join(ROOT, "mk/tally.py"), f"asan={root}/none.json"],
                          capture_output=True, text=True, check=False)
    assert done.returncode == 1 and done.stdout.endswith("0 passed, 1 failed\n"), done


@test
def counts_skipped_points_as_neither(root):
    log = meson_log({"name": "a", "result": "OK", "returncode": 0,
                     "stdout": "1..3\nok 1 - x\nok 2 - y # SKIP no disk\n"
                               "not ok 3 # SKIP z\n"})
    assert tally(root, {"plain.json": log}) == ("1 passed, 0 failed", 0)


LATE = {"name": "pawl:base / late", "result": "FAIL", "returncode": 1,
        "stdout": "1..2\nok 1 - x\nnot ok 2 - y\n"}
ON_TIME = {**LATE, "result": "OK", "returncode": 0, "stdout": "1..2\nok 1 - x\nok 2 - y\n"}


def deserve_another_run(root, *tests, label="plain"):
    plant(root, {f"{label}.json": meson_log(*tests)})
    done = subprocess.run([os.path.join(ROOT, "mk/tally.py"), "--again", f"{root}/{label}.json"],
                          capture_output=True, text=True, check=False)
    assert (done.returncode == 0) == (done.stdout != ""), done
    return done.stdout.split()


@test
def takes_the_second_run_of_what_was_late(root):
    assert deserve_another_run(root, LATE, {**ON_TIME, "name": "a"}) == ["late"]
    assert deserve_another_run(root, {**LATE, "result": "ERROR"}) == ["late"]
    plant(root, {"plain.again.json": meson_log(ON_TIME)})
    assert tally(root, {"plain.json": meson_log(LATE)}) == ("2 passed, 0 failed", 0)
    plant(root, {"plain.again.json": meson_log(LATE)})
    assert tally(root, {"plain.json": meson_log(LATE)}) == ("1 passed, 1 failed", 1)


@test
def excuses_no_crash_and_no_finding(root):
    for worse in ({"result": "ERROR", "returncode": -11}, {"returncode": -6},
                  {"stdout": LATE["stdout"] + "# WARNING: ThreadSanitizer: data race\n"},
                  {"stderr": "x.c:1:2: runtime error: signed integer overflow\n"}):
        assert deserve_another_run(root, {**LATE, **worse}) == [], worse
        plant(root, {"plain.again.json": meson_log(ON_TIME)})
        assert tally(root, {"plain.json": meson_log({**LATE, **worse})}) == \
            ("1 passed, 1 failed", 1), worse


@test
def excuses_no_suite_that_looks_for_races(root):
    for suites in ("contract", "crash", "cluster", "model", "engine+threads", "postgres+races"):
        racy = {**LATE, "name": f"pawl:{suites} / late"}
        assert deserve_another_run(root, racy) == [], suites
        plant(root, {"plain.again.json": meson_log({**ON_TIME, "name": racy["name"]})})
        assert tally(root, {"plain.json": meson_log(racy)}) == ("1 passed, 1 failed", 1), suites
    assert deserve_another_run(root, {**LATE, "name": "pawl:docs / model"}) == ["model"]


@test
def excuses_nothing_under_thread_sanitizer(root):
    assert deserve_another_run(root, LATE, label="tsan") == []
    plant(root, {"tsan.again.json": meson_log(ON_TIME)})
    assert tally(root, {"tsan.json": meson_log(LATE)}) == ("1 passed, 1 failed", 1)


@test
def sees_no_chance_in_many_failures(root):
    many = [{**LATE, "name": f"late{i}"} for i in range(4)]
    assert deserve_another_run(root, *many) == []
    assert deserve_another_run(root, *many[:3]) == ["late0", "late1", "late2"]


# ---- setup ----

SUDO = '[ "$1" = -n ] && shift; "$@"'
SHELL_TOOLS = ["sh", "cat", "sort", "xargs", "echo", "id", "mktemp", "rm", "env", "dirname", "sed"]

# A release of Debian: the packages that it has, and what two of them depend on.
APT_CACHE = """
[ "$1" = depends ] && echo 'libuv1-dev' && echo '  Depends: libc6-dev' && echo '  Depends: {uv}'
[ "$1" = policy ] && for name in {names}; do echo "$name:"; echo '  Candidate: 1.0'; done
echo 'nodejs:'; echo '  Candidate: (none)'
"""


def machine(root, extra):
    """The PATH of a machine that has a shell, its usual tools, and `extra` scripts."""
    path = os.path.join(root, "bin")
    shutil.rmtree(path, ignore_errors=True)
    os.makedirs(path)
    for name in SHELL_TOOLS:
        os.symlink(shutil.which(name), os.path.join(path, name))
    for name, body in extra.items():
        plant(path, {name: f"#!{shutil.which('sh')}\n{body}\n"})
        os.chmod(os.path.join(path, name), 0o755)
    return path


def setup(root, extra, *purposes):
    """mk/setup.sh on such a machine."""
    path = machine(root, extra)
    return subprocess.run([os.path.join(path, "sh"), os.path.join(ROOT, "mk/setup.sh"), *purposes],
                          env={"PATH": path, "TMPDIR": root}, capture_output=True, text=True,
                          check=False)


def installs(root, extra, *purposes):
    """What mk/setup.sh asks apt for."""
    asked = os.path.join(root, "asked")
    plant(root, {"asked": ""})
    done = setup(root, {"dpkg-query": "exit 1", "apt-get": f'echo "$*" >>{asked}', "sudo": SUDO,
                        **extra}, *purposes)
    assert done.returncode == 0, done
    with open(asked, encoding="utf-8") as file:
        update, install = file.read().splitlines()
    assert update.endswith(" update"), update
    return install.split(" install --no-install-recommends ")[1].split()


@test
def setup_speaks_the_words_of_other_systems(root):
    for manager, command, words in (
            ("dnf", "as root, run: dnf install ", ["libpq-devel", "ninja-build", "sqlite-devel"]),
            ("pacman", "as root, run: pacman -S --needed ", ["postgresql-libs", "ninja", "sqlite"]),
            ("apk", "as root, run: apk add ", ["libpq-dev", "samurai", "musl-dev"]),
            ("brew", " run: brew install ", ["libpq", "ninja", "openssl@3"])):
        done = setup(root, {manager: "exit 9", "sudo": "exit 9"}, "build")
        assert done.returncode == 1, done
        assert command in done.stderr, done.stderr
        named = done.stderr.split(command)[1].split()
        assert set(words) <= set(named) and "-" not in named, named


@test
def setup_has_a_name_for_everything_everywhere(root):
    with open(os.path.join(ROOT, "mk/setup.sh"), encoding="utf-8") as file:
        needs, elsewhere = [part.split("\nEND\n")[0].splitlines()
                            for part in file.read().split("<<'END'\n")[1:]]
    named = {row.split()[0]: row.split()[1:] for row in elsewhere}
    wanted = {row.split()[1] for row in needs if row.split()[0] != "image"}
    assert wanted == set(named), wanted ^ set(named)
    assert all(len(names) == 4 for names in named.values()), named


@test
def setup_lists_what_is_needed_on_an_unknown_system(root):
    done = setup(root, {}, "build")
    assert done.returncode == 1, done
    for package in ("gcc", "meson", "ninja-build", "libsqlite3-dev", "python3"):
        assert package in done.stderr.split(), done.stderr


@test
def setup_installs_only_what_is_missing(root):
    here = dict.fromkeys(("cc", "make", "ninja", "pkg-config", "python3"), "")
    assert installs(root, here, "build") == ["meson"]


@test
def setup_takes_the_names_that_the_release_has(root):
    here = dict.fromkeys(("make", "meson", "ninja", "pkg-config", "python3"), "")
    for llhttp, uv in (("libllhttp-dev", "libuv1t64"), ("node-llhttp", "libuv1")):
        extra = {**here, "apt-cache": APT_CACHE.format(names=f"gcc tini {llhttp}", uv=uv)}
        names = installs(root, extra, "build", "image")
        assert {"gcc", "tini", uv} <= set(names) and "libuv1-dev" not in names, names
        if not os.path.exists("/usr/share/llhttp/llhttp.c"):
            assert llhttp in names, names
        assert "-" not in names and not any(name.startswith("lib:") for name in names), names


@test
def setup_says_nothing_when_nothing_is_missing(root):
    done = setup(root, {"dpkg-query": "echo installed", "apt-get": "exit 9"}, "build", "test",
                 "tidy", "fuzz")
    assert (done.returncode, done.stdout, done.stderr) == (0, "", ""), done


@test
def setup_shows_why_it_could_not_install(root):
    done = setup(root, {"dpkg-query": "exit 1", "apt-get": "echo no network; exit 100",
                        "sudo": SUDO}, "build")
    assert done.returncode == 1, done
    assert "no network" in done.stderr and "could not install: gcc" in done.stderr, done.stderr


# ---- tools ----


def find_tool(root, tools, *args):
    """mk/find_tool.sh on a machine with `tools`, by name and what each says of its version."""
    path = machine(root, {name: f"echo '{text}'" for name, text in tools.items()})
    done = subprocess.run([os.path.join(path, "sh"), os.path.join(ROOT, "mk/find_tool.sh"), *args],
                          env={"PATH": path}, capture_output=True, text=True, check=False)
    assert (done.returncode == 0) == (done.stdout != ""), done
    return os.path.relpath(done.stdout.strip(), path) if done.stdout else None


@test
def takes_the_newest_tool_that_will_do(root):
    tools = {"pgbouncer-900": "PgBouncer 900.1", "pgbouncer": "PgBouncer 899.9",
             "pgbouncer-901": "broken"}
    assert find_tool(root, tools, "pgbouncer") == "pgbouncer-900"
    clangs = {"clang-format": "Debian clang-format version 900.1.7 (3)",
              "clang-format-901": "clang-format version 901.0.6"}
    assert find_tool(root, clangs, "clang-format") == "clang-format-901"
    assert find_tool(root, clangs, "clang-format", "900") == "clang-format"
    assert find_tool(root, clangs, "clang-format", "902") is None


@test
def takes_no_tool_that_is_too_old(root):
    assert find_tool(root, {"postgres": "postgres (PostgreSQL) 12.6"}, "postgres") != "postgres"
    assert find_tool(root, {"clang-13": "clang version 13.0.1"}, "clang") != "clang-13"


def main():
    print(f"1..{len(TESTS)}")
    failed = 0
    for number, function in enumerate(TESTS, 1):
        with tempfile.TemporaryDirectory() as root:
            try:
                function(root)
                print(f"ok {number} - {function.__name__}")
            except (AssertionError, OSError, subprocess.CalledProcessError) as error:
                failed += 1
                print(f"not ok {number} - {function.__name__}")
                print("\n".join("# " + line for line in repr(error).splitlines()))
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
