// The MLP of a transformer layer on several GPUs: problem, inputs and reference.
#pragma once

#include <cmath>

#include "kernels/common/gelu.cuh"
#include "kernels/common/gemm.cuh"
#include "kernels/common/random.cuh"
#include "kernels/common/rank_parts.cuh"
#include "kernels/common/types.cuh"

namespace gpuexp::mlp_parallel {

using T = __nv_bfloat16;

// Row-major without padding: X is tokens × width, W1 is width × hidden, W2 is hidden × width.
struct Problem {
  std::int64_t tokens;
  std::int64_t width;
  std::int64_t hidden;
  int gpus;
};

struct Data {
  int rank;
  Ranks<const T> x;   // whole on each GPU; a variant uses the rank's part
  Ranks<const T> w1;  // whole on each GPU
  Ranks<const T> w2;  // whole on each GPU
  // Used only by the reference: gelu(X·W1), and the bound of its error in bf16.
  Ranks<const float> exact_hidden;
  Ranks<const float> hidden_error;
  Ranks<T> y;         // tokens × width
  Ranks<T> gathered;  // tokens × hidden, used by two_gathers
  Ranks<T> partial;   // tokens × width: the rank's partial sum of Y
  Ranks<unsigned> signals;
};

constexpr std::int64_t kBytes = sizeof(T);

inline std::int64_t elements_of_y(const Problem& p) {
  return p.tokens * p.width;
}
inline std::int64_t elements_of_hidden(const Problem& p) {
  return p.tokens * p.hidden;
}

// ---- inputs

/// Uniform in ±limit. A sum of `count` products of values in ±1 with weights in ±3/√count has a
/// variance of 1, so the scale stays constant from layer to layer.
using Weights = Uniform<T>;

inline Weights weights(std::uint64_t seed, int n, std::int64_t count) {
  constexpr float kLimit = 3.0f;
  return {stream_seed(seed, static_cast<std::uint64_t>(n)),
          kLimit / std::sqrt(static_cast<float>(count))};
}

/// Error bound of a hidden unit: the tensor core's sum, and roundings to bf16 before and after
/// gelu.
struct HiddenBound {
  double roundoff;   // unit roundoff of bf16
  double sum_error;  // error of a sum, relative to the root of its squares

  __host__ __device__ double of(const ProductSums& z) const {
    constexpr double kMaxGeluSlope = 1.13;
    constexpr double kGeluError = 0x1p-12;  // error of gelu_tanh, relative to |z|
    const double before = roundoff * fabs(z.value) + sum_error * sqrt(z.squares);
    return (1 + roundoff) * (kMaxGeluSlope * before + kGeluError * fabs(z.value) +
                             roundoff * fabs(exact_gelu_tanh(z.value)));
  }
};

inline HiddenBound hidden_bound(const Problem& p) {
  return {unit_roundoff(DataType::bf16),
          tensor_core_bound(p.width, DataType::fp32, DataType::bf16).sum_error};
}

enum class HiddenPart { value, error };

template <HiddenPart kPart>
struct Hidden {
  const T* x;
  const T* w1;
  std::int64_t width;
  std::int64_t hidden;
  HiddenBound bound;

