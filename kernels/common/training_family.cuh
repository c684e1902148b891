// Declarations and launches that the families about training steps share.
#pragma once

#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include "gpu/cublas.hpp"
#include "kernels/common/training_layer.cuh"
#include "kernels/common/training_problem.cuh"
#include "kernels/common/training_product.cuh"
#include "kernels/common/training_reference.cuh"

namespace gpuexp::training {

/// How a variant executes a step.
struct Way {
  bool fuses;       ///< epilogues do element-wise operations, and one kernel does AdamW
  bool recomputes;  ///< the backward pass recomputes activations
  bool by_library = false;
};

// ---- the launches of a step

template <class T>
Steps apply_epilogue(const Extents& x, const float* sums, const LayerEpilogue<T>& tail) {
  return Passes<T>::finish({sums, tail, x.n}, static_cast<std::int64_t>(x.m) * x.n);
}

template <class T, class Problem, class Data>
struct StepNetwork {
  const Problem& p;
  const Data& d;
  const LaunchContext& context;
  Way way;

  State* state() const { return reinterpret_cast<State*>(d.state); }
  float* loss_sums() const { return static_cast<float*>(context.workspace); }
  float* scratch() const { return loss_sums() + kLossBlocks; }
  const T* weights(std::int64_t first) const {
    if constexpr (std::is_same<T, float>::value) return d.weights + first;
    return static_cast<const T*>(d.copy) + first;
  }
  bool products_check_finite() const { return is_scaled(p) && way.fuses && !way.by_library; }
  GradientEpilogue gradient(std::int64_t first) const {
    return {d.gradients + first, products_check_finite() ? state() : nullptr};
  }

