#pragma once

#include <string>
#include <vector>

#include "analysis/measured_ceilings.hpp"
#include "device/device_spec.hpp"
#include "model/prediction.hpp"
#include "results/report.hpp"

namespace gpuexp {

/// The ceilings that limits and predictions use, in the order of the terms. `value` is empty if
/// only the datasheet has a value.
CeilingsProvenance ceilings_in_force(const CeilingSource& ceiling_source, const DeviceSpec& device);

/// A warning for each ceiling that is below 95 % of a vendor call's rate, or was not measured
/// although a vendor call was.
std::string vendor_warnings(const MeasuredCeilings& measured,
                            const std::vector<VendorCall>& vendor);

/// Tables of measured and datasheet ceilings, of ceilings that were not measured, and of ceilings
/// as shares of vendor calls, with vendor_warnings(). UTF-8, ends in a newline.
std::string ceilings_text(const MeasuredCeilings& measured, const std::vector<VendorCall>& vendor,
                          const DeviceSpec& device);

/// The table of the links to another GPU; empty if nothing was measured.
std::string link_ceilings_text(const MeasuredCeilings& measured, const DeviceSpec& device);

}  // namespace gpuexp
