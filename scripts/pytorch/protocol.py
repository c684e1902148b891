"""gpuexp's sampling and statistics: the same rounds, stopping rules, median and interval. Each function is a port of a function
in the C++ file named above it."""

import math
from bisect import bisect_left, bisect_right
from dataclasses import dataclass, field

MASK = (1 << 64) - 1
MIN_FOR_CORRELATION = 6


@dataclass(frozen=True)
class MeasureSettings:
    """Measure settings with the names of configs (config/config.hpp)."""

    min_samples: int = 20
    max_samples: int = 1000
    min_seconds: float = 0.003
    max_seconds: float = 2.0
    target_relative_ci: float = 0.01
    fine_relative_ci: float = 0.0025
    fine_seconds: float = 0.2
    warmup_launches: int = 3


@dataclass
class Statistics:
    """Statistics of samples, in us (stats/statistics.hpp)."""

    count: int
    quantum_us: float
    min: float
    p5: float
    p25: float
    median: float
    p75: float
    p95: float
    mean: float
    stdev: float | None
    mad: float
    outliers: int
    correlation_time: float
    ci95: tuple | None


# ---- base/random_bits.hpp


def random_bits(seed, i):
    """Number i of SplitMix64's sequence."""
    z = (seed + (i + 1) * 0x9E3779B97F4A7C15) & MASK
    z = ((z ^ (z >> 30)) * 0xBF58476D1CE4E5B9) & MASK
    z = ((z ^ (z >> 27)) * 0x94D049BB133111EB) & MASK
    return z ^ (z >> 31)


def stream_seed(seed, n):
    """kernels/common/random.cuh: an independent seed for the n-th buffer of a problem."""
    return random_bits(seed ^ 0xD1B54A32D192ED03, n)


# ---- run/rounds.cpp


def round_order(count, seed, group, number):
    """The order in which a round samples the variants of a group."""
    own = (random_bits((seed + group) & MASK, 0) + number) & MASK
    order = list(range(count))
    for i in range(count, 1, -1):
        other = random_bits(own, count - i) % i
        order[i - 1], order[other] = order[other], order[i - 1]
    return order


