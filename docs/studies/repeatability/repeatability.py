#!/usr/bin/env python3
"""Evaluates the statistics with repeated runs of one binary: false verdicts, injected slowdowns, coverage.

usage: repeatability.py RUN RUN [RUN ...] [--gpuexp PROGRAM] [--noise FILE] [--planted PCT] [--moved N]

A RUN is a run folder or its results.json. All runs use one binary, config and GPU, each in its own process. `gpuexp compare` computes
medians, intervals and verdicts from the samples. Prints Markdown tables:

- Comparison of every pair of runs (A before B). Only the process differs, so all SLOWER and FASTER are false verdicts.
- Comparison with every sample of B increased by PCT: number of SLOWER rows among all rows and among precise rows (both intervals
  have half-widths of at most 1 % of their medians).
- How often the interval of one run contains the median of another run, in both directions of every pair. A 95 % interval contains the
  true median of its own run in 95 % of cases; the other median has an error of its own. If both medians are normally distributed
  around one value with standard error s, and the interval is ±1.96 s, their difference has the standard error sqrt(2) s, so
  P(held) = 2 Phi(1.96 / sqrt(2)) - 1 = 83.4 %. Intervals with a coverage c > 95 %, as for few samples, have Phi^-1((1 + c) / 2)
  instead of 1.96, and clock ticks increase it.
  The halves of one run are then compared, and the halves of two runs, for the same cells: the second share is lower than the first by
  the effect of the process. Only cells with at least 40 samples in every run are used. Odd and even samples would show less than
  halves, because both follow any drift.
- The cells whose medians differ most.

Needs only the standard library. Exit codes: 0 printed; 2 the runs cannot be compared.
"""

import argparse
import itertools
import json
import math
import os
import re
import statistics
import subprocess
import sys
import tempfile
from collections import Counter
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parents[3]
sys.path.insert(0, str(ROOT / "scripts"))
from plotting.recorded import UsageError, exit_with, markdown_table, read_report, results_file  # noqa: E402
from plotting.statuses import PASSED  # noqa: E402

MIN_TO_HALVE = 40  # halves of 20, the default minimum number of samples
PRECISE = 0.01
VERDICTS = ("slower", "faster", "inconclusive", "same")
MODES = ("cold", "warm", "graph")


@dataclass
class Run:
    name: str
    path: Path
    report: dict

    def identity(self):
        """Properties that must be equal in repeated runs."""
        provenance = self.report["provenance"]
        device, config = provenance.get("device") or {}, provenance.get("config") or {}
        return {
            "GPU": device.get("name"),
            "driver": device.get("driver_version"),
            "CUDA": provenance.get("cuda_toolkit"),
            "commit": provenance.get("git_commit"),
            "config": config.get("sha256"),
            "settings": provenance.get("settings"),
        }


def read_run(given):
    path = results_file(given)
    report = read_report(path)
    if not any(row.get("samples_us") for row in report["rows"]):
        raise UsageError(f"{path}: no row has samples; was it written with --no-samples?")
    name = path.name.removesuffix(".zst").removesuffix(".json")
    return Run(path.parent.name if name == "results" else name, path, report)


def check_repeated(runs):
    """Raises UsageError if two runs are the same run, or if their properties differ."""
    for a, b in itertools.combinations(runs, 2):
        if a.report == b.report:
            raise UsageError(f"{a.path} and {b.path} are one run")
        was, is_now = a.identity(), b.identity()
        changed = [f"{name}: {was[name]} → {is_now[name]}" for name in was if was[name] != is_now[name]]
        if changed:
            raise UsageError(f"{a.path} and {b.path} are not runs of the same: {'; '.join(changed)}")


class Comparer:
    """Runs `gpuexp compare` on reports and on modified copies of them."""

    def __init__(self, program, noise, folder):
        self.program = program
        self.noise = ["--noise", noise] if noise else []
        self.folder = Path(folder)
        self.made = 0

    def compare(self, a, b):
        """The output of `compare --json` for two files."""
        command = [self.program, "compare", str(a), str(b), "--json", "-", *self.noise]
        try:
            done = subprocess.run(command, capture_output=True, text=True, check=False)
        except OSError as error:
            raise UsageError(f"--gpuexp {self.program}: cannot run: {error.strerror}") from None
        if done.returncode != 0:
            raise UsageError(done.stderr.strip() or f"{' '.join(command)}: exit code {done.returncode}")
        return json.loads(done.stdout)

    def changed(self, run, change):
        """Writes the run's report with `change` applied to the samples of each row, and without rows that have no samples left. Returns
        the path."""
        rows = [{**row, "samples_us": change(row)} for row in run.report["rows"]]
        self.made += 1
        path = self.folder / f"{self.made}.json"
        kept = {**run.report, "rows": [row for row in rows if row["samples_us"]]}
        path.write_text(json.dumps(kept), encoding="utf-8")
        return path


