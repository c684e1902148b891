// Ceilings as a report has them, and as people see them.
#pragma once

#include <string>
#include <vector>

#include "analysis/measured_ceilings.hpp"
#include "device/device_spec.hpp"
#include "model/prediction.hpp"
#include "results/report.hpp"

namespace gpuexp {

/// What limits and predictions are made from, in the order of the terms; a figure that is nowhere
/// but on the datasheet has no value of its own.
CeilingsProvenance ceilings_in_force(const CeilingSource& ceiling_source, const DeviceSpec& device);

/// A line for each ceiling that comes to less than 95 % of a vendor's call, or was not measured
/// beside it.
std::string vendor_warnings(const MeasuredCeilings& measured,
                            const std::vector<VendorCall>& vendor);

/// What was measured beside the datasheet, what was not, and how much of the vendor's calls it
/// comes to, with those warnings. UTF-8, ends in a newline.
std::string ceilings_text(const MeasuredCeilings& measured, const std::vector<VendorCall>& vendor,
                          const DeviceSpec& device);

/// The table alone, of the links to another GPU; empty where nothing was measured.
std::string link_ceilings_text(const MeasuredCeilings& measured, const DeviceSpec& device);

}  // namespace gpuexp
