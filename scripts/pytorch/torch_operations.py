"""The operations in PyTorch: inputs, variants, reference, verification. Also runs on the CPU, for tests."""

import math
from dataclasses import dataclass

import torch
import torch.nn.functional as F

from pytorch import attention, operations, tolerances, training
from pytorch.operations import ALPHA, FUSION, NORMALIZATION, REDUCTION, SOFTMAX, TRANSPOSE
from pytorch.protocol import stream_seed

CHUNK = 1 << 24  # elements generated or compared at a time, in a few temporary arrays of 8 bytes per element
DTYPES = {"fp32": torch.float32, "bf16": torch.bfloat16}
WORDS = {"fp32": torch.int32, "bf16": torch.int16}
RANGE = 3.0  # kernels/fusion.cu: x is uniform in [-3, 3)


# ---- inputs: the numbers that gpuexp generates from the same seed


def signed(number):
    return number - (1 << 64) if number >= 1 << 63 else number


def random_bits(seed, first, count, device):
    """protocol.random_bits for `count` indices from `first`, as int64."""
    def logical_shift(z, by):
        return (z >> by) & ((1 << (64 - by)) - 1)

    z = torch.arange(first + 1, first + count + 1, dtype=torch.int64, device=device)
    z = z * signed(0x9E3779B97F4A7C15) + signed(seed)
    z = (z ^ logical_shift(z, 30)) * signed(0xBF58476D1CE4E5B9)
    z = (z ^ logical_shift(z, 27)) * signed(0x94D049BB133111EB)
    return z ^ logical_shift(z, 31)


def signed_unit(bits):
    """Uniform numbers in [-1, 1), exact in fp32."""
    return 2.0 * (((bits >> 40) & 0xFFFFFF).to(torch.float32) * 2.0**-24) - 1.0


def made_of(group, bits):
    """Elements of x, from random bits."""
    dtype = group.value("dtype")
    if group.family is TRANSPOSE:
        return normal_bits(bits, dtype)
    x = signed_unit(bits)
    if group.family is FUSION:
        x = x * RANGE
    elif group.family is SOFTMAX:
        x = x * group.value("scale")
    elif group.family is NORMALIZATION:
        x = x + group.value("offset")
    elif group.value("numbers") == "whole":
        x = torch.round(64.0 * x)
    return x.to(DTYPES[dtype])


def normal_bits(bits, dtype):
    """Random bits of normal numbers, as in kernels/transpose.cu for fp32. Here also for bf16: PyTorch's copies may convert to fp32,
    which changes a NaN's payload."""
    word, exponent_at, flip = (((bits >> 32) & 0xFFFFFFFF, 23, 0x40000000) if dtype == "fp32"
                               else ((bits >> 32) & 0xFFFF, 7, 0x4000))  # fmt: skip
    exponent = (word >> exponent_at) & 0xFF
    word = torch.where((exponent == 0) | (exponent == 0xFF), word ^ flip, word)
    sign = 1 << (31 if dtype == "fp32" else 15)
    return torch.where(word >= sign, word - 2 * sign, word).to(WORDS[dtype]).view(DTYPES[dtype])


def problem_of(group, seed, device):
    for families, module in ((operations.OF_ATTENTION, attention), (operations.OF_TRAINING, training)):
        if group.family in families:
            return module.Problem(group, seed, device, lambda *of: signed_unit(random_bits(*of)))
    return Problem(group, seed, device)


