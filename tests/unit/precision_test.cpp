// Whether a row has enough samples for a second run of the same binary to be called the same.
#include <algorithm>
#include <cmath>

#include "stats/ratio.hpp"
#include "support/catch.hpp"
#include "support/timing_models.hpp"
#include "support/toy_run.hpp"

namespace gpuexp::test {
namespace {

/// A row of an H200's recorded all.json, at a decile of the spread.
struct Recorded {
  double time_us;
  double spread;  ///< relative, per sample
  double time;    ///< correlation time
};

constexpr MinimumEffect kOfAnH200{0.0098, 0.0797};

/// Statistics of a run whose times are shifted by a process-specific factor.
Statistics run_once(const Recorded& kernel, double shift, const MeasureSettings& settings,
                    Random& random) {
  constexpr double kTickUs = 0.032;
  constexpr double kBesideASampleS = 20e-6;
  ToyRun b({"first"});
  b.experiment().measure = settings;
  b.executor.floor_us = {3.0, 3.0 + kTickUs};
  const double rho = (kernel.time - 1) / (kernel.time + 1);
  const Series noise = autoregression(random, 1000, rho);
  b.executor.time_us = [&](const std::string&, int n) {
    const double exact = kernel.time_us * std::exp(shift + kernel.spread * noise[std::size_t(n)]);
    b.clock_s += kBesideASampleS + 1e-6 * exact;
    return kTickUs * std::round(exact / kTickUs);
  };
  return *b.run()[0].time_us;
}

struct Repetition {
  double undecided = 0;  ///< share of the pairs of runs
  double sampling_s = 0;
};

Repetition repeated(const MeasureSettings& settings) {
  const std::vector<Recorded> kernels = {
      {156, 0.0006, 1.18},  {82.8, 0.0009, 2.25}, {8398, 0.0016, 1.3},  {325, 0.002, 1.69},
      {47, 0.0029, 1.33},   {83.2, 0.0029, 2.2},  {53.5, 0.0049, 1.17}, {621, 0.0042, 2.71},
      {23.1, 0.0072, 1.76}, {840, 0.0141, 1.15}};
  constexpr int kPairs = 100;
  // Chosen so that the rate of false verdicts equals that of two recorded runs of all.json.
  constexpr double kShiftOfEffect = 0.2;
  Random random(7);
  Repetition r;
  int undecided = 0;
  for (const Recorded& kernel : kernels) {
    const double effect = kOfAnH200.at(kernel.time_us);
    for (int i = 0; i < kPairs; ++i) {
      const double size = -std::log(1 - uniform(random)) * kShiftOfEffect * effect;
      const double shift = i % 2 == 0 ? size : -size;
      const Statistics a = run_once(kernel, 0, settings, random);
      const Statistics b = run_once(kernel, shift, settings, random);
      undecided += verdict_of(ratio_of(a, b)->ci95, effect) == Verdict::inconclusive;
      r.sampling_s += 1e-6 * (a.mean * double(a.count) + b.mean * double(b.count)) / (2 * kPairs);
    }
  }
  r.undecided = undecided / (kPairs * static_cast<double>(kernels.size()));
  return r;
}

TEST_CASE("rows are sampled until two runs of one binary can be called the same") {
  const Repetition now = repeated({});
  MeasureSettings target_alone;
  target_alone.fine_relative_ci = 1;
  const Repetition before = repeated(target_alone);
  INFO(before.undecided << " before, " << now.undecided << " now");
  INFO(before.sampling_s << " s of sampling before, " << now.sampling_s << " now");
  CHECK(now.undecided <= 0.03);
  CHECK(before.undecided >= 0.12);
}

TEST_CASE("sampling beyond the target precision has a time limit") {
  ToyRun b({"first", "second"});
  b.experiment().measure.fine_seconds = 0.1;
  b.experiment().measure.min_samples = 20;
  Random random(3);
  // The interval is within 1 % after about 60 samples, and within 0.25 % after 1000.
  b.executor.time_us = [&](const std::string&, int) {
    b.clock_s += 0.001;
    return 1000 * std::exp(0.03 * normal(random));
  };
  SECTION("sampling ends as converged") {
    for (const Row& row : b.run()) {
      CHECK(row.stop_reason == StopReason::converged);
      CHECK(row.samples_us.size() >= 50);
      CHECK(row.samples_us.size() <= 130);
      CHECK(row.flags.end() == std::find(row.flags.begin(), row.flags.end(), "wide_interval"));
    }
  }
  SECTION("sampling continues if the target is missed") {
    b.experiment().measure.target_relative_ci = 0.002;
    for (const Row& row : b.run())
      CHECK(row.stop_reason == StopReason::max_samples);
  }
  SECTION("sampling ends at the timer's resolution") {
    b.executor.floor_us = {3.0, 3.0 + 10};
    b.executor.time_us = [&](const std::string&, int n) {
      b.clock_s += 1e-3;
      return n % 3 == 0 ? 1010.0 : 1000.0;
    };
    for (const Row& row : b.run())
      CHECK(row.samples_us.size() <= 40);
  }
}

}  // namespace
}  // namespace gpuexp::test
