#!/usr/bin/env python3
"""Prints the time per load of bytes_in_flight/own_slices, in which each warp loads 512 bytes at a time, by the utilization of DRAM.

usage: dram_queue.py RESULTS CEILINGS

RESULTS is a file of results, CEILINGS the GPU's measured ceilings. The last column is the time at a utilization of 0, from the row with the
fewest warps, plus the mean wait of an M/D/1 queue with the service time of the time model."""

import json
import re
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[3]
sys.path.insert(0, str(ROOT / "scripts"))

from plotting.recorded import markdown_table, read_rows  # noqa: E402

LOAD_BYTES = 512
NS_PER_US = 1e3


def service_ns():
    """The service time in the source of the time model."""
    text = (ROOT / "src" / "model" / "kernel_parameters.cpp").read_text()
    return float(re.search(r"kDramQueueNs = (\d+)", text).group(1))


def wait_ns(utilization):
    return service_ns() * utilization / (2 * (1 - utilization))


def main():
    results, ceilings = sys.argv[1:]
    most = json.loads(Path(ceilings).read_text())["ceilings"]["dram_read"]["value"]
    measured = []
    for row in read_rows(results):
        wanted = re.search(r"own_slices/n=268435456,blocks=(\d+),warps=(\d+),loads_per_thread=1,passes=1/cold", row["key"])
        if not wanted or row["status"] != "passed":
            continue
        blocks, warps = map(int, wanted.groups())
        us = float(row["time_median_us"]) - float(row["floor_us"])
        size = int(row["param.n"]) * 4
        loads = size / (blocks * warps * LOAD_BYTES)
        measured.append((warps, size / us / NS_PER_US / most, us * NS_PER_US / loads))
    measured.sort()
    _, utilization, ns = measured[0]
    base = ns - wait_ns(utilization)
    print(markdown_table(["warps per SM", "utilization", "ns per load", "with the model's queue"],
                         [[warps, f"{used:.2f}", f"{ns:.0f}", f"{base + wait_ns(used):.0f}"] for warps, used, ns in measured]))


if __name__ == "__main__":
    main()
