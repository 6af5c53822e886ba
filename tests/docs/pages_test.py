#!/usr/bin/env python3
"""Keeps the README and the pages in docs/ true. Prints TAP.

Usage: pages_test.py PAWL [--write]

- Every fenced `console` block is run: lines that begin with "$ " (and "> " after them) are typed
  into one shell per page, in an empty directory with PAWL on the path; what follows them must be
  what is printed, apart from ids, times and sizes.
- `console server` is the same in a terminal of its own: the command is a server, what follows is
  what it prints when it is up, and it runs until the page's end. Its port on the page stands for
  one that is free.
- `console postgres` needs a database: postgres://pawl@db.example.com/jobs on the page stands for a
  private server. Left out where there is none.
- `console sqlite` needs the extension for SQLite: where the page finds it installed stands for
  where it was built. Left out where it cannot be loaded.
- `text make run` is an excerpt of what mk/demo.sh prints; "..." stands for what is left out.
- Other `text` blocks hold messages that a test cannot provoke everywhere; each must be one that
  the sources can print.
- C is quoted from examples/, where it is compiled and run.
- Links lead somewhere, make's targets exist, what is on the map is there, paths are served, and
  tables that come from lists in the sources are those lists.

--write puts what was printed into the console blocks, and lists of the sources into their tables;
look at the difference before you keep it.
"""
import functools
import glob
import os
import re
import shutil
import socket
import subprocess
import sys
import tempfile
import textwrap

sys.dont_write_bytecode = True
ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
sys.path.insert(0, os.path.join(ROOT, "tests", "postgres"))
import server as postgres

DEADLINE_S = 300
MARK = "\x1e"  # stands between the outputs of two commands
TESTS = []


def test(function):
    TESTS.append(function)
    return function


def read(path):
    with open(os.path.join(ROOT, path), encoding="utf-8") as file:
        return file.read()


def pages():
    found = [path for pattern in ("*.md", "docs/*.md", "deploy/*.md")
             for path in glob.glob(pattern, root_dir=ROOT)]
    assert "README.md" in found and "docs/store.md" in found, found
    return sorted(found)


# ---- pages ----


class Block:
    """A fenced block: what stands behind the fence, the lines in it, where the first one is."""

    def __init__(self, info, first):
        self.info, self.first, self.lines = info, first, []

    @property
    def text(self):
        return "".join(line + "\n" for line in self.lines)


def blocks(path, info=None):
    found, block = [], None
    for number, line in enumerate(read(path).splitlines()):
        if block is None and line.startswith("```"):
            block = Block(line[3:].strip(), number + 1)
        elif block is not None and line.startswith("```"):
            found.append(block)
            block = None
        elif block is not None:
            block.lines.append(line)
    assert block is None, f"{path}: a block is not closed"
    return [b for b in found if info is None or b.info == info]


def without_blocks(path):
    return re.sub(r"^```.*?^```$", "", read(path), flags=re.MULTILINE | re.DOTALL)


class Step:
    """A command, the lines that the page says it prints, and those that it did print."""

    def __init__(self, command, serves):
        self.command, self.said, self.did, self.serves = command, [], [], serves


EXTENSION_NAMED = "/usr/local/lib/pawl/pawl_sqlite"


def extension():
    return os.path.join(os.path.dirname(PAWL), "src", "sql", "pawl_sqlite")


@functools.lru_cache
def has_extension():
    if not shutil.which("sqlite3"):
        return False
    tried = subprocess.run(["sqlite3", ":memory:", f".load {extension()}"], capture_output=True,
                           check=False)
    return tried.returncode == 0 and not tried.stderr


def consoles(path):
    kinds = ["console", "console server"]
    kinds += ["console postgres"] if postgres.find_binaries() else []
    kinds += ["console sqlite"] if has_extension() else []
    return [b for b in blocks(path) if b.info in kinds]


def steps_of(block):
    steps = []
    for line in block.lines:
        if line.startswith("$ "):
            steps.append(Step(line[2:], block.info == "console server"))
        elif line.startswith("> ") and steps and not steps[-1].said:
            steps[-1].command += "\n" + line[2:]
        else:
            assert steps, f"output before the first command: {line!r}"
            steps[-1].said.append(line)
    return steps


# ---- running ----


