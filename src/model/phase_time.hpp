// Time of a launch that spans GPUs, from the dependencies and traffic of its phases. It uses the
// latency and bandwidth model of collectives (Hockney, "The communication challenge for MPP",
// Parallel Computing 20, 1994; Thakur, Rabenseifner, Gropp, "Optimization of Collective
// Communication Operations in MPICH", IJHPCA 19, 2005), with latencies and rates measured between
// two GPUs.
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
  std::vector<StepTime> timeline;  ///< start and end of each phase, in order
  std::string refusal;             ///< why no time is predicted; else empty
};

/// Time between the launch's two events. Concurrent phases share SMs, links and memory. If their
/// demand for a resource exceeds its rate, they slow down in proportion.
PhaseTime phase_time(const std::vector<Phase>& phases, Mode mode, const DeviceSpec& device,
                     const Ceilings& ceilings);

}  // namespace gpuexp
