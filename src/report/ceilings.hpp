// Ceilings as a report has them, and as people see them.
#pragma once

#include <string>
#include <vector>

#include "core/device_spec.hpp"
#include "core/prediction.hpp"
#include "report/measured_ceilings.hpp"
#include "report/report.hpp"

namespace gpuexp {

/// What limits and predictions are made from, in the order of the terms; a figure that is nowhere
/// but on the datasheet has no value of its own.
CeilingsProvenance ceilings_in_force(const PredictionBasis& basis, const DeviceSpec& device);

/// What was measured beside the datasheet, what was not, and how much of the vendor's calls it
/// comes to, with a warning where that is too little. UTF-8, ends in a newline.
std::string ceilings_text(const MeasuredCeilings& measured, const std::vector<VendorCall>& vendor,
                          const DeviceSpec& device);

}  // namespace gpuexp
