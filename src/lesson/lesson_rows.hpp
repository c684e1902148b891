#pragma once

#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "base/config_error.hpp"
#include "family/registry.hpp"
#include "lesson/lesson_page.hpp"
#include "results/results.hpp"

namespace gpuexp {

struct ShownVariant {
  const Variant* variant = nullptr;
  const ResultRecord* row = nullptr;  ///< null if not recorded
  /// Timed row of compare_to at the same problem; null if there is none.
  const ResultRecord* reference = nullptr;
};

struct ShownRows {
  /// At most one row per variant and problem. Empty if no recorded row matches `asked`.
  ExperimentResults results;
  std::string asked;  ///< what the options select, such as "stride = 8, cold"; may be ""
};

/// The rows of a family that a part's options select, from all experiments. `problem` fixes
/// parameters, `mode` defaults to cold (if not recorded: to the first row's mode), and `variants`
/// are globs.
class FamilyRows {
 public:
  /// Throws ConfigError, with the part's position, for unknown families, variants, parameters,
  /// values and modes. The experiments must outlive this object.
  FamilyRows(const LessonPart& part, const Registry& registry,
             const std::vector<ExperimentResults>& experiments);

  const Family& family() const { return *family_; }
  const std::vector<const Variant*>& variants() const { return variants_; }

  const std::vector<RecordRef>& all() const { return all_; }

  /// Rows at one problem: among the problems with the most timed variants, the problem with the
  /// longest time. If several experiments have a row of a variant, the row is from the experiment
  /// with the most variants at this problem.
  ShownRows at_one_problem() const;
  std::vector<ShownVariant> variants_in(const ShownRows& shown) const;

  /// Rows at all values of the parameter `axis`, in increasing order if they are numbers. Other
  /// independent parameters have their values in at_one_problem().
  ShownRows along(const std::string& axis) const;

  /// The timed row of the compare_to of the row's variant, preferably from the same experiment;
  /// null if there is none.
  const ResultRecord* reference_of(const ResultRecord& row) const;

 private:
  void read_problem(const LessonPart& part);
  void read_variants(const LessonPart& part);
  void read_rows(const LessonPart& part, const std::vector<ExperimentResults>& experiments);
  ShownRows shown(std::vector<RecordRef> rows) const;

  const Family* family_;
  std::vector<const Variant*> variants_;
  std::vector<std::pair<const Parameter*, Value>> fixed_;
  std::string mode_;
  const std::vector<RecordColumn>* columns_ = nullptr;  ///< columns of the table; null without rows
  std::vector<RecordRef> all_;
  ExperimentResults at_mode_;    ///< rows in the mode, at the fixed parameters
  ExperimentResults asked_for_;  ///< rows of at_mode_ for variants_
};

/// The axis of the results that contains the parameter, and possibly others with equal values; null
/// if the parameter has at most one value.
const ResultAxis* axis_with(const ExperimentResults& results, const std::string& parameter);

bool has_value(const ResultRecord& row, const Parameter& parameter, const Value& value);

}  // namespace gpuexp
