#include "render/explanation_text.hpp"

#include <algorithm>
#include <array>
#include <cmath>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "analysis/phrases.hpp"
#include "base/text.hpp"
#include "family/counters.hpp"

namespace gpuexp {

namespace {

constexpr int kDigits = 3;

// A counter that only a later version knows goes by its id.
Counter counter_named(std::string_view id) {
  const Counter* known = find_counter(id);
  return known ? *known : Counter{id, "", "", "", id, ""};
}

std::string value_phrase(const Counter& counter, double value) {
  if (counter.bytes_each > 0) return quantity_phrase(counter.bytes_each * value, "B");
  if (counter.unit == "%") return percent_phrase(value) + " %";
  if (!counter.denominator.empty()) return significant(value, kDigits);
  return quantity_phrase(value, counter.unit);
}

std::string value_or_none(const Counter& counter, double value, const char* none) {
  return value == 0 ? none : value_phrase(counter, value);
}

// "4 sectors per load request"
std::string kept_phrase(const CounterChange& kept) {
  const Counter counter = counter_named(kept.counter);
  return fmt::format("{} {}", value_or_none(counter, kept.to, "no"), counter.phrase);
}

// ---- what keeps a variant busy

const char* resource_phrase(Resource resource) {
  switch (resource) {
    case Resource::dram: return "DRAM";
    case Resource::l1: return "L1's data stage";
    case Resource::l1_tags: return "L1's tag stage";
    case Resource::issue: return "the issue slots";
    case Resource::tensor: return "the tensor pipe";
    case Resource::arithmetic: return "the arithmetic pipe";
  }
  return "";
}

std::string busy_phrase(const Busy& busy) {
  constexpr double kWhole = 100.0;
  return fmt::format("{} {} % busy", resource_phrase(busy.resource),
                     percent_phrase(std::min(busy.share_pct, kWhole)));
}

// What the warps of the row wait for most; "" where that was not counted.
std::string wait_phrase(const ResultRow& row) {
  const Counter* most = nullptr;
  double warps = 0;
  for (const Counter& counter : kCounters) {
    const bool is_wait = counter.id.substr(0, 8) == "stalled_";
    const auto value = count_of(row, counter.id);
    if (!is_wait || !value || *value <= warps) continue;
    most = &counter;
    warps = *value;
  }
  if (!most) return "";
  std::string_view phrase = most->phrase;
  phrase.remove_prefix(std::string_view("warps waiting ").size());
  return fmt::format("its warps wait most {}", phrase);
}

std::string unbound_phrase(const ResultRow& row) {
  const std::string wait = wait_phrase(row);
  return fmt::format("no resource that was counted binds {}{}", row.variant(),
                     wait.empty() ? "" : ", and " + wait);
}

// "naive keeps L1's data stage 99 % busy, coalesced the issue slots 62 %"
std::string bounds_sentence(const Explanation& e) {
  if (!e.busiest || !e.reference_busiest) return "";
  const bool same = e.busiest->resource == e.reference_busiest->resource;
  std::string text = same ? fmt::format("{} keeps {}, {} {} %", e.reference.variant(),
                                        busy_phrase(*e.reference_busiest), e.row.variant(),
                                        percent_phrase(e.busiest->share_pct))
                          : fmt::format("{} keeps {}, {} {}", e.reference.variant(),
                                        busy_phrase(*e.reference_busiest), e.row.variant(),
                                        busy_phrase(*e.busiest));
  const bool row_is_slower = e.factor < 1;
  const Busy& slower = row_is_slower ? *e.busiest : *e.reference_busiest;
  if (e.differs && slower.share_pct < kBoundPct)
    text += "; " + unbound_phrase(row_is_slower ? e.row : e.reference);
  return text + ".";
}

// What the row's predictions say of it now, where they say it.
std::string now_phrase(const ResultRow& row) {
  const std::string bound_by = row.text("bound_by");
  const auto measured_pct = row.number("measured_limit_pct");
  std::string now;
  if (measured_pct) {
    now = fmt::format("now at {} % of the limit that this device was measured to allow",
                      percent_phrase(*measured_pct));
  } else {
    now = limit_phrase(row, "now at ");
  }
  if (bound_by.empty()) return now;
  return fmt::format("{}{}bound by {}", now, now.empty() ? "" : ", ", bound_by);
}

// ---- what it comes to

std::string joined(const std::vector<CounterChange>& changes) {
  constexpr std::size_t kMost = 4;
  std::vector<std::string> phrases;
  for (const CounterChange& change : changes) {
    if (phrases.size() < kMost) phrases.push_back(change_phrase(change));
  }
  return fmt::format("{}", fmt::join(phrases, ", "));
}

std::string factor_phrase(const Explanation& e) {
  const std::string times = fmt::format("{} ({} → {})", e.reference.variant(),
                                        time_phrase(e.reference), time_phrase(e.row));
  if (e.factor < 1) {
    return fmt::format("{} takes {} as long as {}", e.row.variant(),
                       ratio_phrase(e.reference, e.row), times);
  }
  return fmt::format("{} is {} as fast as {}", e.row.variant(), ratio_phrase(e.row, e.reference),
                     times);
}

std::string difference_sentence(const Explanation& e) {
  std::string text = factor_phrase(e);
  if (!e.changes.empty()) text += ": " + joined(e.changes);
  if (const std::string now = now_phrase(e.row); !now.empty())
    text += (e.changes.empty() ? ": " : "; ") + now;
  return text + ".";
}

std::string sameness_sentence(const Explanation& e) {
  std::string text =
      fmt::format("no difference between {} and {} ({} → {})", e.row.variant(),
                  e.reference.variant(), time_phrase(e.reference), time_phrase(e.row));
  if (!e.changes.empty()) return text + ", although " + joined(e.changes) + ".";
  std::vector<std::string> kept;
  for (const CounterChange& change : e.kept)
    kept.push_back(kept_phrase(change));
  if (!kept.empty()) text += fmt::format(": {} in both", fmt::join(kept, " and "));
  return text + ".";
}

bool is_near_floor(const ResultRow& row) {
  return row.text("flags").find("near_floor") != std::string::npos;
}

std::string accounting_sentence(const Explanation& e) {
  if (!e.accounted)
    return "What was counted does not say what binds: run --counters reads all of it.";
  const auto factor = [&](double value) { return ratio_phrase(e.factor < 1 ? 1 / value : value); };
  const std::string alone = fmt::format("The counters alone give {}", factor(*e.accounted));
  if (e.confidence != Confidence::none)
    return fmt::format("{}: {} confidence.", alone, name_of(e.confidence));
  std::string text = alone + ": they do not explain this difference";
  if (is_near_floor(e.row) || is_near_floor(e.reference))
    text += ", and much of these times is the launch itself";
  if (e.predicted)
    text += fmt::format("; predict, which knows latencies too, gives {}", factor(*e.predicted));
  return text + ".";
}

// "Declared, and not seen: dram_read_bytes falls."
std::string not_seen_sentence(const Explanation& e) {
  if (e.not_seen.empty()) return "";
  std::vector<std::string> moves;
  for (const Move& move : e.not_seen)
    moves.push_back(fmt::format("{} {}", move.counter, name_of(move.direction)));
  return fmt::format("Declared, and not seen: {}.", fmt::join(moves, ", "));
}

}  // namespace

std::string counter_phrase(std::string_view counter, double value) {
  Counter counted = counter_named(counter);
  counted.bytes_each = 0;
  return value_phrase(counted, value);
}

std::string change_phrase(const CounterChange& change) {
  const Counter counter = counter_named(change.counter);
  return fmt::format("{} {} instead of {}", value_or_none(counter, change.to, "no"), counter.phrase,
                     value_or_none(counter, change.from, "none"));
}

std::string text_of(const ExperimentResults& experiment, const Explanation& e) {
  std::vector<std::string> sentences{place_phrase(experiment, e.row) +
                                     (e.differs ? difference_sentence(e) : sameness_sentence(e))};
  if (!e.counted) {
    if (e.differs) sentences.emplace_back("Counters would say why: run --counters.");
  } else {
    sentences.push_back(bounds_sentence(e));
    if (e.differs) sentences.push_back(accounting_sentence(e));
    sentences.push_back(not_seen_sentence(e));
  }
  sentences.erase(std::remove(sentences.begin(), sentences.end(), ""), sentences.end());
  return fmt::format("{}", fmt::join(sentences, " "));
}

std::string summary_of(const std::vector<Explanation>& explanations) {
  const auto count = [&](auto is) {
    return std::count_if(explanations.begin(), explanations.end(), is);
  };
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
  add(explained(Confidence::none), "not explained");
  add(uncounted, "without counters");
  add(same, "without a difference");
  const std::size_t all = explanations.size();
  std::string text = fmt::format("{} {}", all, all == 1 ? "comparison" : "comparisons");
  return parts.empty() ? text : fmt::format("{}: {}", text, fmt::join(parts, ", "));
}

}  // namespace gpuexp
