// NUMA nodes, read from a folder like Linux's /sys.
#include "device/numa.hpp"

#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

#include <sched.h>

#include "support/catch.hpp"
#include "support/scratch_folder.hpp"

namespace gpuexp::test {
namespace {

void write(const std::filesystem::path& file, const std::string& text) {
  std::filesystem::create_directories(file.parent_path());
  std::ofstream(file) << text << "\n";
}

TEST_CASE("a device's NUMA node is read from its PCI entry") {
  const ScratchFolder sys;
  const auto devices = sys.path() / "bus" / "pci" / "devices";
  write(devices / "0000:1a:00.0" / "numa_node", "1");
  write(devices / "0000:05:00.0" / "numa_node", "-1");
  CHECK(numa_node_of("00000000:1A:00.0", sys.path()) == 1);
  CHECK(numa_node_of("00000000:05:00.0", sys.path()) == std::nullopt);  // a machine with one node
  CHECK(numa_node_of("00000000:06:00.0", sys.path()) == std::nullopt);
  CHECK(numa_node_of("", sys.path()) == std::nullopt);
}

TEST_CASE("a process has the nodes of its allowed processors") {
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

/// Restores this thread's processors.
class OwnProcessors {
 public:
  OwnProcessors() { REQUIRE(sched_getaffinity(0, sizeof all_, &all_) == 0); }
  OwnProcessors(const OwnProcessors&) = delete;
  OwnProcessors& operator=(const OwnProcessors&) = delete;
  ~OwnProcessors() { sched_setaffinity(0, sizeof all_, &all_); }
  std::vector<int> numbers() const {
    std::vector<int> numbers;
    for (int i = 0; i < CPU_SETSIZE; ++i) {
      if (CPU_ISSET(static_cast<std::size_t>(i), &all_)) numbers.push_back(i);
    }
    return numbers;
  }

 private:
  cpu_set_t all_{};
};

TEST_CASE("a thread stays near a device only if some of its processors are near") {
  const OwnProcessors own;
  const std::string all = processors_of_thread();
  const std::string last = std::to_string(own.numbers().back());
  const ScratchFolder sys;
  const auto devices = sys.path() / "bus" / "pci" / "devices";
  write(devices / "0000:1a:00.0" / "local_cpulist", last + ",1000-1022");
  write(devices / "0000:1b:00.0" / "local_cpulist", "1022");
  pin_to_local_processors("00000000:1B:00.0", sys.path());  // none of this thread's processors
  CHECK(processors_of_thread() == all);
  pin_to_local_processors("00000000:1C:00.0", sys.path());  // no such device
  CHECK(processors_of_thread() == all);
  pin_to_local_processors("00000000:1A:00.0", sys.path());
  CHECK(processors_of_thread() == last);
}

TEST_CASE("lists of processors have Linux's format") {
  const OwnProcessors own;
  const std::vector<int> numbers = own.numbers();
  if (numbers.size() < 2 || numbers[1] != numbers[0] + 1) return;
  cpu_set_t two;
  CPU_ZERO(&two);
  for (int i = 0; i < 2; ++i)
    CPU_SET(static_cast<std::size_t>(numbers[static_cast<std::size_t>(i)]), &two);
  REQUIRE(sched_setaffinity(0, sizeof two, &two) == 0);
  CHECK(processors_of_thread() == std::to_string(numbers[0]) + "-" + std::to_string(numbers[1]));
}

}  // namespace
}  // namespace gpuexp::test
