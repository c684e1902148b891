#include "simulated/code_prediction.hpp"

#include <variant>

#include "model/occupancy.hpp"

namespace gpuexp {

namespace {

// Each kernel whose traffic is declared; those that follow as further launches of it are not timed
// again.
std::vector<KernelToTime> kernels_to_time(const Steps& steps, const std::vector<Traffic>& traffic,
                                          const DeviceSpec& device,
                                          const KernelResources& resources) {
  std::vector<KernelToTime> kernels;
  for (const Step& step : steps.all()) {
    const auto* const kernel = std::get_if<KernelStep>(&step.action);
    if (!kernel || kernel->shape.grid.count() == 0 || kernels.size() == traffic.size()) continue;
    const auto resident = occupancy(kernel->shape, device, resources);
    if (!resident) return {};
    kernels.push_back({kernel, traffic[kernels.size()], resident->blocks_per_sm});
  }
  return kernels;
}

CodeTime refused(const std::string& why) {
  CodeTime time;
  time.refusal = why;
  return time;
}

}  // namespace

CodeTime predict_from_code(HostProblem& problem, const Variant& variant, sim::Simulator& simulator,
                           const Prediction& prediction, Mode mode, const DeviceSpec& device,
                           const Ceilings& ceilings, const KernelResources& resources) {
  const Steps steps = problem.steps(variant);
  if (const std::string why = simulator.refusal(steps); !why.empty()) return refused(why);
  const auto kernels = kernels_to_time(steps, prediction.traffic, device, resources);
  if (kernels.empty()) return refused("what it moves through L2 is not known");
  try {
    return CodeTimeModel(device, ceilings, mode).launch_time(simulator, kernels, prediction.work);
  } catch (const sim::Fault& fault) {
    return refused(fault.what());
  }
}

}  // namespace gpuexp
