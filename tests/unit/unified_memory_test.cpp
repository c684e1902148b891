// How L1 and shared memory divide their memory, and which wavefronts conflict.
#include "device/unified_memory.hpp"

#include <fstream>
#include <sstream>
#include <string>

#include "device/device_spec_file.hpp"
#include "support/catch.hpp"

namespace gpuexp::test {
namespace {

constexpr std::int64_t kKib = 1024;

DeviceSpec device(const char* name) {
  return read_device_spec(std::string(GPUEXP_SOURCE_DIR "/configs/devices/") + name + ".json").spec;
}

SectorRepeats repeats_with(std::int64_t shared_kib, std::int64_t carveout_kib) {
  return sector_repeats(device("h200"), {shared_kib * kKib, carveout_kib * kKib, 0});
}

TEST_CASE("carve-outs equal those measured on an H200", "[unified_memory]") {
  std::ifstream file(GPUEXP_SOURCE_DIR "/docs/studies/caches/carveouts.csv");
  std::string line;
  std::getline(file, line);
  const DeviceSpec h200 = device("h200");
  int rows = 0;
  int others = 0;
  while (std::getline(file, line)) {
    std::istringstream fields(line);
    std::int64_t registers = 0;
    std::int64_t kib = 0;
    SharedDemand demand;
    char comma = 0;
    fields >> registers >> comma >> demand.block_threads >> comma >> demand.block_bytes >> comma >>
        demand.resident >> comma >> demand.resident_without_shared >> comma >> kib;
    INFO(line);
    REQUIRE(fields);
    const auto memory = unified_memory(h200, demand);
    REQUIRE(memory);
    CHECK(memory->l1 + memory->carveout == 256 * kKib);
    ++rows;
    // Known exception: the model differs for 16 blocks of 128 threads with few bytes.
    const bool is_known = demand.block_threads == 128 && demand.resident_without_shared == 16 &&
                          demand.block_bytes > 0 && demand.block_bytes <= 128;
    CHECK((memory->carveout == kib * kKib) == !is_known);
    others += is_known ? 1 : 0;
  }
  CHECK(rows > 600);
  CHECK(others == 4);
}

TEST_CASE("on other GPUs the carve-out is the smallest that fits the blocks", "[unified_memory]") {
  const DeviceSpec a100 = device("a100_sxm4_80gb");
  const auto memory = unified_memory(a100, {256, 4096, 8, 8});
  REQUIRE(memory);
  CHECK(memory->shared == 40 * kKib);
  CHECK(memory->carveout == 64 * kKib);
  CHECK(memory->l1 == 128 * kKib);
  DeviceSpec unknown = a100;
  unknown.cc_minor = 9;
  unknown.cc_major = 99;
  CHECK_FALSE(unified_memory(unknown, {256, 4096, 8, 8}));
  CHECK(sector_repeats(a100, *memory).line == 0);
  CHECK(sector_repeats(a100, *memory).copy == 0);
}

TEST_CASE("accesses to different halves of the memory do not conflict", "[unified_memory]") {
  // The more of the first half is shared memory, the fewer lines of L1 are in it.
  CHECK(repeats_with(16, 16).line == Approx(0.39).margin(0.015));
  CHECK(repeats_with(64, 64).line == Approx(0.26).margin(0.015));
  CHECK(repeats_with(100, 100).line == Approx(0.12).margin(0.015));
  CHECK(repeats_with(128, 132).line == 0);
  CHECK(repeats_with(128, 132).stored == 0);
  // Shared memory in the second half conflicts with all of L1's lines.
  CHECK(repeats_with(192, 196).line == Approx(0.86 * 64 / 192));
  // The destination of a copy is in shared memory's part.
  CHECK(repeats_with(16, 16).copy == repeats_with(128, 132).copy);
  CHECK(repeats_with(256, 228).copy == Approx(repeats_with(16, 16).copy / 2));
}

}  // namespace
}  // namespace gpuexp::test
