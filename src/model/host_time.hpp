// Time on the host's clock of a launch whose steps the host enqueues one by one, and which copy
// engines and SMs execute concurrently. Measured ceilings give the time of a call and of a round
// trip, and the bandwidth of the bus.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "device/ceilings.hpp"
#include "family/step_time.hpp"
#include "model/resource_terms.hpp"

namespace gpuexp {

/// Unit that executes a step.
enum class Unit { sms, copy_to_device, copy_to_host, host };

/// A step of a launch; the host enqueues steps in order.
struct HostedStep {
  Unit unit = Unit::sms;
  double kernel_us = 0;    ///< time of a kernel
  std::int64_t bytes = 0;  ///< size of a copy
  int stream = 0;          ///< Step::stream
  std::vector<std::size_t> after;
};

struct HostTime {
  double total_us = 0;
  std::vector<StepTime> timeline;  ///< host calls, then the steps
  std::vector<Term> terms;         ///< times of the host and of each copy engine, longest first
  std::string refusal;             ///< why there is no time; empty if there is one
};

/// Time until the host knows that the last step has ended. If `as_graph`, one call enqueues all
/// steps. A kernel that follows another in its stream takes `further_us` longer.
HostTime host_time(const std::vector<HostedStep>& steps, bool as_graph, double further_us,
                   const Ceilings& ceilings);

}  // namespace gpuexp
