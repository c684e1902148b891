#!/usr/bin/env python3
"""Compares simulated hardware counters with recorded hardware counters.

usage: simulated_counters.py FILE…

Each FILE is written by `GPUEXP_SIMULATED_COUNTERS=FILE build/tests/gpuexp_sim_tests '[.recording]'`. The test executes the cells of
docs/results/h200/all.json.zst whose key matches the regular expression GPUEXP_CELLS. It executes only some of the blocks of large
cells, and skips cells of several kernels with more than GPUEXP_MOST_LANE_INSTRUCTIONS (3e9) lane instructions. '[.caches]' writes the
counters of caches and DRAM for every mode. If a cell is in several files, the last file is used. If caches affect only a part of a
counter, '[.caches]' writes this part, and the parts are added.

Prints CSV: for each counter the number of kernels in which it is not zero on both sides (DRAM bytes: in which more than a threshold
was recorded), the median, 95th percentile and largest difference, the cell of the largest difference, the gate, and whether it is
met. Differences are percentages of the recorded value; for rates, percentage points. Needs only the standard library.
Exit codes: 0 printed; 2 nothing to compare.
"""

import csv
import sys
from collections import defaultdict


ANY = float("inf")
# Allowed median and 95th percentile of the differences.
GATES = {
    "global_load_requests": (0, 1),
    "global_load_sectors": (0, 1),
    "global_store_requests": (0, 1),
    "global_store_sectors": (0, 1),
    "global_atomic_requests": (0, 1),
    "global_reduction_requests": (0, 1),
    "active_lanes_per_instruction": (ANY, 1),
    "predicated_lanes_per_instruction": (ANY, 2),
    "warp_instructions": (0, 1.5),
    "shared_load_wavefronts": (1, 6),
    "shared_store_wavefronts": (1, 6),
    "l1_tag_wavefronts": (1, 15),
    "l1_hit_pct": (ANY, 5),
    "l2_sectors": (2, 15),
    "dram_read_bytes": (10, ANY),
    "dram_write_bytes": (10, ANY),
}
# Smaller values depend on the data that L2 held before the launch.
MIN_RECORDED = {"dram_read_bytes": 10e6, "dram_write_bytes": 50e6}


def gate_text(gate):
    return ", ".join(f"{name} {limit:g}" for name, limit in zip(("median", "p95"), gate) if limit != ANY)


def difference(counter, simulated, recorded):
    if counter.endswith("_pct"):
        return abs(simulated - recorded)
    if simulated == recorded:
        return 0.0
    return 100.0 if recorded == 0 else 100 * abs(simulated / recorded - 1)


PART = " (part)"


def read(paths):
    values = {}
    for path in paths:
        with open(path, newline="", encoding="utf-8") as file:
            for row in csv.DictReader(file):
                values[row["counter"], row["key"], row["kernel"]] = float(row["simulated"]), float(row["recorded"])
    for (counter, key, kernel), (part, recorded) in list(values.items()):
        if not counter.endswith(PART):
            continue
        del values[counter, key, kernel]
        whole = counter.removesuffix(PART), key, kernel
        if whole in values:
            values[whole] = values[whole][0] + part, recorded
    return values


def table(values):
    errors = defaultdict(list)
    for (counter, key, kernel), (simulated, recorded) in values.items():
        errors.setdefault(counter, [])  # a counter without values also has a row
        if (simulated or recorded) and recorded >= MIN_RECORDED.get(counter, 0):
            errors[counter].append((difference(counter, simulated, recorded), key, kernel))
    for counter, found in errors.items():
        found.sort()
        if not found:
            yield [counter, 0, "", "", "", "", "", ""]
            continue
        at = [found[min(len(found) - 1, int(share * len(found)))][0] for share in (0.5, 0.95)]
        worst, key, kernel = found[-1]
        where = f"{key}, kernel {kernel}" if worst else ""
        gate = GATES.get(counter, (ANY, ANY))
        is_met = all(round(value, 3) <= limit for value, limit in zip(at, gate))
        met = ("yes" if is_met else "no") if counter in GATES else ""
        yield [counter, len(found), *(f"{value:.3f}" for value in (*at, worst)), gate_text(gate), met, where]


def main():
    if len(sys.argv) < 2 or sys.argv[1].startswith("-"):
        print(__doc__, end="")
        return 0 if len(sys.argv) > 1 else 2
    values = read(sys.argv[1:])
    if not values:
        print("simulated_counters.py: nothing to compare", file=sys.stderr)
        return 2
    out = csv.writer(sys.stdout, lineterminator="\n")
    out.writerow(["counter", "cells", "median", "p95", "worst", "gate", "met", "where"])
    out.writerows(table(values))
    return 0


if __name__ == "__main__":
    sys.exit(main())
