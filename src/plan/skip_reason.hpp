// Why cells of a plan are not run.
#pragma once

#include <cstdint>

#include "plan/plan.hpp"

namespace gpuexp {

/// Sets Cell::skip_reason if the cell cannot run, whatever its code is.
void skip_unsupported(Cell& cell, const Group& group, const Experiment& experiment,
                      const DeviceSpec& device);

/// Sets Cell::skip_reason if the cell's code does not compile, its blocks do not fit on an SM, or
/// it needs more than `free_bytes` of device memory. Otherwise, adds the memory to the group's.
void skip_beyond_device(Cell& cell, Group& group, const Experiment& experiment,
                        const DeviceSpec& device, const KernelResources& resources,
                        std::int64_t free_bytes);

}  // namespace gpuexp
