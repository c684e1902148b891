#include "simulated/simulated_executor.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <map>
#include <optional>
#include <tuple>
#include <utility>

#include <fmt/format.h>

#include "family/registry.hpp"
#include "model/cache_counts.hpp"
#include "run/compared_elements.hpp"
#include "run/host_refusal.hpp"
#include "simulated/host_problem.hpp"
#include "simulated/launch_deadline.hpp"

namespace gpuexp {

namespace {

/// Maximum work of a launch for which all blocks are executed, a few seconds on one core: the
/// number of operations plus kPerElement instructions per 4-byte element moved.
constexpr double kMaxWork = 2.5e9;
constexpr double kPerElement = 60;

bool is_large(const Work& work, double untyped_operations) {
  const double moved = work.moved_read + work.moved_written;
  return operation_count(work) + untyped_operations + kPerElement * moved / sizeof(float) >
         kMaxWork;
}

Steps steps_on(const DeviceSpec& device, const Variant& variant, const void* problem) {
  return variant.launch(problem, variant.unbound_data.get(), {device, nullptr});
}

class SimulatedExecutor final : public Executor, public CounterReader {
 public:
  SimulatedExecutor(const DeviceSpec& device, const KernelResources& kernels,
                    const SimulatedOptions& options)
      : device_(device), options_(options), simulator_(kernels, device.compute_capability()) {
    simulator_.stop = [this] { return options_.interrupted() || deadline_.is_late(); };
    simulator_.print = options_.print;
    simulator_.uses_host_loops = true;
    simulator_.find_code = options_.find_code;
  }

  void set_up(const Family& family, const Values& values, std::uint64_t seed) override {
    problem_.reset();
    values_ = values;
    seed_ = seed;
    executed([&] { problem_.emplace(family, values, seed, device_, simulator_); });
  }

  void poison(const Variant& variant, Mode) override {
    referenced([&] {
      problem_->set_sampling(executable_sampling(variant, problem_->problem(), options_.blocks,
                                                 seed_, simulator_, device_));
      problem_->poison(variant);
    });
  }

  void launch(const Variant& variant, Mode) override {
    executed([&] { count_kernels(variant); });
  }

  Verification check(const Variant& variant, Mode) override {
    Verification result;
    referenced([&] { result = problem_->check(variant); });
    return result;
  }

  MetricValues measured_metrics(const Variant& variant) override {
    MetricValues values;
    executed([&] { values = problem_->measured_metrics(variant); });
    return values;
  }

  CounterSupport counter_support(const std::vector<std::string>& metrics) override {
    CounterSupport support;
    for (const std::string& metric : metrics) {
      // Cache metrics are also known: the predictor, which simulates caches, adds their counts.
      if (!place_of(metric) && !cache_metric(metric)) support.unknown.push_back(metric);
    }
    return support;
  }

  std::vector<LaunchCounts> count(const std::vector<CountedLaunch>& launches, std::uint64_t seed,
                                  const std::vector<std::string>& metrics) override {
    std::vector<LaunchCounts> counts;
    for (const CountedLaunch& launch : launches) {
      const Launch key{launch.variant, launch.values, seed};
      if (counted_.count(key) == 0) {
        if (!problem_ || current(launch.variant) != key)
          set_up(*launch.family, launch.values, seed);
        poison(*launch.variant, launch.mode);
        this->launch(*launch.variant, launch.mode);
      }
      LaunchCounts& of_launch = counts.emplace_back();
      of_launch.metrics = metrics;
      of_launch.passes = 1;
      of_launch.standard_error = 0;
      for (const CountedKernel& kernel : counted_.at(key)) {
        of_launch.kernels.push_back(counts_of(kernel, metrics));
        of_launch.standard_error = std::max(*of_launch.standard_error, kernel.standard_error);
      }
    }
    return counts;
  }

  CounterReader* counter_reader() override { return this; }

  // A failed launch leaves only memory, which the next problem allocates again.
  bool recover() override { return true; }
  bool restart() override { return false; }

 private:
  struct CountedKernel {
    std::string name;
    sim::MetricValues metrics;
    double standard_error;
  };
  using Launch = std::tuple<const Variant*, Values, std::uint64_t>;

