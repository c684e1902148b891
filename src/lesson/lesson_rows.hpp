// Selection of the recorded rows that a part of a lesson shows.
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

/// A variant of the registry and its recorded rows.
struct ShownVariant {
  const Variant* variant = nullptr;
  const ResultRecord* row = nullptr;        ///< null if not recorded
  const ResultRecord* reference = nullptr;  ///< a timed row of its compare_to at the same problem
};

struct ShownRows {
  /// At most one row per variant and problem; empty if nothing was recorded for `asked`.
  ExperimentResults results;
  std::string asked;  ///< selection of the options, such as "stride = 8, cold"; may be ""
};

/// The rows of a family that a part's options select, from all experiments: `problem` fixes
/// parameters, `mode` is by default cold if recorded, `variants` are globs.
class FamilyRows {
 public:
  /// Throws ConfigError with the part's place for unknown families, variants, parameters and
  /// values. The experiments must outlive this object.
  FamilyRows(const LessonPart& part, const Registry& registry,
             const std::vector<ExperimentResults>& experiments);

  const Family& family() const { return *family_; }
  /// The selected variants, in the order of the registry.
  const std::vector<const Variant*>& variants() const { return variants_; }

  /// All rows of the family, regardless of the options.
  const std::vector<RecordRef>& all() const { return all_; }

  /// Rows at one problem: the problem with the longest time among those with the most timed
  /// variants. If several experiments have it, rows come from the experiment with the most
  /// variants.
  ShownRows at_one_problem() const;
  /// One entry for each of variants().
  std::vector<ShownVariant> variants_in(const ShownRows& shown) const;

  /// Rows at all values of the parameter `axis`, in order; other independent parameters have the
  /// values of at_one_problem().
  ShownRows along(const std::string& axis) const;

  /// The timed row of the compare_to of the row's variant, from the same experiment if possible;
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

/// The axis of the results with the parameter, possibly together with others that have equal
/// values; null if it has at most one value.
const ResultAxis* axis_with(const ExperimentResults& results, const std::string& parameter);

/// Whether the row has the value in the parameter's column.
bool has_value(const ResultRecord& row, const Parameter& parameter, const Value& value);

}  // namespace gpuexp
