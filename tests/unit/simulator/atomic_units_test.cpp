// Atomic operations in L2's slices.
#include "timing/atomic_units.hpp"

#include <functional>
#include <numeric>

#include "support/catch.hpp"

namespace gpuexp::test {
namespace {

using sim::kAllLanes;
using sim::LaneMask;

/// A reduction in which lane i adds to the word at 4·word(i).
class Addition {
 public:
  explicit Addition(const std::function<std::uint64_t(unsigned)>& word, LaneMask lanes = kAllLanes)
      : lanes_(lanes) {
    for (unsigned l = 0; l < sim::kLanes; ++l)
      address_[l] = 4 * word(l);
  }
  sim::MemoryAccess access() const {
    return {sim::Space::global, sim::Access::reduction, 4, lanes_, address_};
  }
  AtomicOperations operations() const { return atomic_operations(access()); }

 private:
  LaneMask lanes_;
  sim::Lanes64 address_;
};

double sum_of(const AtomicOperations& all) {
  return std::accumulate(
      all.slices.begin(), all.slices.begin() + static_cast<std::ptrdiff_t>(all.count), 0.0,
      [](double sum, const AtomicOperations::InSlice& s) { return sum + s.operations; });
}

TEST_CASE("lanes that add to one word are processed one after another", "[atomic_units]") {
  // The requests of docs/studies/atomics, and an H200's l2_atomic_cycles for them.
  const auto operations = [](std::uint64_t words, LaneMask lanes = kAllLanes) {
    return sum_of(Addition([=](unsigned lane) { return lane % words; }, lanes).operations());
  };
  CHECK(operations(1) == 32);
  CHECK(operations(1, 1) == 1);
  CHECK(operations(2) == 16);
  CHECK(operations(8) == 4);
  CHECK(operations(16) == 4);
  CHECK(operations(32) == 4);
  CHECK(Addition([](unsigned lane) { return lane; }).operations().sectors == 4);
  CHECK(Addition([](unsigned lane) { return 8 * lane; }).operations().sectors == 32);
}

TEST_CASE("lines 0, 1, 4 and 5 of a KiB are in one slice", "[atomic_units]") {
  const auto slice_of_line = [](std::uint64_t line) {
    return Addition([=](unsigned) { return 32 * line; }, 1).operations().slices[0].slice;
  };
  for (const std::uint64_t kib : {0u, 5u, 1000u}) {
    const std::uint64_t line = 8 * kib;
    for (const std::uint64_t same : {1u, 4u, 5u})
      CHECK(slice_of_line(line + same) == slice_of_line(line));
    for (const std::uint64_t other : {2u, 3u, 6u, 7u})
      CHECK(slice_of_line(line + other) == slice_of_line(line + 2));
    CHECK(slice_of_line(line) != slice_of_line(line + 2));
  }
}

TEST_CASE("a busy slice delays its operations, and not those of other slices", "[atomic_units]") {
  const AtomicRates rates{10, 0};
  AtomicUnits units(rates);
  const Addition one([](unsigned) { return 0; });
  const Addition other([](unsigned) { return 64; });
  CHECK(units.serve(100, one.access()).done == 100 + 320);
  CHECK(units.serve(100, one.access()).done == 100 + 640);
  CHECK(units.serve(100, other.access()).done == 100 + 320);
  CHECK(units.busy() == 640);
  CHECK(units.last() == 740);
  const AtomicRates by_sector{0, 3};
  AtomicUnits path(by_sector);
  const Addition spread([](unsigned lane) { return 64 * lane; });
  CHECK(path.serve(0, spread.access()).done == 96);
  CHECK(path.serve(0, one.access()).done == 99);
}

TEST_CASE("an SM waits if L2 has not executed its earlier atomic requests", "[atomic_units]") {
  const AtomicRates rates{10, 0};
  AtomicUnits units(rates);
  const Addition one([](unsigned) { return 0; }, 1);
  constexpr int kAtOnce = 64;
  for (int i = 0; i < kAtOnce; ++i)
    CHECK(units.serve(0, one.access()).taken == 0);
  CHECK(units.serve(0, one.access()).taken == 10);
  CHECK(units.serve(0, one.access()).taken == 20);
  CHECK(units.serve(1000, one.access()).taken == 1000);
}

}  // namespace
}  // namespace gpuexp::test
