#!/usr/bin/env python3
"""Checks the rules that hold for every line of text in the tree.

Usage: check_text.py ROOT

- no tabs (but in a Makefile, where they mean something), no white space at the end of a line, a
  newline at the end of the file, UTF-8 throughout;
- no line past 100 columns; in documents, tables, fenced blocks and lines with links are let off;
- no loose ends: what is not done is an issue, not a comment.
"""
import os
import re
import sys

COLUMNS_MAX = 100
ENDINGS = (".c", ".h", ".sql", ".py", ".sh", ".md", ".build", ".txt", ".yml", ".js", ".css",
           ".html")
NAMES = ("Makefile", "run", ".clang-tidy", ".clang-format", ".editorconfig", ".gitignore")
LOOSE_ENDS = re.compile(r"\b(" + "TO" + "DO|FIX" + "ME|XX" + r"X)\b")


def files(root):
    """Our own text: nothing that was built, nothing hidden but what is ours."""
    for folder, folders, names in os.walk(root):
        folders[:] = sorted(f for f in folders
                            if not f.startswith("build") and f != "__pycache__"
                            and (not f.startswith(".") or f == ".ci"))
        for name in sorted(names):
            if name.endswith(ENDINGS) or name in NAMES:
                yield os.path.relpath(os.path.join(folder, name), root)


def too_long(path, line, fenced):
    if len(line) <= COLUMNS_MAX:
        return False
    if not path.endswith(".md"):
        return True
    return not (fenced or line.startswith(("|", "    ")) or "](" in line or "://" in line)


def check_line(path, line, fenced):
    if "\t" in line and os.path.basename(path) != "Makefile":
        yield "a tab"
    if line != line.rstrip():
        yield "white space at the end of the line"
    if too_long(path, line, fenced):
        yield f"{len(line)} columns, more than {COLUMNS_MAX}"
    found = LOOSE_ENDS.search(line)
    if found:
        yield f"a loose end: {found.group()}"


def check_file(root, path):
    with open(os.path.join(root, path), "rb") as file:
        raw = file.read()
    try:
        text = raw.decode("utf-8")
    except UnicodeDecodeError as error:
        yield f"{path}: not UTF-8: {error.reason} at byte {error.start}"
        return
    if text and not text.endswith("\n"):
        yield f"{path}: no newline at the end"
    fenced = False
    for number, line in enumerate(text.split("\n"), 1):
        for complaint in check_line(path, line, fenced):
            yield f"{path}:{number}: {complaint}"
        fenced ^= line.startswith("```")


def check(root):
    complaints, count = [], 0
    for path in files(root):
        complaints += check_file(root, path)
        count += 1
    return complaints if count else [f"{root}: no text: nothing was checked"]


def main(root):
    complaints = check(root)
    print("\n".join(complaints), end="\n" if complaints else "")
    return 1 if complaints else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1]))