def environment(folder):
    keep = ("ASAN_OPTIONS", "UBSAN_OPTIONS", "TSAN_OPTIONS", "LSAN_OPTIONS")
    env = {name: os.environ[name] for name in keep if name in os.environ}
    os.makedirs(f"{folder}/bin")
    os.symlink(PAWL, f"{folder}/bin/pawl")
    return {**env, "PATH": f"{folder}/bin:{os.environ['PATH']}", "HOME": folder, "USER": "ann",
            "TERM": "dumb", "LC_ALL": "C.UTF-8", "TZ": "UTC"}


class Ports:
    """The ports of a page's servers, and those that are used in their stead."""

    ADDRESS = re.compile(r"\b(127\.0\.0\.1|localhost):(\d{4,5})\b")

    def __init__(self, steps):
        self.free = {}
        for step in steps:
            if step.serves:
                named = self.ADDRESS.search(step.command + f" {DEFAULT_ADDRESS}").group(2)
                with socket.socket() as probe:
                    probe.bind(("127.0.0.1", 0))
                    self.free[named] = str(probe.getsockname()[1])
        self.named = {free: named for named, free in self.free.items()}

    def swap(self, text, ports):
        return self.ADDRESS.sub(lambda m: f"{m[1]}:{ports.get(m[2], m[2])}", text)

    def to_world(self, text):
        return self.swap(text, self.free)

    def to_page(self, text):
        return self.swap(text, self.named)


class Database:
    """The database of a page, and the private server that is used in its stead, if any."""

    NAMED = "postgres://pawl@db.example.com/jobs"

    def __init__(self, steps):
        wanted = any(self.NAMED in step.command for step in steps)
        self.server = postgres.Server() if wanted else None
        where = self.server.dir.replace("/", "%2F") if wanted else ""
        self.url = f"postgres://pawl@{where}/postgres" if wanted else self.NAMED

    def __enter__(self):
        return self

    def __exit__(self, *_):
        if self.server:
            self.server.close()

    def to_world(self, text):
        return text.replace(self.NAMED, self.url)

    def to_page(self, text):
        return text.replace(self.url, self.NAMED)


DEFAULT_ADDRESS = "127.0.0.1:8080"
SERVER = """
said=$(mktemp "$HOME/server.XXXXXX")
{command} >"$said" 2>&1 &
servers="$servers $!"
until [ -s "$said" ] || ! kill -0 $!; do sleep 0.01; done
head -n 1 "$said"
"""


def typed(step, ports):
    command = step.command
    if not step.serves:
        return ports.to_world(command)
    if "--listen" not in command:
        command += f" --listen {DEFAULT_ADDRESS}"
    return SERVER.format(command=ports.to_world(command))


def type_in(steps):
    """Gives each step what its command printed."""
    ports = Ports(steps)
    with tempfile.TemporaryDirectory() as folder, Database(steps) as database:
        script = "".join(f"printf '{MARK}'\n{database.to_world(typed(step, ports))}\n"
                         for step in steps).replace(EXTENSION_NAMED, extension())
        script += "[ -z \"$servers\" ] || { kill $servers; wait $servers; }\n"
        place = os.path.join(folder, "place")
        os.mkdir(place)
        done = subprocess.run(["bash", "--norc", "-c", "exec 2>&1\n" + script], cwd=place,
                              stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, text=True,
                              timeout=DEADLINE_S, check=False, env=environment(folder))
    outputs = ports.to_page(database.to_page(done.stdout)).split(MARK)[1:]
    assert len(outputs) == len(steps), f"the shell gave up:\n{done.stdout[-2000:]}"
    for step, output in zip(steps, outputs):
        step.did = output.rstrip("\n").split("\n") if output.strip() else []


# ---- what differs from one run to the next ----

