"""What resident warps buy: rates over occupancy."""

import numpy as np

from plotting.general import draw_experiment
from plotting.results import distinct, numbers, rate, timed_with
from plotting.style import GREY, bars_height, colours, draw_series, experiment_panels, label_lines

OCCUPANCY = "occupancy_pct"
ACTIVE_WARPS = "counter.active_warps_per_sm"


def rate_over_occupancy(frame):
    """A line per variant where an experiment compares variants whose occupancy varies, else as for any family."""
    figure, parts = experiment_panels(
        timed_with(frame, OCCUPANCY), 10, lambda rows: 4.2 if compares_occupancies(rows) else bars_height(max(8, rows["variant"].nunique()))
    )
    for ax, rows in parts:
        (draw_over_occupancy if compares_occupancies(rows) else draw_experiment)(ax, rows)
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
    rows = rows.assign(x=numbers(rows, OCCUPANCY), y=numbers(rows, column), achieved=achieved_pct(rows))
    ends = draw_series(ax, rows, markersize=5)
    for variant, (colour, _) in colours(distinct(rows, "variant")).items():
        part = rows[rows["variant"] == variant]
        ax.plot(part["achieved"], part["y"], "o", markerfacecolor="none", markeredgecolor=colour, markersize=8)
    if rows["achieved"].notna().any():
        ax.plot([], [], "o", markerfacecolor="none", markeredgecolor=GREY, markersize=8, label="at the warps counted")
        ax.legend(loc="lower right")
    ax.set_xlim(0, 104)
    ax.set_ylim(0, 1.06 * ax.get_ylim()[1])
    ax.set_xlabel("occupancy (%)")
    ax.set_ylabel(label)
    label_lines(ax, ends)