def is_look(settings, before, now):
    look = settings.min_samples
    while look <= before:
        look += max(5, look // 4)
    return now >= look


def cap_reached(settings, samples, elapsed_s):
    if samples >= settings.max_samples:
        return "max_samples"
    return "max_seconds" if elapsed_s >= settings.max_seconds else None


def is_converged(statistics, target_relative_ci, quantum_us):
    if statistics.ci95 is None:
        return False
    low, high = statistics.ci95
    return (high - low) / 2 <= max(target_relative_ci * statistics.median, quantum_us)


# ---- stats/statistics.cpp


def quantile(ascending, q):
    position = q * (len(ascending) - 1)
    below = int(position)
    above = min(below + 1, len(ascending) - 1)
    return ascending[below] + (position - below) * (ascending[above] - ascending[below])


def timer_quantum_us(samples_us):
    """Timer resolution: the smallest difference between distinct samples."""
    ascending = sorted(samples_us)
    steps = [b - a for a, b in zip(ascending, ascending[1:]) if b - a > 1e-3]
    return min(steps, default=0.0)


def centred_ranks(values):
    """Ranks less their mean; equal values share the mean of their ranks."""
    ascending = sorted(values)
    return [(bisect_left(ascending, v) + bisect_right(ascending, v) - len(values)) / 2 for v in values]


def lagged_product(values, lag):
    return sum(values[i] * values[i - lag] for i in range(lag, len(values)))


def autoregressive_time(values):
    ranks = centred_ranks(values)
    variance = lagged_product(ranks, 0)
    n = len(values)
    if not variance > 0:
        return 1.0
    rho = min((n * lagged_product(ranks, 1) / variance + 1) / (n - 3), 0.95)
    time, power = 1.0, rho
    while power > 1e-4:
        time += 4 / math.pi * math.asin(power)
        power *= rho
    return time


def windowed_time(values):
    median = quantile(sorted(values), 0.5)
    signs = [(v > median) - (v < median) for v in values]
    variance = lagged_product(signs, 0)
    if not variance > 0:
        return 1.0
    n = len(values)
    window = math.floor(1.3 * math.sqrt(n) + 0.5)  # std::round; Python's round() rounds halves to even
    time = 1.0
    for lag in range(1, window):
        time += 2 * (1 - lag / window) * lagged_product(signs, lag) / variance
    return time * n / (n - window)


def correlation_time(samples):
    if len(samples) < MIN_FOR_CORRELATION:
        return 1.0
    return max(1.0, autoregressive_time(samples), windowed_time(samples))


def median_ci95(ascending, time, quantum):
    n = len(ascending)

    def rank(of):
        return (n - 1) / 2 - 1.959964 / 2 * math.sqrt(n * of)

    if rank(1) < 0:
        return None
    below = int(max(rank(time), 0.0))
    low, high = ascending[below], ascending[n - 1 - below]
    widening = max(quantum - (high - low), 0.0) / 2
    return low - widening, high + widening


def summarize(samples_us, quantum_us):
    """Statistics of samples in the order of their rounds. Raises ValueError if there are none or one is not finite."""
    if not samples_us or not all(map(math.isfinite, samples_us)):
        raise ValueError("statistics need at least one sample, and only finite ones")
    ascending = sorted(samples_us)
    median = quantile(ascending, 0.5)
    mean = sum(ascending) / len(ascending)
    squares = sum((x - mean) ** 2 for x in ascending)
    deviations = sorted(abs(x - median) for x in ascending)
    mad = quantile(deviations, 0.5)
    limit = 14.826 * max(mad, quantum_us / 2)
    time = correlation_time(samples_us)
    return Statistics(
        count=len(ascending), quantum_us=quantum_us, min=ascending[0], p5=quantile(ascending, 0.05),
        p25=quantile(ascending, 0.25), median=median, p75=quantile(ascending, 0.75), p95=quantile(ascending, 0.95),
        mean=mean, stdev=math.sqrt(squares / (len(ascending) - 1)) if len(ascending) > 1 else None, mad=mad,
        outliers=sum(d > limit for d in deviations), correlation_time=time, ci95=median_ci95(ascending, time, quantum_us),
    )  # fmt: skip


# ---- run/group_run.cpp


@dataclass
class Turn:
    """State of a variant during sampling."""

    name: str
    launch: object  # function without arguments that enqueues the timed launch
    samples_us: list = field(default_factory=list)
    elapsed_s: float = 0.0
    stop_reason: str | None = None
    capped: bool = False


SLICE_S = 0.005  # duration of rounds between two checks of the stopping rules
HALF_TICK = 0.501  # slightly above 0.5, because differences of ticks are rounded


class GroupSampler:
    """Samples the variants of one group in rounds of random order until all have enough samples. `time_us` times a launch, `now_s`
    reads the host's clock, and `is_ended` is called between slices of rounds."""

    def __init__(self, settings, seed, group, quantum_us, time_us, now_s, is_ended=lambda: False):
        self.settings, self.seed, self.group, self.quantum_us = settings, seed, group, quantum_us
        self.time_us, self.now_s, self.is_ended = time_us, now_s, is_ended
        self.round, self.round_s = 0, 0.0

    def sample(self, turns):
        while wanting := self.wanting(turns):
            if self.is_ended():
                for turn in turns:
                    turn.stop_reason = turn.stop_reason or "interrupted"
                return
            self.take(turns, wanting)

    @staticmethod
    def wanting(turns):
        # Variants stay in the rounds until all have converged, because they share clock, power and caches.
        if all(turn.stop_reason for turn in turns):
            return []
        return [turn for turn in turns if not turn.capped]

    def take(self, turns, wanting):
        rounds = int(min(SLICE_S / self.round_s, 1e6)) if self.round_s > 0 else 1
        rounds = max(1, min([rounds, *(self.settings.max_samples - len(turn.samples_us) for turn in wanting)]))
        before = {turn.name: len(turn.samples_us) for turn in wanting}
        start_s = last_s = self.now_s()
        for _ in range(rounds):
            for place in round_order(len(wanting), self.seed, self.group, self.round):
                turn = wanting[place]
                turn.samples_us.append(self.time_us(turn.launch))
                now_s = self.now_s()
                turn.elapsed_s += now_s - last_s
                last_s = now_s
            self.round += 1
        self.round_s = (last_s - start_s) / rounds
        for turn in wanting:
            self.judge(turns, turn, before[turn.name])

    def judge(self, turns, turn, before):
        settings, count = self.settings, len(turn.samples_us)
        if is_look(settings, before, count) and turn.elapsed_s >= settings.min_seconds and settings.target_relative_ci > 0:
            statistics = summarize(turn.samples_us, self.quantum_us)
            converged = is_converged(statistics, settings.target_relative_ci, self.quantum_us) and (
                sum(t.elapsed_s for t in turns) >= settings.fine_seconds
                or is_converged(statistics, settings.fine_relative_ci, HALF_TICK * self.quantum_us)
            )
            turn.stop_reason = "converged" if converged else None
        cap = cap_reached(settings, count, turn.elapsed_s)
        turn.capped = cap is not None
        turn.stop_reason = turn.stop_reason or cap
