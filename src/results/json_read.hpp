// The full record of a run, read back from JSON (json_write.hpp says what that holds).
#pragma once

#include <string>
#include <string_view>

#include "results/json_values.hpp"
#include "results/report.hpp"

namespace gpuexp {

/// `file` is for messages. Throws ReportError for everything that is no report: broken JSON,
/// members missing, given twice or of the wrong type, another schema_version.
Report parse_report(std::string_view text, const std::string& file);

/// The same from a file, which may be compressed, or a pipe.
Report read_report(const std::string& path);

}  // namespace gpuexp
