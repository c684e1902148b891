"""Latency of a dependent step over the working set, and bandwidth over bytes in flight."""

from plotting.general import constants, experiment_figures
from plotting.results import distinct, has, numbers, timed_with
from plotting.style import by_series, colours, draw_series, label_lines, powers_of_two, subtitle

CYCLES = "metric.step_cycles"
DELIVERED = "metric.delivered_bytes"
LOADS = "param.loads_per_thread"
NEAR, FAR = "metric.near_cycles", "metric.far_cycles"


def working_sets(frame, size):
    """A panel per experiment, a line per variant. If measured, a bar spans the latencies of the nearest to the farthest tenth of cache lines."""
    good = timed_with(frame, size.column, CYCLES)
    good = good.assign(x=numbers(good, size.column), y=numbers(good, CYCLES)).dropna(subset=["x", "y"])
    shades = colours(distinct(good, "variant"))

    def draw(ax, rows):
        draw_experiment(ax, rows, shades)
        ax.set(xlabel=f"{size.label} (bytes)", ylabel="latency (SM cycles)")

    return experiment_figures(good, lambda rows: 3.6 if rows["x"].nunique() > 12 else 2.2, draw)


def draw_experiment(ax, rows, shades):
    subtitle(ax, constants(rows))
    ends = draw_series(ax, rows, looks=shades, markersize=5)
    for _, colour, _, part in by_series(rows, looks=shades):
        if has(part, NEAR, FAR):
            ax.vlines(part["x"], numbers(part, NEAR), numbers(part, FAR), color=colour, linewidth=5, alpha=0.35)
    if rows["y"].max() > 4 * rows["y"].min():
        powers_of_two(ax.yaxis)
    else:
        ax.set_ylim(0, 1.15 * max(rows["y"].max(), numbers(rows, FAR).max() if has(rows, FAR) else 0))
    powers_of_two(ax.xaxis)
    low, high = rows["x"].min(), rows["x"].max()
    step = 4 if high / low < 4**9 else 16
    ax.set_xticks([step**i for i in range(20) if low <= step**i <= high])
    label_lines(ax, ends)


def little(frame, in_flight):
    """A panel per experiment, a line per variant and number of loads per thread; the lines coincide while Little's law holds."""
    good = timed_with(frame, in_flight.column, DELIVERED)
    rate = numbers(good, DELIVERED) / good["time_median_us"] / 1e3
    good = good.assign(x=numbers(good, in_flight.column), rate=rate).dropna(subset=["x", "rate"])
    shades = colours(distinct(good, "variant"))

    def draw(ax, rows):
        subtitle(ax, constants(rows))
        for variant, colour, _, own in by_series(rows, looks=shades):
            for loads, marker in zip(sorted(numbers(rows, LOADS).unique()), "ov^s"):
                part = own[numbers(own, LOADS) == loads].sort_values("x")
                ax.plot(part["x"], part["rate"], "-", marker=marker, markersize=5, color=colour,
                        label=f"{variant}, {int(loads)} loads per thread")  # fmt: skip
        powers_of_two(ax.xaxis)
        ax.set(ylim=(0, None), xlabel=in_flight.label, ylabel="bandwidth to the SMs (GB/s)")
        ax.legend(loc="upper left", fontsize=9)

    return experiment_figures(good, 3.4, draw)
