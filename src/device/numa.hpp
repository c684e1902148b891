// Where a GPU and this process are among the host's nodes of memory and processors (NUMA), as Linux
// tells it under /sys. Transfers between nodes take a longer way.
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>

namespace gpuexp {

/// Of the device with this PCI bus id ("00000000:17:00.0", as DeviceInfo has it); empty where the
/// machine has one node or does not say.
std::optional<std::int64_t> numa_node_of(const std::string& pci_bus_id,
                                         const std::filesystem::path& sys = "/sys");

/// Nodes whose processors this process may use, in order: "0" or "0,1"; empty where Linux does not
/// say.
std::optional<std::string> numa_nodes_of_process(const std::filesystem::path& sys = "/sys");

/// Processors that this thread may use, as Linux writes them: "0-3,8"; empty where it does not say.
std::string processors_of_thread();

/// Leaves to this thread, and to those that it starts from now on, those of its processors that are
/// next to the device. Leaves it all where none is, as where it was bound to others, or where the
/// machine does not say.
void stay_near(const std::string& pci_bus_id, const std::filesystem::path& sys = "/sys");

}  // namespace gpuexp