  static Extents extents(std::int64_t m, std::int64_t n, std::int64_t k) {
    return {static_cast<int>(m), static_cast<int>(n), static_cast<int>(k)};
  }
  /// A library product, followed by its epilogue. The library stores gradients at `tail.to`, and
  /// other sums at `sums`.
  template <OperandLayout a_layout, OperandLayout b_layout, class Tail>
  Steps by_library(const Extents& x, const T* a, const T* b, const Tail& tail, float* sums) const {
    constexpr bool is_gradient = std::is_same<Tail, GradientEpilogue>::value;
    if constexpr (is_gradient) sums = tail.to;
    Steps product = cublas::step_of(cublas::Gemm{
        cublas::Compute::fp32, DataTypeOf<T>::value, DataType::fp32, x.m, x.n, x.k, a, b, sums,
        a_layout == OperandLayout::transposed, b_layout == OperandLayout::transposed});
    if constexpr (is_gradient) {
      return product;
    } else {
      return product + apply_epilogue(x, sums, tail);
    }
  }
  template <OperandLayout a_layout, OperandLayout b_layout, class Tail>
  static Steps layer_product(const Extents& x, const T* a, const T* b, const Tail& tail,
                             bool rows_aligned) {
    static_assert(a_layout == OperandLayout::row_major || b_layout == OperandLayout::row_major,
                  "no product of a layer has two transposed operands");
    if constexpr (a_layout == OperandLayout::transposed) {
      return LayerProducts<T>::of_weights(x, a, b, tail, rows_aligned);
    } else if constexpr (b_layout == OperandLayout::transposed) {
      return LayerProducts<T>::input_gradients(x, a, b, tail, rows_aligned);
    } else {
      return LayerProducts<T>::forward(x, a, b, tail, rows_aligned);
    }
  }
  Steps check_all_gradients() const {
    Steps steps;
    for (const Tensor& t : tensors(p))
      steps += check_gradients(d.gradients + t.first, t.count, state());
    return steps;
  }
  Steps update() const {
    const Parameters<T> all{d.gradients, d.weights, d.m, d.v, static_cast<T*>(d.copy)};
    return update_tensors(all, tensors(p), parameters(p), adamw(p.learning_rate), state(),
                          way.fuses) +
           end_step(state(), is_scaled(p) ? p.growth_interval : 0, p.hidden);
  }
};

// ---- conditions of expected counter changes

/// Whether the problem is large enough for most blocks and lanes to have work.
template <class Problem>
bool is_large(const Problem& p) {
  return p.rows() * p.hidden >= std::int64_t{1} << 20 && p.rows() >= p.width;
}
/// is_large(), and element-wise passes take a considerable share of the launch's time.
template <class Problem>
bool has_passes(const Problem& p) {
  return is_large(p) && p.hidden <= 4 * p.width && p.phase != Phase::update;
}

// ---- tolerances

/// Tolerance of values in the stored type. Near zero, each of `roundings` roundings to fp16 has
/// an error of up to half of fp16's smallest number.
inline Tolerance stored_tolerance(const StepProblem& p, double rms, double roundings) {
  const double near_zero = p.dtype == DataType::fp16 ? roundings * 0x1p-25 : 0.0;
  return {unit_roundoff(p.dtype), near_zero, kRmsSafety * rms, near_zero};
}
/// Tolerance of a sum of k products that is rounded to the stored type at most twice. GELU's
/// slope, at most 1.13, multiplies the first rounding error.
inline Tolerance product_tolerance(const StepProblem& p, std::int64_t k) {
  return stored_tolerance(
      p, std::hypot(std::sqrt(2.0) * rounding_rms(p.dtype), product_rms(p.dtype, k)), 2.13);
}
inline Tolerance gelu_tolerance(const StepProblem& p) {
  return stored_tolerance(p, rounding_rms(p.dtype) + 20 * unit_roundoff(DataType::fp32), 1.0);
}
inline Tolerance fp32_tolerance(double rms) {
  constexpr double kSmallest = 0x1p-148;
  return {unit_roundoff(DataType::fp32), kSmallest, kRmsSafety * rms, kSmallest};
}
/// Tolerance of weight gradients, which are sums over `rows` rows.
inline Tolerance gradient_tolerance(const StepProblem& p, std::int64_t rows) {
  return fp32_tolerance(std::hypot(product_rms(p.dtype, rows), rounding_rms(DataType::fp32)));
}
inline Tolerance update_tolerance(const StepProblem&) {
  return fp32_tolerance(2 * rounding_rms(DataType::fp32));
}
inline Tolerance exact_tolerance(const StepProblem&) {
  return {0.0, 0.0};
}

inline std::string step_derivation() {
  std::string text =
      "Each array is compared with the exact result of its operation on the device's own "
      "operands, so that errors do not accumulate over a step. U is the unit roundoff of the "
      "stored type, u = 2^-24. A sum of products that is rounded to the stored type has the error "
      "of the sum and of one rounding, U of its value, or 1.05·(U + u) with the fp32 operations "
      "around it. If a separate kernel adds a residual or multiplies by GELU's slope, at most "
      "1.13, the sum is rounded twice. Near zero, each rounding to fp16 has an error of up to "
      "2^-25. GELU by __expf and __fdividef has a relative error of (14 + 6·z)·u, where z is the "
      "argument of the exponential (CUDA C++ Programming Guide). GELU's slope has this relative "
      "error of s·(1 + |x|·z'). The loss is a sum of squares, so its relative error is at most "
      "the error of the longest chain of additions. AdamW rounds a moment two or three times. It "
      "rounds a weight for its decay, its update and their sum: 12·u of the update. The copy is "
      "exactly the device's weight rounded to nearest. The state consists of integers. The RMS "
      "error combines 0.42·U for each of up to two roundings with the model of the sum; the "
      "tolerance is twice this RMS error. Sums of columns, and products in fp32: ";
  text += kFp32SumDerivation;
  text += " Products in 16 bits: ";
  text += kTensorCoreBoundDerivation;
  text += kMeanDerivation;
  return text;
}

// ---- declarations

/// A family whose outputs are in_out buffers, restored before each launch.
template <class Problem, class Data>
struct StepFamily : FamilyOf<Problem, Data> {
  using Base = FamilyOf<Problem, Data>;
  using Base::Base;

  template <class Pointers, class... Of>
  StepFamily& state(std::string name, Pointers Data::*member, Of... of) {
    this->in_out(std::move(name), member, std::move(of)...);
    return *this;
  }

