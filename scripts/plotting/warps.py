"""Throughput over occupancy."""

import numpy as np

from plotting.general import constants, draw_experiment, experiment_figures
from plotting.results import distinct, numbers, rate, timed_with
from plotting.style import colours, draw_open, draw_series, label_lines, subtitle

OCCUPANCY = "occupancy_pct"
ACTIVE_WARPS = "counter.active_warps_per_sm"


def rate_over_occupancy(frame):
    """A line per variant over occupancy if an experiment compares variants whose occupancy varies, else as for any family."""
    good = timed_with(frame, OCCUPANCY)
    colours_of = colours(distinct(good, "variant"))

    def draw(ax, rows):
        (draw_over_occupancy if compares_occupancies(rows) else draw_experiment)(ax, rows, colours_of)

    return experiment_figures(good, 2.2, draw)


def compares_occupancies(rows):
    varying = rows.groupby("variant")[OCCUPANCY].nunique() > 1
    return varying.size > 1 and bool(varying.all())


def achieved_pct(rows):
    """Counted resident warps as a percentage of the SM's maximum; NaN if not counted."""
    warps = numbers(rows, "blocks_per_sm") * np.ceil(numbers(rows, "block_threads") / 32)
    return numbers(rows, OCCUPANCY) * numbers(rows, ACTIVE_WARPS) / warps


def draw_over_occupancy(ax, rows, colours_of):
    """Filled circles are at the occupancy that resources allow, open circles at the counted occupancy."""
    column, label = rate(rows)
    subtitle(ax, constants(rows))
    rows = rows.assign(x=numbers(rows, OCCUPANCY), y=numbers(rows, column), achieved=achieved_pct(rows))
    ends = draw_series(ax, rows, looks=colours_of, markersize=5)
    if rows["achieved"].notna().any():
        draw_open(ax, rows, "achieved", "y", "achieved occupancy (counted)", 8, "lower right", colours_of)
    ax.set(xlim=(0, 104), ylim=(0, 1.06 * ax.get_ylim()[1]), xlabel="theoretical occupancy (%)", ylabel=label)
    label_lines(ax, ends)
