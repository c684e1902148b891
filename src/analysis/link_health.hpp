// Whether what joins two GPUs is what GPUs of their kind are joined by.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "analysis/figure_health.hpp"
#include "device/machine.hpp"
#include "device/topology.hpp"

namespace gpuexp {

/// The links between a GPU and another of its machine.
struct LinkHealth {
  int peer = 0;  ///< ordinal of the other
  std::string peer_uuid;
  std::string way;             ///< "NV18"
  std::vector<Finding> state;  ///< empty where only a file was looked at
  std::vector<FigureFinding> figures;
};

/// Whether they reach each other's memory, and over as many NVLinks as the datasheet's rate takes.
/// `listed` is what configs/devices has of their kind; without links where nobody has listed any.
std::vector<Finding> link_findings(const GpuLink& link, const std::string& way,
                                   const Machine& listed);

}  // namespace gpuexp
