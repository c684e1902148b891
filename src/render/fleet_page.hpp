// A comparison across the GPUs of a fleet, for readers and as JSON.
#pragma once

#include <string>
#include <vector>

#include "analysis/fleet_comparison.hpp"
#include "render/view.hpp"

namespace gpuexp {

struct FleetContext {
  std::vector<std::string> files;  ///< as they were given
  MinimumEffect effect;
  std::string effect_source;
  std::vector<std::string> notes;
};

/// The GPUs, the slowest first, then the cells that are slower or faster, by how much: of each GPU
/// that stands out the first three, or all of them.
Page page_of(const FleetComparison& fleet, std::vector<std::string> head, bool all);

/// "GPU-… on node2 is slower: 1.060 of the fleet's median time", of each GPU that stands out.
std::vector<std::string> standing_out(const FleetComparison& fleet);

std::string to_json(const FleetComparison& fleet, const FleetContext& context);

}  // namespace gpuexp
