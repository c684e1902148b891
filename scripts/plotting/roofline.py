"""Rooflines: the variants of a run under the roofs of their GPU, connected by a path in their order.

The x axis is operations per byte of device memory, the y axis operations per second. A variant cannot be above its roofs: bandwidth
times intensity on the left, the peak rate of its pipe on the right. Solid roofs are measured, dashed roofs are from the datasheet. Each
panel shows the problem with the most operations of an experiment. Bytes are counted if the run has counters, else declared by the
variants (column intensity_from).

RUN is the folder, results.json or results.csv of a run. FILE is written by `gpuexp info --measure` (default: the file in
configs/ceilings for the run's GPU).
"""

import fnmatch
import json
import math
import textwrap
from pathlib import Path

from matplotlib.ticker import FuncFormatter, NullFormatter

from plotting.results import UsageError, gpu_name, load, timed
from plotting.style import GREY, PALETTE, panels, save, titled

CONFIGS = Path(__file__).resolve().parents[2] / "configs"
INCHES_WIDE = 5.6  # width of a panel
INCHES_HIGH = 4.6
COLUMNS = 3
MAX_PANELS = 9
TITLE_WIDTH = 56
NAME_PIXELS = 15  # vertical distance between two names
NAME_DISTANCE = 22  # from a point to its name, in pixels
ROOM_FOR_NAMES = 8  # factor by which the x axis extends beyond the rightmost point
MARGIN = 1.6  # factor by which the axes extend beyond the outermost points
KIND = "measured"


def datasheet_of(gpu):
    """Id and content of the device spec whose name or alias is the driver's name of the GPU."""
    for path in sorted((CONFIGS / "devices").glob("*.json")):
        spec = json.loads(path.read_text())
        if gpu and gpu.lower() in [name.lower() for name in [spec["name"], *spec["aliases"]]]:
            return path.stem, spec
    return None, None


def roofs(gpu, ceilings_file):
    """[(kind, bytes per second, {pipe: operations per second})], measured roofs first."""
    spec_id, spec = datasheet_of(gpu)
    found = []
    path = Path(ceilings_file) if ceilings_file else CONFIGS / "ceilings" / f"{spec_id}.json"
    if path.exists():
        measured = json.loads(path.read_text())["ceilings"]
        rates = {name: entry["value"] * 1e12 for name, entry in measured.items() if entry.get("unit") == "TFLOP/s"}
        found.append((KIND, measured["dram_read"]["value"] * 1e9, rates))
    if spec:
        rates = {name: entry["value"] * 1e12 for name, entry in spec["peak_tflops"].items()}
        found.append(("datasheet", spec["memory_bandwidth_gb_per_s"]["value"] * 1e9, rates))
    if not found:
        raise UsageError(f"nothing is known of '{gpu}': no file in configs/ceilings or configs/devices; give --ceilings")
    return found


def drawable(frame, experiment, mode):
    """For each experiment, the rows with an intensity of the problem with the most operations."""
    for column in ("arithmetic_intensity", "intensity_from", "operations"):
        if column not in frame:
            raise UsageError(f"no column {column}: the results were written by an older version of gpuexp")
    frame = frame[frame["arithmetic_intensity"].notna() & frame["experiment"].map(lambda e: fnmatch.fnmatch(e, experiment))]
    if mode:
        frame = frame[frame["mode"] == mode]
    if frame.empty:
        raise UsageError("no row that passed has an arithmetic intensity (operations and bytes)")
    parts = []
    for _, rows in frame.groupby("experiment", sort=False):
        rows = rows[rows["operations"] == rows["operations"].max()]
        parts.append(rows.drop_duplicates("variant"))
    return parts


def pipe_of(rows):
    """The pipe of an experiment's operations: the most frequent limit other than DRAM."""
    pipes = [name for name in rows["limit_by"].dropna() if name != "dram"]
    return max(set(pipes), key=pipes.count) if pipes else "fp32"


def draw_roofs(ax, kinds, pipes, low, high):
    for kind, bandwidth, rates in kinds:
        style = "-" if kind == KIND else (0, (4, 3))
        for place, pipe in enumerate(pipes):
            rate = rates.get(pipe)
            if rate is None:
                continue
            ridge = rate / bandwidth
            ax.plot([low, ridge], [low * bandwidth / 1e12, rate / 1e12], color=GREY, linestyle=style, linewidth=1.4, zorder=1)
            ax.plot([ridge, high], [rate / 1e12] * 2, color=GREY, linestyle=style, linewidth=1.4, zorder=1)
            if kind == kinds[0][0]:
                ax.annotate(f"{pipe} {rate / 1e12:.3g} TFLOP/s, {kind}", (high, rate / 1e12), xytext=(-4, 3),
                            textcoords="offset points", ha="right", va="bottom", fontsize=8.5, color=GREY)
        if kind == kinds[0][0]:
            x = low * 1.15
            ax.annotate(f"DRAM {bandwidth / 1e9:.0f} GB/s, {kind}", (x, x * bandwidth / 1e12), xytext=(-2, 4),
                        textcoords="offset points", fontsize=8, color=GREY, rotation=45, rotation_mode="anchor",
                        transform_rotates_text=True)


