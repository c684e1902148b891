// The tables and values of a lesson page, as Markdown.
#pragma once

#include <string>
#include <vector>

#include "lesson/lesson_page.hpp"
#include "lesson/lesson_rows.hpp"
#include "lesson/recorded_table.hpp"

namespace gpuexp {

std::string prediction_table(const FamilyRows& rows);

/// Measured and predicted times of each variant, and a second table for metrics and errors that
/// differ between variants.
std::string measurement_table(const FamilyRows& rows);

/// Values that all rows share, and `more`: "n = 4096 · cold · limit: fp32 as measured"; if there
/// are no rows, "Not recorded: …".
std::string facts_line(const FamilyRows& rows, const ShownRows& shown,
                       const std::vector<std::string>& more = {});

/// A metric or an error of a passed row: three significant digits, but all digits of an integer.
std::string metric_text(const ResultRecord& row, const ColumnHandle& column);

inline constexpr const char* kNotRecorded = "not recorded";

/// The table that the part's subject names: `columns` of results, `flags` of rows, `counters` with
/// their Nsight Compute metrics, or `config_keys`. Throws ConfigError, with the part's position,
/// for other subjects.
std::string declared_table(const LessonPart& part);

/// DRAM bytes of each variant, and its expected counter changes with the counted changes.
std::string counters_table(const FamilyRows& rows);

/// A table of variants by the values of one parameter. Options: `axis`, the parameter; `values`,
/// the values to show; `around`, a metric, to show only the values on both sides of each of its
/// changes; `show`, the quantity: `time`, `rate`, `speed-up`, `predicted`, `error`, a metric or a
/// counter, or several of these for one variant.
std::string sweep_table(const LessonPart& part, const FamilyRows& rows);

/// The text of a `value` part. The part's subject is a glob for names of rows; it must match one
/// row unless `take` is given. Options:
///   column       column of the number
///   over         glob for the row with the divisor
///   over_column  column of the divisor; without `over`, in the same row
///   take         count, min, median or max of the rows
///   where        "COLUMN=GLOB COLUMN=GLOB": the rows to keep
///   as           unit (by the column's unit), number, quantity, ratio, percent, less or more
///                (percent below or above 1), text (as recorded)
///   digits       significant digits
/// If `may_lack`, a missing row, column or number gives "not recorded". Throws ConfigError with the
/// part's position, the given value and the allowed values.
std::string value_text(const LessonPart& part, const RecordedTable& file, bool may_lack);

}  // namespace gpuexp
