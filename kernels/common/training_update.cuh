// The update of a training step, computed entirely on the device: AdamW on fp32 master weights, a
// 16-bit copy of the weights for the network, and the loss scale.
//
// AdamW: Loshchilov and Hutter, "Decoupled Weight Decay Regularization", ICLR 2019, algorithm 2.
// Loss scaling: Micikevicius and others, "Mixed Precision Training", ICLR 2018, section 3.2. If a
// gradient of a step is not finite, the step halves the loss scale and leaves weights and moments
// unchanged.
#pragma once

#include <cmath>
#include <vector>

#include "kernels/common/family.cuh"
#include "kernels/common/float_vector.cuh"
#include "kernels/common/types.cuh"

namespace gpuexp::training {

struct State {
  std::int32_t scale_log2;  ///< gradients are multiplied by 2^scale_log2
  std::int32_t good_steps;  ///< number of steps without overflow since the scale changed
  std::int32_t steps;       ///< number of steps that changed the weights
  std::int32_t overflow;    ///< 1 if a gradient of the current step is not finite
};
inline constexpr int kStateFields = sizeof(State) / sizeof(std::int32_t);
inline constexpr int kFirstScaleLog2 = 16;  // initial value of PyTorch's GradScaler

struct AdamW {
  float rate;
  float decay_factor;  ///< factor of the weights: 1 - learning rate × weight decay
  float beta1 = 0.9f, one_minus_beta1 = 0.1f, log_beta1;
  float beta2 = 0.999f, one_minus_beta2 = 0.001f, log_beta2;
  float epsilon = 1e-8f;
};
inline AdamW adamw(double learning_rate) {
  constexpr double kDecay = 0.01;
  AdamW a;
  a.rate = static_cast<float>(learning_rate);
  a.decay_factor = static_cast<float>(1.0 - learning_rate * kDecay);
  a.log_beta1 = static_cast<float>(std::log(0.9));
  a.log_beta2 = static_cast<float>(std::log(0.999));
  return a;
}

/// Position of a tensor in arrays of all parameters, in elements.
struct Tensor {
  std::int64_t first, count;
};
/// Arrays of all parameters. Element i of each array belongs to weight i.
template <class T>
struct Parameters {
  const float* gradients;
  float* weights;
  float* m;  ///< running means of gradients
  float* v;  ///< running means of squared gradients
  T* copy;
};

inline constexpr int kUpdateBlock = 256;
inline constexpr int kUpdateWidth = 4;  // 16 bytes of each fp32 array per lane

// 1 - beta^step, by which AdamW divides the moments because they start at zero. expm1f avoids
// cancellation.
__device__ inline float bias_correction(float log_beta, int step) {
  return -expm1f(static_cast<float>(step) * log_beta);
}

template <int kCount, bool kCopies, class T>
__device__ void update_elements(const Parameters<T>& p, const AdamW& a, float unscale,
                                float correction1, float correction2, std::int64_t i) {
  float g[kCount], w[kCount], m[kCount], v[kCount];
  load_floats(p.gradients + i, g);
  load_floats(p.weights + i, w);
  load_floats(p.m + i, m);
  load_floats(p.v + i, v);
#pragma unroll
  for (int j = 0; j < kCount; ++j) {
    const float gradient = g[j] * unscale;
    m[j] = fmaf(a.beta1, m[j], a.one_minus_beta1 * gradient);
    v[j] = fmaf(a.beta2, v[j], a.one_minus_beta2 * gradient * gradient);
    const float step = m[j] / correction1 / (sqrtf(v[j] / correction2) + a.epsilon);
    w[j] = fmaf(-a.rate, step, a.decay_factor * w[j]);
  }
  store_floats(p.weights + i, w);
  store_floats(p.m + i, m);
  store_floats(p.v + i, v);
  if constexpr (kCopies) store_floats(p.copy + i, w);
}

template <bool kCopies, class T>
__global__ void __launch_bounds__(kUpdateBlock)
    update_kernel(Parameters<T> p, std::int64_t n, AdamW a, const State* state) {
  if (state->overflow != 0) return;
  const float unscale = ldexpf(1.0f, -state->scale_log2);
  const float correction1 = bias_correction(a.log_beta1, state->steps + 1);
  const float correction2 = bias_correction(a.log_beta2, state->steps + 1);
  const std::int64_t first =
      (static_cast<std::int64_t>(blockIdx.x) * kUpdateBlock + threadIdx.x) * kUpdateWidth;
  if (first + kUpdateWidth <= n) {
    update_elements<kUpdateWidth, kCopies>(p, a, unscale, correction1, correction2, first);
  } else {
#pragma unroll 1
    for (std::int64_t i = first; i < n; ++i)
      update_elements<1, kCopies>(p, a, unscale, correction1, correction2, i);
  }
}

template <class T>
__global__ void __launch_bounds__(kUpdateBlock)
    copy_weights_kernel(const float* weights, T* copy, std::int64_t n) {
  const std::int64_t first =
      (static_cast<std::int64_t>(blockIdx.x) * kUpdateBlock + threadIdx.x) * kUpdateWidth;
  const auto copy_elements = [&](auto count, std::int64_t i) {
    float w[count()];
    load_floats(weights + i, w);
    store_floats(copy + i, w);
  };
  if (first + kUpdateWidth <= n) {
    copy_elements(std::integral_constant<int, kUpdateWidth>{}, first);
  } else {
#pragma unroll 1
    for (std::int64_t i = first; i < n; ++i)
      copy_elements(std::integral_constant<int, 1>{}, i);
  }
}

/// False also for NaN.
__device__ inline bool is_finite(float x) {
  return fabsf(x) <= 3.402823466e38f;
}

inline __global__ void __launch_bounds__(kUpdateBlock)
    check_gradients_kernel(const float* gradients, std::int64_t n, State* state) {
  const std::int64_t first =
      (static_cast<std::int64_t>(blockIdx.x) * kUpdateBlock + threadIdx.x) * kUpdateWidth;
  bool overflow = false;
  if (first + kUpdateWidth <= n) {
    float g[kUpdateWidth];
    load_floats(gradients + first, g);
#pragma unroll
    for (const float x : g)
      overflow |= !is_finite(x);
  } else {
#pragma unroll 1
    for (std::int64_t i = first; i < n; ++i)
      overflow |= !is_finite(gradients[i]);
  }
  if (__syncthreads_or(overflow) != 0 && threadIdx.x == 0) atomicOr(&state->overflow, 1);
}

/// The state after a step, which an overflow skips. `interval` is the number of steps without
/// overflow after which the scale doubles; 0: no loss scaling.
__host__ __device__ inline State next_state(State s, int interval) {
  if (interval == 0) {
    ++s.steps;
  } else if (s.overflow != 0) {
    s.scale_log2 = s.scale_log2 > 0 ? s.scale_log2 - 1 : 0;
    s.good_steps = 0;
  } else {
    ++s.steps;
    ++s.good_steps;
    if (s.good_steps >= interval) {
      ++s.scale_log2;
      s.good_steps = 0;
    }
  }
  return s;
}
inline __global__ void end_step_kernel(State* state, int interval) {
  *state = next_state(*state, interval);
}

// ---- launches

template <class... Parameters, class... Arguments>
Steps launch_on_elements(void (*kernel)(Parameters...), std::int64_t n, Arguments... arguments) {
  return launch(kernel, shape_of_tiles({n}, {kUpdateBlock * kUpdateWidth}, kUpdateBlock),
                arguments...);
}

/// Updates n parameters starting at `first`, and their 16-bit copies: in the same kernel if
/// `in_one_kernel`, otherwise in a second kernel. fp32 networks have no copies.
template <class T>
Steps update(Parameters<T> p, std::int64_t first, std::int64_t n, const AdamW& a,
             const State* state, bool in_one_kernel) {
  p.gradients += first;
  p.weights += first;
  p.m += first;
  p.v += first;
  if constexpr (std::is_same<T, float>::value) {
    return launch_on_elements(update_kernel<false, T>, n, p, n, a, state);
  } else {
    p.copy += first;
    if (in_one_kernel) return launch_on_elements(update_kernel<true, T>, n, p, n, a, state);
    return launch_on_elements(update_kernel<false, T>, n, p, n, a, state) +
           launch_on_elements(copy_weights_kernel<T>, n, static_cast<const float*>(p.weights),
                              p.copy, n);
  }
}

/// Updates all `count` parameters in one kernel, or each tensor in its own kernels.
template <class T>
Steps update_tensors(const Parameters<T>& all, const std::vector<Tensor>& tensors,
                     std::int64_t count, const AdamW& a, const State* state, bool in_one_kernel) {
  if (in_one_kernel) return update(all, 0, count, a, state, true);
  Steps steps;
  for (const Tensor& t : tensors)
    steps += update(all, t.first, t.count, a, state, false);
  return steps;
}

inline Steps check_gradients(const float* gradients, std::int64_t n, State* state) {
  return launch_on_elements(check_gradients_kernel, n, gradients, n, state);
}

/// Stores the next state, by one thread. `covered` is the number of outputs that the launch shape
/// covers.
inline Steps end_step(State* state, int interval, std::int64_t covered) {
  return launch(end_step_kernel, shape_of_shares({1}, {covered}, 1), state, interval);
}

// ---- the reference

/// The update of a weight as AdamW defines it, in fp64. Its inputs are the device's previous
/// values and the device's gradients (for moments) or moments (for weights).
struct ExactUpdate {
  AdamW a;
  const float* gradients;
  const float* weights_before;
  const float* m_before;
  const float* v_before;
  const float* m;
  const float* v;
  State before;
  bool skips;

