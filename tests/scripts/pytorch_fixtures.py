"""Shared by the tests of bench_pytorch.py and of its protocol: the recorded results, and CUDA events on a simulated clock."""

import sys
import types
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
SCRIPT = ROOT / "scripts" / "bench_pytorch.py"
RECORDED = ROOT / "docs" / "results" / "h200"
sys.path.insert(0, str(SCRIPT.parent))

from plotting.recorded import read_report  # noqa: E402
from pytorch import operations, protocol  # noqa: E402


def recorded(name):
    return read_report(RECORDED / f"{name}.json.zst")


def group_of(family=operations.FUSION, settings=protocol.MeasureSettings(), **values):
    experiment = operations.Experiment("an_experiment", family, settings)
    return operations.groups_of(experiment, values, [], "test")[0]


class FakeCuda:
    """Replaces torch.cuda: a host whose calls take time, and a GPU that executes one operation after another."""

    CYCLES_PER_US = 2000

    def __init__(self, enqueue_us=5.0, kernel_us=50.0):
        self.host_us = self.gpu_us = 0.0
        self.enqueue_us, self.kernel_us = enqueue_us, kernel_us
        self.delays, self.flushes, self.launches = [], 0, 0

    def busy(self, us):
        """The GPU starts when the host has enqueued the operation and the previous one has finished."""
        self.host_us += self.enqueue_us
        self.gpu_us = max(self.gpu_us, self.host_us) + us

    def _sleep(self, cycles):
        self.delays.append(cycles)
        self.busy(1.0 + cycles / self.CYCLES_PER_US)

    def flush(self):
        self.flushes += 1
        self.busy(30.0)

    def launch(self):
        self.launches += 1
        self.busy(self.kernel_us() if callable(self.kernel_us) else self.kernel_us)

    def Event(self, enable_timing):  # noqa: N802: PyTorch's name
        cuda = self

        class Event:
            def record(self):
                cuda.busy(0.0)
                self.at_us = cuda.gpu_us

            def query(self):
                return self.at_us <= cuda.host_us

            def synchronize(self):
                cuda.host_us = max(cuda.host_us, self.at_us)

            def elapsed_time(self, other):
                return (other.at_us - self.at_us) / 1e3

        assert enable_timing
        return Event()

    def Stream(self):  # noqa: N802
        number = len(getattr(self, "streams", []))
        self.streams = [*getattr(self, "streams", []), number]
        return types.SimpleNamespace(number=number, synchronize=lambda: None)

    def stream(self, stream):
        cuda = self

        class Current:
            def __enter__(self):
                # Each hardware queue has a different time.
                cuda.kernel_us = 2.0 + (7 * stream.number) % 15 / 100

            def __exit__(self, *_):
                return False

        return Current()
