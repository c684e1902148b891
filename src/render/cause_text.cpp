#include "render/cause_text.hpp"

#include <algorithm>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "analysis/sentence_fragments.hpp"
#include "base/text.hpp"
#include "record/flags.hpp"
#include "render/bound_text.hpp"
#include "render/counter_text.hpp"

namespace gpuexp {

namespace {

bool is_near_floor(const ResultRecord& row) {
  return row.has_flag(kNearFloor.id);
}

// "4 kernels and 1 fill"
std::string launched_fragment(const Launched& launched) {
  const auto fragment = [](double n, const char* what) {
    return number_fragment(n) + ' ' + noun_for(n, what);
  };
  const std::string kernels = fragment(launched.kernels, "kernel");
  return launched.fills > 0 ? kernels + " and " + fragment(launched.fills, "fill") : kernels;
}

// The factor, inverted if the row is slower, so that the measured factor is above 1.
std::string factor_fragment(const Explanation& e, double factor) {
  return ratio_fragment(e.factor < 1 ? 1 / factor : factor);
}

// True if the factor has the opposite direction, by more than repeated runs differ.
bool is_opposite(const Explanation& e, double factor) {
  constexpr double kMinFactor = 1.02;
  return share_of_factor(factor, e.factor) < 0 && factor_between(factor, 1) >= kMinFactor;
}

// "2.49× of 2.41×": the given factor and the measured factor.
std::string of_measured(const Explanation& e, double factor) {
  return fmt::format("{} of {}", factor_fragment(e, factor), factor_fragment(e, e.factor));
}

// "DRAM", "DRAM and L2"
std::string resources_fragment(const Explanation& e) {
  std::vector<std::string> names;
  for (const Resource resource : e.resources)
    names.push_back(resource_fragment(resource, e.slower_bound()->times));
  return names.empty() ? "all that the kernels need together"
                       : fmt::format("{}", fmt::join(names, " and "));
}

std::string cause_fragment(const Explanation& e) {
  const Launched& slower = e.row_is_slower() ? e.launched : e.reference_launched;
  switch (e.cause) {
    case Cause::idle_sms: return "SMs without a block";
    case Cause::launches: return fmt::format("the launch of {}", launched_fragment(slower));
    default: return resources_fragment(e);
  }
}

// "The cause is DRAM: the amounts account for 8× of 8× (high confidence)."
std::string accounted_sentence(const Explanation& e) {
  const std::string cause =
      fmt::format("The cause is {} in {}", cause_fragment(e), e.slower().variant);
  const std::string& faster = e.row_is_slower() ? e.reference().variant : e.row().variant;
  std::string text =
      e.is_over_accounted()
          ? fmt::format(
                "{}: the amounts by themselves would give {} ({} confidence); another resource "
                "then limits {}.",
                cause, of_measured(e, *e.accounted), name_of(e.confidence), faster)
          : fmt::format("{}: the amounts account for {} ({} confidence).", cause,
                        of_measured(e, *e.accounted), name_of(e.confidence));
  if (e.cause == Cause::idle_sms) {
    text += fmt::format(" With work on all SMs they would give {}.",
                        factor_fragment(e, *e.accounted_without_idle_sms));
  }
  if (e.cause == Cause::launches) {
    text += fmt::format(" With one kernel each they would give {}.",
                        factor_fragment(e, *e.accounted_without_launches));
  }
  return text;
}

std::string host_sentence(const Explanation& e) {
  return fmt::format(
      "The cause is the host ({} confidence): both variants launch the same kernels with equal "
      "counters, and the stream of {} was not blocked until they were queued (flag {}).",
      name_of(e.confidence), e.slower().variant, kUngated.id);
}

std::string atomics_sentence(const Explanation& e) {
  constexpr double kOne = 1.25;
  const double slices = e.atomics->slices;
  const std::string at_work = slices <= kOne
                                  ? "one of L2's slices works"
                                  : fmt::format("{} of L2's slices work", significant(slices, 2));
  return fmt::format(
      "The cause is atomics in {}, which L2 serialises: they need all of its time if {} on them, "
      "and account for {} ({} confidence).",
      e.slower().variant, at_work, of_measured(e, e.atomics->factor), name_of(e.confidence));
}

std::string warps_fragment(double warps) {
  const std::string number = significant(warps, 2);
  return fmt::format("{} {}", number, number == "1" ? "warp" : "warps");
}

// "read_4b has 62 warps and 7.97 kB in flight per SM"; without the bytes if they are unknown.
std::string in_flight_fragment(const ResultRecord& row, const std::optional<InFlight>& in_flight) {
  const auto warps = count_of(row, "active_warps_per_sm");
  if (!warps) return "";
  return fmt::format(
      "{} has {}{} per SM", row.variant, warps_fragment(*warps),
      in_flight ? fmt::format(" and {} in flight", quantity_fragment(in_flight->bytes_per_sm, "B"))
                : "");
}

std::string predicted_bound_fragment(const ResultRecord& slower) {
  return slower.bound_by.empty()
             ? ""
             : fmt::format(", and has {} bound by {}", slower.variant, slower.bound_by);
}

std::string predicted_latency_sentence(const Explanation& e) {
  std::vector<std::string> warps{in_flight_fragment(e.reference(), e.latency->reference),
                                 in_flight_fragment(e.row(), e.latency->row)};
  std::erase(warps, "");
  return fmt::format(
      "The cause is likely latency, waves or barriers ({} confidence): predict, which adds these "
      "to the amounts, gives {}{}{}{}.",
      name_of(e.confidence), of_measured(e, e.latency->factor),
      predicted_bound_fragment(e.slower()), warps.empty() ? "" : "; ", fmt::join(warps, ", "));
}

std::string littles_sentence(const Explanation& e) {
  const auto& slower = e.row_is_slower() ? e.latency->row : e.latency->reference;
  const auto& faster = e.row_is_slower() ? e.latency->reference : e.latency->row;
  const Bound& bound = *e.slower_bound();
  const std::string beside =
      bound.longest->resource == Resource::dram
          ? fmt::format(
                ", with the {} that DRAM needs for its bytes {} (root of the sum of squares)",
                time_text(bound.times.needed_us()), time_text(waited_us(bound, *slower)))
          : "";
  return fmt::format(
      "The cause is latency: by Little's law the bytes in flight account for {} ({} confidence). "
      "{}, and its loads take {} at DRAM's latency{}; {}.",
      of_measured(e, e.latency->factor), name_of(e.confidence),
      in_flight_fragment(e.slower(), slower), time_text(slower->least_us), beside,
      in_flight_fragment(e.row_is_slower() ? e.reference() : e.row(), faster));
}

// "7.3 warps per SM for 40 % of the cycles (theoretical occupancy 50 %)"
std::string occupancy_fragment(const ResultRecord& row) {
  constexpr double kEvenPct = 90;  // cycles of the mean SM, as a share of the busiest SM's cycles
  std::string text = fmt::format("{} has {} per SM", row.variant,
                                 warps_fragment(count_of(row, "active_warps_per_sm").value_or(0)));
  if (const auto balance = count_of(row, "sm_balance_pct"); balance && *balance < kEvenPct)
    text += fmt::format(" for {} % of the cycles", percent_fragment(*balance));
  if (row.occupancy_pct)
    text += fmt::format(" (theoretical occupancy {} %)", percent_fragment(*row.occupancy_pct));
  return text;
}

// States that the slower variant has fewer warps in flight, without claiming an effect on the time.
std::string fewer_warps_fragment(const Explanation& e) {
  const ResultRecord& faster = e.row_is_slower() ? e.reference() : e.row();
  const auto slower_warps = warps_in_flight(e.slower());
  const auto faster_warps = warps_in_flight(faster);
  if (!slower_warps || !faster_warps || *faster_warps <= kUnchangedFactor * *slower_warps)
    return "";
  return fmt::format(" {}, {}.", occupancy_fragment(e.slower()), occupancy_fragment(faster));
}

// States latency as likely, if no resource of the slower variant is near its rate and an accurate
// prediction is bound by latency.
std::string likely_latency_fragment(const Explanation& e) {
  const ResultRecord& slower = e.slower();
  const bool is_near_rate = e.slower_bound()->share >= kNearRate;
  if (is_near_rate || !is_predicted_well(slower) || slower.bound_by != "latency") return "";
  const auto warps = count_of(slower, "active_warps_per_sm");
  return fmt::format(
      " Latency is likely: predict, within a third of the time of {}, has it bound "
      "by latency{}.",
      slower.variant, warps ? fmt::format(", with {} per SM", warps_fragment(*warps)) : "");
}

// The predicted factor, if both predictions are accurate.
std::string predicted_fragment(const Explanation& e) {
  if (!e.predicted || !e.are_both_predicted_well()) return "";
  if (!is_opposite(e, *e.predicted))
    return fmt::format(" predict gives {}.", of_measured(e, *e.predicted));
  return fmt::format(" predict gives the opposite, {}.", factor_fragment(e, *e.predicted));
}

// "Expected counter changes seen: …". Leaves out counters that follow from the time.
std::string others_sentence(const Explanation& e) {
  std::vector<CounterChange> amounts;
  std::ranges::copy_if(e.others, std::back_inserter(amounts),
                       [](const CounterChange& c) { return !is_effect(c.counter); });
  return amounts.empty()
             ? ""
             : fmt::format(" Expected counter changes seen: {}.", changes_fragment(amounts));
}

// If the accounted factor has the opposite direction, the amounts account for nothing.
std::string accounted_fragment(const Explanation& e) {
  return is_opposite(e, *e.accounted)
             ? fmt::format("the amounts by themselves give the opposite, {} instead of {}",
                           factor_fragment(e, *e.accounted), factor_fragment(e, e.factor))
             : fmt::format("the amounts account for {}", of_measured(e, *e.accounted));
}

std::string unexplained_sentence(const Explanation& e) {
  std::string text = fmt::format("This difference is not explained: {}.", accounted_fragment(e));
  if (e.slower_bound()->needed_share < kBoundShare)
    text += " They need less than half of the longer time.";
  if (is_near_floor(e.row()) || is_near_floor(e.reference()))
    text += " Much of these times is launch overhead.";
  return text + likely_latency_fragment(e) + predicted_fragment(e) + fewer_warps_fragment(e);
}

std::string latency_sentence(const Explanation& e) {
  switch (e.latency->from) {
    case LatencyFrom::bytes_in_flight: return littles_sentence(e);
    case LatencyFrom::prediction: return predicted_latency_sentence(e);
  }
  return "";
}

}  // namespace

std::string accounting_sentence(const Explanation& e) {
  if (e.cause == Cause::host) return host_sentence(e);
  if (e.misfit && e.cause == Cause::unknown)
    return e.misfit->amount.resource == Resource::dram ? "Other amounts explain no difference."
                                                       : "";
  if (!e.accounted)
    return "The counted amounts do not determine the binding resource: run --counters reads all.";
  if (e.cause == Cause::atomics) return atomics_sentence(e);
  if (e.cause == Cause::latency)
    return fmt::format("{} Without latency {}.{}", latency_sentence(e), accounted_fragment(e),
                       others_sentence(e));
  if (e.cause == Cause::unknown) return unexplained_sentence(e) + others_sentence(e);
  return accounted_sentence(e);
}

std::string launched_sentence(const Explanation& e) {
  if (e.launched == e.reference_launched) return "";
  return fmt::format("{} launches {}, {} {}.", e.reference().variant,
                     launched_fragment(e.reference_launched), e.row().variant,
                     launched_fragment(e.launched));
}

std::string clocks_sentence(const Explanation& e) {
  const auto& reference = e.reference().sm_clock_mhz;
  const auto& row = e.row().sm_clock_mhz;
  if (!reference || !row || factor_between(*reference, *row) <= kUnchangedFactor) return "";
  return fmt::format("The SMs ran at {:.0f} MHz in {}, at {:.0f} MHz in {}.", *reference,
                     e.reference().variant, *row, e.row().variant);
}

std::string l2_hits_sentence(const Explanation& e) {
  if (!e.l2_hits) return "";
  return fmt::format("At equal sectors, {}.", change_fragment(*e.l2_hits));
}

}  // namespace gpuexp
