"""Diagrams of several GPUs: steps between two GPUs, all-reduces, distributed products and training steps.

Drawn from the algorithms, not from measurements: timeline_peer_copy (transfers and waits), lanes_collectives (partial sums after each
step), lanes_tensor_parallel (parts of a product that each GPU reads and computes), timeline_data_parallel (gradient exchange).
"""

from pathlib import Path

from matplotlib.patches import Rectangle

from plotting.style import GREY, PALETTE, plt, save, titled

RANKS = 4
DATA, OTHER = PALETTE[0], PALETTE[1]  # colours of arrows: data; requests, responses and flags
SHADES = {0: "#FFFFFF", 1: "#DCE9F5", 2: "#A9CBE8", 3: "#6AA5D6", 4: "#0072B2"}  # by number of summed GPUs


def bare(ax):
    ax.set(xticks=[], yticks=[])
    ax.grid(False)
    ax.spines[:].set_visible(False)


# ---- steps between two GPUs


# Panels: title, arrows (source GPU, start time, text, whether it is data), waits (GPU, start, end). A one-way transfer takes one unit of
# time.
STEPS = [
    ("load, atomic addition: request and reply",
     [(0, 0, "request", False), (1, 1, "data", True), (0, 2, "request", False), (1, 3, "data", True)],
     [(0, 0, 2), (0, 2, 4)]),
    ("store: one way, GPU 0 continues; GPU 1 receives no notification",
     [(0, t / 4, "data" if t == 4 else "", True) for t in range(5)],
     []),
    ("signal: GPU 0 stores a number, GPU 1 polls its own memory",
     [(0, 0, "1", False), (1, 1, "2", False), (0, 2, "3", False), (1, 3, "4", False)],
     [(1, 0, 1), (0, 0, 2), (1, 1, 3), (0, 2, 4)]),
    ("signal after data: GPU 0 stores the number after the data are acknowledged",
     [(0, 0, "data", True), (1, 1, "acknowledged", False), (0, 2, "1", False)],
     [(0, 0, 2), (1, 0, 3)]),
    ("copy: many loads in flight, the link is always busy",
     [arrow for t in range(9) for arrow in ((0, t / 4, "", False), (1, 1 + t / 4, "data" if t == 8 else "", True))],
     []),
]  # fmt: skip


def timeline_peer_copy():
    figure, axes = plt.subplots(len(STEPS), 1, figsize=(10.5, 1.75 * len(STEPS) + 0.5), layout="constrained")
    for ax, (title, arrows, waits) in zip(axes, STEPS):
        for rank, y in ((0, 1), (1, 0)):
            ax.plot([0, 4.4], [y, y], color="#BBBBBB", lw=1, zorder=1)
            ax.text(-0.08, y, f"GPU {rank}", ha="right", va="center")
        for rank, begin, end in waits:
            y = 1 - rank + (0.09 if rank == 0 else -0.09)
            ax.plot([begin + 0.03, end - 0.03], [y, y], color=GREY, lw=5, alpha=0.45, solid_capstyle="butt", zorder=2)
        for rank, leaves, what, is_data in arrows:
            begin, end = (leaves, 1 - rank), (leaves + 1, rank)
            colour = DATA if is_data else OTHER
            look = {"arrowstyle": "-|>", "color": colour, "lw": 1.6, "shrinkA": 0, "shrinkB": 0}
            ax.annotate("", end, begin, arrowprops=look)
            if what:
                ax.text(leaves + 0.56, 0.5, what, color=colour, fontsize=10, ha="left", va="center",
                        bbox={"facecolor": "white", "edgecolor": "none", "pad": 1})  # fmt: skip
        ax.set_xlim(-0.45, 4.5)
        ax.set_ylim(-0.3, 1.3)
        ax.set_title(title)
        bare(ax)
    axes[-1].set_xlabel("time, in one-way link latencies, without time on the GPUs; grey: waiting", color=GREY)
    return titled(figure, "Two GPUs: messages over the link and waiting times")


