// The generated parts of a lesson page, from the registry and from recorded results. What was not
// recorded says so.
#pragma once

#include <functional>
#include <string>

#include "analysis/least_times.hpp"
#include "family/registry.hpp"
#include "lesson/lesson_page.hpp"
#include "lesson/recorded_table.hpp"
#include "results/report.hpp"

namespace gpuexp {

/// What the parts are made from; refers to what it is given.
struct LessonSource {
  const Registry& registry;
  const Report& report;
  std::string results_path;  ///< of the results, as the page is to name them
  DeviceRates rates;         ///< of the device that was measured
  /// A file that a part names. Throws ConfigError.
  std::function<RecordedTable(const std::string& file)> recorded = {};
  bool replaces_results = false;  ///< they are not those that the page was written for
  /// The results that a part names. Throws ConfigError.
  std::function<const Report&(const std::string& file)> recorded_report = {};
};

/// The page with its parts made anew. Throws ConfigError that names a part's place in the page,
/// where the registry does not know what it asks for.
std::string render_lesson(const LessonPage& page, const LessonSource& source);

}  // namespace gpuexp
