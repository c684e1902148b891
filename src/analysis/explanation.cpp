#include "analysis/explanation.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <map>

#include "family/counters.hpp"
#include "record/columns.hpp"
#include "record/counter_columns.hpp"

namespace gpuexp {

namespace {

constexpr double kLeastFactor = 1.02;  // repeated runs of one binary differ by less
constexpr double kHighFactor = 1.15;   // between the two factors
constexpr double kMediumFactor = 1.5;  // likewise
constexpr double kLeastShare = 0.5;    // of the difference, on a logarithmic scale
constexpr double kMostShare = 2.0;     // likewise

// Cycles in which an SM had a warp, over all SMs: each of its schedulers counted its own.
std::optional<double> sm_cycles_of(const ResultRow& row) {
  constexpr double kSchedulersPerSm = 4;  // since Volta
  const auto instructions = count_of(row, "warp_instructions");
  const auto issue_pct = count_of(row, "issue_active_pct");
  if (!instructions || !issue_pct || *issue_pct <= 0) return std::nullopt;
  return *instructions / (*issue_pct / 100) / kSchedulersPerSm;
}

std::optional<double> dram_pct_of(const ResultRow& row, std::optional<double> bytes_per_s) {
  const auto read = count_of(row, "dram_read_bytes");
  const auto written = count_of(row, "dram_write_bytes");
  const auto time_us = row.time_us();
  if (!read || !written || !time_us || !bytes_per_s || *bytes_per_s <= 0) return std::nullopt;
  return 100 * (*read + *written) / (*time_us * 1e-6 * *bytes_per_s);
}

// Of a stage of L1 that takes one of these per cycle.
std::optional<double> l1_pct_of(const ResultRow& row, std::string_view counter) {
  const auto turns = count_of(row, counter);
  const auto cycles = sm_cycles_of(row);
  if (!turns || !cycles || *cycles <= 0) return std::nullopt;
  return 100 * *turns / *cycles;
}

std::optional<Busy> busiest_of(const ResultRow& row, std::optional<double> dram_bytes_per_s) {
  const auto busy = busy_of(row, dram_bytes_per_s);
  const auto busiest = std::max_element(busy.begin(), busy.end(), [](const Busy& a, const Busy& b) {
    return a.share_pct < b.share_pct;
  });
  return busiest == busy.end() ? std::nullopt : std::optional(*busiest);
}

// Without the counters of each of these groups a resource might be the busiest and not be seen.
bool says_what_binds(const ResultRow& row, std::optional<double> dram_bytes_per_s) {
  return dram_pct_of(row, dram_bytes_per_s) && l1_pct_of(row, "l1_wavefronts") &&
         count_of(row, "tensor_active_pct");
}

// ---- which counters tell the story

// What the resource is busy with.
std::vector<std::string_view> amounts_of(Resource resource) {
  switch (resource) {
    case Resource::dram: return {"dram_read_bytes", "dram_write_bytes"};
    case Resource::l1: return {"l1_wavefronts"};
    case Resource::l1_tags: return {"l1_tag_turns"};
    case Resource::issue: return {"warp_instructions"};
    case Resource::tensor: return {"tensor_instructions"};
    case Resource::arithmetic: return {};
  }
  return {};
}

// Amounts whose change is a story by itself; shares of cycles and what warps waited for follow from
// the time.
constexpr std::array<std::string_view, 12> kTellingAmounts{
    "dram_read_bytes",         "dram_write_bytes",    "l2_sectors",
    "global_load_requests",    "global_load_sectors", "global_load_sectors_per_request",
    "l1_wavefronts",           "l1_tag_turns",        "shared_load_wavefronts",
    "shared_store_wavefronts", "warp_instructions",   "lsu_instructions"};

double log_ratio(const CounterChange& change) {
  if (change.from == change.to) return 0;
  if (change.from <= 0 || change.to <= 0) return std::numeric_limits<double>::infinity();
  return std::abs(std::log(change.to / change.from));
}

class Story {
 public:
  explicit Story(Explanation& explanation) : e_(explanation) {}

  void add_declared() {
    for (const Move& move : moves_in(e_.row.text(kMovesColumn))) {
      const auto change = change_of(move.counter);
      if (!change) continue;
      if (!happened(move, change->from, change->to)) {
        e_.not_seen.push_back(move);
      } else if (move.direction == Direction::stays) {
        e_.kept.push_back(*change);
      } else {
        e_.changes.push_back(*change);
      }
    }
  }

