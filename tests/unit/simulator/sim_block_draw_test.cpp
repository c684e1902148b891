// Which blocks represent a grid.
#include <algorithm>
#include <set>

#include "sim/block_draw.hpp"
#include "support/catch.hpp"

namespace gpuexp::test {
namespace {

using sim::BlockDraw;
using sim::Stratum;

TEST_CASE("strata contain each block once, and no block is drawn twice", "[sim]") {
  const Extent grid =
      GENERATE(Extent{1, 1, 1}, Extent{2, 1, 1}, Extent{7, 1, 1}, Extent{1, 5, 1}, Extent{3, 4, 1},
               Extent{2, 2, 2}, Extent{5, 3, 4}, Extent{65536, 1, 1}, Extent{128, 32, 1});
  CAPTURE(grid.x, grid.y, grid.z);
  BlockDraw draw(grid, 7);
  std::set<std::int64_t> drawn;
  for (const std::int64_t intervals : {2, 4, 8, 16}) {
    const auto before = static_cast<std::int64_t>(drawn.size());
    std::int64_t blocks = 0;
    for (const Stratum& stratum : draw.draw(intervals)) {
      blocks += stratum.blocks;
      CHECK(stratum.drawn.size() ==
            static_cast<std::size_t>(std::min<std::int64_t>(2, stratum.blocks)));
      for (const std::int64_t number : stratum.drawn) {
        CHECK(number >= 0);
        CHECK(number < grid.count());
        CHECK(drawn.insert(number).second);
      }
    }
    CHECK(blocks == grid.count() - before);
  }
}

TEST_CASE("the first draw has the first block and each kind of last block", "[sim]") {
  const Extent grid{100, 50, 1};
  std::set<std::int64_t> drawn;
  for (const Stratum& stratum : BlockDraw(grid, 1).draw(2))
    drawn.insert(stratum.drawn.begin(), stratum.drawn.end());
  const auto has = [&](auto is) { return std::any_of(drawn.begin(), drawn.end(), is); };
  CHECK(drawn.count(0) == 1);
  CHECK(drawn.count(grid.count() - 1) == 1);
  CHECK(has([](std::int64_t i) { return i % 100 == 99 && i / 100 != 49; }));
  CHECK(has([](std::int64_t i) { return i / 100 == 49 && i % 100 != 99; }));
}

TEST_CASE("equal seeds draw equal blocks, and different seeds different blocks", "[sim]") {
  const auto blocks = [](std::uint64_t seed) {
    std::vector<std::int64_t> drawn;
    for (const Stratum& stratum : BlockDraw({10000, 1, 1}, seed).draw(8))
      drawn.insert(drawn.end(), stratum.drawn.begin(), stratum.drawn.end());
    return drawn;
  };
  CHECK(blocks(1) == blocks(1));
  CHECK(blocks(1) != blocks(2));
}

// Totals estimated from strata are therefore unbiased.
TEST_CASE("all blocks of a stratum are equally likely", "[sim]") {
  constexpr int kDraws = 4000;
  double sum = 0;
  const Extent grid{31, 1, 1};
  for (int seed = 0; seed < kDraws; ++seed) {
    BlockDraw draw(grid, static_cast<std::uint64_t>(seed));
    draw.draw(1);  // known after this
    for (const Stratum& stratum : draw.draw(2)) {
      double mean = 0;
      for (const std::int64_t number : stratum.drawn)
        mean += static_cast<double>(number * number) / static_cast<double>(stratum.drawn.size());
      sum += mean * static_cast<double>(stratum.blocks);
    }
  }
  // The first draw had 0, 30, and two of the other blocks, whose squares sum to 8555.
  const double expected = 8555.0 * 27 / 29;
  CHECK(sum / kDraws == Approx(expected).epsilon(0.01));
}

}  // namespace
}  // namespace gpuexp::test
