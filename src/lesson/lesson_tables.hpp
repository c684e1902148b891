// The tables of a lesson, as Markdown.
#pragma once

#include <string>
#include <vector>

#include "lesson/lesson_rows.hpp"

namespace gpuexp {

/// What first principles gave for each variant, before anything was measured.
std::string prediction_table(const FamilyRows& rows);

/// What was measured of each variant, beside what was predicted; where metrics or errors tell
/// variants apart, a second table has them.
std::string measurement_table(const FamilyRows& rows);

/// What all the rows share, and `more`: "n = 4096 · cold · limit: fp32 as measured"; where there
/// are no rows, that they are not recorded.
std::string facts_line(const FamilyRows& rows, const ShownRows& shown,
                       const std::vector<std::string>& more = {});

/// A metric or an error of a row that passed: three digits; counts in full.
std::string metric_text(const ResultRecord& row, const ColumnHandle& column);

inline constexpr const char* kNotRecorded = "not recorded";

}  // namespace gpuexp
