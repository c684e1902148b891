// What is wrong with a state, in words, for findings of their own and for those of figures that
// suffer from it. Empty where it is not, or the driver does not say.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "device/device_spec.hpp"
#include "device/device_state.hpp"

namespace gpuexp::health {

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
