#include "report/reading.hpp"

#include <algorithm>
#include <cmath>
#include <map>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "report/text.hpp"

namespace gpuexp {

namespace {

constexpr int kDigits = 3;

std::string number(double value) {
  return significant(value, kDigits);
}

// Two digits, but 99.6 is not 100 and 104 is not 100 either.
std::string percent(double value) {
  constexpr double kNearWhole = 99.0;
  return significant(value, value < kNearWhole ? 2 : 3);
}

std::string times(double ratio) {
  return number(ratio) + "×";
}

std::string time_of(const ResultRow& row) {
  return time_text(*row.time_us());
}

// The vendor's library, which a hand-written kernel is held against.
bool is_vendor(const ResultRow& row) {
  return row.variant().rfind("cublas", 0) == 0;
}

// " and reaches 18 % of the fp32 limit"; nothing where the limit is unknown or cannot be one.
std::string limit_reached(const ResultRow& row, const char* verb) {
  constexpr double kWhole = 100.0;
  const auto share = row.number("limit_pct");
  if (!share || *share > kWhole || row.text("limit_by").empty()) return "";
  return fmt::format("{}{} % of the {} limit", verb, percent(*share), row.text("limit_by"));
}

std::string at(const ExperimentResults& e, const ResultRow& row) {
  const std::string place = place_of(e, row);
  return place.empty() ? "" : fmt::format("at {}, ", place);
}

// ---- variants against each other at one problem

struct Contest {
  std::vector<ResultRow> rows;  ///< timed rows of one group, fastest first
  std::optional<ResultRow> baseline;
};

std::vector<Contest> contests_of(const ExperimentResults& e) {
  std::vector<Contest> contests;
  std::map<std::string, std::size_t> positions;
  for (const ResultRow& row : e.rows) {
    if (!row.time_us()) continue;
    const auto [found, added] = positions.emplace(group_of(e, row), contests.size());
    if (added) contests.emplace_back();
    Contest& contest = contests[found->second];
    contest.rows.push_back(row);
    if (row.variant() == row.text("baseline")) contest.baseline = row;
  }
  for (Contest& contest : contests) {
    std::stable_sort(contest.rows.begin(), contest.rows.end(),
                     [](const auto& a, const auto& b) { return *a.time_us() < *b.time_us(); });
  }
  return contests;
}

double size_of(const Contest& contest) {
  const ResultRow& row = contest.rows.front();
  return row.number("operations").value_or(row.number("useful_bytes").value_or(0));
}

double spread_of(const Contest& contest) {
  return *contest.rows.back().time_us() / *contest.rows.front().time_us();
}

// The largest problem on which variants can be compared; of several as large, the one where they
// differ most.
std::optional<Contest> decisive_contest(const ExperimentResults& e) {
  std::optional<Contest> best;
  const bool has_baseline = !e.values("baseline").empty();
  for (Contest& contest : contests_of(e)) {
    if (contest.rows.size() < 2 || (has_baseline && !contest.baseline)) continue;
    const auto rank = [](const Contest& c) { return std::pair(size_of(c), spread_of(c)); };
    if (!best || rank(contest) > rank(*best)) best = std::move(contest);
  }
  return best;
}

std::string vendor_comparison(const Contest& contest) {
  const auto& rows = contest.rows;
  const auto vendor = std::find_if(rows.begin(), rows.end(), is_vendor);
  const auto own =
      std::find_if(rows.begin(), rows.end(), [](const ResultRow& r) { return !is_vendor(r); });
  if (vendor == rows.end() || own == rows.end()) return "";
  const std::string share = percent(100 * *vendor->time_us() / *own->time_us());
  if (own == rows.begin()) return fmt::format("; that is {} % of {}", share, vendor->variant());
  return fmt::format("; the best of the others, {}, reaches {} % of {}", own->variant(), share,
                     vendor->variant());
}

std::string against_baseline(const Contest& contest) {
  const ResultRow& baseline = *contest.baseline;
  const ResultRow& fastest = contest.rows.front();
  const ResultRow& slowest = contest.rows.back();
  const double baseline_us = *baseline.time_us();
  if (clearly_faster(fastest, baseline)) {
    return fmt::format("{} is {} as fast as {} ({} → {}){}{}", fastest.variant(),
                       times(baseline_us / *fastest.time_us()), baseline.variant(),
                       time_of(baseline), time_of(fastest), limit_reached(fastest, " and reaches "),
                       is_vendor(baseline) ? "" : vendor_comparison(contest));
  }
  if (clearly_faster(baseline, slowest)) {
    return fmt::format("no variant is faster than {} ({}); {} takes {} as long ({}){}",
                       baseline.variant(), time_of(baseline), slowest.variant(),
                       times(*slowest.time_us() / baseline_us), time_of(slowest),
                       vendor_comparison(contest));
  }
  return fmt::format("no variant differs from {} ({}) by more than the samples resolve",
                     baseline.variant(), time_of(baseline));
}

std::string between_variants(const Contest& contest) {
  const ResultRow& fastest = contest.rows.front();
  const ResultRow& slowest = contest.rows.back();
  if (!clearly_faster(fastest, slowest))
    return "the samples resolve no difference between the variants";
  return fmt::format("{} is fastest ({}{}), {} slowest ({}), {} apart{}", fastest.variant(),
                     time_of(fastest), limit_reached(fastest, ", "), slowest.variant(),
                     time_of(slowest), times(spread_of(contest)), vendor_comparison(contest));
}

std::string comparison(const ExperimentResults& e) {
  const auto contest = decisive_contest(e);
  if (!contest) return "";
  return at(e, contest->rows.front()) +
         (contest->baseline ? against_baseline(*contest) : between_variants(*contest));
}

// ---- a numeric parameter swept

using Series = std::vector<ResultRow>;

struct Rate {
  std::string column;
  std::string unit;
};

// The rate that every timed row has, in the unit of what limits.
std::optional<Rate> rate_of(const ExperimentResults& e) {
  const auto everywhere = [&](const char* column) {
    return std::all_of(e.rows.begin(), e.rows.end(), [&](const ResultRow& row) {
      return !row.time_us() || row.number(column).value_or(0) > 0;
    });
  };
  if (e.constant("limit_by") != "dram" && everywhere("tflops")) return Rate{"tflops", "TFLOP/s"};
  if (everywhere("useful_gb_per_s")) return Rate{"useful_gb_per_s", "GB/s"};
  return std::nullopt;
}

struct Sweep {
  const ResultAxis* axis;
  Rate rate;
  std::vector<Series> series;  ///< all but the axis alike, in the order of its values

