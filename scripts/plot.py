#!/usr/bin/env python3
"""Draws one figure per family from the CSV of a gpuexp run.

usage: plot.py RESULTS.csv [--out DIR] [--format png|svg] [--only FIGURE]

Needs pandas and matplotlib. The GPU's name comes from results.json beside the CSV, when it is there.
Exit codes: 0 drawn; 2 what was given cannot be plotted.
"""

import argparse
import json
import sys
from pathlib import Path

try:
    from plotting import banks, branches, general, host, latencies, memory, precision, products, shapes, warps
    from plotting.results import Axis, NothingToDraw, UsageError, distinct, gpu_name, load, timed
    from plotting.style import finish, plt
except ImportError as error:
    print(f"plot.py: {error}; python3 -m pip install pandas matplotlib", file=sys.stderr)
    sys.exit(2)

# How a figure is drawn, by the kind that families declare (Family::figures); each takes the rows, then a column for each
# axis that the family names.
KINDS = {
    "ladder": products.ladder,
    "row_pitch": products.row_pitch,
    "error_against_speed": products.error_against_speed,
    "traffic": general.memory_family,
    "share_of_copy": general.share_of_copy,
    "relative_times": branches.relative_times,
    "cycles_per_request": banks.cycles_per_request,
    "working_sets": latencies.working_sets,
    "little": latencies.little,
    "per_item": host.per_item,
    "transfer_rates": host.transfer_rates,
    "kept_sets": host.kept_sets,
    "timelines": host.timelines,
    "swept_times": host.swept_times,
    "rate_over_occupancy": warps.rate_over_occupancy,
    "time_against_memory": memory.time_against_memory,
    "sawtooth": shapes.sawtooth,
    "divisibility": shapes.divisibility,
    "vocab_padding": shapes.vocab_padding,
    "times_by_type": precision.times_by_type,
    "loss_scaling": precision.loss_scaling,
    "metrics_by_type": precision.metrics_by_type,
}


def declared():
    """What families declare of their figures: written by the registry's tests, which hold it against the declarations."""
    return json.loads((Path(__file__).parent / "plotting" / "figures.json").read_text(encoding="utf-8"))


def figures_for(frame):
    """The figures that the families of the results call for; a general one for a family that declares none."""
    families = distinct(frame, "family")
    figures = {f["name"]: f for f in declared()}
    covered = {family for figure in figures.values() for family in figure["families"]}
    known = {name: figure for name, figure in figures.items() if set(figure["families"]) & set(families)}
    others = {f: {"title": f, "families": [f]} for f in families if f not in covered}
    return {**known, **others}


def draw(frame, figure, gpu):
    rows = frame[frame["family"].isin(figure["families"])]
    if timed(rows).empty:
        raise NothingToDraw("no row passed with a time")
    function = KINDS[figure["kind"]] if "kind" in figure else general.any_family
    axes = [Axis(axis["column"], axis["label"], True) for axis in figure.get("axes", [])]
    return finish(function(rows, *axes), figure["title"], gpu, rows)


def run(options):
    frame = load(options.results)
    figures = figures_for(frame)
    if options.only is not None:
        if options.only not in figures:
            raise UsageError(f"--only {options.only}: {options.results} has {', '.join(figures) or 'no family'}")
        figures = {options.only: figures[options.only]}
    out = Path(options.out) if options.out else Path(options.results).parent
    out.mkdir(parents=True, exist_ok=True)
    drawn = 0
    for name, figure in figures.items():
        try:
            picture = draw(frame, figure, gpu_name(options.results))
        except NothingToDraw as why:
            print(f"{name}: not drawn: {why}", file=sys.stderr)
            continue
        path = out / f"{name}.{options.format}"
        picture.savefig(path, dpi=144)
        plt.close(picture)
        print(path)
        drawn += 1
    if not drawn:
        raise UsageError(f"{options.results}: nothing to draw")


def main():
    parser = argparse.ArgumentParser(prog="plot.py", description="Draws one figure per family from a results CSV.")
    parser.add_argument("results", metavar="RESULTS.csv", help="what gpuexp run wrote")
    parser.add_argument("--out", metavar="DIR", help="where figures go (default: beside the CSV)")
    parser.add_argument("--format", choices=["png", "svg"], default="png", help="(default: png)")
    parser.add_argument("--only", metavar="FIGURE", help="one figure alone, by the name of its family")
    try:
        run(parser.parse_args())
    except (UsageError, OSError) as error:
        print(f"plot.py: {error}", file=sys.stderr)
        return 2
    return 0


if __name__ == "__main__":
    sys.exit(main())
