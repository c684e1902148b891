// Which rows of a run show what a device can do at most: declared by the family that measures it.
// C++17, included by .cu files.
#pragma once

#include <string>
#include <vector>

#include "base/mode.hpp"
#include "device/device_spec.hpp"

namespace gpuexp {

/// What one row of these variants in this mode says of a ceiling. The setters return the source, so
/// that a declaration is one expression.
struct CeilingRows {
  enum class Kind {
    rate,     ///< amount over time
    latency,  ///< time over amount
    sm_clock  ///< the row's SM clock: of one that no power limit slows
  };

  /// `ceiling` is a CeilingTerm::id, `amount` the name of a column.
  static CeilingRows rate(std::string ceiling, std::vector<std::string> variants, Mode mode,
                          std::string amount);
  static CeilingRows latency(std::string ceiling, std::vector<std::string> variants, Mode mode,
                             std::string amount);
  static CeilingRows sm_clock(std::string variant, Mode mode);

  /// Only where the parameter has this value.
  CeilingRows& where(std::string name, std::string wanted);
  /// An amount counts so many of the ceiling's units, on this device.
  CeilingRows& times(double (*units)(const DeviceSpec&));
  /// The time of an empty kernel is no part of it.
  CeilingRows& without_launch();
  /// Nor is this share of the time that another variant takes for the same problem.
  CeilingRows& without(std::string variant, double share);

  std::string ceiling;
  Kind kind = Kind::rate;
  std::vector<std::string> variants;  ///< all of a vendor's library, or none
  Mode mode = Mode::warm;
  std::string amount;
  std::string parameter = {};
  std::string value = {};
  double (*units_of)(const DeviceSpec&) = nullptr;  ///< null: 1
  bool launch_is_overhead = false;
  std::string overhead_variant = {};
  double overhead_share = 0;
};

}  // namespace gpuexp
