// What this program declares once, as Markdown tables for its docs.
#pragma once

#include <string>

#include "lesson/lesson_page.hpp"

namespace gpuexp {

/// The table that the part's subject names: `columns` of all results, `flags` of rows, `counters`
/// with their metrics of Nsight Compute, or `config_keys`. Throws ConfigError that names the part's
/// place for another.
std::string declared_table(const LessonPart& part);

}  // namespace gpuexp