  void add_of_busiest() {
    for (const auto& busiest : {e_.reference_busiest, e_.busiest}) {
      if (!busiest) continue;
      for (const std::string_view amount : amounts_of(busiest->resource)) {
        if (busiest->resource != Resource::dram || is_much_of_dram(amount)) add_moved(amount);
      }
    }
  }

  // SMs without a block take part in nothing.
  void add_idle_sms() {
    constexpr double kManySms = 1.15;
    const auto change = change_of("sm_active_pct");
    if (change && log_ratio(*change) > std::log(kManySms)) add_moved(change->counter);
  }

  void add_largest() {
    std::vector<CounterChange> moved;
    for (const std::string_view amount : kTellingAmounts) {
      const auto change = change_of(amount);
      if (change && is_worth_naming(*change)) moved.push_back(*change);
    }
    std::stable_sort(
        moved.begin(), moved.end(),
        [](const CounterChange& a, const CounterChange& b) { return log_ratio(a) > log_ratio(b); });
    for (const CounterChange& change : moved)
      add_moved(change.counter);
  }

 private:
  static constexpr std::size_t kMost = 4;

  std::optional<CounterChange> change_of(std::string_view counter) const {
    const auto from = count_of(e_.reference, counter);
    const auto to = count_of(e_.row, counter);
    if (!from || !to) return std::nullopt;
    return CounterChange{std::string(counter), *from, *to};
  }

  bool is_much_of_dram(std::string_view amount) const {
    constexpr double kMuch = 0.05;
    const auto change = change_of(amount);
    const auto read = change_of("dram_read_bytes");
    const auto written = change_of("dram_write_bytes");
    return change && read && written &&
           (change->from >= kMuch * (read->from + written->from) ||
            change->to >= kMuch * (read->to + written->to));
  }

  // A few of them among millions of instructions are no cause of anything.
  bool is_worth_naming(const CounterChange& change) const {
    constexpr double kLeastPerInstruction = 1e-3;
    if (change.counter == "global_load_sectors_per_request") return true;
    const auto from = count_of(e_.reference, "warp_instructions");
    const auto to = count_of(e_.row, "warp_instructions");
    if (!from || !to) return true;
    return std::max(change.from, change.to) >= kLeastPerInstruction * std::max(*from, *to);
  }

  void add_moved(std::string_view counter) {
    const auto named = [&](const CounterChange& c) { return c.counter == counter; };
    if (e_.changes.size() >= kMost || std::any_of(e_.changes.begin(), e_.changes.end(), named))
      return;
    const auto change = change_of(counter);
    if (change && log_ratio(*change) > std::log(kMoveFactor)) e_.changes.push_back(*change);
  }

