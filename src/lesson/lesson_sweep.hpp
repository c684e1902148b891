// A lesson's table of one parameter swept.
#pragma once

#include <string>

#include "lesson/lesson_page.hpp"
#include "lesson/lesson_rows.hpp"

namespace gpuexp {

/// Variants by the values of one parameter. Options: `axis`, the parameter; `values`, those to
/// show; `around`, a metric, to show only values next to which it changes; `show`, one of
/// time, rate, speed-up, predicted, error, a metric or a counter, or several of them for one
/// variant.
std::string sweep_table(const LessonPart& part, const FamilyRows& rows);

}  // namespace gpuexp
