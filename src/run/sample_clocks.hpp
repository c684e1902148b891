// The SM clock during a row's own samples, as pure functions of clock readings.
#pragma once

#include <optional>
#include <vector>

#include "record/measurement.hpp"
#include "run/row.hpp"

namespace gpuexp {

/// The clock during each sample of a row, in MHz; empty if no reading covers the sample.
using SampleClocks = std::vector<std::optional<double>>;

/// False if the GPU was idle for more than half of the reading's interval, because an idle GPU runs
/// at a different clock.
bool covers_load(const ClockReading& reading);

std::optional<Clocks> clocks_of(const SampleClocks& mhz);

/// True if the clock changed by over 2 % between the two halves of the samples, and the times
/// changed inversely by at least half as much. Times of a memory-bound kernel may not depend on the
/// clock.
bool drifted_with_clock(const std::vector<double>& samples_us, const Clocks& clocks);

/// True if the power limit may keep the clock below its maximum: the driver reports throttling by
/// power, the board draws at least 90 % of its limit, or the clock under load is below 95 % of the
/// maximum.
bool nears_power_cap(const Telemetry& telemetry, const std::optional<Clocks>& clocks,
                     double highest_mhz);

/// A clock under load below this share of the maximum is flagged as low. Under light load, a GPU
/// runs at its maximum; the margin covers the error of a reading.
inline constexpr double kLowClock = 0.95;

}  // namespace gpuexp
