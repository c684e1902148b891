"""Rates of links between GPUs, and the speedup of problems that span GPUs, from recorded results.

RESULTS.json are of peer_copy, of collectives, of tensor_parallel and mlp_parallel together, or of data_parallel.
"""

from plotting.recorded import UsageError, read_report
from plotting.style import colours, grouped_bars, label_lines, panels, save, short, titled

KIB = 1024


def rows_of(paths):
    """All rows with a time, and the GPU's name."""
    rows, names = [], set()
    for path in paths:
        results = read_report(path)
        rows += [row for row in results["rows"] if row.get("time_median_us") is not None]
        names.add(results["provenance"]["device"]["name"])
    if len(names) != 1:
        raise UsageError(f"runs of {' and '.join(sorted(names))}: times in one figure are of one GPU")
    return rows, names.pop()


def chosen(rows, experiment, **params):
    return [row for row in rows if row["experiment"] == experiment
            and all(row.get(f"param.{name}") == value for name, value in params.items())]  # fmt: skip


def by_variant(rows, x_of, column):
    """Points of each variant, by x."""
    lines = {}
    for row in rows:
        if row.get(column) is not None:
            lines.setdefault(row["variant"], []).append((x_of(row), row[column]))
    return {name: sorted(points) for name, points in lines.items()}


def draw_lines(ax, lines, looks):
    ends = []
    for name, points in lines.items():
        colour, dash = looks[name]
        ax.plot(*zip(*points), dash, color=colour, marker="o", markersize=4)
        ends.append((*points[-1], name, colour))
    return ends


def bytes_axis(ax, lines):
    ax.set_xscale("log", base=2)
    values = [x for points in lines.values() for x, _ in points]
    names = [(KIB**i * 2**j, f"{2**j} {unit}") for i, unit in enumerate(["B", "KiB", "MiB", "GiB"]) for j in range(0, 10, 2)]
    step = 2 if max(values) / min(values) > 2**20 else 1
    ticks = [(at, name) for at, name in names if min(values) <= at <= max(values)][::step]
    ax.set_xticks([at for at, _ in ticks], [name for _, name in ticks])
    ax.minorticks_off()


# ---- peer_copy


def peer_copy(rows):
    figure, grid = panels(2, 1, 10, [4.2, 5.4])
    lines = by_variant(chosen(rows, "one_way", gpus=2), lambda row: 4 * row["param.n"], "link_gb_per_s")
    looks = colours(lines)
    ax = grid[0, 0]
    ends = draw_lines(ax, lines, looks)
    bytes_axis(ax, lines)
    ax.set_ylabel("GB/s")
    ax.set_ylim(0)
    ax.set_title("one way, by size")
    label_lines(ax, ends)
    cases = [("one way", "one_way", 2), ("both ways, 2 GPUs", "ring", 2), ("around a ring, 4 GPUs", "ring", 4),
             ("all pairs, 2 GPUs", "all_pairs", 2), ("all pairs, 4 GPUs", "all_pairs", 4)]  # fmt: skip
    series = []
    for name in ("copy_engine", "vector_loads", "vector_stores", "bulk_loads", "bulk_stores"):
        values = []
        for _, experiment, gpus in cases:
            found = [row for row in chosen(rows, experiment, gpus=gpus) if row["variant"] == name]
            values.append(max(found, key=lambda row: row["param.n"])["link_gb_per_s"] if found else float("nan"))
        series.append((name, looks[name][0], values, [short(value) for value in values]))
    ax = grid[1, 0]
    grouped_bars(ax, [label for label, _, _ in cases], series)
    ax.set_xlabel("GB/s into a GPU, of as many out of it; the largest size of each")
    ax.legend(loc="upper left", bbox_to_anchor=(1, 1), fontsize=10)
    return figure, "What the links between GPUs carry"


# ---- collectives


def collectives(rows):
    figure, grid = panels(2, 2, 7, [4.2, 4.2])
    looks = colours(dict.fromkeys(row["variant"] for row in rows))
    most = KIB * KIB
    for column, gpus in enumerate((2, 4)):
        own = chosen(rows, "all_reduce", gpus=gpus)
        size = lambda row: 4 * row["param.n"]  # noqa: E731  (fp32)
        short_ones = by_variant([row for row in own if size(row) <= most], size, "time_median_us")
        all_of = by_variant(own, size, "link_gb_per_s")
        for ax, lines, label in ((grid[0, column], short_ones, "µs"), (grid[1, column], all_of, "bus bandwidth, GB/s")):
            ends = draw_lines(ax, lines, looks)
            bytes_axis(ax, lines)
            ax.set_ylabel(label)
            ax.set_ylim(0)
            ax.set_title(f"{gpus} GPUs" + (", up to 1 MiB" if label == "µs" else ""))
            label_lines(ax, ends)
    return figure, "All-reduces in fp32, by the bytes of a vector"


