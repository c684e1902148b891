// What is wrong with a GPU's state, in words: findings about the state are made of it, and findings
// about figures name it as a likely cause. Empty where nothing is wrong, or the driver does not
// say.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "device/device_spec.hpp"
#include "device/device_state.hpp"

namespace gpuexp::health {

/// A clock below this share of its maximum is held down. Without the power cap, the median of an
/// H200's rows is 0.4 % below it (docs/results/h200/all.json.zst), and a step of the clock is less
/// than another 1 %.
inline constexpr double kHeldClockShare = 0.95;
/// The memory clock has a few steps alone, so that whatever is below the highest is another step.
inline constexpr double kHeldMemoryClockShare = 0.99;
/// The driver lets GeForce boards compute in performance state 2 ("CUDA - Force P2 State"), with a
/// lower memory clock, so that large data sets meet no errors that no ECC would find (NVIDIA, as
/// quoted in https://babeltechreviews.com/nvidia-cuda-force-p2-state/): 9501 instead of 9751 MHz on
/// an RTX 3090 (https://github.com/nicehash/NiceHashQuickMiner/issues/206). A drop twice as large
/// has another cause.
inline constexpr double kComputeStateClockShare = 0.95;
/// A limit is set in whole watts.
inline constexpr double kPowerLimitStepW = 0.5;

using Sign = std::optional<std::string>;

Sign memory_clock_low(const DeviceState& state);
Sign sm_clock_low(const DeviceState& state, const DeviceSpec& device);
Sign ecc_newly_on(const DeviceState& state);
Sign power_limit_low(const DeviceState& state);
Sign slowed(const DeviceState& state);
Sign shared_with_others(const DeviceState& state);
Sign partitioned(const DeviceState& state);

/// The clock that SMs hold unless something keeps them from it; empty where nobody says.
std::optional<double> sm_clock_to_expect(const DeviceState& state, const DeviceSpec& device);

/// Reasons among the load's that mean a fault, or its cooling's or power's: not the power cap.
std::vector<std::string> harmful_reasons(const LoadReadings& load);

}  // namespace gpuexp::health
