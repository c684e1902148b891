"""The addresses that the lanes of a warp access: sectors of device memory, or banks of shared memory.

ANNOTATION is what `gpuexp annotate FAMILY/VARIANT --warp B,W --line N --json` prints; each becomes a panel, and --title names
them. A row is 128 bytes: a line of L1, or the 32 banks once. A cell is 4 bytes, and has the number of the first lane that requests
it. In device memory, requested sectors are framed: empty cells in a frame are bytes that no lane requests. In shared memory, a
colour is a wavefront: a request takes as many as the bank with the most different words.

FILE lists figures of several panels (docs/figures/accesses.json): for each panel the variant, its parameters, the warp, and a part
of the source line that accesses memory. FILE may also list two other kinds of figures: `lanes`, the instructions of a
kernel's lines with their active lanes, and `waves`, the blocks of a launch on a GPU's SMs.
"""

import json
import math
import subprocess
from pathlib import Path

from matplotlib.patches import Rectangle

from plotting.recorded import UsageError, read_json
from plotting.style import GREY, PALETTE, name_rows, plt, save

CELL_BYTES = 4
ROW_BYTES = 128
ROW_CELLS = ROW_BYTES // CELL_BYTES
SECTOR_CELLS = 8
INCHES_WIDE = 10.5
DPI = 130
ROW_INCHES = 0.27
HEAD_INCHES = 0.75  # title and axis of a panel
MAX_ROWS = 10
MOVED = "#F3E3D3"


# ---- words and wavefronts of an access


def words_of(access):
    """{word: lanes that access it, in order}, where a word is offset / 4."""
    words = {}
    for lane in access["lanes"]:
        first = lane["offset"] // CELL_BYTES
        last = (lane["offset"] + access["bytes_per_lane"] - 1) // CELL_BYTES
        for word in range(first, last + 1):
            words.setdefault(word, []).append(lane["lane"])
    return words


def is_shared(access):
    return bool(access["lanes"]) and "bank" in access["lanes"][0]


def lanes_at_a_time(access):
    """Lanes served together: a quarter of the warp for 16 bytes per lane, half for 8 bytes, else all."""
    return {16: 8, 8: 16}.get(access["bytes_per_lane"], 32)


def wavefronts_of(access):
    """{word: wavefront that serves the word}, and the number of wavefronts. Two words of one bank need two wavefronts."""
    group_size = lanes_at_a_time(access)
    served, taken = {}, 0
    for first in range(0, 32, group_size):
        group = {**access, "lanes": [x for x in access["lanes"] if first <= x["lane"] < first + group_size]}
        depth = {}
        for word in sorted(words_of(group)):
            bank = word % ROW_CELLS
            served.setdefault(word, taken + depth.get(bank, 0))
            depth[bank] = depth.get(bank, 0) + 1
        taken += max(depth.values(), default=0)
    return served, taken


# ---- drawing


