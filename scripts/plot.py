#!/usr/bin/env python3
"""Draws one figure per family from the CSV of a gpuexp run.

usage: plot.py RESULTS.csv [--out DIR] [--format png|svg] [--only FIGURE]

Needs pandas and matplotlib. The GPU's name comes from results.json beside the CSV, when it is there.
Exit codes: 0 drawn; 2 what was given cannot be plotted.
"""

import argparse
import sys
from pathlib import Path

try:
    from plotting import branches, general, precision, products, shapes
    from plotting.results import NothingToDraw, UsageError, distinct, gpu_name, load, timed
    from plotting.style import finish, plt
except ImportError as error:
    print(f"plot.py: {error}; python3 -m pip install pandas matplotlib", file=sys.stderr)
    sys.exit(2)

# Figure: families that it draws, how, and its title. Other families get a general one.
FIGURES = {
    "matmul": (["matmul"], products.ladder, "fp32 matrix product: what each rung adds"),
    "row_pitch": (["matmul"], products.row_pitch, "Row pitch: lanes that meet in a bank of L1"),
    "matmul_tensor": (["matmul_tensor"], products.ladder, "Tensor cores: what each rung adds"),
    "error_against_speed": (
        ["matmul", "matmul_tensor"],
        products.error_against_speed,
        "Error against speed of a matrix product",
    ),
    "coalescing": (["coalescing"], general.memory_family, "Coalescing: which addresses a warp asks for"),
    "vector_width": (["vector_width"], general.memory_family, "Width of a load"),
    "struct_layout": (["struct_layout"], general.memory_family, "Array of structures or structure of arrays"),
    "gather": (["gather"], general.memory_family, "Gather: indirection and randomness"),
    "partial_write": (["partial_write"], general.memory_family, "Stores that fill part of a sector"),
    "divergence": (["divergence"], branches.divergence, "Divergence: what a branch costs"),
    "switch_divergence": (["switch_divergence"], branches.switch_divergence, "Divergence of many ways"),
    "wave_quantization": (["wave_quantization"], shapes.sawtooth, "Wave quantization: whole waves of tiles"),
    "alignment": (["alignment"], shapes.divisibility, "Alignment: what divides n"),
    "vocab_padding": (["vocab_padding"], shapes.vocab_padding, "Padding the vocabulary"),
    "mixed_precision": (["mixed_precision"], precision.mixed_precision, "Half the bytes, half the time?"),
    "loss_scaling": (["loss_scaling"], precision.loss_scaling, "Loss scaling: gradients that fp16 loses"),
    "master_weights": (["master_weights"], precision.master_weights, "Updates that are small beside the weight"),
}


def figures_for(frame):
    """The figures that the families of the results call for, in the order above."""
    families = distinct(frame, "family")
    known = {name: figure for name, figure in FIGURES.items() if set(figure[0]) & set(families)}
    covered = {family for figure in FIGURES.values() for family in figure[0]}
    others = {f: ([f], general.any_family, f) for f in families if f not in covered}
    return {**known, **others}


def draw(frame, figure, gpu):
    families, function, title = figure
    rows = frame[frame["family"].isin(families)]
    if timed(rows).empty:
        raise NothingToDraw("no row passed with a time")
    return finish(function(rows), title, gpu, rows)


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
