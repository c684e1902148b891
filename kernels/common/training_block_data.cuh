// A transformer block in training: its problem and buffers, and what a step, or a phase of it,
// finds.
//
// As GPT-2 has it: y = x + proj(attention(qkv(LayerNorm(x)))), z = y + W2·GELU(W1·LayerNorm(y)),
// each product with a bias; heads of 64 elements, each token sees those before it and itself.
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
  std::int64_t tokens;  ///< of a sequence
  std::int64_t hidden;

  __host__ __device__ std::int64_t rows() const { return sequences * tokens; }
  __host__ __device__ std::int64_t heads() const { return width / kHeadDim; }
};

inline attention::Problem attention_of(const Problem& p) {
  return {p.sequences, p.heads(), 1, p.tokens, p.tokens, kHeadDim, p.dtype, attention::Mask::causal,
          p.tokens,    0.0};
}

/// Where the parameters are in arrays of all: matrices, and behind them vectors. Each begins at a
/// multiple of 256 bytes of fp32; what lies between is zero and stays it.
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
/// In the order of memory.
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
inline std::int64_t outer(const Problem& p) {  // elements of activations, rows × width
  return p.rows() * p.width;
}
inline std::int64_t inner(const Problem& p) {  // rows × hidden
  return p.rows() * p.hidden;
}
inline std::int64_t head_rows(const Problem& p) {
  return p.rows() * p.heads();
}

inline HeadPlaces head_places(const Problem& p) {
  return {p.rows()};
}

/// Matrices are row-major; of heads: HeadPlaces. A name with d is of a gradient.
struct Data {
  void* x;
  float* target;
  float *weights_before, *m_before, *v_before;
  std::int32_t* state_before;
  void *n1, *n2;              // LayerNorm of x and of y
  void *h, *a;                // before GELU and behind it
  void *n1_again, *n2_again;  // the same, as backward computes them again
  void *h_again, *a_again;
  float* statistics;  // of rows: the means of x, 1/deviations of x, means of y, 1/deviations of y
  void* qkv;          // of heads, each of the three behind the other
  void* o;            // of heads: attention's result
  float* log_sum;
  void* merged;  // o in rows
  void *y, *z;
  void *dz, *dh, *dn2, *dy;
  void* d_o;           // of heads
  void *dq, *dk, *dv;  // of heads
  void* dqkv;          // the three in rows
  void* dn1;
  float* loss;
  float *gradients, *weights, *m, *v;
  void* copy;
  std::int32_t* state;
};
/// Positions of the outputs, in the order in which declare() names them.
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

// ---- what a step keeps

/// Bytes that forward leaves for backward: n1, Q, K, V, O, its merged rows, y, n2, z's gradient,
/// and h, a; or these without what is computed again. fp32 are what norms and attention keep of
/// rows.
inline double kept_bytes(const Problem& p, bool recomputes) {
  const std::int64_t size = static_cast<std::int64_t>(size_of(p.dtype));
  const std::int64_t of_outer = recomputes ? 7 : 9, of_inner = recomputes ? 0 : 2;
  constexpr std::int64_t kFloat = sizeof(float);
  return static_cast<double>(size * (of_outer * outer(p) + of_inner * inner(p)) +
                             kFloat * (4 * p.rows() + head_rows(p)));
}

/// What lives at a time at most: weights with all that AdamW has of them, x and the targets; and
/// in the MLP's backward part what forward kept, with n2, h and a again, and the gradients by these
/// two, or, where the MLP is narrow, what attention's gradients are made of and into.
inline double peak_bytes(const Problem& p, bool recomputes) {
  const double size = static_cast<double>(size_of(p.dtype));
  const double of_weights = p.dtype == DataType::fp32 ? 16 : 16 + size;
  const auto of_outer = static_cast<double>(outer(p));
  const auto of_inner = static_cast<double>(inner(p));
  const double again = recomputes ? size * (of_outer + 2 * of_inner) : 0.0;
  const double of_mlp = kept_bytes(p, recomputes) + again + size * (of_outer + of_inner);
  constexpr double kOfAttention = 10;  // n1, Q, K, V, O, and the gradients by y, O, Q, K, V
  return of_weights * static_cast<double>(parameters(p)) + (size + sizeof(float)) * of_outer +
         std::max(of_mlp, size * kOfAttention * of_outer);
}

