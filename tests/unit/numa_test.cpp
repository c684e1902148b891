// A folder as Linux has it under /sys.
#include "device/numa.hpp"

#include <filesystem>
#include <fstream>

#include <sched.h>

#include "support/catch.hpp"
#include "support/scratch_folder.hpp"

namespace gpuexp::test {
namespace {

void write(const std::filesystem::path& file, const std::string& text) {
  std::filesystem::create_directories(file.parent_path());
  std::ofstream(file) << text << "\n";
}

TEST_CASE("a device's NUMA node is what Linux says of its place on the bus") {
  const ScratchFolder sys;
  const auto devices = sys.path() / "bus" / "pci" / "devices";
  write(devices / "0000:1a:00.0" / "numa_node", "1");
  write(devices / "0000:05:00.0" / "numa_node", "-1");
  CHECK(numa_node_of("00000000:1A:00.0", sys.path()) == 1);
  CHECK(numa_node_of("00000000:05:00.0", sys.path()) == std::nullopt);  // a machine with one node
  CHECK(numa_node_of("00000000:06:00.0", sys.path()) == std::nullopt);
  CHECK(numa_node_of("", sys.path()) == std::nullopt);
}

TEST_CASE("the nodes of a process are those of the processors that it may use") {
  const int here = sched_getcpu();
  cpu_set_t allowed;
  CPU_ZERO(&allowed);
  REQUIRE(sched_getaffinity(0, sizeof allowed, &allowed) == 0);
  const ScratchFolder sys;
  const auto nodes = sys.path() / "devices" / "system" / "node";
  write(nodes / "node1" / "cpulist", "1021-1022");
  write(nodes / "possible", "0-1");
  CHECK(numa_nodes_of_process(sys.path()) == std::nullopt);
  write(nodes / "node0" / "cpulist", "1020," + std::to_string(here) + "-" + std::to_string(here));
  CHECK(numa_nodes_of_process(sys.path()) == "0");
  write(nodes / "node1" / "cpulist", "0-1022");
  CHECK(numa_nodes_of_process(sys.path()) == "0,1");
  CHECK(numa_nodes_of_process(sys.path() / "nowhere") == std::nullopt);
}

}  // namespace
}  // namespace gpuexp::test
