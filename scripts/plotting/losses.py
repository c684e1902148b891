"""Training loss of a network, from several runs of each precision.

The CSV is written by `gpuexp_gpu_tests "losses of all runs, in a file"`: minimum, mean and maximum of the runs' losses for each
precision, variant and window of steps. The band spans the losses of fp32 runs with different seeds; lines are means.
"""

import pandas as pd

from plotting.results import UsageError
from plotting.style import GREY, colours, panels, save, titled

COLUMNS = ["dtype", "variant", "step", "loss_least", "loss_mean", "loss_most"]


def draw(path):
    frame = pd.read_csv(path)
    missing = [column for column in COLUMNS if column not in frame]
    if missing or frame.empty:
        raise UsageError(f"{path}: no losses; expected the columns {', '.join(COLUMNS)}")
    names = list(dict.fromkeys(zip(frame["dtype"], frame["variant"])))
    first = of(frame, names[0])
    figure, grid = panels(1, 1, 9, 5)
    ax = grid[0, 0]
    ax.fill_between(first["step"], first["loss_least"], first["loss_most"], color=GREY, alpha=0.3, lw=0,
                    label=f"{' '.join(names[0])}, least to most of its runs")  # fmt: skip
    for (dtype, variant), (colour, dash) in zip(names, colours([" ".join(name) for name in names]).values()):
        rows = of(frame, (dtype, variant))
        ax.plot(rows["step"], rows["loss_mean"], dash, color=colour, label=f"{dtype} {variant}", lw=1.5)
    ax.set(yscale="log", xlabel="step", ylabel="loss, mean of the steps before")
    ax.legend(loc="upper right")
    return titled(figure, "Loss in training, by precision and kernels")


def of(frame, name):
    return frame[(frame["dtype"] == name[0]) & (frame["variant"] == name[1])].sort_values("step")


def add_arguments(parser):
    parser.add_argument("losses", metavar="LOSSES.csv")
    parser.add_argument("--out", metavar="FILE", required=True, help="file for the figure; its extension selects the format")


def run(options):
    save(draw(options.losses), options.out)
