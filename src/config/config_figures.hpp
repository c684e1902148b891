// The published figures of a config, whose claims name rows that its experiments have.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "base/json_node.hpp"
#include "config/config.hpp"

namespace gpuexp {

/// Where the number of a column of a claim is from.
enum class ClaimColumnKind {
  time,      ///< measured by clocks
  rate,      ///< an amount over such a time
  counter,   ///< counted by the hardware, or by who executes kernels without it
  computed,  ///< known from the problem and the device
};

/// The column as claims may name it, and its unit; empty where no row of the family has it.
struct ClaimColumn {
  ClaimColumnKind kind;
  std::string unit;
};
std::optional<ClaimColumn> claim_column(const std::string& name, const Family& family);

/// Reads the member "figures" of a config, whose experiments are still as written.
std::vector<PublishedFigure> read_figures(const Node& root,
                                          const std::vector<Experiment>& experiments);

}  // namespace gpuexp
