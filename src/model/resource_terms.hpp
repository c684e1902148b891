// The resources of a GPU that a launch can be bound by, and how long each would take it alone.
#pragma once

#include <map>
#include <string>
#include <vector>

namespace gpuexp {

/// The time that a launch would take if one resource alone were used.
struct Term {
  std::string resource;
  double time_us = 0;
};

/// Of times by resource.
std::vector<Term> longest_first(const std::map<std::string, double>& times_us);

/// What a launch can be bound by: "dram", "l2", "l1", "shared", "blocks" (how fast they start),
/// "issue", the pipes, "latency", "launch"; of what the host's clock times also "host" (its calls),
/// "copy_to_device", "copy_to_host"; of problems that span GPUs "links".
const std::vector<std::string>& resource_names();

}  // namespace gpuexp
