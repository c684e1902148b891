// The schedule of sampling: in which order the variants of a group take their turns, and when there
// are enough of them. Pure functions of what was measured.
#pragma once

#include <cstdint>
#include <vector>

#include "config/config.hpp"
#include "record/status.hpp"
#include "stats/statistics.hpp"

namespace gpuexp {

/// A random order of 0 … count-1 that the seed, the group and the round decide, on every platform
/// alike.
std::vector<std::size_t> round_order(std::size_t count, std::uint64_t seed, std::size_t group,
                                     int round);

/// True when the interval is to be looked at; there were `before` samples at the last question, and
/// there are `now`. That is when min_samples have been reached, and whenever a quarter more have
/// come since. Intervals narrow with the square root of the count, and each look is a chance to
/// stop too early.
bool is_look(const MeasureSettings& settings, std::size_t before, std::size_t now);

/// The cap that is reached by the number of samples, or by the time that they took, flushes
/// included; none below both.
StopReason cap_reached(const MeasureSettings& settings, std::size_t samples, double elapsed_s);

/// True when the 95 % interval's half-width is within the target, which is never below the timer's
/// quantum: no number of samples could show less.
bool is_converged(const Statistics& statistics, double target_relative_ci, double quantum_us);

}  // namespace gpuexp
