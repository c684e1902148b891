#include "render/explanation_text.hpp"

#include <algorithm>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "analysis/sentence_fragments.hpp"
#include "base/text.hpp"
#include "family/counters.hpp"
#include "record/flags.hpp"

namespace gpuexp {

namespace {

constexpr int kCounterDigits = 3;

// A counter that only a later version knows goes by its id.
Counter counter_named(std::string_view id) {
  const Counter* known = find_counter(id);
  return known ? *known : Counter{id, "", "", "", id, ""};
}

std::string value_fragment(const Counter& counter, double value) {
  if (counter.bytes_each > 0) return quantity_fragment(counter.bytes_each * value, "B");
  if (counter.unit == "%") return percent_fragment(value) + " %";
  if (!counter.denominator.empty()) return significant(value, kCounterDigits);
  return quantity_fragment(value, counter.unit);
}

std::string value_or_none(const Counter& counter, double value, const char* none) {
  return value == 0 ? none : value_fragment(counter, value);
}

// "4 sectors per load request"
std::string kept_fragment(const CounterChange& kept) {
  const Counter counter = counter_named(kept.counter);
  return fmt::format("{} {}", value_or_none(counter, kept.to, "no"), counter.fragment);
}

// ---- what the amounts take

struct ResourceWords {
  const char* name;
  const char* amount;  ///< what stands behind its number
};

ResourceWords words_for(Resource resource) {
  switch (resource) {
    case Resource::dram: return {"DRAM", "B"};
    case Resource::l2: return {"L2", "B"};
    case Resource::l1_data: return {"L1's data stage", "wavefronts"};
    case Resource::l1_tags: return {"L1's tag stage", "wavefronts"};
    case Resource::issue: return {"the issue slots", "warp instructions"};
    case Resource::fma: return {"the FMA pipes", "instructions"};
    case Resource::alu: return {"the ALU pipe", "instructions"};
    case Resource::fp64: return {"the fp64 pipe", "instructions"};
    case Resource::xu: return {"the transcendental unit", "instructions"};
    case Resource::operations: return {"the arithmetic pipes", "operations"};
    case Resource::blocks: return {"the start of blocks", "blocks"};
  }
  return {"", ""};
}

// "137 G operations at 633 TFLOP/s": variants of one operation count differ in what they run on.
std::string operations_fragment(const LeastTime& least, const LeastTimes& times) {
  constexpr double kPerMicro = 1e6;
  const double on_all_sms = kPerMicro * least.amount / (least.time_us * times.sm_share);
  return fmt::format("{} operations at {}", quantity_fragment(least.amount, ""),
                     quantity_fragment(on_all_sms, "FLOP/s"));
}

std::string amount_fragment(const LeastTime& least) {
  const char* words = words_for(least.resource).amount;
  if (least.resource == Resource::dram) return quantity_fragment(least.amount, words);
  if (least.resource == Resource::l2) return quantity_fragment(kSectorBytes * least.amount, words);
  return fmt::format("{} {}", quantity_fragment(least.amount, ""), words);
}

// "32 blocks leave 100 of 132 SMs idle", else the share of the SMs, or of their cycles, at work.
std::string idle_fragment(const ResultRecord& row, const LeastTimes& times) {
  constexpr double kWhole = 100;
  const std::string share = fmt::format("{} %", percent_fragment(kWhole * times.sm_share));
  if (!row.grid_blocks || !times.sm_count)
    return fmt::format("SMs have work for {} of the cycles", share);
  const auto blocks = static_cast<double>(*row.grid_blocks);
  const std::string sms = number_fragment(*times.sm_count);
  const std::string grid =
      fmt::format("{} {}", number_fragment(blocks), blocks == 1 ? "block" : "blocks");
  if (blocks < *times.sm_count)
    return fmt::format("{} leave {} of {} SMs idle", grid,
                       number_fragment(*times.sm_count - blocks), sms);
  return fmt::format("{} keep {} of {} SMs at work", grid, share, sms);
}

// "151 M warp instructions take 145 µs of 175 µs, as 32 blocks leave 100 of 132 SMs idle"
std::string least_fragment(const ResultRecord& row, const Bound& bound) {
  constexpr double kMostSms = 0.9;
  constexpr double kMuchOfLaunch = 0.2;
  const LeastTime& longest = *bound.longest;
  const std::string amount = longest.resource == Resource::operations
                                 ? operations_fragment(longest, bound.times)
                                 : amount_fragment(longest);
  const bool is_all = longest.time_us >= *row.time_us();
  std::string text = is_all ? fmt::format("{} take all of {}", amount, time_fragment(row))
                            : fmt::format("{} take {} of {}", amount, time_text(longest.time_us),
                                          time_fragment(row));
  if (bound.times.launch_us >= kMuchOfLaunch * *row.time_us())
    text += fmt::format(", of which the launch takes {}", time_text(bound.times.launch_us));
  if (is_of_sms(longest.resource) && bound.times.sm_share < kMostSms)
    text += fmt::format(", as {}", idle_fragment(row, bound.times));
  return text;
}

std::string resource_fragment(const Bound& bound) {
  const Resource resource = bound.longest->resource;
  if (resource != Resource::operations) return words_for(resource).name;
  const std::string& pipe = bound.times.operations_on;
  return pipe.starts_with("tensor") ? fmt::format("the tensor cores ({})", pipe)
                                    : fmt::format("the {} pipes", pipe);
}

std::string bound_fragment(const ResultRecord& row, const Bound& bound) {
  const std::string resource = resource_fragment(bound);
  const std::string least = least_fragment(row, bound);
  if (bound.share >= kNearRate)
    return fmt::format("{} is bound by {}: {}", row.variant, resource, least);
  if (bound.share >= kBoundShare)
    return fmt::format("{} needs {} most: {}", row.variant, resource, least);
  return fmt::format("no amount binds {}: it needs {} most, where {}", row.variant, resource,
                     least);
}

// "At the device's rates naive is bound by L1's data stage: 70.9 G wavefronts take 274 ms of 276
// ms; …"
std::string bounds_sentence(const Explanation& e) {
  if (!e.bound || !e.reference_bound || (e.misfit && e.cause == Cause::unknown)) return "";
  const std::string row = bound_fragment(e.row(), *e.bound);
  const std::string reference = bound_fragment(e.reference(), *e.reference_bound);
  return e.row_is_slower() ? fmt::format("At the device's rates {}; {}.", row, reference)
                           : fmt::format("At the device's rates {}; {}.", reference, row);
}

// "The DRAM counters do not fit the timed launch and are left out: …"
std::string misfit_sentence(const Explanation& e) {
  if (!e.misfit) return "";
  const LeastTime& amount = e.misfit->amount;
  const ResultRecord& row = e.misfit->is_of_row ? e.row() : e.reference();
  const bool is_dram = amount.resource == Resource::dram;
  return fmt::format(
      "{}: {} of {} would take {} {}, and its time less the launch is {}; they were "
      "counted in another state than was timed.",
      is_dram ? "The DRAM counters do not fit the timed launch and are left out"
              : "The counters do not fit the timed launch, and nothing is explained from them",
      amount_fragment(amount), row.variant, words_for(amount.resource).name,
      time_text(amount.time_us), time_text(e.misfit->rest_us));
}

// Where the row stands now, where the results say it.
std::string now_fragment(const ResultRecord& row) {
  const auto measured_pct = row.measured_limit_pct;
  if (!measured_pct) return limit_fragment(row, "now at ");
  return fmt::format("now at {} % of the limit that this device was measured to allow",
                     percent_fragment(*measured_pct));
}

// ---- what it comes to

std::string joined(const std::vector<CounterChange>& changes) {
  constexpr std::size_t kMost = 4;
  std::vector<std::string> fragments;
  for (const CounterChange& change : changes) {
    if (fragments.size() < kMost) fragments.push_back(change_fragment(change));
  }
  return fmt::format("{}", fmt::join(fragments, ", "));
}

std::string measured_fragment(const Explanation& e) {
  const std::string times = fmt::format("{} ({} → {})", e.reference().variant,
                                        time_fragment(e.reference()), time_fragment(e.row()));
  if (e.factor < 1) {
    return fmt::format("{} takes {} as long as {}", e.row().variant,
                       ratio_fragment(e.reference(), e.row()), times);
  }
  return fmt::format("{} is {} as fast as {}", e.row().variant,
                     ratio_fragment(e.row(), e.reference()), times);
}

std::string difference_sentence(const Explanation& e) {
  std::string text = measured_fragment(e);
  if (!e.changes.empty()) text += ": " + joined(e.changes);
  if (const std::string now = now_fragment(e.row()); !now.empty())
    text += (e.changes.empty() ? ": " : "; ") + now;
  return text + ".";
}

std::string sameness_sentence(const Explanation& e) {
  std::string text =
      fmt::format("no difference between {} and {} ({} → {})", e.row().variant,
                  e.reference().variant, time_fragment(e.reference()), time_fragment(e.row()));
  if (!e.changes.empty()) return text + ", although " + joined(e.changes) + ".";
  std::vector<std::string> kept;
  for (const CounterChange& change : e.kept)
    kept.push_back(kept_fragment(change));
  if (!kept.empty()) text += fmt::format(": {} in both", fmt::join(kept, " and "));
  return text + ".";
}

bool is_near_floor(const ResultRecord& row) {
  return row.has_flag(kNearFloor.id);
}

// The factor as the first sentence has it: above 1.
std::string factor_fragment(const Explanation& e, double factor) {
  return ratio_fragment(e.factor < 1 ? 1 / factor : factor);
}

std::string accounted_sentence(const Explanation& e) {
  constexpr double kWhole = 100;
  std::string text = fmt::format(
      "The amounts alone give {}, {} % of the measured factor on a logarithmic scale: {} "
      "confidence.",
      factor_fragment(e, *e.accounted),
      percent_fragment(kWhole * share_of_factor(*e.accounted, e.factor)), name_of(e.confidence));
  if (e.cause == Cause::idle_sms) {
    text += fmt::format(" With all SMs at work they would give {}: idle SMs are the cause.",
                        factor_fragment(e, *e.accounted_without_idle_sms));
  }
  return text;
}

// "read_4b has 62 warps and 7.97 kB in flight per SM"; without the bytes where they are not known.
std::string in_flight_fragment(const ResultRecord& row, const std::optional<InFlight>& in_flight) {
  const auto warps = count_of(row, "active_warps_per_sm");
  if (!warps) return "";
  return fmt::format(
      "{} has {} warps{} per SM", row.variant, significant(*warps, 2),
      in_flight ? fmt::format(" and {} in flight", quantity_fragment(in_flight->bytes_per_sm, "B"))
                : "");
}

std::string predicted_latency_fragment(const Explanation& e) {
  std::vector<std::string> warps{in_flight_fragment(e.reference(), e.latency->reference),
                                 in_flight_fragment(e.row(), e.latency->row)};
  warps.erase(std::remove(warps.begin(), warps.end(), ""), warps.end());
  return fmt::format(
      "What they leave is latency, waves or barriers{}{}{}: predict, which adds these to the "
      "amounts, gives",
      warps.empty() ? "" : " (", fmt::join(warps, ", "), warps.empty() ? "" : ")");
}

std::string littles_fragment(const Explanation& e) {
  const auto& slower = e.row_is_slower() ? e.latency->row : e.latency->reference;
  const auto& faster = e.row_is_slower() ? e.latency->reference : e.latency->row;
  return fmt::format(
      "The cause is latency: {}, whose loads take {} at DRAM's latency by Little's law; {}. That "
      "gives",
      in_flight_fragment(e.slower(), slower), time_text(slower->least_us),
      in_flight_fragment(e.row_is_slower() ? e.reference() : e.row(), faster));
}

std::string latency_sentence(const Explanation& e) {
  return fmt::format("{} {}: {} confidence.",
                     e.latency->is_predicted ? predicted_latency_fragment(e) : littles_fragment(e),
                     factor_fragment(e, e.latency->factor), name_of(e.confidence));
}

// What is neither near a rate nor explained waits; how many warps it has to hide that is known.
std::string near_no_rate_fragment(const ResultRecord& slower) {
  const auto warps = count_of(slower, "active_warps_per_sm");
  return fmt::format("; {}{} is near no rate that is known: latency is likely", slower.variant,
                     warps ? fmt::format(", with {} warps per SM,", significant(*warps, 2)) : "");
}

std::string unexplained_sentence(const Explanation& e) {
  const bool is_bound = e.slower_bound()->share >= kBoundShare;
  std::string text = fmt::format("The amounts alone give {}{}: they do not explain this difference",
                                 factor_fragment(e, *e.accounted),
                                 is_bound ? "" : " and take less than half of the longer time");
  if (is_near_floor(e.row()) || is_near_floor(e.reference()))
    text += ", and much of these times is the launch itself";
  if (!e.latency && e.slower_bound()->share < kNearRate) text += near_no_rate_fragment(e.slower());
  if (e.predicted && !e.latency) {
    text += fmt::format("; predict, which knows latencies too, gives {}",
                        factor_fragment(e, *e.predicted));
  }
  return text + ".";
}

std::string accounting_sentence(const Explanation& e) {
  if (e.misfit && e.cause == Cause::unknown)
    return e.misfit->amount.resource == Resource::dram ? "What is left explains no difference."
                                                       : "";
  if (!e.accounted)
    return "What was counted does not say what binds: run --counters reads all of it.";
  if (e.cause == Cause::amounts || e.cause == Cause::idle_sms) return accounted_sentence(e);
  std::string text = unexplained_sentence(e);
  if (e.latency) text += " " + latency_sentence(e);
  return text;
}

// "Expected counter changes not seen: dram_read_bytes decreases."
std::string not_seen_sentence(const std::vector<ExpectedChange>& not_seen) {
  if (not_seen.empty()) return "";
  std::vector<std::string> changes;
  for (const ExpectedChange& expected : not_seen)
    changes.push_back(fmt::format("{} {}", expected.counter, name_of(expected.direction)));
  return fmt::format("Expected counter changes not seen: {}.", fmt::join(changes, ", "));
}

}  // namespace

std::string counter_fragment(std::string_view counter, double value) {
  Counter counted = counter_named(counter);
  counted.bytes_each = 0;
  return value_fragment(counted, value);
}

std::string change_fragment(const CounterChange& change) {
  const Counter counter = counter_named(change.counter);
  return fmt::format("{} {} instead of {}", value_or_none(counter, change.to, "no"),
                     counter.fragment, value_or_none(counter, change.from, "none"));
}

std::string text_of(const ExperimentResults& experiment, const Explanation& e) {
  std::vector<std::string> sentences{place_fragment(experiment, e.row()) +
                                     (e.differs ? difference_sentence(e) : sameness_sentence(e))};
  if (!e.counted) {
    if (e.differs) sentences.emplace_back("Counters would say why: run --counters.");
  } else {
    sentences.push_back(misfit_sentence(e));
    sentences.push_back(bounds_sentence(e));
    if (e.differs) sentences.push_back(accounting_sentence(e));
    sentences.push_back(not_seen_sentence(e.not_seen));
  }
  sentences.erase(std::remove(sentences.begin(), sentences.end(), ""), sentences.end());
  return fmt::format("{}", fmt::join(sentences, " "));
}

std::string text_of(const ExperimentResults& experiment, const PredictedDifference& d) {
  const std::string& variant = d.row().variant;
  const std::string& other = d.reference().variant;
  const std::string times = fmt::format("({} → {})", time_text(*d.reference().predicted_time_us),
                                        time_text(*d.row().predicted_time_us));
  std::string text = place_fragment(experiment, d.row());
  if (!d.differs()) {
    text += fmt::format("no predicted difference between {} and {} {}", variant, other, times);
  } else if (d.factor > 1) {
    text += fmt::format("{} is predicted to be {} as fast as {} {}", variant,
                        ratio_fragment(d.factor), other, times);
  } else {
    text += fmt::format("{} is predicted to take {} as long as {} {}", variant,
                        ratio_fragment(1 / d.factor), other, times);
  }
  if (!d.changes.empty())
    text += fmt::format("{}{}", d.differs() ? ": " : ", although ", joined(d.changes));
  text += ".";
  const bool is_same_bound = d.row().bound_by == d.reference().bound_by;
  text += is_same_bound ? fmt::format(" The prediction has both bound by {}.", d.row().bound_by)
                        : fmt::format(" The prediction has {} bound by {}, {} by {}.", other,
                                      d.reference().bound_by, variant, d.row().bound_by);
  if (const std::string not_seen = not_seen_sentence(d.not_seen); !not_seen.empty())
    text += " " + not_seen;
  return text;
}

std::string summary_of(const std::vector<Explanation>& explanations) {
  const auto count = [&](auto is) { return std::ranges::count_if(explanations, is); };
  const auto explained = [&](Confidence confidence) {
    return count(
        [&](const Explanation& e) { return e.differs && e.counted && e.confidence == confidence; });
  };
  const auto same = count([](const Explanation& e) { return !e.differs; });
  const auto uncounted = count([](const Explanation& e) { return e.differs && !e.counted; });
  std::vector<std::string> parts;
  const auto add = [&](std::ptrdiff_t n, const char* what) {
    if (n > 0) parts.push_back(fmt::format("{} {}", n, what));
  };
  add(explained(Confidence::high), "explained with high confidence");
  add(explained(Confidence::medium), "explained with medium confidence");
  add(explained(Confidence::low), "explained with low confidence");
  add(explained(Confidence::none), "not explained");
  add(uncounted, "without counters");
  add(same, "without a difference");
  const std::size_t all = explanations.size();
  std::string text = fmt::format("{} {}", all, all == 1 ? "comparison" : "comparisons");
  return parts.empty() ? text : fmt::format("{}: {}", text, fmt::join(parts, ", "));
}

}  // namespace gpuexp
