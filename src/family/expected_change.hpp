// What a variant says beforehand of its hardware counters, and of its metrics: which of them change
// against the variant that it compares to, and how. C++17, included by .cu files.
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

/// Before the name of a metric, as columns have it.
inline constexpr std::string_view kMetricMark = "metric.";

/// The column of the time, for changes that neither counters nor metrics show: those of what the
/// host does.
inline constexpr std::string_view kTimeColumn = "time_median_us";

enum class Direction { decreases, increases, unchanged };
inline constexpr std::array kDirections{Direction::decreases, Direction::increases,
                                        Direction::unchanged};
std::string_view name_of(Direction direction);

/// Within this factor a counter is unchanged, unless the declaration says otherwise.
inline constexpr double kUnchangedFactor = 1.05;

/// What a counter does from the variant that another compares to, to that other. Condition takes
/// the problem: the family's own struct, or a pointer to it where its type is erased.
template <class Condition>
struct BasicExpectedChange {
  BasicExpectedChange(std::string c, Direction d, double f = kUnchangedFactor,
                      Condition w = nullptr)
      : counter(std::move(c)), direction(d), factor(f), where(std::move(w)) {}

  /// Id of one of kCounters, metric.<name> of one of the family's metrics, or kTimeColumn.
  std::string counter;
  Direction direction;
  double factor;    ///< by this at least; of Direction::unchanged, at most
  Condition where;  ///< problems at which it is promised; empty: at all of them
};

using ExpectedChange = BasicExpectedChange<Callback<bool(const void* problem)>>;
/// Conditions aside, which cannot be compared.
bool operator==(const ExpectedChange& a, const ExpectedChange& b);
void add_expected_change(std::vector<ExpectedChange>& changes, ExpectedChange change);
template <class Problem>
using ExpectedChangeOf = BasicExpectedChange<TypedCallback<bool(), Problem>>;

/// A list of changes whose conditions see the family's own struct.
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

/// Whether the counter did what was expected, from the one variant to the other. Counters are not
/// negative; one that was 0 and is not has increased by any factor. False for NaN.
bool happened(const ExpectedChange& change, double from, double to);

/// The changes that are promised at the problem, without their conditions.
std::vector<ExpectedChange> expected_changes_at(const std::vector<ExpectedChange>& changes,
                                                const void* problem);

/// "dram_read_bytes decreases 1.9;l2_sectors unchanged 1.05": as the column has them; without
/// conditions.
std::string text_of(const std::vector<ExpectedChange>& changes);

/// The changes that the text names; nothing where a part of it is none, such as one with a
/// direction of a later version.
std::optional<std::vector<ExpectedChange>> expected_changes_in(std::string_view text);

}  // namespace gpuexp
