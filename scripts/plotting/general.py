"""Panels for any family: a line per series over a swept parameter, or a bar per series."""

from matplotlib.colors import BoundaryNorm

from plotting.results import NothingToDraw, axes, distinct, experiments, has, numbers, rate, swept, text_of, timed
from plotting.style import (
    DASHES,
    GREY,
    axis_of,
    by_series,
    colours,
    count,
    grouped_bars,
    heat_map,
    label_lines,
    legend_at_right,
    pages_of_panels,
    panels,
    subtitle,
)

SHORT = {"param.columns": "cols"}  # names over narrow cells
MAX_COLUMNS = 14  # in a heat map
SHARES = [0.25, 0.35, 0.5, 0.7, 0.85, 0.95, 1.05, 1.18, 1.43, 2, 2.9, 4]  # boundaries of colours; white: 0.95 to 1.05


def text_of_axis(name, value):
    """ "bf16", and "k = 64": only numbers need a name."""
    return value if isinstance(value, str) else f"{name} = {text_of(value)}"


def cases(frame, axis=None):
    """For each row the values that distinguish it from other rows of its variant: varying parameters except the axis, and a varying mode."""
    parts = [frame[other.column].map(lambda v, name=other.label: text_of_axis(name, v))
             for other in axes(frame) if not axis or other.column != axis.column]  # fmt: skip
    if len(distinct(frame, "mode")) > 1:
        parts.append(frame["mode"])
    return parts[0].str.cat(parts[1:], sep=", ") if parts else frame["mode"].map(lambda _: "")


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


def draw_lines(ax, frame, axis, column, label, colours_of, moved=False):
    """The rate over the swept parameter, with a dash per case; dotted: the rate of whole sectors, if it is over 5 % higher."""
    ends, dotted = [], False
    frame = frame.assign(case=cases(frame, axis))
    dashes = dict(zip(distinct(frame, "case"), DASHES * len(frame)))
    for (name, case), rows in frame.groupby(["variant", "case"], sort=False):
        colour, dash = colours_of[name]
        rows = rows.sort_values(axis.column, key=lambda s: s.astype(float))
        x, y = numbers(rows, axis.column), numbers(rows, column)
        ax.plot(x, y, dashes[case] if case else dash, color=colour, marker="o")
        traffic = numbers(rows, "moved_gb_per_s")
        if moved and (traffic > 1.05 * y).any():
            ax.plot(x, traffic, ":", color=colour, linewidth=1.8)
            dotted = True
        ends.append((x.iloc[-1], y.iloc[-1], f"{name}, {case}" if case else name, colour))
    ax.set_ylim(0, 1.06 * ax.get_ylim()[1])
    axis_of(ax, numbers(frame, axis.column))
    ax.set(xlabel=axis.label, ylabel=label)
    if dotted:
        ax.plot([], [], ":", color=GREY, linewidth=1.8, label="bytes of whole 32-byte sectors")
        ax.legend(loc="best", fontsize=10)
    label_lines(ax, ends)


def draw_bars(ax, frame, column, label):
    """A bar per variant or, if parameters vary, a group of bars with a colour for each case."""
    frame = frame.assign(case=cases(frame))
    variants, names = distinct(frame, "variant"), distinct(frame, "case")
    series = [(name or None, colour, numbers(rows.drop_duplicates("variant").set_index("variant"), column).reindex(variants), None)
              for name, colour, _, rows in by_series(frame, "case")]  # fmt: skip
    grouped_bars(ax, variants, series)
    ax.set_xlabel(label)
    if len(names) > 1:
        legend_at_right(ax)


def draw_experiment(ax, frame, colours_of, moved=False):
    """A panel for one experiment: lines if a parameter is swept, else bars."""
    column, label = rate(frame)
    axis = swept(frame)
    subtitle(ax, constants(frame))
    if axis:
        draw_lines(ax, frame, axis, column, label, colours_of, moved and column == "useful_gb_per_s")
    else:
        draw_bars(ax, frame, column, label)


def bars_of(rows):
    """The number of bars for which draw_bars needs room."""
    return rows["variant"].nunique() * cases(rows).nunique()


