"""Time over memory: a curve per variant through the values of the parameter that trades time for memory."""

from plotting.results import NothingToDraw, basis, experiments, numbers, text_of, timed_with
from plotting.style import by_series, note, panels, powers_of_two


def time_against_memory(frame, memory, traded):
    """A panel per experiment that varies the parameter, whose values label the points."""
    good = timed_with(frame, memory.column, traded.column)
    good = good.assign(x=numbers(good, memory.column) / 1e9, y=numbers(good, "time_median_us") / 1e3,
                       traded=numbers(good, traded.column))  # fmt: skip
    parts = [(name, rows) for name, rows in experiments(good) if rows["traded"].nunique() > 1]
    if not parts:
        raise NothingToDraw(f"rows that differ in {traded.column} are needed")
    figure, grid = panels(len(parts), 1, 9, 4.8)
    for ax, (name, rows) in zip(grid[:, 0], parts):
        scale, unit = (1, "GB") if rows["x"].max() > 0.5 else (1e3, "MB")
        for variant, colour, dash, part in by_series(rows.assign(x=scale * rows["x"])):
            draw_curve(ax, part.sort_values("traded"), variant, colour, dash)
        powers_of_two(ax.xaxis)
        ax.set(title=name, xlabel=f"{memory.label} ({unit})", ylabel=f"{basis(rows)} time (ms)", ylim=(0, 1.12 * rows["y"].max()))
        note(ax, f"at the points: {traded.label}")
        ax.legend(loc="best")
    return figure


def draw_curve(ax, rows, variant, colour, dash):
    """Labels are above the points; below for values smaller than at the point with the least memory, where the curve turns back."""
    ax.plot(rows["x"], rows["y"], dash, color=colour, marker="o", label=variant)
    least = rows.loc[rows["x"].idxmin(), "traded"]
    for x, y, value in zip(rows["x"], rows["y"], rows["traded"]):
        ax.annotate(text_of(value), (x, y), xytext=(0, 6 if value >= least else -16), textcoords="offset points",
                    ha="center", fontsize=10, color=colour)  # fmt: skip
