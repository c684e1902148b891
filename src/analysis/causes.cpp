#include "analysis/causes.hpp"

#include <algorithm>

#include "family/family.hpp"
#include "record/flags.hpp"

namespace gpuexp {

namespace {

constexpr double kHighFactor = 1.15;   // between the two factors
constexpr double kMediumFactor = 1.5;  // likewise
constexpr double kHighBoundShare = 0.6;
constexpr double kHighShare = 0.75;  // of the difference, on a logarithmic scale

bool explains(double factor, double measured) {
  const double share = share_of_factor(factor, measured);
  return share >= kLeastShare && share <= kMostShare;
}

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
  if (apart(e.bound->times.sm_share, e.reference_bound->times.sm_share) <= kUnchangedFactor)
    return false;
  return share_of_factor(*e.accounted / *e.accounted_without_idle_sms, *e.accounted) > kMost;
}

// Most of what the amounts account for comes from how many kernels there are.
bool is_of_launches(const Explanation& e) {
  constexpr double kMost = 0.5;
  return e.launched != e.reference_launched && e.accounted_without_launches &&
         share_of_factor(*e.accounted / *e.accounted_without_launches, *e.accounted) > kMost;
}

// The slower one is bound, and amounts account for more: then something else holds the faster one.
bool explains_more(const Explanation& e) {
  constexpr double kLeast = 1.05;  // of a smaller difference anything accounts for more
  constexpr double kMostOver = 3.0;
  return e.is_over_accounted() && share_of_factor(*e.accounted, e.factor) <= kMostOver &&
         apart(e.factor, 1) >= kLeast && e.slower_bound()->needed_share >= kHighBoundShare;
}

double us_for(const Bound& bound, Resource resource) {
  if (bound.times.of_chain.empty())
    return bound.longest->resource == resource ? bound.longest->time_us : 0;
  const auto found = std::ranges::find(bound.times.of_chain, resource, &LeastTime::resource);
  return found == bound.times.of_chain.end() ? 0 : found->time_us;
}

// The slower one's longest; of several kernels, those resources whose kernels take a quarter or
// more of what it needs more. None where others take much less: then the kernels were cut another
// way.
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
  // Kernels that were cut another way account for it together; which resource does is not known.
  if (e.cause == Cause::amounts && e.resources.empty())
    e.confidence = std::min(e.confidence, Confidence::medium);
  return true;
}

// ---- atomics

// Threads that add to few sums wait for few slices of L2: how many is not counted, but between one
// and all of them. On an H200 one sum takes 1336 cycles of its slice's atomic unit per µs.
bool explain_by_atomics(Explanation& e) {
  constexpr double kCyclesPerUs = 1336;
  constexpr double kLeastSlices = 0.8;  // one, at another clock
  constexpr double kMostSlices = 70;    // those of sums all over L2 pass as much
  constexpr double kOneSlice = 1.25;
  const ResultRecord& fast = e.row_is_slower() ? e.reference() : e.row();
  const Bound& faster = e.row_is_slower() ? *e.reference_bound : *e.bound;
  const auto cycles = count_of(e.slower(), "l2_atomic_cycles");
  const auto fewer = count_of(fast, "l2_atomic_cycles");
  const double slower_us = *e.slower().time_us() - e.slower_bound()->times.launch_us;
  if (!cycles || !fewer || slower_us <= 0 || *fewer >= *cycles) return false;
  const double slices = *cycles / (kCyclesPerUs * slower_us);
  if (slices < kLeastSlices || slices > kMostSlices) return false;
  const double faster_us =
      faster.times.launch_us + std::max(faster.times.needed_us(), slower_us * *fewer / *cycles);
  const double factor = *e.slower().time_us() / faster_us;
  if (!explains(factor, apart(e.factor, 1))) return false;
  e.atomics = AtomicsFactor{e.row_is_slower() ? 1 / factor : factor, slices};
  e.cause = Cause::atomics;
  // Of more slices than one, their number is fitted.
  e.confidence = slices <= kOneSlice && apart(factor, apart(e.factor, 1)) <= kMediumFactor
                     ? Confidence::medium
                     : Confidence::low;
  return true;
}

// ---- the host

// Within what repeated counting differs by. Missing counts are not equal.
bool are_equal(const Explanation& e, std::string_view counter) {
  const auto reference = count_of(e.reference(), counter);
  const auto row = count_of(e.row(), counter);
  return reference && row && *reference > 0 && *row > 0 &&
         apart(*reference, *row) <= kUnchangedFactor;
}

// How long the busiest SM had warps, as counted: instructions over the share of cycles in which
// they were issued. Of a launch of hundreds of kernels one was counted.
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

// The variants launch the same kernels with equal work, one after another on one stream.
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

// Equal work, that leaves the SMs without a warp for most of a time that nothing kept from the
// host.
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

// What Little's law takes: the latency of a load, and the bytes that loads have in flight.
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
  e.confidence = apart(factor, e.factor) <= kMediumFactor ? Confidence::medium : Confidence::low;
}

void explain_by_prediction(Explanation& e, const DeviceRates& rates) {
  if (!e.predicted || !e.are_both_predicted_well()) return;
  if (!explains(*e.predicted, e.factor) || apart(*e.predicted, e.factor) > kMediumFactor) return;
  e.latency = LatencyFactor{*e.predicted, in_flight_of(e.reference(), rates),
                            in_flight_of(e.row(), rates), LatencyFrom::prediction};
  e.cause = Cause::latency;
  e.confidence = Confidence::low;
}

// The slower variant's amounts take less of its time than the faster one's of its.
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
