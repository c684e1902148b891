"""Rates of links between GPUs, and the speedup of problems that span GPUs, from recorded results.

RESULTS.json are results of peer_copy, collectives or data_parallel, or of tensor_parallel and mlp_parallel together.
"""

import math

import pandas as pd

from plotting.results import UsageError, distinct, load, one_gpu, timed
from plotting.style import by_series, colours, draw_series, grouped_bars, label_lines, panels, save, titled

KIB = 1024
FP32 = 4  # bytes
LINE = "#BBBBBB"


def chosen(rows, experiment, **params):
    for name, value in params.items():
        rows = rows[rows[f"param.{name}"] == value]
    return rows[rows["experiment"] == experiment]


def draw_lines(ax, rows, looks, x, y, title, ylabel, name_powers, top=None):
    """Lines of y over x, with a logarithmic x axis whose ticks are given by `name_powers`."""
    rows = rows.assign(x=x, y=y).dropna(subset="y")
    ends = draw_series(ax, rows, looks=looks, markersize=4)
    ax.set_xscale("log", base=2)
    ax.set_xticks(*zip(*name_powers(sorted(rows["x"].unique()))))
    ax.minorticks_off()
    ax.set_ylim(0, top)
    ax.set(title=title, ylabel=ylabel)
    label_lines(ax, ends)


def as_bytes(values):
    """(position, name) of the powers of 4 or, on a long axis, of the powers of 16."""
    names = [(KIB**i * 2**j, f"{2**j} {unit}") for i, unit in enumerate(["B", "KiB", "MiB", "GiB"]) for j in range(0, 10, 2)]
    step = 2 if values[-1] / values[0] > 2**20 else 1
    return [(at, name) for at, name in names if values[0] <= at <= values[-1]][::step]


def as_numbers(values):
    return [(value, f"{value:g}") for value in values]


# ---- peer_copy


def peer_copy(rows):
    figure, grid = panels(2, 1, 10, [4.2, 5.4])
    one_way = chosen(rows, "one_way", gpus=2)
    looks = colours(distinct(one_way, "variant"))
    draw_lines(grid[0, 0], one_way, looks, FP32 * one_way["param.n"], one_way["link_gb_per_s"], "one way, by size", "bandwidth (GB/s)", as_bytes)
    cases = [("one way", "one_way", 2), ("both ways, 2 GPUs", "ring", 2), ("around a ring, 4 GPUs", "ring", 4),
             ("all pairs, 2 GPUs", "all_pairs", 2), ("all pairs, 4 GPUs", "all_pairs", 4)]  # fmt: skip
    largest = [chosen(rows, experiment, gpus=gpus).sort_values("param.n").groupby("variant")["link_gb_per_s"].last()
               for _, experiment, gpus in cases]  # fmt: skip
    names = ("copy_engine", "vector_loads", "vector_stores", "bulk_loads", "bulk_stores")
    ax = grid[1, 0]
    grouped_bars(ax, [label for label, _, _ in cases],
                 [(name, looks[name][0], [rates.get(name, math.nan) for rates in largest], None) for name in names])  # fmt: skip
    ax.set_xlabel("bandwidth into a GPU, equal to that out of it (GB/s), at the largest size")
    ax.legend(loc="upper left", bbox_to_anchor=(1, 1), fontsize=10)
    return figure, "Copies between GPUs: link bandwidth by size and pattern"


# ---- collectives


def collectives(rows):
    figure, grid = panels(2, 2, 7, [4.2, 4.2])
    looks = colours(distinct(rows, "variant"))
    rows = rows.assign(bytes=FP32 * rows["param.n"])
    for column, gpus in enumerate((2, 4)):
        own = chosen(rows, "all_reduce", gpus=gpus)
        small = own[own["bytes"] <= KIB * KIB]
        draw_lines(grid[0, column], small, looks, small["bytes"], small["time_median_us"], f"{gpus} GPUs, up to 1 MiB", "time (µs)", as_bytes)
        draw_lines(grid[1, column], own, looks, own["bytes"], own["link_gb_per_s"], f"{gpus} GPUs", "bus bandwidth (GB/s)", as_bytes)
    return figure, "fp32 all-reduce: time and bus bandwidth by vector size"


# ---- products


def shared_products(rows):
    figure, grid = panels(2, 2, 7, [4.2, 4.6])
    products = rows[rows["family"] == "tensor_parallel"]
    pairs = rows[rows["family"] == "mlp_parallel"]
    looks = colours([name for name in distinct(products, "variant") if name != "partial_sums"])
    for column, gpus in enumerate((2, 4)):
        ax = grid[0, column]
        own = chosen(products, "everywhere", gpus=gpus, split="rows")
        ax.axhline(gpus, color=LINE, lw=1, zorder=2.1)
        draw_lines(ax, own, looks, own["param.n"], own["speedup"], f"C = A·B by rows, {gpus} GPUs, by m = n = k",
                   "speedup over one GPU", as_numbers, 1.05 * gpus)  # fmt: skip
        ax = grid[1, column]
        own = chosen(pairs, "tokens", gpus=gpus)
        tokens = sorted(own["param.tokens"].unique())
        series = [(name, colour, part.set_index("param.tokens")["speedup"].reindex(tokens), None)
                  for name, colour, _, part in by_series(own[own["variant"] != "one_gpu"])]  # fmt: skip
        grouped_bars(ax, [f"{t:g} tokens" for t in tokens], series, top=gpus)
        ax.axvline(gpus, color=LINE, lw=1)
        ax.set(title=f"MLP of width 4096, {gpus} GPUs", xlabel="speedup over one GPU")
        if column == 1:
            ax.legend(loc="upper left", bbox_to_anchor=(1, 1), fontsize=10)
    return figure, "Tensor parallelism: speedup over one GPU"


# ---- data_parallel


def data_parallel(rows):
    figure, grid = panels(2, 2, 7, [4.2, 4.2])
    own = chosen(rows, "backward_length")
    looks = colours(distinct(own, "variant"))
    for line, dtype in enumerate(("fp32", "bf16")):
        for column, gpus in enumerate((2, 4)):
            part = chosen(own, "backward_length", gpus=gpus, dtype=dtype)
            draw_lines(grid[line, column], part, looks, part["param.cost"], part["time_median_us"] / 1e3,
                       f"gradients in {dtype}, {gpus} GPUs, by cost", "time (ms)", as_numbers)  # fmt: skip
    return figure, "Data-parallel training step: time by length of the backward pass"


FIGURES = {
    "peer_copy": peer_copy,
    "collectives": collectives,
    "tensor_parallel": shared_products,
    "mlp_parallel": shared_products,
    "data_parallel": data_parallel,
}


def draw(paths):
    gpu = one_gpu(paths)
    rows = timed(pd.concat([load(path) for path in paths], ignore_index=True))
    kinds = list(dict.fromkeys(map(FIGURES.get, rows["family"])))
    if len(kinds) != 1 or kinds[0] is None:
        raise UsageError(f"{', '.join(paths)}: expected results of {', '.join(FIGURES)}")
    return titled(*kinds[0](rows), gpu)


def add_arguments(parser):
    parser.add_argument("results", metavar="RESULTS.json", nargs="+")
    parser.add_argument("--out", metavar="FILE", required=True, help="file for the figure; its extension selects the format")


def run(options):
    save(draw(options.results), options.out)
