#!/usr/bin/env python3
"""Installs pawl into an empty directory and uses it from there. Prints TAP.

Usage: install_test.py BUILD_DIR
"""
import glob
import os
import re
import subprocess
import sys
import tempfile

HERE = os.path.dirname(os.path.abspath(__file__))
TESTS = []


def test(function):
    TESTS.append(function)
    return function


def run(*command, **options):
    done = subprocess.run(command, capture_output=True, text=True, check=False, **options)
    assert done.returncode == 0, (command, done.stdout, done.stderr)
    return done.stdout


def one(root, pattern):
    found = glob.glob(f"{root}/**/{pattern}", recursive=True)
    assert len(found) == 1, (pattern, found)
    return found[0]


@test
def installed_binary_runs(root):
    version = run(one(root, "bin/pawl"), "--version")
    assert re.fullmatch(r"pawl \d+\.\d+\.\d+\n", version), version


@test
def installed_binary_finds_its_modules_wherever_it_lies(root):
    """DESTDIR is not where it was to be installed: the modules are found near the binary."""
    env = {name: value for name, value in os.environ.items() if not name.startswith("PAWL_")}
    done = subprocess.run([one(root, "bin/pawl"), "--server", "http://127.0.0.1:1", "list"],
                          capture_output=True, text=True, check=False, env=env)
    assert "could not reach the server" in done.stderr, done.stderr


@test
def a_module_that_is_not_there_is_named_with_the_way_to_it(root):
    done = subprocess.run([one(root, "bin/pawl"), "--server", "http://127.0.0.1:1", "list"],
                          capture_output=True, text=True, check=False,
                          env={**os.environ, "PAWL_MODULE_DIR": root + "/nowhere"})
    assert f"no module \"{root}/nowhere/pawl-remote.so\"" in done.stderr, done.stderr
    assert "set PAWL_MODULE_DIR" in done.stderr and "install" not in done.stderr, done.stderr


@test
def headers_are_installed_and_no_others(root):
    headers = sorted(os.listdir(os.path.dirname(one(root, "include/pawl/pawl.h"))))
    source = sorted(os.listdir(os.path.join(HERE, "../../include/pawl")))
    assert headers == source, (headers, source)


def pkg_config(root, *args):
    folder = os.path.dirname(one(root, "pkgconfig/pawl.pc"))
    env = {**os.environ, "PKG_CONFIG_PATH": folder, "PKG_CONFIG_SYSROOT_DIR": root}
    return run("pkg-config", *args, "pawl", env=env).split()


@test
def program_links_with_the_shared_library(root):
    program = os.path.join(root, "shared")
    run("cc", os.path.join(HERE, "embed.c"), "-o", program,
        *pkg_config(root, "--cflags", "--libs"))
    folder = os.path.dirname(one(root, "libpawl.so"))
    assert run(program, env={"LD_LIBRARY_PATH": folder}) == "available\n"


@test
def program_links_with_the_static_library(root):
    program = os.path.join(root, "static")
    # Not all of --static --libs: that is for a static sqlite3, which wants more of the machine.
    run("cc", os.path.join(HERE, "embed.c"), "-o", program, *pkg_config(root, "--cflags"),
        one(root, "libpawl.a"), "-lsqlite3", "-lm", "-pthread")
    assert run(program) == "available\n"


@test
def man_page_renders_without_complaint(root):
    page = one(root, "man1/pawl.1")
    done = subprocess.run(["man", "--warnings", "-l", page], capture_output=True, text=True,
                          check=False, env={**os.environ, "MANWIDTH": "80", "LC_ALL": "C.UTF-8"})
    assert done.returncode == 0 and done.stderr == "", done.stderr
    assert "SYNOPSIS" in done.stdout, done.stdout


@test
def bash_completion_offers_commands(root):
    script = one(root, "bash-completion/completions/pawl")
    shell = f"""
        source '{script}'
        words=$(complete -p pawl) && [[ $words =~ -F\\ ([^\\ ]+) ]] || exit 3
        COMP_WORDS=(pawl sub) COMP_CWORD=1 COMP_LINE='pawl sub' COMP_POINT=8
        "${{BASH_REMATCH[1]}}" pawl sub pawl
        printf '%s\\n' "${{COMPREPLY[@]}}"
    """
    path = os.path.dirname(one(root, "bin/pawl")) + ":" + os.environ["PATH"]
    offered = run("bash", "--norc", "-c", shell, env={**os.environ, "PATH": path})
    assert [word.strip() for word in offered.splitlines()] == ["submit"], offered


def main(build):
    with tempfile.TemporaryDirectory() as root:
        run("meson", "install", "-C", build, "--no-rebuild", "--destdir", root)
        print(f"1..{len(TESTS)}")
        failed = 0
        for number, function in enumerate(TESTS, 1):
            try:
                function(root)
                print(f"ok {number} - {function.__name__}")
            except (AssertionError, OSError) as error:
                failed += 1
                print(f"not ok {number} - {function.__name__}")
                print("\n".join("# " + line for line in repr(error).splitlines()))
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1]))
