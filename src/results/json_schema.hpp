#pragma once

#include <string>

namespace gpuexp {

/// The JSON Schema (draft 2020-12) of reports, pretty-printed.
std::string report_schema();

}  // namespace gpuexp
