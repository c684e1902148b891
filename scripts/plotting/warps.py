"""What resident warps buy: rates over occupancy."""

import numpy as np

from plotting.general import draw_experiment
from plotting.results import NothingToDraw, distinct, experiments, has, numbers, rate, timed
from plotting.style import GREY, bars_height, colours, label_lines, panels

OCCUPANCY = "occupancy_pct"
ACTIVE_WARPS = "counter.active_warps_per_sm"


def rate_over_occupancy(frame):
    """A line per variant where an experiment compares variants whose occupancy varies, else as for any family."""
    good = timed(frame)
    if not has(good, OCCUPANCY):
        raise NothingToDraw(f"rows with {OCCUPANCY} are needed")
    parts = experiments(good)
    by_occupancy = [compares_occupancies(rows) for _, rows in parts]
    heights = [4.2 if over else bars_height(max(8, rows["variant"].nunique())) for over, (_, rows) in zip(by_occupancy, parts)]
    figure, grid = panels(len(parts), 1, 10, heights)
    for ax, over, (name, rows) in zip(grid[:, 0], by_occupancy, parts):
        (draw_over_occupancy if over else draw_experiment)(ax, rows)
        ax.set_title(name)
    return figure


def compares_occupancies(rows):
    varying = rows.groupby("variant")[OCCUPANCY].nunique() > 1
    return varying.size > 1 and bool(varying.all())


def achieved_pct(rows):
    """Warps that were counted, of as many as an SM holds; NaN where nobody counted."""
    warps = numbers(rows, "blocks_per_sm") * np.ceil(numbers(rows, "block_threads") / 32)
    return numbers(rows, OCCUPANCY) * numbers(rows, ACTIVE_WARPS) / warps


def draw_over_occupancy(ax, rows):
    """Filled, at the occupancy that resources allow; open, at the one that was counted."""
    column, label = rate(rows)
    ends, counted = [], False
    for variant, (colour, dash) in colours(distinct(rows, "variant")).items():
        part = rows[rows["variant"] == variant].assign(x=lambda f: numbers(f, OCCUPANCY)).sort_values("x")
        y = numbers(part, column)
        ax.plot(part["x"], y, dash, color=colour, marker="o", markersize=5)
        achieved = achieved_pct(part)
        if achieved.notna().any():
            ax.plot(achieved, y, "o", markerfacecolor="none", markeredgecolor=colour, markersize=8)
            counted = True
        ends.append((part["x"].iloc[-1], y.iloc[-1], variant, colour))
    if counted:
        ax.plot([], [], "o", markerfacecolor="none", markeredgecolor=GREY, markersize=8, label="at the warps counted")
        ax.legend(loc="lower right")
    ax.set_xlim(0, 104)
    ax.set_ylim(0, 1.06 * ax.get_ylim()[1])
    ax.set_xlabel("occupancy (%)")
    ax.set_ylabel(label)
    label_lines(ax, ends)
