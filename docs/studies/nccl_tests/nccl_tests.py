#!/usr/bin/env python3
"""Compares the times of NCCL's collectives in launches back to back, as measured by nccl-tests and by gpuexp.

    build/gpuexp run back_to_back --out results/back_to_back
    docs/studies/nccl_tests/nccl_tests.py run results/back_to_back/results.csv --build nccl-tests/build --gpus 2 --out nccl_tests.csv
    docs/studies/nccl_tests/nccl_tests.py compare results/back_to_back/results.csv nccl_tests.csv

`run` starts nccl-tests (https://github.com/NVIDIA/nccl-tests, built with make) for each problem of variant nccl on the given number
of GPUs: the same number of launches, 20 warm-ups, the slowest rank's time (-a 3), no data check, and the same number of replays (-G)
for problems measured as a graph. Ranks are threads, or processes as in gpuexp if nccl-tests was built with MPI=1 and is started by
`--launcher "mpirun -n 2"`. Each size has its own run, because nccl-tests otherwise alternates between parts of its buffers. Times are
medians of several runs. `compare` prints both times of each problem. Its exit code is 1 if they differ by more than 3 % (vectors of
16 MiB and longer) or 10 % (shorter vectors).
"""
import argparse
import csv
import json
import os
import statistics
import subprocess
import sys
import tempfile
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[3] / "scripts"))
from plotting.recorded import UsageError, read_rows  # noqa: E402

PROGRAMS = {
    "all_reduce": "all_reduce_perf",
    "all_gather": "all_gather_perf",
    "reduce_scatter": "reduce_scatter_perf",
    "broadcast": "broadcast_perf",
    "all_to_all": "alltoall_perf",
    "shift": "sendrecv_perf",
}
MODES = ("back_to_back", "back_to_back_graph")
LAUNCHES = 20  # launches per sample, or per graph
WARM_UPS = 20
ELEMENT_BYTES = {"fp32": 4, "bf16": 2}
TYPES = {"fp32": "float", "bf16": "bfloat16"}
LONG_BYTES = 16 << 20
SHORT_REPEATS = 3  # more runs for short vectors, because host time varies between runs
MAX_DIFFERENCE = {True: 0.03, False: 0.10}  # relative, for long vectors (True) and short ones
KEY = ("operation", "dtype", "bytes", "gpus", "mode", "in_place")


def measured(path):
    """{problem: (median time in us, launches per sample)} of variant nccl."""
    found = {}
    for row in read_rows(path):
        if row["variant"] != "nccl" or row["status"] != "passed" or row["mode"] not in MODES:
            continue
        dtype = row["param.dtype"]
        size = int(row["param.n"]) * ELEMENT_BYTES[dtype]
        key = (row["param.operation"], dtype, size, int(row["param.gpus"]), row["mode"], row["param.in_place"])
        found[key] = (float(row["time_median_us"]), int(row["graph_launches"]))
    if not found:
        sys.exit(f"{path}: no row of variant nccl in mode {' or '.join(MODES)} has passed")
    return found


def times_of(results):
    """(in place or not, time) for the only size that the output of nccl-tests -J contains."""
    (result,) = results["results"]
    for place, name in (("no", "out_of_place"), ("yes", "in_place")):
        if result.get(name) is not None:
            yield place, float(result[name]["time"])


def run_once(program, dtype, size, gpus, replays, launcher):
    with tempfile.TemporaryDirectory() as folder:
        output = os.path.join(folder, "nccl_tests.json")
        threads = "1" if launcher else str(gpus)
        command = [*launcher, program, "-b", str(size), "-e", str(size), "-d", TYPES[dtype], "-t", threads, "-g", "1",
                   "-n", str(LAUNCHES), "-w", str(WARM_UPS), "-c", "0", "-a", "3", "-G", str(replays), "-J", output]
        environment = {**os.environ, "NCCL_NVLS_ENABLE": "0"}
        done = subprocess.run(command, capture_output=True, text=True, env=environment, timeout=120, check=False)
        if done.returncode != 0:
            sys.exit(f"{' '.join(command)}: exit code {done.returncode}\n{done.stdout[-2000:]}{done.stderr[-2000:]}")
        with open(output, encoding="utf-8") as file:
            return list(times_of(json.load(file)))


