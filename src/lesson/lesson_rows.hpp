// Which rows of the recorded results a part of a lesson shows.
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

/// A variant of the registry, and what was recorded of it.
struct ShownVariant {
  const Variant* variant = nullptr;
  const ResultRecord* row = nullptr;        ///< null: not recorded
  const ResultRecord* reference = nullptr;  ///< a timed row of what it compares to, at its problem
};

struct ShownRows {
  /// At most one row per variant and problem. No row: nothing was recorded, and `asked` says of
  /// what.
  ExperimentResults results;
  std::string asked;  ///< "stride = 8, cold"; "" where nothing was asked for
};

/// The rows of a family that a part's options leave, from all experiments of the results: `problem`
/// fixes parameters, `mode` is cold unless given or never recorded, `variants` are globs.
class FamilyRows {
 public:
  /// Throws ConfigError that names the part's place, for families, variants, parameters and values
  /// that the registry does not know. The experiments outlive this.
  FamilyRows(const LessonPart& part, const Registry& registry,
             const std::vector<ExperimentResults>& experiments);

  const Family& family() const { return *family_; }
  /// Those asked for, in the order of the registry.
  const std::vector<const Variant*>& variants() const { return variants_; }

  /// Every row of the family, whatever the options ask for.
  const std::vector<RecordRef>& all() const { return all_; }

  /// At one problem: of those where most of the variants were timed, the one that takes longest.
  /// Where several experiments have it, a row is from the one that has most of the variants.
  ShownRows at_one_problem() const;
  /// One entry for each of variants().
  std::vector<ShownVariant> variants_in(const ShownRows& shown) const;

  /// At all values of the parameter `axis`, in their order; of other parameters that vary
  /// independently, those of at_one_problem().
  ShownRows along(const std::string& axis) const;

  /// The timed row of what the row's variant compares to, in the same experiment where there is
  /// one; null without one.
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
  const std::vector<RecordColumn>* columns_ = nullptr;  ///< of the table; null without rows
  std::vector<RecordRef> all_;
  ExperimentResults at_mode_;    ///< in the mode, at the fixed parameters
  ExperimentResults asked_for_;  ///< of these, those of variants_
};

/// The axis of the results that holds the parameter, alone or with others that advance with it;
/// null where it has one value or none.
const ResultAxis* axis_with(const ExperimentResults& results, const std::string& parameter);

/// Whether the row has the value in the parameter's column.
bool has_value(const ResultRecord& row, const Parameter& parameter, const Value& value);

}  // namespace gpuexp
