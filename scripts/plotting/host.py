"""Figures of host and device: time per kernel of a chain, bytes per second over the bus, steps on a time axis."""

import re
from typing import NamedTuple

from matplotlib.ticker import FuncFormatter

from plotting.general import constants, experiment_figures
from plotting.results import NothingToDraw, distinct, experiments, has, numbers, timed, timed_with
from plotting.style import (
    PALETTE,
    bars,
    colours,
    count,
    draw_open,
    draw_series,
    equal_factors,
    label_lines,
    panels,
    powers_of_two,
    subtitle,
)

DRAM_READ = "counter.dram_read_bytes"
STEP = re.compile(r"(?P<what>\w+)@(?:(?P<rank>\d+)\.)?(?P<stream>-?\d+):(?P<begin>[\d.]+)-(?P<end>[\d.]+)")
MAX_STEPS = 100  # maximum steps per rank that can be distinguished in a figure
PER_KERNEL = "time per kernel (µs)"
ONE_LAUNCH = "one launch, with CUDA events around each step, which take time"
UNITS = {"call": PALETTE[3], "copy_to_device": PALETTE[0], "kernel": PALETTE[1], "copy_to_host": PALETTE[2]}


def per_item(frame, items):
    """Time per item of a launch over the number of items; bars for a single number."""
    good = timed_with(frame, items.column)
    good = good.assign(x=numbers(good, items.column), y=good["time_median_us"] / numbers(good, items.column))

    def is_swept(rows):
        return rows["x"].nunique() > 1

    def draw(ax, rows):
        subtitle(ax, constants(rows, [items.column]))
        if is_swept(rows):
            ends = draw_series(ax, rows, markersize=5)
            equal_factors(ax.xaxis)
            equal_factors(ax.yaxis)
            ax.set(xlabel=items.label, ylabel=PER_KERNEL)
            label_lines(ax, ends)
        else:
            bars(ax, list(rows["variant"]), list(rows["y"]))
            ax.set_xlabel(PER_KERNEL)

    return experiment_figures(good, lambda rows: 4.2 if is_swept(rows) else 0.36 * rows["variant"].nunique(), draw, 10.5)


def transfer_rates(frame, words):
    """Bytes per second in each direction over the transferred bytes, a panel per experiment, on logarithmic axes."""
    good = timed_with(frame, words.column)
    size = 4 * numbers(good, words.column)
    good = good.assign(x=size, y=size / good["time_median_us"] / 1e3)

    def draw(ax, rows):
        subtitle(ax, constants(rows, [words.column]))
        ends = draw_series(ax, rows, markersize=5)
        powers_of_two(ax.xaxis)
        ax.set_xticks([16**i for i in range(20) if rows["x"].min() <= 16**i <= rows["x"].max()])
        equal_factors(ax.yaxis, (1,))
        ax.set(xlabel="bytes", ylabel="bandwidth per direction (GB/s)")
        label_lines(ax, ends)

    return experiment_figures(good, 3.2, draw)


def kept_sets(frame, hot):
    """Time, and bytes read from DRAM if counted, over the working set or the share of persisting accesses."""
    good = timed_with(frame, hot.column)
    parts = experiments(good)
    measures = [("time_median_us", 1e3, "time (ms)")]
    if has(good, DRAM_READ):
        measures.append((DRAM_READ, 1e9, "DRAM reads without streamed data (GB)"))
    figure, grid = panels(len(parts), len(measures), 7.2, 4.4)
    for axes, (name, rows) in zip(grid, parts):
        ratios = numbers(rows, "param.hit_ratio")
        by_ratio = ratios.nunique() > 1
        rows = rows.assign(x=ratios if by_ratio else 4 * numbers(rows, hot.column) / 2**20, series=rows["variant"])
        if by_ratio:
            sizes = (4 * numbers(rows, hot.column) / 2**20).map(lambda v: f"{v:g} MiB")
            aside = numbers(rows, "param.set_aside_mib").map(lambda v: f", {v:g} set aside")
            rows["series"] = rows["variant"] + ", " + sizes + aside.where(rows["variant"] == "window", "")
            rows = rows.drop_duplicates(["series", "x"])
        for ax, (column, scale, label) in zip(axes, measures):
            besides = streamed(rows) if column == DRAM_READ else 0
            ends = draw_series(ax, rows.assign(y=(numbers(rows, column) - besides) / scale), "series", markersize=5)
            ax.set(title=name, ylabel=label, ylim=(0, 1.08 * ax.get_ylim()[1]),
                   xlabel="share of the window's accesses that persist" if by_ratio else f"{hot.label} (MiB)")  # fmt: skip
            label_lines(ax, ends)
    return figure


def streamed(rows):
    """Bytes that the streaming kernel reads from DRAM; 0 for the variant without it."""
    return (4 * numbers(rows, "param.streamed")).where(rows["variant"] != "hot_alone", 0)


class Step(NamedTuple):
    """A step of a timeline, with times in µs."""

    what: str
    rank: int | None
    stream: int
    begin: float
    end: float


def steps_of(text):
    found = [m for m in map(STEP.fullmatch, str(text).split(";")) if m]
    return [Step(m["what"], m["rank"] and int(m["rank"]), int(m["stream"]), float(m["begin"]), float(m["end"])) for m in found]


