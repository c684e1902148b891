#!/usr/bin/env python3
"""Prints, as CSV, the time that a run of configs/all.json spent in each phase: one line per config that `all` includes, and one for
the whole run.

    docs/studies/run_times/run_times.py results.json > run_times.csv
"""
import collections
import csv
import json
import sys

# Columns of the table, and the phases whose times each column sums.
COLUMNS = {
    "samples (s)": ["sample"],
    "sustained (s)": ["sustain"],
    "references (s)": ["reference"],
    "verification (s)": ["verify"],
    "warm-up (s)": ["warm_up"],
    "set-up (s)": ["set_up"],
    "restarts (s)": ["restart"],
    "waiting (s)": ["prediction"],
    "counters and clock (s)": ["counters", "clock"],
}


def line_of(name, cells, times):
    sums = [sum(times[part] for part in parts) for parts in COLUMNS.values()]
    columns = [f"{seconds:.1f}" for seconds in [*sums, max(0.0, times["total"] - sum(sums))]]
    outside_ms = 1e3 * (times["total"] - times["sample"]) / cells
    return [name, cells, f"{times['total']:.1f}", *columns, f"{outside_ms:.1f}"]


def main():
    with open(sys.argv[1], encoding="utf-8") as file:
        results = json.load(file)
    cells = collections.Counter(
        row["experiment"].split(".")[0] for row in results["rows"] if row["status"] != "skipped"
    )
    times = collections.defaultdict(collections.Counter)
    for group in results["group_times"]:
        times[group["experiment"].split(".")[0]].update(group["times_s"])
    out = csv.writer(sys.stdout, lineterminator="\n")
    out.writerow(["config", "cells", "took (s)", *COLUMNS, "other (s)", "outside of samples per cell (ms)"])
    for config in sorted(times):
        out.writerow(line_of(config, cells[config], times[config]))
    out.writerow(line_of("all", sum(cells.values()), results["times_s"]))


if __name__ == "__main__":
    main()
