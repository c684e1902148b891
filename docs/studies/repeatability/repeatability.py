#!/usr/bin/env python3
"""What repeated runs of one binary say of the statistics: false verdicts, planted slowdowns, coverage.

usage: repeatability.py RUN RUN [RUN ...] [--gpuexp PROGRAM] [--noise FILE] [--planted PCT] [--moved N]

A RUN is a run's folder or its results.json; each comes from a process of its own, and all from one binary, config and GPU.
Medians, intervals and verdicts are those of `gpuexp compare`, which makes them from the samples. Prints Markdown tables:

- Every pair of runs (A before B) compared. Nothing differs but the process, so SLOWER and FASTER are false verdicts.
- The same with every sample of B longer by PCT: how many rows are SLOWER, among all and among the precise ones, whose two
  intervals have half-widths within 1 % of their medians.
- How often the interval of one series holds the median of another, in both directions of every pair. A 95 % interval promises
  to hold the true median of its own series; the other's median has an error of its own. If both medians are normal about one
  value with one standard error s, and the interval is 1.96 s to either side, their difference has the standard error
  sqrt(2) s, so P(held) = 2 Phi(1.96 / sqrt(2)) - 1 = 83.4 %. Intervals that cover with c > 95 %, as those of few samples do,
  have Phi^-1((1 + c) / 2) in place of 1.96; the ticks of the clock add to it. The two halves of a run should have one median,
  if nothing drifts; they are held against each other, and then halves of two runs, of the same cells and about as long:
  what the second share lacks of the first is what the process adds. Cells with 40 samples or more in every run have
  halves. Odd against even samples would say less: whatever drifts, both follow.
- The cells whose medians lie furthest apart.

Only the standard library is needed. Exit codes: 0 printed; 2 what was given cannot be compared.
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

FEWEST_TO_HALVE = 40  # halves of 20, the fewest samples that gpuexp takes by default
PRECISE = 0.01
VERDICTS = ("slower", "faster", "inconclusive", "same")
MODES = ("cold", "warm", "graph")


@dataclass
class Run:
    name: str
    path: Path
    report: dict

    def identity(self):
        """What repeated runs share."""
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
    """Throws where two runs are one, or differ in more than when they ran."""
    for a, b in itertools.combinations(runs, 2):
        if a.report == b.report:
            raise UsageError(f"{a.path} and {b.path} are one run")
        was, is_now = a.identity(), b.identity()
        changed = [f"{name}: {was[name]} → {is_now[name]}" for name in was if was[name] != is_now[name]]
        if changed:
            raise UsageError(f"{a.path} and {b.path} are not runs of the same: {'; '.join(changed)}")


class Comparer:
    """`gpuexp compare` on reports, some of which are made here from others."""

    def __init__(self, program, noise, folder):
        self.program = program
        self.noise = ["--noise", noise] if noise else []
        self.folder = Path(folder)
        self.made = 0

    def compare(self, a, b):
        """What `compare --json` says of two files."""
        command = [self.program, "compare", str(a), str(b), "--json", "-", *self.noise]
        try:
            done = subprocess.run(command, capture_output=True, text=True, check=False)
        except OSError as error:
            raise UsageError(f"--gpuexp {self.program}: cannot run: {error.strerror}") from None
        if done.returncode != 0:
            raise UsageError(done.stderr.strip() or f"{' '.join(command)}: exit code {done.returncode}")
        return json.loads(done.stdout)

    def changed(self, run, change):
        """A file of the run's report with `change` made of each row's samples; rows that have none left are left out."""
        rows = [{**row, "samples_us": change(row)} for row in run.report["rows"]]
        self.made += 1
        path = self.folder / f"{self.made}.json"
        kept = {**run.report, "rows": [row for row in rows if row["samples_us"]]}
        path.write_text(json.dumps(kept), encoding="utf-8")
        return path


def passed(comparison):
    """Rows that passed in both."""
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
    """The reasons that compare gives for precise rows that are not SLOWER, less their numbers, and how often."""
    lost = [row for _, _, comparison in named for row in passed(comparison) if is_precise(row)]
    lost = [row for row in lost if row["outcome"] != "slower"]
    reasons = Counter(re.sub(r"[\d.]+", "…", (row["why"] or row["outcome"]).split(":")[0]) for row in lost)
    return "; ".join(f"{count} {reason}" for reason, count in reasons.most_common()) or "none"


def found(rows):
    return sum(row["outcome"] == "slower" for row in rows)


def found_cells(counts):
    return [*counts, share(counts[3], counts[2])]


def holds(row, interval_of, median_of):
    """Whether one side's interval holds the other's median; none where there is no interval."""
    low, high = (row[f"time_{interval_of}_ci95_{end}_us"] for end in ("low", "high"))
    return None if low is None else low <= row[f"time_{median_of}_us"] <= high


def held(comparisons, mode=None):
    """Of both directions of every row: how many intervals there are, and how many hold the other's median."""
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
    """P(held) of the docstring."""
    normal = statistics.NormalDist()
    return 2 * normal.cdf(normal.inv_cdf((1 + coverage) / 2) / math.sqrt(2)) - 1


