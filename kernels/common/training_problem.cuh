// What steps of training have in common whatever the network: their phases, types, parameters in
// one array, and what a launch finds of the state and of moments.
#pragma once

#include <algorithm>
#include <cmath>
#include <vector>

#include "kernels/common/launch.cuh"
#include "kernels/common/random.cuh"
#include "kernels/common/training_update.cuh"

namespace gpuexp::training {

enum class Phase { step, forward, backward, update };

/// Problems of networks derive from it.
struct StepProblem {
  DataType dtype;
  Phase phase;
  bool overflow;  // planted
  int steps_before;
  int growth_interval;
  double learning_rate;

  __host__ __device__ bool has(Phase part) const { return phase == Phase::step || phase == part; }
};

/// Parameters begin at multiples of 256 bytes of fp32.
inline constexpr std::int64_t kAlignment = 64;
constexpr std::int64_t aligned(std::int64_t elements) {
  return ceil_div(elements, kAlignment) * kAlignment;
}

__host__ __device__ inline bool is_scaled(const StepProblem& p) {
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
auto with_type(const StepProblem& p, Function f) {
  if (p.dtype == DataType::bf16) return f(__nv_bfloat16{});
  if (p.dtype == DataType::fp16) return f(__half{});
  return f(float{});
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

/// Moments as earlier steps may have left them: none before the first.
template <class Weights>
struct FirstMoments {
  Weights of;
  bool squares;
  float scale;
  __host__ __device__ float operator()(std::int64_t i) const {
    if (scale == 0.0f || of(i) == 0.0f) return 0.0f;
    return scale * (squares ? 0.5f + random_unit(of.seed + 2, static_cast<std::uint64_t>(i))
                            : random_signed(of.seed + 1, static_cast<std::uint64_t>(i)));
  }
};

/// What a launch finds of the state, of a network with so many results. The scale is as large as
/// small problems allow: their gradients are divided by few elements.
inline State first_state(const StepProblem& p, std::int64_t elements) {
  State s{0, 0, p.steps_before, p.overflow && p.phase == Phase::update ? 1 : 0};
  if (!is_scaled(p)) return s;
  constexpr int kRoom = 8;
  s.scale_log2 = std::min(kFirstScaleLog2, kRoom + std::ilogb(static_cast<double>(elements)));
  s.good_steps = p.steps_before % p.growth_interval;
  return s;
}
struct StateField {
  State s;
  __host__ __device__ std::int32_t operator()(std::int64_t i) const {
    return i == 0 ? s.scale_log2 : i == 1 ? s.good_steps : i == 2 ? s.steps : s.overflow;
  }
};

// ---- what a launch finds of the parameters

template <class T>
struct RoundedWeights {
  const float* weights;
  __host__ __device__ T operator()(std::int64_t i) const { return from_float<T>(weights[i]); }
};

/// Gradients that an update by itself finds.
__host__ __device__ inline Uniform<float> found_gradients() {
  return {15, 1.0f / 64};
}

/// Weights, moments and state as they were before, gradients where an update is all that is
/// launched, and zeros between tensors, which are in the order of memory; `n` parameters in all.
template <class T, class Data>
Steps reset_parameters(const StepProblem& p, const Data& d, const std::vector<Tensor>& tensors,
                       std::int64_t n) {
  constexpr std::int64_t kFloat = sizeof(float);
  Steps steps;
  if (p.phase == Phase::update) {
    steps += fill(d.gradients, n, found_gradients());
  } else {
    steps += MemsetStep{d.gradients, kUnwritten, n * kFloat};
  }
  std::int64_t end = 0;  // of the tensor before
  const auto clear_to = [&](std::int64_t first) {
    if (first > end) steps += MemsetStep{d.gradients + end, 0, (first - end) * kFloat};
  };
  for (const Tensor& t : tensors) {
    clear_to(t.first);
    end = t.first + t.count;
  }
  clear_to(n);
  const auto copy = [&](float* to, const float* from) {
    return Steps(CopyStep{to, from, n * kFloat});
  };
  steps += copy(d.weights, d.weights_before) + copy(d.m, d.m_before) + copy(d.v, d.v_before);
  if constexpr (!std::is_same<T, float>::value)
    steps += fill(static_cast<T*>(d.copy), n, RoundedWeights<T>{d.weights_before});
  return steps + CopyStep{d.state, d.state_before, sizeof(State)};
}

/// The first element of an array of fp16 becomes infinity.
inline Steps plant_infinity(void* array) {
  unsigned char* const first = static_cast<unsigned char*>(array);
  return Steps(MemsetStep{first, 0x00, 1}) + MemsetStep{first + 1, 0x7c, 1};
}

/// The update's reference, of a step whose gradients overflow or do not.
template <class Data>
ExactUpdate exact_update(const StepProblem& p, const Data& d, State before, bool overflows) {
  before.overflow = overflows ? 1 : 0;
  return {adamw(p.learning_rate),
          d.gradients,
          d.weights_before,
          d.m_before,
          d.v_before,
          d.m,
          d.v,
          before,
          !p.has(Phase::update) || overflows};
}
/// The state's fields behind the launch.
inline __host__ __device__ double exact_state(const StepProblem& p, State before,
                                              std::int64_t field) {
  if (p.has(Phase::update)) before = next_state(before, is_scaled(p) ? p.growth_interval : 0);
  return StateField{before}(field);
}

}  // namespace gpuexp::training
