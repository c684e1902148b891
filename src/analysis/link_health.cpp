#include "analysis/link_health.hpp"

#include <cmath>

#include <fmt/format.h>

namespace gpuexp {

namespace {

/// Bytes per second that one NVLink carries each way; empty for a version that is not known
/// (NVIDIA, NVLink and NVSwitch, https://www.nvidia.com/en-us/data-center/nvlink/: 25 GB/s each way
/// in the second to fourth generation, 50 in the fifth).
std::optional<double> nvlink_bytes_per_s(const std::optional<std::string>& version) {
  if (!version || version->empty()) return std::nullopt;
  switch (version->front()) {
    case '2':
    case '3':
    case '4': return 25e9;
    case '5': return 50e9;
    default: return std::nullopt;
  }
}

}  // namespace

std::vector<Finding> link_findings(const GpuLink& link, const std::string& way,
                                   const Machine& listed) {
  Finding access{FindingVerdict::unknown, "peer access", "unknown", "", "", "", ""};
  if (link.peer_access) {
    access.found = *link.peer_access ? "yes" : "no";
    access.verdict = *link.peer_access || listed.link == LinkKind::none ? FindingVerdict::pass
                                                                        : FindingVerdict::off;
  }
  if (access.verdict == FindingVerdict::off) {
    access.expected = "yes";
    access.cost = "data between the two pass through the host's memory";
  }
  Finding links{FindingVerdict::unknown, "links", way, "", "", "", ""};
  if (listed.link != LinkKind::nvlink || listed.layout == LinkLayout::pairs) return {access, links};
  if (link.nvlinks == 0) {
    links.verdict = FindingVerdict::off;
    links.expected = "NVLink";
    links.cost = "no NVLink is active between the two: data cross PCI Express";
    return {access, links};
  }
  const auto each = nvlink_bytes_per_s(link.nvlink_version);
  if (!each || listed.layout != LinkLayout::by_switch) {
    links.verdict = FindingVerdict::pass;
    return {access, links};
  }
  const int expected = static_cast<int>(std::lround(listed.link_bytes_per_s / *each));
  links.expected = fmt::format("NV{}", expected);
  links.verdict = link.nvlinks >= expected ? FindingVerdict::pass : FindingVerdict::off;
  if (links.verdict == FindingVerdict::off) {
    links.cost = fmt::format("{} of {} NVLinks are not active, and carry nothing",
                             expected - link.nvlinks, expected);
  }
  return {access, links};
}

}  // namespace gpuexp
