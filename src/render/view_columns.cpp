#include "render/view_columns.hpp"

#include <algorithm>
#include <cmath>
#include <map>
#include <optional>

#include <fmt/format.h>

#include "base/text.hpp"
#include "record/flags.hpp"

namespace gpuexp {

namespace {

std::string footnote(char letter, const std::string& id) {
  const auto* flag = std::ranges::find_if(kFlags, [&](const Flag& f) { return f.id == id; });
  if (flag == kFlags.end()) return printable(fmt::format("{}  {}", letter, id));
  return fmt::format("{}  {}: {} ({})", letter, flag->id, flag->meaning, flag->remedy);
}

// Number of decimals that shows four significant digits of the shortest time, at most three.
int time_decimals(const std::vector<double>& times_us, const TimeUnit& unit) {
  constexpr int kDigits = 4;
  if (times_us.empty()) return 0;
  const double shortest = *std::ranges::min_element(times_us) / unit.us;
  if (!(shortest > 0)) return kDigits - 1;
  return std::clamp(kDigits - 1 - static_cast<int>(std::floor(std::log10(shortest))), 0,
                    kDigits - 1);
}

}  // namespace

void ViewColumns::add(const std::string& heading, bool is_number, const Cell& cell) {
  view_.columns.push_back({printable(heading), is_number});
  for (std::size_t i = 0; i < e_.rows.size(); ++i)
    view_.rows[i].cells.push_back(printable(cell(e_.rows[i])));
}

void ViewColumns::add_any(const std::string& heading, bool is_number, const Cell& cell) {
  const bool has_text =
      std::ranges::any_of(e_.rows, [&](const ResultRecord& row) { return !cell(row).empty(); });
  if (has_text) add(heading, is_number, cell);
}

std::vector<double> ViewColumns::numbers_of(const ColumnHandle& column) const {
  std::vector<double> numbers;
  for (const ResultRecord& row : e_.rows) {
    const auto number = column.number(row);
    if (row.has_values() && number) numbers.push_back(*number);
  }
  return numbers;
}

void ViewColumns::add_numbers(const ColumnHandle& column, const std::string& heading) {
  std::vector<std::optional<double>> numbers;
  for (const ResultRecord& row : e_.rows)
    numbers.push_back(row.has_values() ? column.number(row) : std::nullopt);
  if (std::ranges::none_of(numbers, [](const auto& n) { return n.has_value(); })) return;
  const std::vector<std::string> texts = number_texts(numbers);
  view_.columns.push_back({printable(heading), true});
  for (std::size_t i = 0; i < texts.size(); ++i)
    view_.rows[i].cells.push_back(texts[i]);
}

void ViewColumns::add_time_column(const std::string& heading, TimeUnits units,
                                  const Time& time_us) {
  if (units == TimeUnits::cells) {
    add(heading, true, [&](const ResultRecord& row) {
      const auto time = time_us(row);
      return time ? time_text(*time) : "";
    });
    return;
  }
  std::vector<double> known;
  for (const ResultRecord& row : e_.rows) {
    if (const auto time = time_us(row)) known.push_back(*time);
  }
  const TimeUnit unit = time_unit_for(known);
  const int decimals = time_decimals(known, unit);
  add(fmt::format("{} ({})", heading, unit.name), true, [&](const ResultRecord& row) {
    const auto time = time_us(row);
    return time ? fmt::format("{:.{}f}", *time / unit.us, decimals) : "";
  });
}

void ViewColumns::add_predicted_times(TimeUnits units) {
  add_time_column("predicted", units, [](const ResultRecord& row) {
    return row.has_values() ? row.predicted_time_us : std::nullopt;
  });
  const auto band_pct = [](const ResultRecord& row) {
    return row.has_values() ? row.predicted_band_pct : std::nullopt;
  };
  if (std::none_of(e_.rows.begin(), e_.rows.end(), band_pct)) return;
  add("band ± %", true, [&](const ResultRecord& row) {
    const auto pct = band_pct(row);
    return pct ? fmt::format("{:.0f}", *pct) : std::string();
  });
}

void ViewColumns::add_times(TimeUnits units) {
  const auto time_of = [](const ResultRecord& row) {
    return row.has_values() ? row.time_median_us : std::nullopt;
  };
  add_time_column("time", units, time_of);
  const auto relative = [&](const ResultRecord& row) -> std::optional<double> {
    const auto time = time_of(row);
    const auto half = row.half_interval_us();
    return time && half && *time > 0 ? std::optional(100 * *half / *time) : std::nullopt;
  };
  if (std::none_of(e_.rows.begin(), e_.rows.end(), relative)) return;
  add("± %", true, [&](const ResultRecord& row) {
    const auto percent = relative(row);
    if (!percent) return std::string();
    return *percent > 0 && *percent < 0.1 ? "<0.1" : fmt::format("{:.1f}", *percent);
  });
}

void ViewColumns::add_rates() {
  const auto limits = e_.values(&ResultRecord::limit_by);
  const bool by_dram = std::find(limits.begin(), limits.end(), "dram") != limits.end();
  const bool by_pipe = limits.size() > (by_dram ? 1U : 0U);
  const ColumnHandle tflops = column_of(&ResultRecord::tflops);
  const bool has_operations = !numbers_of(tflops).empty();
  if (by_pipe || (limits.empty() && has_operations)) add_rate(tflops, "TFLOP/s");
  if (by_dram || (limits.empty() && !has_operations))
    add_rate(column_of(&ResultRecord::useful_gb_per_s), "useful GB/s");
}

void ViewColumns::add_rate(const ColumnHandle& column, const std::string& heading) {
  const std::size_t before = view_.columns.size();
  add_numbers(column, heading);
  if (view_.columns.size() > before && view_.full_bar == 0) add_bar(column);
}

void ViewColumns::add_bar(const ColumnHandle& column) {
  view_.bar_after = view_.columns.size() - 1;
  view_.full_bar = 0;  // an earlier column's values have another unit
  for (std::size_t i = 0; i < e_.rows.size(); ++i) {
    const ResultRecord& row = e_.rows[i];
    view_.rows[i].bar = row.has_values() ? column.number(row).value_or(0) : 0;
    if (!row.is_above_limit()) view_.full_bar = std::max(view_.full_bar, view_.rows[i].bar);
  }
  for (ViewRow& row : view_.rows)
    row.bar = std::min(row.bar, view_.full_bar);
}

void ViewColumns::add_flags() {
  add_marks([](const std::string&) { return true; });
}

void ViewColumns::add_verification_flags() {
  add_marks(
      [](const std::string& flag) { return flag == kHiddenTerms.id || flag == kZerosPass.id; });
}

void ViewColumns::add_marks(const std::function<bool(const std::string& flag)>& shows) {
  std::map<std::string, char> letters;
  const auto marks = [&](const ResultRecord& row) {
    std::string text;
    if (!row.has_values()) return text;
    for (const std::string& flag : row.flags) {
      if (!shows(flag)) continue;
      const auto letter = static_cast<char>('a' + letters.size() % 26);
      const auto [found, added] = letters.emplace(flag, letter);
      if (added) view_.footnotes.push_back(footnote(found->second, flag));
      text += found->second;
    }
    return text;
  };
  if (std::ranges::none_of(e_.rows, [&](const ResultRecord& row) {
        return row.has_values() && std::ranges::any_of(row.flags, shows);
      }))
    return;
  add("", false, marks);
}

void ViewColumns::add_error() {
  constexpr double kWorthShowing = 10.0;
  const ColumnHandle error = column_of(&ResultRecord::error_rms_rel);
  const auto errors = numbers_of(error);
  if (errors.empty()) return;
  const auto [low, high] = std::ranges::minmax_element(errors);
  if (*high > kWorthShowing * *low) add_numbers(error, "rms error");
}

void ViewColumns::add_notes() {
  for (std::size_t i = 0; i < e_.rows.size(); ++i) {
    const ResultRecord& row = e_.rows[i];
    if (row.passed()) continue;
    std::string& status = view_.rows[i].status;
    status = row.status ? status_text(row) : "no status";
    view_.rows[i].note = printable(row.reason.empty() ? status : status + ": " + row.reason);
    view_.rows[i].keeps_numbers = row.has_values();
  }
}

}  // namespace gpuexp
