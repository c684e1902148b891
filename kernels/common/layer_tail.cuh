// Element-wise operations after a matrix product in a transformer layer: bias per column, GELU,
// dropout, and addition of the residual. Kernels select a subset of these operations, for bf16
// elements in memory or for sums in registers.
#pragma once

#include "kernels/common/gelu.cuh"
#include "kernels/common/pack.cuh"
#include "kernels/common/philox.cuh"
#include "kernels/common/types.cuh"

namespace gpuexp::layer_tail {

using T = __nv_bfloat16;  // type of all arrays; intermediate values are fp32

/// Operands of the operations. Dropout sets an element to 0 if its random word is below
/// `threshold`, and multiplies the other elements by `scale`, which preserves the mean.
struct Tail {
  const T* bias;
  const T* residual;
  unsigned count;  // number of elements, m·n
  unsigned n;
  std::uint32_t threshold;
  float scale;
};

enum class Part { bias, gelu, dropout, residual };
template <Part part, Part... parts>
constexpr bool kContains = ((parts == part) || ...);

constexpr int kWidth = 8;  // elements per access of a lane: 16 bytes
using Eight = Pack<T, kWidth>;

template <Part... parts>
__device__ float result(float v, float bias, float factor, float residual) {
  if constexpr (kContains<Part::bias, parts...>) v += bias;
  if constexpr (kContains<Part::gelu, parts...>) v = gelu_tanh(v);
  if constexpr (kContains<Part::dropout, parts...>) v *= factor;
  if constexpr (kContains<Part::residual, parts...>) v += residual;
  return v;
}

constexpr std::uint64_t kDropoutSeed = 0x5EED;

__device__ inline float factor(const Tail& x, std::uint32_t word) {
  return word < x.threshold ? 0.0f : x.scale;
}

template <Part... parts>
__device__ T one(const Tail& x, float v, unsigned i) {
  float bias = 0.0f, f = 0.0f, residual = 0.0f;
  if constexpr (kContains<Part::bias, parts...>) bias = static_cast<float>(x.bias[i % x.n]);
  if constexpr (kContains<Part::dropout, parts...>) f = factor(x, philox_word(kDropoutSeed, i));
  if constexpr (kContains<Part::residual, parts...>) residual = static_cast<float>(x.residual[i]);
  return from_float<T>(result<parts...>(v, bias, f, residual));
}

// Biases of eight neighbouring elements, which may be in several rows.
__device__ inline Eight eight_biases(const Tail& x, unsigned column) {
  if (x.n % kWidth == 0) return load_pack<kWidth>(x.bias + column);
  Eight biases;
#pragma unroll
  for (auto& pair : biases.pairs) {
    pair.x = x.bias[column];
    column = column + 1 == x.n ? 0 : column + 1;
    pair.y = x.bias[column];
    column = column + 1 == x.n ? 0 : column + 1;
  }
  return biases;
}

/// Applies the operations to the values `v` of eight elements starting at `first`. `first` is a
/// multiple of eight, so dropout needs two calls of Philox.
template <Part... parts>
__device__ Eight eight(const Tail& x, const float (&v)[kWidth], unsigned first, unsigned column,
                       const Eight& residuals) {
  Eight biases{};
  if constexpr (kContains<Part::bias, parts...>) biases = eight_biases(x, column);
  PhiloxWords words[2];
  if constexpr (kContains<Part::dropout, parts...>) {
    words[0] = philox_words(kDropoutSeed, first / 4);
    words[1] = philox_words(kDropoutSeed, first / 4 + 1);
  }
  Eight out;
#pragma unroll
  for (int i = 0; i < kWidth; i += 2) {
    const float2 bias = widen(biases.pairs[i / 2]);
    const float2 residual = widen(residuals.pairs[i / 2]);
    float2 f{};
    if constexpr (kContains<Part::dropout, parts...>)
      f = {factor(x, words[i / 4].word[i % 4]), factor(x, words[i / 4].word[i % 4 + 1])};
    out.pairs[i / 2] = narrow<T>({result<parts...>(v[i], bias.x, f.x, residual.x),
                                  result<parts...>(v[i + 1], bias.y, f.y, residual.y)});
  }
  return out;
}

}  // namespace gpuexp::layer_tail
