#pragma once

#include "base/json.hpp"
#include "family/family.hpp"
#include "results/results.hpp"

namespace gpuexp {

/// Chart data of an experiment. Lists of numbers other than "above_limit" have one element per row,
/// null if the row has no value, and are left out if all elements are null:
///   { "figure": {"kind", "axis", "label"}    the family's declared figure,
///     "baseline", "libraries": [variant, …],
///     "time_low", "time_high", "speedup_low", "speedup_high": [end of 95 % interval / value, …],
///     "prediction_error": […]                log(predicted time / measured time),
///     "above_limit": [row, …]                faster than the datasheet allows: no rates,
///     "intensity", "tflops": […]             for the roofline,
///     "intensity_from": ["counted", …], "pipes": ["fp32", …] }
/// `family` may be null.
Json chart_data(const ExperimentResults& experiment, const Family* family);

}  // namespace gpuexp
