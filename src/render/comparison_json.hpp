// A comparison of two runs as JSON:
//
//   { "schema_version": 1, "a": {"file", "device", "git_commit", "utc"}, "b": {…},
//     "min_effect": {"source", "relative", "absolute_us"}, "notes": […], "fail_on": […],
//     "summary": { "all": {<count of each outcome>, "ratios", "geometric_mean", …},
//                  "experiments": [ {"experiment", …}, … ] },
//     "columns": [ {"name", "unit", "type", "doc"}, … ], "rows": [ {…}, … ] }
#pragma once

#include <string>
#include <vector>

#include "analysis/run_comparison.hpp"

namespace gpuexp {

inline constexpr int kComparisonSchemaVersion = 1;

struct ComparedRun {
  std::string file;
  const Provenance& provenance;
};

struct ComparisonContext {
  ComparedRun a;
  ComparedRun b;
  MinimumEffect effect;
  std::string effect_source;
  std::vector<std::string> notes;
  std::vector<std::string> fail_on;  ///< outcomes that make the comparison fail
};

std::string to_json(const RunComparison& comparison, const ComparisonContext& context);

}  // namespace gpuexp