// ---- work

/// What the results need, once.
inline Work work(const Problem& p) {
  const auto rows = static_cast<double>(p.rows());
  const double of_products = 2.0 * rows * static_cast<double>(4 * p.width * p.width) +
                             2.0 * rows * static_cast<double>(2 * p.width * p.hidden);
  const double of_scores = attention::product_operations(attention_of(p));
  const std::int64_t matrices = 4 * p.width * p.width + 2 * p.width * p.hidden;
  const std::int64_t all = matrices + 9 * p.width + p.hidden;  // γ, β, and biases
  const auto size = static_cast<std::int64_t>(size_of(p.dtype));
  constexpr std::int64_t kFloat = sizeof(float);
  const auto kept = static_cast<std::int64_t>(kept_bytes(p, false));
  StepWork w;
  if (p.has(Phase::forward)) {
    w.read += size * (outer(p) + matrices) + kFloat * outer(p);
    w.written += kept + size * outer(p);
    w.of_products += of_products + 2 * of_scores;
    w.others += 10.0 * static_cast<double>(inner(p)) + 20.0 * static_cast<double>(outer(p));
  }
  if (p.has(Phase::backward)) {
    if (p.phase == Phase::backward) w.read += kept + size * matrices;  // a step has them
    w.written += size * (inner(p) + 10 * outer(p)) + kFloat * all;
    w.of_products += 2 * of_products + 5 * of_scores;
    w.others += 16.0 * static_cast<double>(inner(p)) + 30.0 * static_cast<double>(outer(p));
  }
  if (p.has(Phase::update)) w.add_update(p, all);
  return w.work(p);
}

// ---- inputs

/// Tokens whose elements are random; the first one of each sequence has a mark in its first
/// element, by which others can find it.
template <class T>
struct Tokens {
  Uniform<T> random;
  std::int64_t width, tokens;
  __host__ __device__ T operator()(std::int64_t i) const {
    constexpr float kMark = 4.0f;
    return i % (width * tokens) == 0 ? from_float<T>(kMark) : random(i);
  }
};

/// Each token and its sequence's first one: a product by itself cannot find that. A step's overflow
/// is planted in the first target, `far_off`.
template <class T>
struct Target {
  Tokens<T> x;
  float far_off;
  __host__ __device__ float operator()(std::int64_t i) const {
    if (far_off != 0.0f && i == 0) return far_off;
    const std::int64_t each = x.width * x.tokens;
    return static_cast<float>(x(i)) + static_cast<float>(x(i / each * each + i % x.width));
  }
};

/// A planted overflow has to come last of all: infinities on their way through sums of both signs
/// would become NaN, which no reference equals. The first target makes the first row of gradients
/// 2^13 or so, hundreds of times the others. Some weights of V are large, of columns that γ and β
/// leave at zero, so that forward does not see them: in the gradient by their LayerNorm's result,
/// which only that of γ and β is made of, the first row is beyond fp16, and no other. The first
/// rows of other sequences are the next largest, since all tokens behind them add to theirs: two of
/// different signs beyond fp16 would make NaN.
inline constexpr int kPlantedColumns = 16;
inline constexpr float kPlantedWeight = 12.0f;
inline constexpr float kPlantedGradient = 8192.0f;

/// Matrices with the variance 1/rows, γ around 1, β and biases small.
struct FirstWeights {
  std::uint64_t seed;
  Layout at;
  std::int64_t width, hidden;
  float of_width, of_hidden;
  bool overflow;

