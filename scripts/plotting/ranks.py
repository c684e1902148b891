"""Timeline of the GPUs of one problem: a lane for each rank, a bar for each step."""

from plotting.host import ONE_LAUNCH, of_one_problem, rows_with_steps, steps_of
from plotting.results import timed
from plotting.style import GREY, PALETTE, panels

WAITING = "#DDDDDD"


def is_wait(what):
    return what.startswith(("begin", "receive", "wait"))


def timelines(frame):
    """Launches of one problem on one time axis. Steps of a rank's other streams are below its first stream's; grey means waiting."""
    rows = [row for row in rows_with_steps(timed(frame), "timeline") if steps_of(row["timeline"])[0].rank is not None]
    ranks = max((int(row["gpus"]) for row in rows if row["experiment"] == rows[0]["experiment"]), default=1)
    rows = of_one_problem([row for row in rows if int(row["gpus"]) == ranks], "timeline", ranks)
    figure, grid = panels(len(rows), 1, 10.5, 1.0 + 0.36 * ranks)
    of_rows = [steps_of(row["timeline"]) for row in rows]
    names = sorted({step.what for steps in of_rows for step in steps if step.stream == 0 and not is_wait(step.what)})
    colours = {what: PALETTE[i % len(PALETTE)] for i, what in enumerate(names)}
    until = max(step.end for steps in of_rows for step in steps)
    for ax, row, steps in zip(grid[:, 0], rows, of_rows):
        draw_ranks(ax, steps, ranks, colours)
        ax.set_xlim(0, 1.02 * until)
        ax.set_title(f"{row['variant']}: {time_text(row)}")
    grid[-1, 0].set_xlabel("time from the launch's start (µs); " + ONE_LAUNCH)
    return figure


def time_text(row):
    predicted = row.get("predicted_time_us")
    text = f"measured {row['time_median_us']:.0f} µs"
    return f"{text}, predicted {float(predicted):.0f} µs" if predicted == predicted and predicted not in (None, "") else text


def draw_ranks(ax, steps, ranks, colours):
    for what, rank, stream, begin, end in steps:
        if stream != 0:
            place, height, look = 0.33, 0.16, {"color": PALETTE[4], "linewidth": 0}
        elif is_wait(what):
            place, height, look = -0.06, 0.56, {"color": WAITING, "linewidth": 0}
        else:
            place, height, look = -0.06, 0.56, {"color": colours[what], "edgecolor": "white", "linewidth": 0.6}
        ax.barh(rank + place, end - begin, left=begin, height=height, **look)
    ax.set_yticks(range(ranks), [f"GPU {rank}" for rank in range(ranks)])
    ax.set_ylim(ranks - 0.45, -0.5)
    ax.tick_params(axis="y", colors=GREY)
    ax.grid(axis="y", visible=False)
