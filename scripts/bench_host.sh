#!/usr/bin/env bash
# Times what gpuexp does without a GPU on long inputs, and prints wall time and peak memory: reports of many rows, plans of
# many cells. The inputs are made up; only how long they take is true.
# Usage: scripts/bench_host.sh [ROWS], 100000 when absent. GPUEXP_BUILD names a build folder other than build/.
set -euo pipefail

repo=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
build=${GPUEXP_BUILD:-$repo/build}
rows=${1:-100000}
cmake --build "$build" --target gpuexp gpuexp_sample_report >&2

inputs=$(mktemp -d)
trap 'rm -rf "$inputs"' EXIT
cd "$repo"

# Runs a command with its output in a file, three times, and prints the fastest.
measure() {
  local what=$1
  shift
  python3 - "$what" "$inputs/output" "$@" <<'PYTHON'
import os, subprocess, sys, time

what, output, *command = sys.argv[1:]
fastest, peak_mb, megabytes = float("inf"), 0.0, 0.0
for _ in range(3):
    with open(output, "wb") as file:
        start = time.monotonic()
        process = subprocess.Popen(command, stdout=file)
        _, status, usage = os.wait4(process.pid, 0)
        fastest = min(fastest, time.monotonic() - start)
    if status != 0:
        sys.exit(f"{' '.join(command)}: exit status {status}")
    peak_mb = usage.ru_maxrss / 1024
    megabytes = os.path.getsize(output) / 1e6
print(f"{what:<44} {fastest:6.2f} s  {peak_mb:7.0f} MiB  {megabytes:7.1f} MB written")
PYTHON
}

"$build/tests/gpuexp_sample_report" "$rows" 20 > "$inputs/samples.json"
"$build/gpuexp" report "$inputs/samples.json" --format json --no-samples > "$inputs/results.json"
# Four variants, two modes; one variant, crossed sizes.
cat > "$inputs/sweep.json" <<EOF
{"name": "sweep", "experiments": [{"family": "coalescing", "baseline": "read_contiguous", "modes": ["cold", "warm"],
  "axes": {"n": {"from": 1000001, "to": $((1000000 + (rows + 7) / 8)), "step": 1}}}]}
EOF
cat > "$inputs/crossed.json" <<EOF
{"name": "crossed", "experiments": [{"family": "matmul", "variants": ["naive"],
  "axes": {"m": {"from": 1, "to": $(((rows + 99) / 100)), "step": 1}, "n": {"from": 1, "to": 100, "step": 1}}}]}
EOF

printf '%s, %s; fastest of 3\n' "$("$build/gpuexp" --version)" \
  "$(sed -n 's/^model name[^:]*: //p' /proc/cpuinfo | head -n 1)"
results="$(($(stat -c %s "$inputs/results.json") / 1000000)) MB"
for format in table csv markdown json html; do
  measure "report, $rows rows ($results), $format" "$build/gpuexp" report "$inputs/results.json" --format "$format"
done
samples="$(($(stat -c %s "$inputs/samples.json") / 1000000)) MB"
measure "report, with 20 samples ($samples), table" "$build/gpuexp" report "$inputs/samples.json"
for config in sweep crossed; do
  measure "plan, $rows cells, $config" "$build/gpuexp" plan "$inputs/$config.json" --gpu h200
  measure "plan, $rows cells, $config, --json" "$build/gpuexp" plan "$inputs/$config.json" --gpu h200 --json
done
# Of every family, all variants, along its longest axes.
"$build/gpuexp" list --json > "$inputs/list.json"
for family in $(python3 -c 'import json, sys; print(*(f["id"] for f in json.load(open(sys.argv[1]))["families"]))' \
  "$inputs/list.json"); do
  "$build/gpuexp" describe "$family" --json > "$inputs/family.json"
  python3 - "$inputs/family.json" "$rows" > "$inputs/$family.json" <<'PYTHON'
import json, sys

family, cells = json.load(open(sys.argv[1])), int(sys.argv[2])
wanted = max(1, cells // len(family["variants"]))
axes = {}
for p in sorted((p for p in family["parameters"] if isinstance(p["default"], int)),
                key=lambda p: p["min"] - p["max"]):
    if wanted <= 1:
        break
    count = min(wanted, int(p["max"] - p["min"]) + 1)
    axes[p["name"]] = {"from": int(p["min"]), "to": int(p["min"]) + count - 1, "step": 1}
    wanted = -(-wanted // count)
json.dump({"name": family["id"], "experiments": [
    {"family": family["id"], "modes": ["cold"], "axes": axes}]}, sys.stdout)
PYTHON
  measure "plan, $rows cells, $family" "$build/gpuexp" plan "$inputs/$family.json" --gpu h200
done
