"""Rates over occupancy."""

import numpy as np

from plotting.general import draw_experiment
from plotting.results import numbers, rate, timed_with
from plotting.style import bars_height, draw_open, draw_series, experiment_panels, label_lines

OCCUPANCY = "occupancy_pct"
ACTIVE_WARPS = "counter.active_warps_per_sm"


def rate_over_occupancy(frame):
    """A panel per experiment: a line per variant if the occupancy of all variants varies, else as for any family."""
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
    """Counted resident warps as a percentage of the SM's maximum; NaN if not counted."""
    warps = numbers(rows, "blocks_per_sm") * np.ceil(numbers(rows, "block_threads") / 32)
    return numbers(rows, OCCUPANCY) * numbers(rows, ACTIVE_WARPS) / warps


def draw_over_occupancy(ax, rows):
    """Filled points: theoretical occupancy; open points: counted occupancy."""
    column, label = rate(rows)
    rows = rows.assign(x=numbers(rows, OCCUPANCY), y=numbers(rows, column), achieved=achieved_pct(rows))
    ends = draw_series(ax, rows, markersize=5)
    if rows["achieved"].notna().any():
        draw_open(ax, rows, "achieved", "y", "at the warps counted", 8, "lower right")
    ax.set(xlim=(0, 104), ylim=(0, 1.06 * ax.get_ylim()[1]), xlabel="occupancy (%)", ylabel=label)
    label_lines(ax, ends)
