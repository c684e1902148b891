// Whether a GPU reaches what it should: its ceilings against the bands in which those of healthy
// ones fall (docs/health.md), and which part of the state likely explains those that miss them.
#pragma once

#include <optional>
#include <vector>

#include "analysis/health.hpp"
#include "device/ceilings.hpp"
#include "device/expected_band.hpp"

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

}  // namespace gpuexp
