// A network of layers x + GELU(x·W1 + b1)·W2 + b2 in training: its problem and buffers, and what a
// step, or a phase of it, finds.
#pragma once

#include <algorithm>
#include <cmath>
#include <vector>

#include "kernels/common/launch.cuh"
#include "kernels/common/random.cuh"
#include "kernels/common/training_update.cuh"

namespace gpuexp::training {

enum class Phase { step, forward, backward, update };

struct Problem {
  std::int64_t batch;
  std::int64_t width;
  std::int64_t hidden;
  int layers;
  DataType dtype;
  Phase phase;
  bool overflow;  // planted
  int steps_before;
  int growth_interval;
  double learning_rate;

  __host__ __device__ bool has(Phase part) const { return phase == Phase::step || phase == part; }
};

/// Where the parameters of a layer are in arrays of all; each begins at a multiple of 256 bytes of
/// fp32, and what lies between is zero and stays it.
struct Layout {
  std::int64_t w1, w2, b1, b2, each;
};
inline constexpr std::int64_t kAlignment = 64;
constexpr std::int64_t aligned(std::int64_t elements) {
  return ceil_div(elements, kAlignment) * kAlignment;
}
inline Layout layout(const Problem& p) {
  Layout at{};
  at.w2 = aligned(p.width * p.hidden);
  at.b1 = at.w2 + aligned(p.width * p.hidden);
  at.b2 = at.b1 + aligned(p.hidden);
  at.each = at.b2 + aligned(p.width);
  return at;
}
struct Tensor {
  std::int64_t first, count;
};
inline std::vector<Tensor> tensors(const Problem& p) {
  std::vector<Tensor> all;
  const Layout at = layout(p);
  for (std::int64_t first = 0; first < p.layers * at.each; first += at.each) {
    for (const Tensor& t : {Tensor{0, p.width * p.hidden}, Tensor{at.w2, p.width * p.hidden},
                            Tensor{at.b1, p.hidden}, Tensor{at.b2, p.width}})
      all.push_back({first + t.first, t.count});
  }
  return all;
}
inline std::int64_t parameters(const Problem& p) {
  return p.layers * layout(p).each;
}
inline std::int64_t outer(const Problem& p) {  // of activations of a layer, batch × width
  return aligned(p.batch * p.width);
}
inline std::int64_t inner(const Problem& p) {  // likewise batch × hidden
  return aligned(p.batch * p.hidden);
}

/// Matrices are row-major; arrays of a layer's activations lie one behind the other. `stream` and
/// `dx` have what each layer gives, and the gradient by it.
struct Data {
  void* x;
  float* target;
  float *weights_before, *m_before, *v_before;
  std::int32_t* state_before;
  void *h, *a;              // before GELU and behind it, as forward leaves them
  void *h_again, *a_again;  // as backward computes them again
  void *stream, *dx, *dh;
  float* loss;
  float *gradients, *weights, *m, *v;
  void* copy;
  std::int32_t* state;
};
/// Positions of the outputs, in the order in which declare() names them.
enum Output {
  kH,
  kA,
  kHAgain,
  kAAgain,
  kStream,
  kDx,
  kDh,
  kLoss,
  kGradients,
  kWeights,
  kM,
  kV,
  kCopy,
  kState
};

__host__ __device__ inline bool is_scaled(const Problem& p) {
  return p.dtype == DataType::fp16;
}

/// A step of another phase leaves these alone, and their gaps; no result is like that.
inline constexpr unsigned char kUnwritten = 0x3b;
template <class T>
inline constexpr double kUnwrittenValue = 0;
template <>
inline constexpr double kUnwrittenValue<float> = 0x1.767676p-9;
template <>
inline constexpr double kUnwrittenValue<__nv_bfloat16> = 0x1.76p-9;
template <>
inline constexpr double kUnwrittenValue<__half> = 0x1.cecp-1;

/// Calls f with a value of the type of activations.
template <class Function>
auto with_type(const Problem& p, Function f) {
  if (p.dtype == DataType::bf16) return f(__nv_bfloat16{});
  if (p.dtype == DataType::fp16) return f(__half{});
  return f(float{});
}

// ---- work

/// What the results need, once.
inline Work work(const Problem& p) {
  const double products =
      static_cast<double>(p.batch) * static_cast<double>(p.width) * static_cast<double>(p.hidden);
  const std::int64_t weights = 2 * p.layers * p.width * p.hidden, of_outer = p.batch * p.width;
  const std::int64_t biases = p.layers * (p.width + p.hidden), all = weights + biases;
  const std::int64_t of_inner = p.layers * p.batch * p.hidden;
  const auto size = static_cast<std::int64_t>(size_of(p.dtype));
  constexpr std::int64_t kFloat = sizeof(float);
  const bool copies = p.dtype != DataType::fp32;
  std::int64_t read = 0, written = 0;
  double of_products = 0, others = 0;
  if (p.has(Phase::forward)) {
    read += size * (of_outer + weights) + kFloat * (biases + of_outer);
    written += size * (2 * of_inner + (p.layers + 1) * of_outer);
    of_products += 4 * p.layers * products;
    others += 10.0 * static_cast<double>(of_inner);
  }
  if (p.has(Phase::backward)) {
    if (p.phase == Phase::backward)  // a step has them from its forward pass
      read += size * (2 * of_inner + (p.layers + 1) * of_outer + weights);
    written += size * (of_inner + (p.layers - 1) * of_outer) + kFloat * all;
    of_products += (8 * p.layers - 2) * products;
    others += 16.0 * static_cast<double>(of_inner);
  }
  if (p.has(Phase::update)) {
    read += kFloat * (p.phase == Phase::step ? 3 : 4) * all;
    written += (3 * kFloat + (copies ? size : 0)) * all;
    others += 15.0 * static_cast<double>(all);
  }
  Work w;
  w.bytes_read = w.moved_read = static_cast<double>(read);
  w.bytes_written = w.moved_written = static_cast<double>(written);
  w.operations = {{Pipe::fp32, others + (copies ? 0 : of_products)}};
  if (copies && of_products > 0)
    w.operations.push_back(
        {is_scaled(p) ? Pipe::tensor_fp16_fp32 : Pipe::tensor_bf16_fp32, of_products});
  return w;
}

/// What lives at a time at most, in the backward pass of the layer that comes first: weights with
/// all that AdamW has of them, what forward kept of so many layers' activations, and the gradients
/// by two layers' results and by one layer's h.
inline double peak_bytes(const Problem& p, int kept) {
  const double size = static_cast<double>(size_of(p.dtype));
  const double of_weights = p.dtype == DataType::fp32 ? 16 : 16 + size;
  const auto of_outer = static_cast<double>(p.batch * p.width);
  const auto of_inner = static_cast<double>(p.batch * p.hidden);
  return of_weights * static_cast<double>(parameters(p)) +
         of_outer * (size * (p.layers + 1) + sizeof(float)) + of_inner * size * 2 * kept +
         size * (2 * of_outer + of_inner);
}

// ---- inputs

template <class T>
struct Uniform {
  std::uint64_t seed;
  float scale;
  __host__ __device__ T operator()(std::int64_t i) const {
    return from_float<T>(scale * random_signed(seed, static_cast<std::uint64_t>(i)));
  }
};

/// What a fixed network of one hidden layer makes of x, whose units see two neighbours each:
/// x + relu(x[next] - x). A step's overflow is planted in the first target.
template <class T>
struct Target {
  Uniform<T> x;
  std::int64_t width;
  bool overflow;
  __host__ __device__ float operator()(std::int64_t i) const {
    constexpr float kFarOff = 1e10f;
    if (overflow && i == 0) return kFarOff;
    const std::int64_t next = i % width + 1 == width ? i + 1 - width : i + 1;
    const float own = static_cast<float>(x(i));
    const float other = static_cast<float>(x(next));
    return own + fmaxf(other - own, 0.0f);
  }
};

/// Weights with the variance 1/(rows of the matrix), and small biases.
struct FirstWeights {
  std::uint64_t seed;
  Layout at;
  std::int64_t matrix, hidden, width;
  float scale1, scale2;
  __host__ __device__ float operator()(std::int64_t i) const {
    constexpr float kBiases = 0.1f;
    const std::int64_t place = i % at.each;
    float scale = 0.0f;
    if (place < matrix) scale = scale1;
    if (place >= at.w2 && place < at.w2 + matrix) scale = scale2;
    if (place >= at.b1 && place < at.b1 + hidden) scale = kBiases;
    if (place >= at.b2 && place < at.b2 + width) scale = kBiases;
    return scale == 0.0f ? 0.0f : scale * random_signed(seed, static_cast<std::uint64_t>(i));
  }
};

/// Moments as earlier steps may have left them: none before the first.
struct FirstMoments {
  FirstWeights of;
  bool squares;
  float scale;
  __host__ __device__ float operator()(std::int64_t i) const {
    if (scale == 0.0f || of(i) == 0.0f) return 0.0f;
    return scale * (squares ? 0.5f + random_unit(of.seed + 2, static_cast<std::uint64_t>(i))
                            : random_signed(of.seed + 1, static_cast<std::uint64_t>(i)));
  }
};

/// What a launch finds of the state. The scale is as large as small problems allow: their gradients
/// are divided by few elements.
inline State first_state(const Problem& p) {
  State s{0, 0, p.steps_before, p.overflow && p.phase == Phase::update ? 1 : 0};
  if (!is_scaled(p)) return s;
  constexpr int kRoom = 8;
  const double elements = static_cast<double>(p.batch) * static_cast<double>(p.width);
  s.scale_log2 = std::min(kFirstScaleLog2, kRoom + std::ilogb(elements));
  s.good_steps = p.steps_before % p.growth_interval;
  return s;
}
struct StateField {
  State s;
  __host__ __device__ std::int32_t operator()(std::int64_t i) const {
    return i == 0 ? s.scale_log2 : i == 1 ? s.good_steps : i == 2 ? s.steps : s.overflow;
  }
};

inline FirstWeights first_weights(const Problem& p, std::uint64_t seed) {
  const auto scale = [](std::int64_t rows) {
    return static_cast<float>(std::sqrt(3.0 / static_cast<double>(rows)));
  };
  return {seed, layout(p), p.width * p.hidden, p.hidden, p.width, scale(p.width), scale(p.hidden)};
}

inline Steps inputs(const Problem& p, const Data& d, std::uint64_t seed) {
  const std::int64_t n = p.batch * p.width;
  const FirstWeights weights = first_weights(p, stream_seed(seed, 1));
  const bool is_first = p.steps_before == 0;
  Steps steps = with_type(p, [&](auto zero) {
    using T = decltype(zero);
    const Uniform<T> x{stream_seed(seed, 0), 1.0f};
    return fill(static_cast<T*>(d.x), n, x) + fill(d.target, n, Target<T>{x, p.width, p.overflow});
  });
  steps += fill(d.weights_before, parameters(p), weights);
  steps += fill(d.m_before, parameters(p), FirstMoments{weights, false, is_first ? 0.0f : 1e-3f});
  steps += fill(d.v_before, parameters(p), FirstMoments{weights, true, is_first ? 0.0f : 1e-6f});
  return steps + fill(d.state_before, kStateFields, StateField{first_state(p)});
}

// ---- what a launch finds

/// What phases find that begin in the middle: numbers like those that the phases before leave.
template <class T>
struct Found {
  Uniform<T> h{11, 1.0f}, a{12, 0.5f}, stream{13, 1.0f}, dx{14, 1.0f / 64};
  Uniform<float> gradients{15, 1.0f / 64};
};

template <class T>
struct RoundedWeights {
  const float* weights;
  __host__ __device__ T operator()(std::int64_t i) const { return from_float<T>(weights[i]); }
};

template <class T>
Steps reset_as(const Problem& p, const Data& d) {
  const Found<T> found;
  const std::int64_t bytes = static_cast<std::int64_t>(sizeof(T));
  const std::int64_t n = parameters(p);
  const auto unwritten = [](void* to, std::int64_t count_bytes) {
    return Steps(MemsetStep{to, kUnwritten, count_bytes});
  };
  const auto copy = [&](float* to, const float* from) {
    return Steps(CopyStep{to, from, n * std::int64_t{sizeof(float)}});
  };
  const bool is_backward = p.phase == Phase::backward;
  const auto given = [&](void* to, std::int64_t count, const Uniform<T>& of) {
    return is_backward ? fill(static_cast<T*>(to), count, of) : unwritten(to, count * bytes);
  };
  const std::int64_t of_inner = p.layers * inner(p), of_outer = p.layers * outer(p);
  Steps steps = given(d.h, of_inner, found.h) + given(d.a, of_inner, found.a) +
                given(d.stream, of_outer, found.stream);
  for (void* to : {d.h_again, d.a_again, d.dh})
    steps += unwritten(to, of_inner * bytes);
  steps += unwritten(d.dx, of_outer * bytes);
  if (is_backward) {
    T* const last = static_cast<T*>(d.dx) + (p.layers - 1) * outer(p);
    steps += fill(last, outer(p), found.dx);
    if (p.overflow) {  // infinity in fp16
      unsigned char* const first = reinterpret_cast<unsigned char*>(last);
      steps += MemsetStep{first, 0x00, 1};
      steps += MemsetStep{first + 1, 0x7c, 1};
    }
  }
  steps += unwritten(d.loss, sizeof(float));
  if (p.phase == Phase::update) {
    steps += fill(d.gradients, n, found.gradients);
  } else {
    steps += unwritten(d.gradients, n * std::int64_t{sizeof(float)});
  }
  std::int64_t end = 0;  // of the tensor before
  const auto clear_to = [&](std::int64_t first) {
    if (first > end)
      steps += MemsetStep{d.gradients + end, 0, (first - end) * std::int64_t{sizeof(float)}};
  };
  for (const Tensor& t : tensors(p)) {
    clear_to(t.first);
    end = t.first + t.count;
  }
  clear_to(n);
  steps += copy(d.weights, d.weights_before) + copy(d.m, d.m_before) + copy(d.v, d.v_before);
  if constexpr (!std::is_same<T, float>::value)
    steps += fill(static_cast<T*>(d.copy), n, RoundedWeights<T>{d.weights_before});
  return steps + CopyStep{d.state, d.state_before, sizeof(State)};
}

inline Steps reset(const Problem& p, const Data& d) {
  return with_type(p, [&](auto zero) { return reset_as<decltype(zero)>(p, d); });
}

}  // namespace gpuexp::training