  Explanation& e_;
};

// ---- how much they account for

Confidence confidence_in(double accounted, double measured, double slower_busy_pct) {
  const double log_accounted = std::log(accounted);
  const double log_measured = std::log(measured);
  const double apart = std::exp(std::abs(log_accounted - log_measured));
  const double share = log_accounted / log_measured;
  const bool explains = share >= kLeastShare && share <= kMostShare && slower_busy_pct >= kBoundPct;
  if (!explains) return Confidence::none;
  if (apart <= kHighFactor) return Confidence::high;
  return apart <= kMediumFactor ? Confidence::medium : Confidence::none;
}

void account(Explanation& e, std::optional<double> dram_bytes_per_s) {
  if (!says_what_binds(e.reference, dram_bytes_per_s) || !says_what_binds(e.row, dram_bytes_per_s))
    return;
  e.reference_busiest = busiest_of(e.reference, dram_bytes_per_s);
  e.busiest = busiest_of(e.row, dram_bytes_per_s);
  if (e.busiest->share_pct <= 0 || e.reference_busiest->share_pct <= 0) return;
  e.accounted = e.factor * e.reference_busiest->share_pct / e.busiest->share_pct;
  if (!e.differs) return;
  const Busy& slower = e.factor > 1 ? *e.reference_busiest : *e.busiest;
  e.confidence = confidence_in(*e.accounted, e.factor, slower.share_pct);
}

std::optional<double> predicted_factor(const ResultRow& reference, const ResultRow& row) {
  const auto from_us = reference.number("predicted_time_us");
  const auto to_us = row.number("predicted_time_us");
  if (!from_us || !to_us || *from_us <= 0 || *to_us <= 0) return std::nullopt;
  return *from_us / *to_us;
}

double slower_time_us(const Explanation& e) {
  return std::max(*e.reference.time_us(), *e.row.time_us());
}

// Of each variant the problem that takes longest; of several within the noise, the first.
std::vector<Explanation> longest_of(std::vector<Explanation> all) {
  constexpr double kClearlyLonger = 1.005;
  std::vector<Explanation> longest;
  for (Explanation& e : all) {
    const auto same = std::find_if(longest.begin(), longest.end(), [&](const Explanation& other) {
      return other.row.variant() == e.row.variant();
    });
    if (same == longest.end()) {
      longest.push_back(std::move(e));
    } else if (slower_time_us(e) > kClearlyLonger * slower_time_us(*same)) {
      *same = std::move(e);
    }
  }
  return longest;
}

}  // namespace

std::optional<double> count_of(const ResultRow& row, std::string_view counter) {
  return row.number(kCounterPrefix + std::string(counter));
}

bool is_counted(const ResultRow& row) {
  return std::any_of(kCounters.begin(), kCounters.end(),
                     [&](const Counter& c) { return count_of(row, c.id).has_value(); });
}

std::string_view name_of(Resource resource) {
  switch (resource) {
    case Resource::dram: return "dram";
    case Resource::l1: return "l1";
    case Resource::l1_tags: return "l1_tags";
    case Resource::issue: return "issue";
    case Resource::tensor: return "tensor";
    case Resource::arithmetic: return "arithmetic";
  }
  return "";
}

std::string_view name_of(Confidence confidence) {
  switch (confidence) {
    case Confidence::none: return "none";
    case Confidence::medium: return "medium";
    case Confidence::high: return "high";
  }
  return "";
}

std::vector<Busy> busy_of(const ResultRow& row, std::optional<double> dram_bytes_per_s) {
  std::vector<Busy> busy;
  const auto add = [&](Resource resource, const std::optional<double>& share_pct) {
    if (share_pct) busy.push_back({resource, *share_pct});
  };
  add(Resource::dram, dram_pct_of(row, dram_bytes_per_s));
  add(Resource::l1, l1_pct_of(row, "l1_wavefronts"));
  add(Resource::l1_tags, l1_pct_of(row, "l1_tag_turns"));
  add(Resource::issue, count_of(row, "issue_active_pct"));
  add(Resource::tensor, count_of(row, "tensor_active_pct"));
  add(Resource::arithmetic, row.number("compute_limit_pct"));
  return busy;
}

Explanation explain(const ResultRow& reference, const ResultRow& row,
                    std::optional<double> dram_bytes_per_s) {
  Explanation e{reference,
                row,
                *reference.time_us() / *row.time_us(),
                ratio_of(row, reference),
                false,
                false,
                {},
                {},
                {},
                {},
                {},
                {},
                predicted_factor(reference, row)};
  e.differs = (clearly_faster(row, reference) || clearly_faster(reference, row)) &&
              std::max(e.factor, 1 / e.factor) >= kLeastFactor;
  e.counted = is_counted(reference) && is_counted(row);
  if (!e.counted) return e;
  account(e, dram_bytes_per_s);
  Story story(e);
  story.add_declared();
  const bool has_declared = !e.changes.empty() || !e.kept.empty();
  if (e.differs) {
    story.add_of_busiest();
    story.add_idle_sms();
  }
  if (e.differs && !has_declared) story.add_largest();
  return e;
}

std::vector<Explanation> explanations_of(const ExperimentResults& experiment,
                                         const ExplanationOptions& options) {
  const auto key = [&](const std::string& variant, const ResultRow& row) {
    return variant + '\0' + row.text("family") + '\0' + group_of(experiment, row);
  };
  std::map<std::string, ResultRow> timed;
  for (const ResultRow& row : experiment.rows) {
    if (row.time_us() && !row.is_above_limit()) timed.emplace(key(row.variant(), row), row);
  }
  std::vector<Explanation> explanations;
  for (const ResultRow& row : experiment.rows) {
    const std::string compare_to = row.text(kCompareToColumn);
    if (compare_to.empty() || !row.time_us() || row.is_above_limit()) continue;
    const auto reference = timed.find(key(compare_to, row));
    if (reference == timed.end()) continue;
    explanations.push_back(explain(reference->second, row, options.dram_bytes_per_s));
  }
  return options.all_problems ? explanations : longest_of(std::move(explanations));
}

}  // namespace gpuexp
