#include "device/numa.hpp"

#include <cctype>
#include <fstream>
#include <set>

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <sched.h>

namespace gpuexp {

namespace {

std::optional<std::string> line_of(const std::filesystem::path& file) {
  std::ifstream in(file);
  std::string line;
  return std::getline(in, line) ? std::optional(line) : std::nullopt;
}

/// "0-3,8" names processors 0, 1, 2, 3 and 8.
bool names_one_of(const std::string& list, const cpu_set_t& processors) {
  std::size_t at = 0;
  while (at < list.size()) {
    char* end = nullptr;
    const long first = std::strtol(list.c_str() + at, &end, 10);
    long last = first;
    if (*end == '-') last = std::strtol(end + 1, &end, 10);
    for (long i = first; i <= last && i < CPU_SETSIZE; ++i) {
      if (CPU_ISSET(static_cast<std::size_t>(i), &processors)) return true;
    }
    if (*end != ',') return false;
    at = static_cast<std::size_t>(end + 1 - list.c_str());
  }
  return false;
}

}  // namespace

std::optional<std::int64_t> numa_node_of(const std::string& pci_bus_id,
                                         const std::filesystem::path& sys) {
  // The driver writes the domain with eight digits, Linux with four, both hexadecimal.
  constexpr std::size_t kDigits = 4;
  if (pci_bus_id.size() <= kDigits) return std::nullopt;
  std::string name = pci_bus_id.substr(kDigits);
  for (char& c : name)
    c = static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
  const auto line = line_of(sys / "bus" / "pci" / "devices" / name / "numa_node");
  if (!line) return std::nullopt;
  const long node = std::strtol(line->c_str(), nullptr, 10);
  return node >= 0 ? std::optional<std::int64_t>(node) : std::nullopt;
}

std::optional<std::string> numa_nodes_of_process(const std::filesystem::path& sys) {
  cpu_set_t processors;
  CPU_ZERO(&processors);
  if (sched_getaffinity(0, sizeof processors, &processors) != 0) return std::nullopt;
  std::set<long> nodes;
  std::error_code error;
  const std::filesystem::path folder = sys / "devices" / "system" / "node";
  for (const auto& entry : std::filesystem::directory_iterator(folder, error)) {
    const std::string name = entry.path().filename().string();
    if (!name.starts_with("node") || name.size() == 4 ||
        !std::isdigit(static_cast<unsigned char>(name[4])))
      continue;
    const auto list = line_of(entry.path() / "cpulist");
    if (list && names_one_of(*list, processors))
      nodes.insert(std::strtol(name.c_str() + 4, nullptr, 10));
  }
  if (nodes.empty()) return std::nullopt;
  return fmt::format("{}", fmt::join(nodes, ","));
}

}  // namespace gpuexp
