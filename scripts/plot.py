#!/usr/bin/env python3
"""Draws one figure per family from the results of gpuexp runs; rows of several runs are drawn in one figure.

Results are a results.json, a results.csv, or a run folder. The GPU's name is read from the JSON; for a CSV, from the JSON next to it.
All runs must be of one GPU. A kind as first argument, as in `plot.py roofline …`, draws another kind of figure.
Panels that do not fit in FIGURE.png are drawn in FIGURE_2.png and so on.
`plot.py KIND --help` describes each kind:

roofline  variants of a run under the roofs of their GPU
drift     times and the SM clock, round by round
access    addresses that a warp accesses, and other diagrams of a kernel
links     rates of links between GPUs, and speedups of problems that span GPUs
losses    training loss by precision and kernels
ranks     diagrams of transfers between GPUs

Needs pandas and matplotlib, and zstandard for compressed results. Exit codes: 0 drawn; 2 the results cannot be plotted.
"""

import argparse
import json
import sys
from pathlib import Path

try:
    import pandas as pd
    from plotting import access, drift, links, losses, rank_pictures, roofline
    from plotting import banks, branches, general, host, latencies, memory, precision, products, ranks, rates, shapes, training, warps
    from plotting.recorded import exit_with, results_file
    from plotting.results import Axis, NothingToDraw, UsageError, distinct, is_simulated, load, one_gpu, timed
    from plotting.style import finish, save
except ImportError as error:
    print(f"plot.py: {error}; python3 -m pip install pandas matplotlib zstandard", file=sys.stderr)
    sys.exit(2)

# Kinds of figures other than those of families. Each module has a docstring for --help, add_arguments() and run().
OTHERS = {"roofline": roofline, "drift": drift, "access": access, "links": links, "losses": losses, "ranks": rank_pictures}

# Drawing functions by the kind that families declare (Family::figures). Their arguments are the rows and one Axis for each axis that
# the family declares.
KINDS = {
    "ladder": products.ladder,
    "rates": rates.rates,
    "row_pitch": products.row_pitch,
    "error_against_speed": products.error_against_speed,
    "traffic": general.memory_family,
    "share_of_copy": general.share_of_copy,
    "relative_times": branches.relative_times,
    "cycles_per_request": banks.cycles_per_request,
    "working_sets": latencies.working_sets,
    "lines": general.any_family,
    "little": latencies.little,
    "per_item": host.per_item,
    "transfer_rates": host.transfer_rates,
    "kept_sets": host.kept_sets,
    "timelines": host.timelines,
    "rank_timelines": ranks.timelines,
    "swept_times": host.swept_times,
    "rate_over_occupancy": warps.rate_over_occupancy,
    "time_against_memory": memory.time_against_memory,
    "sawtooth": shapes.sawtooth,
    "divisibility": shapes.divisibility,
    "vocab_padding": shapes.vocab_padding,
    "times_by_type": precision.times_by_type,
    "loss_scaling": precision.loss_scaling,
    "metrics_by_type": precision.metrics_by_type,
    "step_phases": training.step_phases,
}


def declared():
    """Figures that families declare. The registry's tests compare figures.json with the declarations."""
    return json.loads((Path(__file__).parent / "plotting" / "figures.json").read_text(encoding="utf-8"))


def figures_for(frame):
    """The declared figures of the families in the results; a general figure for a family that declares none."""
    families = distinct(frame, "family")
    figures = {f["name"]: f for f in declared()}
    covered = {family for figure in figures.values() for family in figure["families"]}
    known = {name: figure for name, figure in figures.items() if set(figure["families"]) & set(families)}
    others = {f: {"title": f, "families": [f]} for f in families if f not in covered}
    return {**known, **others}


