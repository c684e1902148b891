#!/usr/bin/env python3
"""Sampling by bench_pytorch.py, compared with the program's recorded samples and on a simulated clock. Needs neither the program nor a GPU
nor PyTorch."""

import itertools
import math
import unittest

from requirements import require

require("zstandard")
from pytorch_fixtures import FakeCuda, recorded  # noqa: E402
from pytorch import protocol, timing  # isort: skip: found through the fixtures


class Protocol(unittest.TestCase):
    """The ports, compared with the C++ originals."""

    def test_statistics_are_those_that_the_program_recorded(self):
        rows = 0
        for name in ("fusion", "transpose", "launch_overhead", "host_transfer"):
            for row in recorded(name)["rows"]:
                samples = row.get("samples_us")
                if not samples or row["time_median_us"] is None:
                    continue
                with self.subTest(row["key"]):
                    self.check_statistics(row, protocol.summarize(samples, row["timer_resolution_us"] or 0.0))
                rows += 1
        self.assertGreater(rows, 250)

    def check_statistics(self, row, s):
        low, high = s.ci95 or (None, None)
        exact = {"time_median_us": s.median, "time_min_us": s.min, "outliers": s.outliers, "samples": s.count}
        rounded = {
            "time_ci95_low_us": low, "time_ci95_high_us": high, "time_p5_us": s.p5, "time_p25_us": s.p25, "time_p75_us": s.p75,
            "time_p95_us": s.p95, "time_mean_us": s.mean, "time_stdev_us": s.stdev, "time_mad_us": s.mad,
            "correlation_time": s.correlation_time,
        }  # fmt: skip
        for column, value in exact.items():
            self.assertEqual(row[column], value, column)
        for column, value in rounded.items():
            if row[column] is None or value is None:
                self.assertEqual(row[column], value, column)
            else:
                self.assertTrue(math.isclose(row[column], value, rel_tol=1e-12, abs_tol=1e-12), (column, row[column], value))

    def test_few_samples_have_no_interval_and_no_correlation(self):
        s = protocol.summarize([3.0, 1.0, 2.0], 0.0)
        self.assertEqual((s.median, s.ci95, s.correlation_time), (2.0, None, 1.0))
        self.assertEqual(protocol.summarize([5.0], 0.1).stdev, None)
        for bad in ([], [1.0, math.nan], [math.inf]):
            with self.subTest(bad), self.assertRaises(ValueError):
                protocol.summarize(bad, 0.0)

    def test_equal_samples_have_an_interval_of_a_tick(self):
        low, high = protocol.summarize([10.0] * 20, 0.032).ci95
        self.assertAlmostEqual(high - low, 0.032)

    def test_the_quantum_is_the_least_step(self):
        self.assertAlmostEqual(protocol.timer_quantum_us([3.2, 3.264, 3.2, 3.296]), 0.032)
        self.assertEqual(protocol.timer_quantum_us([3.2, 3.2]), 0.0)

    def test_random_bits_are_splitmix64(self):
        # The first three numbers of SplitMix64 with state 1234567, as printed by its authors' C code.
        expected = [6457827717110365317, 3203168211198807973, 9817491932198370423]
        self.assertEqual([protocol.random_bits(1234567, i) for i in range(3)], expected)

    def test_orders_of_rounds_and_looks_are_those_of_rounds_cpp(self):
        # Printed by round_order(count, seed, group, round).
        orders = {
            (5, 7, 0, 0): [0, 3, 4, 2, 1], (5, 7, 0, 1): [4, 3, 0, 1, 2], (5, 7, 3, 0): [1, 3, 4, 0, 2],
            (4, protocol.MASK, 2, 19): [2, 1, 3, 0], (1, 7, 0, 0): [0],
        }  # fmt: skip
        for arguments, order in orders.items():
            self.assertEqual(protocol.round_order(*arguments), order, arguments)
        looks = [n for n in range(1, 121) if protocol.is_look(protocol.MeasureSettings(), n - 1, n)]
        self.assertEqual(looks, [20, 25, 31, 38, 47, 58, 72, 90, 112])


