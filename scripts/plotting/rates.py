"""Rates of variants: bars by groups of problems, and lines over an extent."""

from plotting.general import constants
from plotting.results import NothingToDraw, distinct, experiments, numbers, text_of, timed
from plotting.style import PALETTE, draw_series, grouped_bars, label_lines, panels, powers_of_two, subtitle


def rates(frame, across, groups):
    """Bars for each group of the experiment with the most variants; below, lines of experiments that sweep an extent."""
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
        series.append((text_of(value), PALETTE[i % len(PALETTE)], own.reindex(variants), None))
    ax = grid[0][0]
    grouped_bars(ax, variants, series)
    ax.set(title=name, xlabel="throughput (TFLOP/s)")
    subtitle(ax, constants(rows, [groups.column]))
    ax.legend(loc="upper right", title=groups.label)
    for ax, (name, rows) in zip(grid[1:, 0], swept):
        ends = draw_series(ax, rows.assign(x=numbers(rows, across.column), y=rows["rate"]), markersize=5)
        powers_of_two(ax.xaxis)
        ax.set_xticks(sorted(numbers(rows, across.column).unique()))
        ax.set(title=name, xlabel=across.label, ylabel="throughput (TFLOP/s)", ylim=(0, 1.08 * ax.get_ylim()[1]))
        subtitle(ax, constants(rows, [across.column]))
        label_lines(ax, ends)
    return figure
