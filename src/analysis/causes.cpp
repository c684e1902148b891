#include "analysis/causes.hpp"

#include <algorithm>

#include "family/family.hpp"
#include "record/flags.hpp"

namespace gpuexp {

namespace {

// Thresholds of confidence: ratio of accounted to measured factor for high and for medium
// confidence, needed share of the slower variant's time, and accounted share of the difference on a
// logarithmic scale.
constexpr double kHighFactor = 1.15;
constexpr double kMediumFactor = 1.5;
constexpr double kHighBoundShare = 0.6;
constexpr double kHighShare = 0.75;

bool explains(double factor, double measured) {
  return share_of_factor(factor, measured) >= kMinShare && !exceeds(factor, measured);
}

Confidence confidence_in(double accounted, double measured, double slower_share) {
  const double between = factor_between(accounted, measured);
  const double share = share_of_factor(accounted, measured);
  const bool is_most = share >= kHighShare && share <= 1 / kHighShare;
  if (between <= kHighFactor && is_most && slower_share >= kHighBoundShare) return Confidence::high;
  return between <= kMediumFactor ? Confidence::medium : Confidence::low;
}

// True if idle SMs account for more than half of the accounted factor, on a logarithmic scale.
bool is_of_idle_sms(const Explanation& e) {
  constexpr double kMajority = 0.5;
  if (!e.accounted_without_idle_sms || !is_of_sms(e.slower_bound()->longest->resource))
    return false;
  if (factor_between(e.bound->times.sm_share, e.reference_bound->times.sm_share) <=
      kUnchangedFactor)
    return false;
  return share_of_factor(*e.accounted / *e.accounted_without_idle_sms, *e.accounted) > kMajority;
}

// True if additional launches account for more than half of the accounted factor, on a logarithmic
// scale.
bool is_of_launches(const Explanation& e) {
  constexpr double kMajority = 0.5;
  return e.launched != e.reference_launched && e.accounted_without_launches &&
         share_of_factor(*e.accounted / *e.accounted_without_launches, *e.accounted) > kMajority;
}

// True if the amounts account for two to three times the measured difference, on a logarithmic
// scale, and the bound is at least 60 % of the slower variant's time: another resource then limits
// the faster variant.
bool explains_more(const Explanation& e) {
  constexpr double kMinFactor = 1.05;  // small changes of any amount exceed a smaller factor
  constexpr double kMaxOver = 3.0;
  return e.is_over_accounted() && share_of_factor(*e.accounted, e.factor) <= kMaxOver &&
         factor_between(e.factor, 1) >= kMinFactor &&
         e.slower_bound()->needed_share >= kHighBoundShare;
}

double us_for(const Bound& bound, Resource resource) {
  if (bound.times.of_chain.empty())
    return bound.longest->resource == resource ? bound.longest->time_us : 0;
  const auto found = std::ranges::find(bound.times.of_chain, resource, &LeastTime::resource);
  return found == bound.times.of_chain.end() ? 0 : found->time_us;
}

// The slower variant's longest resource. If different resources limit its kernels: the resources on
// which it needs at least a quarter of its additional time, the largest part first. Empty if it
// needs less time on other resources, by more than half of the additional time: its kernels then
// divide the work differently.
std::vector<Resource> resources_of(const Explanation& e) {
  constexpr double kMuch = 0.25;
  const Bound& slower = *e.slower_bound();
  const Bound& faster = e.row_is_slower() ? *e.reference_bound : *e.bound;
  if (!slower.times.is_shared()) return {slower.longest->resource};
  const double all_us = slower.times.needed_us() - faster.times.needed_us();
  std::vector<std::pair<double, Resource>> more;
  double gained_us = 0;
  for (const LeastTime& time : slower.times.of_chain) {
    const double more_us = time.time_us - us_for(faster, time.resource);
    gained_us += std::max(0.0, more_us);
    if (more_us >= kMuch * all_us) more.emplace_back(more_us, time.resource);
  }
  if (all_us <= 0 || gained_us > kMediumFactor * all_us) return {};
  std::ranges::sort(more, std::ranges::greater());
  std::vector<Resource> resources;
  for (const auto& [more_us, resource] : more)
    resources.push_back(resource);
  return resources;
}

bool explain_by_amounts(Explanation& e) {
  const double share = e.slower_bound()->needed_share;
  if (share < (e.misfit ? kNearRate : kBoundShare)) return false;
  if (!explains(*e.accounted, e.factor) && (e.misfit || !explains_more(e))) return false;
  e.cause = is_of_launches(e)   ? Cause::launches
            : is_of_idle_sms(e) ? Cause::idle_sms
                                : Cause::amounts;
  e.resources = resources_of(e);
  e.confidence = confidence_in(*e.accounted, e.factor, share);
  // If the kernels divide the work differently, no single resource accounts for the factor.
  if (e.cause == Cause::amounts && e.resources.empty())
    e.confidence = std::min(e.confidence, Confidence::medium);
  return true;
}

// ---- atomics

// Atomics on a few addresses use the atomic units of a few L2 slices, whose number no counter
// reports. On an H200, atomics on one address add 1336 cycles per µs to l2_atomic_cycles.
bool explain_by_atomics(Explanation& e) {
  constexpr double kCyclesPerUs = 1336;
  constexpr double kMinSlices = 0.8;  // one slice at a lower clock
  constexpr double kMaxSlices = 70;   // atomics on addresses in all slices reach this rate
  constexpr double kOneSlice = 1.25;
  const ResultRecord& fast = e.row_is_slower() ? e.reference() : e.row();
  const Bound& faster = e.row_is_slower() ? *e.reference_bound : *e.bound;
  const auto cycles = count_of(e.slower(), "l2_atomic_cycles");
  const auto fewer = count_of(fast, "l2_atomic_cycles");
  const double slower_us = *e.slower().time_us() - e.slower_bound()->times.launch_us;
  if (!cycles || !fewer || slower_us <= 0 || *fewer >= *cycles) return false;
  const double slices = *cycles / (kCyclesPerUs * slower_us);
  if (slices < kMinSlices || slices > kMaxSlices) return false;
  const double faster_us =
      faster.times.launch_us + std::max(faster.times.needed_us(), slower_us * *fewer / *cycles);
  const double factor = *e.slower().time_us() / faster_us;
  if (!explains(factor, factor_between(e.factor, 1))) return false;
  e.atomics = AtomicsFactor{e.row_is_slower() ? 1 / factor : factor, slices};
  e.cause = Cause::atomics;
  // If more than one slice is busy, their number is fitted to the time, so confidence is low.
  e.confidence =
      slices <= kOneSlice && factor_between(factor, factor_between(e.factor, 1)) <= kMediumFactor
          ? Confidence::medium
          : Confidence::low;
  return true;
}

// ---- the host

// True if both counts exist and are equal within the variation of repeated counting.
bool are_equal(const Explanation& e, std::string_view counter) {
  const auto reference = count_of(e.reference(), counter);
  const auto row = count_of(e.row(), counter);
  return reference && row && *reference > 0 && *row > 0 &&
         factor_between(*reference, *row) <= kUnchangedFactor;
}

// Time, in µs, in which the busiest SM had warps: from the number of warp instructions, the share
// of cycles in which they issue, and the balance between SMs. If a launch has hundreds of kernels,
// only one is counted, and its time is multiplied by the number of kernels.
std::optional<double> work_us(const ResultRecord& row, double kernels, const DeviceRates& rates) {
  constexpr double kMicro = 1e6;
  constexpr double kWhole = 100;
  const auto instructions = count_of(row, "warp_instructions");
  const auto issuing_pct = count_of(row, "issue_active_pct");
  const auto balance_pct = count_of(row, "sm_balance_pct");
  if (!instructions || issuing_pct.value_or(0) <= 0 || balance_pct.value_or(0) <= 0 ||
      !rates.sm_count || !rates.sm_rates || !clock_of(row, rates))
    return std::nullopt;
  const double per_second = rates.sm_rates->issue * *rates.sm_count * *clock_of(row, rates);
  const auto counted = rates.kernels.find(row.key);
  const double times =
      counted == rates.kernels.end() ? 1 : std::max(1.0, kernels / counted->second);
  return kMicro * times * *instructions * kWhole * kWhole /
         (*issuing_pct * *balance_pct * per_second);
}

// True if both variants launch the same kernels, one after another on one stream, with equal
// numbers of warp instructions and L2 sectors.
bool is_equal_work(const Explanation& e, const DeviceRates& rates) {
  for (const ResultRecord* row : {&e.reference(), &e.row()}) {
    if (!row->kernel_launches || !row->timeline.empty()) return false;
  }
  const auto reference = rates.names_of_kernels.find(e.reference().key);
  const auto names = rates.names_of_kernels.find(e.row().key);
  if (reference == rates.names_of_kernels.end() || names == rates.names_of_kernels.end() ||
      reference->second != names->second)
    return false;
  return e.launched == e.reference_launched && are_equal(e, "warp_instructions") &&
         are_equal(e, "l2_sectors");
}

// True if the work is equal, the slower variant's time may include host latency, and the SMs have
// no warp for more than half of it.
bool explain_by_host(Explanation& e, const DeviceRates& rates) {
  if (!e.slower().has_flag(kUngated.id) || !is_equal_work(e, rates)) return false;
  const auto worked_us = work_us(e.slower(), e.launched.kernels + e.launched.fills, rates);
  if (!worked_us || *worked_us >= kBoundShare * *e.slower().time_us()) return false;
  const bool is_predicted = is_predicted_well(e.slower()) && e.slower().bound_by == "host";
  e.cause = Cause::host;
  e.confidence = is_predicted ? Confidence::medium : Confidence::low;
  return true;
}

// ---- latency

// Little's law: bytes in flight and load latency give the minimum time of the loads.
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

void explain_by_little(Explanation& e, const DeviceRates& rates) {
  const auto reference = in_flight_of(e.reference(), rates);
  const auto row = in_flight_of(e.row(), rates);
  if (!reference || !row) return;
  const double reference_us = waited_us(*e.reference_bound, *reference);
  const double row_us = waited_us(*e.bound, *row);
  const double factor =
      (e.reference_bound->times.launch_us + reference_us) / (e.bound->times.launch_us + row_us);
  const double slower_us = e.row_is_slower() ? row_us : reference_us;
  if (slower_us < kBoundShare * *e.slower().time_us() || !explains(factor, e.factor)) return;
  e.latency = LatencyFactor{factor, reference, row, LatencyFrom::bytes_in_flight};
  e.cause = Cause::latency;
  e.confidence =
      factor_between(factor, e.factor) <= kMediumFactor ? Confidence::medium : Confidence::low;
}

void explain_by_prediction(Explanation& e, const DeviceRates& rates) {
  if (!e.predicted || !e.are_both_predicted_well()) return;
  if (!explains(*e.predicted, e.factor) || factor_between(*e.predicted, e.factor) > kMediumFactor)
    return;
  e.latency = LatencyFactor{*e.predicted, in_flight_of(e.reference(), rates),
                            in_flight_of(e.row(), rates), LatencyFrom::prediction};
  e.cause = Cause::latency;
  e.confidence = Confidence::low;
}

// True if the resources need a smaller share of the slower variant's time than of the faster
// variant's time.
bool leaves_room(const Explanation& e) {
  return std::max(e.factor, 1 / e.factor) >= (e.row_is_slower() ? 1 / *e.accounted : *e.accounted);
}

}  // namespace

void find_cause(Explanation& e, const DeviceRates& rates) {
  if (!e.differs || explain_by_host(e, rates)) return;
  if (!e.accounted || explain_by_amounts(e) || e.misfit || explain_by_atomics(e)) return;
  if (!leaves_room(e)) return;
  explain_by_little(e, rates);
  if (e.cause == Cause::unknown) explain_by_prediction(e, rates);
}

}  // namespace gpuexp