# ---- all-reduces: the ranks whose values each GPU has summed, for each part


def begin():
    return [[{rank} for _ in range(RANKS)] for rank in range(RANKS)]


def one_shot():
    """Each rank reads all vectors completely."""
    return [("x", begin()), ("sum of all", [[set(range(RANKS))] * RANKS for _ in range(RANKS)])]


def two_shot():
    """Each rank reads its part of all vectors, and stores the sum to all ranks."""
    scattered = [[set(range(RANKS)) if part == rank else {rank} for part in range(RANKS)] for rank in range(RANKS)]
    return [("x", begin()), ("reduce-scatter", scattered), ("all-gather", one_shot()[1][1])]


def ring():
    """In each step, every rank sends one part to the next rank, which adds its own values; complete sums are forwarded."""
    states = [("x", begin())]
    for step in range(2 * (RANKS - 1)):
        have = [list(parts) for parts in states[-1][1]]
        for rank in range(RANKS):
            part = (rank - step) % RANKS
            have[(rank + 1) % RANKS][part] = have[(rank + 1) % RANKS][part] | states[-1][1][rank][part]
        half = "reduce-scatter" if step < RANKS - 1 else "all-gather"
        states.append((f"{half} {step % (RANKS - 1) + 1}", have))
    return states


def draw_state(ax, title, now, before):
    for rank in range(RANKS):
        for part in range(RANKS):
            have = now[rank][part]
            is_new = before is not None and have != before[rank][part]
            ax.add_patch(Rectangle((part, rank), 1, 1, facecolor=SHADES[len(have)], edgecolor="white", lw=1.5, zorder=2))
            if is_new:
                ax.add_patch(Rectangle((part + 0.06, rank + 0.06), 0.88, 0.88, fill=False, edgecolor=OTHER, lw=1.8, zorder=3))
            ax.text(part + 0.5, rank + 0.52, "".join(map(str, sorted(have))), ha="center", va="center", fontsize=8,
                    color="white" if len(have) == RANKS else "black", zorder=4)  # fmt: skip
    ax.set_xlim(0, RANKS)
    ax.set_ylim(RANKS, 0)
    ax.set_aspect("equal")
    bare(ax)
    ax.set_title(title, fontsize=9.5, loc="center", fontweight="normal")


def lanes_collectives():
    rows = [("one_shot", one_shot()), ("two_shot", two_shot()), ("ring", ring())]
    columns = max(len(states) for _, states in rows)
    figure, grid = plt.subplots(len(rows), columns, figsize=(1.75 * columns, 2.15 * len(rows) + 0.5), layout="constrained")
    for axes, (name, states) in zip(grid, rows):
        for i, ax in enumerate(axes):
            if i >= len(states):
                ax.axis("off")
                continue
            title, now = states[i]
            draw_state(ax, title, now, states[i - 1][1] if i else None)
        axes[0].set_yticks([rank + 0.5 for rank in range(RANKS)], [f"GPU {rank}" for rank in range(RANKS)], fontsize=9)
        axes[0].tick_params(length=0)
        axes[0].set_ylabel(name, fontweight="bold")
    figure.supxlabel("Columns: parts of the vector. Digits: GPUs whose values the partial sum contains. Framed: new in this step.",
                     x=0.01, ha="left", fontsize=10, color=GREY)  # fmt: skip
    return titled(figure, "All-reduce on four GPUs: partial sums after each step")


# ---- products


SIDE = 4.0


