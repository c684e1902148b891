"""Throughput over problem sizes: waves of tiles, divisibility, padding."""

import math
from itertools import groupby

import numpy as np
from matplotlib.lines import Line2D
from matplotlib.patches import Patch

from plotting.general import experiment_figures
from plotting.results import axes, basis, distinct, has, numbers, text_of, timed_with
from plotting.style import GREY, PALETTE, bars, bars_height, divisor_colours, panels

MAX_BARS = 16
MAX_DIVISOR = 64  # larger powers of two have the colour of 64


def divisor_classes(frame):
    return np.minimum(numbers(frame, "metric.divisor_pow2"), MAX_DIVISOR)


def divisor_name(divisor):
    return f"{int(divisor)} or more" if divisor == MAX_DIVISOR else f"{int(divisor)}"


def sawtooth(frame, size):
    """Measured throughput over a size, and the throughput that tail and tile efficiency predict from the best point."""
    good = timed_with(frame, size.column, "tflops")
    figure, grid = panels(max(1, good["variant"].nunique()), 1, 11, 5.2)
    for ax, variant in zip(grid[:, 0], distinct(good, "variant")):
        draw_sawtooth(ax, good[good["variant"] == variant].assign(n=lambda f: numbers(f, size.column)), size)
        ax.set_title(f"{variant}: grey lines where the number of waves increases")
    return figure


def draw_sawtooth(ax, rows, size):
    rows = rows.sort_values("n")
    n, tflops = rows["n"], numbers(rows, "tflops")
    mark_wave_edges(ax, rows)
    predicted = next((c for c in ("metric.predicted_relative_pct", "metric.tail_efficiency_pct", "tail_efficiency_pct")
                      if has(rows, c)), None)  # fmt: skip
    if predicted:
        relative = numbers(rows, predicted) / 100
        scale = (tflops / relative)[tflops.idxmax()]
        ax.plot(n, scale * relative, color=PALETTE[1], linewidth=1.5, zorder=2,
                label="predicted from whole waves and tiles, scaled to the best point")  # fmt: skip
    ax.plot(n, tflops, "o", color=PALETTE[0], markersize=5, zorder=3, label=basis(rows))
    ax.set(xlabel=size.label, ylabel="throughput (TFLOP/s)", ylim=(0, 1.18 * tflops.max()))
    ax.legend(loc="lower right", frameon=True, facecolor="white", edgecolor="white", framealpha=1)


def mark_wave_edges(ax, rows):
    """Draws a line at each change of the number of waves, and the numbers at the top."""
    waves = numbers(rows, "metric.waves" if has(rows, "metric.waves") else "waves")
    if waves.isna().all():
        return
    waves = np.ceil(waves)
    n = rows["n"].to_numpy()
    edges = [(a + b) / 2 for a, b, u, v in zip(n, n[1:], waves, waves[1:]) if u != v]
    for edge in edges:
        ax.axvline(edge, color="#999999", linewidth=1, zorder=1)
    bounds = [n[0], *edges, n[-1]]
    counts = [number for number, _ in groupby(waves)]
    for left, right, number in zip(bounds, bounds[1:], counts):
        if right - left > 0.02 * (n[-1] - n[0]):
            ax.annotate(f"{number:g}" + (" wave" if number == 1 else " waves"), ((left + right) / 2, 0.97),
                        xycoords=("data", "axes fraction"), ha="center", va="top", color=GREY, fontsize=10)  # fmt: skip


def divisibility(frame, size):
    """Throughput, coloured by the largest power of two that divides the size: bars or, for many sizes, points."""
    good = timed_with(frame, size.column, "tflops", "metric.divisor_pow2")
    looks = divisor_colours(set(divisor_classes(good).dropna()))

    def draw(ax, rows):
        rows = rows.assign(n=numbers(rows, size.column), divisor=divisor_classes(rows)).sort_values("n")
        few = rows["n"].nunique() <= MAX_BARS
        (draw_divisor_bars if few else draw_divisor_points)(ax, rows, looks)
        ax.set(xlabel=size.label, ylabel="throughput (TFLOP/s)")
        ax.set_ylim(bottom=0)

    figures = experiment_figures(good, 3.3, draw, 10)
    for figure in figures:
        name_divisors(figure, looks, size.label)
    return figures


