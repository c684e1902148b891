// Reading the topology of GPUs without a GPU: a fake library replaces NVML.
#include "gpu/nvml_state.hpp"
#include "nvml/loaded_fake.hpp"
#include "support/catch.hpp"

namespace gpuexp::test {
namespace {

Topology of_two(const FakeNvml& answers) {
  fake() = answers;
  return read_topology({{0, "one", "GPU-a", "0002:17:00.0", {}, {}, {}},
                        {1, "two", "GPU-b", "0002:c1:00.0", {}, {}, {}}});
}

FakeNvml two_gpus() {
  FakeNvml answers;
  answers.uuids = {"GPU-a", "GPU-b"};
  answers.other = "GPU-b";
  return answers;
}

TEST_CASE("links to switches connect a GPU with every other GPU") {
  FakeNvml answers = two_gpus();
  answers.links = 18;
  answers.pcie_level = 50;
  const Topology t = of_two(answers);
  REQUIRE(t.links.size() == 2);
  for (const auto& [from, to] : {std::pair{0, 1}, std::pair{1, 0}}) {
    const GpuLink& link = t.links[static_cast<std::size_t>(from)][static_cast<std::size_t>(to)];
    CHECK(link.nvlinks == 18);
    CHECK(link.is_switched);
    CHECK(link.nvlink_version == std::string("4.0"));
    CHECK(link.pcie == PciePath::processor);
    CHECK(link.peer_access == true);
    CHECK(link.peer_atomics == false);
  }
  CHECK(t.links[0][0].nvlinks == 0);
  CHECK(t.gpus[0].pcie_generation == 3);
  CHECK(t.gpus[0].pcie_width == 8);
}

TEST_CASE("links to the other GPU connect only the two") {
  FakeNvml answers = two_gpus();
  answers.links = 4;
  answers.has_switches = false;
  answers.pcie_level = 10;
  const GpuLink link = of_two(answers).links[0][1];
  CHECK(link.nvlinks == 4);
  CHECK_FALSE(link.is_switched);
  CHECK(link.pcie == PciePath::pix);
}

TEST_CASE("GPUs without NVLink, or without an answer of the driver, have no links") {
  FakeNvml answers = two_gpus();
  answers.pcie_level = 15;  // not a level
  answers.peer_status = 4;
  const GpuLink without = of_two(answers).links[0][1];
  CHECK(without.nvlinks == 0);
  CHECK_FALSE(without.nvlink_version);
  CHECK_FALSE(without.pcie);
  CHECK(without.peer_access == false);
  answers.links = 18;
  answers.not_there = {"nvmlDeviceGetNvLinkState", "nvmlDeviceGetP2PStatus"};
  const GpuLink unknown = of_two(answers).links[0][1];
  CHECK(unknown.nvlinks == 0);
  CHECK_FALSE(unknown.peer_access);
  answers.uuids = {"GPU-a"};
  CHECK(of_two(answers).links[0][1].nvlinks == 0);
}

}  // namespace
}  // namespace gpuexp::test
