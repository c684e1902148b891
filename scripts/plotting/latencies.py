"""What a dependent step takes, over the working set that its data lie in; what bandwidth bytes in flight get."""

from plotting.results import distinct, has, numbers, timed_with
from plotting.style import colours, experiment_panels, label_lines, powers_of_two

CYCLES = "metric.step_cycles"
DELIVERED = "metric.delivered_bytes"
LOADS = "param.loads_per_thread"
NEAR, FAR = "metric.near_cycles", "metric.far_cycles"


def working_sets(frame, size):
    """A panel per experiment, a line per variant; a bar from the near to the far tenth of lines where those were measured."""
    good = timed_with(frame, size.column, CYCLES)
    good = good.assign(x=numbers(good, size.column), cycles=numbers(good, CYCLES)).dropna(subset=["x", "cycles"])
    figure, parts = experiment_panels(good, 11, lambda rows: 4.6 if rows["x"].nunique() > 12 else 3.2)
    shades = colours(distinct(good, "variant"))
    for ax, rows in parts:
        draw_experiment(ax, rows, shades)
        ax.set_xlabel(f"{size.label} (bytes)")
        ax.set_ylabel("SM clocks per step")
    return figure


def draw_experiment(ax, rows, shades):
    ends = []
    for variant in distinct(rows, "variant"):
        colour, dash = shades[variant]
        part = rows[rows["variant"] == variant].sort_values("x")
        ax.plot(part["x"], part["cycles"], dash, color=colour, marker="o", markersize=5)
        if has(part, NEAR, FAR):
            near, far = numbers(part, NEAR), numbers(part, FAR)
            ax.vlines(part["x"], near, far, color=colour, linewidth=5, alpha=0.35)
        ends.append((part["x"].iloc[-1], part["cycles"].iloc[-1], variant, colour))
    spread = rows["cycles"].max() / rows["cycles"].min()
    if spread > 4:
        powers_of_two(ax.yaxis)
    else:
        ax.set_ylim(0, 1.15 * max(rows["cycles"].max(), numbers(rows, FAR).max() if has(rows, FAR) else 0))
    powers_of_two(ax.xaxis)
    low, high = rows["x"].min(), rows["x"].max()
    ax.set_xticks([4**i for i in range(40) if low <= 4**i <= high])
    label_lines(ax, ends)


def little(frame, in_flight):
    """A panel per experiment, a line per variant and loads of a thread: as long as Little's law holds, they lie on one."""
    good = timed_with(frame, in_flight.column, DELIVERED)
    rate = numbers(good, DELIVERED) / good["time_median_us"] / 1e3
    good = good.assign(x=numbers(good, in_flight.column), rate=rate).dropna(subset=["x", "rate"])
    figure, parts = experiment_panels(good, 11, 4.6)
    shades = colours(distinct(good, "variant"))
    for ax, rows in parts:
        for variant in distinct(rows, "variant"):
            for loads, marker in zip(sorted(numbers(rows, LOADS).unique()), "ov^s"):
                part = rows[(rows["variant"] == variant) & (numbers(rows, LOADS) == loads)].sort_values("x")
                ax.plot(part["x"], part["rate"], "-", marker=marker, markersize=5, color=shades[variant][0],
                        label=f"{variant}, {int(loads)} loads of each thread")  # fmt: skip
        powers_of_two(ax.xaxis)
        ax.set_ylim(0, None)
        ax.set_xlabel(in_flight.label)
        ax.set_ylabel("GB/s that reach the SMs")
        ax.legend(loc="upper left")
    return figure
