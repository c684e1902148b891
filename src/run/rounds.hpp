// Sampling schedule: the order of variants in each round, and when a group has enough samples.
// These are pure functions of the measurements.
#pragma once

#include <cstdint>
#include <vector>

#include "config/config.hpp"
#include "record/status.hpp"
#include "stats/statistics.hpp"

namespace gpuexp {

/// A random order of 0 … count-1, determined by seed, group and round; identical on all platforms.
std::vector<std::size_t> round_order(std::size_t count, std::uint64_t seed, std::size_t group,
                                     int round);

/// True if the interval should be examined now. There were `before` samples at the last
/// examination, and there are `now`. Examinations happen at min_samples and after every increase by
/// a quarter: intervals narrow with the square root of the count, and each examination may stop too
/// early by chance.
bool is_look(const MeasureSettings& settings, std::size_t before, std::size_t now);

/// The cap that the number of samples or the elapsed time (including flushes) has reached; none if
/// below both.
StopReason cap_reached(const MeasureSettings& settings, std::size_t samples, double elapsed_s);

/// True if the half-width of the 95 % interval is within the target. The target is never below the
/// timer's quantum, because more samples could not show less.
bool is_converged(const Statistics& statistics, double target_relative_ci, double quantum_us);

}  // namespace gpuexp
