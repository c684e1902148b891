// Sampling schedule, as pure functions of the measurements: the order of variants in each round,
// and when a cell has enough samples.
#pragma once

#include <cstdint>
#include <vector>

#include "config/config.hpp"
#include "record/status.hpp"
#include "stats/statistics.hpp"

namespace gpuexp {

/// A random order of the integers 0 to count - 1; the same on all platforms.
std::vector<std::size_t> round_order(std::size_t count, std::uint64_t seed, std::size_t group,
                                     int round);

/// True if the interval is examined when the number of samples rises from `before` to `now`: at
/// min_samples, and after each further increase by a quarter, at least by 5 samples. Each
/// examination may stop too early by chance, and intervals narrow only with the square root of the
/// number of samples.
bool is_look(const MeasureSettings& settings, std::size_t before, std::size_t now);

/// The cap that the number of samples or the elapsed time (including flushes) has reached, if any.
StopReason cap_reached(const MeasureSettings& settings, std::size_t samples, double elapsed_s);

/// True if the half-width of the 95 % interval is within the target share of the median. A target
/// below the timer's quantum is raised to the quantum, because more samples cannot resolve less.
bool is_converged(const Statistics& statistics, double target_relative_ci, double quantum_us);

}  // namespace gpuexp
