#!/usr/bin/env python3
"""Counters per instruction: runs [source_counters] of gpuexp_gpu_tests for each variant, in a separate process.

CUPTI counts one kernel per process.

    source_counters_test.py GPUEXP GPUEXP_GPU_TESTS
"""

import json
import subprocess
import sys

SKIPPED = 4  # as in tests/support/skip.hpp: no GPU

# Warps spin for copies that the GPU and the simulator complete at different times.
SPINNING = {"tensor_rate/wgmma"}


def variants(gpuexp):
    listed = json.loads(subprocess.run([gpuexp, "list", "--json"], check=True, capture_output=True).stdout)
    for family in listed["families"]:
        for variant in family["variants"]:
            yield family["id"], variant


def main(gpuexp, tests):
    failed, passed = [], 0
    for family, variant in variants(gpuexp):
        if f"{family}/{variant}" in SPINNING:
            continue
        run = subprocess.run([tests, "[source_counters]", "-c", family, "-c", variant], capture_output=True, text=True)
        if run.returncode == SKIPPED:
            print(run.stdout, end="")
            return SKIPPED
        if run.returncode != 0:
            failed.append(f"{family}/{variant}")
            print(run.stdout, run.stderr)
        passed += "assertions in" in run.stdout
    print(f"{passed} kernels have the counts that the GPU has at each instruction; failed: {', '.join(failed) or 'none'}")
    return 1 if failed or passed < 60 else 0


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
