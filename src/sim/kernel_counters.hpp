// Metrics of Nsight Compute, computed from a kernel's simulated execution.
#pragma once

#include <array>
#include <cstddef>
#include <span>
#include <string_view>

#include "sim/access_counts.hpp"
#include "sim/program.hpp"

namespace gpuexp::sim {

struct OpCount {
  std::uint64_t warps = 0;
  std::uint64_t lanes = 0;
  std::uint64_t predicated_lanes = 0;  ///< lanes whose guard holds
};

inline constexpr std::size_t kMetrics = 25;
using MetricValues = std::array<double, kMetrics>;

/// Names of the metrics (family/counters.hpp) that instructions and addresses determine. Excludes
/// metrics that depend on time (cycles, stalls) or on caches (model/cache_counts.hpp).
std::span<const std::string_view, kMetrics> metric_names();

/// Values in the order of metric_names(); NaN if unknown. `counts` are by index in the program.
MetricValues metric_values(const Program& program, std::span<const OpCount> counts,
                           const MemoryCounts& memory);

}  // namespace gpuexp::sim
