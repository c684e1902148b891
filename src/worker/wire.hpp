// What the two processes say to each other, in JSON: a request is one line, its answer is lines of
// samples, if any, and a last one that holds "done" or "error".
#pragma once

#include "base/json_reader.hpp"
#include "family/registry.hpp"
#include "run/executor.hpp"

namespace gpuexp::wire {

using gpuexp::Json;

Json to_json(const Values& values);
Json to_json(const Verification& verification);
Json to_json(const SampleTraits& traits);
Json to_json(const Sample& sample);  ///< an array, as no answer is
Json to_json(const std::optional<ClockReading>& reading);
Json to_json(const DeviceError& error);
Json to_json(const MetricValues& metrics);
Json to_json(const CounterSupport& support);
Json to_json(const LaunchCounts& counts);
Json to_json(const CountedLaunch& launch);
Json to_json(const CountedInstruction& instruction);

/// These throw Json::exception for what the functions above have not made.
Values values_from(const Json& json);
Verification verification_from(const Json& json);
SampleTraits traits_from(const Json& json);
Sample sample_from(const Json& json);
std::optional<ClockReading> clock_from(const Json& json);
DeviceError error_from(const Json& json);
MetricValues metrics_from(const Json& json);
CounterSupport support_from(const Json& json);
LaunchCounts counts_from(const Json& json);
CountedInstruction counted_instruction_from(const Json& json);
/// Also std::invalid_argument for what the registry does not have.
CountedLaunch counted_launch_from(const Json& json, const Registry& registry);

Mode mode_from(const Json& json);

}  // namespace gpuexp::wire
