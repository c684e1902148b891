// What the clock did under a row's own samples. Pure functions of readings.
#pragma once

#include <optional>
#include <vector>

#include "record/measurement.hpp"
#include "run/row.hpp"

namespace gpuexp {

/// The clock under each sample of a row; empty where no reading covers it.
using SampleClocks = std::vector<std::optional<double>>;

/// False for a reading that is mostly of an idle GPU, whose clock is another one than under load.
bool covers_load(const ClockReading& reading);

/// Empty where no sample has a reading.
std::optional<Clocks> clocks_of(const SampleClocks& mhz);

/// True when the clock moved by over 2 % from the first half of the samples to the second, and
/// their times moved against it by at least half as much: a kernel that waits for memory has the
/// clock of its neighbours in the round and need not care.
bool drifted_with_clock(const std::vector<double>& samples_us, const Clocks& clocks);

/// True when power may be what keeps the clock below its highest: the driver says so, the board
/// draws at least nine tenths of its limit, or the clock under load is below 95 % of the highest.
bool nears_power_cap(const Telemetry& telemetry, const std::optional<Clocks>& clocks,
                     double highest_mhz);

/// A clock under load below this share of the highest is low. A GPU under a light load runs at its
/// highest; this is the margin for reading it.
inline constexpr double kLowClock = 0.95;

}  // namespace gpuexp
