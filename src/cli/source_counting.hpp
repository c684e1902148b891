#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "cli/worker.hpp"
#include "sim/simulator.hpp"

namespace gpuexp::cli {

struct SourceCounting {
  std::vector<CountedInstruction> instructions;
  std::string unavailable;  ///< why nothing was counted; empty if it was
};

/// Counts each distinct kernel of the launch in a separate process. `executions` are from the CPU's
/// execution of the launch. Throws DeviceError if the device is lost.
SourceCounting count_source(Executor& executor, const CountedLaunch& launch, std::uint64_t seed,
                            const std::vector<sim::KernelExecution>& executions);

}  // namespace gpuexp::cli
