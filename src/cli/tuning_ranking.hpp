// Points of a tuning space: a kernel file's variants with values of its tuning parameters, ranked
// by predicted time for each problem.
#pragma once

#include <optional>
#include <set>
#include <string>
#include <vector>

#include "plan/plan.hpp"
#include "results/report.hpp"
#include "simulated/code_predictor.hpp"

namespace gpuexp::cli {

struct TuningPoint {
  const Group* group = nullptr;
  const Cell* cell = nullptr;
  /// One per tuning parameter; empty if the variant does not use the parameter.
  std::vector<std::string> values;
  std::string key;  ///< key of the row
  std::optional<double> predicted_us;
  std::string bound_by;     ///< resource that bounds the predicted time
  std::string skip_reason;  ///< why the point cannot run, or faults; empty if it can run
};

/// The points with the same values of all other parameters, and the same mode.
struct TuningProblem {
  std::string text;                  ///< "m=1024, n=1024, cold"
  std::vector<TuningPoint> ranked;   ///< by predicted time; points without a prediction last
  std::vector<TuningPoint> skipped;  ///< in the order of the plan
};

class TuningRanking {
 public:
  /// Predicts the times of all cells of the plan, whose experiments are those of one family.
  /// `tuned` are the names of the tuning parameters.
  TuningRanking(const Plan& plan, const std::set<std::string>& tuned,
                const KernelResources& resources, const CodePredictorOptions& options);

  const std::vector<TuningProblem>& problems() const { return problems_; }

  /// Skips all cells of the plan except for the best `count` of each problem.
  void keep_best(Plan& plan, std::size_t count) const;

  /// A table of the best `count` points of each problem, the skipped points and those whose result
  /// is wrong or missing with the reasons, and how far the predicted best point is from the
  /// measured best one. `report` has the rows of the points that were executed; null if none was.
  std::string text(std::size_t count, const Report* report) const;

  /// "the best 10 points were verified", from the rows of the executed points: of `count` of each
  /// problem.
  std::string verified_text(std::size_t count, const Report& report) const;

 private:
  void add(const Plan& plan, const Group& group, const Cell& cell, const KernelResources& resources,
           CodePredictor& predictor);
  TuningProblem& problem_of(const Plan& plan, const Group& group);
  std::string point_text(const TuningPoint& point) const;
  std::string table(const TuningProblem& problem, std::size_t count, const Report* report) const;
  std::string skipped(const TuningProblem& problem) const;
  /// The executed points among the best `count` whose result is wrong or missing, with the reasons.
  std::string failed(const TuningProblem& problem, std::size_t count, const Report& report) const;
  std::string distance(const TuningProblem& problem, const Report& report) const;

  std::vector<std::string> names_;  ///< names of the tuning parameters
  bool has_variants_ = false;       ///< the points are of several variants
  std::vector<TuningProblem> problems_;
};

}  // namespace gpuexp::cli
