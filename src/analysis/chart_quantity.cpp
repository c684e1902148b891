#include "analysis/chart_quantity.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <map>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "base/time_unit.hpp"
#include "family/family.hpp"

namespace gpuexp {

namespace {

enum class Shows { rate, time, speedup, relative_time, step_cycles };

// Kinds of figures that show something else than the rate that limits.
struct KindShows {
  std::string_view kind;
  Shows shows;
};
constexpr std::array kKindShows{KindShows{"kept_sets", Shows::time},
                                KindShows{"per_item", Shows::time},
                                KindShows{"relative_times", Shows::relative_time},
                                KindShows{"row_pitch", Shows::time},
                                KindShows{"share_of_copy", Shows::speedup},
                                KindShows{"swept_times", Shows::time},
                                KindShows{"time_against_memory", Shows::time},
                                KindShows{"timelines", Shows::time},
                                KindShows{"times_by_type", Shows::time},
                                KindShows{"vocab_padding", Shows::time},
                                KindShows{"working_sets", Shows::step_cycles}};

Shows shown_by(std::string_view kind) {
  const auto found = std::find_if(kKindShows.begin(), kKindShows.end(),
                                  [&](const KindShows& k) { return k.kind == kind; });
  return found == kKindShows.end() ? Shows::rate : found->shows;
}

using RateMember = std::optional<double> ResultRecord::*;

// A rate is an amount over the time: the ends of its interval are at those of the time's.
ChartQuantity rate_quantity(const std::string& label, RateMember rate) {
  return {label, [rate](const ResultRecord& row) -> std::optional<Estimate> {
            const auto time = row.time_us();
            if (!time || !(row.*rate) || row.is_above_limit()) return std::nullopt;
            Estimate shown{*(row.*rate), {}, {}};
            if (row.time_ci95_low_us && row.time_ci95_high_us && *row.time_ci95_low_us > 0) {
              shown.low = shown.value * *time / *row.time_ci95_high_us;
              shown.high = shown.value * *time / *row.time_ci95_low_us;
            }
            return shown;
          }};
}

ChartQuantity time_quantity(const ExperimentResults& e) {
  std::vector<double> times;
  for (const ResultRecord& row : e.rows) {
    if (const auto time = row.time_us()) times.push_back(*time);
  }
  const TimeUnit unit = time_unit_for(times);
  return {fmt::format("time ({})", unit.name),
          [unit](const ResultRecord& row) -> std::optional<Estimate> {
            const auto time = row.time_us();
            if (!time) return std::nullopt;
            Estimate shown{*time / unit.us, {}, {}};
            if (row.time_ci95_low_us && row.time_ci95_high_us) {
              shown.low = *row.time_ci95_low_us / unit.us;
              shown.high = *row.time_ci95_high_us / unit.us;
            }
            return shown;
          }};
}

ChartQuantity predicted_quantity(const ExperimentResults& e) {
  std::vector<double> times;
  for (const ResultRecord& row : e.rows) {
    if (row.passed() && row.predicted_time_us) times.push_back(*row.predicted_time_us);
  }
  const TimeUnit unit = time_unit_for(times);
  return {fmt::format("predicted time ({})", unit.name),
          [unit](const ResultRecord& row) -> std::optional<Estimate> {
            if (!row.passed() || !row.predicted_time_us) return std::nullopt;
            return Estimate{*row.predicted_time_us / unit.us, {}, {}};
          }};
}

// Times of the baseline over those of a row, or the other way round.
ChartQuantity baseline_quantity(const ExperimentResults& e, bool is_inverse) {
  std::map<std::string, const ResultRecord*> baselines;
  for (const ResultRecord& row : e.rows) {
    if (row.variant == row.baseline && row.time_us()) baselines.emplace(group_of(e, row), &row);
  }
  const std::string baseline = e.constant(&ResultRecord::baseline);
  const std::string of = baseline.empty() ? "the baseline" : baseline;
  ChartQuantity quantity;
  quantity.label = is_inverse ? "time over that of " + of : "speed-up over " + of;
  quantity.reference = 1;
  quantity.of = [&e, baselines, is_inverse](const ResultRecord& row) -> std::optional<Estimate> {
    if (!row.time_us() || !row.speedup || !(*row.speedup > 0)) return std::nullopt;
    Estimate shown{is_inverse ? 1 / *row.speedup : *row.speedup, {}, {}};
    const auto found = baselines.find(group_of(e, row));
    if (found == baselines.end() || found->second == &row) return shown;
    const ResultRecord& base = *found->second;
    const auto ratio = is_inverse ? ratio_of(base, row) : ratio_of(row, base);
    if (!ratio) return shown;
    shown.low = ratio->ci95.low;
    shown.high = ratio->ci95.high;
    return shown;
  };
  return quantity;
}

ChartQuantity cycles_quantity() {
  return {"cycles per step", [](const ResultRecord& row) -> std::optional<Estimate> {
            const auto cycles = row.metrics.number(kStepCyclesMetric);
            if (!row.passed() || !cycles) return std::nullopt;
            return Estimate{*cycles, {}, {}};
          }};
}

// Bytes where device memory limits most rows, else operations; the other where no row has the one.
std::vector<ChartQuantity> rate_quantities(const ExperimentResults& e) {
  const auto by_dram = std::count_if(
      e.rows.begin(), e.rows.end(), [](const ResultRecord& row) { return row.limit_by == "dram"; });
  std::vector<ChartQuantity> rates{rate_quantity("useful GB/s", &ResultRecord::useful_gb_per_s),
                                   rate_quantity("TFLOP/s", &ResultRecord::tflops)};
  if (2 * static_cast<std::size_t>(by_dram) <= e.rows.size()) std::swap(rates[0], rates[1]);
  return rates;
}

// A file may hold numbers whose quotients are none.
ChartQuantity finite_quantity(ChartQuantity quantity) {
  quantity.of = [of = std::move(quantity.of)](const ResultRecord& row) -> std::optional<Estimate> {
    auto shown = of(row);
    if (!shown || !std::isfinite(shown->value)) return std::nullopt;
    const bool has_interval =
        shown->low && shown->high && std::isfinite(*shown->low) && std::isfinite(*shown->high);
    return has_interval ? shown : Estimate{shown->value, {}, {}};
  };
  return quantity;
}

std::vector<ChartQuantity> candidates(const ExperimentResults& e, Shows shows) {
  std::vector<ChartQuantity> all;
  if (shows == Shows::time) all.push_back(time_quantity(e));
  if (shows == Shows::speedup) all.push_back(baseline_quantity(e, false));
  if (shows == Shows::relative_time) all.push_back(baseline_quantity(e, true));
  if (shows == Shows::step_cycles) all.push_back(cycles_quantity());
  for (ChartQuantity& rate : rate_quantities(e))
    all.push_back(std::move(rate));
  if (shows != Shows::time) all.push_back(time_quantity(e));
  return all;
}

}  // namespace

ChartQuantity chart_quantity(const ExperimentResults& e, std::string_view kind) {
  if (e.constant(&ResultRecord::executed_on) == kSimulated)
    return finite_quantity(predicted_quantity(e));
  std::vector<ChartQuantity> all = candidates(e, shown_by(kind));
  for (ChartQuantity& quantity : all) {
    quantity = finite_quantity(std::move(quantity));
    if (std::any_of(e.rows.begin(), e.rows.end(),
                    [&](const ResultRecord& row) { return quantity.of(row).has_value(); }))
      return std::move(quantity);
  }
  return std::move(all.back());
}

}  // namespace gpuexp
