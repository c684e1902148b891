// The schedule of sampling: in which order the variants of a group take their turns, and when there
// are enough of them. Pure functions of what was measured.
#pragma once

#include <cstdint>
#include <vector>

#include "core/config.hpp"
#include "core/row.hpp"

namespace gpuexp {

/// A random order of 0 … count-1 that the seed, the group and the round decide, on every platform
/// alike.
std::vector<std::size_t> round_order(std::size_t count, std::uint64_t seed, std::size_t group,
                                     int round);

/// How many samples a cell has when its interval is looked at again after `samples`: min_samples
/// first, then a quarter more each time, since intervals narrow with the square root of the count
/// and looking takes time.
int next_look(const MeasureSettings& settings, int samples);

/// Why a cell with these samples needs no more of them; none when it does. `elapsed_s` is what its
/// sampling took, flushes included. The interval is looked at only where next_look() says so.
StopReason stop_reason(const MeasureSettings& settings, const std::vector<double>& samples_us,
                       double quantum_us, double elapsed_s);

/// True when the 95 % interval's half-width is within the target, which is never below the timer's
/// quantum: no number of samples could show less.
bool is_converged(const Statistics& statistics, double target_relative_ci, double quantum_us);

/// The step of the timer that took these samples: the smallest difference between any two that
/// differ; 0 when none do.
double timer_quantum_us(std::vector<double> samples_us);

}  // namespace gpuexp
