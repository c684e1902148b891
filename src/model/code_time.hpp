// The time that a launch is likely to take, from its own machine code: the blocks of one SM are
// executed clock by clock (timing/sm_time.hpp), and stand for those of all others.
//
// Of many blocks, a few waves are executed, and the rest take as long as the last of these. What
// device memory has to deliver follows from the addresses of all blocks (model/launch_traffic.hpp).
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
  double launches = 0;      ///< kernels, one after the other
  std::vector<Term> terms;  ///< longest first; never empty
  std::vector<KernelCodeTime> kernels;
  std::vector<double> each_us;      ///< time_us of each kernel of the launch, in order
  double launch_us = 0;             ///< of the total, what launches take: that of the mode
  double further_us = 0;            ///< of that, what each kernel behind the first adds
  std::vector<CacheCounts> caches;  ///< of each kernel of the launch, in order
  /// Of launches on the host's clock, when the host calls and each step is likely to run; none of
  /// long chains.
  std::vector<StepTime> timeline;
  std::string refusal;  ///< why there is no time; empty where there is
};

class CodeTimeModel {
 public:
  CodeTimeModel(const DeviceSpec& device, const Ceilings& ceilings, Mode mode);

  /// Of all kernels of a launch, one after the other; the traffic is that of each. The simulator
  /// has executed the steps before the launch. Those that are `known` are not timed again, and
  /// others become so; null: nobody asks. Throws what Simulator::run throws.
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
