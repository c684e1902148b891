// A variant beside the one that it compares to, and what was found of the difference.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "analysis/least_times.hpp"
#include "family/expected_change.hpp"
#include "results/results.hpp"

namespace gpuexp {

/// An amount that takes less than this share of the time binds nothing.
inline constexpr double kBoundShare = 0.5;
/// One that takes more than this share is near its rate.
inline constexpr double kNearRate = 0.8;

/// Factors explain a measured one from half of it on, on a logarithmic scale, to double of it.
inline constexpr double kLeastShare = 0.5;
inline constexpr double kMostShare = 2.0;

/// A counter in two variants.
struct CounterChange {
  std::string counter;  ///< id of one of kCounters
  double from;          ///< in the variant compared to
  double to;
};

/// Shares of cycles, warps that wait in them, and metrics follow from the time, or are no amounts.
bool is_effect(std::string_view counter);

enum class Cause {
  unknown,
  amounts,   ///< on the slower variant's longest resource
  idle_sms,  ///< likewise, most of it because SMs have no block
  launches,  ///< likewise, most of it because there are more kernels
  atomics,   ///< cycles of L2's atomic units, on few of its slices
  host,      ///< equal work, whose time has the host's calls in it
  latency,   ///< too little in flight
};
std::string_view name_of(Cause cause);

enum class Confidence { none, low, medium, high };
std::string_view name_of(Confidence confidence);

/// What a variant's amounts allow.
struct Bound {
  LeastTimes times;
  std::optional<LeastTime> longest;
  double share = 0;  ///< of the time beyond the launch, that the longest takes
  /// Of the time beyond the launch of one kernel, that all of it takes: the amounts of every kernel
  /// of a chain, and what further kernels add.
  double needed_share = 0;

  double least_us() const { return times.launch_us + times.needed_us(); }
  double least_us_of_one_kernel() const { return least_us() - times.further_us; }
};

/// An amount that would need more than its rate, with all SMs at work, in the measured time: it was
/// counted in another state than was timed.
struct Misfit {
  LeastTime amount;
  bool is_of_row;  ///< else of the reference
  double rest_us;  ///< the measured time less the launch
};

/// Bytes in flight at once, and what follows for the time.
struct InFlight {
  double warps_per_sm;
  double bytes_per_sm;
  double least_us;  ///< time of all loads at the latency of an idle memory (Little's law)
};

/// What loads take by Little's law, beside what the longest resource needs. DRAM's own time and the
/// wait for it hide each other in part: together they take the root of the sum of their squares,
/// which lies between the longer of the two and their sum. Other resources are hidden behind the
/// longer.
double waited_us(const Bound& bound, const InFlight& in_flight);

/// What says that latency accounts for a factor.
enum class LatencyFrom {
  bytes_in_flight,  ///< by Little's law
  prediction,
};

/// The factor that latency accounts for.
struct LatencyFactor {
  double factor;
  std::optional<InFlight> reference;
  std::optional<InFlight> row;
  LatencyFrom from;
};

/// The factor that atomics account for: cycles of L2's atomic units, on as many slices in both as
/// pass those of the slower variant in its time.
struct AtomicsFactor {
  double factor;
  double slices;
};

/// A row, and the row of its variant's compare_to at the same problem in the same mode. Both rows
/// must outlive the pair.
class RowPair {
 public:
  RowPair(const ResultRecord& reference, const ResultRecord& row)
      : reference_(&reference), row_(&row) {}

  const ResultRecord& reference() const { return *reference_; }
  const ResultRecord& row() const { return *row_; }

 private:
  const ResultRecord* reference_;
  const ResultRecord* row_;
};

/// The pairs whose two rows have a time by `time_of`, in the order of the rows. Unless
/// `all_problems` is set, each variant has one pair: the one with the longest time, and the first
/// of those within half a percent of it.
std::vector<RowPair> pairs_of(
    const ExperimentResults& experiment, bool all_problems,
    const std::function<std::optional<double>(const ResultRecord&)>& time_of);

/// Of two times or factors, how many times the larger one is the smaller one.
double apart(double a, double b);

/// The predicted time is within a third of the measured one. A prediction with a larger error says
/// nothing of a factor.
bool is_predicted_well(const ResultRecord& row);

/// Warps on an SM, on average over all SMs and the time of the busiest.
std::optional<double> warps_in_flight(const ResultRecord& row);

/// On a logarithmic scale, the share of the measured factor that another one is.
double share_of_factor(double factor, double measured);

/// What a launch consists of.
struct Launched {
  double kernels = 1;
  double fills = 0;

  bool operator==(const Launched&) const = default;
};

/// The comparison of a variant with its compare_to.
struct Explanation : RowPair {
  using RowPair::RowPair;

  double factor = 1;           ///< time of the reference over that of the row
  std::optional<Ratio> ratio;  ///< the same with its interval; empty where one has none
  bool differs = false;        ///< the samples resolve a difference, and it is 2 % or more
  bool counted = false;        ///< both have counters

  /// Where amounts are the cause: those of the slower variant's longest resource of which it has
  /// more, declared ones first. Where nothing differs: those declared to change that did.
  std::vector<CounterChange> changes;
  std::vector<CounterChange> kept;    ///< declared to stay, and did
  std::vector<CounterChange> others;  ///< declared to change, and did, without being the cause
  /// l2_hit_pct, if it is lower in the variant that reads more from DRAM, of equal sectors.
  std::optional<CounterChange> l2_hits;
  std::vector<ExpectedChange> not_seen;  ///< declared, and counted otherwise
  std::optional<Bound> reference_bound;
  std::optional<Bound> bound;
  std::optional<Misfit> misfit;
  std::optional<double> accounted;  ///< the factor that the amounts account for
  /// The same, were all SMs at work in both.
  std::optional<double> accounted_without_idle_sms;
  /// The same, were there one kernel in both.
  std::optional<double> accounted_without_launches;
  Launched reference_launched;
  Launched launched;
  std::optional<double> predicted;  ///< the factor between the predicted times
  std::optional<LatencyFactor> latency;
  std::optional<AtomicsFactor> atomics;
  Cause cause = Cause::unknown;
  /// That amounts are the cause on, the one with most of it first. Empty where several kernels
  /// share the difference between resources that take more time and ones that take less.
  std::vector<Resource> resources;
  Confidence confidence = Confidence::none;

  bool row_is_slower() const { return factor < 1; }
  /// The amounts account for more than twice the difference: something else holds the faster one.
  bool is_over_accounted() const;
  bool are_both_predicted_well() const {
    return is_predicted_well(reference()) && is_predicted_well(row());
  }
  const ResultRecord& slower() const { return row_is_slower() ? row() : reference(); }
  const std::optional<Bound>& slower_bound() const {
    return row_is_slower() ? bound : reference_bound;
  }
};

}  // namespace gpuexp
