// Whether a GPU reaches what it should: its ceilings against the bands in which those of healthy
// ones fall (docs/health.md), whether its links are those of its kind, and which part of the state
// likely explains those that miss them.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "analysis/health.hpp"
#include "device/ceilings.hpp"
#include "device/device_spec.hpp"
#include "device/expected_band.hpp"
#include "device/topology.hpp"

namespace gpuexp {

/// A ceiling beside the band of its kind.
struct FigureFinding {
  const CeilingTerm* term = nullptr;
  std::optional<MeasuredCeiling> measured;  ///< empty where a band waits for it
  std::optional<ExpectedBand> band;         ///< empty where nobody has recorded one
  std::optional<double> datasheet;          ///< in the unit of the term
  Finding finding;
};

/// Datasheets print rates with two or three digits.
inline constexpr double kAboveDatasheet = 1.01;

/// One of every ceiling that was measured or has a band, in the order of the terms. Why one is low
/// is looked for in the state, which may be empty.
std::vector<FigureFinding> figure_findings(const MeasuredCeilings& measured,
                                           const ExpectedBands& bands, const DeviceState& state,
                                           const DeviceSpec& device);

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
