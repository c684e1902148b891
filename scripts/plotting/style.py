"""Common style of all figures: readable sizes, colours that are distinct for colour-blind readers, no frame."""

import io
import math
import textwrap
from pathlib import Path

import matplotlib
import numpy as np
from PIL import Image

matplotlib.use("Agg")
import matplotlib.pyplot as plt  # noqa: E402  (the backend must be selected first)
from matplotlib import patheffects  # noqa: E402
from matplotlib.patches import Rectangle  # noqa: E402
from matplotlib.ticker import FuncFormatter, MaxNLocator, NullFormatter, NullLocator  # noqa: E402

from plotting.results import UsageError, distinct, is_simulated  # noqa: E402
from plotting.statuses import WITH_VALUES  # noqa: E402

# Okabe and Ito, Color Universal Design (2008), without yellow, which is hardly visible on white.
PALETTE = ["#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9", "#000000", "#888888"]
DASHES = ["-", "--", ":", "-."]
GREY = "#666666"
SEQUENTIAL = "viridis"
MAX_HEIGHT = 10.4  # inches of a figure: at most 1500 pixels at DPI
DPI = 144
FIGURE_HEAD, PANEL_FRAME = 0.6, 1.0  # inches of a figure's title and note; of a panel's title and labels
MAX_PANELS_HEIGHT = MAX_HEIGHT - FIGURE_HEAD

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
    """A grid of panels. Inches: `width` of a panel; `heights` of all rows or of each row, reduced if the figure would be too tall."""
    heights = heights if isinstance(heights, list) else [heights] * rows
    fitting = min(1, (MAX_HEIGHT - 0.4) / sum(heights))
    heights = [height * fitting for height in heights]
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


def columns_of_panels(heights):
    """The height of the taller column, and the number of panels in the first column. One column if it fits, else two of similar height."""
    if sum(heights) <= MAX_PANELS_HEIGHT:
        return sum(heights), len(heights)
    splits = [(max(sum(heights[:first]), sum(heights[first:])), first) for first in range(1, len(heights) + 1)]
    return min(splits, key=lambda split: (math.ceil(split[0]), -split[1]))


def pages_of_panels(names, heights, width):
    """Figures of named panels: (figure, axes of its panels). `heights`: inches of each panel's axes. A figure has as many panels as fit."""
    heights = [min(height + PANEL_FRAME, MAX_PANELS_HEIGHT) for height in heights]
    while heights:
        fitting = [n for n in range(2, len(heights) + 1) if columns_of_panels(heights[:n])[0] <= MAX_PANELS_HEIGHT]
        count = max(fitting, default=1)
        tall, first = columns_of_panels(heights[:count])
        columns = [column for column in (heights[:first], heights[first:count]) if column]
        figure = plt.figure(figsize=(width if len(columns) == 1 else 13, tall + FIGURE_HEAD), layout="constrained")
        axes = []
        for part, column in zip(figure.subfigures(1, len(columns), squeeze=False)[0], columns):
            left = [tall - sum(column)] if tall - sum(column) > 0.1 else []
            ratios = [height - PANEL_FRAME for height in column] + left
            cells = part.subplots(len(ratios), 1, squeeze=False, height_ratios=ratios)[:, 0]
            axes += list(cells[: len(column)])
            for empty in cells[len(column) :]:
                empty.set_axis_off()
        for ax, name in zip(axes, names):
            ax.set_title(name)
        yield figure, axes
        names, heights = names[count:], heights[count:]


def subtitle(ax, text):
    """A grey text between title and axes, wrapped to the width of a panel in a two-column figure."""
    lines = textwrap.wrap(text, 72)
    ax.set_title(ax.get_title(loc="left"), pad=6 + 12 * len(lines))
    ax.annotate("\n".join(lines), (0, 1), xycoords="axes fraction", xytext=(0, 4), textcoords="offset points", fontsize=9, color=GREY)


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
    """The value with three significant digits, without exponent for 1000 and more: 0.501, 36.4, 4080; "" for NaN."""
    return "" if math.isnan(value) else f"{value:.0f}" if abs(value) >= 1000 else f"{value:.3g}"


def bars_height(count):
    """Height of a panel with `count` bars, in inches."""
    return 1.0 + 0.36 * count


def bars(ax, labels, values, colour=PALETTE[0], notes=None, top=0.0, room=0):
    """Horizontal bars from top to bottom with a text at the end of each bar; a missing value has only its text.

    Panels that share a scale pass the largest value (`top`) and the longest text (`room`) of all panels.
    """
    grouped_bars(ax, labels, [(None, colour, values, notes)], top, room)


