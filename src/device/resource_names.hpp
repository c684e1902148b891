// The resources of a GPU, or of a host with several GPUs, that can limit the time of a launch.
#pragma once

#include <string>
#include <vector>

namespace gpuexp {

/// Names of the resources in predictions and results files: memory ("dram", "l2", "l1",
/// "shared"), starts of blocks ("blocks"), instruction issue ("issue"), the pipes, "latency" and
/// "launch"; for times of the host clock, also the host's calls ("host") and copies
/// ("copy_to_device", "copy_to_host"); for problems that span GPUs, "links".
const std::vector<std::string>& resource_names();

}  // namespace gpuexp
