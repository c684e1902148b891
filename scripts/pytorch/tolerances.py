"""Tolerances of PyTorch's results: the bounds of gpuexp's families, where they are derived. Needs no PyTorch."""

import math
from dataclasses import dataclass

from pytorch.operations import ALPHA, ATTENTION, FUSION, QUERY_RANGE

ROUNDOFF = {"fp32": 2.0**-24, "bf16": 2.0**-8, "fp16": 2.0**-11}  # unit roundoffs: base/types
RMS_SAFETY = 2.0  # family/tolerance.hpp


@dataclass(frozen=True)
class Tolerance:
    """Allowed errors of elements and of the RMS (family/tolerance.hpp)."""

    relative: float = 0.0
    absolute: float = 0.0
    rms_relative: float = 0.0
    rms_absolute: float = 0.0


def fusion_tolerance(group, variant):
    """Derived in kernels/fusion.cu. Eager PyTorch calls CUDA's sin, cos, exp and expm1 (at most 2 ulp; CUDA C++ Programming Guide,
    table of mathematical functions). Triton calls libdevice's sin and cos, which are the same functions. Triton's exp, which
    torch.compile may also call, is ex2.approx of x·log2(e), like __expf: 2 + floor(1.173·|x|) ulp. ELU with it has the bound of
    `fused_intrinsics`."""
    u, stored = ROUNDOFF["fp32"], ROUNDOFF[group.value("dtype")]
    growth = (1 + stored) ** 4 * (1 + 10 * u) - 1
    if group.value("expression") == "elu":
        exponential = 10 * u if variant in ("pytorch_compiled", "triton") else 4 * u
        rms = ALPHA * math.hypot(0.33 * stored, 0.29 * exponential / math.sqrt(3))
        return Tolerance(growth, ALPHA * (exponential + stored) * (1 + growth), 0.0, RMS_SAFETY * rms)
    functions = (1 + 4 * u) ** 2 - 1
    return Tolerance(growth + functions, 0.0, 0.0, RMS_SAFETY * (stored + functions / math.sqrt(3)))


def rounding_rms(dtype):
    return ROUNDOFF[dtype] / math.sqrt(8 * math.log(2))


def row_additions(columns):
    """Length of the longest chain of additions of a row (kernels/common/row_group.cuh); library kernels have no longer chains."""
    return math.ceil(columns / 32) + 13


def reduction_tolerance(group):
    """Derived in kernels/common/number_sums.cuh."""
    if group.value("numbers") == "whole":
        return Tolerance()
    n, u = group.value("n"), ROUNDOFF["fp32"]
    depth = math.ceil(n / (1 << 14)) + 64
    lam = math.sqrt(2 * (32 + math.log(2)))
    rms = RMS_SAFETY * rounding_rms("fp32") * math.sqrt(depth) * math.sqrt(n / 3)
    return Tolerance(lam * u * math.sqrt(depth), 0.0, 0.0, rms)


def softmax_tolerance(group):
    """Derived in kernels/softmax.cu, with the larger error of two exponentials: CUDA's expf (2 ulp), or ex2.approx of a product."""
    u, stored = ROUNDOFF["fp32"], ROUNDOFF[group.value("dtype")]
    spread = 2 * group.value("scale")
    power = 3 * u * min(spread, 88) + 2.0**-22
    added, raised = row_additions(group.value("columns")), math.ceil(group.value("columns") / 256) + 13
    result = u * added + (2.0**-22 + u) * raised + 2 * power + 2 * power + 4 * u
    lost = 0.36 * added * u / max(spread, 8)
    sums = rounding_rms("fp32") * math.sqrt(added / 3) + lost
    rms = math.hypot(rounding_rms(group.value("dtype")), sums, math.sqrt(2 / 3) * power)
    return Tolerance(result + stored * (1 + result), 2.0**-124, RMS_SAFETY * rms, 0.0)


def norm_sums_error(group):
    """Relative error of a variance without cancellation (kernels/common/row_norm.cuh)."""
    return (2 * row_additions(group.value("columns")) + 8) * ROUNDOFF["fp32"]


def norm_result_error(group):
    return ROUNDOFF[group.value("dtype")] + 8 * ROUNDOFF["fp32"]


def norm_tolerance(group):
    condition = math.sqrt(1 + 3 * group.value("offset") ** 2) if group.is_layernorm else 1.0
    of_sums = 2 * condition * rounding_rms("fp32") * math.sqrt(row_additions(group.value("columns")) / 3)
    rms = math.hypot(rounding_rms(group.value("dtype")), 2 * rounding_rms("fp32"),
                     4 * ROUNDOFF["fp32"] / math.sqrt(3), of_sums)  # fmt: skip
    return Tolerance(norm_result_error(group), 2.0**-124, RMS_SAFETY * rms, 0.0)