def passed(comparison):
    """Rows that passed in both runs."""
    return [row for row in comparison["rows"] if row["status_a"] in PASSED and row["status_b"] in PASSED]


def share(part, whole):
    return f"{100 * part / whole:.1f} %" if whole else ""


def verdicts_table(named):
    rows, sums = [], [0] * (1 + len(VERDICTS))
    for a, b, comparison in named:
        outcomes = [row["outcome"] for row in passed(comparison)]
        counts = [len(outcomes), *(outcomes.count(verdict) for verdict in VERDICTS)]
        sums = [total + count for total, count in zip(sums, counts)]
        rows.append([a, b, *counts, share(counts[1] + counts[2], counts[0])])
    if len(rows) > 1:
        rows.append(["all pairs", "", *sums, share(sums[1] + sums[2], sums[0])])
    return markdown_table(["A", "B", "rows", *VERDICTS, "false verdicts"], rows, 2)


def is_precise(row):
    for side in "ab":
        low, high = (row[f"time_{side}_ci95_{end}_us"] for end in ("low", "high"))
        if low is None or not (high - low) / 2 <= PRECISE * row[f"time_{side}_us"]:
            return False
    return True


def planted_table(named):
    rows, sums = [], [0] * 4
    for a, b, comparison in named:
        all_rows = passed(comparison)
        precise = [row for row in all_rows if is_precise(row)]
        counts = [len(all_rows), found(all_rows), len(precise), found(precise)]
        sums = [total + count for total, count in zip(sums, counts)]
        rows.append([a, b, *found_cells(counts)])
    if len(rows) > 1:
        rows.append(["all pairs", "", *found_cells(sums)])
    return markdown_table(["A", "slowed B", "rows", "found", "precise rows", "found", "of precise"], rows, 2)


def why_not_found(named):
    """The reasons that compare gives for precise rows that are not SLOWER, without their numbers, and how often each occurs."""
    lost = [row for _, _, comparison in named for row in passed(comparison) if is_precise(row)]
    lost = [row for row in lost if row["outcome"] != "slower"]
    reasons = Counter(re.sub(r"[\d.]+", "…", (row["why"] or row["outcome"]).split(":")[0]) for row in lost)
    return "; ".join(f"{count} {reason}" for reason, count in reasons.most_common()) or "none"


def found(rows):
    return sum(row["outcome"] == "slower" for row in rows)


def found_cells(counts):
    return [*counts, share(counts[3], counts[2])]


def holds(row, interval_of, median_of):
    """True if the interval of run `interval_of` contains the median of run `median_of`; None if there is no interval."""
    low, high = (row[f"time_{interval_of}_ci95_{end}_us"] for end in ("low", "high"))
    return None if low is None else low <= row[f"time_{median_of}_us"] <= high


def held(comparisons, mode=None):
    """Number of intervals, in both directions of every row, and number of intervals that contain the other run's median."""
    answers = [
        holds(row, *sides)
        for comparison in comparisons
        for row in passed(comparison)
        if mode in (None, row["mode"])
        for sides in ("ab", "ba")
    ]
    answers = [answer for answer in answers if answer is not None]
    return len(answers), sum(answers)


def held_by_chance(coverage=0.95):
    """P(held) of the module docstring."""
    normal = statistics.NormalDist()
    return 2 * normal.cdf(normal.inv_cdf((1 + coverage) / 2) / math.sqrt(2)) - 1