  Launch current(const Variant* variant) const { return {variant, values_, seed_}; }

  void count_kernels(const Variant& variant) {
    std::vector<CountedKernel> kernels;
    for (const sim::KernelExecution& kernel : problem_->launch(variant))
      kernels.push_back({kernel.program->name, kernel.metrics(), kernel.standard_error});
    counted_[current(&variant)] = std::move(kernels);
  }

  static KernelCounts counts_of(const CountedKernel& kernel,
                                const std::vector<std::string>& metrics) {
    KernelCounts counts{kernel.name, {}};
    for (const std::string& metric : metrics) {
      const std::optional<std::size_t> known = place_of(metric);
      counts.values.push_back(known ? kernel.metrics[*known] : std::nan(""));
    }
    return counts;
  }

  static std::optional<std::size_t> place_of(std::string_view metric) {
    const auto names = sim::metric_names();
    const auto found = std::find(names.begin(), names.end(), metric);
    if (found == names.end()) return std::nullopt;
    return static_cast<std::size_t>(found - names.begin());
  }

  /// Computes references. Only those that are kernels have a limit of time: host loops end.
  template <class Function>
  void referenced(const Function& function) {
    const bool ends = problem_ && problem_->family().host_reference;
    executed(function, ends ? std::numeric_limits<double>::infinity() : options_.launch_timeout_s);
  }

  template <class Function>
  void executed(const Function& function) {
    executed(function, options_.launch_timeout_s);
  }
  template <class Function>
  void executed(const Function& function, double limit_s) {
    deadline_ = LaunchDeadline(limit_s);
    try {
      with_host_refusals(function);
    } catch (const sim::Stopped& stopped) {
      if (options_.interrupted()) throw DeviceError("interrupted", DeviceFault::interrupted);
      throw DeviceError(deadline_.text(stopped), DeviceFault::timed_out);
    } catch (const DeviceError&) {
      throw;
    } catch (const sim::Fault& fault) {
      throw DeviceError(fault.what() + remedy_of(fault), DeviceFault::refused);
    } catch (const std::runtime_error& refusal) {
      throw DeviceError(refusal.what(), DeviceFault::refused);
    }
  }

  /// How a kernel file's declaration permits the access; empty for other faults.
  std::string remedy_of(const sim::Fault& fault) const {
    if (fault.kind != sim::FaultKind::unwritten || !fault.address || !problem_ ||
        !is_kernel_file(problem_->family().id))
      return "";
    const Buffer* const buffer = problem_->buffer_at(reinterpret_cast<const void*>(*fault.address));
    if (!buffer || buffer->role != BufferRole::output) return "";
    return fmt::format(
        "; declare it as 'in {0}' if the kernel only reads it, as 'in_out {0}' if the kernel reads "
        "what is there before the launch and writes it, or begin the launch with 'memset({0}, 0)' "
        "if the kernel adds to zeros",
        buffer->name);
  }