SPAN = r"\d+(?:ms|s|m|h|d)"
UUID = re.compile(r"(?<![0-9A-Za-z])[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}\b")
VARIES = [
    (re.compile(r"\b\d{4}-\d\d-\d\d[T ]\d\d:\d\d:\d\d(?:\.\d+)?Z?"), "TIME"),
    (re.compile(rf"\b(?:now|{SPAN}(?: {SPAN})* ago|in {SPAN}(?: {SPAN})*)(?!\w)"), "AGE"),
    (re.compile(r"\b\d+(?:\.\d+)? (?:B|KiB|MiB|GiB)\b"), "SIZE"),
    (re.compile(r"\b\w{3}, \d\d \w{3} \d{4} \d\d:\d\d:\d\d GMT"), "TIME"),
    (re.compile(r"\b(schema|version) \d+\b"), r"\1 NUMBER"),  # of the store
    (re.compile(r"\b[on][0-9a-f]{16}\b"), "CURSOR"),
    (re.compile(r"\b[0-9a-f]{12}\b"), "TOKEN"),
    (re.compile(r"\bpawl_[0-9A-Za-z_-]{43}"), "SECRET"),
    (re.compile(r"\b\d{13,}\b"), "NUMBER"),  # times in milliseconds, keys
    (re.compile(r"-{4,}"), "----"),  # below headings, as wide as what is below them
    (re.compile(r" {2,}"), "  "),  # and so are columns
]


class Plain:
    """Lines without what varies. An id keeps a number, so that it is seen to be the same one, but
    not in an excerpt, where others come before it."""

    def __init__(self, excerpt=False):
        self.ids, self.excerpt = {}, excerpt

    def name(self, match):
        number = self.ids.setdefault(match.group(), len(self.ids))
        return "ID" if self.excerpt else f"ID{number}"

    def line(self, line):
        line = UUID.sub(self.name, line)
        for pattern, word in VARIES:
            line = pattern.sub(word, line)
        return line.rstrip()

    def lines(self, lines):
        return [self.line(line) for line in lines]


def complain(path, step, said, did):
    return (f"{path}: $ {step.command}\nthe page says:\n" + "\n".join("  " + s for s in said)
            + "\nit printed:\n" + "\n".join("  " + d for d in did))


def run_page(path):
    steps = [step for block in consoles(path) for step in steps_of(block)]
    if steps:
        type_in(steps)
    return steps


@test
def console_blocks_print_what_they_say():
    ran = 0
    for path in pages():
        page, world = Plain(), Plain()
        for step in run_page(path):
            said, did = page.lines(step.said), world.lines(step.did)
            assert said == did, complain(path, step, said, did)
            ran += 1
    assert ran > 20, f"only {ran} commands"


@test
def excerpt_of_make_run_is_what_it_prints():
    with tempfile.TemporaryDirectory() as folder:
        done = subprocess.run([f"{ROOT}/mk/demo.sh", PAWL], stdout=subprocess.PIPE, text=True,
                              stderr=subprocess.STDOUT, timeout=DEADLINE_S, check=True,
                              env={**environment(folder), "TMPDIR": folder})
    printed = "\n" + "\n".join(Plain(excerpt=True).lines(done.stdout.splitlines())) + "\n"
    found = blocks("README.md", "text make run")
    assert len(found) == 1, f"{len(found)} excerpts"
    command, *lines = found[0].lines
    assert command == "$ make run", command
    pieces = re.split(r"^\.\.\.$", "\n".join(Plain(excerpt=True).lines(lines)), flags=re.MULTILINE)
    for piece in filter(None, (piece.strip("\n") for piece in pieces)):
        assert f"\n{piece}\n" in printed, f"not printed, or not in this order:\n{piece}"
        printed = printed[printed.index(f"\n{piece}\n") + len(piece):]


# ---- messages ----


# What SQLite and the system put into our messages.
FOREIGN = {"database or disk is full", "disk I/O error", "database disk image is malformed",
           "file is not a database", "Permission denied"}


def formats():
    """Every message of the sources as a pattern; adjacent literals are one."""
    literal = r'"(?:[^"\\\n]|\\.)*"'
    found = set()
    files = glob.glob("src/**/*.[ch]", root_dir=ROOT, recursive=True)
    for path in files + ["include/pawl/error.h"]:
        for run in re.findall(rf"{literal}(?:\s*{literal})*", read(path)):
            text = "".join(part[1:-1] for part in re.findall(literal, run))
            parts = re.split(r"%[-0-9.*]*(?:ll|z)?[a-z]", re.sub(r"\\(.)", r"\1", text))
            if len("".join(parts)) >= 12:
                found.add("(.*?)".join(re.escape(part) for part in parts))
    return [re.compile(pattern) for pattern in sorted(found)]


