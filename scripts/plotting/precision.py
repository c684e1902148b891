"""Speed and errors of types with fewer bits."""

import math

from plotting.results import distinct, experiments, numbers, swept, text_of, timed, timed_with
from plotting.style import PALETTE, bars, bars_height, colours, grouped_bars, label_lines, panels, short


def type_colour(variant):
    """The colour of a variant's type, which its name starts with."""
    for i, name in enumerate(("fp32", "fp16", "bf16")):
        if variant.startswith(name):
            return PALETTE[i]
    return PALETTE[7]


def times_by_type(frame, by):
    """Time of an element-wise operation by type, with speedup and share of the limit."""
    good = timed(frame)
    operations = distinct(good, by.column) or [None]
    parts = [good if o is None else good[good[by.column] == o] for o in operations]
    parts = [part.drop_duplicates(["variant", "mode"]) for part in parts]
    figure, grid = panels(len(parts), 1, 9, [bars_height(len(part)) for part in parts])
    room = max(len(note(row)) for _, row in good.iterrows())
    for ax, operation, part in zip(grid.flat, operations, parts):
        labels = part["variant"] if part["mode"].nunique() == 1 else part["variant"] + ", " + part["mode"]
        bars(ax, list(labels), list(part["time_median_us"]), [type_colour(v) for v in part["variant"]],
             [note(row) for _, row in part.iterrows()], good["time_median_us"].max(), room)  # fmt: skip
        ax.set(title=operation or "", xlabel="time (µs): shorter is better")
    return figure


def note(row):
    parts = [f"{short(row['time_median_us'])} µs"]
    if row.get("speedup") == row.get("speedup") and row["variant"] != row["baseline"]:
        parts.append(f"{row['speedup']:.2f}× {row['baseline']}'s speed")
    if row.get("limit_pct") == row.get("limit_pct"):
        parts.append(f"{row['limit_pct']:.0f} % of limit")
    return ", ".join(parts)


def loss_scaling(frame):
    """Gradients that fp16 stores as zero: by scale if the scale is swept, else by variant."""
    good = timed_with(frame, "metric.lost_share_pct")
    parts = experiments(good)
    figure, grid = panels(1, len(parts), 7, 4.6)
    for ax, (name, rows) in zip(grid[0], parts):
        by_scale = swept(rows)
        if by_scale and by_scale.column == "param.static_scale_log2":
            draw_scales(ax, rows)
        else:
            draw_lost(ax, rows)
        ax.set_title(name)
    return figure


def draw_lost(ax, rows):
    """A bar for each variant and typical size of a gradient."""
    centres = sorted(distinct(rows, "param.centre_log2"), reverse=True)
    variants = distinct(rows, "variant")
    lost = numbers(rows, "metric.lost_share_pct").groupby([rows["variant"], rows["param.centre_log2"]]).first()
    series = []
    for variant, (colour, _) in colours(variants).items():
        values = [lost.get((variant, centre), math.nan) for centre in centres]
        notes = ["" if math.isnan(v) else f"{v:.2g} %" for v in values]
        series.append((variant, colour, values, notes))
    grouped_bars(ax, [f"$2^{{{text_of(c)}}}$" for c in centres], series)
    ax.set(ylabel="typical size of a gradient", xlabel="gradients stored as zero (%)")
    ax.legend(loc="upper right", fontsize=10)


def draw_scales(ax, rows):
    rows = rows.sort_values("param.static_scale_log2")
    x = numbers(rows, "param.static_scale_log2")
    lost = numbers(rows, "metric.lost_share_pct")
    overflow = 100 * numbers(rows, "metric.overflow_count") / numbers(rows, "param.n")
    ax.plot(x, lost, marker="o", color=PALETTE[0])
    ax.plot(x, overflow, marker="s", color=PALETTE[1])
    ax.set(xlabel="log2 of the static scale", ylabel="gradients (%)")
    smallest = min((share for share in [*lost, *overflow] if share > 0), default=1e-6)
    ax.set_yscale("symlog", linthresh=smallest)  # shows zero and several decades on one axis
    ax.set_ylim(bottom=0)
    label_lines(ax, [(x.iloc[-1], lost.iloc[-1], "stored as zero", PALETTE[0]),
                     (x.iloc[-1], overflow.iloc[-1], "overflowed", PALETTE[1])])  # fmt: skip


def metrics_by_type(frame, *axes):
    """A panel for each metric and for time, with a bar for each variant; a row of panels for each value of the last axis."""
    *metrics, by = axes
    good = timed_with(frame, *(metric.column for metric in metrics))
    values = distinct(good, by.column) or [None]
    measures = [(metric.column, metric.label, 1.0) for metric in metrics] + [("time_median_us", "time (ms)", 1e-3)]
    height = bars_height(good["variant"].nunique())
    figure, grid = panels(len(values), len(measures), 4.8, height, sharey="row")
    for row, value in zip(grid, values):
        part = good if value is None else good[good[by.column] == value]
        part = part.drop_duplicates("variant")
        for ax, (column, label, factor) in zip(row, measures):
            bars(ax, list(part["variant"]), list(numbers(part, column) * factor),
                 [type_colour(v) for v in part["variant"]], top=numbers(good, column).max() * factor)  # fmt: skip
            ax.set_xlabel(label)
        row[0].set_title("" if value is None else f"{by.label} {value:g}")
    return figure
