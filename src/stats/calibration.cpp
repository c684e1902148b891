#include "stats/calibration.hpp"

#include <algorithm>
#include <cmath>
#include <functional>
#include <stdexcept>

#include <fmt/format.h>

#include "base/json.hpp"
#include "base/json_node.hpp"

namespace gpuexp {

namespace {

// The smallest minimum effect that prevents a false verdict on a cell, and the cell's time.
struct Needed {
  double effect;
  double time_us;
};

std::vector<Needed> needed_by(const std::vector<RepeatedCell>& cells) {
  std::vector<Needed> needed;
  for (const RepeatedCell& cell : cells) {
    const Interval& ci = cell.ratio;
    if (!(ci.low > 0 && ci.high < HUGE_VAL && cell.time_us > 0))
      throw std::invalid_argument("a repeated cell has no ratio or no time");
    needed.push_back({std::max({ci.low - 1, 1 / ci.high - 1, 0.0}), cell.time_us});
  }
  return needed;
}

// P(Binomial(n, p) <= k). Computed with logarithms, because (1 - p)^n underflows.
double at_most(std::size_t k, std::size_t n, double p) {
  double log_term = static_cast<double>(n) * std::log1p(-p);
  double sum = std::exp(log_term);
  for (std::size_t i = 1; i <= k; ++i) {
    log_term += std::log(static_cast<double>(n - i + 1) / static_cast<double>(i)) + std::log(p) -
                std::log1p(-p);
    sum += std::exp(log_term);
  }
  return sum;
}

// The smallest absolute effect with which at most `allowed` cells exceed both the absolute effect
// and `relative`.
double min_absolute_effect(const std::vector<Needed>& needed, double relative,
                           std::size_t allowed) {
  std::vector<double> absolute;
  for (const Needed& n : needed) {
    if (n.effect > relative) absolute.push_back(n.effect * n.time_us);
  }
  if (absolute.size() <= allowed) return 0;
  const auto nth = absolute.begin() + static_cast<std::ptrdiff_t>(allowed);
  std::nth_element(absolute.begin(), nth, absolute.end(), std::greater<>());
  return *nth;
}

double squares_over(const std::vector<Needed>& needed, const MinimumEffect& effect) {
  double sum = 0;
  for (const Needed& n : needed)
    sum += effect.at(n.time_us) * effect.at(n.time_us);
  return sum;
}

MinimumEffect smallest_effect(const std::vector<Needed>& needed, std::size_t allowed) {
  std::vector<double> candidates{0.0};
  for (const Needed& n : needed) {
    if (n.effect > 0) candidates.push_back(n.effect);
  }
  MinimumEffect best;
  double least_squares = HUGE_VAL;
  for (const double relative : candidates) {
    const MinimumEffect effect{relative, min_absolute_effect(needed, relative, allowed)};
    const double squares = squares_over(needed, effect);
    if (squares < least_squares) {
      least_squares = squares;
      best = effect;
    }
  }
  return best;
}

// Rounds up to a multiple of 1/`parts`, so that files contain few digits and no rounding errors.
double rounded_up(double value, double parts) {
  return std::ceil(value * parts) / parts;
}

std::size_t false_verdicts(const std::vector<RepeatedCell>& cells, const MinimumEffect& effect) {
  return static_cast<std::size_t>(
      std::count_if(cells.begin(), cells.end(), [&](const RepeatedCell& cell) {
        const Verdict verdict = verdict_of(cell.ratio, effect.at(cell.time_us));
        return verdict == Verdict::faster || verdict == Verdict::slower;
      }));
}

}  // namespace

double rate_upper_bound(std::size_t seen, std::size_t of) {
  constexpr double kTail = 0.05;
  if (seen >= of) return 1;
  double low = 0;
  double high = 1;
  for (int i = 0; i < 60; ++i) {
    const double middle = (low + high) / 2;
    (at_most(seen, of, middle) > kTail ? low : high) = middle;
  }
  return high;
}

Calibration calibrate(const std::vector<RepeatedCell>& cells, std::size_t independent) {
  if (independent < kFewestCells || cells.size() < independent) {
    throw std::invalid_argument(
        fmt::format("found {} independent comparisons (cells × (runs - 1)), expected at least {}; "
                    "add runs, or record runs with more cells",
                    std::min(independent, cells.size()), kFewestCells));
  }
  std::size_t seen = 0;
  const auto most = static_cast<std::size_t>(kFalseVerdictsSeen * static_cast<double>(independent));
  while (seen < most && rate_upper_bound(seen + 1, independent) <= kFalseVerdictRate)
    ++seen;
  Calibration c;
  c.rate_bound = rate_upper_bound(seen, independent);
  if (c.rate_bound > kFalseVerdictRate)
    c.margin = std::log(kFalseVerdictRate) / std::log(c.rate_bound);
  c.effect = smallest_effect(needed_by(cells), seen * cells.size() / independent);
  c.effect.relative = rounded_up(c.effect.relative * c.margin, 1e5);
  c.effect.absolute_us = rounded_up(c.effect.absolute_us * c.margin, 1e4);
  c.false_without = false_verdicts(cells, {});
  c.false_with = false_verdicts(cells, c.effect);
  return c;
}

std::string to_json(const NoiseFile& file) {
  const Calibration& c = file.calibration;
  const Json json = {{"schema_version", kNoiseSchemaVersion},
                     {"device", file.device},
                     {"relative", c.effect.relative},
                     {"absolute_us", c.effect.absolute_us},
                     {"runs", file.runs},
                     {"pairs", file.pairs},
                     {"cells", file.cells},
                     {"comparisons", file.comparisons},
                     {"false_without", c.false_without},
                     {"false_with", c.false_with},
                     {"rate_bound", c.rate_bound},
                     {"margin", c.margin},
                     {"git_commit", file.git_commit},
                     {"driver_version", file.driver_version},
                     {"cuda_toolkit", file.cuda_toolkit},
                     {"utc", file.utc}};
  return json.dump(2) + "\n";
}

RecordedEffect read_noise_file(const std::filesystem::path& path) {
  constexpr double kMaxShare = 10;
  constexpr double kMaxUs = 1e9;
  const std::string source = path.string();
  const Json json = read_json(read_text_file(path), source);
  const Node root(json, source, "$");
  root.require("schema_version").integer({1, kNoiseSchemaVersion});
  RecordedEffect recorded;
  recorded.effect = {root.require("relative").real({0, kMaxShare}),
                     root.require("absolute_us").real({0, kMaxUs})};
  const Node device = root.require("device");
  if (!device.json().is_null()) recorded.device = device.text();
  return recorded;
}

}  // namespace gpuexp
