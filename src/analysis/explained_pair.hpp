// A variant and its compare_to, with the explanation of the difference between their times. An
// amount is a resource's counted work: bytes, sectors, wavefronts or instructions.
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

/// A resource binds if its time is at least this share of the measured time.
inline constexpr double kBoundShare = 0.5;
/// A resource is near its rate if its time is at least this share of the measured time.
inline constexpr double kNearRate = 0.8;

/// A factor explains the measured factor if share_of_factor() is at least this and exceeds() is
/// false.
inline constexpr double kMinShare = 0.5;

/// A counter in two variants.
struct CounterChange {
  std::string counter;  ///< id of one of kCounters, or metric.<name>
  double from;          ///< value of the reference
  double to;
};

/// True if the counter follows from the time, unlike an amount: shares of cycles, stalled warps,
/// metrics.
bool is_effect(std::string_view counter);

enum class Cause {
  unknown,
  amounts,   ///< amounts on the resources that bind the slower variant
  idle_sms,  ///< amounts, mainly because SMs are idle
  launches,  ///< amounts, mainly because of additional kernels
  atomics,   ///< cycles of the atomic units of a few L2 slices
  host,      ///< equal work, with host latency in the time
  latency,   ///< too few bytes in flight, or latency according to the prediction
};
std::string_view name_of(Cause cause);

enum class Confidence { none, low, medium, high };
std::string_view name_of(Confidence confidence);

/// Lower bound on a variant's time.
struct Bound {
  LeastTimes times;
  std::optional<LeastTime> longest;
  double share = 0;  ///< time of `longest` as a share of the measured time without the launch
  /// Time that the bound needs, including the launches of all kernels after the first, as a share
  /// of the measured time without the first launch.
  double needed_share = 0;

  double least_us() const { return times.launch_us + times.needed_us(); }
  double least_us_of_one_kernel() const { return least_us() - times.further_us; }
};

/// An amount that takes longer than the measured time, even at its resource's rate with all SMs
/// busy: the caches were in another state when it was counted than when the launch was timed.
struct Misfit {
  LeastTime amount;
  bool is_of_row;  ///< true: amount of the row; false: of the reference
  double rest_us;  ///< measured time without the launch
};

/// Bytes in flight, and the lower bound on time that follows from them.
struct InFlight {
  double warps_per_sm;
  double bytes_per_sm;
  double least_us;  ///< minimum time of the loads by Little's law, at the latency of idle DRAM
};

/// Lower bound, in µs, from Little's law and the longest resource. DRAM's time and the latency
/// overlap partly: the result is the root of the sum of their squares, which lies between the
/// longer time and the sum. The time of another resource overlaps fully: the result is the longer
/// time.
double waited_us(const Bound& bound, const InFlight& in_flight);

enum class LatencyFrom {
  bytes_in_flight,  ///< by Little's law
  prediction,
};

struct LatencyFactor {
  double factor;
  std::optional<InFlight> reference;
  std::optional<InFlight> row;
  LatencyFrom from;
};

/// The speedup that atomics account for. The faster variant's time is predicted from the slower
/// variant's time and the ratio of their cycles in L2's atomic units, unless another lower bound of
/// the faster variant is longer. `slices` is the number of L2 slices whose atomic units would be
/// busy during the whole time of the slower variant; the faster variant is assumed to use the same
/// number.
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

/// The pairs in which both rows have a time_of(), in the order of the rows. Without `all_problems`,
/// each variant has one pair, the pair with the longest time: a later pair replaces an earlier one
/// if it takes more than half a percent longer.
std::vector<RowPair> pairs_of(
    const ExperimentResults& experiment, bool all_problems,
    const std::function<std::optional<double>(const ResultRecord&)>& time_of);

/// The larger of two times or factors, divided by the smaller.
double factor_between(double a, double b);

/// True if the predicted time is within a factor of 1.33 of the measured time. Less accurate
/// predictions cannot explain a factor.
bool is_predicted_well(const ResultRecord& row);

/// Number of warps on an SM: the mean over all SMs, while the busiest SM has warps.
std::optional<double> warps_in_flight(const ResultRecord& row);

/// `factor` as a share of `measured` on a logarithmic scale: log(factor) / log(measured).
double share_of_factor(double factor, double measured);

/// True if `factor` is more than twice `measured` on a logarithmic scale, and more than 3 % larger.
/// The rates are not accurate enough to distinguish a factor of 1.04 from a measured one of 1.02.
bool exceeds(double factor, double measured);

struct Launched {
  double kernels = 1;
  double fills = 0;

  bool operator==(const Launched&) const = default;
};

struct Explanation : RowPair {
  using RowPair::RowPair;

  double factor = 1;           ///< time of the reference / time of the row
  std::optional<Ratio> ratio;  ///< `factor` with its interval; empty if a row has no interval
  bool differs = false;        ///< true if the samples resolve a difference of at least 2 %
  bool counted = false;        ///< true if both rows have counters

  /// If atomics or the amounts on one resource are the cause: the counters of this cause that are
  /// larger in the slower variant, expected changes first. If the times do not differ: the expected
  /// changes that happened.
  std::vector<CounterChange> changes;
  std::vector<CounterChange> kept;    ///< declared as unchanged and found unchanged
  std::vector<CounterChange> others;  ///< declared changes that happened but are not the cause
  /// l2_hit_pct, if it is lower in the variant that reads more from DRAM, at equal sectors.
  std::optional<CounterChange> l2_hits;
  std::vector<ExpectedChange> not_seen;  ///< declared changes that did not happen
  std::optional<Bound> reference_bound;
  std::optional<Bound> bound;
  std::optional<Misfit> misfit;
  std::optional<double> accounted;  ///< ratio of the bounds, reference / row
  /// The ratio of the bounds with all SMs busy in both variants.
  std::optional<double> accounted_without_idle_sms;
  /// The ratio of the bounds without the launches of all kernels after the first.
  std::optional<double> accounted_without_launches;
  Launched reference_launched;
  Launched launched;
  std::optional<double> predicted;  ///< predicted time of the reference / predicted time of the row
  std::optional<LatencyFactor> latency;
  std::optional<AtomicsFactor> atomics;
  Cause cause = Cause::unknown;
  /// Resources that account for the additional time of the slower variant, the largest share first.
  /// Empty unless the cause is amounts, idle_sms or launches. Also empty if the slower variant
  /// needs less time on other resources, by more than half of its additional time: its kernels then
  /// divide the work differently.
  std::vector<Resource> resources;
  Confidence confidence = Confidence::none;

  bool row_is_slower() const { return factor < 1; }
  /// True if the accounted factor exceeds() the measured one: another resource then limits the
  /// faster variant.
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
