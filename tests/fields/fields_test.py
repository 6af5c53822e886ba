#!/usr/bin/env python3
"""The lists of src/fields and what must agree with them: structs, migrations, a table in the docs.

Usage: fields_test.py SOURCE_ROOT COMPILER...    test; prints TAP
       fields_test.py SOURCE_ROOT --doc          write the table into docs/store.md
"""
import os
import re
import shutil
import subprocess
import sys
import tempfile

ROOT = sys.argv[1]
COMPILER = sys.argv[2:]
sys.dont_write_bytecode = True
sys.path.insert(0, os.path.join(ROOT, "mk"))
import embed_sql  # noqa: E402

PAGE = os.path.join(ROOT, "docs/store.md")
BEGIN, END = "<!-- fields: begin -->\n", "<!-- fields: end -->\n"
TESTS = []


def test(function):
    TESTS.append(function)
    return function


def read(path):
    with open(os.path.join(ROOT, path), encoding="utf-8") as file:
        return file.read()


def lists():
    """{"JOB_FIELDS": rows}"""
    return embed_sql.read_lists(os.path.join(ROOT, "src/fields/fields.h"))


def table():
    """The fields of a job, for people."""
    lines = ["| field | JSON | kind | what it is |", "|---|---|---|---|"]
    kinds = {name: text for name, _, text in lists()["KINDS"]}
    for member, _, kind, _, json, doc in lists()["JOB_FIELDS"]:
        lines.append(f"| `{member}` | {f'`{json}`' if json else ''} | {kinds[kind]} | {doc} |")
    return "\n".join(lines) + "\n"


def columns(path, name):
    """The columns of a table in a migration."""
    body = re.search(r"CREATE TABLE " + name + r" \(\n(.*?)\n\)", read(path),
                     re.DOTALL).group(1)
    return re.findall(r"^    (\w+)\s", body, re.MULTILINE)


def complains(header, struct_end):
    """What the compiler says of src/fields/fields.c when a struct has one more member."""
    with tempfile.TemporaryDirectory() as folder:
        shutil.copytree(os.path.join(ROOT, "include"), os.path.join(folder, "include"))
        path = os.path.join(folder, header)
        with open(path, encoding="utf-8") as file:
            text = file.read()
        assert text.count(struct_end) == 1, struct_end
        with open(path, "w", encoding="utf-8") as file:
            file.write(text.replace(struct_end, struct_end + "\n    bool forgotten;"))
        done = subprocess.run(
            [*COMPILER, "-std=gnu17", "-fsyntax-only", "-I", os.path.join(folder, "include"),
             "-I", os.path.join(ROOT, "src"), os.path.join(ROOT, "src/fields/fields.c")],
            capture_output=True, text=True, check=False)
    return done.stderr if done.returncode else ""


@test
def a_member_that_is_not_listed_does_not_compile():
    for last in ('const char *hold; /* why it is pending, or was before it was paused: a name of '
                 'PAWL_HOLDS; "" */',
                 "bool pending; /* held until PAWL_CONTROL_ACTIVATE */",
                 "enum pawl_exhaustion on_exhaustion;",
                 "bool archived;    /* the archive too */"):
        said = complains("include/pawl/job.h", last)
        assert "forgotten" in said or "missing" in said, (last, said)


# What a spec has and a job has in another form: see submit in src/store/core.
TURNED = {"id", "tags", "retry", "unique", "delay_ms", "due_at_ms", "expires_in_ms",
          "expires_at_ms", "idempotency_ms", "pending", "on_success", "on_failure"}


@test
def what_is_submitted_is_kept():
    origins = {row[3] for row in lists()["JOB_FIELDS"]}
    lost = [row[0] for row in lists()["SPEC_FIELDS"]
            if f"SPEC({row[0]})" not in origins and row[0] not in TURNED]
    assert not lost, f"in PAWL__SPEC_FIELDS, in no job: {lost}"


@test
def every_store_has_the_columns():
    fields = embed_sql.read_fields(os.path.join(ROOT, "src/fields/fields.h"))
    facts = set(fields["job.facts"])
    ended = set(fields["job.stand"]) - {"paused_from", "lease_until_ms"}
    for store in ("sqlite", "postgres"):
        path = f"src/store/{store}/migrations/0001_initial.sql"
        for table_name, wanted in (("pawl_job", facts), ("pawl_archive", facts | ended)):
            missing = wanted - set(columns(path, table_name))
            assert not missing, f"{store}, {table_name}: {missing}"


@test
def the_docs_have_the_list():
    page = read("docs/store.md")
    shown = page[page.index(BEGIN) + len(BEGIN):page.index(END)]
    assert shown == table(), "run tests/fields/fields_test.py . --doc"


def parameters():
    """What pawl_submit calls the fields of a spec."""
    others = {"unique": "uniqueness", "idempotency_ms": "idempotency_for"}
    return [others.get(row[0], row[0].removesuffix("_ms")) for row in lists()["SPEC_FIELDS"]]


@test
def pawl_submit_has_every_parameter():
    text = read("src/store/postgres/script/submit.sql")
    calls = re.findall(r"FUNCTION pawl_submit\((.*?)\)\s*RETURNS", text, re.DOTALL)
    assert calls
    for call in calls:
        missing = [name for name in parameters() if not re.search(rf"\b{name} \w", call)]
        assert not missing, missing


@test
def the_docs_name_every_parameter_of_pawl_submit():
    page = read("docs/sql.md")
    missing = [name for name in parameters() if f"`{name}`" not in page]
    assert not missing, missing


@test
def the_docs_name_every_member_of_a_retry_policy():
    page = read("docs/lifecycle.md")
    missing = [row[0] for row in lists()["RETRY_FIELDS"] if f"| `{row[0]}` |" not in page]
    assert not missing, missing


def main():
    if COMPILER == ["--doc"]:
        page = read("docs/store.md")
        head, rest = page[:page.index(BEGIN) + len(BEGIN)], page[page.index(END):]
        with open(PAGE, "w", encoding="utf-8") as file:
            file.write(head + table() + rest)
        return 0
    print(f"1..{len(TESTS)}")
    failed = 0
    for number, function in enumerate(TESTS, 1):
        try:
            function()
            print(f"ok {number} - {function.__name__}")
        except Exception as error:  # noqa: BLE001: whatever it is, it is told
            failed += 1
            print(f"not ok {number} - {function.__name__}")
            print("".join(f"# {line}\n" for line in str(error).splitlines()), end="")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
