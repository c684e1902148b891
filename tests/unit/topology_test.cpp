// The matrix of links between a host's GPUs.
#include "device/topology.hpp"

#include "render/topology_text.hpp"
#include "support/catch.hpp"

namespace gpuexp::test {
namespace {

Topology of_two(const GpuLink& link) {
  Topology t;
  t.gpus = {{0, "H200", "GPU-a", "0000:17:00.0", 0, 5, 16},
            {1, "H200", "GPU-b", "0000:c1:00.0", 1, 5, 16}};
  t.links = {{GpuLink{}, link}, {link, GpuLink{}}};
  return t;
}

TEST_CASE("switched links are shown with number and version") {
  CHECK(topology_text(of_two({18, true, "4.0", PciePath::processor, true, true})) ==
        "        GPU0  GPU1  NUMA  PCIe\n"
        "  GPU0  X     NV18  0     gen 5 x16\n"
        "  GPU1  NV18  X     1     gen 5 x16\n"
        "  NV#: number of active links; NVLink 4.0 through switches\n"
        "  peer access between all GPUs\n");
}

TEST_CASE("GPUs without NVLink are shown with their PCI Express path") {
  const std::string text = topology_text(of_two({0, false, {}, PciePath::processor, false, false}));
  CHECK(text ==
        "        GPU0  GPU1  NUMA  PCIe\n"
        "  GPU0  X     SYS   0     gen 5 x16\n"
        "  GPU1  SYS   X     1     gen 5 x16\n"
        "  SYS: over the link between NUMA nodes\n"
        "  no peer access: GPU0 to GPU1, GPU1 to GPU0\n");
}

TEST_CASE("unknown properties are shown as unknown") {
  Topology t = of_two({});
  t.gpus[0].numa_node.reset();
  t.gpus[0].pcie_width.reset();
  CHECK(topology_text(t) ==
        "        GPU0  GPU1  NUMA  PCIe\n"
        "  GPU0  X     ?     -     ?\n"
        "  GPU1  ?     X     1     gen 5 x16\n"
        "  ?: unknown to the driver\n");
}

TEST_CASE("direct links differ from switched ones") {
  CHECK_THAT(topology_text(of_two({4, false, "3.0", PciePath::pix, true, true})),
             contains_text("NVLink 3.0, direct"));
  CHECK_THAT(
      topology_text(of_two({4, false, {}, PciePath::pix, {}, {}})),
      contains_text("number of active links; NVLink, direct") && !contains_text("peer access"));
}

}  // namespace
}  // namespace gpuexp::test
