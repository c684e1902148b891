// Reading a report from JSON; json_write.hpp describes the format.
#pragma once

#include <string>
#include <string_view>

#include "results/json_values.hpp"
#include "results/report.hpp"

namespace gpuexp {

/// Parses a report; messages name `file`. Throws ReportError for invalid JSON, for members that are
/// missing, repeated or of the wrong type, and for another schema version.
Report parse_report(std::string_view text, const std::string& file);

/// Parses a file, which may be compressed, or a pipe.
Report read_report(const std::string& path);

}  // namespace gpuexp
