#!/usr/bin/env python3
"""Formats results as a Markdown table.

Usage: table.py RESULTS... [--write PAGE]

RESULTS are the JSON files that the benchmarks write. With --write the table takes the place of the
one between the marks in PAGE.
"""
import argparse
import json

MARK = "<!-- bench/table.py: {} -->\n"
HEAD = "| measurement | goal | measured | floor | ratio |\n|---|---|---|---|---|\n"


def number(value):
    if value >= 1000:
        return f"{value:,.0f}"
    return f"{value:.3g}"


def goal(row):
    if row["goal"] is None:
        return ""
    if row["goal_kind"] == "value_below":
        return f"below {row['goal']:g} {row['unit']}"
    return f"at {'least' if row['goal_kind'] == 'at_least' else 'most'} {row['goal']:g}"


def ratio(row):
    if row["ratio"] is None:
        return ""
    spread = ""
    if row["ratio_low"] is not None:
        spread = f" ({number(row['ratio_low'])} to {number(row['ratio_high'])})"
    return number(row["ratio"]) + spread


def line(row):
    value = f"{number(row['value'])} {row['unit']}"
    if row["met"] is False:
        value = f"**{value}**"
    floor = "" if row["floor"] is None else number(row["floor"])
    return f"| {row['name']} | {goal(row)} | {value} | {floor} | {ratio(row)} |\n"


def main():
    parser = argparse.ArgumentParser(usage=__doc__)
    parser.add_argument("results", nargs="+")
    parser.add_argument("--write")
    options = parser.parse_args()
    table = HEAD
    for path in options.results:
        with open(path, encoding="utf-8") as file:
            table += "".join(line(row) for row in json.load(file))
    if not options.write:
        print(table, end="")
        return
    with open(options.write, encoding="utf-8") as file:
        before, rest = file.read().split(MARK.format("begin"), 1)
        after = rest.split(MARK.format("end"), 1)[1]
    with open(options.write, "w", encoding="utf-8") as file:
        file.write(before + MARK.format("begin") + table + MARK.format("end") + after)


main()
