#!/usr/bin/env python3
"""Tests that a benchmark runs, cleans up after itself, and writes the results as documented.

Usage: smoke.py GOALS COMMAND...

GOALS: number of rows with a goal. If the command ends in "--dir", a directory is appended.
"""
import json
import os
import subprocess
import sys
import tempfile

KEYS = {"name", "value", "unit", "floor", "ratio", "ratio_low", "ratio_high", "goal", "goal_kind",
        "met", "note"}


def main():
    goals, command = int(sys.argv[1]), sys.argv[2:]
    with tempfile.TemporaryDirectory(dir=".") as folder:
        path = os.path.join(folder, "bench.json")
        where = [folder] if command[-1] == "--dir" else []
        run = subprocess.run([*command, *where, "--quick", "--json", path],
                             stdout=subprocess.PIPE, text=True)
        assert run.returncode == 0, f"exit status {run.returncode}"
        with open(path, encoding="utf-8") as file:
            rows = json.load(file)
        assert os.listdir(folder) == ["bench.json"], "files were left behind"
        page = os.path.join(folder, "page.md")
        with open(page, "w", encoding="utf-8") as file:
            file.write("before\n<!-- bench/table.py: begin -->\nold\n"
                       "<!-- bench/table.py: end -->\n")
        subprocess.run([sys.executable, os.path.join(os.path.dirname(__file__), "table.py"), path,
                        "--write", page], check=True)
        with open(page, encoding="utf-8") as file:
            table = file.read()
    assert table.startswith("before\n") and "old" not in table, "the table is out of place"
    for row in rows:
        assert set(row) == KEYS, f"members of {row}"
        # An idle node may use no CPU at all for a moment, and ask nothing.
        assert row["value"] > 0 or row["unit"] in ("%", "/s"), f"value of {row}"
        assert (row["goal"] is None) == (row["met"] is None), f"goal of {row}"
        assert row["name"] in run.stdout, f"{row['name']} is not in the table"
        assert f"| {row['name']} |" in table, f"{row['name']} is not on the page"
    assert sum(row["goal"] is not None for row in rows) == goals, "rows with a goal"


main()
