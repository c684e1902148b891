#include "stats/calibration.hpp"

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <fstream>
#include <limits>

#include <fmt/format.h>

#include "analysis/run_comparison.hpp"
#include "base/config_error.hpp"
#include "support/catch.hpp"
#include "support/run_report.hpp"
#include "support/timing_models.hpp"

namespace gpuexp::test {
namespace {

// True time of a cell; run_of draws the variation between runs.
struct SimulatedCell {
  double time_us;
  double rho;
  double spread;
  std::size_t samples;
};

std::vector<SimulatedCell> simulated_cells(Random& random, std::size_t count) {
  std::vector<SimulatedCell> cells;
  for (std::size_t i = 0; i < count; ++i) {
    cells.push_back({2 * std::pow(2500, uniform(random)), -0.5 + 1.1 * uniform(random),
                     0.002 + 0.008 * uniform(random), 20 + 10 * (random() % 6)});
  }
  return cells;
}

// Between runs, each cell varies by 0.2 % and 10 ns, and all cells together by 0.05 %. A tick is 32
// ns.
Report run_of(Random& random, const std::vector<SimulatedCell>& cells, double factor = 1) {
  constexpr double kTick = 0.032;
  const double run = 1 + 0.0005 * normal(random);
  std::vector<RunRow> rows;
  for (const SimulatedCell& c : cells) {
    const double median =
        factor * c.time_us * run * (1 + 0.002 * normal(random)) + 0.01 * normal(random);
    const auto time = [&](double x) {
      return std::round(median * std::exp(c.spread * x) / kTick) * kTick;
    };
    rows.push_back({fmt::format("simulated/{}", rows.size()),
                    mapped(autoregression(random, c.samples, c.rho), time)});
  }
  return run_report(rows, kTick);
}

Calibration calibrated_on(Random& random, std::size_t cell_count, std::size_t run_count) {
  const auto cells = simulated_cells(random, cell_count);
  std::vector<Report> runs;
  for (std::size_t i = 0; i < run_count; ++i)
    runs.push_back(run_of(random, cells));
  return calibrate(repeated_cells(runs), cell_count * (run_count - 1));
}

TEST_CASE("a calibration on some cells holds on others and hides no slowdown of 3 %") {
  constexpr std::size_t kCalibrated = 800;
  constexpr std::size_t kCells = 1000;
  std::size_t false_verdicts = 0;
  std::size_t compared = 0;
  for (const std::uint64_t seed : {1, 2, 3, 4, 5, 6}) {
    Random random(seed);
    const Calibration calibration = calibrated_on(random, kCalibrated, 3);
    INFO("seed " << seed << ": " << calibration.effect.relative << ", "
                 << calibration.effect.absolute_us << " us");
    CHECK(calibration.rate_bound <= kFalseVerdictRate);
    CHECK(static_cast<double>(calibration.false_with) <= kFalseVerdictsSeen * 3 * kCalibrated);
    CHECK(calibration.false_without > calibration.false_with);
    const auto cells = simulated_cells(random, kCells);
    const Report a = run_of(random, cells);
    const Tally same = compare_runs(a, run_of(random, cells), calibration.effect).all;
    const std::size_t wrong = same.count(Outcome::slower) + same.count(Outcome::faster);
    // A shift common to all cells of a run can raise the count of one pair of runs.
    CHECK(static_cast<double>(wrong) <= 2 * kFalseVerdictRate * kCells);
    false_verdicts += wrong;
    compared += kCells;

    std::size_t precise = 0;
    std::size_t found = 0;
    for (const ComparedRow& row :
         compare_runs(a, run_of(random, cells, 1.03), calibration.effect).rows) {
      const auto within_1_pct = [](const Statistics& s) {
        return s.median_ci95->high - s.median_ci95->low <= 2 * 0.01 * s.median;
      };
      if (!within_1_pct(*row.a) || !within_1_pct(*row.b)) continue;
      ++precise;
      found += row.outcome == Outcome::slower;
    }
    INFO(found << " of " << precise);
    CHECK(precise > kCells / 2);
    CHECK(static_cast<double>(found) >= 0.95 * static_cast<double>(precise));
  }
  CHECK(static_cast<double>(false_verdicts) <= kFalseVerdictRate * static_cast<double>(compared));
}

RepeatedCell cell(double low, double high, double time_us) {
  return {{low, high}, time_us};
}

TEST_CASE("the minimum effect covers the worst cells, times a margin for unseen cells") {
  std::vector<RepeatedCell> cells(400, cell(0.99, 1.01, 100));
  SECTION("equal runs need no effect") {
    const Calibration c = calibrate(cells, cells.size());
    CHECK(c.effect.relative == 0);
    CHECK(c.effect.absolute_us == 0);
    CHECK(c.margin == 1);
    CHECK(c.rate_bound == Approx(3.0 / 400).epsilon(0.01));  // the rule of three
  }
  SECTION("long kernels set the relative part, short ones the absolute part") {
    cells[0] = cell(1.01, 1.02, 100);
    cells[1] = cell(1.10, 1.20, 1);
    const Calibration c = calibrate(cells, cells.size());
    CHECK(c.effect.relative == Approx(0.01).margin(2e-5));
    CHECK(c.effect.absolute_us == Approx(0.10).margin(2e-4));
    CHECK(c.false_without == 2);
    CHECK(c.false_with == 0);
  }
  SECTION("faster cells count like slower ones") {
    cells[0] = cell(1 / 1.02, 1 / 1.01, 100);
    CHECK(calibrate(cells, cells.size()).effect.at(100) == Approx(0.01).margin(2e-5));
  }
  SECTION("few cells need a margin") {
    cells.resize(150);
    cells[0] = cell(1.01, 1.02, 100);
    const Calibration c = calibrate(cells, 150);
    CHECK(c.margin ==
          Approx(std::log(kFalseVerdictRate) / std::log(1 - std::pow(0.05, 1.0 / 150))));
    CHECK(c.effect.at(100) == Approx(0.01 * c.margin).margin(2e-5));
  }
  SECTION("in many cells, a share may exceed the effect") {
    cells.resize(20000, cell(0.99, 1.01, 100));
    cells[0] = cell(1.5, 1.6, 100);
    const Calibration c = calibrate(cells, cells.size());
    CHECK(c.effect.relative == 0);
    CHECK(c.false_with == 1);
    CHECK(c.rate_bound <= kFalseVerdictRate);
  }
  SECTION("too few cells, or none with a ratio, are rejected") {
    CHECK_THROWS_AS(calibrate(cells, 99), std::invalid_argument);
    CHECK_THROWS_AS(calibrate({}, 0), std::invalid_argument);
    cells[0].ratio.low = std::numeric_limits<double>::quiet_NaN();
    CHECK_THROWS_AS(calibrate(cells, cells.size()), std::invalid_argument);
  }
}

TEST_CASE("the bound of a rate is the Clopper-Pearson bound") {
  CHECK(rate_upper_bound(0, 1) == Approx(0.95));
  CHECK(rate_upper_bound(0, 100) == Approx(1 - std::pow(0.05, 0.01)));
  // Beta quantile 0.95 at (3, 98): qbeta(0.95, 3, 98) in R.
  CHECK(rate_upper_bound(2, 100) == Approx(0.0616).margin(1e-4));
  CHECK(rate_upper_bound(5, 5) == 1);
}

std::filesystem::path written(const std::string& text) {
  auto path = std::filesystem::temp_directory_path() / "gpuexp_noise_test.json";
  std::ofstream(path) << text;
  return path;
}

TEST_CASE("a noise file is read back, and rejected without data") {
  NoiseFile file;
  file.device = "NVIDIA H200";
  file.calibration.effect = {0.0123, 0.045};
  const RecordedEffect recorded = read_noise_file(written(to_json(file)));
  CHECK(recorded.device == "NVIDIA H200");
  CHECK(recorded.effect.relative == 0.0123);
  CHECK(recorded.effect.absolute_us == 0.045);
  file.device.reset();
  CHECK(!read_noise_file(written(to_json(file))).device.has_value());
  CHECK_THROWS_AS(read_noise_file(written("{\"schema_version\": 1}")), ConfigError);
  CHECK_THROWS_AS(
      read_noise_file(written("{\"schema_version\": 2, \"device\": null, \"relative\": 0.1, "
                              "\"absolute_us\": 0}")),
      ConfigError);
  CHECK_THROWS_AS(
      read_noise_file(written("{\"schema_version\": 1, \"device\": null, \"relative\": -0.1, "
                              "\"absolute_us\": 0}")),
      ConfigError);
  std::filesystem::remove(written(""));
  CHECK_THROWS_AS(read_noise_file("/no/such/noise.json"), ConfigError);
}

}  // namespace
}  // namespace gpuexp::test
