// Predicted time of a launch from its machine code. The blocks of one SM are executed cycle by
// cycle (timing/sm_time.hpp) and represent all SMs. For many blocks, only a few waves are executed;
// later waves take as long as the last executed wave. The addresses of all blocks determine the
// DRAM traffic (model/launch_traffic.hpp).
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
  double launch_us = 0;             ///< launch overhead in this mode, included in total_us
  double further_us = 0;            ///< part of launch_us for each kernel after the first
  std::vector<CacheCounts> caches;  ///< by kernel of the launch
  /// Predicted host calls and steps, for launches on the host's clock; empty for long chains.
  std::vector<StepTime> timeline;
  std::string refusal;       ///< why no time is predicted; else empty
  bool has_faulted = false;  ///< the refusal is a kernel's fault
};

class CodeTimeModel {
 public:
  CodeTimeModel(const DeviceSpec& device, const Ceilings& ceilings, Mode mode);

  /// Times all kernels of a launch one after another, each with its traffic. The simulator must
  /// have executed the steps before the launch. Reuses and extends `known` unless it is null.
  /// `fills` is the number of fills of memory (MemsetStep) in the launch. Throws what
  /// Simulator::run throws.
  CodeTime launch_time(sim::Simulator& simulator, const std::vector<ResidentKernel>& kernels,
                       const std::vector<KernelTraffic>& traffic, KernelTimes* known = nullptr,
                       double fills = 0) const;

 private:
  double further_us() const;
  std::optional<double> first_us() const;
  double kernel_latency_us() const;
  double launch_us(double launches, double fills) const;

  DeviceSpec device_;
  Ceilings ceilings_;
  Mode mode_;
};

}  // namespace gpuexp
