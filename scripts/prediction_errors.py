#!/usr/bin/env python3
"""Compares predicted times with measured times.

usage: prediction_errors.py RESULTS... [--predicted PREDICTIONS] [--causes CAUSES] [--worst N]
       prediction_errors.py RESULTS... [--predicted PREDICTIONS] --summary NAME
       prediction_errors.py RESULTS... [--predicted PREDICTIONS] --bands

RESULTS are folders, results.json or results.csv of runs on one GPU. PREDICTIONS is the output of `gpuexp predict CONFIG... --gpu ID --csv`
(default: each row's own predicted_time_us). Rows of kernels that passed and were timed are compared, and rows that call a library between kernels if
they have a predicted time.

Prints Markdown tables, whose errors are those of rows with a predicted time:
- For each family: the number of rows; rows without a predicted time; median and 90th percentile of |ln(predicted / measured)| (0.1 is 10 %); the
  median of ln(predicted / measured), which is above 0 if predictions are too slow; the mean of |predicted - measured| / measured (MAPE); the
  share of rows within 25 % of the measured time; and the share of pairs of variants of one problem and mode that are predicted in the measured
  order, of pairs whose times differ by a factor of 1.1 or more. --summary prints only the line for all rows, named NAME, and the
  99.5th percentile of |ln(predicted / measured)| as a factor.
- If PREDICTIONS have reasons for missing times: the number of rows for each reason.
- If limits by measured ceilings are known: the errors of a simpler model on the same rows, roofline of the work plus floor (time of an empty
  kernel in the run); of all rows, and of those that are neither bound by DRAM or launch nor divergent, because a simple model predicts those well.
- --causes: the rows whose prediction is off by more than a factor of 2, with their causes. CAUSES is a CSV with the columns key (a pattern, as
  in a shell), and cause. Ends with exit code 2 if such a row has no cause, or a cause has no such row.

--bands prints another table instead: for each cause of a wide band (predicted_band_cause), the band, the number of rows, and the share of the rows
whose measured time lies within it; the last line has all rows and their median band.

--worst lists the N rows with the largest errors. Exit codes: 0 printed; 2 nothing to compare, or wrong causes.
"""

import argparse
import csv
import fnmatch
import itertools
import math
import statistics
from collections import Counter, defaultdict

from plotting.recorded import UsageError, exit_with, markdown_table, read_rows
from plotting.statuses import PASSED
from pytorch.protocol import quantile

FAR_OFF = math.log(2)
MIN_RATIO = 1.1  # the order of variants with closer measured times is not compared


def read_predictions(path):
    """Rows of a file of predictions, by key."""
    return {row["key"]: row for row in read_rows(path)}


def prediction_of(key, predictions):
    """The prediction of a row, {} if there is none. A run of several configs begins keys with the config's name."""
    return predictions.get(key) or predictions.get(key.split(".", 1)[-1], {})


def simple_time(row, prediction):
    """Time predicted by roofline and floor, in us; None if either is missing."""
    limit, floor = prediction.get("measured_limit_time_us"), row.get("floor_us")
    return float(limit) + float(floor) if limit and floor else None


def is_easy(row, prediction):
    """True for rows bound by DRAM or launch, which any model predicts, and for families with divergence."""
    return prediction.get("bound_by") in ("dram", "launch") or "divergence" in row["family"]


def cells_of(rows, predictions):
    """Rows as dictionaries; the keys `predicted` and `error` are missing if a row has no predicted time."""
    cells = []
    for row in rows:
        prediction = row if predictions is None else prediction_of(row["key"], predictions)
        if row["status"] not in PASSED or not row["time_median_us"]:
            continue
        if row.get("implementation") == "library" and not prediction.get("predicted_time_us"):
            continue
        measured = float(row["time_median_us"])
        cell = {"key": row["key"], "family": row["family"], "variant": row["variant"], "measured": measured,
                "problem": row["key"].replace(f"/{row['variant']}/", "/", 1)}
        time = prediction.get("predicted_time_us")
        if time:
            cell |= {"predicted": float(time), "error": math.log(float(time) / measured), "simple": simple_time(row, prediction),
                     "easy": is_easy(row, prediction)}
            if prediction.get("predicted_band_pct"):
                cell |= {"band_pct": float(prediction["predicted_band_pct"]), "band_cause": prediction.get("predicted_band_cause") or ""}
        else:
            cell["reason"] = prediction.get("why_no_predicted_time") if prediction else "the cell is not among the predictions"
        cells.append(cell)
    return cells


def order_counts(cells):
    """Number of pairs of variants of one problem whose measured times differ by MIN_RATIO or more, and how many are predicted in order."""
    by_problem = defaultdict(list)
    for cell in cells:
        by_problem[cell["problem"]].append(cell)
    pairs = right = 0
    for group in by_problem.values():
        for a, b in itertools.combinations(group, 2):
            if a["variant"] == b["variant"] or max(a["measured"], b["measured"]) < MIN_RATIO * min(a["measured"], b["measured"]):
                continue
            pairs += 1
            right += (a["predicted"] > b["predicted"]) == (a["measured"] > b["measured"])
    return pairs, right


HEAD = ["family", "rows", "no time", "median", "90th percentile", "median, signed", "MAPE", "within 25 %", "order"]


