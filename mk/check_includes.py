#!/usr/bin/env python3
"""Checks that rooms include only the headers that they may.

Usage: check_includes.py ROOT

The rules, and nothing else, are in this file's tables:

- a room sees its own headers, the rooms its arrows lead to, and <pawl/...>;
- of another room it sees the door alone (src/store/store.h), except of base, whose headers are
  all doors;
- a folder inside a room sees the folders of that room that its own arrows lead to: a backend does
  not see another one; and of a folder that has a door it sees the door alone;
- the command line is a customer: base, fields, wire and <pawl/...>;
- what is installed, and the examples, include nothing of ours but <pawl/...>;
- sqlite3.h belongs to src/store/sqlite, libpq-fe.h to src/store/postgres, both to tests,
  benchmarks and src/sql, which is on the connections of others.

Tests beside the code (x_test.c) keep to their room's rules; tests/ and bench/ may look anywhere.
"""
import os
import re
import sys

# Room: the rooms it may include. "A room may include what its arrows lead to, however far." Those
# that are not built yet have their place in the plan already.
ROOMS = {
    "base": [],
    "fields": ["base"],
    "lifecycle": ["fields", "base"],
    "schedule": ["lifecycle", "base"],
    "wire": ["fields", "base"],
    "flow": ["lifecycle", "fields", "base"],
    "store": ["wire", "flow", "schedule", "lifecycle", "fields", "base"],
    "cluster": ["store", "lifecycle", "base"],
    "engine": ["flow", "cluster", "schedule", "store", "lifecycle", "base"],
    "api": ["engine", "flow", "cluster", "schedule", "store", "lifecycle", "fields", "base"],
    "sql": ["api", "lifecycle", "fields", "base"],
    "http": ["wire", "fields", "base"],
    "cli": ["http", "wire", "fields", "base"],
}
# The one header of a room that others may include: src/ROOM/ROOM.h. Each of base's is a door.
DOORS = {room: f"{room}/{room}.h" for room in ROOMS if room != "base"}
# Folder inside a room, or the room's own files: the folders of that room it may include, or single
# headers of them.
HTTP = ["http/transport", "http/events", "http/local", "http/ojs", "http/admin", "http/marie",
        "http/remote"]
FOLDERS = {
    "store": ["store/core"],
    "store/core": ["store"],
    "store/sql": ["store", "store/core"],
    "store/memory": ["store", "store/core"],
    "store/sqlite": ["store", "store/core", "store/sql"],
    "store/postgres": ["store", "store/core", "store/sql"],
    "store/remote": ["store"],
    "store/redis": ["store"],
    "http": HTTP,
    "http/transport": ["http/http.h"],
    "http/events": ["http/transport"],
    "http/local": ["http/events", "http/transport"],
    "http/ojs": ["http/local", "http/events", "http/transport"],
    "http/admin": ["http/ojs", "http/local", "http/events", "http/transport"],
    "http/marie": ["http/ojs", "http/local", "http/transport"],
    "http/remote": ["http/transport"],
}
# The one header of such a folder that the room's other folders may include.
FOLDER_DOORS = {folder: f"{folder}/{os.path.basename(folder)}.h" for folder in HTTP}
# Header of a database: the folders that may include it.
DATABASES = {"sqlite3.h": ["src/store/sqlite/", "tests/", "bench/"],
             "sqlite3ext.h": ["src/store/sqlite/", "src/sql/"],
             "libpq-fe.h": ["src/store/postgres/", "src/sql/", "tests/", "bench/"],
             "postgresql/libpq-fe.h": ["src/store/postgres/", "src/sql/", "tests/", "bench/"],
             "hiredis/hiredis.h": ["src/store/redis/", "tests/", "bench/"],
             "curl/curl.h": ["src/store/remote/", "tests/", "bench/"]}
INCLUDE = re.compile(r'^\s*#\s*include\s*(["<])([^">]+)[">]')


