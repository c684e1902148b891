// Timelines as JSON: what a worker sends, and what predictions keep.
#pragma once

#include <vector>

#include "base/json.hpp"
#include "family/step_time.hpp"

namespace gpuexp {

/// [[what, stream, begin_us, end_us], …]
Json json_of(const std::vector<StepTime>& timeline);
/// Throws JsonError for what json_of() has not made.
std::vector<StepTime> timeline_in(const Json& json);

}  // namespace gpuexp
