#!/usr/bin/env python3
"""How far simulated hardware counters are from recorded ones.

usage: simulated_counters.py FILE…

Each FILE is what `GPUEXP_SIMULATED_COUNTERS=FILE build/tests/gpuexp_sim_tests '[.recording]'` wrote: it executes the cells of
docs/results/h200/all.json whose key has GPUEXP_CELLS, a regular expression; large ones by some of their blocks, and those of several
kernels where they have at most GPUEXP_MOST_LANE_INSTRUCTIONS (3e9). A cell may be in several files; the last counts.

Prints CSV: for each counter the kernels in which it is not zero on both sides, the median, 95th percentile and largest
difference in percent of what was recorded, and where that is. Only the standard library is needed.
Exit codes: 0 printed; 2 nothing to compare.
"""

import csv
import sys
from collections import defaultdict


def error_pct(simulated, recorded):
    if simulated == recorded:
        return 0.0
    return 100.0 if recorded == 0 else 100 * abs(simulated / recorded - 1)


def read(paths):
    values = {}
    for path in paths:
        with open(path, newline="", encoding="utf-8") as file:
            for row in csv.DictReader(file):
                values[row["counter"], row["key"], row["kernel"]] = float(row["simulated"]), float(row["recorded"])
    return values


def table(values):
    errors = defaultdict(list)
    for (counter, key, kernel), (simulated, recorded) in values.items():
        errors.setdefault(counter, [])  # a counter that is nowhere has a row, too
        if simulated or recorded:
            errors[counter].append((error_pct(simulated, recorded), key, kernel))
    for counter, found in errors.items():
        found.sort()
        if not found:
            yield [counter, 0, "", "", "", ""]
            continue
        at = [found[min(len(found) - 1, int(share * len(found)))][0] for share in (0.5, 0.95)]
        worst, key, kernel = found[-1]
        where = f"{key}, kernel {kernel}" if worst else ""
        yield [counter, len(found), *(f"{value:.3f}" for value in (*at, worst)), where]


def main():
    if len(sys.argv) < 2 or sys.argv[1].startswith("-"):
        print(__doc__, end="")
        return 0 if len(sys.argv) > 1 else 2
    values = read(sys.argv[1:])
    if not values:
        print("simulated_counters.py: nothing to compare", file=sys.stderr)
        return 2
    out = csv.writer(sys.stdout, lineterminator="\n")
    out.writerow(["counter", "cells", "median", "p95", "worst", "where"])
    out.writerows(table(values))
    return 0


if __name__ == "__main__":
    sys.exit(main())
