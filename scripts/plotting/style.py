"""One look for all figures: readable sizes, colours that colour-blind readers tell apart, no frame."""

import io
import math
from pathlib import Path

import matplotlib
from PIL import Image

matplotlib.use("Agg")
import matplotlib.pyplot as plt  # noqa: E402  (the backend is chosen first)
from matplotlib import patheffects  # noqa: E402
from matplotlib.ticker import FuncFormatter, NullFormatter, NullLocator  # noqa: E402

from plotting.results import UsageError, distinct, experiments, is_simulated  # noqa: E402
from plotting.statuses import PASSED  # noqa: E402

# Okabe and Ito, Color Universal Design (2008), without their yellow, which white paper swallows.
PALETTE = ["#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9", "#000000", "#888888"]
DASHES = ["-", "--", ":", "-."]
GREY = "#666666"
SEQUENTIAL = "viridis"
HEAT = "YlOrBr"

plt.rcParams.update(
    {
        "font.size": 11,
        "axes.titlesize": 11.5,
        "axes.titleweight": "bold",
        "axes.titlelocation": "left",
        "axes.spines.top": False,
        "axes.spines.right": False,
        "axes.axisbelow": True,
        "axes.grid": True,
        "grid.color": "#DDDDDD",
        "grid.linewidth": 0.8,
        "legend.frameon": False,
        "lines.linewidth": 2,
        "lines.markersize": 6,
        "svg.fonttype": "none",
    }
)


def panels(rows, columns, width, heights, **options):
    """A grid of panels; inches: the width of each, and the height of all or of each row."""
    heights = heights if isinstance(heights, list) else [heights] * rows
    figure, grid = plt.subplots(
        rows,
        columns,
        figsize=(width * columns, sum(heights) + 0.4),
        height_ratios=heights,
        squeeze=False,
        layout="constrained",
        **options,
    )
    return figure, grid


def experiment_panels(frame, width, height):
    """A panel below the other for each experiment, titled; `height` in inches, or a function of the experiment's rows. Gives the figure,
    and of each panel its axes and rows."""
    parts = experiments(frame)
    figure, grid = panels(len(parts), 1, width, [height(rows) if callable(height) else height for _, rows in parts])
    for ax, (name, _) in zip(grid[:, 0], parts):
        ax.set_title(name)
    return figure, [(ax, rows) for ax, (_, rows) in zip(grid[:, 0], parts)]


