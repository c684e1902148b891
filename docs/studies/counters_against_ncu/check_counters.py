#!/usr/bin/env python3
"""Compares the hardware counters of a run with the counters that Nsight Compute reads for the same kernels.

usage: check_counters.py RUN NCU.csv [--means] [--gpuexp PROGRAM]

RUN is the folder (or results.json) of a run with counters and all cells in mode cold. NCU.csv is the output of Nsight Compute for
the same cells, one launch each, in the same order:

    build/gpuexp run CONFIG --set modes=cold --counters --out RUN
    ncu --clock-control none --cache-control none --replay-mode application --print-units base --csv --page raw \\
        --nvtx --nvtx-include 'gpuexp@measure/' --metrics METRICS build/gpuexp run CONFIG --profile > NCU.csv

METRICS are the numerators and denominators of `gpuexp list metrics --json`; `check_counters.py --metrics` prints them. With
application replay, the program flushes the caches before each pass. Counters whose METRICS are missing are omitted.

--means compares means over equal cells of several experiments instead of single launches, because launches differ. The table then
also shows the widest range of values that one program measured for a cell.

Prints a Markdown table: for each counter the number of kernels, and the median and largest relative difference over kernels with
large enough counts (DRAM: 10 MB; events: 1000). Needs only the standard library. Exit codes: 0 printed; 2 the inputs do not match.
"""

import argparse
import collections
import csv
import json
import os
import statistics
import subprocess
import sys

REPOSITORY = os.path.abspath(os.path.join(os.path.dirname(__file__), "..", "..", ".."))
sys.path.insert(0, os.path.join(REPOSITORY, "scripts"))
from plotting.recorded import UsageError, exit_with, read_report  # noqa: E402

MIN_BYTES = 10e6
MIN_EVENTS = 1000
# Nsight Compute also profiles this kernel, which flushes the caches before the launch.
NOT_LAUNCHED = "flush_kernel"
# Nsight Compute lists only kernels; a run with counters also lists memory fills.
NOT_A_KERNEL = "cudaMemsetAsync"


def known_counters(program):
    listed = subprocess.run([program, "list", "metrics", "--json"], check=True, capture_output=True, text=True,
                            cwd=REPOSITORY)
    return json.loads(listed.stdout)["counters"]


def metrics_of(counters):
    names = [c[part] for c in counters for part in ("numerator", "denominator") if c[part]]
    return sorted(set(names))


def read_ncu(path):
    """A list with {metric: value} for each kernel, whose name is under "Kernel Name"."""
    with open(path, newline="") as file:
        lines = [line for line in file if line.startswith('"')]
    rows = list(csv.reader(lines))
    if not rows:
        raise UsageError(f"{path}: not a CSV of Nsight Compute")
    names, units, kernels = rows[0], rows[1], rows[2:]
    if any(unit in ("Kbyte", "Mbyte", "Gbyte") for unit in units):
        raise UsageError(f"{path}: units are scaled; run ncu with --print-units base")
    kernels = [dict(zip(names, kernel)) for kernel in kernels]
    return [kernel for kernel in kernels if NOT_LAUNCHED not in kernel["Kernel Name"]]


def number(text):
    return float(text.replace(",", ""))


def value_by_ncu(counter, kernel):
    above = number(kernel[counter["numerator"]])
    if not counter["denominator"]:
        return counter["scale"] * above
    below = number(kernel[counter["denominator"]])
    return counter["scale"] * above / below if below else None


def is_large(counter, kernel):
    least = MIN_BYTES if counter["unit"] == "B" else MIN_EVENTS
    return number(kernel[counter["numerator"]]) >= least


def check_kernels(ours, theirs):
    if len(ours) != len(theirs):
        raise UsageError(f"the run has {len(ours)} kernels, Nsight Compute lists {len(theirs)}; expected the same number")
    for our, their in zip(ours, theirs):
        name = their["Kernel Name"].split("<")[0].split("(")[0].split("::")[-1].split(" ")[-1]
        if our["name"] and name not in our["name"]:
            raise UsageError(f"{our['key']}: kernel {our['name']} does not match {their['Kernel Name']} of Nsight Compute")


def pairs(counter, ours, theirs):
    """((cell, index of the kernel in the cell), value of the run, value of Nsight Compute) of each kernel with a large count."""
    place_in_cell = collections.Counter()
    for our, their in zip(ours, theirs):
        place_in_cell[our["key"]] += 1
        cell = "/".join(our["key"].split("/")[1:])
        reference = value_by_ncu(counter, their)
        value = our.get("counter." + counter["name"])
        if value is None or not reference or not is_large(counter, their):
            continue
        yield (cell, place_in_cell[our["key"]]), value, reference


def name_of(cell):
    return "/".join(cell.split("/")[:2])


def differences(counter, ours, theirs):
    """(relative difference, cell) of every kernel with a large count."""
    return [(abs(value / reference - 1), name_of(cell)) for (cell, _), value, reference in pairs(counter, ours, theirs)]


def differences_of_means(counter, ours, theirs):
    """differences() of means over equal cells, and the widest range of one program's values for a cell, relative to their mean."""
    values = collections.defaultdict(lambda: ([], []))
    for kernel, value, reference in pairs(counter, ours, theirs):
        values[kernel][0].append(value)
        values[kernel][1].append(reference)
    found = []
    widest = 0
    for (cell, _), sides in values.items():
        means = [statistics.mean(side) for side in sides]
        found.append((abs(means[0] / means[1] - 1), name_of(cell)))
        widest = max([widest] + [(max(side) - min(side)) / mean for side, mean in zip(sides, means)])
    return found, widest


def main():
    parser = argparse.ArgumentParser(description="Compares counters of a run with those of Nsight Compute.")
    parser.add_argument("run", nargs="?", metavar="RUN")
    parser.add_argument("ncu", nargs="?", metavar="NCU.csv")
    parser.add_argument("--gpuexp", default=os.path.join(REPOSITORY, "build", "gpuexp"))
    parser.add_argument("--means", action="store_true", help="compare means over equal cells instead of single launches")
    parser.add_argument("--metrics", action="store_true", help="print the value of ncu --metrics")
    arguments = parser.parse_args()
    counters = known_counters(os.path.abspath(arguments.gpuexp))
    if arguments.metrics:
        print(",".join(metrics_of(counters)))
        return
    if not arguments.run or not arguments.ncu:
        parser.error("expected RUN and NCU.csv")
    kernels = read_report(arguments.run).get("kernels") or []
    ours = [kernel for kernel in kernels if kernel["name"] != NOT_A_KERNEL]
    if not ours:
        raise UsageError(f"{arguments.run}: no kernels; was it run with --counters?")
    theirs = read_ncu(arguments.ncu)
    check_kernels(ours, theirs)
    print("| counter | kernels | median difference | largest | where |" + (" widest range |" if arguments.means else ""))
    print("| --- | ---: | ---: | ---: | --- |" + (" ---: |" if arguments.means else ""))
    for counter in counters:
        if not set(metrics_of([counter])) <= set(theirs[0]):
            continue
        widest = None
        if arguments.means:
            found, widest = differences_of_means(counter, ours, theirs)
        else:
            found = differences(counter, ours, theirs)
        if not found:
            print(f"| `{counter['name']}` | 0 | | | |")
            continue
        worst, key = max(found)
        median = statistics.median(d for d, _ in found)
        print(f"| `{counter['name']}` | {len(found)} | {100 * median:.2f} % | {100 * worst:.2f} % | {key} |"
              + (f" {100 * widest:.1f} % |" if arguments.means else ""))


if __name__ == "__main__":
    exit_with(main)