def tensor_core_steps(k):
    """Rounding steps of a tensor core sum of k products. This and the next two functions: kernels/common/gemm.cuh."""
    return math.ceil(k / 4)


def tensor_core_sum_rms(k):
    u = ROUNDOFF["fp32"]
    mean, product = u / (2 * math.log(2)), u / math.sqrt(2 * math.log(2))
    return math.hypot(mean * tensor_core_steps(k) / math.sqrt(3), product * math.sqrt(0.5 * k))


def tensor_core_sum_error(k):
    return 8 * ROUNDOFF["fp32"] * (tensor_core_steps(k) + math.sqrt(k))


def stores_scores(variant):
    return not variant.startswith("sdpa")


@dataclass(frozen=True)
class AttentionBound:
    """Factors of the error terms: kernels/common/attention_reference.cuh and attention_gradient_reference.cuh."""

    rounding: float
    of_terms: float
    of_scores: float  # nonzero if S is stored in 16 bits
    of_all: float
    of_product: float
    of_delta: float
    of_stored: float  # nonzero in the backward pass if P and dP are stored in 16 bits


def attention_bound(group, variant, terms):
    """The bound for a sum of `terms` products."""
    u, stored, dim = ROUNDOFF["fp32"], ROUNDOFF[group.value("dtype")], group.value("head_dim")
    is_stored = 8 * stored if stores_scores(variant) else 0.0
    of_scores = math.sqrt(2) * is_stored  # a score is rounded as a product and again when it is scaled
    score = QUERY_RANGE * tensor_core_sum_error(dim)
    exponent = 3 * u * 2 * QUERY_RANGE * math.sqrt(dim) + 2.0**-22
    of_all = 2 * (score + exponent) + group.value("keys") * u
    sums = tensor_core_sum_error(terms)
    if group.family is ATTENTION:
        return AttentionBound(stored, 8 * stored + sums, of_scores, of_all, 0.0, 0.0, 0.0)
    # PyTorch computes D from the rounded O, whose elements have an error of up to the unit roundoff.
    return AttentionBound(stored, 8 * stored + 2 * sums, of_scores, of_all + 4 * u, tensor_core_sum_error(dim), dim * u + stored,
                          is_stored)  # fmt: skip


def score_roundings(variant):
    """Contribution to the squared RMS error, in units of a result's rounding, of rounding each score to 16 bits twice: as a product
    and after scaling (kernels/common/attention_reference.cuh)."""
    variance = QUERY_RANGE**2 / 9
    return 2 * (variance + 4 * variance**2) if stores_scores(variant) else 0.0


def attention_tolerance(group, variant):
    """Tolerance of O, derived in kernels/common/attention_reference.cuh."""
    dtype, keys = group.value("dtype"), math.sqrt(group.value("keys"))
    subnormal = 2.0**-25 if dtype == "fp16" else 0.0
    rms = math.hypot(rounding_rms(dtype) * math.sqrt(2 + score_roundings(variant)), tensor_core_sum_rms(group.value("keys")))
    return Tolerance(ROUNDOFF[dtype], 8 * subnormal * (keys + 1), RMS_SAFETY * rms, RMS_SAFETY * subnormal * keys)


def gradient_terms(group, of):
    return group.value("keys") if of == "q" else group.value("queries") * group.value("group")


def gradient_tolerance(group, variant, of):
    """Tolerance of dQ, dK or dV, derived in kernels/common/attention_gradient_reference.cuh."""
    dtype, terms = group.value("dtype"), gradient_terms(group, of)
    subnormal = 2.0**-25 * (QUERY_RANGE if of == "k" else 1.0) if dtype == "fp16" else 0.0
    roundings = 4 if stores_scores(variant) else 2
    rms = math.hypot(rounding_rms(dtype) * math.sqrt(roundings + score_roundings(variant)), tensor_core_sum_rms(terms))
    return Tolerance(ROUNDOFF[dtype], 8 * subnormal * (math.sqrt(terms) + 1), RMS_SAFETY * rms, RMS_SAFETY * subnormal * math.sqrt(terms))


def tolerance(group, variant):
    """The family's tolerance; zero for a transpose. Gradients of attention have gradient_tolerance() instead."""
    if group.family is ATTENTION:
        return attention_tolerance(group, variant)
    if group.family is FUSION:
        return fusion_tolerance(group, variant)
    makes = {"reduction": reduction_tolerance, "softmax": softmax_tolerance, "normalization": norm_tolerance}
    return makes[group.family.id](group) if group.family.id in makes else Tolerance()


def rms_allowed(bound, value_rms, largest_allowed, count):
    """Allowed RMS error of an output with `count` elements (family/tolerance.cpp)."""
    return bound.rms_absolute + bound.rms_relative * value_rms + largest_allowed * math.sqrt(32.0 / count)
