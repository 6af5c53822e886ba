#!/usr/bin/env python3
"""Checks the names that the library exports.

Usage: check_symbols.py LIBPAWL.a LIBPAWL.so INCLUDE_DIR

- In the static library every global symbol begins with pawl_: it is linked into other people's
  programs, whose names are theirs.
- What the shared library exports is what include/pawl declares, no more and no less; pawl__ names
  are private and are never exported. Headers of libraries beside it are theirs (BESIDE).
"""
import glob
import os
import re
import subprocess
import sys


# Header: the library, beside libpawl.so, that exports what it declares.
BESIDE = {"pq.h": "src/sql/libpawl-pq.so"}


def symbols(path, *options):
    """Names of defined global symbols."""
    out = subprocess.run(["nm", "--defined-only", "--extern-only", *options, path],
                         check=True, capture_output=True, text=True).stdout
    names = set()
    for line in out.splitlines():
        fields = line.split()
        if len(fields) == 3:
            names.add(fields[2].split("@")[0])
    return names


def strip(text):
    """C without comments, strings, and preprocessor lines (their continuations included)."""
    text = re.sub(r"/\*.*?\*/", " ", text, flags=re.DOTALL)
    text = re.sub(r"//[^\n]*", " ", text)
    text = re.sub(r"\\\n", " ", text)
    text = re.sub(r"^[ \t]*#[^\n]*$", "", text, flags=re.MULTILINE)
    return re.sub(r'"(?:\\.|[^"\\])*"', '""', text)


def outer(text):
    """Only what stands outside braces; `extern "C" {` is no brace to us."""
    text = re.sub(r'extern\s+""\s*\{', "", text)
    out, depth = [], 0
    for char in text:
        if char == "{":
            depth += 1
        elif char == "}":
            depth = max(0, depth - 1)
        elif depth == 0:
            out.append(char)
    return "".join(out)


def declared(include, headers):
    """Names of functions and objects that the headers declare."""
    names = set()
    for header in headers:
        path = os.path.join(include, "pawl", header)
        with open(path, encoding="utf-8") as file:
            text = outer(strip(file.read()))
        for statement in text.split(";"):
            if re.search(r"\btypedef\b|\bstatic\b", statement):
                continue
            call = re.search(r"\b(pawl_\w+)\s*\(", statement)
            data = re.search(r"\bextern\b.*?\b(pawl_\w+)\s*(?:\[[^]]*\])?\s*$", statement,
                             re.DOTALL)
            found = call or data
            if found:
                names.add(found.group(1))
    return names


def check(static, shared, include):
    complaints = []
    for name in sorted(symbols(static)):
        if not name.startswith("pawl_"):
            complaints.append(f"{name}: a global symbol of the static library without pawl_ "
                              "(make it static, or name it)")
    headers = sorted(map(os.path.basename, glob.glob(os.path.join(include, "pawl", "*.h"))))
    complaints += check_exports(shared, include, [h for h in headers if h not in BESIDE])
    for header in headers:
        library = os.path.join(os.path.dirname(shared), BESIDE.get(header, ""))
        if header in BESIDE and os.path.exists(library):
            complaints += check_exports(library, include, [header])
    return complaints


def check_exports(shared, include, headers):
    complaints = []
    exported, public = symbols(shared, "--dynamic"), declared(include, headers)
    for name in sorted(exported - public):
        why = "private, yet exported" if name.startswith("pawl__") else \
            "exported, yet not declared in include/pawl"
        complaints.append(f"{name}: {why} (is its declaration inside a visibility push?)")
    for name in sorted(public - exported):
        complaints.append(f"{name}: declared in include/pawl, yet not exported")
    if not public:
        complaints.append(f"{include}: declares nothing: nothing was checked")
    return complaints


def main(static, shared, include):
    complaints = check(static, shared, include)
    print("\n".join(complaints), end="\n" if complaints else "")
    return 1 if complaints else 0


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:4]))
