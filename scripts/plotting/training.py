"""Time of the phases of a training step."""

from plotting.results import NothingToDraw, basis, distinct, experiments, numbers, timed
from plotting.style import PALETTE, bars_height, name_rows, panels, scale, short

PHASES = ("forward", "backward", "update")


def step_phases(frame, phase, dtype):
    """A bar per type and variant, stacked from its phases; a line marks the time of the whole step in one launch."""
    good = timed(frame)
    if phase.column not in good or dtype.column not in good:
        raise NothingToDraw(f"rows with {phase.column} and {dtype.column} are needed")
    good = good.assign(phase=good[phase.column], dtype=good[dtype.column], ms=numbers(good, "time_median_us") / 1e3)
    parts = [rows for _, rows in experiments(good) if set(PHASES) <= set(distinct(rows, "phase"))]
    if not parts:
        raise NothingToDraw("an experiment with all phases is needed")
    rows = parts[0]
    same = ["param.batch", "param.sequences", "param.tokens", "param.width", "param.hidden", "param.layers"]
    problem = {column: rows[column].iloc[0] for column in same if column in rows}
    whole = good[good["phase"] == "step"]
    for column, value in problem.items():
        whole = whole[whole[column] == value]
    types = distinct(rows, "dtype")
    counts = [len(distinct(rows[rows["dtype"] == name], "variant")) for name in types]
    figure, grid = panels(len(types), 1, 9, [bars_height(count) for count in counts])
    for ax, name in zip(grid[:, 0], types):
        draw_type(ax, rows[rows["dtype"] == name], whole[whole["dtype"] == name])
        ax.set_title(name)
    grid[0, 0].legend(loc="lower center", bbox_to_anchor=(0.5, 1.12), ncols=4)
    grid[-1, 0].set_xlabel(f"{basis(rows)} time (ms)")
    return figure


def draw_type(ax, rows, whole):
    variants = distinct(rows, "variant")
    ends = []
    for place, variant in enumerate(variants):
        own = rows[rows["variant"] == variant].set_index("phase")["ms"]
        end = 0.0
        for colour, phase in zip(PALETTE, PHASES):
            if phase not in own:
                continue
            ax.barh(place, own[phase], left=end, height=0.7, color=colour, label=phase if place == 0 else None)
            end += own[phase]
        step = whole[whole["variant"] == variant]["ms"]
        if len(step):
            ax.plot([step.iloc[0]] * 2, [place - 0.42, place + 0.42], color="black", lw=2,
                    label="whole step" if place == 0 else None)  # fmt: skip
            end = max(end, step.iloc[0])
        text = f"{short(step.iloc[0])} ms" if len(step) else ""
        ax.annotate(text, (end, place), xytext=(6, 0), textcoords="offset points", va="center", fontsize=10)
        ends.append(end)
    name_rows(ax, variants)
    scale(ax, max(ends), 12)
