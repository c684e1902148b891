"""Matrix products: the ladder from the naive kernel to the library, and error against speed."""

import math

import pandas as pd

from plotting.results import NothingToDraw, basis, distinct, has, is_vendor, numbers, text_of, timed, timed_with, vendors
from plotting.statuses import PASSED
from plotting.style import (
    GREY,
    PALETTE,
    axis_of,
    bars_height,
    colours,
    draw_series,
    grouped_bars,
    label_lines,
    label_points,
    panels,
    short,
)

MAX_SIZES_IN_PANELS = 6
MIN_PITCHES = 4
LANES = 32


def size_names(frame):
    """ "4096³" if m = n = k, else "4096 × 4096 × 1024" (m × n × k)."""
    def name(row):
        sizes = [text_of(row[f"param.{p}"]) for p in "mnk"]
        return f"{sizes[0]}³" if len(set(sizes)) == 1 else " × ".join(sizes)
    return frame.apply(name, axis=1)


def with_sizes(frame):
    """Rows with m, n and k, sorted by m·n·k, with columns `volume`, `size` and `types`."""
    columns = [f"param.{p}" for p in "mnk"]
    if not set(columns) <= set(frame.columns):
        raise NothingToDraw("the columns param.m, param.n and param.k are needed")
    frame = frame.dropna(subset=columns).copy()
    if not len(frame):
        raise NothingToDraw("no row has m, n and k")
    frame["volume"] = numbers(frame, columns[0]) * numbers(frame, columns[1]) * numbers(frame, columns[2])
    frame["size"] = size_names(frame)
    frame["types"] = type_names(frame)
    return frame.sort_values("volume", kind="stable")


def type_names(frame):
    """ "bf16"; "fp16, sums in fp16" if products are not summed in fp32; with the type of C if it varies."""
    if "param.dtype" not in frame:
        return pd.Series("fp32", index=frame.index)
    outputs = frame.dropna(subset=["param.dtype"]).groupby("param.dtype")
    outputs = outputs["param.output"].nunique() if "param.output" in frame else {}

    def name(row):
        dtype = row["param.dtype"]
        if not isinstance(dtype, str):
            return "fp32"
        parts = [dtype]
        if row.get("param.accumulate", "fp32") != "fp32":
            parts.append(f"sums in {row['param.accumulate']}")
        elif outputs.get(dtype, 1) > 1 and dtype != "tf32":
            parts.append("C in " + (dtype if row["param.output"] == "same" else row["param.output"]))
        return ", ".join(parts)

    return frame.apply(name, axis=1)


