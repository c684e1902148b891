// The full record of a run as JSON. report.hpp says what the provenance holds; the columns carry
// their own documentation.
//
//   { "schema_version": 3, "provenance": {…}, "complete": true,
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
// without raising it: readers keep columns and pass over members that they do not know, and refuse
// a text of an enumeration with its place. report_schema() says the same to machines.
#pragma once

#include <string>

#include "base/json.hpp"
#include "base/output.hpp"
#include "results/report.hpp"

namespace gpuexp {

struct JsonOptions {
  bool samples = true;  ///< false: raw samples, most of a report's bytes, are left out
};

std::string to_json(const Report& report, const JsonOptions& options = {});

Json json_of(const Provenance& provenance);

/// The same in parts: a report of many rows would be in memory twice.
void print_json(const Report& report, const WritePart& write, const JsonOptions& options = {});

/// Throws ReportError; what was at `path` before is then still there.
void write_json(const Report& report, const std::string& path, const JsonOptions& options = {});

/// Elements of a report that a log has as well.
Json json_of(const RunTimes& times);
Json json_of(const GroupTimes& group);

}  // namespace gpuexp