def rows_to_draw(words, most):
    rows = sorted({word // ROW_CELLS for word in words})
    return rows[:most], len(rows) - most


def draw_cell(ax, x, y, text, colour):
    ax.add_patch(Rectangle((x, y), 1, 1, facecolor=colour, edgecolor="white", linewidth=0.8, zorder=3))
    ax.text(x + 0.5, y + 0.53, text, ha="center", va="center", fontsize=7.5, color="white", zorder=4)


def lane_text(lanes):
    return f"{lanes[0]}+" if len(lanes) > 1 else str(lanes[0])


def draw_sectors(ax, access, words, rows):
    sectors = {word // SECTOR_CELLS for word in words}
    for y, row in enumerate(rows):
        for sector in range(row * ROW_CELLS // SECTOR_CELLS, (row + 1) * ROW_CELLS // SECTOR_CELLS):
            x = sector * SECTOR_CELLS % ROW_CELLS
            moved = sector in sectors
            if moved:
                ax.add_patch(Rectangle((x, y), SECTOR_CELLS, 1, facecolor=MOVED, edgecolor="none", zorder=1))
            edge = {"edgecolor": PALETTE[1], "linewidth": 1.6, "zorder": 5} if moved else {"edgecolor": "#DDDDDD", "linewidth": 0.6}
            ax.add_patch(Rectangle((x, y), SECTOR_CELLS, 1, facecolor="none", **edge))
        for word, lanes in words.items():
            if word // ROW_CELLS == row:
                draw_cell(ax, word % ROW_CELLS, y, lane_text(lanes), PALETTE[0])
    useful = len(words) * CELL_BYTES
    return f"sectors requested: {len(sectors)}, needed for {useful} bytes: {-(-useful // 32)}"


def draw_banks(ax, access, words, rows):
    served, wavefronts = wavefronts_of(access)
    for y, row in enumerate(rows):
        for x in range(ROW_CELLS):
            ax.add_patch(Rectangle((x, y), 1, 1, facecolor="none", edgecolor="#DDDDDD", linewidth=0.6))
        for word, lanes in words.items():
            if word // ROW_CELLS == row:
                draw_cell(ax, word % ROW_CELLS, y, lane_text(lanes), PALETTE[served[word] % len(PALETTE)])
    ideal = -(-len(words) * CELL_BYTES // ROW_BYTES)
    return f"{wavefronts} wavefront{'s' if wavefronts > 1 else ''}, {ideal} without bank conflicts"


def draw_panel(ax, annotation, title, most):
    warp = annotation.get("warp")
    if not warp or not warp["accesses"]:
        raise UsageError("the annotation has no warp; create it with: gpuexp annotate FAMILY/VARIANT --warp B,W --line N --json")
    access = warp["accesses"][0]
    words = words_of(access)
    rows, left = rows_to_draw(words, most)
    draw = draw_banks if is_shared(access) else draw_sectors
    summary = draw(ax, access, words, rows)
    ax.set_xlim(-0.05, ROW_CELLS + 0.05)
    height = len(rows) + (0.9 if left > 0 else 0)
    ax.set_ylim(height + 0.1, -0.1)
    ax.set_box_aspect(ROW_INCHES * height / (0.94 * INCHES_WIDE))
    if left > 0:
        ax.text(ROW_CELLS / 2, len(rows) + 0.5, f"and {left} more rows like these", ha="center", va="center",
                fontsize=9, color=GREY)  # fmt: skip
    begin = rows[0] * ROW_BYTES
    ax.set_yticks([y + 0.5 for y in range(len(rows))], [f"+{row * ROW_BYTES - begin}" for row in rows], fontsize=8)
    unit = "bank" if is_shared(access) else "word of the 128-byte line"
    ax.set_xticks([x + 0.5 for x in range(0, ROW_CELLS, 4)], range(0, ROW_CELLS, 4), fontsize=8)
    ax.set_xlabel(unit, fontsize=9, labelpad=1)
    ax.grid(False)
    ax.tick_params(length=0)
    ax.spines[:].set_visible(False)
    name = title or f"{annotation['family']}/{annotation['variant']}"
    ax.set_title(f"{name}: {access['access']}, {access['bytes_per_lane']} bytes per lane; {summary}", fontsize=10.5)
    return len(rows) + (left > 0)


# ---- other diagrams of a kernel


MIN_SHARE = 0.01  # minimum share of the instructions for which a line is drawn
TEXT_WIDTH = 62


def draw_lanes(annotations, titles, out):
    """For each annotation, the issue slots of its source lines, divided into active and inactive lanes."""
    chosen = []
    for annotation in annotations:
        kernel = annotation["kernels"][0]
        least = MIN_SHARE * kernel["counts"]["warp_instructions"]
        chosen.append([line for line in kernel["lines"] if line["text"] and line["counts"]["warp_instructions"] >= least])
    heights = [0.3 * len(lines) + 0.9 for lines in chosen]
    figure, axes = plt.subplots(len(chosen), 1, figsize=(INCHES_WIDE, sum(heights)), height_ratios=heights, squeeze=False,
                                sharex=True, layout="constrained")  # fmt: skip
    for ax, annotation, title, lines in zip(axes[:, 0], annotations, titles, chosen):
        blocks = annotation["kernels"][0]["launches"][0]
        warps = math.prod(blocks["grid"]) * math.prod(blocks["block"]) / 32
        issued = [line["counts"]["warp_instructions"] / warps for line in lines]
        on = [line["counts"]["active_lanes"] / 32 / warps for line in lines]
        off = [of_all - of_these for of_all, of_these in zip(issued, on)]
        ax.barh(range(len(lines)), on, color=PALETTE[0], height=0.8, label="active lanes")
        ax.barh(range(len(lines)), off, left=on, color=PALETTE[1], height=0.8, label="inactive lanes")
        for y, slots in enumerate(issued):
            ax.annotate(f"{32 * on[y] / slots:.3g} of 32 lanes", (slots, y), xytext=(4, 0), textcoords="offset points", va="center", fontsize=8)
        name_rows(ax, [line["text"].strip()[:TEXT_WIDTH] for line in lines], 0.6, fontsize=8, family="monospace")
        ax.set_title(title or f"{annotation['family']}/{annotation['variant']}", fontsize=10.5)
    axes[-1][0].set_xlabel("issue slots per warp")
    axes[0][0].set_xlim(right=1.2 * axes[0][0].get_xlim()[1])
    figure.legend(*axes[0, 0].get_legend_handles_labels(), loc="outside lower center", ncols=2, fontsize=9)
    save(figure, out, DPI)


def draw_waves(cells, titles, out):
    """For each cell (predict --limits --json), the number of busy block slots in each wave, if all blocks take equally long."""
    figure, axes = plt.subplots(1, len(cells), figsize=(INCHES_WIDE, 3.4), squeeze=False, sharex=True, sharey=True, layout="constrained")
    most = max(math.ceil(cell["waves"]) for cell in cells)
    for ax, title, cell in zip(axes[0], titles, cells):
        places = round(cell["grid_blocks"] / cell["waves"])
        left = cell["grid_blocks"]
        for wave in range(math.ceil(cell["waves"])):
            busy = min(places, left)
            ax.add_patch(Rectangle((wave, 0), 0.98, busy, facecolor=PALETTE[wave % 2 * 5], edgecolor="none"))
            ax.text(wave + 0.49, busy / 2, f"{busy} blocks", ha="center", va="center", fontsize=9)
            if busy < places:
                ax.add_patch(Rectangle((wave, busy), 0.98, places - busy, facecolor=MOVED, edgecolor="none"))
                middle = (busy + places) / 2 if places - busy > 0.1 * places else 1.03 * places
                ax.text(wave + 0.49, middle, f"{places - busy} idle", ha="center", va="center", fontsize=9, color=GREY)
            left -= busy
        ax.set_xlim(-0.05, most + 0.05)
        ax.set_ylim(0, 1.06 * places)
        ax.set_xticks(range(most + 1))
        ax.grid(False)
        ax.set_xlabel("time (block durations)")
        ax.set_title(f"{title}: {cell['grid_blocks']} blocks, {cell['tail_efficiency_pct']:.0f} % of block slots used", fontsize=10.5)
    axes[0][0].set_ylabel("block slots on the GPU")
    save(figure, out, DPI)


# ---- figures of accesses


def draw(annotations, titles, out, most=MAX_ROWS):
    heights = []
    for annotation in annotations:
        access = (annotation.get("warp") or {}).get("accesses") or [{"lanes": [], "bytes_per_lane": 4}]
        rows, left = rows_to_draw(words_of(access[0]), most)
        heights.append((len(rows) + (left > 0)) * ROW_INCHES + HEAD_INCHES)
    figure, axes = plt.subplots(
        len(annotations), 1, figsize=(INCHES_WIDE, sum(heights) + 0.35), height_ratios=heights, squeeze=False, layout="constrained"
    )
    for i, annotation in enumerate(annotations):
        draw_panel(axes[i][0], annotation, titles[i] if i < len(titles) else "", most)
    device = annotations[0]["device"]
    figure.text(0.995, 0.004, f"lanes 0 to 31 of one warp · simulated as {device}", ha="right", va="bottom", fontsize=8, color=GREY)
    save(figure, out, DPI)


# ---- annotations


def printed_by(command):
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode != 0:
        raise UsageError(f"{' '.join(command)}: {done.stderr.strip()}")
    return done.stdout


def annotate(program, arguments):
    return json.loads(printed_by([program, "annotate", *arguments, "--json"]))


def arguments_of(panel):
    return [panel["variant"], *(f"--set={name}={value}" for name, value in panel["set"].items())]


def line_with(annotation, text, access):
    """FILE:N of the source line that contains the text and makes an access of this kind."""
    found = {
        f"{line['file']}:{line['line']}"
        for kernel in annotation["kernels"]
        for line in kernel["lines"]
        if line["text"] and text in line["text"] and any(access in a["access"] for a in line["accesses"])
    }
    if len(found) != 1:
        where = f": {', '.join(sorted(found))}" if found else ""
        raise UsageError(f"{annotation['family']}/{annotation['variant']}: expected one line with '{text}' and a {access}, found {len(found)}{where}")
    return found.pop()


def annotation_of(panel, program):
    arguments = arguments_of(panel)
    line = line_with(annotate(program, arguments), panel["text"], panel["access"])
    execution = ["--execution", str(panel["execution"])] if "execution" in panel else []
    annotation = annotate(program, [*arguments, "--warp", panel.get("warp", "0,0"), "--line", line, *execution])
    accesses = annotation["warp"]["accesses"]
    annotation["warp"]["accesses"] = [a for a in accesses if panel["access"] in a["access"]] or accesses
    return annotation


def cell_of(panel, program, gpu):
    """The output of `predict --limits` for the variant at these parameters."""
    family = panel["variant"].split("/")[0]
    sets = [f"--set={name}={value}" for name, value in panel["set"].items()]
    printed = printed_by([program, "predict", family, "--filter", panel["variant"], "--gpu", gpu, "--limits", "--json", *sets])
    cells = [cell for config in json.loads(printed) for cell in config["cells"]]
    if not cells:
        raise UsageError(f"{panel['variant']}: {family}.json has no cell of this variant")
    return cells[0]


def draw_listed(path, program, folder, only):
    for name, figure in read_json(path).items():
        if only and name != only:
            continue
        panels = figure["panels"]
        titles = [panel.get("title", "") for panel in panels]
        out = Path(folder) / f"{name}.png"
        kind = figure.get("kind", "accesses")
        if kind == "waves":
            draw_waves([cell_of(panel, program, figure["gpu"]) for panel in panels], titles, out)
        elif kind == "lanes":
            draw_lanes([annotate(program, arguments_of(panel)) for panel in panels], titles, out)
        else:
            draw([annotation_of(panel, program) for panel in panels], titles, out, figure.get("most_rows", MAX_ROWS))


def add_arguments(parser):
    parser.add_argument("annotations", nargs="*", metavar="ANNOTATION")
    parser.add_argument("--out", metavar="FILE", help="file for the figure; its extension selects the format")
    parser.add_argument("--title", action="append", default=[], help="title of a panel; may be repeated")
    parser.add_argument("--most-rows", type=int, default=MAX_ROWS, help=f"maximum rows of a panel (default: {MAX_ROWS})")
    parser.add_argument("--figures", metavar="FILE", help="file with figures of several panels, such as docs/figures/accesses.json")
    parser.add_argument("--program", metavar="GPUEXP", help="with --figures: the gpuexp program, which annotates the variants")
    parser.add_argument("--out-dir", metavar="FOLDER", help="with --figures: folder for the figures")
    parser.add_argument("--only", metavar="NAME", help="with --figures: draw only this figure")


def run(options):
    if options.figures:
        if not options.program or not options.out_dir:
            raise UsageError("--figures needs --program and --out-dir")
        draw_listed(options.figures, options.program, options.out_dir, options.only)
    elif options.annotations and options.out:
        draw([read_json(path) for path in options.annotations], options.title, options.out, options.most_rows)
    else:
        raise UsageError("expected annotations and --out, or --figures")
