// What a kernel's execution comes to in the metrics of Nsight Compute.
#pragma once

#include <string_view>
#include <vector>

#include "sim/simulator.hpp"

namespace gpuexp::sim {

struct MetricValue {
  std::string_view metric;  ///< as family/counters.hpp has it
  double value = 0;
};

/// Whether metrics_of() has the metric.
bool counts(std::string_view metric);

/// The metrics that instructions and their addresses decide. Those that take time to count (cycles,
/// stalls), and those of caches, are not there.
std::vector<MetricValue> metrics_of(const KernelExecution& execution);

}  // namespace gpuexp::sim