def unit_of(what):
    """The lane of a step; steps named after a kernel belong to the lane "kernel"."""
    return what if what in UNITS or what in ("copy", "other") else "kernel"


def rows_with_steps(frame, column):
    return [row for _, row in frame.iterrows() if steps_of(row.get(column, ""))]


def timelines(frame):
    """Launches of one problem, with a lane per unit: measured by events if available, else predicted."""
    good = timed(frame)
    measured = rows_with_steps(good, "timeline")
    column = "timeline" if measured else "predicted_timeline"
    rows = of_one_problem(measured or rows_with_steps(good, column), column)
    used = {unit_of(step.what) for row in rows for step in steps_of(row[column])}
    lanes = [unit for unit in UNITS if unit in used]
    figure, grid = panels(len(rows), 1, 10.5, 1.1 + 0.28 * len(lanes))
    ends = sorted(max(step.end for step in steps_of(row[column])) for row in rows)
    shown = min(ends[-1:] + [1.15 * end for end in ends[-2:-1]], default=0)  # the longest row may be cut off
    for ax, row in zip(grid[:, 0], rows):
        draw_lanes(ax, steps_of(row[column]), lanes, shown)
        ax.set_title(f"{row['variant']}: {time_text(row, column)}")
    grid[-1, 0].set_xlabel("time from the launch's start (µs); " + (ONE_LAUNCH if measured else "predicted"))
    return figure


def time_text(row, column):
    measured = f"measured {row['time_median_us']:.0f} µs"
    if column == "timeline":
        return f"{measured}, {max(step.end for step in steps_of(row[column])):.0f} µs with CUDA events"
    return f"predicted {float(row['predicted_time_us']):.0f} µs, {measured}"


def of_one_problem(rows, column, ranks=1):
    """Rows of the first experiment, at the problem with the most steps that can still be distinguished."""
    rows = [row for row in rows if row["experiment"] == rows[0]["experiment"]]
    problems = [tuple(row[[c for c in row.index if c.startswith("param.")]]) for row in rows]
    longest = {}
    for row, problem in zip(rows, problems):
        longest[problem] = max(longest.get(problem, 0), len(steps_of(row[column])))
    seen = [problem for problem, steps in longest.items() if steps <= MAX_STEPS * ranks]
    if not seen:
        raise NothingToDraw("rows with a timeline are needed")
    shown = max(seen, key=longest.get)
    return [row for row, problem in zip(rows, problems) if problem == shown]


def draw_lanes(ax, steps, lanes, until):
    """Steps in the lanes of their units. A step that waits for its unit is drawn from the end of the previous step."""
    free = {}
    for step in sorted(steps, key=lambda step: step.end):
        what = unit_of(step.what)
        if what not in lanes:
            continue
        start = min(step.end, max(step.begin, free.get(what, 0)))
        free[what] = step.end
        ax.barh(lanes.index(what), step.end - start, left=start, height=0.7, color=UNITS[what], edgecolor="white", linewidth=0.8)
    ax.set_yticks(range(len(lanes)), [what.replace("_", " ") for what in lanes])
    ax.set_ylim(len(lanes) - 0.5, -0.5)
    ax.set_xlim(0, until)
    ax.grid(axis="y", visible=False)


def swept_times(frame):
    """Time over the parameter that an experiment varies: measured as filled, predicted as open circles. Bars if it varies none."""
    good = timed(frame)
    if good.empty:
        raise NothingToDraw("no row passed with a time")
    colours_of = colours(distinct(good, "variant"))

    def draw(ax, rows):
        axis = varying(rows)
        subtitle(ax, constants(rows, [axis]))
        if axis:
            draw_swept(ax, rows, axis, colours_of)
        else:
            scale, unit = time_unit(rows)
            bars(ax, list(rows["variant"]), list(rows["time_median_us"] / scale))
            ax.set_xlabel(f"time ({unit})")

    return experiment_figures(good, lambda rows: 2.8 if varying(rows) else 0.3 * rows["variant"].nunique(), draw)


def varying(rows):
    found = [c for c in rows if c.startswith("param.") and rows[c].nunique() > 1]
    return found[0] if found else None


def time_unit(rows):
    return (1e3, "ms") if rows["time_median_us"].max() > 100 else (1, "µs")


def draw_swept(ax, rows, axis, colours_of):
    scale, unit = time_unit(rows)
    rows = rows.assign(x=numbers(rows, axis), y=rows["time_median_us"] / scale, predicted=numbers(rows, "predicted_time_us") / scale)
    ends = draw_series(ax, rows, looks=colours_of, markersize=5)
    draw_open(ax, rows, "x", "predicted", "predicted", 9, "best", colours_of)
    values = sorted(numbers(rows, axis).unique())
    if values[-1] >= 8 * values[0]:
        powers_of_two(ax.xaxis)
        ax.xaxis.set_major_formatter(FuncFormatter(lambda v, _: count(v)))
    ax.set_xticks(values)
    ax.set(xlabel=axis.removeprefix("param."), ylabel=f"time ({unit})", ylim=(0, 1.08 * ax.get_ylim()[1]))
    label_lines(ax, ends)
