// Timelines as lists of JSON: what a worker sends, and what predictions keep.
#pragma once

#include "base/listed_json.hpp"
#include "family/step_time.hpp"

namespace gpuexp {

template <>
inline constexpr std::tuple kListedMembers<StepTime>{&StepTime::what, &StepTime::stream,
                                                     &StepTime::begin_us, &StepTime::end_us};

}  // namespace gpuexp