def experiment_figures(frame, height, draw, width=9):
    """Figures with a panel per experiment, which draw(ax, rows) draws. `height`: inches, or a function of an experiment's rows."""
    parts = experiments(frame)
    heights = [height(rows) if callable(height) else height for _, rows in parts]
    figures = []
    for figure, panels_of_page in pages_of_panels([name for name, _ in parts], heights, width):
        figures.append(figure)
        for ax in panels_of_page:
            draw(ax, parts.pop(0)[1])
    return figures


def any_family(frame, moved=False):
    """One panel per experiment of the family."""
    good = timed(frame)
    if good.empty:
        raise NothingToDraw("no row passed with a time")
    unswept = [rows for _, rows in experiments(good) if not swept(rows)]
    thickness = 0.2 if any(cases(rows).nunique() > 1 for rows in unswept) else 0.32  # inches of a bar, in all panels
    colours_of = colours(distinct(good, "variant"))
    return experiment_figures(good, lambda rows: 2.7 if swept(rows) else thickness * bars_of(rows),
                              lambda ax, rows: draw_experiment(ax, rows, colours_of, moved))  # fmt: skip


def declared_order(frame):
    """Variants in the order of their declaration: every experiment lists its variants in this order."""
    order = []
    for _, rows in experiments(frame):
        place = 0
        for variant in distinct(rows, "variant"):
            if variant not in order:
                order.insert(place, variant)
            place = order.index(variant) + 1
    return order


def problem_names(frame, kind):
    """For each row a text with a line per varying parameter; the last line is the value of the axis `kind`."""
    columns = [c for c in frame if c.startswith("param.") and c != kind.column and frame[c].nunique(dropna=False) > 1]
    columns += [kind.column] if kind.column in frame else []

    def name(row):
        lines = [text_of_axis(SHORT.get(c, c.removeprefix("param.")), row[c]).replace(" = ", " ") for c in columns if row[c] == row[c]]
        return "\n".join(lines + [row["mode"]] * (frame["mode"].nunique() > 1))

    return frame.apply(name, axis=1)


def share_of_copy(frame, kind):
    """Heat maps of throughput relative to the baseline: a row per variant, a column per problem and type."""
    good = timed(frame)
    if not has(good, "speedup"):
        raise NothingToDraw("a speedup is needed: name a baseline in the config")
    without = [name for name, rows in experiments(good) if not has(rows, "speedup")]
    good = good[good["speedup"].notna()]
    good = good.assign(problem=problem_names(good, kind), size=problem_names(good.drop(columns=kind.column, errors="ignore"), kind))
    problems = [p for size in distinct(good, "size") for p in distinct(good[good["size"] == size], "problem")]
    table = good.pivot_table(index="variant", columns="problem", values="speedup", aggfunc="first")
    table = table.reindex(index=declared_order(good), columns=problems)
    return [draw_shares(table[problems[i : i + MAX_COLUMNS]].dropna(how="all"), good, without, kind)
            for i in range(0, len(problems), MAX_COLUMNS)]  # fmt: skip


def draw_shares(table, rows, without, kind):
    """One heat map; equal factors below and above 1, which is white, have equally strong colours."""
    lines = max(name.count("\n") + 1 for name in table)
    figure, grid = panels(1, 1, max(6.5, 2.6 + 0.95 * table.shape[1]), 0.9 + 0.34 * max(6, len(table)) + 0.17 * lines)
    ax = grid[0][0]
    heat_map(ax, table.to_numpy(), "PuOr", BoundaryNorm(SHARES, 256, extend="both"))
    ax.set_xticks(range(table.shape[1]), table.columns, fontsize=9)
    ax.set_yticks(range(len(table)), table.index)
    subtitle(ax, constants(rows, [kind.column]))
    if without:
        ax.set_xlabel(f"not drawn, for lack of a baseline: {', '.join(without)}", fontsize=9, color=GREY, loc="left")
    bar = figure.colorbar(ax.images[0], ax=ax, ticks=SHARES, spacing="uniform", aspect=18, fraction=0.05, pad=0.01)
    bar.ax.set_yticklabels([f"{share:g}" for share in SHARES], fontsize=9)
    bar.set_label(f"throughput\nrelative to {', '.join(distinct(rows, 'baseline'))}\n(1 = as fast)", fontsize=10)
    return figure


def memory_family(frame):
    """A panel per experiment, with the rate of whole sectors as dotted lines."""
    return any_family(frame, moved=True)
