// Single numbers of recorded files, for prose.
#pragma once

#include <string>

#include "lesson/lesson_page.hpp"
#include "lesson/recorded_table.hpp"

namespace gpuexp {

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