  StepFamily& step_parameters() {
    this->choice("dtype", of(&StepProblem::dtype),
                 std::vector<std::pair<std::string, DataType>>{
                     {"bf16", DataType::bf16}, {"fp16", DataType::fp16}, {"fp32", DataType::fp32}},
                 "type of activations and of the operands of products; 16-bit types have fp32 "
                 "master weights, and fp16 also has loss scaling")
        .choice("phase", of(&StepProblem::phase),
                std::vector<std::pair<std::string, Phase>>{{"step", Phase::step},
                                                           {"forward", Phase::forward},
                                                           {"backward", Phase::backward},
                                                           {"update", Phase::update}},
                "phase that is launched; results of earlier phases are given")
        .choice("overflow", of(&StepProblem::overflow),
                std::vector<std::pair<std::string, bool>>{{"no", false}, {"planted", true}},
                "planted: one gradient exceeds the range of fp16")
        .integer("steps_before", of(&StepProblem::steps_before), 100, 0, 1 << 20, "",
                 "number of training steps before this step; if 0, moments are zero")
        .integer("growth_interval", of(&StepProblem::growth_interval), 2000, 1, 1 << 20, "",
                 "number of steps without overflow after which the loss scale doubles")
        .real("learning_rate", of(&StepProblem::learning_rate), 1e-3, 1e-6, 1.0, "",
              "AdamW learning rate, 1e-6 to 1");
    return *this;
  }
  StepFamily& step_metrics() {
    this->metric("kernels", "", "number of kernels per launch")
        .metric("peak_bytes", "B",
                "peak memory of a step in which each array exists from its first write to its last "
                "read; here every array has its own memory, so that it can be checked");
    return *this;
  }
  /// Declares the inputs of the update; call it after the network's other inputs.
  StepFamily& parameter_inputs(std::int64_t (*parameters)(const Problem&)) {
    this->input("weights_before", &Data::weights_before, parameters)
        .input("m_before", &Data::m_before, parameters)
        .input("v_before", &Data::v_before, parameters)
        .input("state_before", &Data::state_before, [](const Problem&) { return kStateFields; });
    return *this;
  }
  /// Declares the loss, the gradients and the results of the update; call it after the network's
  /// other outputs. Gradients are sums over `rows` rows.
  StepFamily& parameter_outputs(std::int64_t (*parameters)(const Problem&),
                                std::int64_t (*rows)(const Problem&)) {
    const auto copies = [parameters](const Problem& p) {
      return p.dtype == DataType::fp32 ? 0 : parameters(p);
    };
    return state(
               "loss", &Data::loss, [](const Problem&) { return std::int64_t{1}; },
               update_tolerance)
        .state("gradients", &Data::gradients, parameters,
               [rows](const Problem& p) { return gradient_tolerance(p, rows(p)); })
        .state("weights", &Data::weights, parameters, update_tolerance)
        .state("m", &Data::m, parameters, update_tolerance)
        .state("v", &Data::v, parameters, update_tolerance)
        .state(
            "copy", &Data::copy, [](const Problem& p) { return p.dtype; }, copies, exact_tolerance)
        .state(
            "state", &Data::state, [](const Problem&) { return std::int64_t{kStateFields}; },
            exact_tolerance);
  }

 private:
  template <class T>
  static auto of(T StepProblem::*member) -> T Problem::* {
    return member;
  }
};

// ---- variants

/// Returns a function for Variant::unsupported: the reason `why` if the problem's phase is not in
/// `phases`, otherwise the check of shared memory.
inline auto only_in(std::vector<Phase> phases, std::string why) {
  return
      [phases, why](const StepProblem& p, const DeviceSpec& device) -> std::optional<std::string> {
        if (std::count(phases.begin(), phases.end(), p.phase) == 0) return why;
        return lacks_shared_memory_for_products(device);
      };
}

template <template <class> class Network, class Problem, class Data>
struct StepVariants {
  using Variant = typename StepFamily<Problem, Data>::Variant;
  using Expected = ExpectedChangesOf<Problem>;

