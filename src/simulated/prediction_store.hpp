// Keeps times and cache counts predicted from machine code between runs of the program.
#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "family/step_time.hpp"
#include "model/cache_counts.hpp"
#include "model/resource_terms.hpp"

namespace gpuexp {

struct CodePrediction {
  std::optional<double> time_us;
  std::vector<Term> terms;
  std::string why_not;                   ///< why no time is predicted; else empty
  std::vector<CacheCounts> caches = {};  ///< by kernel of the launch; empty without a time
  std::vector<StepTime> timeline = {};
  /// Whether another attempt would give the same result. False if a tool failed, memory ran out or
  /// the run was ended, for example; such predictions are not stored.
  bool is_settled = true;
  bool has_faulted = false;  ///< no time is predicted because a kernel faulted
};

/// One line of text, which prediction_from() of the same program reads.
std::string line_of(const CodePrediction& prediction);
/// Throws JsonError for text that line_of() does not write.
CodePrediction prediction_from(const std::string& line);

/// Stores each prediction in a file. Read and write errors count as a missing prediction.
class PredictionStore {
 public:
  /// Stores nothing if `folder` is empty.
  explicit PredictionStore(std::filesystem::path folder) : folder_(std::move(folder)) {}

  /// Returns the stored prediction for `key`, a text of everything that the prediction depends on.
  std::optional<CodePrediction> find(const std::string& key) const;
  void keep(const std::string& key, const CodePrediction& prediction) const;

 private:
  std::filesystem::path file_of(const std::string& key) const;

  std::filesystem::path folder_;
};

}  // namespace gpuexp
