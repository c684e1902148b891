// The generated parts of a lesson page, from the registry and from recorded results. Missing
// results are shown as "not recorded".
#pragma once

#include <functional>
#include <string>

#include "analysis/least_times.hpp"
#include "family/registry.hpp"
#include "lesson/lesson_page.hpp"
#include "lesson/recorded_table.hpp"
#include "results/report.hpp"

namespace gpuexp {

/// Sources of the parts; refers to the given objects.
struct LessonSource {
  const Registry& registry;
  const Report& report;
  std::string results_path;  ///< path of the results, as written on the page
  DeviceRates rates;         ///< rates of the measured device
  /// Reads a file that a part names. Throws ConfigError.
  std::function<RecordedTable(const std::string& file)> recorded = {};
  bool replaces_results = false;  ///< the results are not the ones the page was written for
  /// Reads results that a part names. Throws ConfigError.
  std::function<const Report&(const std::string& file)> recorded_report = {};
};

/// The page with regenerated parts. Throws ConfigError with the part's place in the page if it
/// names something unknown to the registry.
std::string render_lesson(const LessonPage& page, const LessonSource& source);

}  // namespace gpuexp
