#!/usr/bin/env python3
"""Times gpuexp itself.

build     quickstart.sh in a fresh clone: wall time of its build and of its run, and CPU time to compile kernels, host code, each
          family, and a family with one empty kernel. Toolkit and packages must be installed (scripts/quickstart.sh). Exit code 1 if
          a time exceeds its limit
harness   on this machine's GPU: time from the start of the process to the first row, and a run's wall time by phase
counters  on this machine's GPU: a config run without and with hardware counters. A second binary (another version of
          gpuexp) is timed as well, and its counters are compared with the first binary's
host      without a GPU: wall time, peak memory and bytes written for reports of many rows and plans of many cells. The inputs are
          synthetic

Needs only the standard library. GPUEXP_BUILD names the build folder (default: build/).
"""

import argparse
import csv
import json
import math
import os
import re
import resource
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

REPO = Path(__file__).resolve().parents[1]
BUILD = Path(os.environ.get("GPUEXP_BUILD", REPO / "build"))
GPUEXP = BUILD / "gpuexp"
COMPILE_TIMES = "GPUEXP_COMPILE_TIMES"
COUNTERS_AIM = 2.0  # maximum time of a run with counters, divided by the time without counters
EMPTY_FAMILY = """#include "kernels/common/launch.cuh"

namespace gpuexp::empty_family {

__global__ void empty_kernel() {}

}  // namespace gpuexp::empty_family
"""


def called(command, **options):
    """Wall time and resource usage (rusage) of the command. Ends this process if the command fails."""
    start = time.monotonic()
    with subprocess.Popen(list(map(str, command)), **options) as process:
        _, status, used = os.wait4(process.pid, 0)
        process.returncode = os.waitstatus_to_exitcode(status)
    if process.returncode != 0:
        sys.exit(f"{' '.join(map(str, command))}: exit code {process.returncode}")
    return time.monotonic() - start, used


def printed(*command):
    return subprocess.run([GPUEXP, *command], check=True, capture_output=True, text=True).stdout


# ---- build


def compile_timed(command):
    """Acts as CMake's compiler launcher: runs the compile command, and logs its CPU time and output file."""
    status = subprocess.run(command, check=False).returncode
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    output = command[command.index("-o") + 1] if "-o" in command else "?"
    with open(os.environ[COMPILE_TIMES], "a", encoding="utf-8") as log:
        log.write(f"{used.ru_utime + used.ru_stime:.2f} {output}\n")
    return status


def compile_seconds(log):
    """CPU time in seconds to compile each family's file, and to compile all host code."""
    kernels, host = {}, 0.0
    for line in log.read_text(encoding="utf-8").splitlines():
        seconds, output = line.split()
        if re.search(r"kernels/CMakeFiles/gpuexp_(\w+_)?kernels\.dir/", output):
            kernels[output.rsplit("/", 1)[1].split(".")[0]] = float(seconds)
        elif "kernels/" not in output or "gpuexp_kernels" not in output:
            host += float(seconds)
    return kernels, host


def quickstart_seconds(clone, times):
    """Wall time of quickstart.sh and of its build. The build ends when the script prints "No GPU here:"."""
    launcher = Path(__file__).resolve()
    environment = {**os.environ, COMPILE_TIMES: str(times), "CMAKE_CXX_COMPILER_LAUNCHER": str(launcher), "CMAKE_CUDA_COMPILER_LAUNCHER": str(launcher)}
    start, built, lines = time.monotonic(), None, []
    with subprocess.Popen([clone / "scripts" / "quickstart.sh"], env=environment, text=True, stdout=subprocess.PIPE,
                          stderr=subprocess.STDOUT) as process:  # fmt: skip
        for line in process.stdout:
            lines.append(line)
            if "No GPU here:" in line:
                built = time.monotonic() - start
    if process.returncode != 0:
        sys.exit("".join(lines[-10:]))
    wall = time.monotonic() - start
    return wall, wall if built is None else built


def build(options):
    folder = Path(options.folder or tempfile.mkdtemp())
    clone, times = folder / "gpuexp", folder / "times.txt"
    subprocess.run(["git", "clone", "--quiet", REPO, clone], check=True)
    if (REPO / "build" / "venv").is_dir():
        shutil.copytree(REPO / "build" / "venv", clone / "build" / "venv", symlinks=True)
    (clone / "kernels" / "empty_family.cu").write_text(EMPTY_FAMILY, encoding="utf-8")
    times.unlink(missing_ok=True)
    wall, built = quickstart_seconds(clone, times)
    kernels, host = compile_seconds(times)
    empty = kernels.pop("empty_family", math.nan)
    total, slowest = sum(kernels.values()), max(kernels, key=kernels.get)
    rows = [
        ("quickstart.sh's build, wall", built, 240),
        ("its run and plots, wall", wall - built, 120),
        ("kernels, processor time", total, 200),
        ("host code, processor time", host, 200),
        (f"a family, mean of {len(kernels)}", total / len(kernels), 8),
        ("an empty family", empty, 6),
        (f"the slowest family, {slowest}", kernels[slowest], 30),
    ]
    for what, seconds, limit in rows:
        print(f"{what:<44} {seconds:7.1f} s, limit {limit} s{'' if seconds <= limit else '  OVER'}")
    return any(not seconds <= limit for _, seconds, limit in rows)


