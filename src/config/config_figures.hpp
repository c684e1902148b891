// Readers of the published figures of a config.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "base/json_node.hpp"
#include "config/config.hpp"

namespace gpuexp {

/// Unit of a column that claims about the family may name; empty if there is no such column.
std::optional<std::string> unit_of_claim_column(const std::string& name, const Family& family);

/// Reads the member "figures" of a config. `experiments` have the config's settings, without
/// overrides by the command line.
std::vector<PublishedFigure> read_figures(const Node& root,
                                          const std::vector<Experiment>& experiments);

}  // namespace gpuexp
