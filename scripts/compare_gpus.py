#!/usr/bin/env python3
"""Compares two GPU models by their recorded results.

usage: compare_gpus.py ceilings A.json B.json [--scaled RESULTS.json]
       compare_gpus.py times COMPARISON.csv [--rows A.csv --by COLUMN]
       compare_gpus.py kernels A.json B.json
       compare_gpus.py explanations A.json B.json

ceilings: compares the ceilings of two files that `gpuexp info --measure --out FILE` wrote. RESULTS.json is from a run on B that had
no measured ceilings: the table adds the ceilings that its predictions used, scaled from another GPU by the ratio of the datasheets.
times: summarizes COMPARISON.csv of `gpuexp compare A B --csv COMPARISON.csv` (- is standard input), grouped by one of its columns or
of A's results.csv (default: experiment): number of rows with both times; median, minimum and maximum of B's time divided by A's
time; and number of rows with each verdict.
kernels: lists the rows, in two results.json with counters, for which a library launched different kernels on A and on B.
explanations: counts the comparisons of two variants that agree in two outputs of `gpuexp explain RESULTS --all --json`.

Prints Markdown. Needs only the standard library. Exit codes: 0 printed; 2 nothing to compare.
"""

import argparse
import json
import statistics
from collections import defaultdict

from plotting.recorded import UsageError, exit_with, markdown_table, read_json, read_rows

VERDICTS = ["slower", "inconclusive", "faster", "same"]


def number(value):
    return f"{value:.4g}" if value < 1e4 else f"{value:.0f}"


def print_ceilings(arguments):
    a, b = read_json(arguments.a), read_json(arguments.b)
    scaled = read_json(arguments.scaled)["provenance"]["ceilings"]["values"] if arguments.scaled else {}
    head = ["ceiling", "unit", a["device"], b["device"], "ratio"] + (["in proportion", "measured over that"] if scaled else [])
    rows = []
    for id, of_a in a["ceilings"].items():
        if id not in b["ceilings"]:
            continue
        of_b = b["ceilings"][id]["value"]
        row = [id, of_a["unit"], number(of_a["value"]), number(of_b), f"{of_b / of_a['value']:.3f}"]
        if scaled:
            guess = (scaled.get(id) or {}).get("value")
            row += [number(guess), f"{of_b / guess:.3f}"] if guess else ["", ""]
        rows.append(row)
    if not rows:
        raise UsageError("no ceiling is in both files")
    print(markdown_table(head, rows, 2))


def times_line(name, rows):
    ratios = [float(row["ratio"]) for row in rows]
    counts = [sum(row["outcome"] == verdict for row in rows) for verdict in VERDICTS]
    return [name, str(len(rows)), *(f"{f(ratios):.3f}" for f in (statistics.median, min, max)), *map(str, counts)]


def print_times(arguments):
    rows = [row for row in read_rows(arguments.comparison) if row.get("ratio")]
    if not rows:
        raise UsageError(f"{arguments.comparison}: no row has both times")
    of_a = {row["key"]: row for row in read_rows(arguments.rows)} if arguments.rows else {}
    groups = defaultdict(list)
    for row in rows:
        known = {**of_a.get(row["key"], {}), **row}
        if arguments.by not in known:
            raise UsageError(f"no column {arguments.by}" + ("" if arguments.rows else "; --rows takes a results.csv"))
        groups[known[arguments.by] or "not predicted"].append(row)
    lines = [times_line(name, group) for name, group in groups.items()]
    lines.append(times_line("all", rows))
    print(markdown_table([arguments.by.replace("_", " "), "rows", "median", "lowest", "highest", *VERDICTS], lines, 1))


def kernels_of(report):
    """Kernels of each library row, in launch order, and the times of these rows."""
    libraries = {row["key"]: row["time_median_us"] for row in report["rows"] if row.get("implementation") == "library"}
    names = defaultdict(list)
    for kernel in report.get("kernels", []):
        if kernel["key"] in libraries:
            names[kernel["key"]].append(kernel["name"])
    return names, libraries


def print_kernels(arguments):
    (names_a, times_a), (names_b, times_b) = (kernels_of(read_json(path)) for path in (arguments.a, arguments.b))
    both = [key for key in names_a if key in names_b and times_a[key] and times_b[key]]
    if not both:
        raise UsageError("no row of a library has counted kernels in both files")
    rows = []
    for key in both:
        other = [[name for name in names if name not in others]
                 for names, others in ((names_a[key], names_b[key]), (names_b[key], names_a[key]))]
        if any(other):
            rows.append([f"`{key.split('/', 1)[1]}`", *(", ".join(f"`{name}`" for name in names) for names in other),
                         f"{times_b[key] / times_a[key]:.3f}"])
    print(markdown_table(["row", "on A alone", "on B alone", "ratio"], rows, 3))
    print(f"\n{len(rows)} of {len(both)} rows")


def comparisons_of(report):
    return {(e["experiment"], e["variant"], e["compare_to"], e["mode"], json.dumps(e["parameters"], sort_keys=True)): e
            for e in report["explanations"]}


def print_explanations(arguments):
    a, b = (comparisons_of(read_json(path)) for path in (arguments.a, arguments.b))
    both = [(a[key], b[key]) for key in a if key in b]
    if not both:
        raise UsageError("no comparison is in both files")
    differ = [(x, y) for x, y in both if x["differs"] and y["differs"]]
    same_way = sum((x["factor"] > 1) == (y["factor"] > 1) for x, y in differ)
    counts = [("all", len(both)), ("one variant is faster, the same one on both", same_way),
              ("one variant is faster, another one on B", len(differ) - same_way),
              ("no difference on both", sum(not x["differs"] and not y["differs"] for x, y in both)),
              ("a difference on A alone", sum(x["differs"] and not y["differs"] for x, y in both)),
              ("a difference on B alone", sum(y["differs"] and not x["differs"] for x, y in both)),
              ("an expected counter change was not seen on A", sum(bool(x["not_seen"]) for x, _ in both)),
              ("an expected counter change was not seen on B", sum(bool(y["not_seen"]) for _, y in both))]
    print(markdown_table(["comparisons", "count"], [[name, str(count)] for name, count in counts], 1))


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    commands = parser.add_subparsers(required=True)
    for name, function in (("ceilings", print_ceilings), ("kernels", print_kernels), ("explanations", print_explanations)):
        command = commands.add_parser(name)
        command.add_argument("a")
        command.add_argument("b")
        command.set_defaults(print=function)
    commands.choices["ceilings"].add_argument("--scaled")
    times = commands.add_parser("times")
    times.add_argument("comparison")
    times.add_argument("--rows")
    times.add_argument("--by", default="experiment")
    times.set_defaults(print=print_times)
    arguments = parser.parse_args()
    arguments.print(arguments)


if __name__ == "__main__":
    exit_with(main)
