// The JSON Schema of reports.
#pragma once

#include <string>

namespace gpuexp {

/// The JSON Schema (draft 2020-12) of reports, pretty-printed: made from the columns and the
/// provenance that this program declares.
std::string report_schema();

}  // namespace gpuexp
