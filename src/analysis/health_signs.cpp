#include "analysis/health_signs.hpp"

#include <algorithm>

#include <fmt/format.h>
#include <fmt/ranges.h>

namespace gpuexp::health {

std::optional<double> sm_clock_to_expect(const DeviceState& state, const DeviceSpec& device) {
  const double listed = device.sm_clock_max_mhz;
  if (!state.sm_clock_max_mhz) return listed > 0 ? std::optional(listed) : std::nullopt;
  return listed > 0 ? std::min(*state.sm_clock_max_mhz, listed) : *state.sm_clock_max_mhz;
}

std::vector<std::string> harmful_reasons(const LoadReadings& load) {
  std::vector<std::string> harmful;
  for (const auto& [reason, rows] : load.clock_reasons) {
    if (reason != "sw_power_cap") harmful.push_back(reason);
  }
  return harmful;
}

Sign memory_clock_low(const DeviceState& state) {
  if (!state.load || !state.load->memory_clock_mhz || !state.memory_clock_max_mhz)
    return std::nullopt;
  const double clock = *state.load->memory_clock_mhz;
  const double highest = *state.memory_clock_max_mhz;
  const bool computes_lower = state.performance_state == 2;
  const double share = computes_lower ? kComputeStateClockShare : kHeldMemoryClockShare;
  if (clock >= share * highest) return std::nullopt;
  return fmt::format("the memory clock was at {:.0f} of {:.0f} MHz", clock, highest);
}

Sign sm_clock_low(const DeviceState& state, const DeviceSpec& device) {
  const auto expected = sm_clock_to_expect(state, device);
  if (!expected || !state.load || !state.load->sm_clock_mhz) return std::nullopt;
  if (*state.load->sm_clock_mhz >= kHeldClockShare * *expected) return std::nullopt;
  return fmt::format("the SM clock was at {:.0f} of {:.0f} MHz", *state.load->sm_clock_mhz,
                     *expected);
}

Sign ecc_newly_on(const DeviceState& state) {
  if (state.ecc_on != true || state.ecc_on_by_default != false) return std::nullopt;
  return "ECC is on, but off by default";
}

Sign power_limit_low(const DeviceState& state) {
  if (!state.power_limit_w || !state.power_limit_default_w) return std::nullopt;
  if (*state.power_limit_w >= *state.power_limit_default_w - kPowerLimitStepW) return std::nullopt;
  return fmt::format("power is limited to {:.0f} of {:.0f} W", *state.power_limit_w,
                     *state.power_limit_default_w);
}

Sign slowed(const DeviceState& state) {
  if (!state.load) return std::nullopt;
  const auto reasons = harmful_reasons(*state.load);
  if (reasons.empty()) return std::nullopt;
  return fmt::format("the driver slowed clocks down ({})", fmt::join(reasons, ", "));
}

Sign shared_with_others(const DeviceState& state) {
  if (state.processes.value_or(0) == 0) return std::nullopt;
  return "other processes are on the GPU";
}

Sign partitioned(const DeviceState& state) {
  if (state.mig_on != true && !state.is_mig_instance) return std::nullopt;
  return "MIG is on, and an instance is only a part of the GPU";
}

}  // namespace gpuexp::health
