#!/usr/bin/env bash
# Times what gpuexp itself costs on the GPU of this machine: from the start of the process to the first row, and what of a
# run is spent neither by the GPU nor on verification.
# Usage: scripts/bench_harness.sh [CONFIG [FOLDER]], all when absent; its run stays in FOLDER where one is given.
# GPUEXP_BUILD names a build folder other than build/.
set -euo pipefail

repo=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
export GPUEXP_BINARY=${GPUEXP_BUILD:-$repo/build}/gpuexp
cd "$repo"
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT

python3 - "$folder" "${1:-all}" "${2:-$folder/run}" <<'PYTHON'
import json, os, statistics, subprocess, sys, time

folder, config, out = sys.argv[1:]
gpuexp = os.environ["GPUEXP_BINARY"]


def first_row_s(run):
    command = [gpuexp, "run", f"{folder}/one.json", "--out", f"{folder}/one-{run}", "--csv", "-", "--quiet"]
    start = time.monotonic()
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        process.stdout.readline()  # the header
        row = process.stdout.readline()
        elapsed = time.monotonic() - start
        process.stdout.read()
    if process.wait() != 0 or not row:
        sys.exit(process.returncode or 1)
    return elapsed


with open(f"{folder}/one.json", "w") as file:
    json.dump({"name": "one", "experiments": [{"family": "divergence", "variants": ["uniform"]}]}, file)
times = [first_row_s(run) for run in range(5)]
print(f"start to first row, one cell: {statistics.median(times):.3f} s, {min(times):.3f} to {max(times):.3f}, 5 runs")

start = time.monotonic()
code = subprocess.run([gpuexp, "run", config, "--out", out, "--quiet"]).returncode
wall = time.monotonic() - start
if code != 0:
    sys.exit(code)
with open(f"{out}/log.jsonl") as log:
    lines = [json.loads(line) for line in log]
spent = next(line["times_s"] for line in lines if isinstance(line, dict) and "times_s" in line)
rows = sum(isinstance(line, dict) and "row" in line for line in lines)
# What the GPU works is added up from times of its own, which is a little more than the wall time now and then.
gpu = min(spent["sample"], spent["sample_gpu"])
parts = {
    "verification": spent["verify"],
    "set-up (buffers, inputs)": spent["set_up"],
    "warm-up launches": spent["warm_up"],
    "timed launches, flushes, priming": gpu,
}
parts["everything else"] = wall - sum(parts.values())
print(f"{config}: {rows} rows in {wall:.2f} s")
for name, seconds in parts.items():
    print(f"  {name:<34} {seconds:7.2f} s {100 * seconds / wall:5.1f} %")
PYTHON
