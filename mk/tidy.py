#!/usr/bin/env python3
"""Checks the style rules that can be checked automatically.

Usage: tidy.py [--tap FILE] [--quick | --slow | CHECK...]      CHECK: a name from the list below
       tidy.py --fix-format

Prints one TAP line for each check, followed by its findings; --tap appends the same to FILE.
Exits with 0 only if all checks passed.
"""
import argparse
import concurrent.futures
import functools
import glob
import hashlib
import json
import os
import re
import subprocess
import sys

sys.dont_write_bytecode = True  # the tree stays as it was
import check_includes
import check_symbols
import check_text

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
BUILD = "build-tidy"
JOBS = os.cpu_count() or 1


class Broken(Exception):
    """A check that could not be made: as bad as one that found something."""


class Skipped(Exception):
    """A check that says nothing with the tools of this machine."""


# Every version of clang-format breaks some lines otherwise, whatever .clang-format says. Only the
# one that the tree was formatted with can check it, and only it may format.
FORMAT_VERSION = "14"


def tool(name, *version):
    code, path = run(["mk/find_tool.sh", name, *version])
    if code:
        raise Broken(f"{' '.join((name, *version))} is not installed: run mk/setup.sh tidy")
    return path.strip()


def clang_format():
    try:
        return tool("clang-format", FORMAT_VERSION)
    except Broken:
        raise Skipped(f"clang-format {FORMAT_VERSION} is not installed, others format "
                      "otherwise") from None


def run(command, **options):
    try:
        done = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
                              errors="replace", check=False, **options)
    except FileNotFoundError as error:
        raise Broken(f"{command[0]} is not installed: run mk/setup.sh tidy") from error
    return done.returncode, done.stdout


def complaints_of(command, **options):
    """Output lines of a command that fails; nothing when it does not."""
    code, out = run(command, **options)
    lines = out.splitlines()
    return (lines or [f"{command[0]}: exit status {code}"]) if code else []


def in_parallel(look, things):
    """What `look`, which runs a program, finds in each."""
    with concurrent.futures.ThreadPoolExecutor(JOBS) as pool:
        return [line for lines in pool.map(look, things) for line in lines]


def c_files(*tops, tests=True):
    found = []
    for top in tops:
        found += glob.glob(f"{top}/**/*.[ch]", recursive=True)
    return sorted(f for f in found if tests or not f.endswith("_test.c"))


def scripts(kind):
    """Paths of our scripts whose first line names an interpreter like `kind`."""
    found = []
    for pattern in ("mk/*", ".ci/*", "tests/**/*", "bench/**/*"):
        for path in sorted(filter(os.path.isfile, glob.glob(pattern, recursive=True))):
            with open(path, "rb") as file:
                first = file.readline().decode("utf-8", "replace")
            if first.startswith("#!") and re.search(kind, first):
                found.append(path)
    return found


# ---- the checks: each returns what it found, as lines ----


def check_text_rules():
    """no tabs, no long lines, no loose ends"""
    return check_text.check(".")


def check_format():
    """clang-format agrees"""
    files = c_files("include", "src", "tests", "bench", "examples")
    lines = complaints_of([clang_format(), "--dry-run", "-Werror", *files])
    bad = sorted({line.split(":")[0] for line in lines if "error:" in line})
    return [f"{path}: run make format" for path in bad] or lines


def check_include_direction():
    """rooms include only what they may"""
    return check_includes.check(".")[0]


def system_includes():
    """Where the build found the headers of libraries."""
    with open(f"{BUILD}/compile_commands.json", encoding="utf-8") as file:
        words = {word for command in json.load(file) for word in command["command"].split()
                 if word.startswith(("-isystem/", "-I/"))}
    return sorted(words)


def check_headers():
    """each header stands alone; public ones in strict C and in C++ too"""
    need_build()  # some headers include what it generates
    common = ["-fsyntax-only", "-Wall", "-Wextra", "-Werror", "-Iinclude", "-Isrc",
              f"-I{BUILD}/src/store", *system_includes()]
    strict = ["-std=c11", "-pedantic"]
    looks = []
    for path in c_files("include", "src"):
        if not path.endswith(".h"):
            continue
        public = path.startswith("include/")
        name = path[len("include/" if public else "src/"):]
        source = f"#include <{name}>\n" if public else f'#include "{name}"\n'
        languages = [["cc", "-xc", "-std=gnu17", "-D_GNU_SOURCE", f"-I{os.path.dirname(path)}"]]
        if public:
            languages = [["cc", "-xc", *strict], ["c++", "-xc++", "-std=c++11", "-pedantic"]]
        if name != "base/banned.h":
            looks += [([*language, *common, "-"], source) for language in languages]
    return in_parallel(lambda look: complaints_of(look[0], input=look[1]), looks)


