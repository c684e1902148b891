"""The cost of branches: time relative to the same work without divergence."""

from matplotlib.colors import Normalize

from plotting.results import NothingToDraw, distinct, experiments, has, numbers, text_of, timed
from plotting.style import GREY, MAX_HEIGHT, by_series, draw_series, heat_map, label_lines, note, panels, plt


def with_relative_times(frame):
    """Rows with column `relative`: time divided by the baseline's time for the same problem."""
    good = timed(frame)
    if not has(good, "speedup"):
        raise NothingToDraw("the column speedup is needed: name a baseline in the config")
    return good.assign(relative=1 / numbers(good, "speedup")).dropna(subset=["relative"])


def relative_times(frame, across, down=None):
    """Lines over one parameter; if a second parameter is swept as well, a heat map over the two parameters for each variant."""
    good = with_relative_times(frame)
    if not has(good, across.column):
        raise NothingToDraw(f"rows with {across.column} are needed")
    if not down:
        figure, grid = panels(1, 1, 9, 5)
        draw_relative(grid[0][0], good, across)
        return figure
    maps, lines = [], []
    for name, rows in experiments(good):
        own = rows[rows["variant"] != rows["baseline"]]
        if len(distinct(rows, down.column)) > 1:
            maps += [(f"{name}: {v}", own[own["variant"] == v]) for v in distinct(own, "variant")]
        else:
            lines.append((name, rows))
    if not maps and not lines:
        raise NothingToDraw(f"no experiment sweeps {across.column}")
    map_rows = -(-len(maps) // 2)
    figure = plt.figure(figsize=(13, min(MAX_HEIGHT, 4.3 * (map_rows + len(lines)) + 0.4)), layout="constrained")
    grid = figure.add_gridspec(map_rows + len(lines), 2)
    top = max((rows["relative"].max() for _, rows in maps), default=1)
    for i, (title, rows) in enumerate(maps):
        alone = i % 2 == 0 and i == len(maps) - 1
        ax = figure.add_subplot(grid[i // 2, :] if alone else grid[i // 2, i % 2])
        draw_map(ax, rows, across, down, max(2.0, top))
        ax.set_title(title)
    for i, (title, rows) in enumerate(lines):
        ax = figure.add_subplot(grid[map_rows + i, :])
        draw_relative(ax, rows, across, by_rank=True)
        ax.set_title(title)
    return figure


def draw_map(ax, rows, across, down, top):
    table = rows.pivot_table(index=down.column, columns=across.column, values="relative").sort_index(ascending=False)
    heat_map(ax, table.to_numpy(), "YlOrBr", Normalize(1, top))
    ax.set_xticks(range(table.shape[1]), [text_of(v) for v in table.columns])
    ax.set_yticks(range(table.shape[0]), [text_of(v) for v in table.index])
    ax.set(xlabel=across.label, ylabel=down.label)
    note(ax, f"time relative to {rows['baseline'].iloc[0]}", 10)


def draw_relative(ax, rows, axis, by_rank=False):
    """A line of relative time per variant; the expected number of passes is dotted. `by_rank` spaces the axis values evenly."""
    values = sorted(numbers(rows, axis.column).dropna().unique())
    x = [values.index(v) if by_rank else v for v in numbers(rows, axis.column)]
    rows = rows.assign(x=x, y=rows["relative"]).sort_values("x")
    ends = draw_series(ax, rows)
    for _, colour, _, part in by_series(rows):
        if has(part, "metric.expected_passes"):
            ax.plot(part["x"], numbers(part, "metric.expected_passes"), ":", color=colour, linewidth=1.4)
    if has(rows, "metric.expected_passes"):
        ax.plot([], [], ":", color=GREY, linewidth=1.4, label="expected: passes that a warp issues")
        ax.legend(loc="best")
    if by_rank:
        ax.set_xticks(range(len(values)), [text_of(v) for v in values])
    ax.set_ylim(0, 1.06 * ax.get_ylim()[1])
    ax.set(xlabel=axis.label, ylabel=f"time relative to {rows['baseline'].iloc[0]}")
    label_lines(ax, ends)
