// How far a predicted time can be trusted, from what the model knows to be missing in it.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "model/resource_terms.hpp"

namespace gpuexp {

struct PredictionBand {
  /// Nine of ten measured times are expected between the predicted time divided by and multiplied
  /// by 1 + pct / 100.
  double pct = 0;
  /// Cause of a band above kNarrowBandPct, an id of band_causes(); else empty.
  std::string cause;
};

struct BandCause {
  std::string id;
  double pct = 0;
  std::string text;  ///< a clause
};

/// Band of predictions in which nothing is known to be missing.
inline constexpr double kNarrowBandPct = 10;

/// What can be missing in a prediction, the causes that apply first before the others. The bands
/// are about the 90th percentiles of the errors of recorded H200 rows, in steps of 5 %;
/// docs/prediction.md has the share of the rows that lie within them.
const std::vector<BandCause>& band_causes();

/// Band of a launch with this predicted time. `terms` are its resources, longest first. Empty
/// without terms.
std::optional<PredictionBand> prediction_band(double time_us, const std::vector<Term>& terms,
                                              bool spans_gpus);

/// Band of a kernel of a user's file, with at least the width of the cause "own_kernel".
PredictionBand band_of_own_kernel(const PredictionBand& band);

}  // namespace gpuexp
