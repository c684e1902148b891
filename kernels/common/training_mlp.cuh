// Training of a network of layers x + GELU(x·W1 + b1)·W2 + b2: the problem, its buffers, its
// inputs, and the contents of the buffers before a launch of a step or of one phase.
#pragma once

#include "kernels/common/training_problem.cuh"

namespace gpuexp::training {

struct Problem : StepProblem {
  std::int64_t batch;
  std::int64_t width;
  std::int64_t hidden;
  int layers;
  std::int64_t rows() const { return batch; }
};

/// Offsets of a layer's parameters in arrays of all parameters, in elements. Each parameter
/// starts at a multiple of 256 bytes of fp32. The gaps are zero and stay zero.
struct Layout {
  std::int64_t w1, w2, b1, b2, each;
};
inline Layout layout(const Problem& p) {
  Layout at{};
  at.w2 = aligned(p.width * p.hidden);
  at.b1 = at.w2 + aligned(p.width * p.hidden);
  at.b2 = at.b1 + aligned(p.hidden);
  at.each = at.b2 + aligned(p.width);
  return at;
}
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
inline std::int64_t outer(
    const Problem& p) {  // number of elements of batch × width activations, padded
  return aligned(p.batch * p.width);
}
inline std::int64_t inner(
    const Problem& p) {  // number of elements of batch × hidden activations, padded
  return aligned(p.batch * p.hidden);
}

/// Buffers of a step. Matrices are row-major, and the activations of the layers are contiguous.
/// `stream` has the result of each layer, and `dx` the gradient of the loss by this result.
struct Data {
  void* x;
  float* target;
  float *weights_before, *m_before, *v_before;
  std::int32_t* state_before;
  void *h, *a;  // inputs and results of GELU, stored by forward
  void *h_recomputed, *a_recomputed;
  void *stream, *dx, *dh;
  float* loss;
  float *gradients, *weights, *m, *v;
  void* copy;
  std::int32_t* state;
};
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

// ---- work

/// The minimum work of the launched phases. Each array is transferred once.
inline Work work(const Problem& p) {
  const double products =
      static_cast<double>(p.batch) * static_cast<double>(p.width) * static_cast<double>(p.hidden);
  const std::int64_t weights = 2 * p.layers * p.width * p.hidden,
                     outer_elements = p.batch * p.width;
  const std::int64_t biases = p.layers * (p.width + p.hidden), all = weights + biases;
  const std::int64_t inner_elements = p.layers * p.batch * p.hidden;
  const auto size = static_cast<std::int64_t>(size_of(p.dtype));
  constexpr std::int64_t kFloat = sizeof(float);
  StepWork w;
  if (p.has(Phase::forward)) {
    w.read += size * (outer_elements + weights) + kFloat * (biases + outer_elements);
    w.written += size * (2 * inner_elements + (p.layers + 1) * outer_elements);
    w.product_operations += 4 * p.layers * products;
    w.others += 10.0 * static_cast<double>(inner_elements);
  }
  if (p.has(Phase::backward)) {
    if (p.phase == Phase::backward)  // in a whole step, the forward pass leaves these arrays
      w.read += size * (2 * inner_elements + (p.layers + 1) * outer_elements + weights);
    w.written += size * (inner_elements + (p.layers - 1) * outer_elements) + kFloat * all;
    w.product_operations += (8 * p.layers - 2) * products;
    w.others += 16.0 * static_cast<double>(inner_elements);
  }
  if (p.has(Phase::update)) w.add_update(p, all);
  return w.work(p);
}

/// Peak memory of a step in bytes, at the start of the backward pass. It consists of the weights
/// with gradients, moments and copies, x, the targets, the results of all layers, h and a of
/// `kept` layers, and the gradients by two layers' results and by one layer's h.
inline double peak_bytes(const Problem& p, int kept) {
  const double size = static_cast<double>(size_of(p.dtype));
  const double of_weights = p.dtype == DataType::fp32 ? 16 : 16 + size;
  const auto outer_elements = static_cast<double>(p.batch * p.width);
  const auto inner_elements = static_cast<double>(p.batch * p.hidden);
  return of_weights * static_cast<double>(parameters(p)) +
         outer_elements * (size * (p.layers + 1) + sizeof(float)) +
         inner_elements * size * 2 * kept + size * (2 * outer_elements + inner_elements);
}

// ---- inputs

/// Targets: the result of a fixed network with one hidden layer, x + relu(x[next] - x), whose
/// units read two neighbouring elements each. With `overflow`, the first target is so large that
/// its gradient overflows.
template <class T>
struct Target {
  Uniform<T> x;
  std::int64_t width;
  bool overflow;
  __host__ __device__ float operator()(std::int64_t i) const {
    constexpr float kOverflowTarget = 1e10f;
    if (overflow && i == 0) return kOverflowTarget;
    const std::int64_t next = i % width + 1 == width ? i + 1 - width : i + 1;
    const float own = static_cast<float>(x(i));
    const float other = static_cast<float>(x(next));
    return own + fmaxf(other - own, 0.0f);
  }
};

/// Initial weights: matrices with a variance of 1/(number of rows), and small biases.
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

inline FirstWeights first_weights(const Problem& p, std::uint64_t seed) {
  const auto scale = [](std::int64_t rows) {
    return static_cast<float>(std::sqrt(3.0 / static_cast<double>(rows)));
  };
  return {seed, layout(p), p.width * p.hidden, p.hidden, p.width, scale(p.width), scale(p.hidden)};
}

inline Steps inputs(const Problem& p, const Data& d, std::uint64_t seed) {
  const std::int64_t n = p.batch * p.width;
  const FirstWeights weights = first_weights(p, stream_seed(seed, 1));
  return fill_parameters(p, d, weights, parameters(p), first_state(p, n)) +
         with_type(p, [&](auto zero) {
           using T = decltype(zero);
           const Uniform<T> x{stream_seed(seed, 0), 1.0f};
           return fill(static_cast<T*>(d.x), n, x) +
                  fill(d.target, n, Target<T>{x, p.width, p.overflow});
         });
}

// ---- contents of buffers before a launch

/// Initial contents of buffers for a launch without the forward pass: random values in the ranges
/// of the forward pass's results.
template <class T>
struct InitialContents {
  Uniform<T> h{11, 1.0f}, a{12, 0.5f}, stream{13, 1.0f}, dx{14, 1.0f / 64};
};

template <class T>
Steps reset_as(const Problem& p, const Data& d) {
  const InitialContents<T> found;
  const std::int64_t inner_elements = p.layers * inner(p), outer_elements = p.layers * outer(p);
  Steps steps = given(p, d.h, inner_elements, found.h) + given(p, d.a, inner_elements, found.a) +
                given(p, d.stream, outer_elements, found.stream);
  for (void* to : {d.h_recomputed, d.a_recomputed, d.dh})
    steps += unwritten<T>(to, inner_elements);
  steps += unwritten<T>(d.dx, outer_elements);
  if (p.phase == Phase::backward) {
    T* const last = static_cast<T*>(d.dx) + (p.layers - 1) * outer(p);
    steps += fill(last, outer(p), found.dx);
    if (p.overflow) steps += inject_infinity(last);
  }
  return steps + unwritten<float>(d.loss, 1) + reset_parameters<T>(p, d, tensors(p), parameters(p));
}

inline Steps reset(const Problem& p, const Data& d) {
  return with_type(p, [&](auto zero) { return reset_as<decltype(zero)>(p, d); });
}

}  // namespace gpuexp::training
