#include "analysis/explanation.hpp"

#include <algorithm>
#include <cmath>
#include <map>

#include "family/counters.hpp"
#include "family/family.hpp"

namespace gpuexp {

namespace {

constexpr double kLeastFactor = 1.02;  // repeated runs of one binary differ by less
constexpr double kHighFactor = 1.15;   // between the two factors
constexpr double kMediumFactor = 1.5;  // likewise
constexpr double kHighBoundShare = 0.6;
constexpr double kHighShare = 0.75;  // of the difference, on a logarithmic scale
constexpr double kLeastShare = 0.5;  // of the difference, on a logarithmic scale
constexpr double kMostShare = 2.0;   // likewise
// Cards of one kind differ by less, and so does what L2 keeps of a warm launch that is far larger
// (docs/explaining.md has how near rows come).
constexpr double kMisfit = 1.10;

double apart(double a, double b) {
  return std::max(a / b, b / a);
}

bool explains(double factor, double measured) {
  const double share = share_of_factor(factor, measured);
  return share >= kLeastShare && share <= kMostShare;
}

// ---- what the amounts allow

void leave_out_dram(LeastTimes& times) {
  std::erase_if(times.of_resources,
                [](const LeastTime& t) { return t.resource == Resource::dram; });
}

// Empty where what binds is not known.
std::optional<Bound> bound_of(const ResultRecord& row, const DeviceRates& rates, double sm_share,
                              bool without_dram) {
  Bound bound;
  bound.times = least_times(row, rates, sm_share);
  const double rest_us = *row.time_us() - bound.times.launch_us;
  if (!says_what_binds(row, bound.times)) return std::nullopt;
  if (without_dram) leave_out_dram(bound.times);
  bound.longest = bound.times.longest();
  bound.share = rest_us > 0 ? bound.longest->time_us / rest_us : 0;
  return bound;
}

std::optional<double> quotient_of_least(const std::optional<Bound>& reference,
                                        const std::optional<Bound>& row) {
  if (!reference || !row || reference->longest->time_us <= 0 || row->longest->time_us <= 0)
    return std::nullopt;
  return reference->least_us() / row->least_us();
}

// The amount that exceeds its rate most, of these.
std::optional<Misfit> misfit_in(const LeastTimes& times, double rest_us, bool is_of_row) {
  const auto longest = times.longest();
  if (!longest || rest_us <= 0 || longest->time_us <= kMisfit * rest_us) return std::nullopt;
  return Misfit{*longest, is_of_row, rest_us};
}

// Of the two variants the first; DRAM's only where nothing else misfits.
std::optional<Misfit> misfit_of(const Explanation& e, const DeviceRates& rates) {
  constexpr double kAllSms = 1;
  std::optional<Misfit> of_dram;
  for (const bool is_of_row : {true, false}) {
    const ResultRecord& row = is_of_row ? e.row() : e.reference();
    LeastTimes times = least_times(row, rates, kAllSms);
    const double rest_us = *row.time_us() - times.launch_us;
    const auto misfit = misfit_in(times, rest_us, is_of_row);
    leave_out_dram(times);
    if (const auto other = misfit_in(times, rest_us, is_of_row)) return other;
    if (!of_dram) of_dram = misfit;
  }
  return of_dram;
}

void add_bounds(Explanation& e, const DeviceRates& rates) {
  e.misfit = misfit_of(e, rates);
  if (e.misfit && e.misfit->amount.resource != Resource::dram) return;
  const bool without_dram = e.misfit.has_value();
  const SmShares at_work = sm_shares(e.reference(), e.row(), rates);
  e.reference_bound = bound_of(e.reference(), rates, at_work.reference, without_dram);
  e.bound = bound_of(e.row(), rates, at_work.row, without_dram);
  e.accounted = quotient_of_least(e.reference_bound, e.bound);
  const SmShares all;
  e.accounted_without_idle_sms =
      quotient_of_least(bound_of(e.reference(), rates, all.reference, without_dram),
                        bound_of(e.row(), rates, all.row, without_dram));
}

// ---- what they account for

Confidence confidence_in(double accounted, double measured, double slower_share) {
  const double between = apart(accounted, measured);
  const double share = share_of_factor(accounted, measured);
  const bool is_most = share >= kHighShare && share <= 1 / kHighShare;
  if (between <= kHighFactor && is_most && slower_share >= kHighBoundShare) return Confidence::high;
  return between <= kMediumFactor ? Confidence::medium : Confidence::low;
}

// Most of what the amounts account for comes from how many SMs they are spread over.
bool is_of_idle_sms(const Explanation& e) {
  constexpr double kMost = 0.5;
  if (!e.accounted_without_idle_sms || !is_of_sms(e.slower_bound()->longest->resource))
    return false;
  return share_of_factor(*e.accounted / *e.accounted_without_idle_sms, *e.accounted) > kMost;
}

bool explain_by_amounts(Explanation& e) {
  const double least_share = e.misfit ? kNearRate : kBoundShare;
  if (e.slower_bound()->share < least_share || !explains(*e.accounted, e.factor)) return false;
  e.cause = is_of_idle_sms(e) ? Cause::idle_sms : Cause::amounts;
  e.confidence = confidence_in(*e.accounted, e.factor, e.slower_bound()->share);
  return true;
}

// ---- latency

// Loads that take a trip each, of which so many bytes are on their way at a time.
std::optional<InFlight> in_flight_of(const ResultRecord& row, const DeviceRates& rates) {
  constexpr double kWarp = 32;
  constexpr double kMicroPerNano = 1e-3;
  const auto per_thread = row.metrics.number(kBytesInFlightMetric);
  const auto warps = count_of(row, "active_warps_per_sm");
  const auto sectors = count_of(row, "global_load_sectors");
  const auto latency_ns = rates.ceilings.dram_latency_ns;
  if (!per_thread || !warps || !sectors || !latency_ns || !rates.sm_count) return std::nullopt;
  const double per_sm = *per_thread * kWarp * *warps;
  if (per_sm <= 0) return std::nullopt;
  return InFlight{
      *warps, per_sm,
      kSectorBytes * *sectors / (per_sm * *rates.sm_count) * *latency_ns * kMicroPerNano};
}

double least_us(const Bound& bound, const InFlight& in_flight) {
  return bound.times.launch_us + std::max(bound.longest->time_us, in_flight.least_us);
}

// A prediction with a larger error says nothing of a factor.
bool is_predicted_well(const ResultRecord& row) {
  constexpr double kWell = 1.33;
  const auto predicted_us = row.predicted_time_us;
  return predicted_us && apart(*predicted_us, *row.time_us()) <= kWell;
}

void explain_by_little(Explanation& e, const DeviceRates& rates) {
  const auto reference = in_flight_of(e.reference(), rates);
  const auto row = in_flight_of(e.row(), rates);
  if (!reference || !row) return;
  const double factor = least_us(*e.reference_bound, *reference) / least_us(*e.bound, *row);
  const double slower_us = e.row_is_slower() ? row->least_us : reference->least_us;
  if (slower_us < kBoundShare * *e.slower().time_us() || !explains(factor, e.factor)) return;
  e.latency = LatencyFactor{factor, reference, row, false};
  e.cause = Cause::latency;
  e.confidence = apart(factor, e.factor) <= kMediumFactor ? Confidence::medium : Confidence::low;
}

void explain_by_prediction(Explanation& e, const DeviceRates& rates) {
  if (!e.predicted || !is_predicted_well(e.reference()) || !is_predicted_well(e.row())) return;
  if (!explains(*e.predicted, e.factor) || apart(*e.predicted, e.factor) > kMediumFactor) return;
  e.latency = LatencyFactor{*e.predicted, in_flight_of(e.reference(), rates),
                            in_flight_of(e.row(), rates), true};
  e.cause = Cause::latency;
  e.confidence = Confidence::low;
}

// The slower variant's amounts take less of its time than the faster one's of its.
bool leaves_room(const Explanation& e) {
  return std::max(e.factor, 1 / e.factor) >= (e.row_is_slower() ? 1 / *e.accounted : *e.accounted);
}

void find_cause(Explanation& e, const DeviceRates& rates) {
  if (!e.differs || !e.accounted || explain_by_amounts(e)) return;
  if (e.misfit || !leaves_room(e)) return;
  explain_by_little(e, rates);
  if (e.cause == Cause::unknown) explain_by_prediction(e, rates);
}

// ---- which counters belong to it

// Shares of cycles, warps that wait in them, and metrics follow from the time, or are no amounts.
bool is_effect(std::string_view counter) {
  if (counter.starts_with(kMetricMark)) return true;
  const Counter* found = find_counter(counter);
  return counter.ends_with("_active_pct") || (found && found->group == "occupancy");
}

// What is more where the resource takes longer.
std::vector<std::string_view> amounts_of(Resource resource, bool copies_are_counted) {
  switch (resource) {
    case Resource::dram:
      return {"global_load_sectors_per_request", "global_store_sectors_per_request",
              "dram_read_bytes", "dram_write_bytes"};
    case Resource::l2:
      return {"global_load_sectors_per_request", "global_store_sectors_per_request", "l2_sectors"};
    case Resource::l1_data:
      if (!copies_are_counted) return {"shared_load_wavefronts"};
      return {"global_load_sectors_per_request", "global_load_sectors",   "shared_load_wavefronts",
              "shared_store_wavefronts",         "shared_bank_conflicts", "l1_data_wavefronts"};
    case Resource::l1_tags: return {"global_load_requests", "l1_tag_wavefronts"};
    case Resource::issue:
      return {"branch_instructions", "alu_instructions", "lsu_instructions", "fma_instructions",
              "warp_instructions"};
    case Resource::fma: return {"fma_instructions"};
    case Resource::alu: return {"alu_instructions"};
    case Resource::fp64: return {"fp64_instructions"};
    case Resource::xu: return {"xu_instructions"};
    case Resource::operations:
    case Resource::blocks: return {};
  }
  return {};
}

// The amount itself, which is named undeclared.
std::vector<std::string_view> totals_of(Resource resource, bool copies_are_counted) {
  if (resource == Resource::dram) return {"dram_read_bytes", "dram_write_bytes"};
  const auto amounts = amounts_of(resource, copies_are_counted);
  if (amounts.empty()) return {};
  return {amounts.back()};
}

class Changes {
 public:
  explicit Changes(Explanation& explanation) : e_(explanation) {}

