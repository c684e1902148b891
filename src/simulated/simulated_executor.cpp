#include "simulated/simulated_executor.hpp"

#include <algorithm>
#include <cmath>
#include <optional>
#include <utility>

#include <fmt/format.h>

#include "base/steady_clock.hpp"
#include "sim/kernel_counters.hpp"
#include "simulated/host_problem.hpp"

namespace gpuexp {

namespace {

/// What one launch may be: some seconds on a core. Operations, and elements of 4 bytes that are
/// moved, each of which takes some instructions of a lane.
constexpr double kMostWork = 2.5e9;
constexpr double kPerElement = 60;

class SimulatedExecutor final : public Executor, public CounterReader {
 public:
  SimulatedExecutor(const DeviceSpec& device, const KernelResources& kernels,
                    const SimulatedOptions& options)
      : device_(device), options_(options), simulator_(kernels, device.compute_capability()) {
    simulator_.stop = [this] { return options_.interrupted() || steady_seconds() > deadline_s_; };
  }

  void set_up(const Family& family, const Values& values, std::uint64_t seed) override {
    problem_.reset();
    executed([&] { problem_.emplace(family, values, seed, device_, simulator_); });
  }

  void poison(const Variant& variant, Mode) override {
    executed([&] { problem_->poison(variant); });
  }

  void launch(const Variant& variant, Mode) override {
    executed([&] { problem_->launch(variant); });
  }

  Verification check(const Variant& variant, Mode) override {
    Verification result;
    executed([&] { result = problem_->check(variant); });
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
      if (!sim::counts(metric)) support.unknown.push_back(metric);
    }
    return support;
  }

  std::vector<LaunchCounts> count(const std::vector<CountedLaunch>& launches, std::uint64_t seed,
                                  const std::vector<std::string>& metrics) override {
    std::vector<LaunchCounts> counts;
    const CountedLaunch* last = nullptr;
    for (const CountedLaunch& launch : launches) {
      if (!last || launch.family != last->family || launch.values != last->values)
        set_up(*launch.family, launch.values, seed);
      last = &launch;
      LaunchCounts& of_launch = counts.emplace_back();
      of_launch.metrics = metrics;
      of_launch.passes = 1;
      executed([&] {
        for (const sim::KernelExecution& kernel : problem_->launch(*launch.variant))
          of_launch.kernels.push_back(counts_of(kernel, metrics));
      });
    }
    problem_.reset();
    return counts;
  }

  CounterReader* counter_reader() override { return this; }

  // Nothing outlives a launch that failed but memory, which the next problem takes anew.
  bool recover() override { return true; }
  bool restart() override { return false; }

 private:
  static KernelCounts counts_of(const sim::KernelExecution& kernel,
                                const std::vector<std::string>& metrics) {
    const std::vector<sim::MetricValue> known = sim::metrics_of(kernel);
    KernelCounts counts{kernel.program->name, {}};
    for (const std::string& metric : metrics) {
      const auto found = std::find_if(known.begin(), known.end(), [&](const sim::MetricValue& m) {
        return m.metric == metric;
      });
      counts.values.push_back(found == known.end() ? std::nan("") : found->value);
    }
    return counts;
  }

  template <class Function>
  void executed(const Function& function) {
    deadline_s_ = steady_seconds() + options_.launch_timeout_s;
    try {
      function();
    } catch (const sim::Stopped&) {
      if (options_.interrupted()) throw DeviceError("interrupted", DeviceFault::interrupted);
      throw DeviceError(fmt::format("did not end within {:g} s of simulation (--launch-timeout)",
                                    options_.launch_timeout_s),
                        DeviceFault::timed_out);
    } catch (const sim::Fault& fault) {
      throw DeviceError(fault.what(), DeviceFault::refused);
    } catch (const std::bad_alloc&) {
      throw DeviceError("the host has no memory for it", DeviceFault::refused);
    }
  }

  DeviceSpec device_;
  SimulatedOptions options_;
  double deadline_s_ = 0;
  sim::Simulator simulator_;
  std::optional<HostProblem> problem_;
};

}  // namespace

std::unique_ptr<Executor> make_simulated_executor(const DeviceSpec& device,
                                                  const KernelResources& kernels,
                                                  const SimulatedOptions& options) {
  return std::make_unique<SimulatedExecutor>(device, kernels, options);
}

struct SimulationLimits::State {
  DeviceSpec device;
  sim::Simulator simulator;
};

SimulationLimits::SimulationLimits(const DeviceSpec& device, const KernelResources& kernels)
    : state_(new State{device, sim::Simulator(kernels, device.compute_capability())}) {}

SimulationLimits::~SimulationLimits() = default;

std::string SimulationLimits::refusal(const Variant& variant, const void* problem) {
  if (variant.is_vendor) return "a library's call, whose kernels are not simulated";
  const Work work = variant.work(problem);
  const double moved = work.moved_read + work.moved_written;
  const double size = operation_count(work) + kPerElement * moved / sizeof(float);
  if (size > kMostWork) {
    return fmt::format(
        "{:.2g} operations and {:.2g} bytes: more than is simulated whole; --set takes a smaller "
        "problem",
        operation_count(work), moved);
  }
  return state_->simulator.refusal(
      variant.launch(problem, variant.unbound_data.get(), {state_->device, nullptr}));
}

}  // namespace gpuexp
