// Ceilings from the rows of a run of configs/ceilings.json, vendor calls in the same run, and the
// GPU's state under this load.
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

/// Each ceiling for which a family declares sources, from the fastest passed row with an interval.
/// There is no ceiling if no row qualifies, or if a row that might be faster failed. The interval
/// follows from the row's median time, and from a subtracted time of another variant but not from a
/// subtracted floor. The clock is from the first such row, with the range of readings as interval.
/// Floors are medians of `floors_us`, the samples of an empty kernel by mode.
MeasuredCeilings measured_ceilings(const RecordTable& rows,
                                   const std::map<Mode, std::vector<double>>& floors_us,
                                   const DeviceSpec& device, const Registry& registry);

/// The fastest vendor library call for a ceiling.
struct VendorCall {
  std::string ceiling;  ///< CeilingTerm::id
  std::string variant;  ///< "memcpy", "cublas"
  std::string from;     ///< key of the row
  double value;         ///< measured rate, in the unit of the term

  bool operator==(const VendorCall&) const = default;
};

/// Vendor calls, in the order of the terms, for ceilings with a passed vendor row.
std::vector<VendorCall> vendor_calls(const RecordTable& rows, const DeviceSpec& device,
                                     const Registry& registry);

/// A ceiling below this share of a vendor call's rate is too low.
inline constexpr double kMinShareOfVendor = 0.95;

/// Readings of the passed rows for which the driver reported clocks.
LoadReadings load_readings(const RecordTable& rows);

}  // namespace gpuexp
