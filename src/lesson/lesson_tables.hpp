// The tables and values of a lesson page, as Markdown.
#pragma once

#include <string>
#include <vector>

#include "lesson/lesson_page.hpp"
#include "lesson/lesson_rows.hpp"
#include "lesson/recorded_table.hpp"

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

/// The table that the part's subject names: `columns` of all results, `flags` of rows, `counters`
/// with their metrics of Nsight Compute, or `config_keys`. Throws ConfigError that names the part's
/// place for another.
std::string declared_table(const LessonPart& part);

/// What DRAM moved for each variant, and of the counters that it declares to change, what they did.
std::string counters_table(const FamilyRows& rows);

/// Variants by the values of one parameter. Options: `axis`, the parameter; `values`, those to
/// show; `around`, a metric, to show only values next to which it changes; `show`, one of
/// time, rate, speed-up, predicted, error, a metric or a counter, or several of them for one
/// variant.
std::string sweep_table(const LessonPart& part, const FamilyRows& rows);

/// The text of a `value` part. Its subject is a glob over the rows' names; without `take` it has to
/// name one row. Options:
///   column       whose number it is
///   over         a glob for the row whose number it is divided by
///   over_column  the column that it is divided by; without `over`, of the same row
///   take         count, min, median or max of the rows
///   where        "COLUMN=GLOB COLUMN=GLOB": the rows to keep
///   as           unit (what the column's unit asks for), number, quantity, ratio, percent, less or
///                more (percent below or above 1), text (as it was recorded)
///   digits       significant digits
/// A file that `may_lack` what the page asks for gives "not recorded" for it. Throws ConfigError
/// that names the part's place, what was found, and what is allowed.
std::string value_text(const LessonPart& part, const RecordedTable& file, bool may_lack);

}  // namespace gpuexp
