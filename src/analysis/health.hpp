#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "device/device_spec.hpp"
#include "device/device_state.hpp"

namespace gpuexp {

enum class FindingVerdict {
  pass,
  note,     ///< noteworthy, but not a fault
  unknown,  ///< the driver does not report it, or no expected value is recorded
  off,      ///< not as expected, with a cost
};
std::string_view name_of(FindingVerdict verdict);

struct Finding {
  FindingVerdict verdict = FindingVerdict::unknown;
  std::string topic;     ///< "ECC", "power limit", "dram_copy"
  std::string found;     ///< "500 W"; "unknown" if the driver does not report it
  std::string expected;  ///< "700 W"; may be empty
  std::string cost;      ///< effect on measurements, or distance from the band
  /// For a failed check, the command that shows or changes the property; "-i GPU " is a
  /// placeholder.
  std::string cure;
  std::string likely;  ///< for a failed ceiling, another finding that is the likely cause

  bool operator==(const Finding&) const = default;
};

/// Minimum margin, in °C, between temperature and slowdown: a warmer room or a longer load may use
/// up a smaller margin.
inline constexpr double kMinSlowdownMarginC = 5;

/// One finding for every topic, in display order. `device` provides the model's boost clock,
/// because on GeForce boards the maximum clock that the driver reports is higher.
std::vector<Finding> state_findings(const DeviceState& state, const DeviceSpec& device);

}  // namespace gpuexp
