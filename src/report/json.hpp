// The full record of a run as JSON, and back. report.hpp says what the provenance
// holds; the columns carry their own documentation.
//
//   { "schema_version": 1, "provenance": {…}, "complete": true,
//     "columns": [ {"name", "unit", "type", "doc"}, … ],
//     "rows": [ { <one member per column>, "samples_us": […] }, … ] }
//
// Missing numbers are null. schema_version counts changes that an older reader would misread;
// members may be added without raising it, and readers ignore those they do not know.
#pragma once

#include <string>
#include <string_view>

#include "report/report.hpp"

namespace gpuexp {

inline constexpr int kReportSchemaVersion = 1;

std::string to_json(const Report& report);

/// Throws ReportError; what was at `path` before is then still there.
void write_json(const Report& report, const std::string& path);

/// `file` is for messages. Throws ReportError for everything that is no report: broken JSON,
/// members missing or of the wrong type, a newer schema_version.
Report parse_report(std::string_view text, const std::string& file);

/// The same from a file, which may also be a pipe.
Report read_report(const std::string& path);

}  // namespace gpuexp
