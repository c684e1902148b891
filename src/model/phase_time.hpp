// The time of a launch that spans GPUs, from what its phases wait for and move: the model of
// latency and bandwidth that collectives are reckoned by (Hockney, "The communication challenge for
// MPP", Parallel Computing 20, 1994; Thakur, Rabenseifner, Gropp, "Optimization of Collective
// Communication Operations in MPICH", IJHPCA 19, 2005), with the times of a step and the rates that
// were measured between two GPUs.
#pragma once

#include <string>
#include <vector>

#include "base/mode.hpp"
#include "device/ceilings.hpp"
#include "family/phase.hpp"
#include "family/step_time.hpp"
#include "model/resource_terms.hpp"

namespace gpuexp {

struct PhaseTime {
  double total_us = 0;
  std::vector<Term> terms;         ///< each resource's own time, longest first
  std::vector<StepTime> timeline;  ///< of each phase, in order
  std::string refusal;             ///< why there is no time; empty where there is
};

/// From one event to the other. Phases that run side by side share SMs, links and memory: each gets
/// slower as its busiest resource is asked for more than it gives.
PhaseTime phase_time(const std::vector<Phase>& phases, Mode mode, const DeviceSpec& device,
                     const Ceilings& ceilings);

}  // namespace gpuexp