def is_ours(message, known):
    """One of our messages, made up of names, numbers and further messages of ours."""
    for pattern in known:
        match = pattern.fullmatch(message)
        if match and all(" " not in part or part in FOREIGN or is_ours(part, known)
                         for part in match.groups()):
            return True
    return False


@test
def quoted_messages_are_ours():
    known, seen = formats(), 0
    for path in pages():
        for block in blocks(path, "text"):
            for line in block.lines:
                message = re.sub(r"^(pawl|hint|[A-Z]+): ", "", line)
                assert is_ours(message, known), f"{path}: nothing prints {line!r}"
                seen += 1
    assert seen, "no messages"


# ---- C ----


def examples():
    return {path: read(path) for path in glob.glob("examples/*.c", root_dir=ROOT)}


@test
def readme_embeds_the_example():
    found = blocks("README.md", "c")
    assert len(found) == 1, f"{len(found)} blocks of C"
    assert found[0].text == read("examples/submit.c"), "README.md and examples/submit.c differ"


@test
def quoted_c_is_part_of_an_example():
    texts, seen = [textwrap.dedent(text) for text in examples().values()], 0
    for path in pages():
        for block in blocks(path, "c"):
            # Inside a function the example is indented, the page is not.
            quoted = [textwrap.indent(block.text, " " * n) for n in (0, 4, 8)]
            assert any("\n" + q in "\n" + text for q in quoted for text in texts), (
                f"{path}:{block.first}: no example has this:\n{block.text}")
            seen += 1
    assert seen > 5, f"only {seen} blocks of C"


# ---- links, targets, the map ----


def anchors(path):
    """GitHub's names of headings."""
    return {re.sub(r"[^\w\- ]", "", heading.lower()).strip().replace(" ", "-")
            for heading in re.findall(r"^#+ (.*)$", without_blocks(path), re.MULTILINE)}


@test
def links_lead_somewhere():
    seen = 0
    for path in pages():
        for target in re.findall(r"\]\(([^)\s]+)\)", without_blocks(path)):
            if re.match(r"[a-z]+:", target):
                continue
            file, _, anchor = target.partition("#")
            there = os.path.normpath(os.path.join(os.path.dirname(path), file)) if file else path
            assert os.path.exists(os.path.join(ROOT, there)), f"{path}: no {there!r}"
            assert not anchor or anchor in anchors(there), f"{path}: {there!r} has no {anchor!r}"
            seen += 1
    assert seen > 10, f"only {seen} links"


@test
def pages_are_in_the_index():
    index = read("docs/README.md")
    for path in glob.glob("*.md", root_dir=os.path.join(ROOT, "docs")):
        assert path == "README.md" or f"]({path})" in index, f"docs/README.md misses {path!r}"


@test
def make_targets_exist():
    makefile, seen = read("Makefile"), set()
    for path in pages():
        text = read(path)
        named = "\n".join(re.findall(r"`([^`\n]*)`", text) + re.findall(r"^    (.*)$", text, re.M)
                          + [line.removeprefix("$ ") for b in blocks(path) for line in b.lines])
        for target in re.findall(r"(?:^|&& )make ([a-z]+)\b", named, re.MULTILINE):
            assert re.search(rf"^{target}:", makefile, re.MULTILINE), f"{path}: make {target}"
            if path == "README.md":
                seen.add(target)
    wanted = {"run", "build", "test", "bench", "tidy", "asan", "tsan", "fuzz", "install", "help"}
    assert wanted <= seen, f"README.md does not name {sorted(wanted - seen)}"


@test
def what_is_on_the_map_is_there():
    """The map is the README's table of the source tree: its first column holds paths."""
    section = re.search(r"^## Source tree and documentation$(.*?)(?=^## |\Z)", read("README.md"),
                        re.M | re.S)
    assert section, "README.md has no map"
    found = re.findall(r"^\| \[?`([^`]+)`", section.group(1), re.MULTILINE)
    assert len(found) > 8, found
    for path in found:
        assert os.path.exists(os.path.join(ROOT, path)), f"README.md: no {path!r}"


