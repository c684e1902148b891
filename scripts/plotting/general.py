"""Panels for any family: a line per series over a swept parameter, or a bar per series."""

import math

from plotting.results import NothingToDraw, axes, distinct, experiments, has, numbers, rate, swept, text_of, timed
from plotting.style import GREY, axis_of, bars, bars_height, by_series, colours, count, grouped_bars, label_lines, note, panels


def series_names(frame, axis=None):
    """Names of the series of a frame: the variant, then all other columns that vary."""
    parts = [frame["variant"]]
    for other in axes(frame):
        if not axis or other.column != axis.column:
            parts.append(frame[other.column].map(lambda v, name=other.label: f"{name}={text_of(v)}"))
    if len(distinct(frame, "mode")) > 1:
        parts.append(frame["mode"])
    return parts[0].str.cat(parts[1:], sep=", ")


def constants(frame, besides=()):
    """ "n = 67108864, cold": parameters and mode that are the same in every row."""
    parts = []
    for column in [c for c in frame if c.startswith("param.") and c not in besides]:
        values = distinct(frame, column)
        if len(values) == 1:
            value = values[0] if isinstance(values[0], str) else count(values[0])
            parts.append(f"{column.removeprefix('param.')} = {value}")
    parts += [m for m in distinct(frame, "mode") if len(distinct(frame, "mode")) == 1]
    return ", ".join(parts)


def draw_lines(ax, frame, axis, column, label, moved=False):
    """The rate over the swept parameter; the rate in whole sectors is dotted if it is larger."""
    ends, dotted = [], False
    for name, colour, dash, rows in by_series(frame.assign(series=series_names(frame, axis)), "series"):
        rows = rows.sort_values(axis.column, key=lambda s: s.astype(float))
        x, y = numbers(rows, axis.column), numbers(rows, column)
        ax.plot(x, y, dash, color=colour, marker="o")
        traffic = numbers(rows, "moved_gb_per_s")
        if moved and (traffic > 1.05 * y).any():
            ax.plot(x, traffic, ":", color=colour, linewidth=1.8)
            dotted = True
        ends.append((x.iloc[-1], y.iloc[-1], name, colour))
    ax.set_ylim(0, 1.06 * ax.get_ylim()[1])
    axis_of(ax, numbers(frame, axis.column))
    ax.set(xlabel=axis.label, ylabel=label)
    if dotted:
        ax.plot([], [], ":", color=GREY, linewidth=1.8, label="the same, counting whole 32-byte sectors")
        ax.legend(loc="best", fontsize=10)
    label_lines(ax, ends)


def draw_bars(ax, frame, column, label):
    names = series_names(frame)
    bars(ax, list(names), list(numbers(frame, column)))
    ax.set_xlabel(label)


def draw_experiment(ax, frame, moved=False):
    """A panel for one experiment: lines if a parameter is swept, else bars."""
    column, label = rate(frame)
    axis = swept(frame)
    if axis:
        draw_lines(ax, frame, axis, column, label, moved and column == "useful_gb_per_s")
    else:
        draw_bars(ax, frame, column, label)


def any_family(frame, moved=False):
    """One panel per experiment of the family."""
    drawable = [(name, rows) for name, rows in experiments(timed(frame)) if len(rows)]
    if not drawable:
        raise NothingToDraw("no row passed with a time")
    heights = [3.6 if swept(part) else bars_height(len(part)) for _, part in drawable]
    figure, grid = panels(len(drawable), 1, 9, heights)
    for ax, (name, part) in zip(grid.flat, drawable):
        draw_experiment(ax, part, moved)
        ax.set_title(name)
        note(ax, constants(part))
    return figure


def share_of_copy(frame, kind):
    """A panel per size: bars of each variant's rate relative to the baseline, with a colour for each value of `kind`."""
    good = timed(frame)
    if not has(good, "speedup"):
        raise NothingToDraw("no row has a speedup; set a baseline in the config")
    good = good[good["speedup"].notna()]
    extents = [c for c in good if c.startswith("param.") and c != kind.column]
    varied = [c for c in extents if good[c].nunique() > 1 or good[c].isna().any()]
    if len(varied) > 1:  # one parameter does not identify a size
        extents = varied

    def size_of(row):
        return " × ".join(text_of(row[c]) for c in extents if row[c] == row[c])  # without NaN

    def kind_of(row):
        value = row[kind.column] if kind.column in row else math.nan
        if value != value:
            return ""
        return value if isinstance(value, str) else f"{kind.label} = {text_of(value)}"

    good = good.assign(size=good.apply(size_of, axis=1), kind=good.apply(kind_of, axis=1))
    sizes, shades = distinct(good, "size"), colours(distinct(good, "kind"))
    groups = good.groupby("size")
    height = bars_height(groups["variant"].nunique().max() * (1 + 0.55 * (groups["kind"].nunique().max() - 1)))
    figure, grid = panels(-(-len(sizes) // 2), min(2, len(sizes)), 7, height)
    labels = {}
    for ax, size in zip(grid.flat, sizes):
        rows = good[good["size"] == size]
        variants = distinct(rows, "variant")
        drawn = []
        for name in distinct(rows, "kind"):
            part = rows[rows["kind"] == name].drop_duplicates("variant").set_index("variant")
            values = list(numbers(part, "speedup").reindex(variants))
            drawn.append((name or None, shades[name][0], values, ["" if math.isnan(v) else f"{v:.2f}" for v in values]))
        grouped_bars(ax, variants, drawn, top=1.0, room=4)
        labels |= {label: handle for handle, label in zip(*ax.get_legend_handles_labels()) if label not in labels}
        ax.set(title=size, xlabel=f"rate over that of {rows['baseline'].iloc[0]}")
    if labels:
        figure.legend(labels.values(), labels.keys(), loc="outside right upper")
    for ax in list(grid.flat)[len(sizes) :]:
        ax.set_visible(False)
    return figure


def memory_family(frame):
    """Like any_family(), with moved bytes in addition to useful bytes."""
    return any_family(frame, moved=True)
