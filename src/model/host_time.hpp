// The time on the host's clock of a launch whose steps the host enqueues one by one, and which copy
// engines and SMs execute side by side: from what a call and a round trip take the host, and what
// the bus delivers, which are measured ceilings, and the times of its kernels.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "device/ceilings.hpp"
#include "family/step_time.hpp"
#include "model/resource_terms.hpp"

namespace gpuexp {

/// What executes a step.
enum class Unit { sms, copy_to_device, copy_to_host, host };

/// A step of a launch, in the order in which the host enqueues them.
struct HostedStep {
  Unit unit = Unit::sms;
  double kernel_us = 0;    ///< of Unit::sms
  std::int64_t bytes = 0;  ///< that a copy engine moves
  int stream = 0;          ///< Step::stream
  std::vector<std::size_t> after;
};

struct HostTime {
  double total_us = 0;
  std::vector<StepTime> timeline;  ///< calls of the host, and then the steps
  std::vector<Term> terms;         ///< each unit's and the host's time, longest first
  std::string refusal;             ///< why there is no time; empty where there is
};

/// `as_graph`: one call enqueues them all. `further_us` is what a kernel behind another of its
/// stream adds to its own time. Until the host knows that the last step has ended.
HostTime host_time(const std::vector<HostedStep>& steps, bool as_graph, double further_us,
                   const Ceilings& ceilings);

}  // namespace gpuexp