  __host__ __device__ double gradient(std::int64_t i) const {
    return ldexp(static_cast<double>(gradients[i]), -before.scale_log2);
  }
  /// Magnitudes are the sums of the absolute values of all numbers that kernels round to fp32,
  /// because the tolerance is one unit roundoff of a magnitude.
  __host__ __device__ ReferenceElement first_moment(std::int64_t i) const {
    const double old = m_before[i];
    if (skips) return {old, 0.0};
    const double grown = static_cast<double>(a.beta1) * old;
    const double added = static_cast<double>(a.one_minus_beta1) * gradient(i);
    return {grown + added, fabs(grown + added) + 1.1 * fabs(added)};
  }
  __host__ __device__ ReferenceElement second_moment(std::int64_t i) const {
    const double old = v_before[i];
    if (skips) return {old, 0.0};
    const double grown = static_cast<double>(a.beta2) * old;
    const double added = static_cast<double>(a.one_minus_beta2) * gradient(i) * gradient(i);
    return {grown + added, grown + 3.1 * added};
  }
  __host__ __device__ ReferenceElement weight(std::int64_t i) const {
    const double old = weights_before[i];
    if (skips) return {old, 0.0};
    const double step = before.steps + 1;
    const double mean = m[i] / -expm1(step * a.log_beta1);
    const double square = v[i] / -expm1(step * a.log_beta2);
    const double moved = a.rate * mean / (sqrt(square) + a.epsilon);
    const double decayed = a.decay_factor * old;
    return {decayed - moved,
            fabs(decayed - moved) + 1.1 * fabs(decayed) + kUpdateRoundings * fabs(moved)};
  }
  /// Number of roundings of an update. The correction of m has at most 4: 1 ulp of expm1f, and
  /// the rounding of its argument. The correction of v is under a root. Three divisions, a root
  /// and a sum have one rounding each.
  static constexpr double kUpdateRoundings = 12;
};

}  // namespace gpuexp::training
