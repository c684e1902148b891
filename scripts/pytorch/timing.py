"""One sample, and the floor: events around a launch that the GPU cannot begin before all of it is enqueued. `cuda` is torch.cuda,
or what stands for it in a test."""

import statistics

FEWEST_CYCLES = 200_000  # about 100 µs
MOST_CYCLES = 400_000_000  # about 200 ms
STREAMS = 15
FLOOR_SAMPLES = 50


class LateLaunch(Exception):
    """The GPU reached the launch before the host had enqueued it."""


def prepare(launch):
    """What has to happen before a launch and is no part of it: state that the one before has changed."""
    if hasattr(launch, "prepare"):
        launch.prepare()


class GatedTimer:
    """As EventTimer (src/gpu/event_timer.hpp), with another gate: a kernel that delays in front of the first event, since PyTorch
    has no call that waits for a value. Medians behind both gates are the same (docs/measuring.md). A delay is a guess of how long
    the host takes; a sample whose first event has passed when the last one is enqueued is taken again, behind a longer delay."""

    def __init__(self, cuda, flush):
        self.cuda, self.flush = cuda, flush
        self.start, self.stop = cuda.Event(enable_timing=True), cuda.Event(enable_timing=True)
        self.cycles = FEWEST_CYCLES
        self.retaken = 0

    def time_us(self, launch, flushed=True):
        while True:
            prepare(launch)
            if flushed:
                self.flush()
            self.cuda._sleep(self.cycles)
            self.start.record()
            launch()
            self.stop.record()
            in_time = not self.start.query()
            self.stop.synchronize()
            if in_time:
                return self.start.elapsed_time(self.stop) * 1e3
            if self.cycles >= MOST_CYCLES:
                raise LateLaunch("enqueuing the launch took the host longer than any delay: it waits for the GPU, or compiles")
            self.retaken += 1
            self.cycles = min(2 * self.cycles, MOST_CYCLES)

    def empty_kernel(self):
        """A delay of no cycles: one thread that ends at once."""
        self.cuda._sleep(0)

    def floors_us(self, flushed):
        return [self.time_us(self.empty_kernel, flushed) for _ in range(FLOOR_SAMPLES)]


def typical_stream(cuda, timer):
    """The stream whose empty kernel takes the median of 15, as in src/gpu/event_timer.cpp: each has a hardware queue of its own."""
    candidates = []
    for _ in range(STREAMS):
        stream = cuda.Stream()
        with cuda.stream(stream):
            timer.empty_kernel()
            stream.synchronize()
            times = [timer.time_us(timer.empty_kernel, flushed=False) for _ in range(STREAMS)]
        candidates.append((statistics.median(times), len(candidates), stream))
    return sorted(candidates)[STREAMS // 2][2]
