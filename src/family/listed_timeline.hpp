// Timelines as lists in JSON, for messages of workers and stored predictions.
#pragma once

#include "base/listed_json.hpp"
#include "family/step_time.hpp"

namespace gpuexp {

template <>
inline constexpr std::tuple kListedMembers<StepTime>{&StepTime::what, &StepTime::stream,
                                                     &StepTime::begin_us, &StepTime::end_us};

}  // namespace gpuexp
