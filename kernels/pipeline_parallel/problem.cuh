// Layers that follow each other on several GPUs: the problem, who has which, inputs and reference.
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

/// Layer l makes gelu(A·W) of the activations A of the layer before, tokens × width, and of its
/// weights W, width × width: row-major, no padding.
struct Problem {
  std::int64_t tokens;
  std::int64_t width;
  int layers;   // of each GPU
  int batches;  // micro-batches, of whole tokens
  int gpus;
};

/// Stages that a GPU has at most: layers that follow each other there.
constexpr int kMostStages = 2;

struct Data {
  int rank;
  Ranks<const T> x;        // the first layer's input, on each GPU
  Ranks<const T> weights;  // of all layers, on each GPU, of which a variant uses the rank's
  // Of the reference alone, in turns: a layer's exact activations, and what may be wrong of them.
  Ranks<const float> even_exact;
  Ranks<const float> even_error;
  Ranks<const float> odd_exact;
  Ranks<const float> odd_error;
  Ranks<T> y;      // tokens × width, of the last GPU; those of the others stay as they were
  Ranks<T> inbox;  // room for each stage of a rank: tokens × width from the stage before
  Ranks<unsigned> signals;
};

constexpr std::int64_t kBytes = sizeof(T);

inline std::int64_t elements(const Problem& p) {
  return p.tokens * p.width;
}
/// So many, up to where the next ones may begin: at 16 bytes.
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
inline std::int64_t most_batch_tokens(const Problem& p) {
  return most_of_ranks(p.batches, [&](int b) { return batch_of(p, b).size(); });
}

// ---- inputs

/// Uniform, and such that every sum has a variance of 1: with x uniform in ±1, and gelu of numbers
/// whose variance is 1 having a mean square of 0.425.
struct Weights {
  std::uint64_t seed;
  std::int64_t of_layer;  // elements
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

/// A layer's exact activations from those of the layer before, or the errors that they may have by
/// its own roundings and by those before it.
enum class Exact { value, error };

template <Exact kWhat>
struct Layer {
  const T* x;           // of the first; null: of the others
  const float* values;  // of the layer before
  const float* errors;
  const T* w;
  std::int64_t width;
  double sum_error;        // of a sum over the root of its squares
  double output_roundoff;  // of the activation; 0: the tolerance has it

  __host__ __device__ float operator()(std::int64_t i) const {
    constexpr double kSteepest = 1.13;      // of gelu, where it rises fastest
    constexpr double kGeluError = 0x1p-12;  // of gelu_tanh, over |z|
    const std::int64_t row = i / width * width;
    const std::int64_t column = i % width;
    ProductSums z;
    double squares = 0;  // of what was wrong before
    for (std::int64_t c = 0; c < width; ++c) {
      const double weight = to_double(w[c * width + column]);
      z.add(weight * (x ? to_double(x[row + c]) : to_double(values[row + c])));
      if (kWhat == Exact::error && !x) {
        const double off = weight * to_double(errors[row + c]);
        squares += off * off;
      }
    }
    if (kWhat == Exact::value) return static_cast<float>(exact_gelu_tanh(z.value));
    const double before = kSteepest * sqrt(squares + sum_error * sum_error * z.squares);
    const double approximated = kGeluError * z.value;
    const double rounded = output_roundoff * exact_gelu_tanh(z.value);
    return static_cast<float>(
        sqrt(before * before + approximated * approximated + rounded * rounded));
  }
};

inline double sum_error(const Problem& p) {
  constexpr double kLambda = 8.0;  // of the bound, and once more of all errors (Expected)
  return tensor_core_bound(p.width, DataType::fp32, DataType::bf16).sum_error / kLambda;
}

template <Exact kWhat>
Steps layer_made(const Problem& p, const Data& d, int layer) {
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

// The same on every rank.
inline Steps inputs(const Problem& p, const Data& d, std::uint64_t seed) {
  Steps steps = fill_uniform(const_cast<T*>(d.x.of[d.rank]), elements(p), stream_seed(seed, 0)) +
                fill(const_cast<T*>(d.weights.of[d.rank]), all_layers(p) * layer_weights(p),
                     weights(p, seed));
  for (int layer = 0; layer < all_layers(p); ++layer)
    steps += layer_made<Exact::value>(p, d, layer) + layer_made<Exact::error>(p, d, layer);
  return steps + reset(p, d);
}

// ---- the plain reference and its tolerance

/// Y of one rank.
struct Expected {
  const float* exact;  // null: nothing comes here
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
  constexpr double kGain = 1.1;  // of a layer, of the squares of errors over those of values
  const double own =
      std::hypot(tensor_core_sum_rms(p.width, DataType::fp32), rounding_rms(DataType::bf16));
  double squares = 0;
  for (int layer = 0; layer < all_layers(p); ++layer)
    squares = kGain * squares + own * own;
  return {unit_roundoff(DataType::bf16), 0, kRmsSafety * std::sqrt(squares), 0};
}

inline constexpr const char* kToleranceDerivation =
    "Errors of a layer are taken as independent and of random sign, each below a bound e, so that "
    "a sum with weights w has a bound of √Σ(w·e)², which it exceeds λ-fold with a probability of "
    "2·exp(-λ²/2) (Hoeffding's inequality), 3e-14 at λ = 8. Of a sum z on tensor cores: what its "
    "terms err by, and an eighth of the bound below, which has λ = 8 by itself; gelu rises by "
    "1.13 at most, its tanh errs by 2^-12·|z|, and an activation is rounded by u = 2^-8 of "
    "itself. From layer to layer the squares are added up. The last rounding is allowed as it is, "
    "and λ times the rest. RMS errors, over RMS values: a layer whose sums have a variance of 1 "
    "makes 1.07 of the squares before it, as gelu's mean square is 0.425 and that of its slope "
    "0.456; 1.1 is allowed. ";

}  // namespace gpuexp::pipeline_parallel