# ---- products


def shared_products(rows):
    figure, grid = panels(2, 2, 7, [4.2, 4.6])
    products = [row for row in rows if row["family"] == "tensor_parallel"]
    pairs = [row for row in rows if row["family"] == "mlp_parallel"]
    looks = colours(dict.fromkeys(row["variant"] for row in products if row["variant"] != "partial_sums"))
    for column, gpus in enumerate((2, 4)):
        ax = grid[0, column]
        lines = by_variant(chosen(products, "everywhere", gpus=gpus, split="rows"), lambda row: row["param.n"], "speedup")
        ends = draw_lines(ax, lines, looks)
        ax.set_xscale("log", base=2)
        sizes = sorted({x for points in lines.values() for x, _ in points})
        ax.set_xticks(sizes, [str(size) for size in sizes])
        ax.minorticks_off()
        ax.axhline(gpus, color="#BBBBBB", lw=1)
        ax.set_ylim(0, 1.05 * gpus)
        ax.set_ylabel("times as fast as one GPU")
        ax.set_title(f"C = A·B by rows, {gpus} GPUs, by m = n = k")
        label_lines(ax, ends)
        ax = grid[1, column]
        own = chosen(pairs, "tokens", gpus=gpus)
        tokens = sorted({row["param.tokens"] for row in own})
        names = [name for name in dict.fromkeys(row["variant"] for row in own) if name != "one_gpu"]
        series = []
        for name, (colour, _) in colours(names).items():
            of = {row["param.tokens"]: row["speedup"] for row in own if row["variant"] == name}
            values = [of.get(t, float("nan")) for t in tokens]
            series.append((name, colour, values, [short(value) for value in values]))
        grouped_bars(ax, [f"{t} tokens" for t in tokens], series, top=gpus)
        ax.axvline(gpus, color="#BBBBBB", lw=1)
        ax.set_xlabel("times as fast as one GPU")
        ax.set_title(f"MLP of width 4096, {gpus} GPUs")
        if column == 1:
            ax.legend(loc="upper left", bbox_to_anchor=(1, 1), fontsize=10)
    return figure, "Products that GPUs share"


# ---- data_parallel


def data_parallel(rows):
    figure, grid = panels(2, 2, 7, [4.2, 4.2])
    own = chosen(rows, "backward_length", dtype="fp32") + chosen(rows, "backward_length", dtype="bf16")
    looks = colours(dict.fromkeys(row["variant"] for row in own))
    for line, dtype in enumerate(("fp32", "bf16")):
        for column, gpus in enumerate((2, 4)):
            ax = grid[line, column]
            rows_here = chosen(own, "backward_length", gpus=gpus, dtype=dtype)
            lines = by_variant(rows_here, lambda row: row["param.cost"], "time_median_us")
            lines = {name: [(x, y / 1000) for x, y in points] for name, points in lines.items()}
            ends = draw_lines(ax, lines, looks)
            ax.set_xscale("log", base=2)
            costs = sorted({x for points in lines.values() for x, _ in points})
            ax.set_xticks(costs, [str(cost) for cost in costs])
            ax.minorticks_off()
            ax.set_ylim(0)
            ax.set_ylabel("ms")
            ax.set_title(f"gradients in {dtype}, {gpus} GPUs, by cost")
            label_lines(ax, ends)
    return figure, "A step of data-parallel training, by the length of the backward pass"


FIGURES = {
    "peer_copy": peer_copy,
    "collectives": collectives,
    "tensor_parallel": shared_products,
    "mlp_parallel": shared_products,
    "data_parallel": data_parallel,
}


def draw(paths):
    rows, gpu = rows_of(paths)
    kinds = list(dict.fromkeys(FIGURES.get(row["family"]) for row in rows))
    if len(kinds) != 1 or kinds[0] is None:
        raise UsageError(f"{', '.join(paths)}: expected results of {', '.join(FIGURES)}")
    return titled(*kinds[0](rows), gpu)


def add_arguments(parser):
    parser.add_argument("results", metavar="RESULTS.json", nargs="+")
    parser.add_argument("--out", metavar="FILE", required=True, help="the figure; its ending says the format")


def run(options):
    save(draw(options.results), options.out)
