// Reports as JSON. report.hpp describes the provenance; the columns contain their documentation.
//
//   { "schema_version": 3, "provenance": {…}, "complete": true,
//     "columns": [ {"name", "unit", "type", "doc"}, … ],
//     "rows": [ { <one member per column>, "samples_us": […] }, … ],
//     "kernel_columns": […], "kernels": [ { <one member per kernel column> }, … ] }
//
// "kernel_columns" and "kernels" are present if hardware counters were requested; json_fields.hpp
// names further optional members. Missing numbers are null. samples_us is absent if raw samples
// were left out, and empty if no sample was taken.
//
// schema_version increases if an older reader would misread the file: if a member or column is
// removed, or its meaning, unit or type changes. Members, columns and texts of an enumeration may
// be added without an increase. Readers keep unknown columns, skip unknown members, and reject an
// unknown text of an enumeration. report_schema() is the machine-readable description.
#pragma once

#include <string>

#include "base/json.hpp"
#include "base/output.hpp"
#include "results/report.hpp"

namespace gpuexp {

struct JsonOptions {
  bool samples = true;  ///< false: leave out raw samples, most of a report's bytes
};

std::string to_json(const Report& report, const JsonOptions& options = {});

Json json_of(const Provenance& provenance);

/// Passes the JSON to `write` in pieces.
void print_json(const Report& report, const WritePart& write, const JsonOptions& options = {});

/// Writes the JSON to `path`. Throws ReportError; an existing file is then unchanged.
void write_json(const Report& report, const std::string& path, const JsonOptions& options = {});

Json json_of(const RunTimes& times);
Json json_of(const GroupTimes& group);

}  // namespace gpuexp
