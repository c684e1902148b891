// What a kernel's execution comes to in the metrics of Nsight Compute.
#pragma once

#include <array>
#include <cstddef>
#include <span>
#include <string_view>

#include "sim/access_counts.hpp"
#include "sim/program.hpp"

namespace gpuexp::sim {

/// Executions of one instruction.
struct OpCount {
  std::uint64_t warps = 0;
  std::uint64_t lanes = 0;
  std::uint64_t lanes_on = 0;  ///< of these, those that its guard let through
};

inline constexpr std::size_t kMetrics = 24;
using MetricValues = std::array<double, kMetrics>;

/// The metrics, as family/counters.hpp has them, that instructions and their addresses decide.
/// Those that take time to count (cycles, stalls), and those of caches (model/cache_counts.hpp),
/// are not among them.
std::span<const std::string_view, kMetrics> metric_names();

/// In that order, NaN for what is not known; `counts` by place in the program.
MetricValues metric_values(const Program& program, std::span<const OpCount> counts,
                           const MemoryCounts& memory);

}  // namespace gpuexp::sim