def run(arguments):
    """Appends the median times of several runs to the file."""
    problems = {key[:5]: launches // LAUNCHES if key[4] == "back_to_back_graph" else 0
                for key, (_, launches) in measured(arguments.results).items() if key[3] == arguments.gpus}
    if not problems:
        sys.exit(f"{arguments.results}: no row spans {arguments.gpus} GPUs")
    is_new = not os.path.exists(arguments.out)
    with open(arguments.out, "a", encoding="utf-8", newline="") as file:
        writer = csv.writer(file, lineterminator="\n")
        if is_new:
            writer.writerow([*KEY, "nccl_tests_us"])
        for (operation, dtype, size, gpus, mode), replays in sorted(problems.items()):
            program = os.path.join(arguments.build, PROGRAMS[operation])
            repeat = arguments.repeat if size >= LONG_BYTES else SHORT_REPEATS * arguments.repeat
            runs = [dict(run_once(program, dtype, size, gpus, replays, arguments.launcher.split())) for _ in range(repeat)]
            for place in runs[0]:
                middle = statistics.median(times[place] for times in runs)
                writer.writerow([operation, dtype, size, gpus, mode, place, f"{middle:.3f}"])
            file.flush()


def recorded(path):
    for row in read_rows(path):
        key = (row["operation"], row["dtype"], int(row["bytes"]), int(row["gpus"]), row["mode"], row["in_place"])
        yield key, float(row["nccl_tests_us"])


def is_among(key, only):
    values = dict(zip(KEY, map(str, key)))
    return all(values.get(name) == value for name, value in (condition.split("=", 1) for condition in only))


def compare(arguments):
    own = {key: found for path in arguments.results for key, found in measured(path).items()}
    others = [(key, us) for key, us in recorded(arguments.nccl_tests) if key in own and is_among(key, arguments.only)]
    if not others:
        sys.exit(f"{arguments.nccl_tests}: no such problem in {', '.join(arguments.results)}")
    apart = 0
    lines = [[*KEY, "gpuexp_us", "nccl_tests_us", "ratio", "within"]]
    for key, us in sorted(others):
        own_us, _ = own[key]
        ratio = own_us / us
        is_within = abs(ratio - 1) <= MAX_DIFFERENCE[key[2] >= LONG_BYTES]
        apart += not is_within
        lines.append([*key, f"{own_us:.3f}", f"{us:.3f}", f"{ratio:.3f}", "yes" if is_within else "no"])
    if arguments.csv:
        with open(arguments.csv, "w", encoding="utf-8", newline="") as file:
            csv.writer(file, lineterminator="\n").writerows(lines)
    widths = [max(len(str(line[i])) for line in lines) for i in range(len(lines[0]))]
    for line in lines:
        print("  ".join(str(cell).rjust(width) for cell, width in zip(line, widths)).rstrip())
    print(f"{len(others) - apart} of {len(others)} problems within 3 % (16 MiB and longer) or 10 %")
    return 1 if apart else 0


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    commands = parser.add_subparsers(dest="command", required=True)
    runs = commands.add_parser("run", help="time the problems of the results with nccl-tests")
    runs.add_argument("results", help="results of gpuexp")
    runs.add_argument("--build", required=True, help="folder of the programs of nccl-tests")
    runs.add_argument("--gpus", type=int, required=True, help="number of GPUs of the problems to run")
    runs.add_argument("--launcher", default="", help="command that starts a process per GPU (default: a thread per GPU)")
    runs.add_argument("--repeat", type=int, default=1, help=f"runs of each problem, multiplied by {SHORT_REPEATS} for short vectors (default: 1)")
    runs.add_argument("--out", required=True, help="CSV to write or to append to")
    comparison = commands.add_parser("compare", help="print both times of each problem")
    comparison.add_argument("results", nargs="+", help="results of gpuexp")
    comparison.add_argument("nccl_tests", help="CSV written by run")
    comparison.add_argument("--only", action="append", default=[], metavar="NAME=VALUE", help="only problems with this value in a column of that CSV")
    comparison.add_argument("--csv", help="also write the table as CSV to this file")
    arguments = parser.parse_args()
    try:
        return run(arguments) or 0 if arguments.command == "run" else compare(arguments)
    except UsageError as error:
        sys.exit(str(error))


if __name__ == "__main__":
    sys.exit(main())
