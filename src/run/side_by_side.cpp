#include "run/side_by_side.hpp"

#include <vector>

#include <fmt/format.h>

#include "base/steady_clock.hpp"
#include "run/rounds.hpp"
#include "run/session.hpp"

namespace gpuexp {

namespace {

using Samples = std::array<std::vector<double>, 2>;

/// Why the side's launch fails its verification; empty if it passes.
std::string failure(const Side& side, Mode mode, std::uint64_t seed) {
  side.executor.set_up(side.family, side.values, seed);
  const Verification verification = side.executor.verify(side.variant, mode);
  if (verification.passed()) return "";
  return fmt::format("{}/{} is incorrect: {}", side.family.id, side.variant.id,
                     failure_of(verification, side.element_name));
}

void add_sample(const Side& side, Mode mode, std::vector<double>& samples) {
  side.executor.timer()->sample({&side.variant}, mode, [&](std::size_t, const Sample& sample) {
    samples.push_back(sample.time_us);
  });
}

bool is_settled(const Samples& samples, const std::array<double, 2>& quanta_us,
                const MeasureSettings& settings) {
  for (std::size_t side = 0; side < samples.size(); ++side) {
    if (!is_converged(summarize(samples[side], quanta_us[side]), settings.target_relative_ci,
                      quanta_us[side]))
      return false;
  }
  return true;
}

}  // namespace

SideBySide measure_side_by_side(const std::array<Side, 2>& sides, Mode mode, std::uint64_t seed,
                                const MeasureSettings& settings,
                                const std::function<bool()>& interrupted) {
  std::array<double, 2> quanta_us{};
  for (std::size_t i = 0; i < sides.size(); ++i) {
    if (const std::string why = failure(sides[i], mode, seed); !why.empty()) return {why};
    constexpr int kFloorSamples = 50;
    LaunchTimer& timer = *sides[i].executor.timer();
    quanta_us[i] = timer_quantum_us(timer.sample_floor(Mode::warm, kFloorSamples));
    timer.warm_up(sides[i].variant, mode, warm_up_of(settings));
  }
  Samples samples;
  const double start_s = steady_seconds();
  for (std::size_t first = 0;; first = 1 - first) {
    for (const std::size_t side : {first, 1 - first})
      add_sample(sides[side], mode, samples[side]);
    if (interrupted()) return {"interrupted"};
    const std::size_t count = samples[0].size();
    const double elapsed_s = steady_seconds() - start_s;
    if (cap_reached(settings, count, elapsed_s) != StopReason::none) break;
    const bool may_end = is_look(settings, count - 1, count) && elapsed_s >= settings.min_seconds;
    if (may_end && is_settled(samples, quanta_us, settings)) break;
  }
  SideBySide result;
  for (std::size_t side = 0; side < sides.size(); ++side)
    result.times[side] = summarize(samples[side], quanta_us[side]);
  result.ratio = ratio_of(result.times[0], result.times[1]);
  return result;
}

}  // namespace gpuexp