  void sort_declared() {
    for (const ExpectedChange& expected : e_.row().expected_changes) {
      const auto change = change_of(expected.counter);
      if (!change) continue;
      if (!happened(expected, change->from, change->to)) {
        e_.not_seen.push_back(expected);
      } else if (expected.counter == kTimeColumn) {
        continue;  // it is what is to be explained
      } else if (is_effect(expected.counter)) {
        e_.others.push_back(*change);
      } else if (expected.direction == Direction::unchanged) {
        e_.kept.push_back(*change);
      } else {
        add_declared(*change);
      }
    }
  }

  void add_totals() {
    if (!has_amounts()) return;
    for (const std::string_view amount : totals_of(slower_resource(), copies_are_counted())) {
      const auto change = change_of(amount);
      if (change && is_cause(*change) && is_much(*change) && !is_named(amount))
        e_.changes.push_back(*change);
    }
  }

 private:
  bool has_amounts() const { return e_.cause == Cause::amounts || e_.cause == Cause::idle_sms; }
  Resource slower_resource() const { return e_.slower_bound()->longest->resource; }
  bool copies_are_counted() const {
    return !has_uncounted_copies(e_.reference()) && !has_uncounted_copies(e_.row());
  }

  std::optional<CounterChange> change_of(std::string_view counter) const {
    const auto from = count_of(e_.reference(), counter);
    const auto to = count_of(e_.row(), counter);
    if (!from || !to) return std::nullopt;
    return CounterChange{std::string(counter), *from, *to};
  }

