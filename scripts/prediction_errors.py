#!/usr/bin/env python3
"""Compares predicted times with measured times.

usage: prediction_errors.py RESULTS [--predicted PREDICTIONS] [--compare PREDICTIONS] [--worst N]
       prediction_errors.py RESULTS [--predicted PREDICTIONS] --summary NAME

RESULTS is the folder, results.json or results.csv of a run. PREDICTIONS is the output of `gpuexp predict CONFIG --gpu ID --csv`
(default: the run's column predicted_time_us). Only rows that passed and have a prediction are used.

Prints Markdown: for each family the error |ln(predicted / measured)| (0.1 is 10 %), and the share of pairs of variants of one
problem whose predicted order is the measured order: once for pairs whose times differ by a factor of 1.1 to 1.5, once for larger factors.
If the limits by measured ceilings are known, a second table has the error of a simpler model on the same rows: roofline of the work
plus floor (time of an empty kernel in the run). It covers all rows, and then only rows that are not bound by DRAM or launch and
not divergent, because a simple model predicts the other rows well.
--compare adds a table of the errors of both predictions, those in RESULTS and those in PREDICTIONS, for the rows that have both.
--summary prints one row over all cells instead, with the mean absolute percentage error |predicted - measured| / measured.
--worst lists the N cells with the largest errors. Needs only the standard library. Exit codes: 0 printed; 2 nothing to compare.
"""

import argparse
import itertools
import math
import statistics
from collections import defaultdict

from plotting.recorded import UsageError, exit_with, read_rows
from plotting.statuses import PASSED
from pytorch.protocol import quantile


def read_predictions(path):
    """Rows of a file of predictions, by key."""
    return {row["key"]: row for row in read_rows(path)}


def simple_time(row, prediction):
    """Time predicted by roofline and floor, in us; None if either is missing."""
    limit, floor = prediction.get("measured_limit_time_us"), row.get("floor_us")
    return float(limit) + float(floor) if limit and floor else None


def is_easy(row, prediction):
    """True for rows bound by DRAM or launch, which any model predicts, and for families with divergence."""
    return prediction.get("bound_by") in ("dram", "launch") or "divergence" in row["family"]


def cells_of(rows, predictions):
    """Cells with a measured and a predicted time, as dictionaries."""
    cells = []
    for row in rows:
        prediction = row if predictions is None else predictions.get(row["key"], {})
        time = prediction.get("predicted_time_us")
        if row["status"] not in PASSED or not row["time_median_us"] or not time:
            continue
        measured = float(row["time_median_us"])
        cells.append({"key": row["key"], "family": row["family"], "variant": row["variant"], "measured": measured,
                      "predicted": float(time), "error": math.log(float(time) / measured),
                      "simple": simple_time(row, prediction), "easy": is_easy(row, prediction),
                      "problem": row["key"].replace(f"/{row['variant']}/", "/", 1)})
    return cells


def order_counts(cells, low, high):
    """Number of pairs of one problem whose measured times differ by a factor in [low, high), and how many are predicted in order."""
    by_problem = defaultdict(list)
    for cell in cells:
        by_problem[cell["problem"]].append(cell)
    pairs = right = 0
    for group in by_problem.values():
        for a, b in itertools.combinations(group, 2):
            ratio = a["measured"] / b["measured"]
            if not low <= max(ratio, 1 / ratio) < high:
                continue
            pairs += 1
            right += (a["predicted"] > b["predicted"]) == (a["measured"] > b["measured"])
    return pairs, right


def share(pairs_and_right):
    pairs, right = pairs_and_right
    return f"{100 * right / pairs:.0f} % of {pairs}" if pairs else ""


def line(name, cells):
    errors = sorted(abs(cell["error"]) for cell in cells)
    signed = statistics.median(cell["error"] for cell in cells)
    worst = max(cells, key=lambda cell: abs(cell["error"]))
    return (f"| {name} | {len(cells)} | {statistics.median(errors):.3f} | {quantile(errors, 0.9):.3f} | {signed:+.3f} | "
            f"{worst['error']:+.2f} | {share(order_counts(cells, 1.1, 1.5))} | {share(order_counts(cells, 1.5, math.inf))} |")


