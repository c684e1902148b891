// The published figures of a config, whose claims name rows that its experiments have.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "base/json_node.hpp"
#include "config/config.hpp"

namespace gpuexp {

/// The unit of the column, if claims may name it: empty where no row of the family has it.
std::optional<std::string> unit_of_claim_column(const std::string& name, const Family& family);

/// Reads the member "figures" of a config, whose experiments are still as written.
std::vector<PublishedFigure> read_figures(const Node& root,
                                          const std::vector<Experiment>& experiments);

}  // namespace gpuexp