  // The slower variant has more of it.
  bool is_cause(const CounterChange& change) const {
    const double slower = e_.row_is_slower() ? change.to : change.from;
    const double faster = e_.row_is_slower() ? change.from : change.to;
    return slower > kUnchangedFactor * faster;
  }

  void add_declared(const CounterChange& change) {
    if (!e_.differs) {
      e_.changes.push_back(change);
      return;
    }
    const auto amounts = has_amounts() ? amounts_of(slower_resource(), copies_are_counted())
                                       : std::vector<std::string_view>();
    const bool belongs = std::find(amounts.begin(), amounts.end(), change.counter) != amounts.end();
    (belongs && is_cause(change) ? e_.changes : e_.others).push_back(change);
  }

  bool is_named(std::string_view counter) const {
    return std::ranges::any_of(e_.changes,
                               [&](const CounterChange& c) { return c.counter == counter; });
  }

  // A few bytes written beside many read are no cause of anything.
  bool is_much(const CounterChange& change) const {
    constexpr double kMuch = 0.05;
    if (slower_resource() != Resource::dram) return true;
    const auto read = change_of("dram_read_bytes");
    const auto written = change_of("dram_write_bytes");
    if (!read || !written) return true;
    const double all = std::abs(read->to - read->from) + std::abs(written->to - written->from);
    return std::abs(change.to - change.from) >= kMuch * all;
  }

