#include "analysis/bounds.hpp"

#include <algorithm>

namespace gpuexp {

namespace {

// Tolerance of a misfit. The rates of boards of one model differ by less than 10 %, and L2 keeps
// less than 10 % of the bytes between warm launches on much larger data (docs/explaining.md).
constexpr double kMisfit = 1.10;

double rest_us_of(const ResultRecord& row, const LeastTimes& times) {
  return *row.time_us() - times.launch_us;
}

// Empty if it is not known which resource binds.
std::optional<Bound> bound_of(const ResultRecord& row, const DeviceRates& rates,
                              const LeastTimesOptions& options) {
  Bound bound;
  bound.times = least_times(row, rates, options);
  bound.longest = bound.times.longest();
  if (!bound.longest || !says_what_binds(row, bound.times, options)) return std::nullopt;
  const double rest_us = rest_us_of(row, bound.times);
  const double needed_us = bound.times.needed_us() + bound.times.further_us;
  bound.share = rest_us > 0 ? bound.longest->time_us / rest_us : 0;
  bound.needed_share = rest_us > 0 ? needed_us / (rest_us + bound.times.further_us) : 0;
  return bound;
}

template <typename LeastUs>
std::optional<double> quotient_of(const std::optional<Bound>& reference,
                                  const std::optional<Bound>& row, LeastUs least_us) {
  if (!reference || !row || reference->longest->time_us <= 0 || row->longest->time_us <= 0)
    return std::nullopt;
  return least_us(*reference) / least_us(*row);
}

std::optional<double> quotient_of_least(const std::optional<Bound>& reference,
                                        const std::optional<Bound>& row) {
  return quotient_of(reference, row, [](const Bound& bound) { return bound.least_us(); });
}

// The resource with the longest time, if it exceeds the measured time without the launch by more
// than 10 %.
std::optional<Misfit> misfit_in(const LeastTimes& times, double rest_us, bool is_of_row) {
  const auto longest = times.longest();
  if (!longest || rest_us <= 0 || longest->time_us <= kMisfit * rest_us) return std::nullopt;
  return Misfit{*longest, is_of_row, rest_us};
}

// A misfit of either variant, first of the row. A misfit of DRAM is returned only if no other
// resource has one.
std::optional<Misfit> misfit_of(const Explanation& e, const DeviceRates& rates) {
  LeastTimesOptions all_sms;
  all_sms.as_chain = false;
  LeastTimesOptions without_dram = all_sms;
  without_dram.without_dram = true;
  std::optional<Misfit> of_dram;
  for (const bool is_of_row : {true, false}) {
    const ResultRecord& row = is_of_row ? e.row() : e.reference();
    const LeastTimes times = least_times(row, rates, all_sms);
    const double rest_us = rest_us_of(row, times);
    const LeastTimes others = least_times(row, rates, without_dram);
    if (const auto misfit = misfit_in(others, rest_us, is_of_row)) return misfit;
    if (!of_dram) of_dram = misfit_in(times, rest_us, is_of_row);
  }
  return of_dram;
}

// False if the measured time is too short for kernels that run one after another: they overlapped.
bool fits(const ResultRecord& row, const LeastTimes& times) {
  return times.of_chain.empty() || times.needed_us() <= kMisfit * rest_us_of(row, times);
}

// True if both variants are bounded kernel by kernel: both must fit, and at least one must have
// kernels that different resources limit.
bool are_chains(const Explanation& e, const DeviceRates& rates, const LeastTimesOptions& options) {
  const LeastTimes reference = least_times(e.reference(), rates, options);
  const LeastTimes row = least_times(e.row(), rates, options);
  return fits(e.reference(), reference) && fits(e.row(), row) &&
         (reference.is_shared() || row.is_shared());
}

}  // namespace

void add_bounds(Explanation& e, const DeviceRates& rates) {
  e.misfit = misfit_of(e, rates);
  if (e.misfit && e.misfit->amount.resource != Resource::dram) return;
  LeastTimesOptions all_sms;
  all_sms.without_dram = e.misfit.has_value();
  all_sms.as_chain = are_chains(e, rates, all_sms);
  const SmShares at_work = sm_shares(e.reference(), e.row(), rates);
  const auto with_share = [&](double sm_share) {
    LeastTimesOptions options = all_sms;
    options.sm_share = sm_share;
    options.sm_share_from = at_work.from;
    return options;
  };
  e.reference_bound = bound_of(e.reference(), rates, with_share(at_work.reference));
  e.bound = bound_of(e.row(), rates, with_share(at_work.row));
  e.accounted = quotient_of_least(e.reference_bound, e.bound);
  e.accounted_without_launches = quotient_of(e.reference_bound, e.bound, [](const Bound& bound) {
    return bound.least_us_of_one_kernel();
  });
  e.accounted_without_idle_sms =
      quotient_of_least(bound_of(e.reference(), rates, all_sms), bound_of(e.row(), rates, all_sms));
}

}  // namespace gpuexp