def first_half(samples):
    return samples[: len(samples) // 2]


def second_half(samples):
    return samples[(len(samples) + 1) // 2 :]


def halves(comparer, runs):
    """Comparisons of the halves of each run, and of halves of two runs, over the same cells."""
    long_in = [
        {row["key"] for row in run.report["rows"] if len(row.get("samples_us") or []) >= FEWEST_TO_HALVE} for run in runs
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
        cells = f"{FEWEST_TO_HALVE} samples or more"
        lines.append(("half of a run", "the other half of it", cells, held(within)))
        lines.append(("half of a run", "the other half of another run", cells, held(across)))
    rows = [[*names, *answer, share(answer[1], answer[0])] for *names, answer in lines]
    return markdown_table(["interval of", "median of", "cells", "intervals", "held", "share"], rows, 3)


def medians(runs, named):
    """{cell: median in each run} of cells that passed in all."""
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
        text += f" or {effect['absolute_us']:.3g} µs, whichever is more"
    return f"{' · '.join(str(part) for part in parts)}\n{text} ({effect['source']})"


def program(options):
    """As given, else what the build made, wherever this is called from."""
    given = Path(options.gpuexp) if options.gpuexp else ROOT / "build" / "gpuexp"
    if not given.is_file() or not os.access(given, os.X_OK):
        raise UsageError(f"{given}: no such program; --gpuexp names one")
    return str(given.resolve())


def run(options):
    runs = [read_run(given) for given in options.runs]
    if len(runs) < 2:
        raise UsageError("one run alone says nothing of another; give two or more")
    check_repeated(runs)
    if not 0 < options.planted < math.inf:
        raise UsageError(f"--planted {options.planted:g}: more than 0 %")
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
    print("\nHow often an interval holds another median. Independent series with the same median and spread, and intervals")
    print(f"that cover it in exactly 95 % of cases, give {100 * held_by_chance():.1f} %:\n")
    print(coverage_table(comparisons, within, across))
    print(f"\nCells whose medians lie furthest apart:\n\n{moved_table(runs, named, options.moved)}")


def main():
    parser = argparse.ArgumentParser(
        prog="repeatability.py", description="What repeated runs of one binary say of the statistics."
    )
    parser.add_argument("runs", metavar="RUN", nargs="+", help="a run's folder, or its results.json")
    parser.add_argument("--gpuexp", metavar="PROGRAM", help="(default: build/gpuexp of this repository)")
    parser.add_argument("--noise", metavar="FILE", help="minimum effect, as for gpuexp compare")
    parser.add_argument("--planted", metavar="PCT", type=float, default=3, help="slowdown to be found (default: 3)")
    parser.add_argument("--moved", metavar="N", type=int, default=8, help="cells shown that moved most (default: 8)")
    run(parser.parse_args())


if __name__ == "__main__":
    exit_with(main, OSError)