def grouped_bars(ax, labels, series, top=0.0, room=0):
    """Groups of horizontal bars. Series are (name, colour or colours, values, notes); NaN draws no bar, and notes default to the values."""
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
            # If the bar is too short to see, the text has the colour of the series.
            seen = name is None or length > 0.004 * top
            ax.annotate(text, (length, position), xytext=(4, 0), textcoords="offset points", va="center",
                        fontsize=10, color="black" if seen else colour)  # fmt: skip
    name_rows(ax, labels)
    scale(ax, top, room)


def name_rows(ax, labels, margin=0.55, **text):
    """Labels rows of bars from top to bottom, without grid lines; `margin` is the distance from the axes to the first row."""
    ax.set_yticks(range(len(labels)), labels, **text)
    ax.set_ylim(len(labels) - 1 + margin, -margin)
    ax.grid(axis="y", visible=False)
    ax.tick_params(axis="y", length=0)


def scale(ax, top, characters):
    """Sets the x axis from 0 to the longest bar, with room for a text of `characters` characters."""
    if top <= 0:
        ax.set_xticks([0])
        return
    inches = 0.75 * ax.figure.bbox.width / ax.figure.dpi / ax.get_subplotspec().get_gridspec().ncols
    room = min(0.6, (0.075 * characters + 0.15) / inches)
    ax.set_xlim(0, top / (1 - room))
    ax.xaxis.set_major_locator(MaxNLocator(int(1.5 * inches), steps=[1, 2, 5, 10]))
    ax.set_xticks([t for t in ax.get_xticks() if t <= 1.05 * top])


def by_series(rows, names="variant", looks=None):
    """(name, colour, dash, rows) for each name, in order. `looks` is a result of colours() that several panels share."""
    for name in distinct(rows, names):
        yield name, *(looks or colours(distinct(rows, names)))[name], rows[rows[names] == name]


def draw_series(ax, rows, names="variant", looks=None, **line):
    """Draws a line of y over x for each name; returns the ends of the lines for label_lines()."""
    ends = []
    for name, colour, dash, part in by_series(rows, names, looks):
        part = part.sort_values("x")
        ax.plot(part["x"], part["y"], dash, color=colour, marker="o", **line)
        ends.append((part["x"].iloc[-1], part["y"].iloc[-1], name, colour))
    return ends


def draw_open(ax, rows, x, y, label, size, place, looks=None):
    """Open circles, for values from another source than the points of draw_series(); the label is in a legend."""
    for _, colour, _, part in by_series(rows, looks=looks):
        ax.plot(part[x], part[y], "o", markerfacecolor="none", markeredgecolor=colour, markersize=size)
    ax.plot([], [], "o", markerfacecolor="none", markeredgecolor=GREY, markersize=size, label=label)
    ax.legend(loc=place)


def heat_map(ax, table, cmap, norm):
    """A cell for each number of the table, labelled with two decimals, or one digit below 0.01; the caller sets the ticks."""
    shades = plt.get_cmap(cmap)
    ax.imshow(table, cmap=shades, norm=norm, aspect="auto")
    for (y, x), value in np.ndenumerate(table):
        if not math.isnan(value):
            ax.add_patch(Rectangle((x - 0.5, y - 0.5), 1, 1, fill=False, edgecolor="#BBBBBB", linewidth=0.8))
            luminance = np.dot(shades(norm(value))[:3], (0.299, 0.587, 0.114))
            text = f"{value:.2f}" if value >= 0.01 else f"{value:.1g}"
            ax.text(x, y, text, ha="center", va="center", color="black" if luminance > 0.5 else "white")
    ax.grid(visible=False)
    ax.spines[:].set_visible(False)
    ax.tick_params(length=0)


def legend_at_right(ax):
    """A legend to the right of the axes."""
    ax.legend(loc="upper left", bbox_to_anchor=(1.03, 1), fontsize=9, handlelength=1.2)


def note(ax, text, size=9):
    """Writes a grey text above the upper right corner."""
    ax.annotate(text, (1, 1), xycoords="axes fraction", xytext=(0, 5), textcoords="offset points", ha="right", fontsize=size, color=GREY)


