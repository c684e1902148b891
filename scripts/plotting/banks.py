"""What requests to shared memory take: cycles beside the wavefronts that banks explain."""

from plotting.results import NothingToDraw, distinct, experiments, has, numbers, text_of, timed
from plotting.style import GREY, bars, bars_height, colours, label_lines, panels

WAVEFRONTS = "metric.wavefronts_per_request"
REQUESTS = "metric.requests_per_sm"


def with_each_request(frame):
    """Rows with `each`, what a request takes on an SM, and the unit: cycles, or ns where nobody read the clock."""
    good = timed(frame)
    if not has(good, REQUESTS, WAVEFRONTS):
        raise NothingToDraw(f"rows with {REQUESTS} and {WAVEFRONTS} are needed")
    in_cycles = has(good, "cycles")
    time = numbers(good, "cycles") if in_cycles else 1e3 * good["time_median_us"]
    return good.assign(each=time / numbers(good, REQUESTS)).dropna(subset=["each"]), "cycles" if in_cycles else "ns"


def cycles_per_request(frame, across):
    """A line per variant where an experiment sweeps the parameter, a bar per variant where it does not."""
    good, unit = with_each_request(frame)
    parts = experiments(good)
    swept = [across.column in rows and rows[across.column].nunique() > 1 for _, rows in parts]
    heights = [4.6 if line else bars_height(len(rows)) for line, (_, rows) in zip(swept, parts)]
    figure, grid = panels(len(parts), 1, 11, heights)
    for ax, line, (name, rows) in zip(grid[:, 0], swept, parts):
        (draw_lines if line else draw_bars)(ax, rows, across, unit)
        ax.set_title(name)
    return figure


def draw_lines(ax, rows, across, unit):
    """Dotted, the wavefronts that banks explain, where they can be held against cycles."""
    ends = []
    for variant, (colour, dash) in colours(distinct(rows, "variant")).items():
        part = rows[rows["variant"] == variant].assign(x=lambda f: numbers(f, across.column)).sort_values("x")
        ax.plot(part["x"], part["each"], dash, color=colour, marker="o", markersize=5)
        ends.append((part["x"].iloc[-1], part["each"].iloc[-1], variant, colour))
        if unit == "cycles":
            ax.plot(part["x"], numbers(part, WAVEFRONTS), ":", color=GREY, linewidth=1.4)
    if unit == "cycles":
        ax.plot([], [], ":", color=GREY, linewidth=1.4, label="expected: wavefronts of a request")
        ax.legend(loc="best")
    ax.set_ylim(0, 1.06 * ax.get_ylim()[1])
    ax.set_xlabel(across.label)
    ax.set_ylabel(f"{unit} per request")
    label_lines(ax, ends)


def draw_bars(ax, rows, _, unit):
    notes = [f"{each:.2f} {unit}, {text_of(w)} wavefronts" for each, w in zip(rows["each"], rows[WAVEFRONTS])]
    bars(ax, list(rows["variant"]), list(rows["each"]), notes=notes)
    ax.set_xlabel(f"{unit} per request: shorter is better")
