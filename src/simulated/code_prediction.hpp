// The time of a variant's launch, predicted from the machine code of its kernels.
#pragma once

#include "base/mode.hpp"
#include "model/code_time.hpp"
#include "model/prediction.hpp"
#include "simulated/host_problem.hpp"

namespace gpuexp {

/// `prediction` is the cell's, made from declared traffic. A launch that cannot be executed, or
/// whose kernels have a fault, has a refusal. Throws sim::Stopped.
CodeTime predict_from_code(HostProblem& problem, const Variant& variant, sim::Simulator& simulator,
                           const Prediction& prediction, Mode mode, const DeviceSpec& device,
                           const Ceilings& ceilings, const KernelResources& resources);

}  // namespace gpuexp