  double rate_at(const ResultRow& row) const { return *row.number(rate.column); }
  // The rates at the ends of the interval of the median time.
  double lowest_rate_at(const ResultRow& row) const {
    return rate_at(row) * *row.time_us() / row.number("time_ci95_high_us").value_or(*row.time_us());
  }
  double highest_rate_at(const ResultRow& row) const {
    return rate_at(row) * *row.time_us() / row.number("time_ci95_low_us").value_or(*row.time_us());
  }
  std::string value_at(const ResultRow& row) const {
    return fmt::format("{} = {}", axis->label, row.text(axis->column));
  }
  std::string rate_text(const ResultRow& row) const {
    return fmt::format("{} {} ({})", number(rate_at(row)), rate.unit, value_at(row));
  }
};

const ResultAxis* swept_axis(const ExperimentResults& e) {
  const ResultAxis* longest = nullptr;
  std::size_t most = 2;  // three points make a sweep
  for (const ResultAxis& axis : e.axes) {
    const std::size_t count = axis.numeric ? e.values(axis.column).size() : 0;
    if (count <= most) continue;
    longest = &axis;
    most = count;
  }
  return longest;
}

std::optional<Sweep> sweep_of(const ExperimentResults& e) {
  const ResultAxis* axis = swept_axis(e);
  const auto rate = rate_of(e);
  if (!axis || !rate) return std::nullopt;
  std::map<std::string, Series> series;
  for (const ResultRow& row : e.rows) {
    if (!row.time_us() || !row.number(axis->column)) continue;
    std::string key = row.variant() + '\0' + row.text("mode");
    for (const ResultAxis& other : e.axes) {
      if (other.column != axis->column) key += '\0' + row.text(other.column);
    }
    series[key].push_back(row);
  }
  Sweep sweep{axis, *rate, {}};
  for (auto& [key, rows] : series) {
    std::stable_sort(rows.begin(), rows.end(), [&](const auto& a, const auto& b) {
      return *a.number(axis->column) < *b.number(axis->column);
    });
    if (rows.size() > 1) sweep.series.push_back(std::move(rows));
  }
  if (sweep.series.empty()) return std::nullopt;
  return sweep;
}

struct Step {
  const Series* series;
  const ResultRow* from;
  const ResultRow* to;
  double drop_pct;
};

// Where the rate falls most from one value to the next, by more than the samples leave open.
std::optional<Step> largest_drop(const Sweep& sweep) {
  constexpr double kWorthSayingPct = 5.0;
  constexpr double kTiePct = 0.1;  // of steps as large, the first
  std::optional<Step> largest;
  for (const Series& rows : sweep.series) {
    for (std::size_t i = 0; i + 1 < rows.size(); ++i) {
      const double drop_pct = 100 * (1 - sweep.rate_at(rows[i + 1]) / sweep.rate_at(rows[i]));
      if (drop_pct < std::max(kWorthSayingPct, largest ? largest->drop_pct + kTiePct : 0)) continue;
      if (sweep.highest_rate_at(rows[i + 1]) >= sweep.lowest_rate_at(rows[i])) continue;
      largest = Step{&rows, &rows[i], &rows[i + 1], drop_pct};
    }
  }
  return largest;
}

// "(waves 0.97 → 1.16, tiles 128 → 153)": what else differs between the two rows.
std::string what_changed(const ExperimentResults& e, const Step& step) {
  constexpr std::size_t kMost = 2;
  std::vector<std::string> columns{"waves"};
  columns.insert(columns.end(), e.metrics.begin(), e.metrics.end());
  std::vector<std::string> parts;
  for (const std::string& column : columns) {
    const auto before = step.from->number(column);
    const auto after = step.to->number(column);
    if (!before || !after || number(*before) == number(*after)) continue;
    const std::string name = column.substr(column.find('.') + 1);
    parts.push_back(fmt::format("{} {} → {}", name, number(*before), number(*after)));
    if (parts.size() == kMost) break;
  }
  return parts.empty() ? "" : fmt::format(" ({})", fmt::join(parts, ", "));
}

// The variant and other parameters of a series, where there are several series.
std::string series_name(const ExperimentResults& e, const Sweep& sweep, const ResultRow& row) {
  std::vector<std::string> parts;
  if (e.values("variant").size() > 1) parts.push_back(row.variant());
  for (const ResultAxis& axis : e.axes) {
    if (axis.varies && axis.column != sweep.axis->column)
      parts.push_back(fmt::format("{} = {}", axis.label, row.text(axis.column)));
  }
  if (e.values("mode").size() > 1) parts.push_back(row.text("mode"));
  return parts.empty() ? "" : fmt::format("{}: ", fmt::join(parts, ", "));
}

struct Extremes {
  const ResultRow* slowest;
  const ResultRow* fastest;
};

Extremes extremes_of(const Sweep& sweep, const Series& rows) {
  const auto [low, high] = std::minmax_element(
      rows.begin(), rows.end(),
      [&](const auto& a, const auto& b) { return sweep.rate_at(a) < sweep.rate_at(b); });
  return {&*low, &*high};
}

double ratio_of(const Sweep& sweep, const Extremes& x) {
  return sweep.rate_at(*x.fastest) / sweep.rate_at(*x.slowest);
}

// The series with the widest range speaks for a sweep without steps.
std::string range_reading(const ExperimentResults& e, const Sweep& sweep) {
  const auto widest = std::max_element(
      sweep.series.begin(), sweep.series.end(), [&](const Series& a, const Series& b) {
        return ratio_of(sweep, extremes_of(sweep, a)) < ratio_of(sweep, extremes_of(sweep, b));
      });
  const Extremes x = extremes_of(sweep, *widest);
  const std::string series = series_name(e, sweep, *x.slowest);
  constexpr double kWorthSaying = 1.02;
  const bool resolved = sweep.highest_rate_at(*x.slowest) < sweep.lowest_rate_at(*x.fastest);
  if (!resolved || ratio_of(sweep, x) < kWorthSaying)
    return fmt::format("{}throughput hardly depends on {}", series, sweep.axis->label);
  return fmt::format("{}throughput is between {} and {}", series, sweep.rate_text(*x.slowest),
                     sweep.rate_text(*x.fastest));
}

std::string sweep_reading(const ExperimentResults& e) {
  const auto sweep = sweep_of(e);
  if (!sweep) return "";
  const auto drop = largest_drop(*sweep);
  if (!drop) return range_reading(e, *sweep);
  const Extremes x = extremes_of(*sweep, *drop->series);
  return fmt::format("{}throughput drops {} % from {} to {}{}, the largest step between {} and {}",
                     series_name(e, *sweep, *drop->to), percent(drop->drop_pct),
                     sweep->value_at(*drop->from), drop->to->text(sweep->axis->column),
                     what_changed(e, *drop), sweep->rate_text(*x.slowest),
                     sweep->rate_text(*x.fastest));
}

// ---- one row

std::string single(const ExperimentResults& e) {
  const auto contests = contests_of(e);
  const auto largest =
      std::max_element(contests.begin(), contests.end(),
                       [](const auto& a, const auto& b) { return size_of(a) < size_of(b); });
  if (largest == contests.end()) return "";
  const ResultRow& row = largest->rows.front();
  return fmt::format("{}{} takes {}{}", at(e, row), row.variant(), time_of(row),
                     limit_reached(row, ", "));
}

// Begins with a capital, unless it begins with a name.
std::string sentence(const ExperimentResults& e, std::string text) {
  const auto names = e.values("variant");
  const bool begins_with_name = std::any_of(
      names.begin(), names.end(), [&](const std::string& n) { return text.rfind(n, 0) == 0; });
  if (!begins_with_name && text[0] >= 'a' && text[0] <= 'z')
    text[0] = static_cast<char>(text[0] - 'a' + 'A');
  return text + ".";
}

}  // namespace

std::string reading_of(const ExperimentResults& e) {
  const auto passed = std::count_if(e.rows.begin(), e.rows.end(),
                                    [](const ResultRow& row) { return row.passed(); });
  if (passed == 0) return "No row passed.";
  const ResultAxis* axis = swept_axis(e);
  // What has more values is what the experiment asks about.
  const bool is_sweep =
      axis && e.values(axis->column).size() > std::max<std::size_t>(4, e.values("variant").size());
  std::string text = is_sweep ? sweep_reading(e) : comparison(e);
  if (text.empty()) text = is_sweep ? comparison(e) : sweep_reading(e);
  if (text.empty()) text = single(e);
  return text.empty() ? "" : sentence(e, std::move(text));
}

}  // namespace gpuexp
