// From the rows of a run of configs/ceilings.json to the ceilings that they show, and what the
// vendor's own calls reached beside them; and the GPU's state under that load.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "base/mode.hpp"
#include "device/ceilings.hpp"
#include "device/device_spec.hpp"
#include "device/device_state.hpp"
#include "family/registry.hpp"
#include "record/record_table.hpp"

namespace gpuexp {

/// Of each ceiling for which a family of the registry declares sources, the fastest row that passed
/// and has an interval. No ceiling where there is no such row, or where a row that might have been
/// faster did not pass (skipped ones aside). The interval is that of the row's median time, and of
/// the other variant's where a share of its time is taken off, but not of a floor; of the clock,
/// the lowest and highest of its readings. `floors_us` holds samples of an empty kernel, by mode.
MeasuredCeilings measured_ceilings(const RecordTable& rows,
                                   const std::map<Mode, std::vector<double>>& floors_us,
                                   const DeviceSpec& device, const Registry& registry);

/// The fastest call of a vendor's library that does what a ceiling allows, of the same run.
struct VendorCall {
  std::string ceiling;  ///< CeilingTerm::id
  std::string variant;  ///< "memcpy", "cublas"
  std::string from;     ///< key of its row
  double value;         ///< what it reached, in the unit of the term

  bool operator==(const VendorCall&) const = default;
};

/// In the order of the terms; a ceiling of which no vendor's row passed has none.
std::vector<VendorCall> vendor_calls(const RecordTable& rows, const DeviceSpec& device,
                                     const Registry& registry);

/// What is below this share of what a vendor's call reached is too low to be a ceiling.
inline constexpr double kLeastShareOfVendor = 0.95;

/// Of the rows that passed and that the driver said something of.
LoadReadings load_readings(const RecordTable& rows);

}  // namespace gpuexp
