// Consecutive layers on several GPUs: problem, division, inputs and reference.
#pragma once

#include <cmath>
#include <vector>

#include "kernels/common/gelu.cuh"
#include "kernels/common/gemm.cuh"
#include "kernels/common/random.cuh"
#include "kernels/common/rank_parts.cuh"
#include "kernels/common/rank_signals.cuh"
#include "kernels/common/types.cuh"

namespace gpuexp::pipeline_parallel {

using T = __nv_bfloat16;

/// Layer l computes gelu(A·W) from the activations A of the previous layer, tokens × width, and its
/// weights W, width × width: row-major without padding.
struct Problem {
  std::int64_t tokens;
  std::int64_t width;
  int layers;   // layers per GPU
  int batches;  // micro-batches, of whole tokens
  int gpus;
};

/// Maximum number of stages per GPU. A stage is a group of consecutive layers.
constexpr int kMaxStages = 2;

struct Data {
  int rank;
  Ranks<const T> x;        // input of the first layer, on each GPU
  Ranks<const T> weights;  // weights of all layers, on each GPU; a variant uses the rank's layers
  // Used only by the reference, alternately: exact activations of a layer, and bounds of their
  // errors.
  Ranks<const float> even_exact;
  Ranks<const float> even_error;
  Ranks<const float> odd_exact;
  Ranks<const float> odd_error;
  Ranks<T> y;      // tokens × width; written only on the last GPU
  Ranks<T> inbox;  // for each stage of a rank: tokens × width from the previous stage
  Ranks<unsigned> signals;
};

constexpr std::int64_t kBytes = sizeof(T);

inline std::int64_t elements(const Problem& p) {
  return p.tokens * p.width;
}
/// `count` elements, rounded up so that the next array starts at a multiple of 16 bytes.
inline std::int64_t room(std::int64_t count) {
  return ceil_div(count, kPartUnit) * kPartUnit;
}
inline std::int64_t layer_weights(const Problem& p) {
  return room(p.width * p.width);
}
inline int all_layers(const Problem& p) {
  return p.layers * p.gpus;
}
inline Range batch_of(const Problem& p, int batch) {
  return even_part(p.tokens, p.batches, batch);
}
inline std::int64_t max_batch_tokens(const Problem& p) {
  return max_of_ranks(p.batches, [&](int b) { return batch_of(p, b).size(); });
}

// ---- inputs

/// Uniform weights, with limits that give every sum a variance of 1: x is uniform in ±1, and gelu
/// of values with a variance of 1 has a mean square of 0.425.
struct Weights {
  std::uint64_t seed;
  std::int64_t of_layer;  // elements of one layer
  float first_limit;
  float limit;
  __host__ __device__ T operator()(std::int64_t i) const {
    return from_float<T>((i < of_layer ? first_limit : limit) *
                         random_signed(seed, static_cast<std::uint64_t>(i)));
  }
};

constexpr double kGeluMeanSquare = 0.425;

inline Weights weights(const Problem& p, std::uint64_t seed) {
  constexpr double kUniformSquare = 1.0 / 3;
  const auto limit = [&](double mean_square) {
    return static_cast<float>(
        std::sqrt(1 / (kUniformSquare * mean_square * static_cast<double>(p.width))));
  };
  return {stream_seed(seed, 1), layer_weights(p), limit(kUniformSquare), limit(kGeluMeanSquare)};
}

/// What Layer computes from the previous layer: exact activations, or bounds of the errors that
/// come from its own roundings and from previous layers.
enum class Exact { value, error };

template <Exact kWhat>
struct Layer {
  const T* x;           // input of the first layer; null: another layer
  const float* values;  // exact activations of the previous layer
  const float* errors;
  const T* w;
  std::int64_t width;
  double sum_error;        // error of a sum, relative to the root of its squares
  double output_roundoff;  // rounding of the activation; 0: the tolerance includes it

