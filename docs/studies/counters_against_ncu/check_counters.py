#!/usr/bin/env python3
"""Hardware counters of a run held against those that Nsight Compute reads of the same kernels.

usage: check_counters.py RUN NCU.csv [--means] [--gpuexp PROGRAM]

RUN is the folder (or results.json) of a run with counters, all of its cells in mode cold. NCU.csv is what Nsight Compute
printed for the same cells, one launch each, in the same order:

    build/gpuexp run CONFIG --set modes=cold --counters --out RUN
    ncu --clock-control none --cache-control none --replay-mode application --print-units base --csv --page raw \\
        --nvtx --nvtx-include 'gpuexp@measure/' --metrics METRICS build/gpuexp run CONFIG --profile > NCU.csv

METRICS are the numerators and denominators of `gpuexp list metrics --json`; `check_counters.py --metrics` prints them. With
application replay, the program flushes the caches before each pass, which kernel replay would not. A part of the METRICS
is enough; counters that need others are left out.

--means holds the means of equal cells (of several experiments) against each other instead of single launches: what differs
from one launch to the next then says less. The widest range of one program's launches stands beside them.

Prints a Markdown table: for each counter the kernels that have it, and the median and largest relative difference, of
kernels where it is large enough to count (DRAM: 10 MB; events: 1000). Only the standard library is needed. Exit codes: 0
printed; 2 what was given does not belong together.
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

LEAST_BYTES = 10e6
LEAST_EVENTS = 1000
# Of the range that Nsight Compute looks at, but not of the launch: it clears the caches before.
NOT_LAUNCHED = "flush_kernel"
# Nsight Compute lists kernels alone; a run with counters lists fills, too.
NOT_A_KERNEL = "cudaMemsetAsync"


def known_counters(program):
    listed = subprocess.run([program, "list", "metrics", "--json"], check=True, capture_output=True, text=True,
                            cwd=REPOSITORY)
    return json.loads(listed.stdout)["counters"]


def metrics_of(counters):
    names = [c[part] for c in counters for part in ("numerator", "denominator") if c[part]]
    return sorted(set(names))


def read_ncu(path):
    """A list of {metric: value}, with the kernel's name under "Kernel Name"."""
    with open(path, newline="") as file:
        lines = [line for line in file if line.startswith('"')]
    rows = list(csv.reader(lines))
    if not rows:
        raise UsageError(f"{path}: no CSV of Nsight Compute")
    names, units, kernels = rows[0], rows[1], rows[2:]
    if any(unit in ("Kbyte", "Mbyte", "Gbyte") for unit in units):
        raise UsageError(f"{path}: units are scaled; ask ncu for --print-units base")
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
    least = LEAST_BYTES if counter["unit"] == "B" else LEAST_EVENTS
    return number(kernel[counter["numerator"]]) >= least


def check_kernels(ours, theirs):
    if len(ours) != len(theirs):
        raise UsageError(f"{len(ours)} kernels in the run, {len(theirs)} by Nsight Compute")
    for our, their in zip(ours, theirs):
        name = their["Kernel Name"].split("<")[0].split("(")[0].split("::")[-1].split(" ")[-1]
        if our["name"] and name not in our["name"]:
            raise UsageError(f"{our['key']}: kernel {our['name']} stands beside {their['Kernel Name']}")


def pairs(counter, ours, theirs):
    """What both programs counted of each kernel of which it is large, with its cell and its place there."""
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
    """Relative difference and place of every kernel whose counts are large."""
    return [(abs(value / reference - 1), name_of(cell)) for (cell, _), value, reference in pairs(counter, ours, theirs)]


def differences_of_means(counter, ours, theirs):
    """The same of means over equal cells, and the widest range of one program's values over their mean."""
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
    parser = argparse.ArgumentParser(description="Counters of a run against those of Nsight Compute.")
    parser.add_argument("run", nargs="?", metavar="RUN")
    parser.add_argument("ncu", nargs="?", metavar="NCU.csv")
    parser.add_argument("--gpuexp", default=os.path.join(REPOSITORY, "build", "gpuexp"))
    parser.add_argument("--means", action="store_true", help="of equal cells instead of single launches")
    parser.add_argument("--metrics", action="store_true", help="print what ncu --metrics is to be given")
    arguments = parser.parse_args()
    counters = known_counters(os.path.abspath(arguments.gpuexp))
    if arguments.metrics:
        print(",".join(metrics_of(counters)))
        return
    if not arguments.run or not arguments.ncu:
        parser.error("RUN and NCU.csv are needed")
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
