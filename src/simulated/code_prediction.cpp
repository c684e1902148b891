#include "simulated/code_prediction.hpp"

#include <algorithm>
#include <map>
#include <stdexcept>
#include <variant>

#include "model/occupancy.hpp"

namespace gpuexp {

namespace {

CodeTime refused(const std::string& why, bool has_faulted) {
  CodeTime time;
  time.refusal = why;
  time.has_faulted = has_faulted;
  return time;
}

// Returns the steps as the host enqueues them, without kernel times. Throws std::runtime_error for
// copies whose time is not modelled.
std::vector<HostedStep> hosted_steps(const HostProblem& problem, const Steps& steps) {
  std::vector<HostedStep> hosted;
  for (const Step& step : steps.all()) {
    HostedStep& of = hosted.emplace_back();
    of.stream = step.stream;
    of.after = step.after;
    if (const auto* copy = std::get_if<CopyStep>(&step.action)) {
      const Residence from = problem.residence_of(copy->from);
      const Residence to = problem.residence_of(copy->to);
      if (from == Residence::pageable || to == Residence::pageable)
        throw std::runtime_error("copies of pageable memory are not modelled");
      if (from == to) throw std::runtime_error("copies within a memory are not modelled");
      of.unit = to == Residence::device ? Unit::copy_to_device : Unit::copy_to_host;
      of.bytes = copy->bytes * copy->rows;
    } else if (std::holds_alternative<HostReadStep>(step.action)) {
      of.unit = Unit::host;
    } else if (!std::holds_alternative<KernelStep>(step.action)) {
      of.unit = Unit::sms;  // a fill, whose time is negligible
    }
  }
  return hosted;
}

void time_on_host_clock(const LaunchToTime& launch, const Ceilings& ceilings, CodeTime& time) {
  std::vector<HostedStep> hosted = launch.hosted;
  std::size_t kernel = 0;
  for (std::size_t i = 0; i < hosted.size(); ++i) {
    const auto* const step = std::get_if<KernelStep>(&launch.steps.all()[i].action);
    if (step && step->shape.grid.count() > 0) hosted[i].kernel_us = time.each_us[kernel++];
  }
  const double further_us = launch.as_graph ? *ceilings.floor_graph_us : time.further_us;
  const HostTime host = host_time(hosted, launch.as_graph, further_us, ceilings);
  time.refusal = host.refusal;
  time.total_us = host.total_us;
  constexpr std::size_t kMaxSteps = 64;  // longer launches are uniform chains
  if (launch.steps.overlap() || hosted.size() <= kMaxSteps) time.timeline = host.timeline;
  std::map<std::string, double> isolated_us;
  for (const std::vector<Term>& terms : {time.terms, host.terms}) {
    for (const Term& term : terms)
      isolated_us[term.resource] = term.time_us;
  }
  time.terms = longest_first(isolated_us);
}

}  // namespace

namespace {

void find_kernels(LaunchToTime& launch, sim::Simulator& simulator, const DeviceSpec& device,
                  const KernelResources& resources, KnownKernels* known) {
  for (const Step& step : launch.steps.all()) {
    const auto* const kernel = std::get_if<KernelStep>(&step.action);
    if (!kernel || kernel->shape.grid.count() == 0) continue;
    const auto resident = occupancy(kernel->shape, device, resources);
    if (!resident) {
      launch.refusal = "the number of its resident blocks per SM is unknown";
      return;
    }
    const SharedDemand demand{kernel->shape.block.count(), resident->shared_bytes,
                              resident->blocks_per_sm, resident->blocks_without_shared};
    launch.kernels.push_back({kernel, resident->blocks_per_sm,
                              unified_memory(device, demand).value_or(UnifiedMemory{})});
  }
  const bool keeps_global = std::any_of(
      launch.kernels.begin(), launch.kernels.end(),
      [&](const ResidentKernel& kernel) { return simulator.is_decided_by_global(*kernel.step); });
  for (ResidentKernel& kernel : launch.kernels)
    kernel.keeps_global = keeps_global;
  try {
    launch.footprint =
        footprint_of(simulator, launch.kernels, device, known ? &known->footprints : nullptr);
    launch.refusal = launch.footprint.refusal;
  } catch (const sim::Fault& fault) {
    launch.refusal = fault.what();
    launch.has_faulted = true;
  }
}

}  // namespace

LaunchToTime kernel_to_time(HostProblem& problem, const Variant& variant, const void* kernel,
                            const Extent& grid, sim::Simulator& simulator, const DeviceSpec& device,
                            const KernelResources& resources) {
  LaunchToTime launch;
  for (int rank = 0; rank < problem.ranks(); ++rank) {
    const Steps steps = problem.steps(variant, rank);
    for (const Step& step : steps.all()) {
      const auto* const of_step = std::get_if<KernelStep>(&step.action);
      if (!of_step || of_step->shape.kernel != kernel || !(of_step->shape.grid == grid)) continue;
      launch.steps = Steps(*of_step);
      problem.signal_ahead();
      launch.refusal = simulator.refusal(launch.steps);
      if (launch.refusal.empty()) find_kernels(launch, simulator, device, resources, nullptr);
      return launch;
    }
  }
  launch.refusal = "no rank launches it";
  return launch;
}

LaunchToTime launch_to_time(HostProblem& problem, const Variant& variant, sim::Simulator& simulator,
                            const DeviceSpec& device, const KernelResources& resources,
                            KnownKernels* known) {
  LaunchToTime launch;
  launch.steps = problem.steps(variant);
  launch.refusal = simulator.refusal(launch.steps);
  if (launch.refusal.empty()) launch.refusal = variant.without_time;
  // Kernels of such a variant would wait for other ranks.
  if (launch.refusal.empty() && variant.phases)
    launch.refusal = "its time is predicted from phases";
  if (!launch.refusal.empty()) return launch;
  if (variant.timing == Timing::host_clock) {
    try {
      launch.hosted = hosted_steps(problem, launch.steps);
    } catch (const std::runtime_error& why) {
      launch.refusal = why.what();
      return launch;
    }
    launch.as_graph = variant.submission == Submission::graph;
  }
  find_kernels(launch, simulator, device, resources, known);
  return launch;
}

CodeTime predict_from_code(const LaunchToTime& launch, sim::Simulator& simulator, Mode mode,
                           const DeviceSpec& device, const Ceilings& ceilings,
                           KnownKernels* known) {
  if (!launch.refusal.empty()) return refused(launch.refusal, launch.has_faulted);
  const CodeTimeModel model(device, ceilings, mode);
  try {
    const auto traffic = launch_traffic(launch.footprint, mode, device, simulator.stop);
    const auto fills = std::ranges::count_if(launch.steps.all(), [](const Step& step) {
      const auto* const fill = std::get_if<MemsetStep>(&step.action);
      return fill && fill->bytes > 0;
    });
    CodeTime time = model.launch_time(simulator, launch.kernels, traffic,
                                      known ? &known->times : nullptr, static_cast<double>(fills));
    if (time.refusal.empty() && !launch.hosted.empty()) time_on_host_clock(launch, ceilings, time);
    return time;
  } catch (const sim::Fault& fault) {
    return refused(fault.what(), true);
  }
}

}  // namespace gpuexp