def split_of(split, rank):
    """Ranges of rows of A, columns of B and k that a rank multiplies, as (begin, end) from 0 to 1."""
    part = (rank / RANKS, (rank + 1) / RANKS)
    half = [(0, 0.5), (0.5, 1)]
    whole = (0, 1)
    return {
        "rows": (part, whole, whole),
        "columns": (whole, part, whole),
        "k": (whole, whole, part),
        "grid": (half[rank // 2], half[rank % 2], whole),
    }[split]


def owners(split, which):
    """{(rows, columns): ranks that need this part of the matrix}."""
    found = {}
    for rank in range(RANKS):
        rows, columns, depth = split_of(split, rank)
        found.setdefault({"a": (rows, depth), "b": (depth, columns), "c": (rows, columns)}[which], []).append(rank)
    return found


def draw_matrix(ax, x, y, parts, name):
    """Draws the parts of a matrix: in the colour of the GPU that uses it, or grey with numbers if several GPUs read it."""
    for (rows, columns), ranks in parts.items():
        colour = PALETTE[ranks[0]] if len(ranks) == 1 else "#DDDDDD"
        left, top = x + SIDE * columns[0], y + SIDE * rows[0]
        width, height = SIDE * (columns[1] - columns[0]), SIDE * (rows[1] - rows[0])
        ax.add_patch(Rectangle((left, top), width, height, facecolor=colour, alpha=0.75, edgecolor="white", lw=1.5))
        ax.text(left + width / 2, top + height / 2, "all" if len(ranks) == RANKS else ", ".join(map(str, ranks)), ha="center",
                va="center", fontsize=10)  # fmt: skip
    ax.text(x + SIDE / 2, y - 0.12, name, ha="center", va="bottom", fontsize=10)


def draw_summands(ax, x, y):
    for rank in reversed(range(RANKS)):
        at = (x + 0.3 * rank, y + 0.3 * rank)
        ax.add_patch(Rectangle(at, SIDE - 0.9, SIDE - 0.9, facecolor=PALETTE[rank], edgecolor="white", lw=1.5))
    ax.text(x + SIDE / 2, y - 0.12, "partial sums of C", ha="center", va="bottom", fontsize=10)


def lanes_tensor_parallel():
    splits = [
        ("rows", "contiguous rows of C\neach GPU receives 3/4 of C"),
        ("columns", "a piece of each row of C\neach GPU receives 3/4 of C"),
        ("k", "a partial sum of all of C\neach GPU receives 2 · 3/4 of C"),
        ("grid", "a piece of half of the rows\neach GPU receives 3/4 of C"),
    ]
    figure, grid = plt.subplots(2, 2, figsize=(10.5, 6.2), layout="constrained")
    for ax, (split, text) in zip(grid.flat, splits):
        draw_matrix(ax, 0, 0, owners(split, "a"), "A")
        draw_matrix(ax, SIDE + 1.2, 0, owners(split, "b"), "B")
        ax.text(SIDE + 0.6, SIDE / 2, "·", ha="center", va="center", fontsize=18)
        ax.text(2 * SIDE + 1.8, SIDE / 2, "=", ha="center", va="center", fontsize=14)
        if split == "k":
            draw_summands(ax, 2 * SIDE + 2.4, 0)
        else:
            draw_matrix(ax, 2 * SIDE + 2.4, 0, owners(split, "c"), "C")
        ax.set_xlim(-0.1, 3 * SIDE + 2.5)
        ax.set_ylim(SIDE + 1.6, -0.8)
        ax.set_aspect("equal")
        ax.text(0, SIDE + 0.25, text, ha="left", va="top", fontsize=10, color=GREY)
        ax.set_title({"k": "split along k", "grid": "grid of 2×2"}.get(split, f"split by {split}"))
        bare(ax)
    for rank in range(RANKS):
        grid[0, 0].add_patch(Rectangle((0, 0), 0, 0, facecolor=PALETTE[rank], alpha=0.75, label=f"GPU {rank}"))
    figure.legend(*grid[0, 0].get_legend_handles_labels(), loc="outside lower left", ncol=RANKS)
    return titled(figure, "Matrix product on four GPUs: operands and results of each")


# ---- training steps


BUCKETS = 4
# Durations in arbitrary units, chosen for readability: backward pass of a bucket, its exchange, and all updates.
BACKWARD, EXCHANGE, UPDATE = 1.0, 0.8, 0.9
UNITS = ["SMs: backward, update", "links: exchange"]


def after_backward():
    ends = BUCKETS * BACKWARD
    last = ends + BUCKETS * EXCHANGE
    return [(0, i * BACKWARD, BACKWARD, f"B{i}") for i in range(BUCKETS)] + [
        (1, ends, last - ends, "all-reduce of all"),
        (0, last, UPDATE, "update"),
    ]


def overlapped():
    """Blocks of an exchange start after the blocks of the next bucket's backward pass, so exchanges and passes alternate."""
    parts, now = [(0, 0, BACKWARD, "B0")], BACKWARD
    for i in range(1, BUCKETS):
        parts += [(0, now, BACKWARD, f"B{i}"), (1, now + BACKWARD, EXCHANGE, f"{i - 1}")]
        now += BACKWARD + EXCHANGE
    return parts + [(1, now, EXCHANGE, f"{BUCKETS - 1}"), (0, now + EXCHANGE, UPDATE, "update")]


def beside(slower, longer):
    """Backward pass and exchange run concurrently: the pass takes `slower` times as long as by itself, the exchange `longer` times."""
    begins = [0] + [BACKWARD + i * slower * BACKWARD for i in range(BUCKETS - 1)]
    ends = begins[1:] + [begins[-1] + slower * BACKWARD]
    parts = [(0, begin, end - begin, f"B{i}") for i, (begin, end) in enumerate(zip(begins, ends))]
    parts += [(1, end, longer * EXCHANGE, f"{i}") for i, end in enumerate(ends[:-1])]
    return parts + [(1, ends[-1], EXCHANGE, f"{BUCKETS - 1}"), (0, ends[-1] + EXCHANGE, UPDATE, "update")]


def prioritized():
    """Blocks of the exchange are scheduled first and occupy half of the block slots on the SMs."""
    return beside((BACKWARD + EXCHANGE) / BACKWARD, (BACKWARD + EXCHANGE) / EXCHANGE * 0.95)


def nccl_prioritized():
    """NCCL uses few blocks and leaves most of the SMs to the backward pass."""
    return beside(1.1, 1)


def timeline_data_parallel():
    rows = [after_backward, overlapped, prioritized, nccl_prioritized]
    figure, axes = plt.subplots(len(rows), 1, figsize=(10.5, 1.45 * len(rows) + 0.6), layout="constrained", sharex=True)
    for ax, row in zip(axes, rows):
        for unit, begin, length, text in row():
            ax.add_patch(Rectangle((begin, unit + 0.1), length - 0.03, 0.8, facecolor=PALETTE[2 if text == "update" else unit],
                                   alpha=0.8, edgecolor="none"))  # fmt: skip
            ax.text(begin + length / 2, unit + 0.5, text, ha="center", va="center", fontsize=9, color="white")
        ax.set_title(row.__name__)
        ax.set_ylim(2, 0)
        ax.set_xlim(0, BUCKETS * (BACKWARD + EXCHANGE) + UPDATE)
        bare(ax)
        ax.set_yticks([0.5, 1.5], UNITS, fontsize=9)
        ax.tick_params(length=0)
    says = "time, not to scale; B: backward pass of a bucket, digits: its exchange"
    axes[-1].set_xlabel(says, color=GREY)
    return titled(figure, "Data-parallel training step: schedule of the gradient exchange")


PICTURES = {
    picture.__name__: picture
    for picture in (timeline_peer_copy, lanes_collectives, lanes_tensor_parallel, timeline_data_parallel)
}


def add_arguments(parser):
    parser.add_argument("--out-dir", metavar="FOLDER", required=True, type=Path)
    parser.add_argument("--only", choices=sorted(PICTURES))


def run(options):
    for name, picture in PICTURES.items():
        if options.only in (None, name):
            save(picture(), options.out_dir / f"{name}.png")
