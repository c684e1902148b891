#!/usr/bin/env python3
"""Times of NCCL's collectives by nccl-tests, beside those that gpuexp measured back to back.

    build/gpuexp run back_to_back --out results/back_to_back
    scripts/nccl_tests.py run results/back_to_back/results.csv --build nccl-tests/build --gpus 2 --out nccl_tests.csv
    scripts/nccl_tests.py compare results/back_to_back/results.csv nccl_tests.csv

`run` starts nccl-tests (https://github.com/NVIDIA/nccl-tests, built with make) once for each problem that variant nccl has
in the results on so many GPUs: as many launches, one warm-up, a thread for each GPU, the slowest rank's time (-a 3), no
data check, and `-G 1` for what was measured as a graph. A size is timed by itself, since nccl-tests otherwise takes other
parts of its buffers in turn. `compare` prints both times for each problem and exits with 1 where they differ by more than
3 % (vectors of 16 MiB and longer) or 10 % (shorter ones).
"""
import argparse
import csv
import json
import os
import statistics
import subprocess
import sys
import tempfile

PROGRAMS = {
    "all_reduce": "all_reduce_perf",
    "all_gather": "all_gather_perf",
    "reduce_scatter": "reduce_scatter_perf",
    "broadcast": "broadcast_perf",
    "all_to_all": "alltoall_perf",
    "shift": "sendrecv_perf",
}
REPLAYS_OF_MODE = {"back_to_back": 0, "back_to_back_graph": 10}
LAUNCHES = 20
WARM_UPS = 20
ELEMENT_BYTES = {"fp32": 4, "bf16": 2}
TYPES = {"fp32": "float", "bf16": "bfloat16"}
LONG_BYTES = 16 << 20
MOST_APART = {True: 0.03, False: 0.10}  # of long vectors, and of others
KEY = ("operation", "dtype", "bytes", "gpus", "mode", "in_place")


def measured(path):
    """Median time of each problem of NCCL with plain buffers, in us."""
    times = {}
    with open(path, encoding="utf-8", newline="") as file:
        for row in csv.DictReader(file):
            if row["variant"] != "nccl" or row["status"] != "passed" or row["mode"] not in REPLAYS_OF_MODE:
                continue
            dtype = row["param.dtype"]
            size = int(row["param.n"]) * ELEMENT_BYTES[dtype]
            key = (row["param.operation"], dtype, size, int(row["param.gpus"]), row["mode"], row["param.in_place"])
            times[key] = float(row["time_median_us"])
    if not times:
        sys.exit(f"{path}: no row of variant nccl in mode {' or '.join(REPLAYS_OF_MODE)} has passed")
    return times


def times_of(results):
    """Both times of the only size in what nccl-tests wrote by -J; none in place where it has none."""
    (result,) = results["results"]
    for place, name in (("no", "out_of_place"), ("yes", "in_place")):
        if result.get(name) is not None:
            yield place, float(result[name]["time"])


def run_once(program, dtype, size, gpus, mode):
    with tempfile.TemporaryDirectory() as folder:
        output = os.path.join(folder, "nccl_tests.json")
        command = [program, "-b", str(size), "-e", str(size), "-d", TYPES[dtype], "-t", str(gpus), "-g", "1",
                   "-n", str(LAUNCHES), "-w", str(WARM_UPS), "-c", "0", "-a", "3", "-G", str(REPLAYS_OF_MODE[mode]), "-J", output]
        environment = {**os.environ, "NCCL_NVLS_ENABLE": "0"}
        done = subprocess.run(command, capture_output=True, text=True, env=environment, timeout=120, check=False)
        if done.returncode != 0:
            sys.exit(f"{' '.join(command)}: exit code {done.returncode}\n{done.stdout[-2000:]}{done.stderr[-2000:]}")
        with open(output, encoding="utf-8") as file:
            return list(times_of(json.load(file)))


def run(arguments):
    """Writes the medians of so many runs, after those that the file has already."""
    problems = {key[:5] for key in measured(arguments.results) if key[3] == arguments.gpus}
    if not problems:
        sys.exit(f"{arguments.results}: no row spans {arguments.gpus} GPUs")
    is_new = not os.path.exists(arguments.out)
    with open(arguments.out, "a", encoding="utf-8", newline="") as file:
        writer = csv.writer(file, lineterminator="\n")
        if is_new:
            writer.writerow([*KEY, "nccl_tests_us"])
        for operation, dtype, size, gpus, mode in sorted(problems):
            program = os.path.join(arguments.build, PROGRAMS[operation])
            runs = [dict(run_once(program, dtype, size, gpus, mode)) for _ in range(arguments.repeat)]
            for place in runs[0]:
                middle = statistics.median(times[place] for times in runs)
                writer.writerow([operation, dtype, size, gpus, mode, place, f"{middle:.3f}"])
            file.flush()


def recorded(path):
    with open(path, encoding="utf-8", newline="") as file:
        for row in csv.DictReader(file):
            key = (row["operation"], row["dtype"], int(row["bytes"]), int(row["gpus"]), row["mode"], row["in_place"])
            yield key, float(row["nccl_tests_us"])


def compare(arguments):
    own = measured(arguments.results)
    others = [(key, us) for key, us in recorded(arguments.nccl_tests) if key in own]
    if not others:
        sys.exit(f"{arguments.nccl_tests}: has no problem of {arguments.results}")
    apart = 0
    lines = [[*KEY, "gpuexp_us", "nccl_tests_us", "ratio", "within"]]
    for key, us in sorted(others):
        ratio = own[key] / us
        is_within = abs(ratio - 1) <= MOST_APART[key[2] >= LONG_BYTES]
        apart += not is_within
        lines.append([*key, f"{own[key]:.3f}", f"{us:.3f}", f"{ratio:.3f}", "yes" if is_within else "no"])
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
    runs = commands.add_parser("run", help="time the problems of the results by nccl-tests")
    runs.add_argument("results", help="results.csv of gpuexp")
    runs.add_argument("--build", required=True, help="folder of nccl-tests' programs")
    runs.add_argument("--gpus", type=int, required=True, help="of the problems to run")
    runs.add_argument("--repeat", type=int, default=3, help="runs of each problem, of which the median counts")
    runs.add_argument("--out", required=True, help="CSV to write or to append to")
    comparison = commands.add_parser("compare", help="print both times of each problem")
    comparison.add_argument("results", help="results.csv of gpuexp")
    comparison.add_argument("nccl_tests", help="CSV that run wrote")
    comparison.add_argument("--csv", help="the table as CSV, too")
    arguments = parser.parse_args()
    return run(arguments) or 0 if arguments.command == "run" else compare(arguments)


if __name__ == "__main__":
    sys.exit(main())
