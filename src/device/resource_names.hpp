// The resources of a GPU, and of a host with several GPUs, that can bound the time of a launch.
#pragma once

#include <string>
#include <vector>

namespace gpuexp {

/// Names of the resources, as predictions and results files write them: memory ("dram", "l2", "l1",
/// "shared"), the start of blocks ("blocks"), instruction issue ("issue") and the pipes, "latency"
/// and "launch"; of what the host's clock times also its calls ("host") and copies
/// ("copy_to_device", "copy_to_host"); of problems that span GPUs "links".
const std::vector<std::string>& resource_names();

}  // namespace gpuexp
