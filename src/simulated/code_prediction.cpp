#include "simulated/code_prediction.hpp"

#include <variant>

#include "model/occupancy.hpp"

namespace gpuexp {

namespace {

CodeTime refused(const std::string& why) {
  CodeTime time;
  time.refusal = why;
  return time;
}

}  // namespace

LaunchToTime launch_to_time(HostProblem& problem, const Variant& variant, sim::Simulator& simulator,
                            const DeviceSpec& device, const KernelResources& resources) {
  LaunchToTime launch;
  launch.steps = problem.steps(variant);
  launch.refusal = simulator.refusal(launch.steps);
  if (launch.refusal.empty()) launch.refusal = variant.without_time;
  if (!launch.refusal.empty()) return launch;
  for (const Step& step : launch.steps.all()) {
    const auto* const kernel = std::get_if<KernelStep>(&step.action);
    if (!kernel || kernel->shape.grid.count() == 0) continue;
    const auto resident = occupancy(kernel->shape, device, resources);
    if (!resident) {
      launch.refusal = "how many of its blocks an SM holds is not known";
      return launch;
    }
    launch.kernels.push_back({kernel, resident->blocks_per_sm});
  }
  try {
    launch.footprint = footprint_of(simulator, launch.kernels, device);
    launch.refusal = launch.footprint.refusal;
  } catch (const sim::Fault& fault) {
    launch.refusal = fault.what();
  }
  return launch;
}

CodeTime predict_from_code(const LaunchToTime& launch, sim::Simulator& simulator, Mode mode,
                           const DeviceSpec& device, const Ceilings& ceilings,
                           const CodeTime* other) {
  if (!launch.refusal.empty()) return refused(launch.refusal);
  const CodeTimeModel model(device, ceilings, mode);
  try {
    const auto traffic = launch_traffic(launch.footprint, mode, device, simulator.stop);
    if (other) {
      if (const auto same = model.from_other_mode(*other, traffic)) return *same;
    }
    return model.launch_time(simulator, launch.kernels, traffic);
  } catch (const sim::Fault& fault) {
    return refused(fault.what());
  }
}

}  // namespace gpuexp