def first_half(samples):
    return samples[: len(samples) // 2]


def second_half(samples):
    return samples[(len(samples) + 1) // 2 :]


def halves(comparer, runs):
    """Comparisons of the two halves of each run, and of halves of two runs, for the same cells."""
    long_in = [
        {row["key"] for row in run.report["rows"] if len(row.get("samples_us") or []) >= MIN_TO_HALVE} for run in runs
    ]
    cells = set.intersection(*long_in)
    if not cells:
        return [], []

    def half_of(run, which):
        return comparer.changed(run, lambda row: which(row["samples_us"]) if row["key"] in cells else [])

    firsts, seconds = ([half_of(run, which) for run in runs] for which in (first_half, second_half))
    within = [comparer.compare(*pair) for pair in zip(firsts, seconds)]
    across = [comparer.compare(firsts[i], seconds[j]) for i, j in itertools.permutations(range(len(runs)), 2)]
    return within, across


def coverage_table(pairs, within, across):
    lines = [("a run", "another run", "all", held(pairs))]
    modes = [(mode, held(pairs, mode)) for mode in MODES]
    lines += [("a run", "another run", f"{mode} alone", answer) for mode, answer in modes if answer[0]]
    if within:
        cells = f"{MIN_TO_HALVE} samples or more"
        lines.append(("half of a run", "the other half of it", cells, held(within)))
        lines.append(("half of a run", "the other half of another run", cells, held(across)))
    rows = [[*names, *answer, share(answer[1], answer[0])] for *names, answer in lines]
    return markdown_table(["interval of", "median of", "cells", "intervals", "held", "share"], rows, 3)


def medians(runs, named):
    """{cell: median in each run} of cells that passed in all runs."""
    found_in = [{} for _ in runs]
    for (i, j), (_, _, comparison) in zip(itertools.combinations(range(len(runs)), 2), named):
        for row in passed(comparison):
            for run, side in ((i, "a"), (j, "b")):
                if row[f"time_{side}_us"]:
                    found_in[run][row["key"]] = row[f"time_{side}_us"]
    return {key: [times[key] for times in found_in] for key in found_in[0] if all(key in times for times in found_in)}


def moved_table(runs, named, count):
    rows_of_pairs = [row for _, _, comparison in named for row in passed(comparison)]
    false = Counter(row["key"] for row in rows_of_pairs if row["outcome"] in ("slower", "faster"))
    apart = {key: (max(times) / min(times), times) for key, times in medians(runs, named).items()}
    largest = sorted(apart.items(), key=lambda item: -item[1][0])[:count]
    rows = [
        [f"`{key}`", *(f"{time:.5g} µs" for time in times), f"{100 * (ratio - 1):.1f} %", false[key]]
        for key, (ratio, times) in largest
    ]
    return markdown_table(["cell", *(run.name for run in runs), "apart", "false verdicts"], rows)


def title(runs, comparison):
    provenance, identity = runs[0].report["provenance"], runs[0].identity()
    parts = [
        identity["GPU"],
        f"driver {identity['driver']}",
        f"CUDA {identity['CUDA']}",
        f"commit {str(identity['commit'])[:12]}",
        (provenance.get("config") or {}).get("path"),
        f"{len(runs)} runs",
    ]
    effect = comparison["min_effect"]
    text = f"minimum effect {100 * effect['relative']:.3g} %"
    if effect["absolute_us"]:
        text += f" or {effect['absolute_us']:.3g} µs, whichever is larger"
    return f"{' · '.join(str(part) for part in parts)}\n{text} ({effect['source']})"


def program(options):
    """Path of the program: --gpuexp, else build/gpuexp of this repository."""
    given = Path(options.gpuexp) if options.gpuexp else ROOT / "build" / "gpuexp"
    if not given.is_file() or not os.access(given, os.X_OK):
        raise UsageError(f"{given}: no such program; set its path with --gpuexp")
    return str(given.resolve())


def run(options):
    runs = [read_run(given) for given in options.runs]
    if len(runs) < 2:
        raise UsageError("one run alone cannot be compared; expected two or more")
    check_repeated(runs)
    if not 0 < options.planted < math.inf:
        raise UsageError(f"--planted {options.planted:g}: expected more than 0 %")
    pairs = list(itertools.combinations(runs, 2))
    slower = 1 + options.planted / 100
    with tempfile.TemporaryDirectory() as folder:
        comparer = Comparer(program(options), options.noise, folder)
        named = [(a.name, b.name, comparer.compare(a.path, b.path)) for a, b in pairs]
        slowed = {
            b.path: comparer.changed(b, lambda row: [slower * time for time in row.get("samples_us") or []])
            for b in runs[1:]
        }
        planted = [(a.name, b.name, comparer.compare(a.path, slowed[b.path])) for a, b in pairs]
        within, across = halves(comparer, runs)
    comparisons = [comparison for _, _, comparison in named]
    print(f"{title(runs, comparisons[0])}\n\nVerdicts between runs of one binary:\n\n{verdicts_table(named)}")
    print(f"\nEvery sample of B longer by {options.planted:g} %:\n\n{planted_table(planted)}")
    print(f"\nPrecise rows in which it was not found: {why_not_found(planted)}.")
    print("\nHow often an interval contains the median of another series. Independent series with the same median and spread, and")
    print(f"intervals that contain it in exactly 95 % of cases, give {100 * held_by_chance():.1f} %:\n")
    print(coverage_table(comparisons, within, across))
    print(f"\nCells whose medians differ most:\n\n{moved_table(runs, named, options.moved)}")


def main():
    parser = argparse.ArgumentParser(
        prog="repeatability.py", description="Evaluates the statistics with repeated runs of one binary."
    )
    parser.add_argument("runs", metavar="RUN", nargs="+", help="run folder or its results.json")
    parser.add_argument("--gpuexp", metavar="PROGRAM", help="gpuexp program (default: build/gpuexp of this repository)")
    parser.add_argument("--noise", metavar="FILE", help="file with the minimum effect, as for gpuexp compare")
    parser.add_argument("--planted", metavar="PCT", type=float, default=3, help="injected slowdown in percent (default: 3)")
    parser.add_argument("--moved", metavar="N", type=int, default=8, help="number of cells with the largest differences to show (default: 8)")
    run(parser.parse_args())


if __name__ == "__main__":
    exit_with(main, OSError)