@test
def numbers_are_those_of_the_sources():
    source = "".join(map(read, ("src/store/store.h", "src/store/sql/pool.h",
                                "src/store/sqlite/sqlite.h")))

    def number(name):
        return int(re.search(rf"{name} = (\d+)", source).group(1))

    words = {3: "three", 4: "four", 5: "five", 6: "six", 7: "seven"}
    readers = number("PAWL__READERS_MAX")
    for path, text in (
            ("docs/store.md", f"{number('PAWL__SQ_CHECKPOINT_PAGES'):,} pages"),
            ("docs/store.md", f"{number('PAWL__SQ_CACHE_KIB') // 1024} MiB"),
            ("docs/store.md", f"{number('PAWL__MAINTENANCE_MAX'):,} jobs"),
            ("docs/store.md", f"{words[readers + 2]} connections"),  # a writer, a checkpointer
            ("docs/embedding.md", f"at most {words[readers]} at a time")):
        assert text in read(path).replace("\n", " "), f"{path} does not say {text!r}"


# ---- the cluster ----

CLUSTER = "docs/cluster.md"


def names_of_tests():
    """Functions in the tests' sources."""
    found = set()
    for pattern in ("tests/**/*.py", "tests/**/*.c", "src/**/*_test.c"):
        for path in glob.glob(pattern, root_dir=ROOT, recursive=True):
            found |= set(re.findall(r"^(?:static void|def) (\w+)\(", read(path), re.MULTILINE))
    return found


@test
def what_is_promised_of_a_cluster_is_shown_by_a_test():
    known, found = names_of_tests(), tables(CLUSTER)
    rows = found["promise"][2] + found["what happens"][2]
    assert len(rows) > 15, f"only {len(rows)} promises"
    for row in rows:
        what, _, shown_by = [cell.strip() for cell in row.strip("|").split("|")]
        names = re.findall(r"`(\w+)`", shown_by)
        assert names, f"{CLUSTER}: no test shows {what!r}"
        for name in names:
            assert name in known, f"{CLUSTER}: there is no test {name!r}"
    for name in re.findall(r"\(`(\w+)`\)", without_blocks(CLUSTER)):
        settings = ("synchronous_standby_names",)  # PostgreSQL's
        assert name in known or name in settings, f"{CLUSTER}: there is no test {name!r}"


@test
def a_process_has_no_more_connections_than_the_page_says():
    source = read("src/store/postgres/postgres.h") + read("src/store/sql/pool.h")
    numbers = dict(re.findall(r"PAWL__(?:PG_)?(SESSIONS|READERS)_MAX = (\d+)", source))
    most = int(numbers.get("SESSIONS", 1)) + int(numbers["READERS"]) + 2  # notices, sweeping
    said = re.search(r"plan for (\d+) connections", read(CLUSTER).replace("\n", " "))
    assert said and int(said.group(1)) >= most, f"{CLUSTER} should say {most}"


@test
def metrics_of_the_cluster_page_are_there():
    metrics = Step(f"curl -s http://{DEFAULT_ADDRESS}/metrics", False)
    type_in([Step("pawl serve", True), metrics])
    known = {line.split()[2] for line in metrics.did if line.startswith("# HELP ")}
    rows = "\n".join(tables(CLUSTER)["metric"][2])
    named = set(re.findall(r"`((?:pawl|ojs)_[a-z_]+)`", rows))
    assert len(named) > 8, named
    assert named <= known, f"{CLUSTER}: no such metrics: {sorted(named - known)}"


# ---- the server's lists ----

HTTP = "docs/http.md"


def rows_of(path, name):
    """An X list of a header: the arguments of each X."""
    body = re.search(rf"#define {name}\(X\)(.*?[^\\])$", read(path), re.M | re.S).group(1)
    body = body.replace("\\\n", "\n")
    found = re.findall(r'\bX\(((?:[^()"]|"(?:[^"\\]|\\.)*")*)\)', body)
    assert len(found) == len(re.findall(r"\bX\(", body)) > 0, f"{path}: {name}"
    return [[value.strip().strip('"')
             for value in re.findall(r'"(?:[^"\\]|\\.)*"|[^,\s][^,]*', row)] for row in found]


def amount(value, unit):
    """A limit's default as people write it."""
    if unit == "ms":
        return f"{value // 1000} s"
    if unit != "bytes":
        return f"{value:,}"
    return f"{value >> 20} MiB" if value % (1 << 20) == 0 else f"{value >> 10} KiB"