  __host__ __device__ float operator()(std::int64_t i) const {
    const std::int64_t token = i / hidden;
    const std::int64_t unit = i % hidden;
    ProductSums z;
    for (std::int64_t c = 0; c < width; ++c)
      z.add(to_double(x[token * width + c]) * to_double(w1[c * hidden + unit]));
    return static_cast<float>(kPart == HiddenPart::value ? exact_gelu_tanh(z.value) : bound.of(z));
  }
};

template <HiddenPart kPart>
Steps fill_hidden(const Problem& p, const Data& d, Ranks<const float> of_ranks) {
  auto* const to = const_cast<float*>(of_ranks.of[d.rank]);
  const Hidden<kPart> made{d.x.of[d.rank], d.w1.of[d.rank], p.width, p.hidden, hidden_bound(p)};
  return fill(to, p.tokens * p.hidden, made);
}

inline Steps reset(const Problem& p, const Data& d) {
  return fill(d.y.of[d.rank], elements_of_y(p), Untouched<T>{});
}

// The inputs are equal on all ranks.
inline Steps inputs(const Problem& p, const Data& d, std::uint64_t seed) {
  return fill_uniform(const_cast<T*>(d.x.of[d.rank]), p.tokens * p.width, stream_seed(seed, 0)) +
         fill(const_cast<T*>(d.w1.of[d.rank]), p.width * p.hidden, weights(seed, 1, p.width)) +
         fill(const_cast<T*>(d.w2.of[d.rank]), p.hidden * p.width, weights(seed, 2, p.hidden)) +
         fill_hidden<HiddenPart::value>(p, d, d.exact_hidden) +
         fill_hidden<HiddenPart::error>(p, d, d.hidden_error) + reset(p, d);
}

// ---- the plain reference and its tolerance

inline NormBound error_bound(const Problem& p) {
  NormBound bound = tensor_core_bound(p.hidden, DataType::fp32, DataType::bf16);
  // kToleranceDerivation derives this factor.
  constexpr double kHiddenRoundings = 2.0;
  const double rounding = rounding_rms(DataType::bf16);
  bound.rms_error = std::hypot(
      std::hypot(tensor_core_sum_rms(p.hidden, DataType::fp32), kHiddenRoundings * rounding),
      std::hypot(rounding, sum_rms(p.gpus, DataType::bf16)));
  return bound;
}

/// Expected Y, equal on all ranks.
struct Expected {
  const float* hidden;
  const float* error;
  const T* w2;
  std::int64_t width;
  std::int64_t count;  // number of hidden units
  NormBound bound;
  int partial_sums;
  std::int64_t begins[kMaxRanks + 1];

  __host__ __device__ ReferenceElement operator()(std::int64_t i) const {
    constexpr double kLambda = 8.0;
    const std::int64_t token = i / width;
    const std::int64_t column = i % width;
    ProductSums sums;
    double errors = 0;  // sum of squares
    double of_partial_sums = 0;
    for (int s = 0; s < partial_sums; ++s) {
      const double before = sums.value;
      for (std::int64_t h = begins[s]; h < begins[s + 1]; ++h) {
        const double weight = to_double(w2[h * width + column]);
        const double off = weight * to_double(error[token * count + h]);
        sums.add(weight * to_double(hidden[token * count + h]));
        errors += off * off;
      }
      of_partial_sums += fabs(sums.value - before);
    }
    const double u = bound.output_roundoff;
    return {sums.value, bound.magnitude(sums) + (1 + u) * ((partial_sums - 1) * of_partial_sums +
                                                           kLambda / u * sqrt(errors))};
  }
};

inline Expected expected(const Problem& p, const Data& d) {
  Expected e{d.exact_hidden.of[d.rank],
             d.hidden_error.of[d.rank],
             d.w2.of[d.rank],
             p.width,
             p.hidden,
             error_bound(p),
             p.gpus,
             {}};
  for (int s = 0; s < p.gpus; ++s)
    e.begins[s + 1] = even_part(p.hidden, p.gpus, s).end;
  return e;
}

inline constexpr const char* kToleranceDerivation =
    "A hidden unit gelu(z) is computed from a sum z on tensor cores (below) and rounded to bf16 "
    "before and after gelu, whose tanh errs by 2^-12·|z|. Its error is at most 1.13·(u·|z| + its "
    "sum's error) + u·|gelu(z)| + 2^-12·|z|, u = 2^-8, since the slope of gelu is at most 1.13. "
    "By Hoeffding's inequality, a sum over units whose errors have random signs and are below e "
    "each, with weights w, exceeds λ·√Σ(w·e)² with a probability of 2·exp(-λ²/2), 3e-14 at λ = 8. "
    "If GPUs have partial sums s of Y, each is rounded to bf16. Algorithms that pass on partial "
    "sums, as NCCL's rings do, round them g - 2 more times over g GPUs: (g - 1)·u·Σ|s| in total "
    "(Higham, Accuracy and Stability of Numerical Algorithms, section 4.2). RMS errors: those of "
    "units are at most twice the error of one rounding. The variance of z is 1, the mean square "
    "of gelu(z) is 0.42, and gelu scales the RMS rounding error of z by at most 1.13: √(1 + "
    "1.13²/0.42) = 2.0. The roundings of s together have the RMS error of one rounding, since the "
    "squares of s sum to the square of the result. Passed-on partial sums and Y have the RMS "
    "error of a sum of g terms (sum_rms). ";

}  // namespace gpuexp::mlp_parallel