def draw_path(ax, rows, colour):
    ax.plot(rows["arithmetic_intensity"], rows["tflops"], color=colour, linewidth=1.0, alpha=0.6, zorder=2)
    ax.scatter(rows["arithmetic_intensity"], rows["tflops"], color=colour, s=34, zorder=3)


def draw_names(ax, rows, colour):
    """Draws names to the right of the points, from top to bottom; a name that would overlap the name above moves down."""
    last = math.inf
    for _, row in rows.sort_values("tflops", ascending=False).iterrows():
        x, y = ax.transData.transform((row["arithmetic_intensity"], row["tflops"]))
        level = min(y, last - NAME_PIXELS)
        last = level
        place = ax.transData.inverted().transform((x + NAME_DISTANCE, level))
        line = {"arrowprops": {"arrowstyle": "-", "color": colour, "linewidth": 0.5, "relpos": (0, 0.5)}}
        ax.annotate(row["variant"], (row["arithmetic_intensity"], row["tflops"]), xytext=place, fontsize=8,
                    va="center", color=colour, zorder=4, **(line if y - level > 1 else {}))


def draw_panel(ax, rows, kinds, colour):
    pipe = pipe_of(rows)
    ridges = [rates[pipe] / bandwidth for _, bandwidth, rates in kinds if pipe in rates]
    low = min(rows["arithmetic_intensity"].min(), min(ridges) / 4) / MARGIN
    high = max(rows["arithmetic_intensity"].max() * ROOM_FOR_NAMES, max(ridges) * MARGIN)
    ax.set(xscale="log", yscale="log", xlabel="arithmetic intensity (operations per byte of DRAM)", ylabel="throughput (TFLOP/s)")
    draw_roofs(ax, kinds, [pipe], low, high)
    draw_path(ax, rows, colour)
    top = max(rates[pipe] / 1e12 for _, _, rates in kinds if pipe in rates)
    ax.set(xlim=(low, high), ylim=(rows["tflops"].min() / MARGIN, top * 2 * MARGIN))
    for axis in (ax.xaxis, ax.yaxis):
        axis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:g}"))
        axis.set_minor_formatter(NullFormatter())
    size = textwrap.fill(rows["key"].iloc[0].split("/")[3].replace(",", ", "), TITLE_WIDTH)
    source = "/".join(sorted(set(rows["intensity_from"])))
    ax.set_title(f"{rows['experiment'].iloc[0]} ({rows['mode'].iloc[0]}; bytes {source})\n{size}", fontsize=9)


def add_arguments(parser):
    parser.add_argument("run", metavar="RUN", help="run folder or results")
    parser.add_argument("--out", metavar="FILE", required=True, help="file for the figure; its extension selects the format")
    parser.add_argument("--experiment", metavar="GLOB", default="*", help="experiments to draw (default: all)")
    parser.add_argument("--mode", default="", help="rows of this mode (default: the first of each variant)")
    parser.add_argument("--ceilings", metavar="FILE", default="", help="file with measured roofs (default: the GPU's file in configs/ceilings)")


def run(arguments):
    frame = timed(load(arguments.run))
    gpu = gpu_name(arguments.run)
    parts = drawable(frame, arguments.experiment, arguments.mode)
    if len(parts) > MAX_PANELS:
        raise UsageError(f"{len(parts)} experiments are too many for one figure; select at most {MAX_PANELS} with --experiment")
    kinds = roofs(gpu, arguments.ceilings)
    columns = min(len(parts), COLUMNS)
    rows = -(-len(parts) // columns)
    figure, grid = panels(rows, columns, INCHES_WIDE, INCHES_HIGH)
    axes = list(grid.flat)
    for place, part in enumerate(parts):
        draw_panel(axes[place], part, kinds, PALETTE[place % len(PALETTE)])
    for ax in axes[len(parts):]:
        ax.remove()
    titled(figure, f"Roofline of {gpu or 'an unknown GPU'}: ceilings measured (solid), datasheet (dashed)")
    figure.draw_without_rendering()
    for place, part in enumerate(parts):
        draw_names(axes[place], part, PALETTE[place % len(PALETTE)])
    save(figure, arguments.out)
