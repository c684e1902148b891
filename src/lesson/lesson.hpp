// The generated parts of a lesson page, from the registry and from recorded results. A missing
// result is shown as "not recorded".
#pragma once

#include <functional>
#include <string>

#include "analysis/least_times.hpp"
#include "family/registry.hpp"
#include "lesson/lesson_page.hpp"
#include "lesson/recorded_table.hpp"
#include "results/report.hpp"

namespace gpuexp {

struct LessonSource {
  const Registry& registry;
  const Report& report;
  std::string results_path;  ///< path of the results, relative to the page
  DeviceRates rates;         ///< rates of the device in the results
  /// Reads a recorded file that a part names. Throws ConfigError.
  std::function<RecordedTable(const std::string& file)> recorded = {};
  bool replaces_results = false;  ///< true if the results are not the ones that the page names
  /// Reads a report that a part names. Throws ConfigError.
  std::function<const Report&(const std::string& file)> recorded_report = {};
};

/// The page with regenerated parts. Throws ConfigError, with the part's position in the page, if a
/// part names something unknown or has an invalid option.
std::string render_lesson(const LessonPage& page, const LessonSource& source);

}  // namespace gpuexp