def axis_of(ax, values):
    """Selects the scale of the x axis: logarithmic for 3 or more values at least 20 % apart over a factor of 8 or more, else linear."""
    values = sorted(set(values))
    geometric = len(values) > 2 and values[0] > 0 and values[-1] / values[0] >= 8
    ratios = [b / a for a, b in zip(values, values[1:])] if geometric else []
    if not geometric or min(ratios) < 1.2:
        return
    powers_of_two(ax.xaxis)
    if len(values) <= 12:
        ticks = [values[-1]]
        for value in reversed(values):
            if math.log(ticks[-1] / value) > 0.09 * math.log(values[-1] / values[0]):
                ticks.append(value)
        ax.xaxis.set_ticks(ticks)


def equal_factors(axis, ticks=(1, 2, 5)):
    """Makes an axis logarithmic with plain numbers as labels."""
    (axis.axes.set_xscale if axis.axis_name == "x" else axis.axes.set_yscale)("log")
    low, high = axis.get_view_interval()
    axis.set_ticks([t * 10**e for e in range(-6, 9) for t in ticks if low <= t * 10**e <= high])
    axis.set_major_formatter(FuncFormatter(lambda v, _: f"{v:g}"))
    axis.set_minor_formatter(NullFormatter())


def powers_of_two(axis):
    """Makes an axis logarithmic with base 2."""
    set_scale = axis.axes.set_xscale if axis.axis_name == "x" else axis.axes.set_yscale
    set_scale("log", base=2)
    axis.set_major_formatter(FuncFormatter(lambda v, _: count(v)))
    axis.set_minor_locator(NullLocator())
    axis.set_minor_formatter(NullFormatter())


def count(value):
    """4096, 65536 as 64Ki, 33554432 as 32Mi, 1000000 as 1M."""
    for size, suffix, least in ((2**30, "Gi", 1), (2**20, "Mi", 1), (10**6, "M", 1), (2**10, "Ki", 16)):
        if value >= least * size and value % size == 0:
            return f"{value / size:g}{suffix}"
    return f"{value:.0f}" if value % 1 == 0 else f"{value:.3g}"


def label_lines(ax, ends):
    """Writes names at the right ends of lines, moved apart if they would overlap. `ends`: [(x, y, name, colour)]."""
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
    """Writes names to the right of `points`: [(x, y, name, colour)]. A name moves up from another name, and down from one of the
    points `others`."""
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
    """A head over all panels: the title, and the GPU if given."""
    lines = [textwrap.fill(line, int(8.4 * figure.get_figwidth())) for line in (f"{title}  ·  {gpu}" if gpu else title).split("\n")]
    figure.suptitle("\n".join(lines), x=0.01, ha="left", fontsize=14, fontweight="bold")
    return figure


def save(figure, path, dpi=DPI):
    """Writes the figure, closes it and prints where it is. The ending of the path chooses the format.

    PNG files have a palette of at most 256 colours, which needs a third of the bytes of RGBA and less time to compress than RGBA.
    """
    ending = Path(path).suffix.removeprefix(".").lower()
    if ending not in figure.canvas.get_supported_filetypes():
        raise UsageError(f"{path}: unknown format '{ending}'; expected an extension such as .png or .svg")
    if ending == "png":
        pixels = io.BytesIO()
        figure.set_dpi(dpi)
        figure.savefig(pixels, format="raw", dpi=dpi)
        with_palette(Image.frombytes("RGBA", figure.canvas.get_width_height(), pixels.getvalue())).save(path, optimize=True)
    else:
        figure.savefig(path, dpi=dpi)
    plt.close(figure)
    print(path)


def with_palette(image):
    """The image in at most 256 colours. The octree averages similar colours, so white, black and the background are set exactly afterwards."""
    few = image.convert("RGB").quantize(256, Image.Quantize.FASTOCTREE, dither=Image.Dither.NONE)
    palette = [255 if part >= 252 else 0 if part <= 3 else part for part in few.getpalette()]
    corner = 3 * few.getpixel((0, 0))
    palette[corner : corner + 3] = image.getpixel((0, 0))[:3]
    few.putpalette(palette)
    return few


def finish(figure, title, gpu, frame):
    """Adds the title, the GPU, and the number of rows that are not shown."""
    if is_simulated(frame):
        titled(figure, f"{title}\n{gpu or 'A GPU'}, simulated: all times are predicted")
    else:
        titled(figure, title, gpu)
    lost = frame[~frame["status"].isin(WITH_VALUES)]["status"].value_counts()
    if len(lost):
        parts = ", ".join(f"{number} {status}" for status, number in lost.items())
        figure.supxlabel(f"rows without a number: {parts}", x=0.01, ha="left", fontsize=9, color=GREY)
    return figure