def line(name, cells):
    predicted = [cell for cell in cells if "error" in cell]
    counts = [name, len(cells), len(cells) - len(predicted)]
    if not predicted:
        return counts + [""] * (len(HEAD) - len(counts))
    errors = sorted(abs(cell["error"]) for cell in predicted)
    signed = statistics.median(cell["error"] for cell in predicted)
    parts = [abs(cell["predicted"] / cell["measured"] - 1) for cell in predicted]
    pairs, right = order_counts(predicted)
    return counts + [f"{statistics.median(errors):.3f}", f"{quantile(errors, 0.9):.3f}", f"{signed:+.3f}", f"{100 * statistics.mean(parts):.1f} %",
                     f"{100 * sum(part <= 0.25 for part in parts) / len(parts):.1f} %", f"{100 * right / pairs:.0f} % of {pairs}" if pairs else ""]


def print_reasons(cells):
    reasons = defaultdict(Counter)
    for cell in cells:
        if cell.get("reason"):
            reasons[cell["reason"]][cell["family"]] += 1
    if not reasons:
        return
    print("\nRows without a predicted time, by reason:\n")
    by_count = sorted(reasons.items(), key=lambda item: (-item[1].total(), item[0]))
    print(markdown_table(["reason", "families", "rows"], [[reason, ", ".join(sorted(families)), families.total()] for reason, families in by_count], 2))


def median_and_90th(errors):
    errors = sorted(abs(error) for error in errors)
    return f"{statistics.median(errors):.2f} ({quantile(errors, 0.9):.2f})"


def print_models(cells):
    cells = [cell for cell in cells if cell.get("simple")]
    if not cells:
        return
    print("\nMedian error of each model, with its 90th percentile:\n")
    hard = [cell for cell in cells if not cell["easy"]]
    rows = [[name, len(some), median_and_90th(cell["error"] for cell in some),
             median_and_90th(math.log(cell["simple"] / cell["measured"]) for cell in some)]
            for name, some in (("all", cells), ("not bound by DRAM or launch, no divergence", hard)) if some]
    print(markdown_table(["rows", "number", "this model", "roofline and floor"], rows))


def print_bands(cells):
    cells = [cell for cell in cells if cell.get("band_pct")]
    if not cells:
        raise UsageError("no row has a measured time and a band of its predicted time")

    def band_line(cause, some):
        within = sum(abs(cell["error"]) <= math.log1p(cell["band_pct"] / 100) for cell in some)
        return [cause, f"± {statistics.median(cell['band_pct'] for cell in some):.0f} %", len(some), f"{100 * len(some) / len(cells):.1f} %",
                f"{100 * within / len(some):.1f} %"]

    causes = sorted({cell["band_cause"] for cell in cells})
    rows = [band_line(cause or "none", [cell for cell in cells if cell["band_cause"] == cause]) for cause in causes]
    print(markdown_table(["cause", "band", "rows", "share of rows", "within the band"], [*rows, band_line("all (median band)", cells)]))


def print_causes(cells, path):
    """Prints the rows beyond FAR_OFF with the causes in the file."""
    with open(path, newline="", encoding="utf-8") as file:
        causes = [(row["key"], row["cause"]) for row in csv.DictReader(file)]
    far = [cell for cell in cells if abs(cell.get("error", 0)) > FAR_OFF]
    found = defaultdict(list)
    for cell in far:
        pattern = next((pattern for pattern, _ in causes if fnmatch.fnmatchcase(cell["key"], pattern)), None)
        if pattern is None:
            raise UsageError(f"{path}: no cause for {cell['key']}: {cell['predicted']:.4g} us predicted, {cell['measured']:.4g} us measured")
        found[pattern].append(cell)
    rows = []
    for pattern, cause in causes:
        if pattern not in found:
            raise UsageError(f"{path}: {pattern}: no row is off by more than a factor of 2")
        worst = max(found[pattern], key=lambda cell: abs(cell["error"]))
        rows.append([f"`{pattern}`", cause, len(found[pattern]), f"{worst['predicted']:.4g}", f"{worst['measured']:.4g}"])
    print(f"\nRows off by more than a factor of 2: {len(far)}. Times are those of the worst row:\n")
    print(markdown_table(["key", "cause", "rows", "predicted_us", "measured_us"], rows, 2))


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("results", nargs="+")
    parser.add_argument("--predicted")
    parser.add_argument("--causes")
    parser.add_argument("--summary", metavar="NAME")
    parser.add_argument("--bands", action="store_true")
    parser.add_argument("--worst", type=int, default=0)
    arguments = parser.parse_args()
    predictions = read_predictions(arguments.predicted) if arguments.predicted else None
    cells = cells_of((row for path in arguments.results for row in read_rows(path)), predictions)
    with_time = [cell for cell in cells if "error" in cell]
    if not with_time:
        raise UsageError(f"{arguments.results[0]}: no row has both a measured and a predicted time")
    if arguments.bands:
        print_bands(with_time)
        return
    if arguments.summary:
        worst = math.exp(quantile(sorted(abs(cell["error"]) for cell in with_time), 0.995))
        print(markdown_table(["rows of", *HEAD[1:], "99.5th percentile"], [[*line(arguments.summary, cells), f"{worst:.2f}×"]]))
        return
    families = sorted({cell["family"] for cell in cells})
    print(markdown_table(HEAD, [*(line(family, [cell for cell in cells if cell["family"] == family]) for family in families), line("all", cells)]))
    print_reasons(cells)
    print_models(cells)
    if arguments.causes:
        print_causes(cells, arguments.causes)
    for cell in sorted(with_time, key=lambda cell: -abs(cell["error"]))[:arguments.worst]:
        print(f"{cell['error']:+.3f}  {cell['measured']:.4g} us, predicted {cell['predicted']:.4g}  {cell['key']}")


if __name__ == "__main__":
    exit_with(main)