def listed():
    """The first words of a table's heading, and the rows that belong below it."""
    refusals = rows_of("src/http/transport/fault.h", "PAWL__FAULTS")
    faults = [(status, f"`{code}`", "yes" if again == "true" else "no", text)
              for _, status, code, again, text in refusals]
    scopes = [(f"`{text}`", what) for _, text, what in rows_of("src/http/http.h", "PAWL__SCOPES")]
    limits = []
    for name, value, unit, what in rows_of("src/http/http.h", "PAWL__HTTP_LIMITS"):
        option = name.replace("_ms", "").replace("_", "-")
        unit_too = f"{unit} {what}" if unit not in ("ms", "bytes") else what
        limits.append((f"`--{option}`", amount(int(value), unit), unit_too))
    return {"status": faults, "scope": scopes, "option": limits}


def tables(path):
    """Heading cell -> (number of the first row, widths, rows)."""
    lines, found = read(path).splitlines(), {}
    for number, line in enumerate(lines):
        if re.match(r"\|-", line):
            rows = []
            while lines[number + 1 + len(rows):] and lines[number + 1 + len(rows)][:1] == "|":
                rows.append(lines[number + 1 + len(rows)])
            widths = [len(cell) - 2 for cell in line.strip("|").split("|")]
            found[lines[number - 1].split("|")[1].strip()] = (number + 1, widths, rows)
    return found


def printed(row, widths):
    return "| " + " | ".join(cell.ljust(width) for cell, width in zip(row, widths)) + " |"


@test
def tables_of_the_server_are_its_lists():
    found = tables(HTTP)
    for heading, rows in listed().items():
        _, widths, said = found[heading]
        wanted = [printed(row, widths) for row in rows]
        assert said == wanted, "\n".join([f"{HTTP}: below {heading!r} should be:", *wanted])


def write_tables():
    lines = read(HTTP).splitlines()
    for heading, rows in listed().items():
        first, widths, said = tables(HTTP)[heading]
        lines[first:first + len(said)] = [printed(row, widths) for row in rows]
        with open(os.path.join(ROOT, HTTP), "w", encoding="utf-8") as file:
            file.write("\n".join(lines) + "\n")


@test
def paths_of_the_server_are_served():
    routes = {path for file in glob.glob("src/http/**/*.h", root_dir=ROOT, recursive=True)
              for path in re.findall(r'X\("[A-Z]+",\s*"([^"]+)"', read(file))}
    assert len(routes) > 50, routes
    text, seen = read(HTTP), 0
    text = text[:text.index("## Not supported yet")]
    for path in re.findall(r"`(?:[A-Z]+ )?(/(?:ojs|health|ready|metrics)[^`\s]*)`", text):
        assert path in routes, f"{HTTP}: {path!r} is not served"
        seen += 1
    assert seen > 10, f"only {seen} paths"


@test
def quoted_python_compiles():
    found = blocks(HTTP, "python")
    assert found, "no Python"
    for block in found:
        compile(block.text, HTTP, "exec")


# ---- the whole ----


def write_pages():
    write_tables()
    for path in pages():
        steps = iter(run_page(path))
        lines = read(path).splitlines()
        new, at = [], 0
        for block in consoles(path):
            new += lines[at:block.first]
            for _ in steps_of(block):
                step = next(steps)
                new += ["$ " + step.command.replace("\n", "\n> "), *step.did]
            at = block.first + len(block.lines)
        new += lines[at:]
        with open(os.path.join(ROOT, path), "w", encoding="utf-8") as file:
            file.write("\n".join(new) + "\n")


def main():
    print(f"1..{len(TESTS)}", flush=True)
    failed = 0
    for number, function in enumerate(TESTS, 1):
        try:
            function()
            print(f"ok {number} - {function.__name__}", flush=True)
        except (AssertionError, OSError, subprocess.SubprocessError) as error:
            failed += 1
            print(f"not ok {number} - {function.__name__}")
            print("\n".join("# " + line for line in str(error).splitlines()), flush=True)
    return 1 if failed else 0


PAWL = os.path.abspath(sys.argv[1])

if __name__ == "__main__":
    sys.exit(write_pages() if sys.argv[2:] == ["--write"] else main())
