#!/usr/bin/env python3
"""Prints, as CSV, where the time of runs went, in seconds, and how long a plan had said that each would take.

    docs/studies/run_times/run_times.py PLANNED FOLDER... > run_times.csv

PLANNED is a CSV with the columns config, planned_s (by `gpuexp plan` before the first run) and planned_again_s (after it). Each FOLDER is
that of a run of such a config, and has its name.
"""
import csv
import json
import sys
from pathlib import Path

# Columns of the table, and the parts of a run's time that each adds up.
COLUMNS = {
    "samples (s)": ["sample"],
    "verification (s)": ["reference", "verify"],
    "set-up (s)": ["set_up"],
    "warm-up (s)": ["warm_up"],
    "sustained (s)": ["sustain"],
    "restarts (s)": ["restart"],
    "waiting (s)": ["prediction"],
    "counters and clock (s)": ["counters", "clock"],
}


def run_of(folder):
    """The run's times, and its rows."""
    times, rows = {}, set()
    with open(folder / "log.jsonl", encoding="utf-8") as log:
        for line in map(json.loads, log):
            kind = next(iter(line)) if isinstance(line, dict) else ""
            if kind == "times_s":
                times = line["times_s"]
            elif kind == "row":
                rows.add(line["row"])
    return times, len(rows)


def main():
    with open(sys.argv[1], encoding="utf-8", newline="") as file:
        planned = {row["config"]: row for row in csv.DictReader(file)}
    out = csv.writer(sys.stdout, lineterminator="\n")
    out.writerow(["config", "cells", "planned (s)", "took (s)", "planned again (s)", *COLUMNS, "other (s)", "outside of samples per cell (ms)"])
    all_cells, all_took, all_sample = 0, 0.0, 0.0
    for folder in map(Path, sys.argv[2:]):
        times, cells = run_of(folder)
        plan = planned[folder.name]
        sums = [sum(times[part] for part in parts) for parts in COLUMNS.values()]
        columns = [f"{seconds:.1f}" for seconds in [*sums, times["total"] - sum(sums)]]
        outside_ms = 1e3 * (times["total"] - times["sample"]) / cells
        out.writerow([folder.name, cells, plan["planned_s"], f"{times['total']:.1f}", plan["planned_again_s"], *columns, f"{outside_ms:.0f}"])
        all_cells, all_took, all_sample = all_cells + cells, all_took + times["total"], all_sample + times["sample"]
    print(f"{all_cells} cells, {all_took:.0f} s, {(all_took - all_sample) / all_cells:.3f} s per cell outside of samples, "
          f"{all_sample / all_cells:.3f} s in samples", file=sys.stderr)  # fmt: skip


if __name__ == "__main__":
    main()