# ---- harness and counters


def measured_run(binary, config, out, *options):
    """Wall time, resource usage, times of the phases in the run's log, and number of its rows."""
    wall, used = called([binary, "run", config, "--out", out, "--quiet", *options])
    with open(out / "log.jsonl", encoding="utf-8") as log:
        lines = [line for line in map(json.loads, log) if isinstance(line, dict)]
    spent = next(line["times_s"] for line in lines if next(iter(line)) == "times_s")
    # A row that waits for counters or a prediction has a second line when it is complete.
    return wall, used, spent, len({line["row"] for line in lines if "row" in line})


def first_row_seconds(folder):
    (folder / "one.json").write_text(json.dumps({"name": "one", "experiments": [{"family": "divergence", "variants": ["uniform"]}]}))
    start = time.monotonic()
    with subprocess.Popen([GPUEXP, "run", folder / "one.json", "--out", tempfile.mkdtemp(dir=folder), "--csv", "-", "--quiet"],
                          stdout=subprocess.PIPE, text=True) as process:  # fmt: skip
        process.stdout.readline()  # the header
        row = process.stdout.readline()
        elapsed = time.monotonic() - start
        process.stdout.read()
    if process.returncode != 0 or not row:
        sys.exit(process.returncode or 1)
    return elapsed


def harness(options):
    with tempfile.TemporaryDirectory() as temporary:
        folder = Path(temporary)
        times = [first_row_seconds(folder) for _ in range(5)]
        print(f"start to first row, one cell: {statistics.median(times):.3f} s, {min(times):.3f} to {max(times):.3f}, 5 runs")
        wall, _, spent, rows = measured_run(GPUEXP, options.config, Path(options.out or folder / "run"))
    parts = {name: seconds for name, seconds in spent.items() if name not in ("total", "sample_gpu")}
    parts["everything else"] = wall - sum(parts.values())
    print(f"{options.config}: {rows} rows in {wall:.2f} s; samples kept the GPU busy for {spent['sample_gpu']:.2f} s")
    for name, seconds in parts.items():
        print(f"  {name:<16} {seconds:7.2f} s {100 * seconds / wall:5.1f} %, {1e3 * seconds / max(rows, 1):6.1f} ms per row")


def counters_of(out):
    """{(key of the row, counter): value} of a run's results."""
    with open(out / "results.csv", encoding="utf-8", newline="") as file:
        rows = csv.DictReader(line for line in file if not line.startswith("#"))
        return {(row["key"], name): float(value) for row in rows for name, value in row.items() if name.startswith("counter.") and value}


def print_differences(one, other):
    keys = sorted(one.keys() & other.keys())
    print(f"{len(keys)} values in both, {len(one.keys() ^ other.keys())} in one only; differences:")
    for name in sorted({name for _, name in keys}):
        pairs = [(one[key], other[key]) for key in keys if key[1] == name]
        off = sorted(abs(math.log(a / b)) if a > 0 and b > 0 else math.inf for a, b in pairs if a != b)
        worst = f"median {100 * off[len(off) // 2]:.3g} %, largest {100 * off[-1]:.3g} %" if off else ""
        print(f"  {name:<46} {len(off):5} of {len(pairs):5} differ {worst}")


def counters(options):
    found = []
    with tempfile.TemporaryDirectory() as temporary:
        folder = Path(options.out or temporary)
        for i, binary in enumerate([GPUEXP, *([options.other] if options.other else [])]):
            print(binary)
            walls = []
            for name, given in (("uncounted", []), ("counted", ["--counters"])):
                wall, used, spent, rows = measured_run(binary, options.config, folder / f"{name}-{i}", *given)
                walls.append(wall)
                print(f"  {name:<10} {wall:8.2f} s wall, {used.ru_utime:8.2f} s user, {used.ru_stime:8.2f} s system; "
                      f"counters {spent['counters']:8.2f} s, set-up {spent['set_up']:6.2f} s, {rows} rows", flush=True)
            ratio = walls[1] / walls[0]
            verdict = "within" if ratio <= COUNTERS_AIM else "above"
            print(f"  counted / uncounted {ratio:.2f}, {verdict} the aim of {COUNTERS_AIM:g}; "
                  f"{1e3 * spent['counters'] / max(rows, 1):.0f} ms per row")
            found.append(counters_of(folder / f"counted-{i}"))
    if len(found) == 2:
        print_differences(*found)