  DeviceSpec device_;
  SimulatedOptions options_;
  LaunchDeadline deadline_;
  sim::Simulator simulator_;
  std::optional<HostProblem> problem_;
  Values values_;
  std::uint64_t seed_ = 0;
  std::map<Launch, std::vector<CountedKernel>> counted_;
};

}  // namespace

std::optional<sim::BlockSampling> sampling_of(const Variant& variant, const void* problem,
                                              ExecutedBlocks blocks, std::uint64_t seed) {
  if (blocks.count == ExecutedBlocks::kAll) return std::nullopt;
  const Work work = variant.work(problem);
  if (blocks.count == ExecutedBlocks::kAsNeeded && !is_large(work, work.untyped_operations))
    return std::nullopt;
  sim::BlockSampling sampling;
  sampling.seed = seed;
  if (blocks.count > 0) sampling.blocks = blocks.count;
  return sampling;
}

std::optional<sim::BlockSampling> executable_sampling(const Variant& variant, const void* problem,
                                                      ExecutedBlocks blocks, std::uint64_t seed,
                                                      sim::Simulator& simulator,
                                                      const DeviceSpec& device) {
  const auto sampling = sampling_of(variant, problem, blocks, seed);
  const Work work = variant.work(problem);
  const bool may_execute_all = sampling && blocks.count == ExecutedBlocks::kAsNeeded &&
                               work.is_assumed && !is_large(work, 0);
  if (may_execute_all && !simulator.sampling_refusal(steps_on(device, variant, problem)).empty())
    return std::nullopt;
  return sampling;
}

std::unique_ptr<Executor> make_simulated_executor(const DeviceSpec& device,
                                                  const KernelResources& kernels,
                                                  const SimulatedOptions& options) {
  return std::make_unique<SimulatedExecutor>(device, kernels, options);
}

struct SimulationLimits::State {
  DeviceSpec device;
  const KernelResources& kernels;
  sim::FindCode find_code;
  ExecutedBlocks blocks;
  sim::Simulator simulator;
};

SimulationLimits::SimulationLimits(const DeviceSpec& device, const KernelResources& kernels,
                                   const SimulatedOptions& options)
    : state_(new State{device, kernels, options.find_code, options.blocks,
                       sim::Simulator(kernels, device.compute_capability())}) {
  state_->simulator.find_code = options.find_code;
}

SimulationLimits::~SimulationLimits() = default;

Steps SimulationLimits::steps_of(const Variant& variant, const void* problem) const {
  return steps_on(state_->device, variant, problem);
}

bool SimulationLimits::lacks_code_of_gpu(const Variant& variant, const void* problem) const {
  if (variant.is_vendor) return false;
  const int capability = state_->device.compute_capability();
  return std::ranges::any_of(steps_of(variant, problem).shapes(), [&](const Shape& shape) {
    const auto found = state_->kernels.find(shape.kernel, capability);
    if (!found || found->exact) return false;
    try {
      return !state_->find_code || state_->find_code(found->resource, capability).code.empty();
    } catch (const ToolError&) {
      return false;  // with other tools, this machine executes the launch
    } catch (const std::runtime_error&) {
      return true;
    }
  });
}

std::string SimulationLimits::refusal(const Variant& variant, const void* problem) {
  if (variant.is_vendor) return "calls a vendor library, whose kernels are not simulated";
  const Steps steps = steps_of(variant, problem);
  if (std::string why = state_->simulator.refusal(steps); !why.empty()) return why;
  constexpr std::uint64_t kAnySeed = 0;
  if (!executable_sampling(variant, problem, state_->blocks, kAnySeed, state_->simulator,
                           state_->device))
    return "";
  const std::string why = state_->simulator.sampling_refusal(steps);
  if (why.empty()) return why;
  const Work work = variant.work(problem);
  return fmt::format(
      "{:.2g} operations and {:.2g} bytes are too many to execute all of its blocks, and a sample "
      "of them cannot be executed: {}; choose a smaller problem with --set",
      operation_count(work) + work.untyped_operations, work.moved_read + work.moved_written, why);
}

std::string SimulationLimits::reference_refusal(const Family& family, const Variant& variant,
                                                const void* problem) {
  if (family.host_reference) return "";
  double number = 0;  // views of requested outputs need an address
  std::vector<ReferenceView> views;
  for (const Buffer& buffer : family.buffers) {
    if (!is_output(buffer.role)) continue;
    views.push_back(variant.fills(buffer.name) ? ReferenceView{&number, &number} : ReferenceView{});
  }
  Steps steps = family.reference(problem, variant.unbound_data.get(), views);
  std::erase_if(steps.all(), [](const Step& step) {
    const auto* const kernel = std::get_if<KernelStep>(&step.action);
    return !kernel || kernel->on_host.run;
  });
  if (steps.all().empty()) return "";
  if (const std::string why = state_->simulator.refusal(steps); !why.empty())
    return fmt::format("its reference cannot be executed: {}", why);
  const double operations = host_reference_operations(family, problem, variant);
  if (state_->blocks.count == ExecutedBlocks::kAll || operations <= kMaxWork) return "";
  return fmt::format(
      "the launch of its reference has about {:.2g} instructions, too many to execute all of its "
      "blocks, and results of a kernel cannot be sampled: verify a smaller problem with --set, "
      "predict this one with 'gpuexp predict', or declare a check",
      operations);
}

}  // namespace gpuexp
