#!/usr/bin/env python3
"""What it costs to sample every row of a run to a share of its minimum effect, and what it leaves undecided.

usage: precision_cost.py RESULTS.json --noise NOISE.json [--shift SHARE]

From the intervals and sample counts that the run has: half-widths fall with the square root of the count, down to half a tick of
the timer; all variants of a group take as many samples, at most 1000 and
for 2 s each; a group stops when its sampling has taken so long. A second
run of the same binary differs by an exponential share of the minimum effect with the mean SHARE (0.2: what gave two runs of
configs/all.json on one H200 their false verdicts) and by the error of both medians. Prints a Markdown table: a row is undecided when
its interval reaches past the minimum effect, and false when it lies beyond it. What clocks and floors leave undecided is not in it.

Only the standard library is needed.
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

MOST_SAMPLES, MOST_SECONDS = 1000, 2  # of a row
FLUSH_US, BESIDE_US = 35, 15  # of a cold sample; of any, on the host
ROUNDING = 1.002  # of times that the timer's ticks are made of
REPETITIONS = 20


def effect(noise, time_us):
    return max(noise["relative"], noise["absolute_us"] / time_us)


def half_width(row):
    return (row["time_ci95_high_us"] - row["time_ci95_low_us"]) / 2 / row["time_median_us"]


def half_tick(row):
    return (row["timer_resolution_us"] or 0) / row["graph_launches"] / 2 / row["time_median_us"]


def sample_us(row, group):
    """What a sample takes, with what is done before it."""
    launch = row["time_median_us"] * row["graph_launches"]
    primed = row["mode"] == "warm" and len(group) > 1
    return launch * (2 if primed else 1) + (FLUSH_US if row["mode"] == "cold" else 0) + BESIDE_US


def groups_of(rows):
    groups = defaultdict(list)
    for row in rows:
        problem = tuple(value for name, value in row.items() if name.startswith("param."))
        groups[row["experiment"], row["mode"], problem].append(row)
    return groups.values()


def narrowed(groups, noise, share, limit_s):
    """Rows with their half-widths once sampled to `share` of the minimum effect, and the seconds that this takes more."""
    rows, more_s = [], 0
    for group in groups:
        taken = max(row["samples"] for row in group)
        wanted = taken
        for row in group:
            target = max(share * effect(noise, row["time_median_us"]), half_tick(row))
            if half_width(row) > ROUNDING * target:
                wanted = max(wanted, math.ceil(row["samples"] * (half_width(row) / target) ** 2))
        round_us = sum(sample_us(row, group) for row in group)
        count = max(taken, min(wanted, MOST_SAMPLES, int(1e6 * limit_s / round_us)))
        for row in group:
            most = max(row["samples"], int(1e6 * MOST_SECONDS / sample_us(row, group)))
            samples = row["samples"] if count == taken else max(row["samples"], min(count, most))
            more_s += 1e-6 * (samples - row["samples"]) * sample_us(row, group)
            width = half_width(row) * math.sqrt(row["samples"] / samples)
            rows.append((max(width, half_tick(row)), effect(noise, row["time_median_us"])))
    return rows, more_s


def repeated(rows, shift):
    """Shares of rows that are undecided, and false, in a second run."""
    chance = random.Random(1)
    undecided = false = 0
    for width, minimum in rows:
        width = math.sqrt(2) * width / minimum  # of the ratio
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
