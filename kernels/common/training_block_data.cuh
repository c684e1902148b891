// Training of a transformer block: the problem, its buffers, its inputs, and the contents of the
// buffers before a launch of a step or of one phase.
//
// The block has GPT-2's structure: y = x + proj(attention(qkv(LayerNorm(x)))), z = y +
// W2·GELU(W1·LayerNorm(y)). Each product has a bias, and heads have 64 elements. Each token
// attends to itself and to the earlier tokens of its sequence.
#pragma once

#include "kernels/common/attention_steps.cuh"
#include "kernels/common/training_heads.cuh"
#include "kernels/common/training_problem.cuh"

namespace gpuexp::training_block {

using namespace training;
using training::Phase;

struct Problem : StepProblem {
  std::int64_t sequences;
  std::int64_t width;
  std::int64_t tokens;
  std::int64_t hidden;

  __host__ __device__ std::int64_t rows() const { return sequences * tokens; }
  __host__ __device__ std::int64_t heads() const { return width / kHeadDim; }
};

inline attention::Problem attention_of(const Problem& p) {
  return {p.sequences, p.heads(), 1, p.tokens, p.tokens, kHeadDim, p.dtype, attention::Mask::causal,
          p.tokens,    0.0};
}

/// Offsets of the parameters in arrays of all parameters, in elements: matrices, then vectors.
/// Each parameter starts at a multiple of 256 bytes of fp32. The gaps are zero and stay zero.
struct Layout {
  std::int64_t qkv, proj, w1, w2;
  std::int64_t gamma1, beta1, gamma2, beta2, b_qkv, b_proj, b1, b2, all;
};
inline Layout layout(const Problem& p) {
  Layout at{};
  at.proj = 3 * p.width * p.width;
  at.w1 = at.proj + p.width * p.width;
  at.w2 = at.w1 + aligned(p.width * p.hidden);
  at.gamma1 = at.w2 + aligned(p.width * p.hidden);
  at.beta1 = at.gamma1 + p.width;
  at.gamma2 = at.beta1 + p.width;
  at.beta2 = at.gamma2 + p.width;
  at.b_qkv = at.beta2 + p.width;
  at.b_proj = at.b_qkv + 3 * p.width;
  at.b1 = at.b_proj + p.width;
  at.b2 = at.b1 + aligned(p.hidden);
  at.all = at.b2 + p.width;
  return at;
}
inline std::vector<Tensor> tensors(const Problem& p) {
  const Layout at = layout(p);
  const std::int64_t w = p.width, square = w * w, inner = w * p.hidden;
  return {{at.qkv, 3 * square}, {at.proj, square}, {at.w1, inner},    {at.w2, inner},
          {at.gamma1, w},       {at.beta1, w},     {at.gamma2, w},    {at.beta2, w},
          {at.b_qkv, 3 * w},    {at.b_proj, w},    {at.b1, p.hidden}, {at.b2, w}};
}
inline std::int64_t parameters(const Problem& p) {
  return layout(p).all;
}
inline std::int64_t outer(const Problem& p) {  // number of elements of rows × width activations
  return p.rows() * p.width;
}
inline std::int64_t inner(const Problem& p) {  // number of elements of rows × hidden activations
  return p.rows() * p.hidden;
}
inline std::int64_t head_rows(const Problem& p) {
  return p.rows() * p.heads();
}

inline HeadPlaces head_places(const Problem& p) {
  return {p.rows()};
}

/// Buffers of a step. Matrices are row-major, and arrays of heads have the layout of HeadPlaces.
/// Names that start with d are gradients of the loss by the array with the rest of the name.
struct Data {
  void* x;
  float* target;
  float *weights_before, *m_before, *v_before;
  std::int32_t* state_before;
  void *n1, *n2;  // LayerNorm of x and of y
  void *h, *a;
  void *n1_recomputed, *n2_recomputed;
  void *h_recomputed, *a_recomputed;
  // Four arrays of one value per row: mean and reciprocal standard deviation of x, then of y.
  float* statistics;
  void* qkv;  // Q, K and V, three arrays of heads one after another
  void* o;    // attention's result, as arrays of heads
  float* log_sum;
  void* merged;
  void *y, *z;
  void *dz, *dh, *dn2, *dy;
  void* d_o;           // as arrays of heads
  void *dq, *dk, *dv;  // as arrays of heads
  void* dqkv;          // dq, dk and dv as one row-major matrix
  void* dn1;
  float* loss;
  float *gradients, *weights, *m, *v;
  void* copy;
  std::int32_t* state;
};
enum Output {
  kN1,
  kN2,
  kH,
  kA,
  kN1Again,
  kN2Again,
  kHAgain,
  kAAgain,
  kStatistics,
  kQkv,
  kO,
  kLogSum,
  kMerged,
  kY,
  kZ,
  kDz,
  kDh,
  kDn2,
  kDy,
  kDo,
  kDq,
  kDk,
  kDv,
  kDqkv,
  kDn1,
  kLoss,
  kGradients,
  kWeights,
  kM,
  kV,
  kCopy,
  kState
};
inline std::int64_t elements_of(const Problem& p, Output output) {
  switch (output) {
    case kH:
    case kA:
    case kHAgain:
    case kAAgain:
    case kDh: return inner(p);
    case kStatistics: return 4 * p.rows();
    case kLogSum: return head_rows(p);
    case kQkv:
    case kDqkv: return 3 * outer(p);
    case kLoss: return 1;
    case kState: return kStateFields;
    case kCopy: return p.dtype == DataType::fp32 ? 0 : parameters(p);
    case kGradients:
    case kWeights:
    case kM:
    case kV: return parameters(p);
    default: return outer(p);
  }
}

// ---- memory of a step

/// Number of bytes that the forward pass stores for the backward pass: n1, Q, K, V, O, merged, y,
/// n2, dz, h and a. With recomputation, n1, n2, h and a are not stored. The statistics of the
/// norms and log_sum are fp32.
inline double kept_bytes(const Problem& p, bool recomputes) {
  const std::int64_t size = static_cast<std::int64_t>(size_of(p.dtype));
  const std::int64_t outer_arrays = recomputes ? 7 : 9, inner_arrays = recomputes ? 0 : 2;
  constexpr std::int64_t kFloat = sizeof(float);
  return static_cast<double>(size * (outer_arrays * outer(p) + inner_arrays * inner(p)) +
                             kFloat * (4 * p.rows() + head_rows(p)));
}

/// Peak memory of a step, in bytes. Weights, gradients, moments, 16-bit copies, x and targets exist
/// during the whole step. The other arrays peak in the backward pass of the MLP (stored arrays,
/// recomputed n2, h and a, dn2 and dh) or, if the MLP is narrow, in attention's backward pass.
inline double peak_bytes(const Problem& p, bool recomputes) {
  const double size = static_cast<double>(size_of(p.dtype));
  const double of_weights = p.dtype == DataType::fp32 ? 16 : 16 + size;
  const auto outer_elements = static_cast<double>(outer(p));
  const auto inner_elements = static_cast<double>(inner(p));
  const double again = recomputes ? size * (outer_elements + 2 * inner_elements) : 0.0;
  const double mlp_bytes =
      kept_bytes(p, recomputes) + again + size * (outer_elements + inner_elements);
  constexpr double kAttentionArrays = 10;  // n1, Q, K, V, O, dy, dO, dQ, dK, dV
  return of_weights * static_cast<double>(parameters(p)) + (size + sizeof(float)) * outer_elements +
         std::max(mlp_bytes, size * kAttentionArrays * outer_elements);
}

// ---- work

/// The minimum work of the launched phases. Each array is transferred once.
inline Work work(const Problem& p) {
  const auto rows = static_cast<double>(p.rows());
  const double product_operations = 2.0 * rows * static_cast<double>(4 * p.width * p.width) +
                                    2.0 * rows * static_cast<double>(2 * p.width * p.hidden);
  const double score_operations = attention::product_operations(attention_of(p));
  const std::int64_t matrices = 4 * p.width * p.width + 2 * p.width * p.hidden;
  const std::int64_t all = matrices + 9 * p.width + p.hidden;  // γ, β, and biases
  const auto size = static_cast<std::int64_t>(size_of(p.dtype));
  constexpr std::int64_t kFloat = sizeof(float);
  const auto kept = static_cast<std::int64_t>(kept_bytes(p, false));
  StepWork w;
  if (p.has(Phase::forward)) {
    w.read += size * (outer(p) + matrices) + kFloat * outer(p);
    w.written += kept + size * outer(p);
    w.product_operations += product_operations + 2 * score_operations;
    w.others += 10.0 * static_cast<double>(inner(p)) + 20.0 * static_cast<double>(outer(p));
  }
  if (p.has(Phase::backward)) {
    if (p.phase == Phase::backward)
      w.read += kept + size * matrices;  // in a whole step, the forward pass leaves these arrays
    w.written += size * (inner(p) + 10 * outer(p)) + kFloat * all;
    w.product_operations += 2 * product_operations + 5 * score_operations;
    w.others += 16.0 * static_cast<double>(inner(p)) + 30.0 * static_cast<double>(outer(p));
  }
  if (p.has(Phase::update)) w.add_update(p, all);
  return w.work(p);
}

// ---- inputs

/// Random tokens. The first token of each sequence has a large first element, so that attention
/// can identify it.
template <class T>
struct Tokens {
  Uniform<T> random;
  std::int64_t width, tokens;
  __host__ __device__ T operator()(std::int64_t i) const {
    constexpr float kMark = 4.0f;
    return i % (width * tokens) == 0 ? from_float<T>(kMark) : random(i);
  }
};

/// Targets: each token plus the first token of its sequence, which a network without attention
/// cannot compute. Unless it is zero, `overflow_target` replaces the first target and causes an
/// overflow.
template <class T>
struct Target {
  Tokens<T> x;
  float overflow_target;
  __host__ __device__ float operator()(std::int64_t i) const {
    if (overflow_target != 0.0f && i == 0) return overflow_target;
    const std::int64_t each = x.width * x.tokens;
    return static_cast<float>(x(i)) + static_cast<float>(x(i / each * each + i % x.width));
  }
};

/// The injected overflow must occur in the last gradient: earlier infinities would become NaN in
/// sums of terms of both signs, and a NaN equals no reference. The first target makes the
/// gradients of the first row about 2^13, hundreds of times the gradients of other rows. Some
/// weights of V are large. They multiply columns of n1 that are zero, because γ and β of these
/// columns are zero, so the forward pass does not depend on them. In dn1, from which only the
/// gradients of γ and β are computed, only the first row exceeds the range of fp16. The first
/// rows of the other sequences have the next largest gradients, because all later tokens of their
/// sequence contribute to them. Two values of different signs beyond the range of fp16 would sum
/// to NaN.
inline constexpr int kInjectedColumns = 16;
inline constexpr float kInjectedWeight = 12.0f;
inline constexpr float kInjectedGradient = 8192.0f;

/// Initial weights: matrices with a variance of 1/rows, γ around 1, small β and small biases.
struct FirstWeights {
  std::uint64_t seed;
  Layout at;
  std::int64_t width, hidden;
  float width_scale, hidden_scale;
  bool overflow;

