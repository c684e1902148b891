#include "render/explanation_text.hpp"

#include <algorithm>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "analysis/sentence_fragments.hpp"
#include "base/text.hpp"
#include "render/bound_text.hpp"
#include "render/cause_text.hpp"

namespace gpuexp {

namespace {

// Where the row stands now, where the results say it.
std::string now_fragment(const ResultRecord& row) {
  const auto measured_pct = row.measured_limit_pct;
  if (!measured_pct) return limit_fragment(row, "now at ");
  return fmt::format("now at {} % of the limit that this device was measured to allow",
                     percent_fragment(*measured_pct));
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
  if (!e.changes.empty()) text += ": " + changes_fragment(e.changes);
  if (const std::string now = now_fragment(e.row()); !now.empty())
    text += (e.changes.empty() ? ": " : "; ") + now;
  return text + ".";
}

std::string sameness_sentence(const Explanation& e) {
  std::string text =
      fmt::format("no difference between {} and {} ({} → {})", e.row().variant,
                  e.reference().variant, time_fragment(e.reference()), time_fragment(e.row()));
  if (!e.changes.empty()) return text + ", although " + changes_fragment(e.changes) + ".";
  std::vector<std::string> kept;
  for (const CounterChange& change : e.kept)
    kept.push_back(kept_fragment(change));
  if (!kept.empty()) text += fmt::format(": {} in both", fmt::join(kept, " and "));
  return text + ".";
}

// "Expected counter changes not seen: dram_read_bytes decreases."
std::string not_seen_sentence(const std::vector<ExpectedChange>& not_seen) {
  if (not_seen.empty()) return "";
  std::vector<std::string> changes;
  for (const ExpectedChange& expected : not_seen)
    changes.push_back(fmt::format("{} {}", expected.counter, name_of(expected.direction)));
  return fmt::format("Expected counter changes not seen: {}.", fmt::join(changes, ", "));
}

// " The predicted cost of tile is bank conflicts: …"; "" if they are not the cost.
std::string conflicts_sentence(const PredictedDifference& d) {
  if (!d.conflicts_pct) return "";
  const auto [slower, faster] = d.row_is_slower()
                                    ? std::pair(d.conflicts_pct->to, d.conflicts_pct->from)
                                    : std::pair(d.conflicts_pct->from, d.conflicts_pct->to);
  return fmt::format(
      " The predicted cost of {} is bank conflicts: they are {} % of its simulated wavefronts in "
      "L1's data stage, instead of {} %.",
      d.slower().variant, percent_fragment(slower), percent_fragment(faster));
}

}  // namespace

std::string text_of(const ExperimentResults& experiment, const Explanation& e) {
  std::vector<std::string> sentences{place_fragment(experiment, e.row()) +
                                     (e.differs ? difference_sentence(e) : sameness_sentence(e))};
  if (!e.counted) {
    if (e.differs) sentences.emplace_back("Counters would say why: run --counters.");
  } else {
    sentences.push_back(misfit_sentence(e));
    if (e.differs) sentences.push_back(accounting_sentence(e));
    sentences.push_back(launched_sentence(e));
    if (e.differs) sentences.push_back(clocks_sentence(e));
    sentences.push_back(l2_hits_sentence(e));
    sentences.push_back(bounds_sentence(e));
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
  std::vector<CounterChange> changes = d.changes;
  changes.insert(changes.end(), d.amounts.begin(), d.amounts.end());
  if (!changes.empty())
    text += fmt::format("{}{}", d.differs() ? ": " : ", although ", changes_fragment(changes));
  text += ".";
  const bool is_same_bound = d.row().bound_by == d.reference().bound_by;
  text += is_same_bound ? fmt::format(" The prediction has both bound by {}.", d.row().bound_by)
                        : fmt::format(" The prediction has {} bound by {}, {} by {}.", other,
                                      d.reference().bound_by, variant, d.row().bound_by);
  text += conflicts_sentence(d);
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
  const std::string text = counted(explanations.size(), "comparison");
  return parts.empty() ? text : fmt::format("{}: {}", text, fmt::join(parts, ", "));
}

}  // namespace gpuexp