class Problem:
    """Input x of a group, and an output array y for kernels that do not allocate their own."""

    def __init__(self, group, seed, device):
        self.group, self.device = group, device
        self.seed = stream_seed(seed, 0)
        self.x = torch.empty(group.elements, dtype=DTYPES[group.value("dtype")], device=device)
        for first, end in self.chunks():
            self.x[first:end] = self.input(first, end)
        self.y = torch.empty_like(self.x) if group.outputs > 1 else torch.empty(1, dtype=torch.float32, device=device)
        if group.family is NORMALIZATION:
            self.gamma, self.beta = self.weights(seed, 1, 1.0), self.weights(seed, 2, 0.0)

    def weights(self, seed, stream, centre):
        """Weights within 0.5 of the centre (kernels/common/row_norm.cuh)."""
        bits = random_bits(stream_seed(seed, stream), 0, self.group.value("columns"), self.device)
        return (centre + 0.5 * signed_unit(bits)).to(DTYPES[self.group.value("dtype")])

    def chunks(self):
        """(first, end) of chunks of elements; whole rows for softmax and norms."""
        step = CHUNK
        if self.group.family in (SOFTMAX, NORMALIZATION):
            columns = self.group.value("columns")
            step = max(1, CHUNK // columns) * columns
        return [(i, min(i + step, self.group.elements)) for i in range(0, self.group.elements, step)]

    def input(self, first, end):
        return made_of(self.group, random_bits(self.seed, first, end - first, self.device))

    def matrix(self):
        return self.x.view(self.group.value("rows"), self.group.value("columns"))

    def words(self, tensor):
        return tensor.view(WORDS[self.group.value("dtype")])

    def operand(self):
        return self.x if self.group.family in operations.LINEAR else self.matrix()

    def poison(self):
        """Writes NaN to memory that may hold a result: PyTorch's allocator reuses the blocks freed here for the next array of this size."""
        self.y.fill_(math.nan)
        blocks = [torch.full_like(self.x, math.nan) for _ in range(2)]
        del blocks

    def inputs_are_whole(self):
        return all(torch.equal(self.words(self.x[first:end]), self.words(self.input(first, end)))
                   for first, end in self.chunks())  # fmt: skip


# ---- variants


def sin2_cos2(x):
    return torch.sin(x).square() + torch.cos(x).square()


def elu(x):
    return F.elu(x, ALPHA)


def elu_ops(x):
    return torch.where(x > 0, x, ALPHA * (torch.exp(x) - 1.0))


def transposed(matrix):
    # Like contiguous(), which does not copy a matrix with one row or column.
    return matrix.t().clone(memory_format=torch.contiguous_format)


def function_of(problem, variant):
    group = problem.group
    if group.family is TRANSPOSE:
        return transposed
    if group.family is REDUCTION:
        return lambda x: x.sum(dtype=torch.float32)
    if group.family is SOFTMAX:
        return lambda x: F.softmax(x, dim=-1)
    if group.family is NORMALIZATION:
        shape, epsilon = (group.value("columns"),), operations.NORM_EPSILON
        if group.is_layernorm:
            return lambda x: F.layer_norm(x, shape, problem.gamma, problem.beta, epsilon)
        return lambda x: F.rms_norm(x, shape, problem.gamma, epsilon)
    if group.value("expression") == "sin2_cos2":
        return sin2_cos2
    return elu_ops if variant == "pytorch_eager_ops" else elu


def launch_of(problem, variant, triton_launch):
    """A function that launches the variant and returns its result. `triton_launch` launches Triton's kernel on x and y."""
    if isinstance(problem, (attention.Problem, training.Problem)):
        return problem.launch_of(variant)
    if variant == "triton":
        def launch():
            weights = (problem.gamma, problem.beta) if problem.group.family is NORMALIZATION else ()
            triton_launch(problem.x, problem.y, *weights)
            return problem.y

        return launch
    function = function_of(problem, variant)
    if variant == "pytorch_compiled":
        # Compiled for this shape only, as in a program that uses one shape.
        torch._dynamo.reset()
        function = torch.compile(function, dynamic=False, fullgraph=True)
    operand = problem.operand()

    def launch():
        return function(operand)

    return launch


# ---- verification


@dataclass
class Verification:
    wrong: int
    first_wrong: int | None
    error_rms_rel: float
    error_max_rel: float
    error_over_allowed: float
    error_rms_over_allowed: float

    @property
    def passed(self):
        return self.wrong == 0 and self.error_rms_over_allowed <= 1  # NaN fails

    @property
    def reason(self):
        if self.passed:
            return ""
        if self.wrong:
            worst = f"the largest error is {self.error_over_allowed:.3g} times the allowed error"
            return f"{self.wrong} wrong elements, the first at {self.first_wrong}; {worst}"
        return f"the root-mean-square error is {self.error_rms_over_allowed:.3g} times the allowed error"


def exact_norm(problem, x):
    """Exact values and the magnitude that tolerances scale with (kernels/common/row_norm.cuh)."""
    group = problem.group
    n = x.shape[1]
    mean = x.sum(dim=1, keepdim=True) / n if group.is_layernorm else torch.zeros_like(x[:, :1])
    variance = ((x * x).sum(dim=1, keepdim=True) / n - mean * mean).clamp(min=0) + operations.NORM_EPSILON
    apart = mean * mean / variance
    cancels = group.value("offset") <= operations.MAX_SUMS_OFFSET
    first = x[:, :1] - mean if group.is_layernorm else torch.zeros_like(mean)
    cancelled = 1 + (apart if cancels else apart.sqrt()) + first.square() / variance
    rstd = variance.rsqrt()
    normed = (x - mean) * rstd
    gamma = problem.gamma.double()
    beta = problem.beta.double() if group.is_layernorm else torch.zeros_like(gamma)
    of_sums = tolerances.norm_sums_error(group) / tolerances.norm_result_error(group)
    of_row = normed.abs() * cancelled + rstd * x.abs().sum(dim=1, keepdim=True) / n
    return normed * gamma + beta, (normed * gamma).abs() + beta.abs() + of_sums * gamma.abs() * of_row


def exact(problem, first, end):
    """Exact values and the magnitude that tolerances scale with."""
    group, x = problem.group, problem.x[first:end].double()
    if group.family in (SOFTMAX, NORMALIZATION):
        rows = x.view(-1, group.value("columns"))
        if group.family is NORMALIZATION:
            value, magnitude = exact_norm(problem, rows)
            return value.flatten(), magnitude.flatten()
        value = torch.softmax(rows, dim=1)
    elif group.value("expression") == "elu":
        value = torch.where(x > 0, x, ALPHA * torch.expm1(x))
    else:
        value = torch.sin(x).square() + torch.cos(x).square()
    return value.flatten(), value.abs().flatten()


def first_of(wrong, first):
    return first + int(wrong.nonzero()[0]) if bool(wrong.any()) else None


def shapes_of(group):
    """Allowed shapes of a result: of the operation, and flat, as Triton writes it."""
    if group.family is REDUCTION:
        return [(), (1,)]
    if group.family is FUSION:
        return [(group.elements,)]
    rows, columns = group.value("rows"), group.value("columns")
    return [(group.elements,), (columns, rows) if group.family is TRANSPOSE else (rows, columns)]


def verify(problem, result, variant):
    """Compares every element with an fp64 reference, like run/output_comparison.hpp."""
    group = problem.group
    if isinstance(problem, attention.Problem):
        return verify_outputs(problem.exact(variant), result)
    if isinstance(problem, training.Problem):
        results = result()
        return verify_outputs(problem.exact(results), results)
    bound = tolerances.tolerance(group, variant)
    if tuple(result.shape) not in shapes_of(group) or not result.is_contiguous():
        raise ValueError(f"unexpected result of shape {tuple(result.shape)} and strides {result.stride()}")
    if group.family is TRANSPOSE:
        return verify_moved(problem, result)
    return verify_sum(problem, result, bound) if group.family is REDUCTION else verify_computed(problem, result.view(-1), bound)


def verify_sum(problem, result, bound):
    value = magnitude = 0.0
    for first, end in problem.chunks():
        x = problem.x[first:end].double()
        value, magnitude = value + float(x.sum()), magnitude + float(x.square().sum())
    comparison = Comparison(bound)
    comparison.add(result.view(1), *torch.tensor([[value], [math.sqrt(magnitude)]], dtype=torch.float64, device=result.device))
    return comparison.verification()


def verify_moved(problem, result):
    """Compares a transpose bitwise."""
    rows, columns = problem.group.value("rows"), problem.group.value("columns")
    got = problem.words(result.view(columns, rows))
    expected = problem.words(problem.matrix()).t()
    wrong, first_wrong = 0, None
    for first in range(0, columns, step := max(1, CHUNK // rows)):
        differs = got[first : first + step] != expected[first : first + step]
        wrong += int(differs.sum())
        if first_wrong is None:
            first_wrong = first_of(differs.flatten(), first * rows)
    worst = math.inf if wrong else 0.0
    return Verification(wrong, first_wrong, worst, worst, worst, worst)


class Comparison:
    """Comparison of one output, in parts."""

    def __init__(self, bound):
        self.bound, self.wrong, self.first_wrong, self.count = bound, 0, None, 0
        self.error_squares = self.value_squares = 0.0
        self.worst = []  # largest ratio, error and allowed error of each part, as tensors, because their maximum keeps NaN

    def add(self, got, value, magnitude):
        got = got.double()
        error = torch.where(got == value, 0.0, (got - value).abs())
        allowed = self.bound.absolute + self.bound.relative * magnitude
        bad = ~((got == value) | (error <= allowed))
        self.wrong += int(bad.sum())
        if self.first_wrong is None:
            self.first_wrong = first_of(bad, self.count)
        self.worst.append(torch.stack([torch.where(got == value, 0.0, error / allowed).max(), error.max(), allowed.max()]))
        self.error_squares += float(error.square().sum())
        self.value_squares += float(value.square().sum())
        self.count += got.numel()

    def verification(self):
        worst_ratio, worst_error, largest_allowed = torch.stack(self.worst).amax(dim=0).tolist()
        rms_error, rms_value = math.sqrt(self.error_squares / self.count), math.sqrt(self.value_squares / self.count)
        allowed = tolerances.rms_allowed(self.bound, rms_value, largest_allowed, self.count)
        scale = rms_value or 1.0
        return Verification(self.wrong, self.first_wrong, rms_error / scale, worst_error / scale, worst_ratio,
                            0.0 if rms_error == 0 else rms_error / allowed if allowed else math.inf)  # fmt: skip


def verify_computed(problem, result, bound):
    comparison = Comparison(bound)
    for first, end in problem.chunks():
        comparison.add(result[first:end], *exact(problem, first, end))
    return comparison.verification()


def verify_outputs(expected, results):
    """The verification of several outputs, with the largest errors of all."""
    found = []
    for result, (name, value, magnitude, bound) in zip(results, expected, strict=True):
        if result.shape != value.shape:
            raise ValueError(f"{name}: unexpected shape {tuple(result.shape)}")
        comparison = Comparison(bound)
        for first in range(0, value.numel(), CHUNK):
            part = slice(first, first + CHUNK)
            comparison.add(result.reshape(-1)[part], value.reshape(-1)[part], magnitude.reshape(-1)[part])
        found.append(comparison.verification())
    worst = [max((getattr(v, name) for v in found), key=lambda x: (math.isnan(x), x))
             for name in ("error_rms_rel", "error_max_rel", "error_over_allowed", "error_rms_over_allowed")]  # fmt: skip
    return Verification(sum(v.wrong for v in found), next((v.first_wrong for v in found if v.wrong), None), *worst)