  __host__ __device__ float operator()(std::int64_t i) const {
    constexpr float kSmall = 0.125f, kAroundOne = 0.25f;
    const float random = random_signed(seed, static_cast<std::uint64_t>(i));
    if (i < at.w1) {
      const bool is_injected =
          overflow && i < kInjectedColumns * 3 * width && i % (3 * width) >= 2 * width;
      return is_injected ? copysignf(kInjectedWeight, random) : width_scale * random;
    }
    if (i < at.w2) return i < at.w1 + width * hidden ? width_scale * random : 0.0f;
    if (i < at.gamma1) return i < at.w2 + width * hidden ? hidden_scale * random : 0.0f;
    if (i < at.gamma2) {
      if (overflow && (i - at.gamma1) % width < kInjectedColumns) return 0.0f;
      return i < at.beta1 ? 1.0f + kAroundOne * random : kSmall * random;
    }
    if (i < at.beta2) return 1.0f + kAroundOne * random;
    if (i >= at.b1 + hidden && i < at.b2) return 0.0f;
    return kSmall * random;
  }
};
inline FirstWeights first_weights(const Problem& p, std::uint64_t seed) {
  const auto scale = [](std::int64_t rows) {
    return static_cast<float>(std::sqrt(3.0 / static_cast<double>(rows)));
  };
  return {seed, layout(p), p.width, p.hidden, scale(p.width), scale(p.hidden), p.overflow};
}

inline float two_over_elements(const Problem& p) {
  return static_cast<float>(2.0 / static_cast<double>(outer(p)));
}
inline State first_state(const Problem& p) {
  return training::first_state(p, outer(p));
}

inline Steps inputs(const Problem& p, const Data& d, std::uint64_t seed) {
  const FirstWeights weights = first_weights(p, stream_seed(seed, 1));
  const State state = first_state(p);
  const float overflow_target =
      p.overflow ? kInjectedGradient / std::ldexp(two_over_elements(p), state.scale_log2) : 0.0f;
  return fill_parameters(p, d, weights, parameters(p), state) + with_type(p, [&](auto zero) {
           using T = decltype(zero);
           const Tokens<T> x{{stream_seed(seed, 0), 1.0f}, p.width, p.tokens};
           return fill(static_cast<T*>(d.x), outer(p), x) +
                  fill(d.target, outer(p), Target<T>{x, overflow_target});
         });
}

// ---- contents of buffers before a launch

/// log Σ e^s of small scores: about the logarithm of the number of keys that a token attends to.
/// It is interpolated linearly between powers of two, with operations that host and device round
/// identically.
struct InitialLogSum {
  int tokens;
  __host__ __device__ float operator()(std::int64_t row) const {
    const int count = static_cast<int>(row % tokens) + 1;
    int digits = 0;
    while (count >> (digits + 1) != 0)
      ++digits;
    const float log2 = static_cast<float>(digits - 1) +
                       static_cast<float>(count) / static_cast<float>(1u << digits);
    return log2 * attention::kLn2;
  }
};
/// Random means around 0, and random reciprocal standard deviations around 1.5.
struct InitialStatistics {
  std::int64_t rows;
  __host__ __device__ float operator()(std::int64_t i) const {
    constexpr float kDeviation = 1.5f, kSpread = 0.125f;
    return (i / rows % 2 == 0 ? 0.0f : kDeviation) +
           kSpread * random_signed(21, static_cast<std::uint64_t>(i));
  }
};

/// Initial contents of buffers if only the backward pass is launched: random values in the ranges
/// of the forward pass's results.
template <class T>
struct InitialContents {
  Uniform<T> n1{11, 1.5f}, n2{12, 1.5f}, h{13, 1.0f}, a{14, 0.5f}, qkv{16, 1.0f}, o{17, 0.5f},
      y{18, 1.0f}, dz{19, 1.0f / 64};
  Uniform<T> merged{20, 0.5f};
};

template <class T>
Steps reset_as(const Problem& p, const Data& d) {
  const InitialContents<T> found;
  Steps steps = given(p, d.n1, outer(p), found.n1) + given(p, d.n2, outer(p), found.n2) +
                given(p, d.h, inner(p), found.h) + given(p, d.a, inner(p), found.a) +
                given(p, d.qkv, 3 * outer(p), found.qkv) + given(p, d.o, outer(p), found.o) +
                given(p, d.merged, outer(p), found.merged) + given(p, d.y, outer(p), found.y) +
                given(p, d.dz, outer(p), found.dz);
  for (void* to :
       {d.n1_recomputed, d.n2_recomputed, d.z, d.dn2, d.dy, d.d_o, d.dq, d.dk, d.dv, d.dn1})
    steps += unwritten<T>(to, outer(p));
  for (void* to : {d.h_recomputed, d.a_recomputed, d.dh})
    steps += unwritten<T>(to, inner(p));
  steps += unwritten<T>(d.dqkv, 3 * outer(p));
  if (p.phase == Phase::backward) {
    steps += fill(d.statistics, 4 * p.rows(), InitialStatistics{p.rows()});
    steps += fill(d.log_sum, head_rows(p), InitialLogSum{static_cast<int>(p.tokens)});
  } else {
    steps += unwritten<float>(d.statistics, 4 * p.rows());
    steps += unwritten<float>(d.log_sum, head_rows(p));
  }
  return steps + unwritten<float>(d.loss, 1) + reset_parameters<T>(p, d, tensors(p), parameters(p));
}

inline Steps reset(const Problem& p, const Data& d) {
  return with_type(p, [&](auto zero) { return reset_as<decltype(zero)>(p, d); });
}

}  // namespace gpuexp::training_block
