#pragma once

#include "base/json.hpp"
#include "family/family.hpp"
#include "results/results.hpp"

namespace gpuexp {

/// Each list has one element per row, null if the row has no value, and is left out if all elements
/// are null:
///   { "figure": {"kind", "axis", "label"}    the family's declared figure,
///     "baseline", "libraries": [variant, …],
///     "time_low", "time_high", "speedup_low", "speedup_high": [95 % interval over the value, …],
///     "prediction_error": […]                logarithm of predicted over measured time,
///     "above_limit": [row, …]                faster than the datasheet allows: no rates,
///     "intensity", "tflops": […]             for the roofline,
///     "intensity_from": ["counted", …], "pipes": ["fp32", …] }
/// `family` may be null.
Json chart_data(const ExperimentResults& experiment, const Family* family);

}  // namespace gpuexp