  Work (*work)(const Problem&);
  std::int64_t (*workspace_bytes)(const Problem&, Way, const DeviceSpec&);
  MetricValues (*memory)(const Problem&, Way);
  std::vector<std::string> written;
  std::vector<std::string> kept;  ///< outputs of the forward pass, named <name>_again if recomputed

  static Steps steps(const Problem& p, const Data& d, const LaunchContext& x, Way way) {
    return with_type(p, [&](auto zero) {
      const Network<decltype(zero)> network{{p, d, x, way}};
      Steps all;
      if (p.has(Phase::forward)) all += network.forward();
      if (p.has(Phase::backward)) all += network.backward();
      if (p.has(Phase::update)) all += network.update();
      return all;
    });
  }

  Variant variant(std::string id, std::string compare_to, Way way, Expected expected) const {
    Variant v(std::move(id), std::move(compare_to), std::move(expected));
    v.min_compute_capability = kMmaBf16ComputeCapability;
    v.deterministic = true;
    v.writes = written;
    for (const std::string& name : kept)
      v.writes.push_back(way.recomputes ? name + "_again" : name);
    v.unsupported = [](const Problem&, const DeviceSpec& device) {
      return lacks_shared_memory_for_products(device);
    };
    v.work = work;
    v.workspace_bytes = [way, bytes = workspace_bytes](const Problem& p, const DeviceSpec& device) {
      return bytes(p, way, device);
    };
    v.launch = [way](const Problem& p, const Data& d, const LaunchContext& x) {
      return steps(p, d, x, way);
    };
    v.metrics = [way, of = memory](const Problem& p, const DeviceSpec& device) {
      const std::size_t kernels = steps(p, Data{}, {device, nullptr}, way).shapes().size();
      MetricValues values{{"kernels", static_cast<double>(kernels)}};
      for (auto& value : of(p, way))
        values.push_back(value);
      return values;
    };
    return v;
  }

  Variant separate() const { return variant("separate", "", {false, false}, {}); }
  Variant fused() const {
    return variant("fused", "separate", {true, false},
                   {{"global_store_sectors", Direction::decreases, 1.05, has_passes<Problem>},
                    {"metric.kernels", Direction::decreases, 1.3,
                     [](const Problem& p) { return p.phase != Phase::backward; }}});
  }
  Variant by_cublas(std::int64_t (*columns_of)(const Problem&), std::string why) const {
    Variant v = variant("cublas", "fused", {true, false, true}, {});
    v.is_vendor = true;
    v.deterministic = false;
    v.metrics = {};
    v.unavailable = cublas::unavailable;
    v.unsupported = [=](const Problem& p, const DeviceSpec&) -> std::optional<std::string> {
      if (p.phase == Phase::update) return "the update phase has no matrix product";
      if (columns_of(p) % 8 == 0) return std::nullopt;
      return why + ": a vector of an epilogue must be inside one row";
    };
    return v;
  }
  Variant fused_recompute(Expected expected) const {
    Variant v = variant("fused_recompute", "fused", {true, true}, std::move(expected));
    v.unsupported = only_in({Phase::step, Phase::backward},
                            "recomputes activations in the backward pass; the other phases are "
                            "the same as in fused");
    return v;
  }
  /// A variant for phase=step with the kernels of `fused`, timed by `timing`.
  Variant whole_step(std::string id, std::string compare_to, Timing timing) const {
    Variant v = variant(std::move(id), std::move(compare_to), {true, false},
                        {{"metric.kernels", Direction::unchanged}});
    v.unsupported = only_in({Phase::step}, "supports only whole steps (phase=step)");
    v.timing = timing;
    return v;
  }
  Variant fused_one_by_one() const {
    return whole_step("fused_one_by_one", "fused", Timing::host_clock);
  }
  Variant fused_graph() const {
    Variant v = whole_step("fused_graph", "fused_one_by_one", Timing::host_clock);
    v.submission = Submission::graph;
    return v;
  }
  Variant fused_first() const {
    Variant v = whole_step("fused_first", "fused_one_by_one", Timing::fresh_process);
    v.without_time = "the time to load a kernel is not modelled";
    return v;
  }
};

}  // namespace gpuexp::training