def name_divisors(figure, looks, what):
    handles = [Patch(color=looks[d], label=divisor_name(d)) for d in sorted(looks)]
    figure.legend(handles=handles, title=f"largest power\nof two\ndividing {what}", loc="outside right center")


def draw_divisor_bars(ax, rows, looks):
    """A group of bars per n, a hatch per variant."""
    sizes = sorted(rows["n"].unique())
    variants = distinct(rows, "variant")
    hatches = ["", "//", "..", "xx"]
    width = 0.84 / len(variants)
    for i, variant in enumerate(variants):
        part = rows[rows["variant"] == variant]
        x = [sizes.index(n) + (i - (len(variants) - 1) / 2) * width for n in part["n"]]
        ax.bar(x, part["tflops"], 0.94 * width, color=[looks[d] for d in part["divisor"]],
               hatch=hatches[i % len(hatches)], edgecolor="white")  # fmt: skip
    ax.set_xticks(range(len(sizes)), [text_of(n) for n in sizes])
    ax.grid(axis="x", visible=False)
    if len(variants) > 1:
        handles = [Patch(facecolor="#999999", hatch=hatches[i % len(hatches)], edgecolor="white", label=v)
                   for i, v in enumerate(variants)]  # fmt: skip
        ax.legend(handles=handles, loc="upper left", ncols=len(variants))
        ax.set_ylim(0, 1.2 * rows["tflops"].max())


def draw_divisor_points(ax, rows, looks):
    markers = "osD^"
    variants = distinct(rows, "variant")
    for i, variant in enumerate(variants):
        part = rows[rows["variant"] == variant]
        ax.scatter(part["n"], part["tflops"], c=[looks[d] for d in part["divisor"]], s=26,
                   marker=markers[i % len(markers)])  # fmt: skip
    if len(variants) > 1:
        handles = [Line2D([], [], marker=markers[i % len(markers)], linestyle="", color=GREY, label=v)
                   for i, v in enumerate(variants)]  # fmt: skip
        ax.legend(handles=handles, loc="upper left")


def vocab_padding(frame):
    """Time of the same useful work at different padded widths."""
    good = timed_with(frame, "param.vocab")
    # Padding to a multiple of 64 does not change a vocabulary size that is a multiple of 64.
    same = [c for c in good if c.startswith("param.") and c != "param.pad_to"]
    same += ["variant", "mode"] + (["metric.columns"] if has(good, "metric.columns") else ["param.pad_to"])
    good = good.drop_duplicates([c for c in same if c in good])
    columns = numbers(good, "metric.columns").fillna(numbers(good, "param.vocab"))
    divisors = numbers(good, "metric.divisor_pow2").fillna(columns.map(lambda c: int(c) & -int(c)))
    classes = np.minimum(divisors, MAX_DIVISOR)
    looks = divisor_colours(set(classes))
    others = [a for a in axes(good) if a.column not in ("param.vocab", "param.pad_to")]
    def label(i):
        row = good.loc[i]
        vocab = text_of(row["param.vocab"])
        text = vocab if columns[i] == float(vocab) else f"{vocab} padded to {int(columns[i])}"
        extra = [f"{a.label}={text_of(row[a.column])}" for a in others]
        return ", ".join([text, *extra, *([row["variant"]] if good["variant"].nunique() > 1 else [])])
    figure, grid = panels(1, 1, 10, bars_height(len(good)) + 0.5)
    ax = grid[0][0]
    rates = numbers(good, "tflops")
    notes = [f"{t / 1e3:.3g} ms" + ("" if math.isnan(r) else f", {r:.0f} useful TFLOP/s")
             for t, r in zip(good["time_median_us"], rates)]  # fmt: skip
    bars(ax, [label(i) for i in good.index], list(good["time_median_us"] / 1e3),
         [looks[d] for d in classes], notes)  # fmt: skip
    ax.set(xlabel="time (ms): shorter is better", ylabel="columns")
    name_divisors(figure, looks, "them")
    return figure