def median_and_90th(errors, digits=2):
    errors = sorted(abs(error) for error in errors)
    return f"{statistics.median(errors):.{digits}f} ({quantile(errors, 0.9):.{digits}f})"


def models_line(name, cells):
    errors = [[cell["error"] for cell in cells], [math.log(cell["simple"] / cell["measured"]) for cell in cells]]
    return f"| {name} | {len(cells)} | {' | '.join(median_and_90th(e) for e in errors)} |"


def print_models(cells):
    cells = [cell for cell in cells if cell["simple"]]
    hard = [cell for cell in cells if not cell["easy"]]
    if not cells:
        return
    print("\nMedian error of each model, with its 90th percentile:\n")
    print("| rows | cells | this model | roofline and floor |")
    print("| --- | --- | --- | --- |")
    print(models_line("all", cells))
    if hard:
        print(models_line("not bound by DRAM or launch, no divergence", hard))


def print_summary(name, cells, passed):
    errors = sorted(abs(cell["error"]) for cell in cells)
    signed = statistics.median(cell["error"] for cell in cells)
    percentages = [100 * abs(cell["predicted"] / cell["measured"] - 1) for cell in cells]
    within = sum(percentage <= 25 for percentage in percentages)
    print("| kernels | rows | without a predicted time | median error | 90th percentile | median, signed | mean percentage | within 25 % |")
    print("| --- | --- | --- | --- | --- | --- | --- | --- |")
    print(f"| {name} | {len(cells)} | {passed - len(cells)} | {statistics.median(errors):.3f} | {quantile(errors, 0.9):.3f} | "
          f"{signed:+.3f} | {statistics.mean(percentages):.1f} % | {within} |")


def compared_line(name, cells, others):
    errors = [median_and_90th([cell["error"] for cell in side], 3) for side in (cells, others)]
    signed = [statistics.median(cell["error"] for cell in side) for side in (cells, others)]
    return f"| {name} | {len(cells)} | {errors[0]} | {signed[0]:+.3f} | {errors[1]} | {signed[1]:+.3f} |"


def print_compared(cells, others):
    """Prints the errors of two predictions for the rows that have both."""
    others = {cell["key"]: cell for cell in others}
    both = [(cell, others[cell["key"]]) for cell in cells if cell["key"] in others]
    if not both:
        raise UsageError("--compare: no row has both predictions")
    print("\nMedian error and 90th percentile of both predictions, and the signed median:\n")
    print("| family | cells | in RESULTS | signed | in PREDICTIONS | signed |")
    print("| --- | --- | --- | --- | --- | --- |")
    for family in [*sorted({cell["family"] for cell, _ in both}), None]:
        print(compared_line(family or "all", *zip(*(pair for pair in both if family in (None, pair[0]["family"])))))


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("results")
    parser.add_argument("--predicted")
    parser.add_argument("--compare")
    parser.add_argument("--summary", metavar="NAME")
    parser.add_argument("--worst", type=int, default=0)
    arguments = parser.parse_args()
    predicted = read_predictions(arguments.predicted) if arguments.predicted else None
    rows = read_rows(arguments.results)
    cells = cells_of(rows, predicted)
    if not cells:
        raise UsageError(f"{arguments.results}: no row has both a measured and a predicted time")
    if arguments.summary:
        print_summary(arguments.summary, cells, sum(row["status"] in PASSED and bool(row["time_median_us"]) for row in rows))
        return
    print("| family | cells | median error | 90th percentile | median, signed | worst | order, 1.1 to 1.5 apart | order, 1.5 and more |")
    print("| --- | --- | --- | --- | --- | --- | --- | --- |")
    for family in sorted({cell["family"] for cell in cells}):
        print(line(family, [cell for cell in cells if cell["family"] == family]))
    print(line("all", cells))
    print_models(cells)
    if arguments.compare:
        print_compared(cells, cells_of(rows, read_predictions(arguments.compare)))
    for cell in sorted(cells, key=lambda cell: -abs(cell["error"]))[:arguments.worst]:
        print(f"{cell['error']:+.3f}  {cell['measured']:.4g} us, predicted {cell['predicted']:.4g}  {cell['key']}")


if __name__ == "__main__":
    exit_with(main)