@functools.lru_cache
def check_clang_build():
    """clang compiles everything, with -Wthread-safety"""
    clang = tool("clang")
    found = complaints_of(["mk/configure.sh", BUILD, "-Dbuildtype=plain", "-Db_lundef=false"],
                          env={**os.environ, "CC": clang})
    if found:
        return found
    objects = run(["ninja", "-C", BUILD, "-t", "targets", "rule", "c_COMPILER"])[1].split()
    shared = os.path.basename(os.path.realpath(f"{BUILD}/libpawl.so"))  # with its version
    return complaints_of(["ninja", "-C", BUILD, "--quiet", "libpawl.a", shared, *objects])


def need_build():
    if check_clang_build():
        raise Broken("nothing to look at: the build with clang failed")


def check_symbol_names():
    """global symbols begin with pawl_; the exports are the public headers'"""
    need_build()
    return check_symbols.check(f"{BUILD}/libpawl.a", f"{BUILD}/libpawl.so", "include")


# How many states of a function clang's analyzer looks at before it gives it up. Its own number is
# three times as large, and takes three times as long: --slow, which CI waits for, makes do with
# fewer.
DEPTH = []
CURSORY = [f"--extra-arg={word}" for word in
           ("-Xclang", "-analyzer-config", "-Xclang", "max-nodes=75000")]


def clang_tidy_one(clang_tidy, path, salt):
    """Remembers a clean file by all that could change the verdict: it is slow."""
    with open(path, "rb") as file:
        digest = hashlib.sha256(salt + file.read()).hexdigest()
    mark = f"{BUILD}/tidy-clean/{digest}"
    if os.path.exists(mark):
        return []
    code, out = run([clang_tidy, "--quiet", "-p", f"{BUILD}/tidy", *DEPTH, path])
    lines = [line for line in out.splitlines() if "warnings generated" not in line]
    if code:
        return lines or [f"{path}: clang-tidy: exit status {code}"]
    os.makedirs(os.path.dirname(mark), exist_ok=True)
    with open(mark, "w", encoding="utf-8"):
        return []


def write_commands():
    """One command for each file: modules compile some again, and of a second look in one process
    clang's analyzer says that every va_list is uninitialised."""
    with open(f"{BUILD}/compile_commands.json", encoding="utf-8") as file:
        commands = {}
        for command in json.load(file):
            commands.setdefault(command["file"], command)
    os.makedirs(f"{BUILD}/tidy", exist_ok=True)
    with open(f"{BUILD}/tidy/compile_commands.json", "w", encoding="utf-8") as file:
        json.dump(list(commands.values()), file)


def check_clang_tidy():
    """clang-tidy and clang's analyzer (.clang-tidy)"""
    need_build()
    write_commands()
    clang_tidy = tool("clang-tidy")
    salt = hashlib.sha256(" ".join(DEPTH).encode())
    for path in [".clang-tidy", *(f for f in c_files("include", "src") if f.endswith(".h"))]:
        with open(path, "rb") as file:
            salt.update(file.read())
    files = [f for f in c_files("src", tests=False) if f.endswith(".c")]
    return in_parallel(lambda f: clang_tidy_one(clang_tidy, f, salt.digest()), files)


def check_cppcheck():
    """cppcheck; what it gets wrong is suppressed on the line, with the reason"""
    os.makedirs(f"{BUILD}/cppcheck", exist_ok=True)
    return complaints_of(
        ["cppcheck", "--quiet", "--std=c11", "--language=c", "--error-exitcode=1",
         "--enable=warning,performance,portability", "--inline-suppr", f"-j{JOBS}",
         f"--cppcheck-build-dir={BUILD}/cppcheck", "-Iinclude", "-Isrc", f"-I{BUILD}/src/store",
         "-D_GNU_SOURCE",
         "-D__GNUC__=12", *c_files("src", tests=False)])


