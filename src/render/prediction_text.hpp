#pragma once

#include <optional>
#include <string>

#include "model/prediction_band.hpp"

namespace gpuexp {

/// Predicted time with its band: "12.3 µs ± 10 %".
std::string predicted_time_text(double time_us, const std::optional<PredictionBand>& band);

}  // namespace gpuexp
