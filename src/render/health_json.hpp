// Results of `info --check` as JSON.
#pragma once

#include <string>

#include "render/health_text.hpp"

namespace gpuexp {

inline constexpr int kHealthSchemaVersion = 1;

///   { "schema_version": 1, "device", "uuid", "device_spec", "source", "utc", "git_commit",
///     "verdict": "healthy", "off" or "unjudged", "counts": {"pass", "note", "unknown", "off"},
///     "state": [ {"topic", "verdict", "found", "expected", "cost", "cure"}, … ],
///     "figures": [ {"ceiling", "unit", "value", "low", "high", "from", "band": {…}, …}, … ],
///     "readings": {"before": {…}, "after": {…}},
///     "links": [ {"to_device", "to_uuid", "way", "state": […], "figures": […]}, … ] }
std::string to_json(const HealthReport& report);

}  // namespace gpuexp
