"""Times launches, and the launch overhead, with events. The GPU cannot start a launch before the host has enqueued all of it. `cuda` is
torch.cuda or a test double."""

import statistics

FEWEST_CYCLES = 200_000  # about 100 µs
MOST_CYCLES = 400_000_000  # about 200 ms
STREAMS = 15
FLOOR_SAMPLES = 50


class LateLaunch(Exception):
    """The GPU reached the launch before the host had enqueued it."""


def prepare(launch):
    """Restores state that the previous launch changed; not part of the timed launch."""
    if hasattr(launch, "prepare"):
        launch.prepare()


class GatedTimer:
    """A port of EventTimer (src/gpu/event_timer.hpp) with a different gate: a delay kernel before the first event, because PyTorch
    has no call that waits for a value. Both gates give the same medians (docs/measuring.md). The delay must be longer than
    the host's enqueue time: if the GPU passes the first event before the last one is enqueued, the sample is repeated with twice
    the delay."""

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
                raise LateLaunch("the host took longer than the longest delay to enqueue the launch: it waits for the GPU, or compiles")
            self.retaken += 1
            self.cycles = min(2 * self.cycles, MOST_CYCLES)

    def empty_kernel(self):
        """Launches a delay of 0 cycles: one thread that ends at once."""
        self.cuda._sleep(0)

    def floors_us(self, flushed):
        return [self.time_us(self.empty_kernel, flushed) for _ in range(FLOOR_SAMPLES)]


def typical_stream(cuda, timer):
    """The stream with the median time of an empty kernel, out of 15 streams on different hardware queues (src/gpu/event_timer.cpp)."""
    candidates = []
    for _ in range(STREAMS):
        stream = cuda.Stream()
        with cuda.stream(stream):
            timer.empty_kernel()
            stream.synchronize()
            times = [timer.time_us(timer.empty_kernel, flushed=False) for _ in range(STREAMS)]
        candidates.append((statistics.median(times), len(candidates), stream))
    return sorted(candidates)[STREAMS // 2][2]
