// Stores to parts of sectors that reach L2 as one sector.
#include "timing/partial_stores.hpp"

#include "support/catch.hpp"

namespace gpuexp::test {
namespace {

constexpr std::uint64_t kWarp = 3;
constexpr std::uint64_t kSectorsPerLine = 4;

/// Whether a store to sector 0 joins the warp's store to it at cycle 0, if the warp stores parts of
/// `lines` other lines in between, one every cycle, and then waits until cycle `when`.
bool joins_after(std::uint64_t lines, double when) {
  PartialStores stores;
  REQUIRE_FALSE(stores.joins(kWarp, 0, 0, false));
  for (std::uint64_t line = 1; line <= lines; ++line)
    REQUIRE_FALSE(stores.joins(kWarp, line * kSectorsPerLine, static_cast<double>(line), false));
  return stores.joins(kWarp, 0, when, false);
}

TEST_CASE("parts of a sector join if few lines are stored in between", "[partial_stores]") {
  // docs/studies/caches/partial_stores.csv: 8 lines per instruction, one or two instructions apart
  CHECK(joins_after(0, 1));
  CHECK(joins_after(15, 16));
  CHECK_FALSE(joins_after(16, 17));
  CHECK_FALSE(joins_after(31, 32));
}

TEST_CASE("parts of a sector join only if they follow soon", "[partial_stores]") {
  CHECK(joins_after(0, 32));
  CHECK_FALSE(joins_after(0, 100));
  PartialStores stores;
  for (int i = 0; i < 8; ++i)  // each part prolongs the time for the next one
    CHECK(stores.joins(kWarp, 0, 50 * i, false) == (i > 0));
}

TEST_CASE("parts of two sectors, or of two warps, do not join", "[partial_stores]") {
  PartialStores stores;
  CHECK_FALSE(stores.joins(kWarp, 0, 0, false));
  CHECK_FALSE(stores.joins(kWarp, 1, 1, false));
  CHECK_FALSE(stores.joins(kWarp + 1, 0, 2, false));
  CHECK(stores.joins(kWarp, 0, 3, false));
  CHECK(stores.joins(kWarp, 1, 4, false));
  CHECK(stores.joins(kWarp + 1, 0, 5, false));
}

TEST_CASE("stores of several warps that wait for L2 take turns", "[partial_stores]") {
  // Each instruction stores parts of sectors of this number of lines.
  for (const std::uint64_t lines : {4u, 5u, 16u}) {
    for (const bool has_others : {false, true}) {
      INFO(lines << " lines, other warps: " << has_others);
      PartialStores stores;
      if (has_others) stores.joins(kWarp + 1, 1000, 0, true);
      for (const double now : {1.0, 2.0}) {
        for (std::uint64_t line = 0; line < lines; ++line) {
          const bool second = now == 2;
          const bool keeps = has_others ? lines <= 4 : true;
          CHECK(stores.joins(kWarp, line * kSectorsPerLine, now, true) == (second && keeps));
        }
      }
    }
  }
}

}  // namespace
}  // namespace gpuexp::test
