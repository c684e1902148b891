#!/usr/bin/env python3
"""Estimates the time to sample every row of a run until its interval is a given share of the minimum effect, and the share of rows that
are then undecided.

usage: precision_cost.py RESULTS.json --noise NOISE.json [--shift SHARE]

The estimate uses the intervals and sample counts of the run. An interval's half-width decreases with the square root of the number of
samples, down to half a tick of the timer. All variants of a group have the same number of samples, at most 1000 and at most 2 s each; the time per
group is limited, too. A second run of the same binary differs by a share of the minimum effect that is exponentially distributed with mean
SHARE (default 0.2, which reproduces the false verdicts of two runs of configs/all.json on one H200) and by the errors of both medians.

Prints a Markdown table. A row is undecided if its interval contains the minimum effect, and false if its whole interval exceeds the minimum
effect. Rows that are undecided because of clocks or floors are not included. Needs only the standard library.
"""

import argparse
import math
import random
import sys
from collections import defaultdict
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[3] / "scripts"))
from plotting.recorded import markdown_table, read_json, read_report  # noqa: E402
from plotting.statuses import PASSED  # noqa: E402

MAX_SAMPLES, MAX_SECONDS = 1000, 2  # per row
FLUSH_US, HOST_US = 35, 15  # cache flush of a cold sample; host time of every sample
ROUNDING = 1.002  # tolerance for the rounding of times to ticks
REPETITIONS = 20


def effect(noise, time_us):
    return max(noise["relative"], noise["absolute_us"] / time_us)


def half_width(row):
    return (row["time_ci95_high_us"] - row["time_ci95_low_us"]) / 2 / row["time_median_us"]


def half_tick(row):
    return (row["timer_resolution_us"] or 0) / row["graph_launches"] / 2 / row["time_median_us"]


def sample_us(row, group):
    """Time of a sample in us, including its preparation."""
    launch = row["time_median_us"] * row["graph_launches"]
    primed = row["mode"] == "warm" and len(group) > 1
    return launch * (2 if primed else 1) + (FLUSH_US if row["mode"] == "cold" else 0) + HOST_US


def groups_of(rows):
    groups = defaultdict(list)
    for row in rows:
        problem = tuple(value for name, value in row.items() if name.startswith("param."))
        groups[row["experiment"], row["mode"], problem].append(row)
    return groups.values()


def narrowed(groups, noise, share, limit_s):
    """(half-width, minimum effect) of each row after sampling to `share` of the minimum effect, and the additional seconds."""
    rows, more_s = [], 0
    for group in groups:
        taken = max(row["samples"] for row in group)
        wanted = taken
        for row in group:
            target = max(share * effect(noise, row["time_median_us"]), half_tick(row))
            if half_width(row) > ROUNDING * target:
                wanted = max(wanted, math.ceil(row["samples"] * (half_width(row) / target) ** 2))
        round_us = sum(sample_us(row, group) for row in group)
        count = max(taken, min(wanted, MAX_SAMPLES, int(1e6 * limit_s / round_us)))
        for row in group:
            most = max(row["samples"], int(1e6 * MAX_SECONDS / sample_us(row, group)))
            samples = row["samples"] if count == taken else max(row["samples"], min(count, most))
            more_s += 1e-6 * (samples - row["samples"]) * sample_us(row, group)
            width = half_width(row) * math.sqrt(row["samples"] / samples)
            rows.append((max(width, half_tick(row)), effect(noise, row["time_median_us"])))
    return rows, more_s


def repeated(rows, shift):
    """The share of undecided rows and the share of false rows in a second run."""
    chance = random.Random(1)
    undecided = false = 0
    for width, minimum in rows:
        width = math.sqrt(2) * width / minimum  # half-width of the ratio
        for _ in range(REPETITIONS):
            apart = chance.expovariate(1 / shift) * chance.choice((-1, 1)) + chance.gauss(0, width / 1.96)
            false += abs(apart) - width > 1
            undecided += abs(apart) - width <= 1 < abs(apart) + width
    return undecided / len(rows) / REPETITIONS, false / len(rows) / REPETITIONS


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("results", type=Path)
    parser.add_argument("--noise", type=Path, required=True)
    parser.add_argument("--shift", type=float, default=0.2)
    options = parser.parse_args()
    noise = read_json(options.noise)
    rows = read_report(options.results)["rows"]
    groups = groups_of([row for row in rows if row["status"] in PASSED and row["time_ci95_low_us"]])
    lines = []
    for share, limit_s in ((math.inf, 0), (0.5, math.inf), (0.25, 0.1), (0.25, 0.2), (0.25, 0.5), (0.25, math.inf), (0.15, 0.2)):
        limit = min(limit_s, 1e6)
        rows, more_s = narrowed(groups, noise, share, limit)
        undecided, false = repeated(rows, options.shift)
        asked = "as recorded" if math.isinf(share) else f"{share}"
        bound = "" if math.isinf(share) else "no limit" if math.isinf(limit_s) else f"{limit_s} s"
        lines.append([asked, bound, f"{more_s:.1f} s", f"{100 * undecided:.1f} %", f"{100 * false:.2f} %"])
    print(markdown_table(["half-width, of the minimum effect", "at most, per group", "sampling more", "undecided", "false"], lines, 0))


if __name__ == "__main__":
    main()
