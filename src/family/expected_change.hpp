// Changes of hardware counters and metrics that a variant declares relative to its compare_to.
// C++17, included by .cu files.
#pragma once

#include <array>
#include <initializer_list>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/callback.hpp"

namespace gpuexp {

/// Prefix of metric columns.
inline constexpr std::string_view kMetricMark = "metric.";

/// Time column, for changes on the host, which no counter or metric shows.
inline constexpr std::string_view kTimeColumn = "time_median_us";

enum class Direction { decreases, increases, unchanged };
inline constexpr std::array kDirections{Direction::decreases, Direction::increases,
                                        Direction::unchanged};
std::string_view name_of(Direction direction);

/// Default factor: the minimum of a decrease or increase, the maximum for Direction::unchanged.
inline constexpr double kUnchangedFactor = 1.05;

/// Expected change of one counter between two variants. Condition is a predicate of the problem:
/// of the family's struct or, in the type-erased form, of an opaque pointer.
template <class Condition>
struct BasicExpectedChange {
  BasicExpectedChange(std::string c, Direction d, double f = kUnchangedFactor,
                      Condition w = nullptr)
      : counter(std::move(c)), direction(d), factor(f), where(std::move(w)) {}

  /// Id in kCounters, metric.<name> of a metric of the family, or kTimeColumn.
  std::string counter;
  Direction direction;
  double factor;    ///< minimum factor; maximum for Direction::unchanged
  Condition where;  ///< predicate of problems at which the change is expected; empty: all problems
};

using ExpectedChange = BasicExpectedChange<Callback<bool(const void* problem)>>;
/// Compares all members except conditions, which cannot be compared.
bool operator==(const ExpectedChange& a, const ExpectedChange& b);
void add_expected_change(std::vector<ExpectedChange>& changes, ExpectedChange change);
template <class Problem>
using ExpectedChangeOf = BasicExpectedChange<TypedCallback<bool(), Problem>>;

/// Expected changes whose conditions receive the family's struct.
template <class Problem>
class ExpectedChangesOf {
 public:
  ExpectedChangesOf() = default;
  ExpectedChangesOf(std::initializer_list<ExpectedChangeOf<Problem>> changes) {
    for (const ExpectedChangeOf<Problem>& change : changes)
      add_expected_change(erased_,
                          {change.counter, change.direction, change.factor, change.where.erased()});
  }
  const std::vector<ExpectedChange>& erased() const { return erased_; }

 private:
  std::vector<ExpectedChange> erased_;
};

/// Whether the counter changed as expected. A change from 0 to a positive value counts as an
/// increase by any factor. False for NaN.
bool matches_expectation(const ExpectedChange& change, double from, double to);

/// The changes whose conditions hold for the problem, without conditions.
std::vector<ExpectedChange> expected_changes_at(const std::vector<ExpectedChange>& changes,
                                                const void* problem);

/// Text for the results' column, without conditions: "dram_read_bytes decreases 1.9;l2_sectors
/// unchanged 1.05".
std::string text_of(const std::vector<ExpectedChange>& changes);

/// Parses the column's text. Empty if an entry is invalid, for example if this version does not
/// know its direction.
std::optional<std::vector<ExpectedChange>> expected_changes_in(std::string_view text);

}  // namespace gpuexp
