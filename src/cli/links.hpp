// Measuring the links between a GPU and each other of its machine.
#pragma once

#include <string>
#include <vector>

#include "cli/ceilings_run.hpp"
#include "device/topology.hpp"

namespace gpuexp::cli {

/// How this machine's GPUs are connected.
Topology topology_here();

struct LinkRun {
  DeviceInfo peer;
  GpuLink link;     ///< to it, as the driver tells
  std::string way;  ///< "NV18"
  CeilingsRun run;  ///< of configs/links.json; empty where the two do not reach each other's memory
};

/// The links from `device` to each other GPU of this machine whose ordinal is at least
/// `first_peer`, until a signal comes. Throws ConfigError.
std::vector<LinkRun> measure_links(const Context& context, const DeviceInfo& device,
                                   int first_peer = 0);

/// Writes what was measured where ceiling_source_of looks for it, and says so on standard error.
/// Throws ReportError.
void keep_links(const std::vector<LinkRun>& links, const std::string& uuid);

}  // namespace gpuexp::cli
