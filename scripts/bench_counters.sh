#!/usr/bin/env bash
# Times what hardware counters cost on the GPU of this machine: a config run without and with them, by wall clock and
# by processor time. With a second binary (another version of gpuexp), the same of that, and how far the counters of
# the two differ. The aim is a counted run of at most twice the time of an uncounted one.
# Usage: scripts/bench_counters.sh [CONFIG [OTHER_GPUEXP [FOLDER]]], all when absent; runs stay in FOLDER where given.
# GPUEXP_BUILD names a build folder other than build/.
set -euo pipefail

repo=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
cd "$repo"
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT

python3 - "${3:-$folder}" "${1:-all}" "${GPUEXP_BUILD:-$repo/build}/gpuexp" ${2:+"$2"} <<'PYTHON'
import csv, json, math, resource, subprocess, sys, time
from pathlib import Path

folder, config, binaries = Path(sys.argv[1]), sys.argv[2], sys.argv[3:]
AIM = 2.0


def run(binary, out, *options):
    before, start = resource.getrusage(resource.RUSAGE_CHILDREN), time.monotonic()
    code = subprocess.run([binary, "run", config, "--out", out, "--quiet", *options], check=False).returncode
    wall, after = time.monotonic() - start, resource.getrusage(resource.RUSAGE_CHILDREN)
    if code != 0:
        sys.exit(code)
    with open(out / "log.jsonl") as log:
        lines = [json.loads(line) for line in log]
    spent = next(line["times_s"] for line in lines if isinstance(line, dict) and "times_s" in line)
    rows = sum(isinstance(line, dict) and "row" in line for line in lines)
    print(f"  {'counted' if options else 'uncounted':<10} {wall:8.2f} s wall, {after.ru_utime - before.ru_utime:8.2f} s user, "
          f"{after.ru_stime - before.ru_stime:8.2f} s system; counters {spent['counters']:8.2f} s, "
          f"set-up {spent['set_up']:6.2f} s, {rows} rows", flush=True)
    return wall, spent["counters"] / max(rows, 1)


def counters(out):
    """{(row's key, counter): value}"""
    with open(out / "results.csv") as file:
        rows = csv.DictReader(line for line in file if not line.startswith("#"))
        return {(row["key"], name): float(value) for row in rows for name, value in row.items()
                if name.startswith("counter.") and value}


found = []
for i, binary in enumerate(binaries):
    print(binary)
    plain, _ = run(binary, folder / f"uncounted-{i}")
    counted, per_row = run(binary, folder / f"counted-{i}", "--counters")
    verdict = "within" if counted <= AIM * plain else "above"
    print(f"  counted / uncounted {counted / plain:.2f}, {verdict} the aim of {AIM:g}; {1e3 * per_row:.0f} ms per row")
    found.append(counters(folder / f"counted-{i}"))

if len(found) == 2:
    keys = sorted(found[0].keys() & found[1].keys())
    print(f"{len(keys)} values in both, {len(found[0].keys() ^ found[1].keys())} in one alone; differences:")
    for name in sorted({name for _, name in keys}):
        pairs = [(found[0][key], found[1][key]) for key in keys if key[1] == name]
        off = sorted(abs(math.log(a / b)) if a > 0 and b > 0 else math.inf for a, b in pairs if a != b)
        worst = f"median {100 * off[len(off) // 2]:.3g} %, largest {100 * off[-1]:.3g} %" if off else ""
        print(f"  {name:<46} {len(off):5} of {len(pairs):5} differ {worst}")
PYTHON
