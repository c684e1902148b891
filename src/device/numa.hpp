// NUMA nodes of a GPU and of this process, as Linux reports them under /sys. Transfers between
// nodes take longer than transfers within a node.
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>

namespace gpuexp {

/// The node of the device with this PCI bus id ("00000000:17:00.0", as in DeviceInfo). Empty if
/// the machine has one node or does not report nodes.
std::optional<std::int64_t> numa_node_of(const std::string& pci_bus_id,
                                         const std::filesystem::path& sys = "/sys");

/// Nodes whose processors this process may use: "0" or "0,1". Empty if Linux does not report
/// them.
std::optional<std::string> numa_nodes_of_process(const std::filesystem::path& sys = "/sys");

/// Processors that this thread may use, in Linux's notation: "0-3,8"; empty if unknown.
std::string processors_of_thread();

/// Restricts this thread, and threads that it starts later, to the allowed processors that are
/// local to the device. Changes nothing if no allowed processor is local, or if the machine does
/// not report local processors.
void pin_to_local_processors(const std::string& pci_bus_id,
                             const std::filesystem::path& sys = "/sys");

}  // namespace gpuexp