  __host__ __device__ float operator()(std::int64_t i) const {
    constexpr float kSmall = 0.125f, kAroundOne = 0.25f;
    const float random = random_signed(seed, static_cast<std::uint64_t>(i));
    if (i < at.w1) {
      const bool is_planted =
          overflow && i < kPlantedColumns * 3 * width && i % (3 * width) >= 2 * width;
      return is_planted ? copysignf(kPlantedWeight, random) : of_width * random;
    }
    if (i < at.w2) return i < at.w1 + width * hidden ? of_width * random : 0.0f;
    if (i < at.gamma1) return i < at.w2 + width * hidden ? of_hidden * random : 0.0f;
    if (i < at.gamma2) {
      if (overflow && (i - at.gamma1) % width < kPlantedColumns) return 0.0f;
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

/// Of the loss: twice its gradient's factor, 2 / elements.
inline float two_over_elements(const Problem& p) {
  return static_cast<float>(2.0 / static_cast<double>(outer(p)));
}
inline State first_state(const Problem& p) {
  return training::first_state(p, outer(p));
}

inline Steps inputs(const Problem& p, const Data& d, std::uint64_t seed) {
  const FirstWeights weights = first_weights(p, stream_seed(seed, 1));
  const State state = first_state(p);
  const float far_off =
      p.overflow ? kPlantedGradient / std::ldexp(two_over_elements(p), state.scale_log2) : 0.0f;
  return fill_parameters(p, d, weights, parameters(p), state) + with_type(p, [&](auto zero) {
           using T = decltype(zero);
           const Tokens<T> x{{stream_seed(seed, 0), 1.0f}, p.width, p.tokens};
           return fill(static_cast<T*>(d.x), outer(p), x) +
                  fill(d.target, outer(p), Target<T>{x, far_off});
         });
}

// ---- what a launch finds

/// log Σ e^s of scores that are small, about the logarithm of how many a token sees: between powers
/// of two along a straight line, of operations that host and device round alike.
struct FoundLogSum {
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
/// Means around 0, and 1/deviations around 1.5.
struct FoundStatistics {
  std::int64_t rows;
  __host__ __device__ float operator()(std::int64_t i) const {
    constexpr float kDeviation = 1.5f, kSpread = 0.125f;
    return (i / rows % 2 == 0 ? 0.0f : kDeviation) +
           kSpread * random_signed(21, static_cast<std::uint64_t>(i));
  }
};

/// What backward finds by itself: numbers like those that forward leaves.
template <class T>
struct Found {
  Uniform<T> n1{11, 1.5f}, n2{12, 1.5f}, h{13, 1.0f}, a{14, 0.5f}, qkv{16, 1.0f}, o{17, 0.5f},
      y{18, 1.0f}, dz{19, 1.0f / 64};
  Uniform<T> merged{20, 0.5f};
};

template <class T>
Steps reset_as(const Problem& p, const Data& d) {
  const Found<T> found;
  Steps steps = given(p, d.n1, outer(p), found.n1) + given(p, d.n2, outer(p), found.n2) +
                given(p, d.h, inner(p), found.h) + given(p, d.a, inner(p), found.a) +
                given(p, d.qkv, 3 * outer(p), found.qkv) + given(p, d.o, outer(p), found.o) +
                given(p, d.merged, outer(p), found.merged) + given(p, d.y, outer(p), found.y) +
                given(p, d.dz, outer(p), found.dz);
  for (void* to : {d.n1_again, d.n2_again, d.z, d.dn2, d.dy, d.d_o, d.dq, d.dk, d.dv, d.dn1})
    steps += unwritten<T>(to, outer(p));
  for (void* to : {d.h_again, d.a_again, d.dh})
    steps += unwritten<T>(to, inner(p));
  steps += unwritten<T>(d.dqkv, 3 * outer(p));
  if (p.phase == Phase::backward) {
    steps += fill(d.statistics, 4 * p.rows(), FoundStatistics{p.rows()});
    steps += fill(d.log_sum, head_rows(p), FoundLogSum{static_cast<int>(p.tokens)});
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
