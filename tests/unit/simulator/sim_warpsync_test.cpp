#include "support/catch.hpp"
#include "support/execution.hpp"

namespace gpuexp::test {
namespace {

// Lanes 0 to 15 wait for the whole warp. Lanes 16 to 31, which branch apart, then wait for each
// other, and afterwards for the whole warp.
TEST_CASE("lanes at a WARPSYNC do not count as waiting at one with another mask", "[sim]") {
  Execution execution(
      "S2R R0, SR_LANEID;0\n"                      // 0x00
      "MOV R5, 0xffff0000;0\n"                     // 0x10
      "ISETP.LT.U32.AND P0, PT, R0, 0x10, PT;0\n"  // 0x20
      "ISETP.LT.U32.AND P1, PT, R0, 0x18, PT;0\n"  // 0x30
      "@!P0 BRA 0x60;0\n"                          // 0x40
      "BRA 0x90;0\n"                               // 0x50
      "@P1 BRA 0x80;0\n"                           // 0x60
      "NOP;0\n"                                    // 0x70
      "WARPSYNC R5;0\n"                            // 0x80
      "WARPSYNC 0xffffffff;0\n"                    // 0x90
      "VOTE.ANY R3, PT, PT;0\n");                  // 0xa0
  execution.run();
  for (const unsigned lane : {0u, 15u, 16u, 31u})
    CHECK(execution.reg(3, lane) == ~0u);
}

}  // namespace
}  // namespace gpuexp::test