# ---- host


def measure(what, folder, *command):
    """Runs a command three times with its output in a file, and prints the times of the fastest run."""
    runs = []
    for _ in range(3):
        with open(folder / "output", "wb") as file:
            runs.append(called([GPUEXP, *command], stdout=file))
    fastest, used = min(runs, key=lambda run: run[0])
    print(f"{what:<44} {fastest:6.2f} s  {used.ru_maxrss / 1024:7.0f} MiB  {(folder / 'output').stat().st_size / 1e6:7.1f} MB written")


def longest_axes(family, cells):
    """Axes with steps of 1 over the family's parameters with the widest ranges, so that all variants together have about `cells` cells."""
    wanted, axes = max(1, cells // len(family["variants"])), {}
    for p in sorted((p for p in family["parameters"] if isinstance(p["default"], int)), key=lambda p: p["min"] - p["max"]):
        if wanted > 1:
            count = min(wanted, int(p["max"] - p["min"]) + 1)
            axes[p["name"]] = {"from": int(p["min"]), "to": int(p["min"]) + count - 1, "step": 1}
            wanted = -(-wanted // count)
    return axes


def plans(rows):
    """{name: experiment}: variants of coalescing in two modes, one variant of matmul at crossed sizes, and all variants of each family."""
    found = {
        "sweep": {"family": "coalescing", "baseline": "read_contiguous", "modes": ["cold", "warm"],
                  "axes": {"n": {"from": 1000001, "to": 1000000 + (rows + 7) // 8, "step": 1}}},
        "crossed": {"family": "matmul", "variants": ["naive"],
                    "axes": {"m": {"from": 1, "to": (rows + 99) // 100, "step": 1}, "n": {"from": 1, "to": 100, "step": 1}}},
    }  # fmt: skip
    for listed in json.loads(printed("list", "--json"))["families"]:
        family = json.loads(printed("describe", listed["id"], "--json"))
        found[family["id"]] = {"family": family["id"], "modes": ["cold"], "axes": longest_axes(family, rows)}
    return found


def host(options):
    rows = options.rows
    subprocess.run(["cmake", "--build", BUILD, "--target", "gpuexp", "gpuexp_sample_report"], check=True, stdout=sys.stderr)
    with tempfile.TemporaryDirectory() as temporary:
        folder = Path(temporary)
        samples, results = folder / "samples.json", folder / "results.json"
        with open(samples, "wb") as file:
            called([BUILD / "tests" / "gpuexp_sample_report", rows, 20], stdout=file)
        results.write_text(printed("report", samples, "--format", "json", "--no-samples"), encoding="utf-8")
        model = re.search(r"^model name[^:]*: (.*)$", Path("/proc/cpuinfo").read_text(encoding="utf-8"), re.MULTILINE)
        print(f"{printed('--version').strip()}, {model[1] if model else 'unknown processor'}; fastest of 3")
        for form in ("table", "csv", "markdown", "json", "html"):
            measure(f"report, {rows} rows ({results.stat().st_size // 10**6} MB), {form}", folder, "report", results, "--format", form)
        measure(f"report, with 20 samples ({samples.stat().st_size // 10**6} MB), table", folder, "report", samples)
        for name, experiment in plans(rows).items():
            config = folder / f"{name}.json"
            config.write_text(json.dumps({"name": name, "experiments": [experiment]}), encoding="utf-8")
            for given in [[], ["--json"]] if name in ("sweep", "crossed") else [[]]:
                measure(", ".join([f"plan, {rows} cells, {name}", *given]), folder, "plan", config, "--gpu", "h200", *given)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    commands = parser.add_subparsers(required=True, metavar="build|harness|counters|host")
    command = commands.add_parser("build")
    command.add_argument("folder", nargs="?", help="folder for the clone and its build (default: a temporary folder, which is kept)")
    command.set_defaults(run=build)
    for name, run in (("harness", harness), ("counters", counters)):
        command = commands.add_parser(name)
        command.add_argument("config", nargs="?", default="all", help="config to run (default: all)")
        command.add_argument("--out", metavar="FOLDER", help="folder that keeps the runs (default: they are deleted)")
        command.set_defaults(run=run)
    command.add_argument("--other", metavar="GPUEXP", help="binary of another version of gpuexp")
    command = commands.add_parser("host")
    command.add_argument("rows", nargs="?", type=int, default=100000, help="number of rows of reports and cells of plans (default: 100000)")
    command.set_defaults(run=host)
    options = parser.parse_args()
    return options.run(options)


if __name__ == "__main__":
    sys.exit(compile_timed(sys.argv[1:]) if COMPILE_TIMES in os.environ else main())
