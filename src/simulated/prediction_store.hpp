// Times, and counts of caches, that were predicted from machine code, kept from one run of the
// program to the next.
#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "family/step_time.hpp"
#include "model/cache_counts.hpp"
#include "model/resource_terms.hpp"

namespace gpuexp {

/// What machine code says of a cell's time and caches.
struct CodePrediction {
  std::optional<double> time_us;
  std::vector<Term> terms;               ///< as LaunchTime has them
  std::string why_not;                   ///< there is no time; empty where there is
  std::vector<CacheCounts> caches = {};  ///< of each kernel of the launch; none without a time
  std::vector<StepTime> timeline = {};   ///< CodeTime::timeline
  /// Whether another attempt comes to the same: false if a tool failed or memory ran out. Such
  /// predictions are not kept.
  bool is_settled = true;
};

/// A file for each prediction. What cannot be read or written is as if it were not kept.
class PredictionStore {
 public:
  /// Keeps nothing where the folder is empty.
  explicit PredictionStore(std::filesystem::path folder) : folder_(std::move(folder)) {}

  /// The key is all that the prediction depends on, as text.
  std::optional<CodePrediction> find(const std::string& key) const;
  /// Keeps nothing that is not settled.
  void keep(const std::string& key, const CodePrediction& prediction) const;

 private:
  std::filesystem::path file_of(const std::string& key) const;

  std::filesystem::path folder_;
};

}  // namespace gpuexp
