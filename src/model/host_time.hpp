// Time, on the host's clock, of a launch whose steps the host enqueues one by one. Copy engines and
// SMs execute the steps concurrently.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "device/ceilings.hpp"
#include "family/step_time.hpp"
#include "model/resource_terms.hpp"

namespace gpuexp {

enum class Unit { sms, copy_to_device, copy_to_host, host };

struct HostedStep {
  Unit unit = Unit::sms;
  double kernel_us = 0;    ///< time of a kernel step
  std::int64_t bytes = 0;  ///< size of a copy step
  int stream = 0;
  std::vector<std::size_t> after;
};

struct HostTime {
  double total_us = 0;
  std::vector<StepTime> timeline;
  std::vector<Term> terms;  ///< times of the host and of each copy engine, longest first
  std::string refusal;      ///< why no time is predicted; else empty
};

/// Time until the host knows that the last step has ended. With `as_graph`, one call enqueues all
/// steps. A kernel that directly follows a kernel in its stream takes `further_us` longer.
HostTime host_time(const std::vector<HostedStep>& steps, bool as_graph, double further_us,
                   const Ceilings& ceilings);

}  // namespace gpuexp
