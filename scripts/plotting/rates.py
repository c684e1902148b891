"""Rates of variants: bars by a group of problems, and lines over an extent."""

import math
import textwrap

from plotting.general import constants
from plotting.results import NothingToDraw, distinct, experiments, numbers, text_of, timed
from plotting.style import PALETTE, draw_series, grouped_bars, label_lines, panels, powers_of_two, short


def title_of(name, rows, besides):
    """In lines that a panel is wide enough for."""
    return "\n".join(textwrap.wrap(f"{name}: {constants(rows, besides)}", 90))


def rates(frame, across, groups):
    """Rates of the experiment with most variants, a bar for each of its groups; below, over one extent."""
    good = timed(frame).copy()
    good["rate"] = numbers(good, "tflops")
    parts = [(name, rows.dropna(subset=["rate"])) for name, rows in experiments(good)]
    parts = [(name, rows) for name, rows in parts if len(rows)]
    if not parts:
        raise NothingToDraw("no row passed with a rate")
    name, rows = max(parts, key=lambda part: part[1]["variant"].nunique())
    swept = [part for part in parts if len(distinct(part[1], across.column)) > 2]
    variants = distinct(rows, "variant")
    values = distinct(rows, groups.column)
    heights = [1.2 + 0.26 * len(variants) * len(values)] + [4.0] * len(swept)
    figure, grid = panels(len(heights), 1, 10.5, heights)
    series = []
    for i, value in enumerate(values):
        own = rows[rows[groups.column] == value].drop_duplicates("variant").set_index("variant")["rate"]
        lengths = [float(own.get(variant, math.nan)) for variant in variants]
        notes = ["" if math.isnan(v) else short(v) for v in lengths]
        series.append((text_of(value), PALETTE[i % len(PALETTE)], lengths, notes))
    ax = grid[0][0]
    grouped_bars(ax, variants, series)
    ax.set_title(title_of(name, rows, [groups.column]))
    ax.legend(loc="upper right")
    ax.set_xlabel("TFLOP/s")
    for ax, (name, rows) in zip(grid[1:, 0], swept):
        ends = draw_series(ax, rows.assign(x=numbers(rows, across.column), y=rows["rate"]), markersize=5)
        powers_of_two(ax.xaxis)
        ax.set_xticks(sorted(numbers(rows, across.column).unique()))
        ax.set_ylim(0, 1.08 * ax.get_ylim()[1])
        ax.set_title(title_of(name, rows, [across.column]))
        ax.set_xlabel(across.label)
        ax.set_ylabel("TFLOP/s")
        label_lines(ax, ends)
    return figure
