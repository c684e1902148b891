// The provenance of a run: program, machine, device, config, settings and ceilings.
#pragma once

#include <ctime>
#include <string>

#include "cli/app.hpp"
#include "gpu/device_query.hpp"
#include "plan/plan.hpp"
#include "results/report.hpp"

namespace gpuexp::cli {

/// `keeps_source`: whether the source text of kernel files is included.
Provenance provenance_of(const Context& context, const Plan& plan, const DeviceInfo& device,
                         std::time_t started, bool keeps_source);

/// The executable's GNU build ID in hexadecimal; empty if the linker added none.
std::string build_id();

}  // namespace gpuexp::cli
