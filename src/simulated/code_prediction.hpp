// Predicts the time of a variant's launch from the machine code of its kernels.
#pragma once

#include "base/mode.hpp"
#include "model/code_time.hpp"
#include "model/host_time.hpp"
#include "model/prediction.hpp"
#include "simulated/host_problem.hpp"

namespace gpuexp {

struct LaunchToTime {
  Steps steps;
  std::vector<ResidentKernel> kernels;
  std::vector<HostedStep> hosted;  ///< all steps, for variants timed on the host's clock
  bool as_graph = false;
  LaunchFootprint footprint;
  std::string refusal;       ///< why the time cannot be predicted; empty if it can
  bool has_faulted = false;  ///< the refusal is a kernel's fault
};

struct KnownKernels {
  GridFootprints footprints;
  KernelTimes times;
};

/// Collects the kernels of a launch and their footprints. `known` may be null. Throws sim::Stopped.
LaunchToTime launch_to_time(HostProblem& problem, const Variant& variant, sim::Simulator& simulator,
                            const DeviceSpec& device, const KernelResources& resources,
                            KnownKernels* known = nullptr);

/// Like launch_to_time(), for only the first launch of `kernel` with this grid on any rank. Returns
/// a refusal if no rank launches the kernel with this grid.
LaunchToTime kernel_to_time(HostProblem& problem, const Variant& variant, const void* kernel,
                            const Extent& grid, sim::Simulator& simulator, const DeviceSpec& device,
                            const KernelResources& resources);

/// Predicts the time of a launch. Returns a refusal if the launch cannot be executed or a kernel
/// faults. Throws sim::Stopped.
CodeTime predict_from_code(const LaunchToTime& launch, sim::Simulator& simulator, Mode mode,
                           const DeviceSpec& device, const Ceilings& ceilings,
                           KnownKernels* known = nullptr);

}  // namespace gpuexp
