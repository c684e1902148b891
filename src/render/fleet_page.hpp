#pragma once

#include <string>
#include <vector>

#include "analysis/fleet_comparison.hpp"
#include "render/view.hpp"

namespace gpuexp {

struct FleetContext {
  std::vector<std::string> files;  ///< paths as given
  MinimumEffect effect;
  std::string effect_source;
  std::vector<std::string> notes;
};

/// The GPUs, slowest first, then the slower and faster cells of GPUs that stand out, by decreasing
/// difference. Shows three cells per GPU, or all if `all`.
Page page_of(const FleetComparison& fleet, std::vector<std::string> head, bool all);

/// One text for each GPU that stands out: "GPU-… on node2 is slower: 1.060 of the fleet's median
/// time".
std::vector<std::string> standing_out(const FleetComparison& fleet);

std::string to_json(const FleetComparison& fleet, const FleetContext& context);

}  // namespace gpuexp
