#include <algorithm>
#include <map>
#include <optional>

#include <fmt/format.h>

#include "analysis/headline.hpp"
#include "analysis/sentence_fragments.hpp"
#include "results/reference_rows.hpp"

namespace gpuexp {

namespace {

struct Contest {
  /// Timed rows of one group that are not above their limit, fastest first.
  std::vector<RecordRef> rows;
  const ResultRecord* baseline = nullptr;
};

bool takes_part(const ResultRecord& row) {
  return row.time_us() && !row.is_above_limit();
}

void add(const ResultRecord& row, Contest& contest) {
  contest.rows.emplace_back(row);
  if (row.variant == row.baseline) contest.baseline = &row;
}

// Adds the rows of variants that do not depend on all parameters.
void add_rows_of_all_groups(const ExperimentResults& e, const ReferenceRows& rows,
                            Contest& contest) {
  for (const std::string& variant : e.values(&ResultRecord::variant)) {
    const bool is_there = std::ranges::any_of(
        contest.rows, [&](const ResultRecord& row) { return row.variant == variant; });
    const ResultRecord* const row = is_there ? nullptr : rows.find(variant, contest.rows.front());
    if (row) add(*row, contest);
  }
}

std::vector<Contest> contests_of(const ExperimentResults& e) {
  std::vector<Contest> contests;
  std::map<std::string, std::size_t> positions;
  for (const ResultRecord& row : e.rows) {
    if (!takes_part(row)) continue;
    const auto [found, added] = positions.emplace(group_of(e, row), contests.size());
    if (added) contests.emplace_back();
    add(row, contests[found->second]);
  }
  const ReferenceRows rows(e, takes_part);
  for (Contest& contest : contests) {
    add_rows_of_all_groups(e, rows, contest);
    std::ranges::stable_sort(contest.rows, {}, &ResultRecord::time_us);
  }
  return contests;
}

double size_of(const Contest& contest) {
  const ResultRecord& row = contest.rows.front();
  return row.operations.value_or(row.useful_bytes.value_or(0));
}

double spread_of(const Contest& contest) {
  const ResultRecord& fastest = contest.rows.front();
  const ResultRecord& slowest = contest.rows.back();
  return *slowest.time_us() / *fastest.time_us();
}

// The largest problem at which variants can be compared; among equally large problems, the one with
// the largest ratio of times.
std::optional<Contest> decisive_contest(const ExperimentResults& e) {
  std::optional<Contest> best;
  const bool has_baseline = !e.values(&ResultRecord::baseline).empty();
  for (Contest& contest : contests_of(e)) {
    if (contest.rows.size() < 2 || (has_baseline && !contest.baseline)) continue;
    const auto rank = [](const Contest& c) { return std::pair(size_of(c), spread_of(c)); };
    if (!best || rank(contest) > rank(*best)) best = std::move(contest);
  }
  return best;
}

std::string vendor_comparison(const Contest& contest) {
  const auto& rows = contest.rows;
  const auto is_vendor = [](const ResultRecord& row) { return row.is_vendor(); };
  const auto vendor = std::ranges::find_if(rows, is_vendor);
  const auto own = std::ranges::find_if_not(rows, is_vendor);
  if (vendor == rows.end() || own == rows.end()) return "";
  const ResultRecord& of_vendor = *vendor;
  const ResultRecord& best = *own;
  const std::string share = percent_fragment(100 * *of_vendor.time_us() / *best.time_us());
  if (own == rows.begin()) return fmt::format("; that is {} % of {}", share, of_vendor.variant);
  return fmt::format("; the best of the others, {}, reaches {} % of {}", best.variant, share,
                     of_vendor.variant);
}

// At most two metrics that differ between the two variants; the error first, if it differs by a
// factor above 10.
std::string price_of(const ExperimentResults& e, const ResultRecord& from, const ResultRecord& to) {
  constexpr double kAnotherOrder = 10.0;
  std::vector<ColumnHandle> columns = e.metrics;
  const auto before = from.error_rms_rel;
  const auto after = to.error_rms_rel;
  if (before && after && std::max(*before, *after) > kAnotherOrder * std::min(*before, *after))
    columns.insert(columns.begin(), column_of(&ResultRecord::error_rms_rel));
  const std::string change = change_fragment(from, to, columns);
  return change.empty() ? "" : "; " + change;
}

// The headline if no variant is clearly faster than the baseline, and at least one is slower.
std::string below_baseline(const ExperimentResults& e, const Contest& contest) {
  const ResultRecord& baseline = *contest.baseline;
  const ResultRecord& slowest = contest.rows.back();
  const ResultRecord& best = *std::ranges::find_if(
      contest.rows, [&](const ResultRecord& row) { return &row != &baseline; });
  std::string text =
      clearly_faster(baseline, best)
          ? fmt::format("{} reaches {} % of the speed of {} ({} against {}{})", best.variant,
                        percent_fragment(100 * *baseline.time_us() / *best.time_us()),
                        baseline.variant, time_fragment(best), time_fragment(baseline),
                        price_of(e, baseline, best))
          : fmt::format("{} is as fast as {} ({})", best.variant, baseline.variant,
                        time_fragment(baseline));
  if (&best != &slowest)
    text += fmt::format("; the slowest, {}, takes {} as long ({}{})", slowest.variant,
                        ratio_fragment(baseline, slowest), time_fragment(slowest),
                        price_of(e, baseline, slowest));
  return text + (contest.rows.size() > 2 ? vendor_comparison(contest) : "");
}

std::string against_baseline(const ExperimentResults& e, const Contest& contest) {
  const ResultRecord& baseline = *contest.baseline;
  const ResultRecord& fastest = contest.rows.front();
  const ResultRecord& slowest = contest.rows.back();
  if (clearly_faster(fastest, baseline)) {
    return fmt::format("{} is {} as fast as {} ({} → {}{}){}{}", fastest.variant,
                       ratio_fragment(fastest, baseline), baseline.variant, time_fragment(baseline),
                       time_fragment(fastest), price_of(e, baseline, fastest),
                       limit_fragment(fastest, " and reaches "),
                       baseline.is_vendor() ? "" : vendor_comparison(contest));
  }
  if (clearly_faster(baseline, slowest)) return below_baseline(e, contest);
  return fmt::format("no variant differs from {} ({}) by more than the samples resolve{}",
                     baseline.variant, time_fragment(baseline),
                     share_fragment(e, contest.rows, &ResultRecord::variant));
}

std::string between_variants(const Contest& contest) {
  const ResultRecord& fastest = contest.rows.front();
  const ResultRecord& slowest = contest.rows.back();
  if (!clearly_faster(fastest, slowest))
    return "the samples resolve no difference between the variants";
  return fmt::format("{} is fastest ({}{}), {} slowest ({}), {} apart{}", fastest.variant,
                     time_fragment(fastest), limit_fragment(fastest, ", "), slowest.variant,
                     time_fragment(slowest), ratio_fragment(fastest, slowest),
                     vendor_comparison(contest));
}

}  // namespace

std::string comparison_headline(const ExperimentResults& e) {
  const auto contest = decisive_contest(e);
  if (!contest) return "";
  return place_fragment(e, contest->rows.front()) +
         (contest->baseline ? against_baseline(e, *contest) : between_variants(*contest));
}

std::string single_headline(const ExperimentResults& e) {
  const auto contests = contests_of(e);
  const auto largest =
      std::ranges::max_element(contests, {}, [](const Contest& c) { return size_of(c); });
  if (largest == contests.end()) return "";
  const ResultRecord& row = largest->rows.front();
  return fmt::format("{}{} takes {}{}", place_fragment(e, row), row.variant, time_fragment(row),
                     limit_fragment(row, ", "));
}

}  // namespace gpuexp
