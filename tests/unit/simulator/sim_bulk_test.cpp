// Simulated mbarriers, which count arrivals and bytes, and bulk copies.
#include <cstring>
#include <string>
#include <vector>

#include <fmt/format.h>

#include "sim/mbarrier.hpp"
#include "support/catch.hpp"
#include "support/execution.hpp"

namespace gpuexp::test {
namespace {

using namespace sim;

/// Initializes a barrier for `arrivals` at address 8, with ptxas's instructions. P0 is set in lane
/// 0.
std::string with_barrier(unsigned arrivals) {
  const unsigned left = 0x100000 - arrivals;
  return fmt::format(
      "S2R R1, SR_LANEID;0\nISETP.EQ.AND P0, PT, R1, RZ, PT;0\n"
      "UMOV UR4, {:#x};0\nUMOV UR5, {:#x};0\nSYNCS.EXCH.64 URZ, [URZ+0x8], UR4;0\n",
      left << 1, left << 11);
}
constexpr const char* kArrive = "SYNCS.ARRIVE.TRANS64.A1T0 R4, [URZ+0x8], RZ;0\n";
/// Sets the predicate if the phase of this parity has ended.
std::string check(int predicate, const char* parity) {
  return fmt::format("SYNCS.PHASECHK.TRANS64 P{}, [URZ+0x8], {};0\n", predicate, parity);
}

TEST_CASE("an mbarrier is the 64 bits that kernels compose", "[sim]") {
  const Mbarrier made =
      Mbarrier::from_bits((std::uint64_t{0x100000 - 3} << 43) | (std::uint64_t{0x100000 - 3} << 1));
  CHECK(made.arrivals == 3);
  CHECK(made.pending == 3);
  CHECK(made.bytes == 0);
  CHECK(!made.parity);
  const Mbarrier odd{5, 2, -16, true};
  const Mbarrier back = Mbarrier::from_bits(odd.bits());
  CHECK(back.arrivals == 5);
  CHECK(back.pending == 2);
  CHECK(back.bytes == -16);
  CHECK(back.parity);
}

TEST_CASE("a phase of an mbarrier ends with its last arrival", "[sim]") {
  Execution e(with_barrier(32) + check(1, "RZ") + kArrive + check(2, "RZ") +
              "MOV R2, 0x80000000;0\n" + check(3, "R2") + check(4, "R5") + kArrive +
              check(5, "RZ") + check(6, "R2"));
  e.run();
  CHECK(e.predicate(1) == 0);
  CHECK(e.predicate(2) == kAllLanes);  // the first phase has ended
  CHECK(e.predicate(3) == 0);          // the second has not
  CHECK(e.predicate(4) == kAllLanes);  // by the arrival's own state
  CHECK(e.predicate(5) == 0);          // the third phase has its parity
  CHECK(e.predicate(6) == kAllLanes);
}

TEST_CASE("an arrival returns the pending count before it", "[sim]") {
  Execution e(with_barrier(33) + kArrive);
  e.run();
  const auto pending = [](std::uint32_t state) { return 0x100000 - (state >> 11 & 0xfffff); };
  CHECK(pending(e.reg(5, 0)) == 33);
  CHECK(pending(e.reg(5, 31)) == 2);
}

// Warp 0 waits at the barrier; warp 1 arrives.
std::string waiting_warps(unsigned arrivals) {
  return with_barrier(arrivals) +
         "S2R R3, SR_TID.X;0\nISETP.GE.AND P2, PT, R3, 0x20, PT;0\nBAR.SYNC.DEFER_BLOCKING 0x0;0\n"
         "@P2 BRA 0xd0;0\n"
         "SYNCS.PHASECHK.TRANS64.TRYWAIT P1, [URZ+0x8], RZ;0\nVIADD R2, R2, 0x1;0\n"
         "@!P1 BRA 0x90;0\nEXIT;0\n" +
         "SYNCS.ARRIVE.TRANS64.A1T0 R4, [URZ+0x8], RZ;0\n";
}

TEST_CASE("warps that wait at an mbarrier let other warps run", "[sim]") {
  Execution e(waiting_warps(32), 2);
  e.run();
  CHECK(e.reg(2) > 1);
  CHECK(e.reg(2) < 10);
  CHECK(e.predicate(1) == kAllLanes);
}

TEST_CASE("a phase that never ends is a fault", "[sim]") {
  Execution e(waiting_warps(33), 2);
  CHECK_THROWS_WITH(e.run(), contains_text("phases of mbarriers that never end"));
}

TEST_CASE("waiting lanes let other lanes of their warp arrive", "[sim]") {
  // All lanes except 0 wait first; then lane 0 arrives.
  Execution e(with_barrier(1) +
              "@P0 BRA 0x90;0\nSYNCS.PHASECHK.TRANS64.TRYWAIT P1, [URZ+0x8], RZ;0\n"
              "@!P1 BRA 0x60;0\nEXIT;0\n" +
              kArrive);
  e.run();
  CHECK(e.predicate(1) == (kAllLanes & ~1u));
}

TEST_CASE("bytes may arrive before or after their announcement", "[sim]") {
  const std::string bytes = "MOV R6, 0x20;0\n";
  const std::string announce = "@P0 SYNCS.ARRIVE.TRANS64 RZ, [URZ+0x8], R6;0\n";
  const std::string come = "@P0 SYNCS.ARRIVE.TRANS64.RED.A0TX RZ, [URZ+0x8], R6;0\n";
  SECTION("after") {
    Execution e(with_barrier(1) + bytes + announce + check(1, "RZ") + come + check(2, "RZ"));
    e.run();
    CHECK(e.predicate(1) == 0);
    CHECK(e.predicate(2) == kAllLanes);
  }
  SECTION("before") {
    Execution e(with_barrier(1) + bytes + come + check(1, "RZ") + announce + check(2, "RZ"));
    e.run();
    CHECK(e.predicate(1) == 0);
    CHECK(e.predicate(2) == kAllLanes);
  }
  SECTION("announced without an arrival") {
    Execution e(with_barrier(1) + bytes +
                "@P0 SYNCS.ARRIVE.TRANS64.RED.A0TR RZ, [URZ+0x8], R6;0\n" +
                "@P0 SYNCS.ARRIVE.TRANS64.A1T0 RZ, [URZ+0x8], RZ;0\n" + check(1, "RZ") + come +
                check(2, "RZ"));
    e.run();
    CHECK(e.predicate(1) == 0);
    CHECK(e.predicate(2) == kAllLanes);
  }
  SECTION("too few bytes") {
    Execution e(with_barrier(1) + bytes + announce + "MOV R6, 0x10;0\n" + come + check(1, "RZ"));
    e.run();
    CHECK(e.predicate(1) == 0);
  }
}

TEST_CASE("a thread that leaves an mbarrier is no longer expected", "[sim]") {
  Execution e(with_barrier(32) + "SYNCS.ARRIVE.TRANS64.OPTOUT.A1T0 RZ, [URZ+0x8], RZ;0\n");
  e.run();
  CHECK_THROWS_WITH(read_mbarrier(e.block(), 8), contains_text("no mbarrier"));
  Execution one(with_barrier(2) + "@P0 SYNCS.ARRIVE.TRANS64.OPTOUT.A1T0 RZ, [URZ+0x8], RZ;0\n" +
                "@P0 SYNCS.ARRIVE.TRANS64.A1T0 RZ, [URZ+0x8], RZ;0\n");
  one.run();
  CHECK(read_mbarrier(one.block(), 8).pending == 1);
  CHECK(read_mbarrier(one.block(), 8).parity);
}

TEST_CASE("errors of mbarriers are reported", "[sim]") {
  CHECK_THROWS_WITH(Execution(kArrive).run(), contains_text("no mbarrier was initialized at 0x8"));
  CHECK_THROWS_WITH(Execution(with_barrier(32) + "SYNCS.CCTL.IV [URZ+0x8];0\n" + kArrive).run(),
                    contains_text("no mbarrier was initialized"));
  Execution e(with_barrier(3) + "MOV R6, 0x4;0\n" +
              "@P0 SYNCS.ARRIVE.TRANS64.ART0 RZ, [URZ+0x8], R6;0\n");
  CHECK_THROWS_WITH(e.run(), contains_text("receives 4 arrivals, but expects 3"));
  CHECK_THROWS_WITH(Execution("SYNCS.EXCH.64 URZ, [URZ+0x4], UR4;0\n").run(),
                    contains_text("not aligned"));
  CHECK_THROWS_WITH(Execution("SYNCS.ARRIVE.TRANS64.TMASK.ART0 R8, [R17+URZ], R16;0\n"),
                    contains_text("this form is not executed"));
}

std::string uniform_address(unsigned index, const void* at, std::size_t offset = 0) {
  const std::uint64_t address = reinterpret_cast<std::uint64_t>(at) + offset;
  return fmt::format("UMOV UR{}, {:#x};0\nUMOV UR{}, {:#x};0\n", index, address & 0xffffffff,
                     index + 1, address >> 32);
}

struct alignas(16) Words {
  std::uint32_t of[32];
};

// Copies 64 bytes to shared memory at 0x100, and from there to the second half.
std::string copies(const Words& data, const char* size, std::size_t offset = 0) {
  return with_barrier(1) + "MOV R6, 0x40;0\n@P0 SYNCS.ARRIVE.TRANS64 RZ, [URZ+0x8], R6;0\n" +
         "UMOV UR6, 0x100;0\nUMOV UR7, 0x8;0\n" + uniform_address(8, data.of, offset) +
         fmt::format("UMOV UR10, {};0\n", size) + "UBLKCP.S.G [UR6], [UR8], UR10;0\n" +
         check(1, "RZ") + uniform_address(8, data.of, 64) + "UBLKCP.G.S [UR8], [UR6], UR10;0\n" +
         "UTMACMDFLUSH;0\nDEPBAR.LE SB0, 0x0;0\n";
}

TEST_CASE("a bulk copy moves its bytes and signals the mbarrier", "[sim]") {
  Words data{};
  for (unsigned i = 0; i < 16; ++i)
    data.of[i] = i + 1;
  Execution e(copies(data, "0x4"));
  e.memory().add(data.of, sizeof data.of);
  e.run();
  CHECK(e.predicate(1) == kAllLanes);
  CHECK(std::memcmp(data.of + 16, data.of, 64) == 0);
  CHECK(data.of[31] == 16);
  // It bypasses the LSU.
  CHECK(e.block().memory.load_requests == 0);
  CHECK(e.block().memory.store_requests == 0);
}

TEST_CASE("a bulk copy of too few bytes ends no phase", "[sim]") {
  Words data{};
  Execution e(copies(data, "0x3"));
  e.memory().add(data.of, sizeof data.of);
  e.run();
  CHECK(e.predicate(1) == 0);
}

TEST_CASE("a bulk copy beyond its buffer or of partial units is a fault", "[sim]") {
  Words data{};
  Execution beyond(copies(data, "0x9"));
  beyond.memory().add(data.of, sizeof data.of);
  CHECK_THROWS_WITH(beyond.run(), contains_text("144 bytes at") && contains_text("are outside of every buffer"));
  Execution unaligned(copies(data, "0x1", 4));
  unaligned.memory().add(data.of, sizeof data.of);
  CHECK_THROWS_WITH(unaligned.run(), contains_text("not aligned to 16 bytes"));
}

TEST_CASE("a loop over one lane at a time visits each value once", "[sim]") {
  // ptxas's code: R2 counts iterations, and R1 = lane / 8.
  Execution e(
      "S2R R1, SR_LANEID;0\nSHF.R.U32.HI R1, RZ, 0x3, R1;0\n"
      "PLOP3.LUT P1, PT, PT, PT, PT, 0x80, 0x0;0\n"
      "PLOP3.LUT P0, PT, P0, P1, PT, 0xa2, 0x0;0\n@P1 R2UR P0, UR6, R1;0\n"
      "PLOP3.LUT P0, PT, P0, P1, PT, 0xa2, 0x0;0\n@P1 R2UR.OR P0, UR7, R1;0\n"
      "@P1 PLOP3.LUT P1, PT, P0, PT, PT, 0x80, 0x0;0\n"
      "VIADD R2, R2, 0x1;0\nIADD3 R3, R3, UR6, RZ;0\n@P1 BRA.U.ANY 0x30;0\n");
  e.run();
  CHECK(e.reg(2) == 4);
  CHECK(e.reg(3) == 0 + 1 + 2 + 3);
  Execution elected(
      "PLOP3.LUT P0, PT, PT, PT, PT, 0x80, 0x0;0\n@P0 ELECT P1, URZ, PT;0\n"
      "VIADD R2, R2, 0x1;0\n@P1 PLOP3.LUT P0, PT, P1, PT, PT, 0x8, 0x0;0\n"
      "PLOP3.LUT P1, PT, PT, PT, PT, 0x8, 0x0;0\n@P0 BRA.U.ANY 0x10;0\n"
      "ELECT P2, UR4, PT;0\n");
  elected.run();
  CHECK(elected.reg(2) == 32);
  CHECK(elected.predicate(2) == 1);
}

}  // namespace
}  // namespace gpuexp::test
