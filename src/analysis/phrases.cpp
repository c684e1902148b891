#include "analysis/phrases.hpp"

#include <algorithm>
#include <array>
#include <cmath>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "base/text.hpp"

namespace gpuexp {

namespace {

bool is_share(const std::string& metric) {
  constexpr std::string_view kSuffix = "_pct";
  return metric.size() > kSuffix.size() &&
         metric.compare(metric.size() - kSuffix.size(), kSuffix.size(), kSuffix) == 0;
}

std::string short_name(const std::string& column) {
  return column.substr(column.find('.') + 1);
}

}  // namespace

std::string number_phrase(double value) {
  constexpr int kDigits = 3;
  constexpr double kLargestCount = 1e9;
  const bool is_count = value == std::floor(value) && std::abs(value) < kLargestCount;
  return is_count ? fmt::format("{:.0f}", value) : significant(value, kDigits);
}

std::string percent_phrase(double value) {
  constexpr double kNearWhole = 99.0;
  return significant(value, value < kNearWhole ? 2 : 3);
}

std::string ratio_phrase(double ratio) {
  return number_phrase(ratio) + "×";
}

std::string ratio_phrase(const ResultRow& fast, const ResultRow& slow) {
  std::string value = ratio_phrase(*slow.time_us() / *fast.time_us());
  const auto ratio = ratio_of(fast, slow);
  if (!ratio) return value;
  const std::string low = number_phrase(ratio->ci95.low);
  const std::string high = number_phrase(ratio->ci95.high);
  return low == high ? value : fmt::format("{} ({} to {})", value, low, high);
}

std::string quantity_phrase(double value, std::string_view unit) {
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

std::string move_phrase(const Move& move) {
  const bool stays = move.direction == Direction::stays;
  return fmt::format("{} ({}{}×{}{})", name_of(move.direction), stays ? "within " : "", move.factor,
                     stays ? "" : " or more", move.where ? "; at some problems" : "");
}

std::string moves_phrase(const std::vector<Move>& moves) {
  std::vector<std::string> phrases;
  for (const Move& move : moves)
    phrases.push_back(fmt::format("{} {}", move.counter, move_phrase(move)));
  return fmt::format("{}", fmt::join(phrases, ", "));
}

std::string time_phrase(const ResultRow& row) {
  return time_text(row.time_us().value());
}

std::string place_phrase(const ExperimentResults& experiment, const ResultRow& row) {
  const std::string place = place_of(experiment, row);
  if (place.empty()) return "";
  if (place == row.text("mode")) return fmt::format("{}: ", place);
  return fmt::format("at {}, ", place);
}

std::string limit_phrase(const ResultRow& row, const char* verb) {
  constexpr double kWhole = 100.0;
  const auto share = row.number("limit_pct");
  if (!share || *share > kWhole || row.text("limit_by").empty()) return "";
  return fmt::format("{}{} % of the {} limit", verb, percent_phrase(*share), row.text("limit_by"));
}

std::string change_phrase(const ResultRow& from, const ResultRow& to,
                          const std::vector<std::string>& columns) {
  constexpr std::size_t kMost = 2;
  std::vector<std::string> parts;
  for (const std::string& column : columns) {
    const auto before = from.number(column);
    const auto after = to.number(column);
    if (!before || !after || number_phrase(*before) == number_phrase(*after)) continue;
    parts.push_back(fmt::format("{} {} → {}", short_name(column), number_phrase(*before),
                                number_phrase(*after)));
    if (parts.size() == kMost) break;
  }
  return fmt::format("{}", fmt::join(parts, ", "));
}

std::string share_phrase(const ExperimentResults& experiment, const std::vector<ResultRow>& rows,
                         const std::function<std::string(const ResultRow&)>& name) {
  for (const std::string& metric : experiment.metrics) {
    const auto value = [&](const ResultRow& row) { return row.number(metric); };
    if (!is_share(metric) || !std::all_of(rows.begin(), rows.end(), value)) continue;
    const auto [low, high] = std::minmax_element(
        rows.begin(), rows.end(),
        [&](const ResultRow& a, const ResultRow& b) { return *value(a) < *value(b); });
    if (low == high || *value(*low) == *value(*high)) continue;
    return fmt::format("; {} is {} with {} and {} with {}", short_name(metric),
                       number_phrase(*value(*low)), name(*low), number_phrase(*value(*high)),
                       name(*high));
  }
  return "";
}

}  // namespace gpuexp
