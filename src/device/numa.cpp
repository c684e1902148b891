#include "device/numa.hpp"

#include <algorithm>
#include <cctype>
#include <fstream>
#include <set>
#include <vector>

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <sched.h>

#include "base/text.hpp"

namespace gpuexp {

namespace {

std::optional<std::string> line_of(const std::filesystem::path& file) {
  std::ifstream in(file);
  std::string line;
  return std::getline(in, line) ? std::optional(line) : std::nullopt;
}

cpu_set_t processors_in(const std::string& list) {
  cpu_set_t processors;
  CPU_ZERO(&processors);
  std::size_t at = 0;
  while (at < list.size()) {
    char* end = nullptr;
    const long first = std::strtol(list.c_str() + at, &end, 10);
    long last = first;
    if (*end == '-') last = std::strtol(end + 1, &end, 10);
    for (long i = std::max(0L, first); i <= last && i < CPU_SETSIZE; ++i)
      CPU_SET(static_cast<std::size_t>(i), &processors);
    if (*end != ',') break;
    at = static_cast<std::size_t>(end + 1 - list.c_str());
  }
  return processors;
}

std::optional<cpu_set_t> processors_allowed() {
  cpu_set_t processors;
  CPU_ZERO(&processors);
  if (sched_getaffinity(0, sizeof processors, &processors) != 0) return std::nullopt;
  return processors;
}

cpu_set_t common_processors(const cpu_set_t& one, const cpu_set_t& other) {
  cpu_set_t both;
  CPU_AND(&both, &one, &other);
  return both;
}

std::optional<std::string> line_of_device(const std::string& pci_bus_id, const char* file,
                                          const std::filesystem::path& sys) {
  // The PCI domain has eight hexadecimal digits from the driver, and four in Linux.
  constexpr std::size_t kDigits = 4;
  if (pci_bus_id.size() <= kDigits) return std::nullopt;
  const std::string name = lower_case(pci_bus_id.substr(kDigits));
  return line_of(sys / "bus" / "pci" / "devices" / name / file);
}

}  // namespace

std::optional<std::int64_t> numa_node_of(const std::string& pci_bus_id,
                                         const std::filesystem::path& sys) {
  const auto line = line_of_device(pci_bus_id, "numa_node", sys);
  if (!line) return std::nullopt;
  const long node = std::strtol(line->c_str(), nullptr, 10);
  return node >= 0 ? std::optional<std::int64_t>(node) : std::nullopt;
}

std::optional<std::string> numa_nodes_of_process(const std::filesystem::path& sys) {
  const auto allowed = processors_allowed();
  if (!allowed) return std::nullopt;
  std::set<long> nodes;
  std::error_code error;
  const std::filesystem::path folder = sys / "devices" / "system" / "node";
  for (const auto& entry : std::filesystem::directory_iterator(folder, error)) {
    const std::string name = entry.path().filename().string();
    if (!name.starts_with("node") || name.size() == 4 ||
        !std::isdigit(static_cast<unsigned char>(name[4])))
      continue;
    const auto list = line_of(entry.path() / "cpulist");
    if (!list) continue;
    const cpu_set_t common = common_processors(processors_in(*list), *allowed);
    if (CPU_COUNT(&common) > 0) nodes.insert(std::strtol(name.c_str() + 4, nullptr, 10));
  }
  if (nodes.empty()) return std::nullopt;
  return fmt::format("{}", fmt::join(nodes, ","));
}

std::string processors_of_thread() {
  const auto allowed = processors_allowed();
  std::vector<std::string> ranges;
  for (std::size_t i = 0; allowed && i < CPU_SETSIZE; ++i) {
    if (!CPU_ISSET(i, &*allowed)) continue;
    const std::size_t first = i;
    while (i + 1 < CPU_SETSIZE && CPU_ISSET(i + 1, &*allowed))
      ++i;
    ranges.push_back(first == i ? fmt::format("{}", i) : fmt::format("{}-{}", first, i));
  }
  return fmt::format("{}", fmt::join(ranges, ","));
}

void pin_to_local_processors(const std::string& pci_bus_id, const std::filesystem::path& sys) {
  const auto list = line_of_device(pci_bus_id, "local_cpulist", sys);
  const auto allowed = processors_allowed();
  if (!list || !allowed) return;
  const cpu_set_t near = common_processors(processors_in(*list), *allowed);
  if (CPU_COUNT(&near) > 0) sched_setaffinity(0, sizeof near, &near);
}

}  // namespace gpuexp
