#!/usr/bin/env python3
"""Prints the tables of docs/explaining.md: how many differences `gpuexp explain` explains in each recorded run.

    docs/studies/explanations/explained_shares.py build/gpuexp

The first table has a row for each run, with the number of differences above 5 % on each GPU between rows with counters; families of
divergence and runs without such differences are left out. The second table has a row for each cause.
"""
import argparse
import collections
import json
import subprocess
from pathlib import Path

import sample_explanations as sample

RESULTS = Path(__file__).resolve().parents[2] / "results"
GPUS = ("h200", "h100")
LEAST = 1.05
CONFIDENCES = ("high", "medium", "low")


def counted_differences(program, results):
    text = subprocess.run([program, "explain", results, "--all", "--json"], check=True, capture_output=True, text=True).stdout
    # Simulated results have predicted comparisons instead.
    return [e for e in sample.differences(json.loads(text).get("explanations", []), LEAST) if e["counted"]]


def explained_of(found):
    return sum(e["confidence"] in CONFIDENCES for e in found)


def cells(found):
    """Number of differences of one run, and how many are explained."""
    if not found:
        return ["", ""]
    explained = explained_of(found)
    return [len(found), f"{explained} ({100 * explained / len(found):.0f} %)"]


def table(head, rows):
    lines = ["| " + " | ".join(head) + " |", "|---|" + "---:|" * (len(head) - 1)]
    return lines + ["| " + " | ".join(str(cell) for cell in row) + " |" for row in rows]


def tables(found):
    """The two tables. `found`: {GPU: {run: explanations}}."""
    runs = sorted({run for of_gpu in found.values() for run, of_run in of_gpu.items() if of_run})
    rows = [[run, *(cell for of_gpu in found.values() for cell in cells(of_gpu.get(run, [])))] for run in runs]
    every = {gpu: [e for of_run in of_gpu.values() for e in of_run] for gpu, of_gpu in found.items()}
    rows.append(["every run", *(cell for of_gpu in every.values() for cell in cells(of_gpu))])
    both = [e for of_gpu in every.values() for e in of_gpu]
    causes = collections.Counter(e["cause"] for e in both if e["confidence"] in CONFIDENCES)
    by_cause = [[cause, number, *(sum(e["cause"] == cause and e["confidence"] == c for e in both) for c in CONFIDENCES)]
                for cause, number in sorted(causes.items(), key=lambda item: (-item[1], item[0]))]
    return (table(["run", *(title for gpu in found for title in (f"differences on {gpu.upper()}", "explained"))], rows),
            table(["cause", "explained", *CONFIDENCES], by_cause))


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("program", help="the gpuexp program")
    program = parser.parse_args().program
    found = {gpu: {path.name.split(".")[0]: counted_differences(program, path) for path in sorted((RESULTS / gpu).glob("*.json.zst"))}
             for gpu in GPUS}
    of_runs, of_causes = tables(found)
    print("\n".join([*of_runs, "", *of_causes]))


if __name__ == "__main__":
    main()