def check_python():
    """Python scripts compile"""
    found = []
    for path in sorted(set(scripts("python") + glob.glob("mk/*.py"))):
        with open(path, encoding="utf-8") as file:
            try:
                compile(file.read(), path, "exec")
            except SyntaxError as error:
                found.append(f"{path}:{error.lineno}: {error.msg}")
    return found


def check_shell():
    """shell scripts parse, and shellcheck has nothing to say"""
    files = scripts(r"\b(ba)?sh\b")
    found = []
    for path in files:
        found += complaints_of(["bash", "-n", path])
    return found or complaints_of(["shellcheck", "--format=gcc", *files])


def check_links():
    """files that documents point to are there"""
    found = []
    for path in sorted(glob.glob("*.md") + glob.glob("docs/**/*.md", recursive=True)):
        with open(path, encoding="utf-8") as file:
            for target in re.findall(r"\]\(([^)#\s]+)[^)]*\)", file.read()):
                if "://" in target or target.startswith("mailto:"):
                    continue
                if not os.path.exists(os.path.join(os.path.dirname(path), target)):
                    found.append(f"{path}: points to \"{target}\", which is not there")
    return found


def check_version():
    """meson.build and <pawl/pawl.h> name the same version"""
    versions = []
    for path, pattern in (("meson.build", r"^\s*version: '([^']*)'"),
                          ("include/pawl/pawl.h", r'#define PAWL_VERSION "([^"]*)"')):
        with open(path, encoding="utf-8") as file:
            found = re.search(pattern, file.read(), re.MULTILINE)
        versions.append(found.group(1) if found else "none")
    return [] if versions[0] == versions[1] else [f"{versions[0]} and {versions[1]}"]


# Those that take seconds, and those that need a build with clang or look at every path.
QUICK = {
    "text": check_text_rules,
    "format": check_format,
    "includes": check_include_direction,
    "python": check_python,
    "shell": check_shell,
    "links": check_links,
    "version": check_version,
}
SLOW = {
    "clang": check_clang_build,
    "headers": check_headers,
    "symbols": check_symbol_names,
    "clang-tidy": check_clang_tidy,
    "cppcheck": check_cppcheck,
}
CHECKS = QUICK | SLOW


def fix_format():
    files = c_files("include", "src", "tests", "bench", "examples")
    try:
        code, out = run([clang_format(), "-i", *files])
    except Skipped as error:
        sys.exit(f"mk/tidy.py: {error}")
    sys.stdout.write(out)
    return code


def tap_lines(names):
    yield f"1..{len(names)}"
    for number, name in enumerate(names, 1):
        try:
            found = CHECKS[name]()
        except Broken as error:
            found = [str(error)]
        except Skipped as error:
            yield f"ok {number} - {name} # SKIP {error}"
            continue
        yield f"{'not ok' if found else 'ok'} {number} - {name}: {CHECKS[name].__doc__}"
        for line in found:
            yield f"# {line}"


def main():
    parser = argparse.ArgumentParser(description="checks the house rules")
    parser.add_argument("--tap", metavar="FILE", help="append the TAP lines to FILE too")
    parser.add_argument("--quick", action="store_true", help=", ".join(QUICK))
    parser.add_argument("--slow", action="store_true",
                        help=", ".join(SLOW) + "; clang's analyzer gives up sooner")
    parser.add_argument("--fix-format", action="store_true", help="format the C files, check none")
    parser.add_argument("checks", nargs="*", metavar="CHECK", help=", ".join(CHECKS))
    args = parser.parse_args()
    for name in args.checks:
        if name not in CHECKS:
            parser.error(f"no such check: \"{name}\"")
    os.chdir(ROOT)
    if args.fix_format:
        return fix_format()
    if args.slow:
        DEPTH.extend(CURSORY)

    failed = False
    named = args.checks or [*(QUICK if args.quick else []), *(SLOW if args.slow else [])]
    for line in tap_lines(named or list(CHECKS)):
        print(line, flush=True)
        if args.tap:
            with open(args.tap, "a", encoding="utf-8") as tap:
                print(line, file=tap)
        failed |= line.startswith("not ok")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
