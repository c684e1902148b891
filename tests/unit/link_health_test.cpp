// Findings of links between GPUs, and their text in checks.
#include <nlohmann/json.hpp>

#include "analysis/ceiling_health.hpp"
#include "render/health_json.hpp"
#include "render/health_text.hpp"
#include "support/catch.hpp"
#include "support/healthy_gpu.hpp"

namespace gpuexp::test {
namespace {

/// An H200 with 18 NVLink 4.0 links to switches.
GpuLink healthy_link() {
  GpuLink link;
  link.nvlinks = 18;
  link.is_switched = true;
  link.nvlink_version = "4.0";
  link.pcie = PciePath::node;
  link.peer_access = true;
  link.peer_atomics = true;
  return link;
}

Machine listed() {
  return {8, LinkKind::nvlink, LinkLayout::by_switch, 450e9};
}

Finding links_of(const GpuLink& link, const std::string& way, const Machine& machine = listed()) {
  return link_findings(link, way, machine).at(1);
}
Finding access_of(const GpuLink& link, const Machine& machine = listed()) {
  return link_findings(link, "", machine).at(0);
}

TEST_CASE("the number of NVLinks must match the datasheet's rate", "[health]") {
  GpuLink link = healthy_link();
  CHECK(links_of(link, "NV18").verdict == FindingVerdict::pass);
  CHECK(links_of(link, "NV18").expected == "NV18");
  link.nvlinks = 16;
  const Finding fewer = links_of(link, "NV16");
  CHECK(fewer.verdict == FindingVerdict::off);
  CHECK(fewer.found == "NV16");
  CHECK(fewer.cost == "2 of 18 NVLinks are not active and carry no data");
}

TEST_CASE("a missing NVLink fails only if all GPUs of this kind have NVLink", "[health]") {
  GpuLink link = healthy_link();
  link.nvlinks = 0;
  const Finding none = links_of(link, "NODE");
  CHECK(none.verdict == FindingVerdict::off);
  CHECK(none.cost.find("PCI Express") != std::string::npos);
  CHECK(links_of(link, "NODE", Machine{8, LinkKind::pcie, {}, 64e9}).verdict ==
        FindingVerdict::unknown);
  // Bridges join GPUs only in pairs.
  CHECK(links_of(link, "NODE", Machine{8, LinkKind::nvlink, LinkLayout::pairs, 300e9}).verdict ==
        FindingVerdict::unknown);
}

TEST_CASE("an unlisted NVLink version passes", "[health]") {
  GpuLink link = healthy_link();
  link.nvlinks = 4;
  link.nvlink_version = "9.0";
  CHECK(links_of(link, "NV4").verdict == FindingVerdict::pass);
  link.nvlink_version.reset();
  CHECK(links_of(link, "NV4").verdict == FindingVerdict::pass);
}

TEST_CASE("missing peer access fails only if this kind of GPU has it", "[health]") {
  GpuLink link = healthy_link();
  CHECK(access_of(link).verdict == FindingVerdict::pass);
  link.peer_access = false;
  CHECK(access_of(link).verdict == FindingVerdict::off);
  CHECK(access_of(link, Machine{}).verdict == FindingVerdict::pass);
  link.peer_access.reset();
  CHECK(access_of(link).verdict == FindingVerdict::unknown);
}

const ExpectedBands kBands{{"link_copy", {380, 410, "cards", ""}},
                           {"link_load_latency", {600, 900, "cards", ""}}};

HealthReport report(double copies, double latency, const GpuLink& link) {
  HealthReport r;
  r.device = "NVIDIA H200";
  r.uuid = "GPU-0123";
  r.source = "measured in 31.2 s";
  r.after = healthy_state();
  r.state = state_findings(healthy_state(), healthy_device());
  const MeasuredCeilings measured{{"link_copy", {copies, copies, copies, ""}},
                                  {"link_load_latency", {latency, latency, latency, ""}}};
  r.links.push_back({1, "GPU-4567", "NV" + std::to_string(link.nvlinks),
                     link_findings(link, "NV" + std::to_string(link.nvlinks), listed()),
                     ceiling_findings(measured, kBands, healthy_state(), healthy_device())});
  return r;
}

TEST_CASE("a check names slow and missing links", "[health]") {
  const HealthReport healthy = report(396, 750, healthy_link());
  CHECK(verdict_of(healthy) == HealthVerdict::healthy);
  CHECK(health_text(healthy, 100).find("healthy: 2 ceilings within their bands") !=
        std::string::npos);
  CHECK(health_text(healthy, 100).find("links to device 1 (GPU-4567), NV18") != std::string::npos);

  const HealthReport slow = report(300, 750, healthy_link());
  CHECK(verdict_of(slow) == HealthVerdict::off);
  CHECK(health_text(slow, 100).find("1 check failed: link_copy to device 1\n") !=
        std::string::npos);
  CHECK(verdict_of(report(396, 1000, healthy_link())) == HealthVerdict::off);

  GpuLink broken = healthy_link();
  broken.nvlinks = 17;
  const HealthReport missing = report(396, 750, broken);
  CHECK(health_text(missing, 100).find("1 check failed: links to device 1\n") != std::string::npos);
  const auto json = nlohmann::json::parse(to_json(missing));
  CHECK(json["verdict"] == "off");
  CHECK(json["links"][0]["to_uuid"] == "GPU-4567");
  CHECK(json["links"][0]["state"][1]["verdict"] == "off");
  CHECK(json["links"][0]["figures"][0]["ceiling"] == "link_copy");
}

}  // namespace
}  // namespace gpuexp::test
