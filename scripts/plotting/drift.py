"""Times and the SM clock of each round in which a group was measured.

The upper panel shows each variant's samples as deviations from its median, the lower panel the SM clock on the same scale. Changes of
the whole GPU move all variants of a round equally.

--times draws the times on a logarithmic scale without the clock, for variants whose first launch takes many times as long as
later launches.

log.jsonl is read from the run folder.
"""

import math
import statistics

from matplotlib.ticker import MaxNLocator

from plotting.results import UsageError
from plotting.run_log import read_groups
from plotting.style import GREY, colours, equal_factors, plt, save, titled

MAX_GROUPS = 4
INCHES_HIGH = 6.5  # height of both panels together
INCHES_WIDE = 6.6
MIN_INCHES_WIDE = 8.5  # width of the title
LEGEND_COLUMNS = 4


def percent(value, reference):
    return 100 * (value / reference - 1)


def deviations(group):
    """{variant: [(round, % from the variant's median)]}."""
    moved = {}
    for variant, samples in group.samples.items():
        median = statistics.median(time for _, time in samples)
        if not median > 0:
            raise UsageError(f"{group.experiment}: the median of {variant} is {median:g} µs; expected a time above 0")
        moved[variant] = [(number, percent(time, median)) for number, time in samples]
    return moved


def common_part(moved):
    """[(round, median of the variants' deviations)] of rounds with more than half as many samples as the fullest round."""
    rounds = {}
    for points in moved.values():
        for number, value in points:
            rounds.setdefault(number, []).append(value)
    most = max(map(len, rounds.values()))
    return [(number, statistics.median(v)) for number, v in sorted(rounds.items()) if 2 * len(v) > most]


def middle_of_clock(group):
    return statistics.median(mhz for _, _, mhz in group.clocks)


def limits(values, least):
    """Axis limits of the values, with a margin, at least ±`least`."""
    low, high = min([-least, *values]), max([least, *values])
    return low - 0.06 * (high - low), high + 0.06 * (high - low)


def short_parameters(parameters):
    """ "m = n = k = 4096, dtype = tf32": parameters with the same number are combined."""
    names = {}
    for part in parameters.split(","):
        name, _, value = part.partition("=")
        names.setdefault(value if value.isdigit() else part, (value, []))[1].append(name)
    return ", ".join(" = ".join([*those, value]) for value, those in names.values())


def wrapped(text, width):
    """The text in lines of about `width` characters, broken after commas."""
    lines = [""]
    for part in text.split(", "):
        if lines[-1] and len(lines[-1]) + len(part) > width:
            lines[-1] += ","
            lines.append("")
        lines[-1] += (", " if lines[-1] else "") + part
    return "\n".join(lines)


def draw_samples(ax, moved, group):
    draw_points(ax, moved)
    ax.plot(*zip(*common_part(moved)), color="black", linewidth=1.6, label="their median", zorder=3)
    draw_head(ax, moved, group)


def draw_points(ax, samples):
    for variant, (colour, _) in colours(list(samples)).items():
        ax.plot(*zip(*samples[variant]), "o", color=colour, markersize=4, alpha=0.75, label=variant, markeredgewidth=0)


def draw_head(ax, moved, group):
    details = wrapped(f"{short_parameters(group.parameters)}, {group.mode}", 76)
    legend = ax.legend(title=details, alignment="left", loc="lower left", bbox_to_anchor=(-0.03, 1.0), ncol=LEGEND_COLUMNS,
                       fontsize=10, title_fontsize=10, handlelength=1.2, handletextpad=0.4, columnspacing=1.2)  # fmt: skip
    legend.get_title().set_color(GREY)
    rows = math.ceil((len(moved) + 1) / LEGEND_COLUMNS)
    ax.set_title(group.experiment, pad=16 * rows + 13 * details.count("\n") + 28)


def draw_clock(ax, group, mhz_limits):
    middle = middle_of_clock(group)
    for first, last, mhz in group.clocks:
        ax.plot([first - 0.5, last + 0.5], [mhz, mhz], color="black", linewidth=2, solid_capstyle="butt")
    ax.set_ylim(*(middle * (1 + limit / 100) for limit in mhz_limits))
    ax.set_xlabel("round")
    ax.xaxis.set_major_locator(MaxNLocator(integer=True))


def draw(gpu, groups):
    moved = [deviations(group) for group in groups]
    times = limits([v for each in moved for points in each.values() for _, v in points], 1)
    clocks = limits([percent(mhz, middle_of_clock(g)) for g in groups for _, _, mhz in g.clocks], 1)
    spans = [high - low for low, high in (times, clocks)]
    # Heights proportional to the ranges, so that one percent has the same height in both panels.
    figure, grid = plt.subplots(2, len(groups), sharex="col", squeeze=False, height_ratios=spans,
                                figsize=(INCHES_WIDE * len(groups), INCHES_HIGH), layout="constrained")  # fmt: skip
    for column, (group, each) in enumerate(zip(groups, moved)):
        upper, lower = grid[0][column], grid[1][column]
        draw_samples(upper, each, group)
        draw_clock(lower, group, clocks)
        upper.set_ylim(*times)
    grid[0][0].set_ylabel("time, % from the\nvariant's own median")
    grid[1][0].set_ylabel("SM clock, MHz\n(same scale in %)")
    return titled(figure, "Samples and SM clock of each round", gpu)


def draw_times(gpu, groups):
    figure, grid = plt.subplots(1, len(groups), squeeze=False, figsize=(max(INCHES_WIDE * len(groups), MIN_INCHES_WIDE), INCHES_HIGH),
                                layout="constrained")  # fmt: skip
    for ax, group in zip(grid[0], groups):
        for variant, samples in group.samples.items():
            if not min(time for _, time in samples) > 0:
                raise UsageError(f"{group.experiment}: a sample of {variant} is not above 0 µs, which a logarithmic scale needs")
        draw_points(ax, group.samples)
        draw_head(ax, group.samples, group)
        equal_factors(ax.yaxis, (1, 2, 3, 4, 5, 6, 8))
        ax.set_xlabel("sample")
        ax.xaxis.set_major_locator(MaxNLocator(integer=True))
    grid[0][0].set_ylabel("time (µs)")
    return titled(figure, "Samples in the order in which they were taken", gpu)


def add_arguments(parser):
    parser.add_argument("folder", metavar="RUN_FOLDER", help="run folder of gpuexp run")
    parser.add_argument("--out", metavar="FILE", required=True, help="file for the figure; its extension selects the format")
    parser.add_argument("--cells", metavar="GLOB", action="append", help="draw groups with a cell whose key matches; may be repeated")
    parser.add_argument("--times", action="store_true", help="draw times on a logarithmic scale, without the clock")


def run(options):
    patterns = options.cells or ["*"]
    gpu, matching = read_groups(options.folder, patterns)
    if not matching:
        raise UsageError(f"{options.folder}: no cell {' or '.join(patterns)} has samples of a result that passed")
    groups = [group for group in matching if group.clocks or options.times]
    if not groups:
        raise UsageError(f"{options.folder}: its cells have samples but no readings of the SM clock; --times draws the samples")
    if len(groups) > MAX_GROUPS:
        raise UsageError(f"{options.folder}: {len(groups)} groups match; expected at most {MAX_GROUPS}; select them with --cells GLOB "
                         f"for keys experiment/family/variant/parameters/mode")  # fmt: skip
    save((draw_times if options.times else draw)(gpu, groups), options.out)
