// Rows of results from which ceilings of a device are computed, declared by the family whose
// variants measure them. C++17, included by .cu files.
#pragma once

#include <string>
#include <vector>

#include "base/mode.hpp"
#include "device/device_spec.hpp"

namespace gpuexp {

/// How a row of these variants in this mode gives a ceiling. Setters return the object, so that a
/// declaration is one expression.
struct CeilingRows {
  enum class Kind {
    rate,     ///< column `amount` divided by time
    latency,  ///< time divided by column `amount`
    sm_clock  ///< SM clock of the row, for variants whose clock the power limit does not reduce
  };

  /// `ceiling` is a CeilingTerm::id; `amount` is a column name.
  static CeilingRows rate(std::string ceiling, std::vector<std::string> variants, Mode mode,
                          std::string amount);
  static CeilingRows latency(std::string ceiling, std::vector<std::string> variants, Mode mode,
                             std::string amount);
  static CeilingRows sm_clock(std::string variant, Mode mode);

  /// Selects the rows with this value of the parameter.
  CeilingRows& where(std::string name, std::string wanted);
  /// Multiplies the column's value by units(device), the number of the ceiling's units per count.
  CeilingRows& times(double (*units)(const DeviceSpec&));
  /// Subtracts the time of an empty kernel from the row's time.
  CeilingRows& without_launch();
  /// Subtracts `share` times the time of `variant`, for the same problem, from the row's time.
  CeilingRows& without(std::string variant, double share);

  std::string ceiling;
  Kind kind = Kind::rate;
  std::vector<std::string> variants;  ///< either all or none use a vendor library
  Mode mode = Mode::warm;
  std::string amount;
  std::string parameter = {};
  std::string value = {};
  double (*units_of)(const DeviceSpec&) = nullptr;  ///< null: factor 1
  bool launch_is_overhead = false;
  std::string overhead_variant = {};
  double overhead_share = 0;
};

}  // namespace gpuexp
