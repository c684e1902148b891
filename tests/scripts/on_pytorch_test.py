#!/usr/bin/env python3
"""Computations of bench_pytorch.py with PyTorch, on the CPU; skipped without PyTorch."""

import importlib.util
import itertools
import math
import unittest
from unittest import mock

from pytorch_fixtures import group_of

from pytorch import operations, protocol, tolerances, training_work  # noqa: E402

HAS_TORCH = importlib.util.find_spec("torch") is not None


def torch_format():
    import torch

    return torch.contiguous_format


@unittest.skipUnless(HAS_TORCH, "no PyTorch")
class OnPyTorch(unittest.TestCase):
    """Computations with PyTorch, on the CPU."""

    def problems(self):
        axes = {"n": [1, 1003], "expression": ["sin2_cos2", "elu"], "dtype": ["fp32", "bf16"]}
        settings = protocol.MeasureSettings()
        for values in itertools.product(*axes.values()):
            yield group_of(**dict(zip(axes, values)))
        for rows, columns, dtype in itertools.product((1, 67), (1, 33), ("fp32", "bf16")):
            for family in (operations.TRANSPOSE, operations.SOFTMAX, operations.NORMALIZATION):
                yield group_of(family, settings, rows=rows, columns=columns, dtype=dtype)
            yield group_of(operations.NORMALIZATION, settings, rows=rows, columns=columns, dtype=dtype, norm="rmsnorm", offset=0)
        for n, numbers, dtype in itertools.product((1, 1003), ("random", "whole"), ("fp32", "bf16")):
            yield group_of(operations.REDUCTION, settings, n=n, numbers=numbers, dtype=dtype)

    def test_inputs_are_the_programs_numbers(self):
        from pytorch import torch_operations

        for seed in (7, protocol.MASK):
            got = torch_operations.random_bits(seed, 5, 100, "cpu").tolist()
            self.assertEqual([bits % (1 << 64) for bits in got], [protocol.random_bits(seed, i) for i in range(5, 105)])
        problem = torch_operations.Problem(group_of(n=100), 7, "cpu")
        seed = protocol.stream_seed(7, 0)
        # Exact in fp64 except for the last product, which is rounded in fp32.
        exact = [3.0 * (2.0 * ((protocol.random_bits(seed, i) >> 40) * 2.0**-24) - 1.0) for i in range(100)]
        for got, value in zip(problem.x.tolist(), exact):
            self.assertLessEqual(abs(got - value), abs(value) * 2.0**-24)
        moved = torch_operations.Problem(group_of(operations.TRANSPOSE, rows=64, columns=64, dtype="bf16"), 7, "cpu")
        self.assertTrue(bool(moved.x.isfinite().all()))

    def test_each_variant_is_right_and_each_fault_is_found(self):
        from pytorch import torch_operations

        with mock.patch.object(torch_operations, "CHUNK", 300):
            for group in self.problems():
                for variant in group.variants():
                    if variant.id not in ("pytorch_eager", "pytorch_eager_ops"):
                        continue
                    with self.subTest(group.key(variant.id)):
                        self.check_variant(torch_operations, group, variant.id)

    def check_variant(self, torch_operations, group, variant):
        problem = torch_operations.Problem(group, 7, "cpu")
        launch = torch_operations.launch_of(problem, variant, None)
        problem.poison()
        result = launch()
        self.assertTrue(torch_operations.verify(problem, result, variant).passed)
        self.assertTrue(problem.inputs_are_whole())
        self.assertNotEqual(result.data_ptr(), problem.x.data_ptr())
        for place in {0, group.outputs // 2, group.outputs - 1}:
            for fault in (math.nan, math.inf, 3.5):
                spoiled = result.clone()
                spoiled.view(-1)[place] = fault
                found = torch_operations.verify(problem, spoiled, variant)
                self.assertEqual((found.passed, found.wrong, found.first_wrong), (False, 1, place))
                self.assertIn("1 wrong elements", found.reason)
        self.assertFalse(torch_operations.verify(problem, problem.y.view(result.shape), variant).passed)  # all poisoned
        problem.x[0] = 2.75
        self.assertFalse(problem.inputs_are_whole())

    def attention_problems(self):
        shapes = [{"batch": 2, "heads": 4, "group": 2, "queries": 67, "keys": 67, "mask": "causal"},
                  {"heads": 3, "queries": 33, "keys": 70, "head_dim": 64, "dtype": "fp16", "mask": "full"}]  # fmt: skip
        for shape, family in itertools.product(shapes, operations.OF_ATTENTION):
            yield group_of(family, **shape)

    def test_attention_is_right_and_each_fault_is_found(self):
        from pytorch import attention, torch_operations

        with mock.patch.object(torch_operations, "CHUNK", 3000), mock.patch.object(attention, "MOST_SCORES", 20 * 67), \
                mock.patch.object(attention, "CHUNK", 1000):  # fmt: skip
            for group in self.attention_problems():
                with self.subTest(group.key("pytorch_eager")):
                    self.check_attention(torch_operations, group)

    def check_attention(self, torch_operations, group):
        problem = torch_operations.problem_of(group, 7, "cpu")
        results = torch_operations.launch_of(problem, "pytorch_eager", None)()
        self.assertTrue(torch_operations.verify(problem, results, "pytorch_eager").passed)
        self.assertTrue(problem.inputs_are_whole())
        for output, result in enumerate(results):
            for place, fault in itertools.product((0, result.numel() - 1), (math.nan, 3.5)):
                spoiled = [x.clone(memory_format=torch_format()) for x in results]
                spoiled[output].view(-1)[place] = fault
                found = torch_operations.verify(problem, spoiled, "pytorch_eager")
                self.assertEqual((found.passed, found.wrong, found.first_wrong), (False, 1, place))
        problem.inputs[0].view(-1)[5] = 2.75
        self.assertFalse(problem.inputs_are_whole())

    def training_problems(self):
        shapes = [(operations.TRAINING_STEP, {"batch": 67, "width": 33, "hidden": 70, "layers": 2}),
                  (operations.TRAINING_BLOCK, {"sequences": 2, "tokens": 33, "width": 128, "hidden": 200})]  # fmt: skip
        cases = [("step", "fp32"), ("step", "fp16"), *((phase, "bf16") for phase in training_work.PHASES)]
        for (family, shape), (phase, dtype) in itertools.product(shapes, cases):
            yield group_of(family, dtype=dtype, phase=phase, **shape)

    def test_training_is_right_and_each_fault_is_found(self):
        from pytorch import torch_operations

        for group in self.training_problems():
            problem = torch_operations.problem_of(group, 7, "cpu")
            for variant in ("pytorch_eager", "pytorch_foreach"):
                if variant in (v.id for v in group.variants()) and not operations.unsupported(group, variant, 1 << 37):
                    with self.subTest(group.key(variant)):
                        self.check_training(torch_operations, problem, variant)

    def check_training(self, torch_operations, problem, variant):
        launch = problem.launch_of(variant)
        for _ in range(2):  # prepare() restores the state for the second launch
            launch.prepare()
            results = launch()()
            self.assertTrue(torch_operations.verify(problem, lambda found=results: found, variant).passed)
        self.assertTrue(problem.inputs_are_whole())
        for output, fault in itertools.product((0, len(results) - 1), (math.nan, 3.5)):
            spoiled = [x.clone() for x in results]
            spoiled[output].view(-1)[-1] = fault
            self.assertEqual(torch_operations.verify(problem, lambda found=spoiled: found, variant).wrong, 1)
        problem.x.view(-1)[0] = 2.75
        self.assertFalse(problem.inputs_are_whole())
        problem.x, _ = problem.made_inputs()

    def test_a_step_in_another_precision_or_from_another_state_is_wrong(self):
        import torch
        from pytorch import torch_operations

        values = {"batch": 67, "width": 33, "hidden": 70, "layers": 2}
        for phase, dtype, instead in (("backward", "fp32", torch.bfloat16), ("step", "fp32", torch.bfloat16),
                                      ("backward", "fp16", torch.bfloat16)):  # fmt: skip
            problem = torch_operations.problem_of(group_of(operations.TRAINING_STEP, dtype=dtype, phase=phase, **values), 7, "cpu")
            launch = problem.launch_of("pytorch_eager")
            launch.dtype = instead
            launch.prepare()
            self.assertFalse(torch_operations.verify(problem, launch(), "pytorch_eager").passed)
        problem = torch_operations.problem_of(group_of(operations.TRAINING_STEP, phase="step", **values), 7, "cpu")
        launch = problem.launch_of("pytorch_eager")
        launch.prepare()
        launch()
        launch.optimizer.zero_grad()
        self.assertFalse(torch_operations.verify(problem, launch(), "pytorch_eager").passed)

    def test_inputs_of_training_are_the_programs_numbers(self):
        from pytorch import torch_operations

        group = group_of(operations.TRAINING_STEP, batch=3, width=5, hidden=7, layers=2, dtype="fp32")
        problem = torch_operations.problem_of(group, 7, "cpu")
        w1, w2, b1, b2, each = training_work.layout(group)
        self.assertEqual((w1, w2, b1, b2, each), (0, 64, 128, 192, 256))
        seed = protocol.stream_seed(7, 1)

        def signed(of, i):
            return 2.0 * ((protocol.random_bits(of, i) >> 40) * 2.0**-24) - 1.0

        up, down = problem.first.up[1], problem.first.down[0]
        self.assertAlmostEqual(float(up.weight[6, 4].detach()), math.sqrt(3 / 5) * signed(seed, each + 4 * 7 + 6), places=6)
        self.assertAlmostEqual(float(down.bias[2].detach()), 0.1 * signed(seed, b2 + 2), places=6)
        names = [name for name, _ in problem.first.named_parameters()]
        self.assertAlmostEqual(float(problem.m[names.index("up.1.bias")][3]), 1e-3 * signed(seed + 1, each + b1 + 3), places=8)
        x = [signed(protocol.stream_seed(7, 0), i) for i in range(15)]
        self.assertAlmostEqual(float(problem.target[1, 4]), x[9] + max(x[5] - x[9], 0.0), places=6)

    def test_errors_that_each_element_may_have_are_too_many_together(self):
        from pytorch import torch_operations

        group = group_of(n=100000)
        problem = torch_operations.Problem(group, 7, "cpu")
        bound = tolerances.tolerance(group, "pytorch_eager")
        result = torch_operations.sin2_cos2(problem.x) * (1 + 0.8 * bound.relative)
        found = torch_operations.verify(problem, result, "pytorch_eager")
        self.assertEqual((found.wrong, found.passed), (0, False))
        self.assertIn("root-mean-square", found.reason)


if __name__ == "__main__":
    unittest.main()
