// The time of a variant's launch, predicted from the machine code of its kernels.
#pragma once

#include "base/mode.hpp"
#include "model/code_time.hpp"
#include "model/host_time.hpp"
#include "model/prediction.hpp"
#include "simulated/host_problem.hpp"

namespace gpuexp {

/// A variant's kernels on a problem, and what they touch.
struct LaunchToTime {
  Steps steps;
  std::vector<ResidentKernel> kernels;  ///< of the steps
  std::vector<HostedStep> hosted;       ///< of the steps, where the host's clock times them
  bool as_graph = false;                ///< these are enqueued by one call
  LaunchFootprint footprint;
  std::string refusal;  ///< why its time cannot be predicted; empty where it can
};

/// What is known of kernels that launches of one problem have in common.
struct KnownKernels {
  GridFootprints footprints;
  KernelTimes times;
};

/// `known`: null where nobody asks. Throws sim::Stopped.
LaunchToTime launch_to_time(HostProblem& problem, const Variant& variant, sim::Simulator& simulator,
                            const DeviceSpec& device, const KernelResources& resources,
                            KnownKernels* known = nullptr);

/// The first kernel with so many blocks that a rank launches; its time alone is to be predicted. A
/// refusal where there is none, or it cannot be executed. Throws sim::Stopped.
LaunchToTime kernel_to_time(HostProblem& problem, const Variant& variant, const void* kernel,
                            const Extent& grid, sim::Simulator& simulator, const DeviceSpec& device,
                            const KernelResources& resources);

/// A launch that cannot be executed, or whose kernels have a fault, has a refusal. Throws
/// sim::Stopped.
CodeTime predict_from_code(const LaunchToTime& launch, sim::Simulator& simulator, Mode mode,
                           const DeviceSpec& device, const Ceilings& ceilings,
                           KnownKernels* known = nullptr);

}  // namespace gpuexp
