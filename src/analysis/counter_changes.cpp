#include "analysis/counter_changes.hpp"

#include <algorithm>
#include <cmath>

namespace gpuexp {

namespace {

// Counters that increase with the resource's time; active lanes decrease instead.
std::vector<std::string_view> amounts_of(Resource resource, bool copies_are_counted) {
  switch (resource) {
    case Resource::dram:
      return {"global_load_sectors_per_request", "global_store_sectors_per_request",
              "dram_read_bytes", "dram_write_bytes"};
    case Resource::l2:
      return {"global_load_sectors_per_request", "global_store_sectors_per_request", "l2_sectors"};
    case Resource::l1_data:
      if (!copies_are_counted) return {"shared_load_wavefronts"};
      return {"global_load_sectors_per_request", "global_load_sectors", "shared_load_wavefronts",
              "shared_store_wavefronts",         kBankConflicts,        "l1_data_wavefronts"};
    case Resource::l1_tags: return {"global_load_requests", "l1_tag_wavefronts"};
    case Resource::issue:
      return {kActiveLanes,       "branch_instructions", "alu_instructions",
              "lsu_instructions", "fma_instructions",    "warp_instructions"};
    case Resource::fma: return {kActiveLanes, "fma_instructions"};
    case Resource::alu: return {kActiveLanes, "alu_instructions"};
    case Resource::fp64: return {kActiveLanes, "fp64_instructions"};
    case Resource::xu: return {kActiveLanes, "xu_instructions"};
    case Resource::operations:
    case Resource::blocks: return {};
  }
  return {};
}

// The counters of `amounts` that are reported even if no change of them is declared.
std::vector<std::string_view> totals_of(const std::vector<std::string_view>& amounts) {
  if (amounts.empty()) return {};
  if (amounts.front() == kActiveLanes) return {kActiveLanes, amounts.back()};
  if (amounts.back() == "l1_data_wavefronts") return {kBankConflicts, amounts.back()};
  if (amounts.back() == "dram_write_bytes") return {"dram_read_bytes", amounts.back()};
  return {amounts.back()};
}

class Changes {
 public:
  explicit Changes(Explanation& explanation) : e_(explanation) {}

  void sort_declared() {
    for (const ExpectedChange& expected : e_.row().expected_changes) {
      const auto change = change_of(expected.counter);
      if (!change) continue;
      if (!matches_expectation(expected, change->from, change->to)) {
        e_.not_seen.push_back(expected);
      } else if (expected.counter == kTimeColumn) {
        continue;  // the time is what is explained
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
    for (const std::string_view amount : totals_of(causing())) {
      const auto change = change_of(amount);
      if (change && is_cause(*change) && is_much(*change) && !is_named(amount))
        e_.changes.push_back(*change);
    }
  }

  void add_l2_hits() {
    const auto hits = change_of("l2_hit_pct");
    const auto sectors = change_of("l2_sectors");
    const auto read = change_of("dram_read_bytes");
    if (e_.differs && hits && sectors && read && is_loss_in_l2(*hits, *sectors, *read))
      e_.l2_hits = *hits;
  }

 private:
  // True if the slower variant reads more from DRAM, because its L2 hit rate is lower at equal
  // sectors.
  bool is_loss_in_l2(const CounterChange& hits, const CounterChange& sectors,
                     const CounterChange& read) const {
    constexpr double kMinPct = 1;  // in percentage points
    const double lost_pct = e_.row_is_slower() ? hits.from - hits.to : hits.to - hits.from;
    return lost_pct >= kMinPct && is_cause(read) && sectors.to > 0 && sectors.from > 0 &&
           factor_between(sectors.from, sectors.to) <= kUnchangedFactor;
  }

  // Counters that belong to the cause, if it is atomics or the amounts on one resource; the counter
  // of the resource's work is last.
  std::vector<std::string_view> causing() const {
    if (e_.cause == Cause::atomics)
      return {"global_atomic_requests", "global_reduction_requests", "l2_atomic_sectors",
              "l2_reduction_sectors", "l2_atomic_cycles"};
    const bool is_of_amounts = e_.cause == Cause::amounts || e_.cause == Cause::idle_sms;
    return is_of_amounts && e_.resources.size() == 1
               ? amounts_of(e_.resources.front(), copies_are_counted())
               : std::vector<std::string_view>();
  }

  bool copies_are_counted() const {
    return !has_uncounted_copies(e_.reference()) && !has_uncounted_copies(e_.row());
  }

  std::optional<CounterChange> change_of(std::string_view counter) const {
    const auto from = count_of(e_.reference(), counter);
    const auto to = count_of(e_.row(), counter);
    if (!from || !to) return std::nullopt;
    return CounterChange{std::string(counter), *from, *to};
  }

  bool is_cause(const CounterChange& change) const {
    return is_more_in_slower(change, e_.row_is_slower());
  }

  void add_declared(const CounterChange& change) {
    if (!e_.differs) {
      e_.changes.push_back(change);
      return;
    }
    const auto amounts = causing();
    const bool belongs = std::find(amounts.begin(), amounts.end(), change.counter) != amounts.end();
    (belongs && is_cause(change) ? e_.changes : e_.others).push_back(change);
  }

  bool is_named(std::string_view counter) const {
    return std::ranges::any_of(e_.changes,
                               [&](const CounterChange& c) { return c.counter == counter; });
  }

  // False for less than 5 % of the changed bytes of DRAM, and for bank conflicts that are less than
  // 5 % of the changed L1 data-stage wavefronts.
  bool is_much(const CounterChange& change) const {
    constexpr double kMuch = 0.05;
    const bool is_dram = change.counter.starts_with("dram_");
    if (!is_dram && change.counter != kBankConflicts) return true;
    const double all = is_dram ? changed_by("dram_read_bytes") + changed_by("dram_write_bytes")
                               : changed_by("l1_data_wavefronts");
    return std::abs(change.to - change.from) >= kMuch * all;
  }

  double changed_by(std::string_view counter) const {
    const auto change = change_of(counter);
    return change ? std::abs(change->to - change->from) : 0;
  }

  Explanation& e_;
};

}  // namespace

bool is_more_in_slower(const CounterChange& change, bool row_is_slower) {
  const double slower = row_is_slower ? change.to : change.from;
  const double faster = row_is_slower ? change.from : change.to;
  return change.counter == kActiveLanes ? faster > kUnchangedFactor * slower
                                        : slower > kUnchangedFactor * faster;
}

void add_changes(Explanation& explanation) {
  Changes changes(explanation);
  changes.sort_declared();
  changes.add_totals();
  changes.add_l2_hits();
}

}  // namespace gpuexp
