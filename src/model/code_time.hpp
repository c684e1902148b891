// Predicted time of a launch from its machine code. The blocks of one SM are executed cycle by
// cycle (timing/sm_time.hpp) and stand for those of all SMs. If there are many blocks, a few waves
// are executed, and the others take as long as the last of these. The addresses of all blocks
// determine the traffic of device memory (model/launch_traffic.hpp).
#pragma once

#include <string>
#include <vector>

#include "base/mode.hpp"
#include "family/step_time.hpp"
#include "model/cache_counts.hpp"
#include "model/kernel_times.hpp"
#include "model/launch_traffic.hpp"
#include "model/resource_terms.hpp"
#include "sim/simulator.hpp"

namespace gpuexp {

struct CodeTime {
  double total_us = 0;
  double launches = 0;      ///< number of consecutive kernels
  std::vector<Term> terms;  ///< longest first; never empty
  std::vector<KernelCodeTime> kernels;
  std::vector<double> each_us;      ///< time_us of each kernel of the launch, in order
  double launch_us = 0;             ///< part of the total: launch overhead in this mode
  double further_us = 0;            ///< part of launch_us for each kernel after the first
  std::vector<CacheCounts> caches;  ///< counts of each kernel of the launch, in order
  /// For launches on the host's clock: predicted host calls and steps; empty for long chains.
  std::vector<StepTime> timeline;
  std::string refusal;  ///< why there is no time; empty if there is one
};

class CodeTimeModel {
 public:
  CodeTimeModel(const DeviceSpec& device, const Ceilings& ceilings, Mode mode);

  /// Time of all kernels of a launch, one after another, with the traffic of each. The simulator
  /// has executed the steps before the launch. Reuses times in `known` and adds new ones, unless it
  /// is null. Throws what Simulator::run throws.
  CodeTime launch_time(sim::Simulator& simulator, const std::vector<ResidentKernel>& kernels,
                       const std::vector<KernelTraffic>& traffic,
                       KernelTimes* known = nullptr) const;

 private:
  double further_us() const;
  double launch_us(double launches) const;

  DeviceSpec device_;
  Ceilings ceilings_;
  Mode mode_;
};

}  // namespace gpuexp
