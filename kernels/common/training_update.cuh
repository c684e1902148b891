// What follows the gradients in a step of training: AdamW on fp32 master weights, with a copy of
// them in 16 bits for the network, and the scale of the loss, all decided on the device.
//
// AdamW: Loshchilov and Hutter, "Decoupled Weight Decay Regularization", ICLR 2019, algorithm 2.
// Loss scaling: Micikevicius and others, "Mixed Precision Training", ICLR 2018, section 3.2; a step
// whose gradients are not all finite changes nothing but the scale.
#pragma once

#include <cmath>
#include <vector>

#include "kernels/common/family.cuh"
#include "kernels/common/float_vector.cuh"
#include "kernels/common/types.cuh"

namespace gpuexp::training {

/// What of training is no array; the buffer `state` holds one, field by field.
struct State {
  std::int32_t scale_log2;  ///< gradients are 2^scale_log2 times what they would be
  std::int32_t good_steps;  ///< since the scale changed last
  std::int32_t steps;       ///< that changed the weights
  std::int32_t overflow;    ///< a gradient of the step under way is not finite
};
inline constexpr int kStateFields = sizeof(State) / sizeof(std::int32_t);
inline constexpr int kFirstScaleLog2 = 16;  // as PyTorch's GradScaler begins

/// The constants as kernels multiply by them; so does everything that they are compared with.
struct AdamW {
  float rate;
  float kept;  ///< of a weight, after its decay
  float beta1 = 0.9f, rest1 = 0.1f, log_beta1;
  float beta2 = 0.999f, rest2 = 0.001f, log_beta2;
  float epsilon = 1e-8f;
};
inline AdamW adamw(double learning_rate) {
  constexpr double kDecay = 0.01;
  AdamW a;
  a.rate = static_cast<float>(learning_rate);
  a.kept = static_cast<float>(1.0 - learning_rate * kDecay);
  a.log_beta1 = static_cast<float>(std::log(0.9));
  a.log_beta2 = static_cast<float>(std::log(0.999));
  return a;
}

/// Where a tensor is in them.
struct Tensor {
  std::int64_t first, count;
};
/// Parameters in one array each, what belongs to the same weight at the same place.
template <class T>
struct Parameters {
  const float* gradients;
  float* weights;
  float* m;  ///< running means of gradients and of their squares
  float* v;
  T* copy;
};

inline constexpr int kUpdateBlock = 256;
inline constexpr int kUpdateWidth = 4;  // 16 bytes of each fp32 array per lane

// Moments of a first step would be too small by 1 - beta; of step t by 1 - beta^t, without the
// cancellation that a power would bring.
__device__ inline float missing_share(float log_beta, int step) {
  return -expm1f(static_cast<float>(step) * log_beta);
}

template <int kCount, bool kCopies, class T>
__device__ void update_some(const Parameters<T>& p, const AdamW& a, float unscale, float share1,
                            float share2, std::int64_t i) {
  float g[kCount], w[kCount], m[kCount], v[kCount];
  load_floats(p.gradients + i, g);
  load_floats(p.weights + i, w);
  load_floats(p.m + i, m);
  load_floats(p.v + i, v);
#pragma unroll
  for (int j = 0; j < kCount; ++j) {
    const float gradient = g[j] * unscale;
    m[j] = fmaf(a.beta1, m[j], a.rest1 * gradient);
    v[j] = fmaf(a.beta2, v[j], a.rest2 * gradient * gradient);
    const float step = m[j] / share1 / (sqrtf(v[j] / share2) + a.epsilon);
    w[j] = fmaf(-a.rate, step, a.kept * w[j]);
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
  const float share1 = missing_share(a.log_beta1, state->steps + 1);
  const float share2 = missing_share(a.log_beta2, state->steps + 1);
  const std::int64_t first =
      (static_cast<std::int64_t>(blockIdx.x) * kUpdateBlock + threadIdx.x) * kUpdateWidth;
  if (first + kUpdateWidth <= n) {
    update_some<kUpdateWidth, kCopies>(p, a, unscale, share1, share2, first);
  } else {
#pragma unroll 1
    for (std::int64_t i = first; i < n; ++i)
      update_some<1, kCopies>(p, a, unscale, share1, share2, i);
  }
}

template <class T>
__global__ void __launch_bounds__(kUpdateBlock)
    copy_weights_kernel(const float* weights, T* copy, std::int64_t n) {
  const std::int64_t first =
      (static_cast<std::int64_t>(blockIdx.x) * kUpdateBlock + threadIdx.x) * kUpdateWidth;
  const auto copy_some = [&](auto count, std::int64_t i) {
    float w[count()];
    load_floats(weights + i, w);
    store_floats(copy + i, w);
  };
  if (first + kUpdateWidth <= n) {
    copy_some(std::integral_constant<int, kUpdateWidth>{}, first);
  } else {
#pragma unroll 1
    for (std::int64_t i = first; i < n; ++i)
      copy_some(std::integral_constant<int, 1>{}, i);
  }
}

/// NaN fails the comparison.
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

/// What becomes of the state when the weights are updated, or left. Without a scale, `interval` is
/// 0.
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

// ---- launching them

template <class... Parameters, class... Arguments>
Steps launch_on_elements(void (*kernel)(Parameters...), std::int64_t n, Arguments... arguments) {
  return launch(kernel, shape_of_tiles({n}, {kUpdateBlock * kUpdateWidth}, kUpdateBlock),
                arguments...);
}

/// Of n parameters from `first` on. In one kernel with the copy, or in two; of fp32 no copy.
template <class T>
Steps update(Parameters<T> p, std::int64_t first, std::int64_t n, const AdamW& a,
             const State* state, bool in_one) {
  p.gradients += first;
  p.weights += first;
  p.m += first;
  p.v += first;
  if constexpr (std::is_same<T, float>::value) {
    return launch_on_elements(update_kernel<false, T>, n, p, n, a, state);
  } else {
    p.copy += first;
    if (in_one) return launch_on_elements(update_kernel<true, T>, n, p, n, a, state);
    return launch_on_elements(update_kernel<false, T>, n, p, n, a, state) +
           launch_on_elements(copy_weights_kernel<T>, n, static_cast<const float*>(p.weights),
                              p.copy, n);
  }
}

/// Of `count` parameters in all: in one kernel, or tensor by tensor.
template <class T>
Steps update_tensors(const Parameters<T>& all, const std::vector<Tensor>& tensors,
                     std::int64_t count, const AdamW& a, const State* state, bool in_one) {
  if (in_one) return update(all, 0, count, a, state, true);
  Steps steps;
  for (const Tensor& t : tensors)
    steps += update(all, t.first, t.count, a, state, false);
  return steps;
}

inline Steps check_gradients(const float* gradients, std::int64_t n, State* state) {
  return launch_on_elements(check_gradients_kernel, n, gradients, n, state);
}

/// One thread decides for all `covered` elements.
inline Steps end_step(State* state, int interval, std::int64_t covered) {
  return launch(end_step_kernel, shape_of_shares({1}, {covered}, 1), state, interval);
}

// ---- the plain reference

/// A weight's update as AdamW defines it, of what the device found before and of the gradient, or
/// the moments, that it made.
struct ExactUpdate {
  AdamW a;
  const float* gradients;
  const float* weights_before;
  const float* m_before;
  const float* v_before;
  const float* m;
  const float* v;
  State before;  ///< with the step's overflow
  bool skips;

  __host__ __device__ double gradient(std::int64_t i) const {
    return ldexp(static_cast<double>(gradients[i]), -before.scale_log2);
  }
  /// Magnitudes are what is rounded, each time to fp32: one unit roundoff of them is allowed.
  __host__ __device__ ReferenceElement first_moment(std::int64_t i) const {
    const double old = m_before[i];
    if (skips) return {old, 0.0};
    const double grown = static_cast<double>(a.beta1) * old;
    const double added = static_cast<double>(a.rest1) * gradient(i);
    return {grown + added, fabs(grown + added) + 1.1 * fabs(added)};
  }
  __host__ __device__ ReferenceElement second_moment(std::int64_t i) const {
    const double old = v_before[i];
    if (skips) return {old, 0.0};
    const double grown = static_cast<double>(a.beta2) * old;
    const double added = static_cast<double>(a.rest2) * gradient(i) * gradient(i);
    return {grown + added, grown + 3.1 * added};
  }
  __host__ __device__ ReferenceElement weight(std::int64_t i) const {
    const double old = weights_before[i];
    if (skips) return {old, 0.0};
    const double step = before.steps + 1;
    const double mean = m[i] / -expm1(step * a.log_beta1);
    const double square = v[i] / -expm1(step * a.log_beta2);
    const double moved = a.rate * mean / (sqrt(square) + a.epsilon);
    const double kept = a.kept * old;
    return {kept - moved, fabs(kept - moved) + 1.1 * fabs(kept) + kUpdateRoundings * fabs(moved)};
  }
  /// Of a step: the shares by expm1f, off by 1 ulp and by their argument's rounding, 4 each at
  /// most, the second's under a root; three divisions, a root and a sum, one each.
  static constexpr double kUpdateRoundings = 12;
};

}  // namespace gpuexp::training
