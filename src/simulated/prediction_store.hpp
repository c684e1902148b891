// Stores times and cache counts that were predicted from machine code between runs of the program.
#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "family/step_time.hpp"
#include "model/cache_counts.hpp"
#include "model/resource_terms.hpp"

namespace gpuexp {

/// The prediction of a cell's time and caches from machine code.
struct CodePrediction {
  std::optional<double> time_us;
  std::vector<Term> terms;               ///< terms of the time
  std::string why_not;                   ///< why there is no time; empty if there is one
  std::vector<CacheCounts> caches = {};  ///< per kernel of the launch; empty without a time
  std::vector<StepTime> timeline = {};   ///< CodeTime::timeline
  /// True if another attempt would give the same result; false if a tool failed or memory ran out.
  /// Unsettled predictions are not stored.
  bool is_settled = true;
};

/// One file per prediction. Read and write errors count as a missing prediction.
class PredictionStore {
 public:
  /// Stores nothing if `folder` is empty.
  explicit PredictionStore(std::filesystem::path folder) : folder_(std::move(folder)) {}

  /// The prediction for the key, which is everything that it depends on, as text.
  std::optional<CodePrediction> find(const std::string& key) const;
  /// Stores a settled prediction; ignores unsettled ones.
  void keep(const std::string& key, const CodePrediction& prediction) const;

 private:
  std::filesystem::path file_of(const std::string& key) const;

  std::filesystem::path folder_;
};

}  // namespace gpuexp