def colours(names):
    """A colour and a dash for each name, in order."""
    return {
        name: (PALETTE[i % len(PALETTE)], DASHES[i // len(PALETTE) % len(DASHES)]) for i, name in enumerate(names)
    }


def divisor_colours(divisors):
    """Colours for powers of two, dark to light."""
    ordered = sorted(divisors)
    scale = plt.get_cmap(SEQUENTIAL)
    return {d: scale(0.88 * i / max(1, len(ordered) - 1)) for i, d in enumerate(ordered)}


def short(value):
    """Three digits, and never an exponent where digits will do: 0.501, 36.4, 4080; nothing for NaN."""
    return "" if math.isnan(value) else f"{value:.0f}" if abs(value) >= 1000 else f"{value:.3g}"


def bars_height(count):
    """Inches that a panel of that many bars needs."""
    return 1.0 + 0.36 * count


def bars(ax, labels, values, colour=PALETTE[0], notes=None, top=0.0, room=0):
    """Horizontal bars in reading order, a text at the end of each; a missing value is a text alone.

    Panels that share a scale name the largest value and the longest text of all of them.
    """
    grouped_bars(ax, labels, [(None, colour, values, notes)], top, room)


def grouped_bars(ax, labels, series, top=0.0, room=0):
    """Groups of horizontal bars; series are (name, colour or colours, values, notes), NaN for none. Notes are the values unless given."""
    series = [(name, colour, list(values), notes or [short(v) for v in values]) for name, colour, values, notes in series]
    values = [v for _, _, lengths, _ in series for v in lengths if not math.isnan(v)]
    top = max([top, *values])
    room = max([room, *(len(text) for _, _, _, notes in series for text in notes)])
    thickness = 0.8 / len(series)
    for i, (name, colour, values, notes) in enumerate(series):
        lengths = [0 if math.isnan(v) else v for v in values]
        positions = [p + (i - (len(series) - 1) / 2) * thickness for p in range(len(labels))]
        ax.barh(positions, lengths, color=colour, height=0.92 * thickness, label=name)
        for position, length, text in zip(positions, lengths, notes):
            # Where there is no bar to see, the text has the colour of the series.
            seen = name is None or length > 0.004 * top
            ax.annotate(text, (length, position), xytext=(4, 0), textcoords="offset points", va="center",
                        fontsize=10, color="black" if seen else colour)  # fmt: skip
    name_rows(ax, labels)
    scale(ax, top, room)


def name_rows(ax, labels, margin=0.55, **text):
    """Rows of bars from the top down, without lines between them; `margin` from the axes to the first."""
    ax.set_yticks(range(len(labels)), labels, **text)
    ax.set_ylim(len(labels) - 1 + margin, -margin)
    ax.grid(axis="y", visible=False)
    ax.tick_params(axis="y", length=0)


def scale(ax, top, characters):
    """From 0 to the longest bar, and room for a text of that many characters at its end."""
    if top <= 0:
        ax.set_xticks([0])
        return
    inches = 0.75 * ax.figure.get_figwidth() / ax.get_subplotspec().get_gridspec().ncols
    room = min(0.6, (0.075 * characters + 0.15) / inches)
    ax.set_xlim(0, top / (1 - room))
    ax.set_xticks([t for t in ax.get_xticks() if t <= 1.05 * top])


def by_series(rows, names="variant", looks=None):
    """(name, colour, dash, rows) of each name, in order. `looks`: of colours(), for panels that share it."""
    for name in distinct(rows, names):
        yield name, *(looks or colours(distinct(rows, names)))[name], rows[rows[names] == name]


def draw_series(ax, rows, names="variant", looks=None, **line):
    """A line of y over x for each name; gives the end of each, for label_lines."""
    ends = []
    for name, colour, dash, part in by_series(rows, names, looks):
        part = part.sort_values("x")
        ax.plot(part["x"], part["y"], dash, color=colour, marker="o", **line)
        ends.append((part["x"].iloc[-1], part["y"].iloc[-1], name, colour))
    return ends


def draw_open(ax, rows, x, y, label, size, place):
    """Open circles, for what was found otherwise than the points of draw_series; the label is in a legend."""
    for _, colour, _, part in by_series(rows):
        ax.plot(part[x], part[y], "o", markerfacecolor="none", markeredgecolor=colour, markersize=size)
    ax.plot([], [], "o", markerfacecolor="none", markeredgecolor=GREY, markersize=size, label=label)
    ax.legend(loc=place)


def note(ax, text, size=9):
    """In grey, over the upper right corner."""
    ax.annotate(text, (1, 1), xycoords="axes fraction", xytext=(0, 5), textcoords="offset points", ha="right", fontsize=size, color=GREY)


def axis_of(ax, values):
    """A scale that spreads the values: powers of two in equal steps, everything else linear."""
    values = sorted(set(values))
    geometric = len(values) > 2 and values[0] > 0 and values[-1] / values[0] >= 8
    ratios = [b / a for a, b in zip(values, values[1:])] if geometric else []
    if not geometric or min(ratios) < 1.2:
        return
    powers_of_two(ax.xaxis)
    if len(values) <= 12:
        ax.xaxis.set_ticks(values)


def equal_factors(axis, ticks=(1, 2, 5)):
    """A logarithmic axis with plain numbers."""
    (axis.axes.set_xscale if axis.axis_name == "x" else axis.axes.set_yscale)("log")
    low, high = axis.get_view_interval()
    axis.set_ticks([t * 10**e for e in range(-6, 9) for t in ticks if low <= t * 10**e <= high])
    axis.set_major_formatter(FuncFormatter(lambda v, _: f"{v:g}"))
    axis.set_minor_formatter(NullFormatter())


def powers_of_two(axis):
    """Equal steps of the axis are equal factors."""
    set_scale = axis.axes.set_xscale if axis.axis_name == "x" else axis.axes.set_yscale
    set_scale("log", base=2)
    axis.set_major_formatter(FuncFormatter(lambda v, _: count(v)))
    axis.set_minor_locator(NullLocator())
    axis.set_minor_formatter(NullFormatter())


def count(value):
    """4096, 65536 as 64Ki, 33554432 as 32Mi."""
    for size, suffix, least in ((2**30, "Gi", 1), (2**20, "Mi", 1), (2**10, "Ki", 16)):
        if value >= least * size and value % size == 0:
            return f"{value / size:g}{suffix}"
    return f"{value:.0f}" if value % 1 == 0 else f"{value:.3g}"


def label_lines(ax, ends):
    """Names at the right ends of lines, pushed apart where they would overlap: [(x, y, name, colour)]."""
    ax.figure.canvas.draw()
    spots = [[ax.transAxes.inverted().transform(ax.transData.transform((x, y)))[1], name, colour]
             for x, y, name, colour in ends]  # fmt: skip
    spots.sort(key=lambda spot: spot[0])
    gap = 0.19 * ax.figure.dpi / ax.get_window_extent().height
    for below, spot in zip(spots, spots[1:]):
        spot[0] = max(spot[0], below[0] + gap)
    overshoot = max(0.0, spots[-1][0] - 1.0) if spots else 0.0
    for height, name, colour in spots:
        ax.annotate(name, (1.0, height - overshoot), xycoords="axes fraction", xytext=(6, 0),
                    textcoords="offset points", va="center", color=colour, fontsize=10)  # fmt: skip


def label_points(ax, points, others):
    """Names to the right of points and of their neighbours, moved up where they would overlap each other and down
    where they would cover one of the others: [(x, y, name, colour)], [(x, y)]."""
    outline = [patheffects.withStroke(linewidth=3, foreground="white")]
    ax.figure.canvas.draw()
    pixels_per_point = ax.figure.dpi / 72
    markers = [ax.transData.transform(point[:2]) / pixels_per_point for point in points]
    obstacles = ax.transData.transform(others) / pixels_per_point
    taken = []
    for x, y, name, colour in sorted(points, key=lambda point: point[1]):
        at, level = ax.transData.transform((x, y)) / pixels_per_point
        near = [across for across, up in markers if at < across < at + 40 and abs(up - level) < 20]
        left = max([at, *near])
        height = level
        width = 8 * len(name)
        if any(left + 4 < across < left + 9 + width and abs(up - height) < 8 for across, up in obstacles):
            height -= 14
        for other_left, other_width, other_height in sorted(taken, key=lambda t: t[2]):
            beside = left > other_left + other_width or other_left > left + width
            if not beside and abs(height - other_height) < 14:
                height = other_height + 14
        taken.append((left, width, height))
        ax.annotate(name, (x, y), xytext=(9 + left - at, height - level), va="center", textcoords="offset points",
                    color=colour, fontweight="bold", path_effects=outline, zorder=4)  # fmt: skip


def titled(figure, title, gpu=""):
    """A head over all panels: the title, and the GPU where there is one."""
    figure.suptitle(f"{title}  ·  {gpu}" if gpu else title, x=0.01, ha="left", fontsize=14, fontweight="bold")
    return figure


def save(figure, path, dpi=144):
    """Writes the figure, closes it and prints where it is. The ending of the path chooses the format.

    PNG has a palette of at most 256 colours, which takes a third of the bytes of RGBA and less time to compress.
    """
    ending = Path(path).suffix.removeprefix(".").lower()
    if ending not in figure.canvas.get_supported_filetypes():
        raise UsageError(f"{path}: no format '{ending}'; expected an ending such as .png or .svg")
    if ending == "png":
        pixels = io.BytesIO()
        figure.savefig(pixels, format="raw", dpi=dpi)
        size = tuple(int(inches * dpi) for inches in figure.get_size_inches())
        with_palette(Image.frombytes("RGBA", size, pixels.getvalue())).save(path, optimize=True)
    else:
        figure.savefig(path, dpi=dpi)
    plt.close(figure)
    print(path)


def with_palette(image):
    """The image in at most 256 colours. The octree averages similar colours, so white and black are set exactly afterwards."""
    few = image.convert("RGB").quantize(256, Image.Quantize.FASTOCTREE, dither=Image.Dither.NONE)
    few.putpalette([255 if part >= 252 else 0 if part <= 3 else part for part in few.getpalette()])
    return few


def finish(figure, title, gpu, frame):
    """The title, where it was measured, and what is not shown."""
    if is_simulated(frame):
        titled(figure, f"{title}\n{gpu or 'A GPU'}, simulated: all times are predicted")
    else:
        titled(figure, title, gpu)
    lost = frame[~frame["status"].isin(PASSED)]["status"].value_counts()
    if len(lost):
        parts = ", ".join(f"{number} {status}" for status, number in lost.items())
        figure.supxlabel(f"rows without a number: {parts}", x=0.01, ha="left", fontsize=9, color=GREY)
    return figure