def draw(frame, figure, gpu):
    """The figure, in as many pages as its panels need."""
    rows = frame[frame["family"].isin(figure["families"])]
    if timed(rows).empty:
        raise NothingToDraw("no row passed with a time")
    function = KINDS[figure["kind"]] if "kind" in figure else general.any_family
    axes = [Axis(axis["column"], axis["label"], True) for axis in figure.get("axes", [])]
    drawn = function(rows, *axes)
    pages = drawn if isinstance(drawn, list) else [drawn]
    places = [f" ({number} of {len(pages)})" if len(pages) > 1 else "" for number in range(1, len(pages) + 1)]
    return [finish(page, figure["title"] + place, gpu, rows) for page, place in zip(pages, places)]


def cells_of(frame):
    """The key of each row, without the variant."""
    return [key.replace(f"/{variant}/", "/*/", 1) for key, variant in zip(frame["key"].fillna("").astype(str), frame["variant"])]


def refer_to_first(first, other):
    """Sets the speedups of the other run relative to the first run's baselines; NaN if the first run lacks the cell."""
    is_baseline = (first["variant"] == first["baseline"]) & first["time_median_us"].notna()
    baselines = {cell: (row["variant"], row["time_median_us"]) for cell, (_, row) in
                 zip(cells_of(first[is_baseline]), first[is_baseline].iterrows())}  # fmt: skip
    found = [baselines.get(cell, ("", float("nan"))) for cell in cells_of(other)]
    other["baseline"] = [name for name, _ in found]
    other["speedup"] = [time_us / own for (_, time_us), own in zip(found, other["time_median_us"])]
    return other


def load_all(paths):
    """Rows of all files, and the GPU's name."""
    gpu = one_gpu(paths)
    frames = [load(path) for path in paths]
    if len({is_simulated(frame) for frame in frames}) > 1:
        raise UsageError("measured and predicted times cannot be drawn in one figure")
    if len(frames) > 1 and not all("key" in frame for frame in frames):
        raise UsageError("one of the runs has no column key, which is needed to draw several runs")
    first, *others = frames
    frame = pd.concat([first, *(refer_to_first(first, other) for other in others)], ignore_index=True) if others else first
    return frame, gpu


def run(options):
    frame, gpu = load_all(options.results)
    files = ", ".join(options.results)
    figures = figures_for(frame)
    if options.only is not None:
        if options.only not in figures:
            raise UsageError(f"--only {options.only}: not in {files}; expected one of: {', '.join(figures) or 'no family'}")
        figures = {options.only: figures[options.only]}
    out = Path(options.out) if options.out else results_file(options.results[0]).parent
    out.mkdir(parents=True, exist_ok=True)
    drawn = 0
    for name, figure in figures.items():
        try:
            pages = draw(frame, figure, gpu)
        except NothingToDraw as why:
            print(f"{name}: not drawn: {why}", file=sys.stderr)
            continue
        for number, page in enumerate(pages, 1):
            save(page, out / (f"{name}.{options.format}" if number == 1 else f"{name}_{number}.{options.format}"))
        drawn += 1
    if not drawn:
        raise UsageError(f"{files}: nothing to draw")


def add_arguments(parser):
    parser.add_argument("results", metavar="RESULTS", nargs="+", help="results of gpuexp run; several are drawn together")
    parser.add_argument("--out", metavar="DIR", help="folder for the figures (default: the folder of the results)")
    parser.add_argument("--format", choices=["png", "svg"], default="png", help="file format (default: png)")
    parser.add_argument("--only", metavar="FIGURE", help="draw only this figure, by its name")


def main(arguments):
    kind = arguments[0] if arguments and arguments[0] in OTHERS else ""
    drawing = OTHERS.get(kind, sys.modules[__name__])
    parser = argparse.ArgumentParser(f"plot.py {kind}".rstrip(), description=drawing.__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)  # fmt: skip
    drawing.add_arguments(parser)
    options = parser.parse_args(arguments[1 if kind else 0 :])
    exit_with(lambda: drawing.run(options), OSError, *([ValueError, KeyError] if kind else []))


if __name__ == "__main__":
    main(sys.argv[1:])
