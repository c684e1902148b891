#!/usr/bin/env python3
"""Writes l1_hits.csv: wavefronts and cycles of loads that hit L1 in some lanes and miss in the others. Needs nvcc, ncu and a GPU.

usage: l1_hits.py [--program COMPILED] > l1_hits.csv
"""

import argparse
import csv
import io
import subprocess
import sys
import tempfile
from pathlib import Path

DATA = "l1tex__data_pipe_lsu_wavefronts.sum"
TAGS = "l1tex__t_output_wavefronts_pipe_lsu.sum"


def output_of(command):
    return subprocess.run(command, check=True, capture_output=True, text=True).stdout


def counted(program):
    """A list with {metric: count} for each kernel, in launch order."""
    text = output_of(["ncu", "--clock-control", "none", "--csv", "--metrics", f"{DATA},{TAGS}", program])
    kernels = {}
    for row in csv.DictReader(io.StringIO(text[text.index('"ID"') :])):
        if not (row["ID"] or "").isdigit():
            continue
        value = float(row["Metric Value"].replace(",", ""))
        kernels.setdefault(int(row["ID"]), {})[row["Metric Name"]] = value
    return [kernels[number] for number in sorted(kernels)]


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--program", help="compiled l1_hits.cu (default: nvcc compiles it for this machine's GPU)")
    args = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        program = args.program or f"{folder}/l1_hits"
        if not args.program:
            subprocess.run(["nvcc", "-O3", "-arch=native", "-o", program, Path(__file__).with_suffix(".cu")], check=True)
        rows = list(csv.DictReader(io.StringIO(output_of([program]))))
        counts = counted(program)
    if len(rows) != len(counts):
        sys.exit(f"l1_hits.py: the program launched {len(rows)} kernels, but ncu counted {len(counts)}")
    print("bytes_per_lane,stride,resident_lanes,data_wavefronts,tag_wavefronts,cycles")
    for row, count in zip(rows, counts):
        requests = int(row["requests_per_warp"]) * int(row["warps"])
        print(
            f"{row['bytes_per_lane']},{row['stride']},{row['resident_lanes']},{count[DATA] / requests:.2f},"
            f"{count[TAGS] / requests:.2f},{float(row['cycles_per_request']):.2f}"
        )


if __name__ == "__main__":
    main()
