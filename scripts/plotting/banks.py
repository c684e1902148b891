"""Cycles per request to shared memory, compared with the wavefronts that bank conflicts predict."""

from plotting.general import constants, experiment_figures
from plotting.results import has, numbers, text_of, timed_with
from plotting.style import GREY, bars, draw_series, label_lines, subtitle

WAVEFRONTS = "metric.wavefronts_per_request"
REQUESTS = "metric.requests_per_sm"


def with_each_request(frame):
    """Rows with column `each`, the time per request on an SM, and its unit: cycles, or ns if the SM clock was not read."""
    good = timed_with(frame, REQUESTS, WAVEFRONTS)
    in_cycles = has(good, "cycles")
    time = numbers(good, "cycles") if in_cycles else 1e3 * good["time_median_us"]
    return good.assign(each=time / numbers(good, REQUESTS)).dropna(subset=["each"]), "cycles" if in_cycles else "ns"


def cycles_per_request(frame, across):
    """A panel per experiment: a line per variant if the experiment sweeps the parameter, else a bar per variant."""
    good, unit = with_each_request(frame)

    def is_swept(rows):
        return across.column in rows and rows[across.column].nunique() > 1

    def draw(ax, rows):
        subtitle(ax, constants(rows))
        (draw_lines if is_swept(rows) else draw_bars)(ax, rows, across, unit)

    return experiment_figures(good, lambda rows: 3.4 if is_swept(rows) else 0.36 * len(rows), draw)


def draw_lines(ax, rows, across, unit):
    """Lines of time per request. If the unit is cycles, the predicted wavefronts are dotted."""
    rows = rows.assign(x=numbers(rows, across.column), y=rows["each"]).sort_values("x")
    ends = draw_series(ax, rows, markersize=5)
    if unit == "cycles":
        for _, part in rows.groupby("variant"):
            ax.plot(part["x"], numbers(part, WAVEFRONTS), ":", color=GREY, linewidth=1.4)
        ax.plot([], [], ":", color=GREY, linewidth=1.4, label="expected: wavefronts of a request")
        ax.legend(loc="best")
    ax.set_ylim(0, 1.06 * ax.get_ylim()[1])
    ax.set(xlabel=across.label, ylabel=f"{unit} per request")
    label_lines(ax, ends)


def draw_bars(ax, rows, _, unit):
    notes = [f"{each:.2f} {unit}, {text_of(w)} wavefronts" for each, w in zip(rows["each"], rows[WAVEFRONTS])]
    bars(ax, list(rows["variant"]), list(rows["each"]), notes=notes)
    ax.set_xlabel(f"{unit} per request: shorter is better")
