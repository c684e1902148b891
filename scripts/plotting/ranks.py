"""What the GPUs of one problem do at the same time: a lane for each rank, a bar for each step that takes time."""

from plotting.host import STEP
from plotting.results import NothingToDraw, timed
from plotting.style import GREY, PALETTE, panels

MOST_STEPS = 100  # of one rank, of which each can be seen
WAITING = "#DDDDDD"


def steps_of(row):
    """(rank, stream, what, begin, end) of a row's timeline, in µs."""
    found = [m for m in map(STEP.fullmatch, str(row["timeline"]).split(";")) if m and m["rank"]]
    return [(int(m["rank"]), int(m["stream"]), m["what"], float(m["begin"]), float(m["end"])) for m in found]


def is_wait(what):
    return what.startswith(("begin", "receive", "wait"))


def shown_problem(rows):
    """Those of the first experiment's problem that spans most GPUs and has most steps of which each can be seen."""
    rows = [row for row in rows if row["experiment"] == rows[0]["experiment"]]
    most = max(int(row["gpus"]) for row in rows)
    rows = [row for row in rows if int(row["gpus"]) == most]
    names = [c for c in rows[0].index if c.startswith("param.")]
    counts = {}
    for row in rows:
        problem = tuple(row[names])
        counts[problem] = max(counts.get(problem, 0), len(steps_of(row)) / most)
    seen = [problem for problem, count in counts.items() if count <= MOST_STEPS]
    if not seen:
        return []
    chosen = max(seen, key=counts.get)
    return [row for row in rows if tuple(row[names]) == chosen]


def timelines(frame):
    """Launches of one problem on one time axis. What runs beside a rank's first stream stands below it; grey is waiting."""
    rows = [row for _, row in timed(frame).iterrows() if STEP.match(str(row.get("timeline", ""))) and steps_of(row)]
    rows = shown_problem(rows) if rows else []
    if not rows:
        raise NothingToDraw("rows with a timeline of several ranks are needed")
    ranks = int(rows[0]["gpus"])
    figure, grid = panels(len(rows), 1, 10.5, 1.0 + 0.36 * ranks)
    names = sorted({what for row in rows for _, stream, what, _, _ in steps_of(row) if stream == 0 and not is_wait(what)})
    colours = {what: PALETTE[i % len(PALETTE)] for i, what in enumerate(names)}
    until = max(step[4] for row in rows for step in steps_of(row))
    for ax, row in zip(grid[:, 0], rows):
        draw_ranks(ax, steps_of(row), ranks, colours)
        ax.set_xlim(0, 1.02 * until)
        ax.set_title(f"{row['variant']}: {time_text(row)}")
    grid[-1, 0].set_xlabel("µs from the launch's start; the events around each step make this launch longer than the measured ones")
    return figure


def time_text(row):
    predicted = row.get("predicted_time_us")
    text = f"measured {row['time_median_us']:.0f} µs"
    return f"{text}, predicted {float(predicted):.0f} µs" if predicted == predicted and predicted not in (None, "") else text


def draw_ranks(ax, steps, ranks, colours):
    beside = PALETTE[4]
    for rank, stream, what, begin, end in steps:
        if stream != 0:
            ax.barh(rank + 0.33, end - begin, left=begin, height=0.16, color=beside, linewidth=0)
        elif is_wait(what):
            ax.barh(rank - 0.06, end - begin, left=begin, height=0.56, color=WAITING, linewidth=0)
        else:
            ax.barh(rank - 0.06, end - begin, left=begin, height=0.56, color=colours[what], edgecolor="white", linewidth=0.6)
    ax.set_yticks(range(ranks), [f"GPU {rank}" for rank in range(ranks)])
    ax.set_ylim(ranks - 0.45, -0.5)
    ax.tick_params(axis="y", colors=GREY)
    ax.grid(axis="y", visible=False)