def includes(path):
    """(line number, quote or bracket, what) of each #include that is not in a comment."""
    with open(path, encoding="utf-8") as file:
        text = re.sub(r"/\*.*?\*/", lambda m: "\n" * m.group().count("\n"), file.read(),
                      flags=re.DOTALL)
    for number, line in enumerate(text.splitlines(), 1):
        found = INCLUDE.match(line)
        if found:
            yield number, found.group(1), found.group(2)


def target_room(root, path, what):
    """Where an include in quotes leads: ("store", "store/store.h"), or None: not into a room."""
    beside = os.path.normpath(os.path.join(os.path.dirname(path), what))
    for full in (os.path.join(root, "src", what), os.path.join(root, beside)):
        relative = os.path.relpath(full, os.path.join(root, "src"))
        if os.path.isfile(full) and not relative.startswith(".."):
            return relative.split(os.sep)[0], relative
    first = what.split("/")[0]
    return (first, what) if first in ROOMS else None


def complain_public(what, quote):
    if quote == '"':
        return f'"{what}" is not there for those who have pawl installed: use <pawl/...>'
    return None


def complain_door(doors, other, relative):
    if other in doors and relative != doors[other]:
        return f"\"{relative}\" is private to {other}: its door is \"{doors[other]}\""
    return None


def complain_folder(path, relative):
    """The same inside one room: `path` includes `relative`, both begin behind src/."""
    folder, other = os.path.dirname(path), os.path.dirname(relative)
    if folder == other or folder not in FOLDERS or relative in FOLDERS[folder]:
        return None
    if other not in FOLDERS[folder]:
        return f"{folder} may not include {other} (\"{relative}\")"
    return complain_door(FOLDER_DOORS, other, relative)


def complain_room(path, target):
    other, relative = target
    room = path.split("/")[0]
    if other == room:
        return complain_folder(path, relative)
    if other not in ROOMS:
        return f'"{relative}" is in no known room'
    if other not in ROOMS[room]:
        return f"{room} may not include {other} (\"{relative}\")"
    return complain_door(DOORS, other, relative)


def check_file(root, path):
    parts = path.split("/")
    room = parts[1] if parts[0] == "src" else None
    if room and room not in ROOMS:
        yield f"{path}: \"{room}\" is in no known room: add it to mk/check_includes.py"
        return
    for number, quote, what in includes(os.path.join(root, path)):
        complaint = None
        owners = DATABASES.get(what)
        if owners and not any(path.startswith(owner) for owner in owners):
            complaint = f"only {', '.join(owners)} may include {what}"
        elif parts[0] in ("include", "examples"):
            complaint = complain_public(what, quote)
        elif room:
            target = target_room(root, path, what) if quote == '"' else None
            if quote == "<" and what.split("/")[0] in ROOMS:
                complaint = f"<{what}> is a room's header: include it in quotes"
            elif target:
                complaint = complain_room(path[len("src/"):], target)
            elif quote == '"' and what.startswith("pawl/"):
                complaint = f"include <{what}> in angle brackets: it is installed"
        if complaint:
            yield f"{path}:{number}: {complaint}"


def check(root):
    """All complaints about the tree at `root`, and how many files were looked at."""
    complaints, count = [], 0
    for top in ("include", "src", "tests", "bench", "examples"):
        for folder, folders, names in os.walk(os.path.join(root, top)):
            folders.sort()
            for name in sorted(names):
                if name.endswith((".c", ".h")):
                    path = os.path.relpath(os.path.join(folder, name), root).replace(os.sep, "/")
                    complaints += check_file(root, path)
                    count += 1
    return complaints, count


def main(root):
    complaints, count = check(root)
    for complaint in complaints:
        print(complaint)
    if count == 0:
        print(f"{root}: no C files: nothing was checked")
    return 1 if complaints or count == 0 else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1]))
