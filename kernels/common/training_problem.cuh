// Common parts of the training steps of all networks: phases, types, parameters in one array, and
// state and moments before a launch.
#pragma once

#include <algorithm>
#include <cmath>
#include <vector>

#include "kernels/common/family.cuh"
#include "kernels/common/pairs.cuh"
#include "kernels/common/row_reference.cuh"
#include "kernels/common/training_reference.cuh"
#include "kernels/common/training_update.cuh"

namespace gpuexp::training {

enum class Phase { step, forward, backward, update };

struct StepProblem {
  DataType dtype;
  Phase phase;
  bool overflow;
  int steps_before;
  int growth_interval;
  double learning_rate;

  __host__ __device__ bool has(Phase part) const { return phase == Phase::step || phase == part; }
};

/// Parameters start at multiples of 64 elements: 256 bytes of fp32.
inline constexpr std::int64_t kAlignment = 64;
constexpr std::int64_t aligned(std::int64_t elements) {
  return ceil_div(elements, kAlignment) * kAlignment;
}

__host__ __device__ inline bool is_scaled(const StepProblem& p) {
  return p.dtype == DataType::fp16;
}

/// Byte that fills arrays and gaps which the launched phase must not write. No result has the
/// value of such an element.
inline constexpr unsigned char kUnwritten = 0x3b;
template <class T>
inline constexpr double kUnwrittenValue = 0;
template <>
inline constexpr double kUnwrittenValue<float> = 0x1.767676p-9;
template <>
inline constexpr double kUnwrittenValue<__nv_bfloat16> = 0x1.76p-9;
template <>
inline constexpr double kUnwrittenValue<__half> = 0x1.cecp-1;

template <class Function>
auto with_type(const StepProblem& p, Function f) {
  return with_stored_type(p.dtype, f);
}

// ---- work

struct StepWork {
  std::int64_t read = 0, written = 0;         ///< bytes
  double product_operations = 0, others = 0;  ///< operations

