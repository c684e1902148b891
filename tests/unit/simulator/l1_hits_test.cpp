// Wavefronts of loads that hit in L1, as counted on an H200 (docs/studies/caches/l1_hits.py).
#include <cmath>
#include <fstream>
#include <string>

#include "support/catch.hpp"
#include "timing/memory_path.hpp"

namespace gpuexp::test {
namespace {

/// A row of l1_hits.csv. Lanes below `resident` hit in L1; the others load new lines each time.
struct CountedLoad {
  int bytes = 0;
  int stride = 0;  ///< elements
  int resident = 0;
  double data = 0;  ///< wavefronts per request
  double tags = 0;
  double cycles = 0;  ///< per request

  bool hits() const { return resident == static_cast<int>(sim::kLanes); }
};

std::vector<CountedLoad> counted_loads() {
  std::ifstream file(GPUEXP_SOURCE_DIR "/docs/studies/caches/l1_hits.csv");
  std::string head;
  std::getline(file, head);
  std::vector<CountedLoad> rows;
  CountedLoad row;
  char comma = 0;
  while (file >> row.bytes >> comma >> row.stride >> comma >> row.resident >> comma >> row.data >>
         comma >> row.tags >> comma >> row.cycles)
    rows.push_back(row);
  return rows;
}

/// The `iteration`-th request of l1_hits.cu.
sim::GlobalTouch touch_of_iteration(const CountedLoad& row, std::uint64_t iteration,
                                    std::uint64_t& missing) {
  constexpr std::uint64_t kBegin = std::uint64_t{1} << 30;
  constexpr std::uint64_t kStream = kBegin + (std::uint64_t{1} << 22);
  constexpr std::uint64_t kStep = 33 * 33 * 128;
  sim::Lanes64 address;
  for (unsigned l = 0; l < sim::kLanes; ++l) {
    const bool is_resident = static_cast<int>(l) < row.resident;
    address[l] = (is_resident ? kBegin : kStream + iteration * kStep) +
                 l * static_cast<std::uint64_t>(row.stride * row.bytes);
  }
  const auto touch = sim::touch_of({sim::Space::global, sim::Access::load,
                                    static_cast<unsigned>(row.bytes), sim::kAllLanes, address});
  missing = 0;
  for (std::size_t i = 0; i < touch.count; ++i) {
    if (touch.sectors[i] * 32 >= kStream) missing |= std::uint64_t{1} << i;
  }
  return touch;
}

struct ExpectedStages {
  double data = 0;
  double tags = 0;
};

ExpectedStages expected_stages(const CountedLoad& row) {
  constexpr int kIterations = 1024;
  ExpectedStages mean;
  for (std::uint64_t iteration = 0; iteration < kIterations; ++iteration) {
    std::uint64_t missing = 0;
    const sim::GlobalTouch touch = touch_of_iteration(row, iteration, missing);
    mean.data += delivered_wavefronts(touch, missing) / kIterations;
    mean.tags += touch.tag_wavefronts / static_cast<double>(kIterations);
  }
  return mean;
}

TEST_CASE("wavefronts of L1 hits depend only on banks, not on the number of lines", "[l1_hits]") {
  int rows = 0;
  for (const CountedLoad& row : counted_loads()) {
    if (!row.hits()) continue;
    const ExpectedStages mean = expected_stages(row);
    INFO(row.bytes << " bytes, stride " << row.stride);
    CHECK(row.data == Approx(mean.data).margin(0.06));
    CHECK(row.tags == Approx(mean.tags).margin(0.02));
    // Eight warps keep the busier stage busy, except in the first wavefront.
    CHECK(row.cycles == Approx(std::max(mean.data, mean.tags)).epsilon(0.03).margin(0.7));
    ++rows;
  }
  CHECK(rows == 93);
}

TEST_CASE("each lookup of a missing line takes a data-stage wavefront", "[l1_hits]") {
  double error = 0;
  int rows = 0;
  for (const CountedLoad& row : counted_loads()) {
    if (row.hits()) continue;
    const ExpectedStages mean = expected_stages(row);
    INFO(row.bytes << " bytes, stride " << row.stride << ", " << row.resident << " lanes resident");
    CHECK(row.tags >= mean.tags * 0.99);
    // Missing lanes are derived from sectors and rounded up.
    CHECK(row.data >= mean.data * 0.92);
    // Lines are looked up again while all of L1 is in flight.
    CHECK(row.data <= mean.data * 1.5);
    error += std::abs(row.data / mean.data - 1);
    ++rows;
  }
  CHECK(rows == 180);
  CHECK(error / rows <= 0.05);
}

}  // namespace
}  // namespace gpuexp::test