  Explanation& e_;
};

std::optional<double> predicted_factor(const ResultRecord& reference, const ResultRecord& row) {
  const auto from_us = reference.predicted_time_us;
  const auto to_us = row.predicted_time_us;
  if (!from_us || !to_us || *from_us <= 0 || *to_us <= 0) return std::nullopt;
  return *from_us / *to_us;
}

}  // namespace

std::string_view name_of(Cause cause) {
  switch (cause) {
    case Cause::unknown: return "unknown";
    case Cause::amounts: return "amounts";
    case Cause::idle_sms: return "idle_sms";
    case Cause::latency: return "latency";
  }
  return "";
}

std::string_view name_of(Confidence confidence) {
  switch (confidence) {
    case Confidence::none: return "none";
    case Confidence::low: return "low";
    case Confidence::medium: return "medium";
    case Confidence::high: return "high";
  }
  return "";
}

double share_of_factor(double factor, double measured) {
  return std::log(factor) / std::log(measured);
}

std::vector<RowPair> pairs_of(
    const ExperimentResults& experiment, bool all_problems,
    const std::function<std::optional<double>(const ResultRecord&)>& time_of) {
  constexpr double kClearlyLonger = 1.005;
  const auto key = [&](const std::string& variant, const ResultRecord& row) {
    return variant + '\0' + row.family + '\0' + group_of(experiment, row);
  };
  std::map<std::string, RecordRef> timed;
  for (const ResultRecord& row : experiment.rows) {
    if (time_of(row)) timed.emplace(key(row.variant, row), row);
  }
  const auto slower_us = [&](const RowPair& pair) {
    return std::max(*time_of(pair.reference()), *time_of(pair.row()));
  };
  std::vector<RowPair> pairs;
  for (const ResultRecord& row : experiment.rows) {
    if (row.compare_to.empty() || !time_of(row)) continue;
    const auto reference = timed.find(key(row.compare_to, row));
    if (reference == timed.end()) continue;
    const RowPair pair(reference->second, row);
    const auto same = std::ranges::find_if(pairs, [&](const RowPair& other) {
      return !all_problems && other.row().variant == row.variant;
    });
    if (same == pairs.end()) {
      pairs.push_back(pair);
    } else if (slower_us(pair) > kClearlyLonger * slower_us(*same)) {
      *same = pair;
    }
  }
  return pairs;
}

Explanation explain(const ResultRecord& reference, const ResultRecord& row,
                    const DeviceRates& rates) {
  Explanation e(reference, row);
  e.factor = *reference.time_us() / *row.time_us();
  e.ratio = ratio_of(row, reference);
  e.predicted = predicted_factor(reference, row);
  e.differs = (clearly_faster(row, reference) || clearly_faster(reference, row)) &&
              std::max(e.factor, 1 / e.factor) >= kLeastFactor;
  e.counted = is_counted(reference) && is_counted(row);
  if (!e.counted) return e;
  add_bounds(e, rates);
  find_cause(e, rates);
  Changes changes(e);
  changes.sort_declared();
  changes.add_totals();
  return e;
}

std::vector<Explanation> explanations_of(const ExperimentResults& experiment,
                                         const ExplanationOptions& options) {
  const auto time_of = [](const ResultRecord& row) {
    return row.is_above_limit() ? std::nullopt : row.time_us();
  };
  std::vector<Explanation> explanations;
  for (const RowPair& pair : pairs_of(experiment, options.all_problems, time_of))
    explanations.push_back(explain(pair.reference(), pair.row(), options.rates));
  return explanations;
}

}  // namespace gpuexp