def ladder(frame):
    """TFLOP/s of every variant, and its share of the library's: a figure per mode, a panel per size."""
    frame = with_sizes(frame)
    good = timed(frame)
    if not has(good, "tflops"):
        raise NothingToDraw("no row passed with a rate")
    # Sizes with few of the variants are omitted, because they belong to other experiments.
    variant_counts = frame.groupby("size")["variant"].nunique()
    sizes = [s for s in distinct(good, "size") if 2 * variant_counts[s] > variant_counts.max()]
    frame = frame[frame["size"].isin(sizes)]
    good = good[good["size"].isin(sizes)]
    if len(sizes) > MAX_SIZES_IN_PANELS:
        return ladder_by_size(good)
    modes = distinct(good, "mode")
    tried = good.groupby("types")["variant"].nunique()
    types = [t for t in distinct(good, "types") if 2 * tried[t] > tried.max()]
    variants = order_of_rungs(frame)
    height = bars_height(len(variants) * (1 + 0.55 * (len(types) - 1)))
    label = "throughput (TFLOP/s)" + ("\n(in brackets: share of cublas)" if is_vendor(good).any() else "")
    figures = []
    for mode in modes:
        figure, grid = panels(-(-len(sizes) // 2), min(2, len(sizes)), 6.4 if len(sizes) > 1 else 8, height, sharey="row")
        for ax, size in zip(grid.flat, sizes):
            part = frame[(frame["mode"] == mode) & (frame["size"] == size)]
            draw_rungs(ax, part, variants, types, good["tflops"].max())
            ax.set(title=f"m × n × k = {size}, {mode}", xlabel=label)
        for ax in list(grid.flat)[len(sizes) :]:
            ax.set_axis_off()
        if len(types) > 1:
            figure.legend(*grid[0][0].get_legend_handles_labels(), loc="outside right upper")
        figures.append(figure)
    return figures


def order_of_rungs(frame):
    """Variants in the order of the group with the most variants; libraries last."""
    sizes = frame.groupby("size")["variant"].nunique()
    fullest = distinct(frame[frame["size"] == sizes.idxmax()], "variant")
    variants = fullest + [v for v in distinct(frame, "variant") if v not in fullest]
    libraries = vendors(frame)
    return sorted(variants, key=lambda variant: variant in libraries)


def draw_rungs(ax, frame, variants, types, top):
    """A group of bars per variant, one bar per type."""
    frame = frame.drop_duplicates(["variant", "types"])
    libraries = vendors(frame)
    series = []
    for kind, (colour, _) in colours(types).items():
        notes, values = zip(*[variant_note(frame, variant, kind) for variant in variants])
        if len(types) == 1:
            kind, colour = None, [PALETTE[7] if v in libraries else PALETTE[0] for v in variants]
        series.append((kind, colour, values, notes))
    grouped_bars(ax, variants, series, top, len("0.501  (99 %)"))


def variant_note(frame, variant, kind):
    """Text and length of one bar."""
    row = frame[(frame["variant"] == variant) & (frame["types"] == kind)]
    if not len(row):
        return "", math.nan
    if row["status"].iloc[0] not in PASSED:
        return row["status"].iloc[0], math.nan
    value = numbers(row, "tflops").iloc[0]
    peers = timed(frame[frame["types"] == kind])
    vendor = numbers(peers[is_vendor(peers)], "tflops").max()
    share = "" if is_vendor(row).all() or math.isnan(vendor) else f"  ({100 * value / vendor:.0f} %)"
    return f"{short(value)}{share}", value


def ladder_by_size(good):
    """A line per variant over the size, for sweeps with too many sizes for panels."""
    types = distinct(good, "types")
    figure, grid = panels(1, len(types), 7.5, 4.6, sharey=True)
    for ax, kind in zip(grid[0], types):
        part = good[(good["types"] == kind) & (good["mode"] == good["mode"].iloc[0])]
        side = part["volume"] ** (1 / 3)
        ends = draw_series(ax, part.assign(x=side, y=part["tflops"]), markersize=4)
        axis_of(ax, side.round())
        ax.set_ylim(bottom=0)
        ax.set(title=f"{kind}, {good['mode'].iloc[0]}", xlabel="cube root of m · n · k", ylabel="throughput (TFLOP/s)")
        label_lines(ax, ends)
    return figure


def error_against_speed(frame):
    """Error over rate of each product, at the size with the most types."""
    good = with_sizes(timed(frame))
    good = good[(numbers(good, "error_rms_rel") > 0) & (numbers(good, "tflops") > 0)]
    kinds = good.groupby(["size", "mode"])["types"].nunique()
    if not len(kinds) or kinds.max() < 2:
        raise NothingToDraw("at least two types with an error and a rate at one size are needed")
    best = good.set_index(["size", "mode"])["volume"].groupby(level=[0, 1]).first()
    size, mode = max(kinds.index, key=lambda key: (kinds[key], best[key]))
    part = good[(good["size"] == size) & (good["mode"] == mode)]
    part = part.sort_values("tflops").drop_duplicates(["types", "variant"], keep="last")
    figure, grid = panels(1, 1, 8.5, 5.2)
    ax = grid[0][0]
    names = []
    for kind, (colour, _) in colours(distinct(part.sort_values("error_rms_rel"), "types")).items():
        rows = part[part["types"] == kind]
        vendor = is_vendor(rows)
        ax.scatter(rows[vendor]["tflops"], rows[vendor]["error_rms_rel"], color=colour, marker="s", s=70, zorder=3)
        ax.scatter(rows[~vendor]["tflops"], rows[~vendor]["error_rms_rel"], color=colour, marker="o", s=55, zorder=3)
        names.append((rows["tflops"].iloc[-1], rows["error_rms_rel"].iloc[-1], kind, colour))
    ax.set(yscale="log", xlabel="throughput (TFLOP/s)", ylabel="relative error (rms)",
           title=f"m × n × k = {size}, {mode}",
           xlim=(0, part["tflops"].max() * 1.42), ylim=(part["error_rms_rel"].min() / 2.5, part["error_rms_rel"].max() * 2.5))  # fmt: skip
    label_points(ax, names, part[["tflops", "error_rms_rel"]].to_numpy())
    ax.annotate("■ library   ● own kernels", (1, 0), xycoords="axes fraction", xytext=(-4, 8),
                textcoords="offset points", ha="right", color=GREY, fontsize=10)  # fmt: skip
    return figure


def row_pitch(frame):
    """Time of one thread per element at several row pitches, with wavefronts of the L1 stages if counted."""
    good = timed_with(frame, "param.m", "param.n", "param.k")
    naive = good[good["variant"] == "naive"]
    counts = naive.groupby(["experiment", "param.m", "param.n", "mode"])["param.k"].nunique()
    counts = counts[counts >= MIN_PITCHES]
    if counts.empty:
        raise NothingToDraw(f"naive at {MIN_PITCHES} values of k or more is needed")
    experiment, m, n, mode = counts.index[0]
    naive = naive[(naive["experiment"] == experiment) & (naive["mode"] == mode)].sort_values("param.k")
    labels = [f"k = {text_of(k)}" for k in naive["param.k"]]
    counted = has(naive, "counter.l1_tag_wavefronts", "counter.l1_data_wavefronts")
    figure, grid = panels(1, 2 if counted else 1, 6.4, bars_height(2 * len(labels)))
    times = [(basis(frame), PALETTE[0], naive["time_median_us"] / 1e3)]
    if has(naive, "predicted_time_us"):
        times.append(("predicted", PALETTE[5], numbers(naive, "predicted_time_us") / 1e3))
    title = f"naive, m = n = {text_of(n)}, {mode}"
    draw_pitch_bars(grid[0][0], labels, times, title, "time (ms): shorter is better")
    if counted:
        steps = numbers(naive, "param.m") * numbers(naive, "param.n") * numbers(naive, "param.k") / LANES
        stages = [
            ("data: 32 banks", PALETTE[1], numbers(naive, "counter.l1_data_wavefronts") / steps),
            ("tags: four lines at a time", PALETTE[2], numbers(naive, "counter.l1_tag_wavefronts") / steps),
        ]
        xlabel = "wavefronts per warp and step along k"
        draw_pitch_bars(grid[0][1], labels, stages, "L1 wavefronts", xlabel)
    return figure


def draw_pitch_bars(ax, labels, series, title, xlabel):
    grouped_bars(ax, labels, [(*named, None) for named in series])
    ax.set(title=title, xlabel=xlabel)
    ax.legend(loc="lower right")
