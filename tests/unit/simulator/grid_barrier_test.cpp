// Machine code that synchronizes the whole grid.
#include "sass/grid_barrier.hpp"

#include "support/catch.hpp"

namespace gpuexp::test {

TEST_CASE("a read of the grid's workspace is recognized by its offset", "[sim]") {
  CHECK(synchronizes_grid("ISETP.NE.AND.EX P0, PT, RZ, c[0x0][0x8c], PT, P0 ;", 80));
  CHECK(synchronizes_grid("MOV R1, c[0x0][0x28] ;\nULDC UR7, c[0x0][0x44] ;", 90));
  CHECK(synchronizes_grid("LDCU UR14, c[0x0][UR14+0x254] ;", 100));
  CHECK(synchronizes_grid("LDCU UR5, c[0x0][UR5+0x254] ;", 120));
}

TEST_CASE("other reads are no synchronization of the grid", "[sim]") {
  CHECK_FALSE(synchronizes_grid("", 90));
  CHECK_FALSE(synchronizes_grid("LDC R1, c[0x0][0x28] ;", 90));
  CHECK_FALSE(synchronizes_grid("LDC R1, c[0x3][0x44] ;", 90));
  CHECK_FALSE(synchronizes_grid("LDC R1, c[0x0][0x440] ;", 90));
  CHECK_FALSE(synchronizes_grid("LDG.E R1, desc[UR4][R2.64+0x44] ;", 90));
  CHECK_FALSE(synchronizes_grid("ULDC UR7, c[0x0][0x44] ;", 80));
  CHECK_FALSE(synchronizes_grid("LDC R1, c[0x0][R2+0x27c] ; LDG.E R1, [R2+0x254]", 100));
  CHECK_FALSE(synchronizes_grid("LDC R1, c[0x0][0x44", 90 + 10));
}

}  // namespace gpuexp::test
