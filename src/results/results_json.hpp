// The full record of a run as JSON, and back. report.hpp says what the provenance
// holds; the columns carry their own documentation.
//
//   { "schema_version": 1, "provenance": {…}, "complete": true,
//     "columns": [ {"name", "unit", "type", "doc"}, … ],
//     "rows": [ { <one member per column>, "samples_us": […] }, … ],
//     "kernel_columns": […], "kernels": [ { <one member per kernel column> }, … ] }
//
// The last two are there where hardware counters were asked for.
// Missing numbers are null. samples_us is absent where raw samples were left out, and empty where
// none were taken.
//
// schema_version counts changes that an older reader would misread: a member that is gone, or whose
// meaning, unit or type is another. Members, columns and texts of an enumeration may be added
// without raising it, and readers ignore those that they do not know. report_schema() says the same
// to machines.
#pragma once

#include <string>
#include <string_view>

#include "base/output.hpp"
#include "results/report.hpp"

namespace gpuexp {

inline constexpr int kReportSchemaVersion = 1;

struct JsonOptions {
  bool samples = true;  ///< false: raw samples, most of a report's bytes, are left out
};

std::string to_json(const Report& report, const JsonOptions& options = {});

/// The same in parts: a report of many rows would be in memory twice.
void print_json(const Report& report, const WritePart& write, const JsonOptions& options = {});

/// Throws ReportError; what was at `path` before is then still there.
void write_json(const Report& report, const std::string& path, const JsonOptions& options = {});

/// `file` is for messages. Throws ReportError for everything that is no report: broken JSON,
/// members missing, given twice or of the wrong type, a newer schema_version.
Report parse_report(std::string_view text, const std::string& file);

/// The same from a file, which may also be a pipe.
Report read_report(const std::string& path);

/// The JSON Schema (draft 2020-12) of reports, pretty-printed: made from the columns and the
/// provenance that this program declares.
std::string report_schema();

}  // namespace gpuexp
