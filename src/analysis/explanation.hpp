// Why a variant is faster or slower than the one that it compares to: the factor in time, the
// amounts that changed with it, and whether they account for it.
//
// The rule. What was counted, divided by the device's rates, is the least time that each resource
// needs (least_times); the longest of them, behind the launch, is the least time that the amounts
// allow a variant. The quotient of the two variants' least times is the factor that the amounts
// account for. The measured times have no part in it, so that it can disagree with the measured
// factor. It explains the difference when it is between half and double of it on a logarithmic
// scale, and the slower variant's longest amount takes half of its time or more: what idles binds
// nothing. Confidence is high where the two factors are within 15 % and that amount takes 60 % of
// the time and makes up three quarters of the difference, medium within a factor of 1.5, low
// beyond.
//
// An amount that would need more than its rate in the measured time was counted in another state
// than was timed. Where that is DRAM's, whose bytes depend on what L2 holds, the rest explains only
// what another resource near its rate accounts for; else nothing is explained.
//
// Stall reasons and utilization are effects. They are no amounts, and no cause here.
//
// Where amounts do not explain, and take less of the slower variant's time than of the faster
// one's, latency may: by Little's law, where the bytes in flight are known, else as predictions
// have it, which add latencies to declared amounts.
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

/// A counter in two variants.
struct CounterChange {
  std::string counter;  ///< id of one of kCounters
  double from;          ///< in the variant compared to
  double to;
};

enum class Cause {
  unknown,
  amounts,   ///< on the slower variant's longest resource
  idle_sms,  ///< likewise, most of it because SMs have no block
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

  double least_us() const { return times.launch_us + (longest ? longest->time_us : 0); }
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
  double least_us;  ///< of all loads, at the latency of an idle memory (Little's law)
};

/// The factor that latency accounts for: by Little's law of the bytes in flight, or by predictions.
struct LatencyFactor {
  double factor;
  std::optional<InFlight> reference;
  std::optional<InFlight> row;
  bool is_predicted;
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
  std::vector<CounterChange> kept;       ///< declared to stay, and did
  std::vector<CounterChange> others;     ///< declared to change, and did, without being the cause
  std::vector<ExpectedChange> not_seen;  ///< declared, and counted otherwise
  std::optional<Bound> reference_bound;
  std::optional<Bound> bound;
  std::optional<Misfit> misfit;
  std::optional<double> accounted;  ///< the factor that the amounts account for
  /// The same, were all SMs at work in both.
  std::optional<double> accounted_without_idle_sms;
  std::optional<double> predicted;  ///< the factor between the predicted times
  std::optional<LatencyFactor> latency;
  Cause cause = Cause::unknown;
  Confidence confidence = Confidence::none;

  bool row_is_slower() const { return factor < 1; }
  const ResultRecord& slower() const { return row_is_slower() ? row() : reference(); }
  const std::optional<Bound>& slower_bound() const {
    return row_is_slower() ? bound : reference_bound;
  }
};

/// On a logarithmic scale, the share of the measured factor that another one is.
double share_of_factor(double factor, double measured);

/// Of a row against another; both were timed.
Explanation explain(const ResultRecord& reference, const ResultRecord& row,
                    const DeviceRates& rates);

struct ExplanationOptions {
  DeviceRates rates;
  bool all_problems = false;  ///< false: of each variant the problem that takes longest
};

/// For each variant that was timed beside its compare_to, in the order of the rows. Rows that are
/// faster than their limit allows are left out.
std::vector<Explanation> explanations_of(const ExperimentResults& experiment,
                                         const ExplanationOptions& options);

}  // namespace gpuexp
