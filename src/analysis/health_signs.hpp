// Faults of a GPU's state as text, for findings about the state and for the likely causes of
// ceilings. A sign is empty if there is no fault or the state is unknown.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "device/device_spec.hpp"
#include "device/device_state.hpp"

namespace gpuexp::health {

/// A clock below this share of its maximum is limited. Without the power cap, the median clock of
/// an H200's rows is 0.4 % below the maximum (docs/results/h200/all.json.zst), and one clock step
/// is less than 1 %.
inline constexpr double kHeldClockShare = 0.95;
/// The memory clock has only a few steps, so that a lower clock is a different step.
inline constexpr double kHeldMemoryClockShare = 0.99;
/// GeForce boards compute in performance state 2 ("CUDA - Force P2 State"), which lowers the memory
/// clock to avoid memory errors in large data sets without ECC (NVIDIA, as quoted in
/// https://babeltechreviews.com/nvidia-cuda-force-p2-state/): 9501 instead of 9751 MHz on an RTX
/// 3090 (https://github.com/nicehash/NiceHashQuickMiner/issues/206). A drop twice as large has
/// another cause.
inline constexpr double kComputeStateClockShare = 0.95;
/// Tolerance of a power limit, in W: limits are set in whole watts.
inline constexpr double kPowerLimitStepW = 0.5;

using Sign = std::optional<std::string>;

Sign memory_clock_low(const DeviceState& state);
Sign sm_clock_low(const DeviceState& state, const DeviceSpec& device);
Sign ecc_newly_on(const DeviceState& state);
Sign power_limit_low(const DeviceState& state);
Sign slowed(const DeviceState& state);
Sign shared_with_others(const DeviceState& state);
Sign partitioned(const DeviceState& state);

/// The SM clock, in MHz, of a GPU that nothing limits; empty if unknown.
std::optional<double> sm_clock_to_expect(const DeviceState& state, const DeviceSpec& device);

/// Clock reasons under load, except the power cap, that indicate a fault of board, cooling or power
/// supply.
std::vector<std::string> harmful_reasons(const LoadReadings& load);

}  // namespace gpuexp::health