class GatedTimer(unittest.TestCase):
    def test_the_host_is_not_in_a_sample(self):
        cuda = FakeCuda(enqueue_us=10.0, kernel_us=50.0)
        timer = timing.GatedTimer(cuda, cuda.flush)
        for _ in range(5):
            self.assertAlmostEqual(timer.time_us(cuda.launch), 50.0)
        self.assertEqual((cuda.flushes, timer.retaken), (5, 0))
        timer.time_us(cuda.launch, flushed=False)
        self.assertEqual(cuda.flushes, 5)

    def test_a_launch_that_comes_late_is_taken_again_behind_a_longer_delay(self):
        cuda = FakeCuda(enqueue_us=400.0, kernel_us=50.0)
        timer = timing.GatedTimer(cuda, cuda.flush)
        self.assertAlmostEqual(timer.time_us(cuda.launch), 50.0)
        self.assertGreater(timer.retaken, 0)
        self.assertEqual(cuda.delays, [timing.FEWEST_CYCLES << i for i in range(len(cuda.delays))])
        retaken = timer.retaken
        self.assertAlmostEqual(timer.time_us(cuda.launch), 50.0)
        self.assertEqual(timer.retaken, retaken)  # the longer delay is kept

    def test_what_comes_before_a_launch_is_in_no_sample(self):
        cuda = FakeCuda(enqueue_us=400.0, kernel_us=50.0)  # so some samples are repeated
        timer = timing.GatedTimer(cuda, cuda.flush)
        prepared = []

        class Launch:
            def prepare(self):
                prepared.append((cuda.flushes, cuda.launches))
                cuda.busy(1000.0)

            def __call__(self):
                cuda.launch()

        self.assertAlmostEqual(timer.time_us(Launch()), 50.0)
        self.assertGreater(timer.retaken, 0)
        self.assertEqual(prepared, [(i, i) for i in range(1 + timer.retaken)])  # before each flush and launch, including repeated ones

    def test_a_launch_that_waits_for_the_gpu_is_refused(self):
        cuda = FakeCuda()
        timer = timing.GatedTimer(cuda, cuda.flush)

        def waits():
            cuda.host_us = max(cuda.host_us, cuda.gpu_us)
            cuda.launch()

        with self.assertRaisesRegex(timing.LateLaunch, "waits for the GPU"):
            timer.time_us(waits)
        self.assertEqual(cuda.delays[-1], timing.MOST_CYCLES)

    def test_the_stream_is_the_median_of_15(self):
        cuda = FakeCuda()
        timer = timing.GatedTimer(cuda, cuda.flush)
        timer.empty_kernel = cuda.launch
        stream = timing.typical_stream(cuda, timer)
        self.assertEqual((7 * stream.number) % 15, 7)
        self.assertEqual(len(cuda.streams), 15)


class Sampler(unittest.TestCase):
    """GroupSampler on a simulated clock."""

    def sample(self, times_us, ended_after_s=math.inf, **settings):
        """`times_us`: per variant, a function of the sample's number. Returns turns, and the names in sampling order."""
        self.now_s = 0.0
        order = []

        def time_us(launch):
            us = launch()
            self.now_s += us * 1e-6 + 1e-4
            return us

        turns = []
        for name, time_of in times_us.items():
            counter = itertools.count()

            def launch(name=name, time_of=time_of, counter=counter):
                order.append(name)
                return time_of(next(counter))

            turns.append(protocol.Turn(name, launch))
        protocol.GroupSampler(protocol.MeasureSettings(**settings), 7, 0, 0.032, time_us, lambda: self.now_s,
                              lambda: self.now_s >= ended_after_s).sample(turns)  # fmt: skip
        return turns, order

    def test_variants_alternate_and_nobody_leaves_early(self):
        turns, order = self.sample({"steady": lambda i: 100.0, "noisy": lambda i: 100.0 + 20 * (i * 7 % 11 - 5)}, max_samples=200)
        steady, noisy = turns
        self.assertEqual(len(steady.samples_us), len(noisy.samples_us))
        for first in range(0, len(order), 2):
            self.assertEqual(set(order[first : first + 2]), {"steady", "noisy"})
        self.assertGreater(len({tuple(order[i : i + 2]) for i in range(0, len(order), 2)}), 1)
        self.assertEqual((steady.stop_reason, noisy.stop_reason), ("converged", "max_samples"))
        self.assertEqual(len(noisy.samples_us), 200)

    def test_a_steady_variant_has_enough_at_the_first_look(self):
        (turn,), _ = self.sample({"steady": lambda i: 1000.0})
        self.assertEqual(turn.stop_reason, "converged")
        self.assertTrue(20 <= len(turn.samples_us) < 25)  # including the rest of a slice

    def test_short_kernels_get_more_samples_for_min_seconds(self):
        (turn,), _ = self.sample({"short": lambda i: 5.0}, min_seconds=0.02)
        self.assertGreater(len(turn.samples_us), 100)
        self.assertGreaterEqual(turn.elapsed_s, 0.02)

    def test_the_wall_cap_wins(self):
        (turn,), _ = self.sample({"long": lambda i: 1e6}, max_seconds=2.5)
        self.assertEqual((turn.stop_reason, len(turn.samples_us)), ("max_seconds", 3))

    def test_an_end_keeps_what_was_sampled(self):
        turns, _ = self.sample({"a": lambda i: 1e4 * (1 + i % 2), "b": lambda i: 2e4}, ended_after_s=0.2)
        for turn in turns:
            self.assertEqual(turn.stop_reason, "interrupted")
            self.assertTrue(3 < len(turn.samples_us) < 20)


if __name__ == "__main__":
    unittest.main()
