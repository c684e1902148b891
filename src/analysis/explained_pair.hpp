// A variant and its compare_to, with the explanation of their difference.
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

/// Minimum share of the time at which an amount binds.
inline constexpr double kBoundShare = 0.5;
/// Minimum share of the time at which an amount is near its rate.
inline constexpr double kNearRate = 0.8;

/// Factors between half and double of the measured one, on a logarithmic scale, explain it.
inline constexpr double kMinShare = 0.5;
inline constexpr double kMaxShare = 2.0;

/// A counter in two variants.
struct CounterChange {
  std::string counter;  ///< id of one of kCounters
  double from;          ///< value in compare_to
  double to;
};

/// Whether the counter is an effect of the time, not an amount: shares of cycles, stalled warps,
/// and metrics.
bool is_effect(std::string_view counter);

enum class Cause {
  unknown,
  amounts,   ///< amounts on the slower variant's longest resource
  idle_sms,  ///< amounts, mostly because SMs have no block
  launches,  ///< amounts, mostly because there are more kernels
  atomics,   ///< cycles of the atomic units of few L2 slices
  host,      ///< equal work, with host latency in the time
  latency,   ///< too few bytes in flight
};
std::string_view name_of(Cause cause);

enum class Confidence { none, low, medium, high };
std::string_view name_of(Confidence confidence);

/// Lower bound on a variant's time, from its amounts.
struct Bound {
  LeastTimes times;
  std::optional<LeastTime> longest;
  double share = 0;  ///< share of the time without the launch that the longest needs
  /// Share of the time without the launch of one kernel that everything needs: the amounts of every
  /// kernel of a chain, and the launches of further kernels.
  double needed_share = 0;

  double least_us() const { return times.launch_us + times.needed_us(); }
  double least_us_of_one_kernel() const { return least_us() - times.further_us; }
};

/// An amount that exceeds its rate in the measured time even with all SMs busy: it was counted in
/// another state than was timed.
struct Misfit {
  LeastTime amount;
  bool is_of_row;  ///< amount of the row; false: of the reference
  double rest_us;  ///< measured time without the launch
};

/// Bytes in flight, and the time that follows from them.
struct InFlight {
  double warps_per_sm;
  double bytes_per_sm;
  double least_us;  ///< time of all loads at the latency of an idle memory (Little's law)
};

/// Time of loads by Little's law together with the time of the longest resource, in µs. DRAM's time
/// and the latency overlap partly: the result is the root of the sum of their squares, which is
/// between the longer of the two and their sum. Other resources overlap fully with the longer.
double waited_us(const Bound& bound, const InFlight& in_flight);

/// Source of the factor that latency accounts for.
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

/// The factor that atomics account for: the ratio of the cycles of L2's atomic units, if both
/// variants use the number of slices that the slower variant needs in its time.
struct AtomicsFactor {
  double factor;
  double slices;
};

/// A row, and the row of its variant's compare_to at the same problem in the same mode. The rows
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

/// The pairs whose rows both have a time by `time_of`, in the order of the rows. Unless
/// `all_problems` is set, each variant has one pair: the first one within half a percent of the
/// longest time.
std::vector<RowPair> pairs_of(
    const ExperimentResults& experiment, bool all_problems,
    const std::function<std::optional<double>(const ResultRecord&)>& time_of);

/// The larger of two times or factors divided by the smaller.
double factor_between(double a, double b);

/// Whether the predicted time is within a third of the measured time. Other predictions are too
/// inaccurate to explain a factor.
bool is_predicted_well(const ResultRecord& row);

/// Mean number of warps on an SM, over all SMs and the busy time of the busiest SM.
std::optional<double> warps_in_flight(const ResultRecord& row);

/// `factor` as a share of `measured` on a logarithmic scale.
double share_of_factor(double factor, double measured);

/// Number of kernels and fills of a launch.
struct Launched {
  double kernels = 1;
  double fills = 0;

  bool operator==(const Launched&) const = default;
};

/// The comparison of a variant with its compare_to.
struct Explanation : RowPair {
  using RowPair::RowPair;

  double factor = 1;           ///< time of the reference / time of the row
  std::optional<Ratio> ratio;  ///< the factor with its interval; empty if a row has no interval
  bool differs = false;        ///< the samples resolve a difference of at least 2 %
  bool counted = false;        ///< both have counters

  /// If amounts are the cause: counters of the slower variant's longest resource that it has more
  /// of, declared ones first. If the times do not differ: declared changes that happened.
  std::vector<CounterChange> changes;
  std::vector<CounterChange> kept;    ///< declared unchanged, and unchanged
  std::vector<CounterChange> others;  ///< declared changes that happened but are not the cause
  /// l2_hit_pct, if it is lower in the variant that reads more from DRAM, at equal sectors.
  std::optional<CounterChange> l2_hits;
  std::vector<ExpectedChange> not_seen;  ///< declared changes that did not happen
  std::optional<Bound> reference_bound;
  std::optional<Bound> bound;
  std::optional<Misfit> misfit;
  std::optional<double> accounted;  ///< the factor that the amounts account for
  /// The accounted factor if all SMs were busy in both variants.
  std::optional<double> accounted_without_idle_sms;
  /// The accounted factor if both variants had one kernel.
  std::optional<double> accounted_without_launches;
  Launched reference_launched;
  Launched launched;
  std::optional<double> predicted;  ///< factor between the predicted times
  std::optional<LatencyFactor> latency;
  std::optional<AtomicsFactor> atomics;
  Cause cause = Cause::unknown;
  /// Resources on which amounts are the cause, the largest share first. Empty if some resources of
  /// several kernels need more time and others less.
  std::vector<Resource> resources;
  Confidence confidence = Confidence::none;

  bool row_is_slower() const { return factor < 1; }
  /// Whether the amounts account for more than twice the difference: then another resource limits
  /// the faster variant.
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
