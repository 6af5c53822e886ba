#!/usr/bin/env python3
"""Turns .sql files into one C header.

Usage: embed_sql.py [--dollar] OUTPUT PREFIX FIELDS.h... FILE.sql...

A statement begins at a line "-- name: some_name" and ends at the next one. For each the header has
its text, its place in a list, and the numbers of its parameters, so that C binds by name and a
misspelt name does not compile:

    -- name: job_get             PREFIX_JOB_GET            in enum
    SELECT ... WHERE key = :key  PREFIX_JOB_GET_key = 1    parameter

SQLite numbers parameters by first appearance; so does this script. PostgreSQL knows no names: with
--dollar the text has $1, $2, ... in their place.

"-- fragment: places" names a piece of text that stands for {{places}} in the statements after it.
Lists of fields (src/fields/fields.h, src/store/core/fields.h) are fragments from the start;
PAWL__JOB_FACTS is job.facts:

    {{job.facts}}            priority, attempts_max, ...        the columns
    {{job.facts of j}}       j.priority, j.attempts_max, ...    of a table
    {{job.facts bound}}      :priority, :attempts_max, ...      as parameters
    {{job.facts set g}}      priority = g.priority, ...         as assignments
    {{job.facts of j | args = NULL}}    with this for that column, under its name
    {{job.facts of j | no args}}        without it
"""
import re
import sys

PARAMETER = r"(?<![:\w]):([a-z_]\w*)"  # but not a cast, which has two colons
LITERAL = r"'(?:[^']|'')*'"


# {{job.facts of j | column = expression | no column}}
LIST = re.compile(r"\{\{(\w+\.\w+)(?: of (\w+)| (bound)| set (\w+))?((?:\s*\|[^|{}]*)*)\}\}")


def strip(sql):
    """Without comments and string literals, where no parameter can be."""
    sql = re.sub(r"--[^\n]*", "", sql)
    return re.sub(LITERAL, "''", sql)


def compact(sql):
    """As SQLite needs it: comments and indentation are for the reader of the .sql file."""
    lines = [re.sub(r"\s+--\s.*$", "", line).strip() for line in sql.splitlines()]
    return [line for line in lines if line and not line.startswith("--")]


ROW = r'\bX\(((?:[^()"]|"[^"]*"|\([^()]*\))*)\)|PAWL__(\w+)\(X\)'


def read_lists(*paths):
    """{"JOB_FACTS": [["priority", "priority", "I32", ...], ...]}: every list in the headers, as
    "#define PAWL__JOB_FACTS(X) ..." with an X( ... ) a row, or with lists that came before it."""
    text = "".join(open(path, encoding="utf-8").read() for path in paths)
    text = re.sub(r"/\*.*?\*/", "", text, flags=re.DOTALL)
    lists = {}
    for name, body in re.findall(r"#define PAWL__(\w+)\(X\)((?:[^\n]*\\\n)*[^\n]*)", text):
        rows = lists[name] = []
        for row, other in re.findall(ROW, body.replace("\\\n", "")):
            words = re.findall(r'(?:[^,"(]|"[^"]*"|\([^()]*\))+', row)
            rows += lists[other] if other else [[word.strip(' "') for word in words]]
    return lists


def read_fields(*paths):
    """{"job.facts": [column, ...]} of every list whose rows have a column."""
    return {name.lower().replace("_", ".", 1): [row[1] for row in rows]
            for name, rows in read_lists(*paths).items() if all(len(row) > 1 for row in rows)}


def expand_list(found, lists):
    name, table, bound, source, edits = found.groups()
    if name not in lists:
        sys.exit(f"there is no list {name!r}")
    head = ":" if bound else f"{table or source}." if table or source else ""
    columns = {column: head + column for column in lists[name]}
    for edit in filter(None, (part.strip() for part in edits.split("|"))):
        column, _, text = edit.removeprefix("no ").partition(" = ")
        if column not in columns:
            sys.exit(f"{found.group()}: {name} has no column {column!r}")
        if edit.startswith("no "):
            del columns[column]
        else:
            columns[column] = text if source else f"{text} AS {column}"
    if source:
        return ", ".join(f"{column} = {text}" for column, text in columns.items())
    return ", ".join(columns.values())


def blocks(path):
    """(kind, name, text) for each "-- name:" and "-- fragment:" block."""
    kind, name, body = None, None, []
    for line in open(path, encoding="utf-8"):
        found = re.match(r"-- (name|fragment): (\w+)\s*$", line)
        if found:
            if name:
                yield kind, name, "".join(body)
            (kind, name), body = found.groups(), []
        elif name:
            body.append(line)
    if name:
        yield kind, name, "".join(body)


def statements(path, fragments, lists):
    for kind, name, body in blocks(path):
        for known, text in fragments.items():
            body = body.replace("{{" + known + "}}", text)
        body = LIST.sub(lambda found: expand_list(found, lists), body)
        if "{{" in body:
            sys.exit(f"{path}: {name!r} uses a fragment that is not defined before it")
        if kind == "fragment":
            fragments[name] = "\n".join(compact(body))
        else:
            yield name, body


def number(line, params):
    """With $n for each parameter that is not inside a string literal."""
    pieces = re.split(f"({LITERAL})", line)
    pieces[::2] = [re.sub(PARAMETER, lambda m: f"${params.index(m.group(1)) + 1}", piece)
                   for piece in pieces[::2]]
    return "".join(pieces)


def quote(line):
    return '"' + line.replace("\\", "\\\\").replace('"', '\\"') + '\\n"'


def main(output, prefix, paths, dollar):
    seen, items, fragments = set(), [], {}
    lists = read_fields(*(path for path in paths if path.endswith(".h")))
    for path in (path for path in paths if path.endswith(".sql")):
        for name, body in statements(path, fragments, lists):
            if name in seen:
                sys.exit(f"{path}: statement {name!r} is defined twice")
            seen.add(name)
            items.append((name, body))
    with open(output, "w", encoding="utf-8") as out:
        out.write("/* Made by mk/embed_sql.py; do not edit. */\n")
        out.write(f"#define {prefix}_STATEMENTS(X) \\\n")
        out.write(" \\\n".join(f"    X({name.upper()}, {name})" for name, _ in items) + "\n")
        for name, body in items:
            params = list(dict.fromkeys(re.findall(PARAMETER, strip(body))))
            lines = [number(line, params) if dollar else line for line in compact(body)]
            out.write(f"\n#define {prefix}_TEXT_{name} \\\n")
            out.write(" \\\n".join("    " + quote(line) for line in lines) + "\n")
            if params:
                listed = ", ".join(f"{prefix}_{name.upper()}_{p} = {i}"
                                   for i, p in enumerate(params, 1))
                out.write(f"enum {{ {listed} }};\n")


if __name__ == "__main__":
    arguments = [argument for argument in sys.argv[1:] if argument != "--dollar"]
    main(arguments[0], arguments[1], arguments[2:], "--dollar" in sys.argv)
