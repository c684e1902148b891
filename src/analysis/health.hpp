// Whether a GPU is healthy: its state against how such a GPU is meant to run (docs/health.md).
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "device/device_spec.hpp"
#include "device/device_state.hpp"

namespace gpuexp {

enum class FindingVerdict {
  pass,
  note,     ///< worth knowing, and no fault
  unknown,  ///< the driver does not say, or nobody has recorded what to expect
  off,      ///< not as expected, at a cost
};
std::string_view name_of(FindingVerdict verdict);

/// One thing that was looked at.
struct Finding {
  FindingVerdict verdict = FindingVerdict::unknown;
  std::string topic;     ///< "ECC", "power limit", "dram_copy"
  std::string found;     ///< "500 W"; "unknown" where the driver does not say
  std::string expected;  ///< "700 W"; may be empty
  std::string cost;      ///< what it does to measurements, or by how much it is beside its band
  /// Of what failed: the command that shows or changes it, in which "-i GPU " stands for this one.
  std::string cure;
  std::string likely;  ///< of a figure that failed: what else was found and may be the reason

  bool operator==(const Finding&) const = default;
};

/// Nearer to the slowdown than this, a warmer room or a longer load would reach it.
inline constexpr double kLeastSlowdownMarginC = 5;

/// One of every topic, in the order in which they are shown. `device` has the clock that its kind
/// is sold with, which on GeForce boards is below the highest that the driver names.
std::vector<Finding> state_findings(const DeviceState& state, const DeviceSpec& device);

}  // namespace gpuexp
