#!/usr/bin/env python3
"""Draws how the loss of a network falls in training, of several runs of each precision.

usage: plot_losses.py LOSSES.csv --out FILE.png

The CSV is what `gpuexp_gpu_tests "losses of all runs, in a file"` writes: for each precision and variant, and each window of
steps, the least, mean and most of the runs' losses. The band is what runs in fp32 with other seeds come to; lines are means.
Needs pandas and matplotlib. Exit codes: 0 drawn; 2 what was given cannot be drawn.
"""

import argparse
import sys

try:
    import pandas as pd
    from plotting.results import UsageError
    from plotting.style import GREY, colours, panels, plt
except ImportError as error:
    print(f"plot_losses.py: {error}; python3 -m pip install pandas matplotlib", file=sys.stderr)
    sys.exit(2)

COLUMNS = ["dtype", "variant", "step", "loss_least", "loss_mean", "loss_most"]


def draw(path):
    frame = pd.read_csv(path)
    missing = [column for column in COLUMNS if column not in frame]
    if missing or frame.empty:
        raise UsageError(f"{path}: no losses; columns {', '.join(COLUMNS)} are needed")
    names = list(dict.fromkeys(zip(frame["dtype"], frame["variant"])))
    first = of(frame, names[0])
    figure, grid = panels(1, 1, 9, 5)
    ax = grid[0, 0]
    ax.fill_between(first["step"], first["loss_least"], first["loss_most"], color=GREY, alpha=0.3, lw=0,
                    label=f"{' '.join(names[0])}, least to most of its runs")  # fmt: skip
    for (dtype, variant), (colour, dash) in zip(names, colours([" ".join(name) for name in names]).values()):
        rows = of(frame, (dtype, variant))
        ax.plot(rows["step"], rows["loss_mean"], dash, color=colour, label=f"{dtype} {variant}", lw=1.5)
    ax.set_yscale("log")
    ax.set_xlabel("step")
    ax.set_ylabel("loss, mean of the steps before")
    ax.legend(loc="upper right")
    figure.suptitle("Loss in training, by precision and kernels", x=0.01, ha="left", fontsize=14, fontweight="bold")
    return figure


def of(frame, name):
    return frame[(frame["dtype"] == name[0]) & (frame["variant"] == name[1])].sort_values("step")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("losses")
    parser.add_argument("--out", required=True)
    options = parser.parse_args()
    try:
        draw(options.losses).savefig(options.out, dpi=144)
    except (UsageError, OSError, ValueError) as why:
        print(f"plot_losses.py: {why}", file=sys.stderr)
        return 2
    plt.close("all")
    print(options.out)
    return 0


if __name__ == "__main__":
    sys.exit(main())
