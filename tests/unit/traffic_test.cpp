// What addresses come to in the memory system, and what L2 makes of a matrix product.
#include "family/warp_access.hpp"
#include "model/l2_cache.hpp"
#include "support/catch.hpp"
#include "support/toy_family.hpp"

namespace gpuexp::test {
namespace {

TEST_CASE("rows count the sectors and lines that they touch, wherever they start") {
  const auto sectors = [](int rows, int bytes, int pitch) {
    return rows_access(rows, bytes, pitch).sectors;
  };
  CHECK(sectors(1, 128, 4096) == 4);
  CHECK(sectors(16, 32, 4096) == 16);
  CHECK(sectors(1, 4, 4096) == 1);
  CHECK(sectors(1, 64, 16) == 2.5);                  // half of the rows start in mid-sector
  CHECK(sectors(1, 64, 4 * 1023) == 1 + 60.0 / 32);  // every multiple of 4 as often
  CHECK(sectors(1, 62, 2 * 1023) == 1 + 60.0 / 32);
  CHECK(rows_access(2, 64, 4096).wavefronts == 2);
  CHECK(rows_access(1, 512, 4096).wavefronts == 4);
}

TEST_CASE("the mean over rows is that of the rows themselves") {
  constexpr int kPitch = 4 * 1021;
  constexpr int kRows = 32;
  double sectors = 0;
  for (int row = 0; row < kRows; ++row) {
    const auto a = global_access(4, [=](int lane) { return row * kPitch + 4 * lane; });
    sectors += a.sectors;
  }
  CHECK(rows_access(1, 128, kPitch).sectors == Approx(sectors / kRows));
}

TEST_CASE(
    "shared accesses of 16 bytes go in quarters of a warp, in halves where lanes are paired") {
  const auto wavefronts = [](auto piece) {
    return shared_access(16, [=](int lane) { return 16 * piece(lane); }).wavefronts;
  };
  CHECK(wavefronts([](int lane) { return lane; }) == 4);
  CHECK(wavefronts([](int) { return 0; }) == 2);
  CHECK(wavefronts([](int lane) { return lane / 2; }) == 2);
  CHECK(wavefronts([](int lane) { return lane % 2 + lane / 4 * 2; }) == 2);
  CHECK(wavefronts([](int lane) { return lane % 8; }) == 4);
  CHECK(wavefronts([](int lane) { return lane % 16; }) == 4);
  CHECK(wavefronts([](int lane) { return 8 * lane; }) == 32);
  CHECK(shared_access(4).wavefronts == 1);
  CHECK(shared_access(4, [](int lane) { return 128 * lane; }).wavefronts == 32);
}

/// 40 × 20 tiles; with 100 SMs of the toy device as many blocks at a time.
PanelWalk toy_walk() {
  PanelWalk walk{};
  walk.rows = 40;
  walk.columns = 20;
  walk.row_panel_bytes = 1 << 20;
  walk.column_panel_bytes = 2 << 20;
  walk.output_bytes = 1 << 20;
  walk.group_rows = 40;
  walk.blocks_at_a_time = 100;
  walk.stall_pattern = StallPattern::arithmetic;
  return walk;
}

TEST_CASE("a product reads its panels once where L2 holds it, and once per round where not") {
  const DeviceSpec device = toy_device();
  constexpr double kMb = 1 << 20;
  PanelWalk walk = toy_walk();
  // Eight rounds of 40 rows and 2.5 columns.
  CHECK(panel_bytes_read(walk, device) == Approx(8 * (40 + 2.5 * 2) * kMb));
  walk.group_rows = 10;
  CHECK(panel_bytes_read(walk, device) == Approx(8 * (10 + 10 * 2) * kMb));
  walk.blocks_at_a_time = 400;  // two groups in all columns
  CHECK(panel_bytes_read(walk, device) == Approx(2 * (20 + 20 * 2) * kMb));
  walk.blocks_at_a_time = 1000;  // more than there are
  CHECK(panel_bytes_read(walk, device) == Approx((40 + 20 * 2) * kMb));
  walk.row_panel_bytes = 1 << 10;
  walk.column_panel_bytes = 1 << 10;
  CHECK(panel_bytes_read(walk, device) == 60 * 1024);
}

TEST_CASE("blocks of one round ask for each line once, those of the next for theirs again") {
  PanelWalk walk{4, 4, 1e6, 2e6, 0, 4, 16, StallPattern::loads};
  CHECK(panel_bytes_asked(walk) == Approx(4 * 1e6 + 4 * 2e6));
  walk.blocks_at_a_time = 4;  // a column of tiles: all rows of A, and a column of B
  CHECK(panel_bytes_asked(walk) == Approx(4 * (4 * 1e6 + 2e6)));
  walk.blocks_at_a_time = 1000;
  CHECK(panel_bytes_asked(walk) == Approx(4 * 1e6 + 4 * 2e6));
}

TEST_CASE("blocks that nothing holds together read rows for themselves, or more than once") {
  const DeviceSpec device = toy_device();
  constexpr double kMb = 1 << 20;
  PanelWalk walk = toy_walk();
  const double in_step = panel_bytes_read(walk, device);
  walk.stall_pattern = StallPattern::loads;
  CHECK(panel_bytes_read(walk, device) > in_step);
  walk.stall_pattern = StallPattern::none;
  CHECK(panel_bytes_read(walk, device) == Approx((40 * 20 + 20 * 2) * kMb));
  walk.row_panel_bytes = kMb / 8;  // a round's rows fit L2
  CHECK(panel_bytes_read(walk, device) == Approx(8 * (40 / 8.0 + 2.5 * 2) * kMb));
  CHECK(seen_by_l2(100, StallPattern::none) == 100);
  CHECK(seen_by_l2(100, StallPattern::loads) < 100);
}

}  // namespace
}  // namespace gpuexp::test
