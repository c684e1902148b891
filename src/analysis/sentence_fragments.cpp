#include "analysis/sentence_fragments.hpp"

#include <algorithm>
#include <array>
#include <cmath>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "base/text.hpp"

namespace gpuexp {

namespace {

bool is_share(const ColumnHandle& metric) {
  return metric.name.ends_with("_pct");
}

}  // namespace

std::string number_fragment(double value) {
  constexpr int kDigits = 3;
  constexpr double kLargestCount = 1e9;
  const bool is_count = value == std::floor(value) && std::abs(value) < kLargestCount;
  return is_count ? fmt::format("{:.0f}", value) : significant(value, kDigits);
}

std::string percent_fragment(double value) {
  constexpr double kNearWhole = 99.0;
  return significant(value, value < kNearWhole ? 2 : 3);
}

std::string ratio_fragment(double ratio) {
  return number_fragment(ratio) + "×";
}

std::string ratio_fragment(const ResultRecord& fast, const ResultRecord& slow) {
  std::string value = ratio_fragment(*slow.time_us() / *fast.time_us());
  const auto ratio = ratio_of(fast, slow);
  if (!ratio) return value;
  const std::string low = number_fragment(ratio->ci95.low);
  const std::string high = number_fragment(ratio->ci95.high);
  return low == high ? value : fmt::format("{} ({} to {})", value, low, high);
}

std::string quantity_fragment(double value, std::string_view unit) {
  constexpr std::array<const char*, 6> kPrefixes{"", "k", "M", "G", "T", "P"};
  constexpr int kDigits = 3;
  constexpr double kStep = 1000.0;
  constexpr double kRoundsUp = 999.5;
  std::size_t prefix = 0;
  while (std::abs(value) >= kRoundsUp && prefix + 1 < kPrefixes.size()) {
    value /= kStep;
    ++prefix;
  }
  const std::string suffix = std::string(kPrefixes.at(prefix)) + std::string(unit);
  return significant(value, kDigits) + (suffix.empty() ? "" : " " + suffix);
}

std::string expected_change_fragment(const ExpectedChange& expected) {
  const bool is_unchanged = expected.direction == Direction::unchanged;
  return fmt::format("{} ({}{}×{}{})", name_of(expected.direction), is_unchanged ? "within " : "",
                     expected.factor, is_unchanged ? "" : " or more",
                     expected.where ? "; at some problems" : "");
}

std::string expected_changes_fragment(const std::vector<ExpectedChange>& changes) {
  std::vector<std::string> fragments;
  for (const ExpectedChange& expected : changes)
    fragments.push_back(fmt::format("{} {}", expected.counter, expected_change_fragment(expected)));
  return fmt::format("{}", fmt::join(fragments, ", "));
}

std::string time_fragment(const ResultRecord& row) {
  return time_text(row.time_us().value());
}

std::string place_fragment(const ExperimentResults& experiment, const ResultRecord& row) {
  const std::string place = place_of(experiment, row);
  if (place.empty()) return "";
  if (place == mode_text(row)) return fmt::format("{}: ", place);
  return fmt::format("at {}, ", place);
}

std::string limit_fragment(const ResultRecord& row, const char* lead) {
  constexpr double kWhole = 100.0;
  const auto share = row.limit_pct;
  if (!share || *share > kWhole || row.limit_by.empty()) return "";
  return fmt::format("{}{} % of the {} limit", lead, percent_fragment(*share), row.limit_by);
}

std::string change_fragment(const ResultRecord& from, const ResultRecord& to,
                            const std::vector<ColumnHandle>& columns) {
  constexpr std::size_t kMaxShown = 2;
  std::vector<std::string> parts;
  for (const ColumnHandle& column : columns) {
    const auto before = column.number(from);
    const auto after = column.number(to);
    if (!before || !after || number_fragment(*before) == number_fragment(*after)) continue;
    parts.push_back(
        fmt::format("{} {} → {}", column.name, number_fragment(*before), number_fragment(*after)));
    if (parts.size() == kMaxShown) break;
  }
  return fmt::format("{}", fmt::join(parts, ", "));
}

std::string share_fragment(const ExperimentResults& experiment, const std::vector<RecordRef>& rows,
                           const std::function<std::string(const ResultRecord&)>& name) {
  for (const ColumnHandle& metric : experiment.metrics) {
    const auto value = [&](const ResultRecord& row) { return metric.number(row); };
    if (!is_share(metric) || !std::all_of(rows.begin(), rows.end(), value)) continue;
    const auto [low, high] = std::ranges::minmax_element(rows, {}, value);
    if (low == high || *value(*low) == *value(*high)) continue;
    return fmt::format("; {} is {} with {} and {} with {}", metric.name,
                       number_fragment(*value(*low)), name(*low), number_fragment(*value(*high)),
                       name(*high));
  }
  return "";
}

}  // namespace gpuexp