  void add_update(const StepProblem& p, std::int64_t parameters) {
    constexpr std::int64_t kFloat = sizeof(float);
    const bool copies = p.dtype != DataType::fp32;
    read += kFloat * (p.phase == Phase::step ? 3 : 4) * parameters;
    written +=
        (3 * kFloat + (copies ? static_cast<std::int64_t>(size_of(p.dtype)) : 0)) * parameters;
    others += 15.0 * static_cast<double>(parameters);
  }
  Work work(const StepProblem& p) const {
    const bool by_tensor_cores = p.dtype != DataType::fp32;
    Work w = moves_bytes(static_cast<double>(read), static_cast<double>(written)) +
             computes(Pipe::fp32, others + (by_tensor_cores ? 0 : product_operations));
    if (by_tensor_cores && product_operations > 0)
      w.operations.push_back(
          {is_scaled(p) ? Pipe::tensor_fp16_fp32 : Pipe::tensor_bf16_fp32, product_operations});
    return w;
  }
};

// ---- inputs

/// Random moments, as after earlier steps; zero if `scale` or the weight is 0.
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

/// The state before a launch, for a network with `elements` outputs. The initial loss scale is
/// smaller for networks with few outputs, because the loss gradient is divided by their number.
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

// ---- parameters before a launch

template <class T>
struct RoundedWeights {
  const float* weights;
  __host__ __device__ T operator()(std::int64_t i) const { return from_float<T>(weights[i]); }
};

/// Fills parameters with random values, moments with values as after p.steps_before steps, and
/// the state.
template <class Data, class Weights>
Steps fill_parameters(const StepProblem& p, const Data& d, const Weights& weights, std::int64_t n,
                      const State& state) {
  const bool is_first = p.steps_before == 0;
  using Moments = FirstMoments<Weights>;
  return fill(d.weights_before, n, weights) +
         fill(d.m_before, n, Moments{weights, false, is_first ? 0.0f : 1e-3f}) +
         fill(d.v_before, n, Moments{weights, true, is_first ? 0.0f : 1e-6f}) +
         fill(d.state_before, kStateFields, StateField{state});
}

template <class T>
Steps unwritten(void* to, std::int64_t count) {
  return MemsetStep{to, kUnwritten, count * std::int64_t{sizeof(T)}};
}
/// If only the backward pass is launched, fills an array of the forward pass with values;
/// otherwise marks it as unwritten.
template <class T>
Steps given(const StepProblem& p, void* to, std::int64_t count, const Uniform<T>& of) {
  return p.phase == Phase::backward ? fill(static_cast<T*>(to), count, of)
                                    : unwritten<T>(to, count);
}

__host__ __device__ inline Uniform<float> initial_gradients() {
  return {15, 1.0f / 64};
}

/// Restores weights, moments and the state. Gradients get values if only the update is launched,
/// and are otherwise marked as unwritten. The gaps between tensors become zero. `tensors` are in
/// memory order; `n` is the number of elements of all parameters with gaps.
template <class T, class Data>
Steps reset_parameters(const StepProblem& p, const Data& d, const std::vector<Tensor>& tensors,
                       std::int64_t n) {
  constexpr std::int64_t kFloat = sizeof(float);
  Steps steps;
  if (p.phase == Phase::update) {
    steps += fill(d.gradients, n, initial_gradients());
  } else {
    steps += MemsetStep{d.gradients, kUnwritten, n * kFloat};
  }
  std::int64_t end = 0;
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

inline Steps inject_infinity(void* array) {
  unsigned char* const first = static_cast<unsigned char*>(array);
  return Steps(MemsetStep{first, 0x00, 1}) + MemsetStep{first + 1, 0x7c, 1};
}

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
inline __host__ __device__ double exact_state(const StepProblem& p, State before,
                                              std::int64_t field) {
  if (p.has(Phase::update)) before = next_state(before, is_scaled(p) ? p.growth_interval : 0);
  return StateField{before}(field);
}

/// Common part of the references of all networks. The reference of an array is the exact result
/// of its operation on the device's own operands. Magnitudes are error bounds divided by the unit
/// roundoff of the tolerance.
template <class T, class Problem, class Data>
struct ExactStep {
  static constexpr double kSlack = 1.05;  // for roundings of values that have an error
  static constexpr double kRoundoff = 0x1p-24;

  Problem p;
  Data d;
  ExactUpdate update;
  double of_stored;

  __host__ __device__ static double number(const void* array, std::int64_t i) {
    return to_double(static_cast<const T*>(array)[i]);
  }
  /// Weight i as the network uses it, rounded to T. Biases are fp32.
  __host__ __device__ double weight(std::int64_t i) const {
    return to_double(from_float<T>(d.weights_before[i]));
  }
  __host__ __device__ double bias(std::int64_t i) const { return d.weights_before[i]; }
  /// Sums over the k products of consecutive elements of `array`, starting at `first`, and
  /// consecutive weights, starting at `first_weight`.
  __host__ __device__ ProductSums row_products(const void* array, std::int64_t first,
                                               std::int64_t first_weight, std::int64_t k) const {
    ProductSums sums;
    for_pairs(static_cast<const T*>(array) + first, d.weights_before + first_weight, k,
              [&](T a, float w) { sums.add(to_double(a) * to_double(from_float<T>(w))); });
    return sums;
  }
  __host__ __device__ double rounded(double value) const {
    return kSlack * (of_stored + kRoundoff) * fabs(value);
  }
  /// The reference of a value with error bound `off` that is rounded to T.
  __host__ __device__ ReferenceElement stored(double value, double off) const {
    return {value, (kSlack * off + rounded(value)) / of_stored};
  }
  __host__ __device__ static ReferenceElement exactly(double value) { return {value, 0.0}; }

  /// The reference of GELU(h), and of sums with error bound `off` times GELU'(h).
  __host__ __device__ ReferenceElement activated(double h) const {
    const ExactGelu gelu = exact_gelu(h);
    return stored(gelu.value.value, gelu.value.magnitude);
  }
  __host__ __device__ ReferenceElement times_slope(const ProductSums& sums, double off,
                                                   double h) const {
    const ReferenceElement slope = exact_gelu(h).slope;
    return stored(sums.value * slope.value, (off + rounded(sums.value)) * fabs(slope.value) +
                                                fabs(sums.value) * slope.magnitude);
  }

  /// The scaled gradient of the loss by element i of y, which has n elements.
  __host__ __device__ double loss_gradient(const void* y, std::int64_t i, std::int64_t n) const {
    const auto two_over_n = static_cast<float>(2.0 / static_cast<double>(n));
    const double off = number(y, i) - static_cast<double>(d.target[i]);
    return off * ldexp(static_cast<double>(two_over_n), update.before.scale_log2);
  }

  /// The reference of a weight's gradient: the dot product of two matrix columns.
  __host__ __device__ ReferenceElement matrix_gradient(const ProductSums& sums, double off) const {
    return {sums.value, kSlack * off / kRoundoff + fabs(sums.value)};
  }
  /// The reference of element i of the weights, moments, copy or state after the update.
  template <class Output>
  __host__ __device__ ReferenceElement updated(Output output, std::int64_t i) const {
    switch (output) {
      case Output::kWeights: return update.weight(i);
      case Output::kM: return update.first_moment(i);
      case Output::kV: return update.second_moment(i);
      case Output::kCopy: return exactly(to_double(from_float<T>(d.weights[i])));
      default: return exactly(exact_state(p, update.before, i));
    }
  }
};
/// The reference of the loss, for evaluate_rows(). The loss is a mean of squares, without
/// cancellation. A thread of the kernel sums about n / (256·1024) squares, and tree reductions sum
/// the results of the threads.
template <class T>
struct ExactLoss {
  struct Common {
    double sum;
    __host__ __device__ static Common combined(const Common& a, const Common& b) {
      return {a.sum + b.sum};
    }
  };
  const T* y;
  const float* target;
  std::int64_t n;
  std::int64_t columns = 1;
  __host__ __device__ Common common(std::int64_t, std::int64_t first, std::int64_t step) const {
    Common found{0.0};
    for (std::int64_t i = first; i < n; i += step) {
      const double off = to_double(y[i]) - static_cast<double>(target[i]);
      found.sum += off * off;
    }
    return found;
  }
  __host__ __device__ ReferenceElement element(std::int64_t, std::int64_t,
                                               const Common& found) const {
    constexpr double kRoundings = 40, kThreads = 256.0 * 1024.0;
    const double value = found.sum / static_cast<double>(n);
    return {value, (kRoundings + static_cast<double>(n) / kThreads) * value};
  }
};

template <class T, class Problem, class Data>
ExactStep<T, Problem, Data> exact_step(const Problem& p, const Data& d, const State& before) {
  const bool overflows = p.overflow && p.phase != Phase::forward;
  return {p, d, exact_update(p, d, before, overflows), unit_roundoff(p.dtype)};
}

}  // namespace gpuexp::training