  __host__ __device__ float operator()(std::int64_t i) const {
    constexpr double kMaxGeluSlope = 1.13;
    constexpr double kGeluError = 0x1p-12;  // error of gelu_tanh, relative to |z|
    const std::int64_t row = i / width * width;
    const std::int64_t column = i % width;
    ProductSums z;
    double squares = 0;  // sum over the errors of the previous layer
    for (std::int64_t c = 0; c < width; ++c) {
      const double weight = to_double(w[c * width + column]);
      z.add(weight * (x ? to_double(x[row + c]) : to_double(values[row + c])));
      if (kWhat == Exact::error && !x) {
        const double off = weight * to_double(errors[row + c]);
        squares += off * off;
      }
    }
    if (kWhat == Exact::value) return static_cast<float>(exact_gelu_tanh(z.value));
    const double before = kMaxGeluSlope * sqrt(squares + sum_error * sum_error * z.squares);
    const double approximated = kGeluError * z.value;
    const double rounded = output_roundoff * exact_gelu_tanh(z.value);
    return static_cast<float>(
        sqrt(before * before + approximated * approximated + rounded * rounded));
  }
};

inline double sum_error(const Problem& p) {
  constexpr double kLambda = 8.0;  // in the bound already; Expected multiplies all errors by it
  return tensor_core_bound(p.width, DataType::fp32, DataType::bf16).sum_error / kLambda;
}

template <Exact kWhat>
Steps fill_layer(const Problem& p, const Data& d, int layer) {
  const auto pick = [&](bool odd, const Ranks<const float>& of_odd,
                        const Ranks<const float>& of_even) {
    return const_cast<float*>((odd ? of_odd : of_even).of[d.rank]);
  };
  const bool is_odd = layer % 2 == 1;
  const bool is_last = layer == all_layers(p) - 1;
  const Layer<kWhat> made{layer == 0 ? d.x.of[d.rank] : nullptr,
                          pick(!is_odd, d.odd_exact, d.even_exact),
                          pick(!is_odd, d.odd_error, d.even_error),
                          d.weights.of[d.rank] + layer * layer_weights(p),
                          p.width,
                          sum_error(p),
                          is_last ? 0 : unit_roundoff(DataType::bf16)};
  float* const to = kWhat == Exact::value ? pick(is_odd, d.odd_exact, d.even_exact)
                                          : pick(is_odd, d.odd_error, d.even_error);
  return fill(to, elements(p), made);
}

inline Steps reset(const Problem& p, const Data& d) {
  return fill(d.y.of[d.rank], elements(p), Untouched<T>{});
}

// The inputs are equal on all ranks.
inline Steps inputs(const Problem& p, const Data& d, std::uint64_t seed) {
  Steps steps = fill_uniform(const_cast<T*>(d.x.of[d.rank]), elements(p), stream_seed(seed, 0)) +
                fill(const_cast<T*>(d.weights.of[d.rank]), all_layers(p) * layer_weights(p),
                     weights(p, seed));
  for (int layer = 0; layer < all_layers(p); ++layer)
    steps += fill_layer<Exact::value>(p, d, layer) + fill_layer<Exact::error>(p, d, layer);
  return steps + reset(p, d);
}

// ---- the plain reference and its tolerance

struct Expected {
  const float* exact;  // null: this rank receives no result
  const float* error;
  double roundoff;

  __host__ __device__ ReferenceElement operator()(std::int64_t i) const {
    constexpr double kLambda = 8.0;
    if (!exact) return {kUntouched, 0};
    const double value = to_double(exact[i]);
    return {value, fabs(value) + (1 + roundoff) * kLambda / roundoff * to_double(error[i])};
  }
};

inline Expected expected(const Problem& p, const Data& d) {
  const bool is_odd = (all_layers(p) - 1) % 2 == 1;
  Expected e{nullptr, nullptr, unit_roundoff(DataType::bf16)};
  if (d.rank != p.gpus - 1) return e;
  e.exact = (is_odd ? d.odd_exact : d.even_exact).of[d.rank];
  e.error = (is_odd ? d.odd_error : d.even_error).of[d.rank];
  return e;
}

inline Tolerance tolerance(const Problem& p) {
  constexpr double kGain = 1.1;  // growth per layer of squared errors over squared values
  const double own =
      std::hypot(tensor_core_sum_rms(p.width, DataType::fp32), rounding_rms(DataType::bf16));
  double squares = 0;
  for (int layer = 0; layer < all_layers(p); ++layer)
    squares = kGain * squares + own * own;
  return {unit_roundoff(DataType::bf16), 0, kRmsSafety * std::sqrt(squares), 0};
}

inline constexpr const char* kToleranceDerivation =
    "The errors of a layer are assumed to be independent and of random sign, each below a bound "
    "e. A sum with weights w then has a bound of √Σ(w·e)², and exceeds λ times this bound with a "
    "probability of 2·exp(-λ²/2) (Hoeffding's inequality), 3e-14 at λ = 8. The bound of a sum z "
    "on tensor cores combines the errors of its terms with an eighth of the bound below, which "
    "includes λ = 8 itself. The slope of gelu is at most 1.13, its tanh errs by 2^-12·|z|, and an "
    "activation is rounded by u = 2^-8 of itself. The squares are summed from layer to layer. The "
    "last rounding is allowed once, and the other errors λ times. RMS errors, relative to RMS "
    "values: a layer whose sums have a variance of 1 multiplies the squares of the errors before "
    "it by 1.07, since the mean square of gelu is 0.425 and that of its slope is 0.456; 1.1 is "
    "allowed. ";

}  // namespace gpuexp::pipeline_parallel
