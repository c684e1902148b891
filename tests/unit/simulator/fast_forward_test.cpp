// The simulator times only some iterations of a long loop and executes the others. The result
// equals that of timing all iterations.
#include <cmath>

#include <fmt/format.h>

#include "support/catch.hpp"
#include "support/timed_run.hpp"

namespace gpuexp::test {
namespace {

constexpr int kInstructionBytes = 16;
constexpr int kAddressCode = 2;  // instructions of TimedRun::address()
constexpr unsigned kLoopThreads = 8 * sim::kLanes;

/// A loop after `before` instructions. In each iteration, each warp loads, executes `body` and
/// waits at a barrier.
std::string timed_loop(int before, int iterations, const std::string& body = "") {
  return line("MOV R0, RZ", stall(6)) + line("LDG.E R4, desc[UR4][R2.64]", writes(0)) +
         line("FFMA R5, R5, R5, R4", waits(0)) + body +
         line("BAR.SYNC.DEFER_BLOCKING 0x0", stall(5)) + line("IADD3 R0, R0, 0x1, RZ", stall(6)) +
         line(fmt::format("ISETP.LT.AND P0, PT, R0, {:#x}, PT", iterations), stall(6)) +
         line(fmt::format("@P0 BRA {:#x}", (before + 1) * kInstructionBytes), stall(5));
}

struct Both {
  SmTime some;  ///< only some iterations are timed
  SmTime all;
};

Both times_of(const std::string& code, BlocksOfSm blocks) {
  Both both;
  both.some = TimedRun(code, kLoopThreads).time(parameters(), blocks);
  blocks.times_all = true;
  both.all = TimedRun(code, kLoopThreads).time(parameters(), blocks);
  return both;
}

void check_equal_times(const Both& both) {
  constexpr double kTolerance = 0.01;
  CHECK(both.all.untimed == 0);
  CHECK(both.some.instructions == both.all.instructions);
  CHECK(both.some.min_instructions == both.all.min_instructions);
  CHECK(both.some.clocks == Approx(both.all.clocks).epsilon(kTolerance));
  CHECK(both.some.block_clocks == Approx(both.all.block_clocks).epsilon(kTolerance));
  CHECK(both.some.steps == Approx(both.all.steps).epsilon(kTolerance));
  REQUIRE(both.some.starts.size() == both.all.starts.size());
  for (std::size_t i = 0; i < both.all.starts.size(); ++i)
    CHECK(both.some.starts[i] == Approx(both.all.starts[i]).epsilon(kTolerance));
  for (std::size_t i = 0; i < kSmParts; ++i) {
    INFO(name_of(static_cast<SmPart>(i)));
    CHECK(both.some.busy.of[i] == Approx(both.all.busy.of[i]).epsilon(kTolerance));
  }
  const double all = all_of(both.all).sum();
  for (std::size_t i = 0; i < both.all.places.size(); ++i) {
    INFO("place " << i);
    CHECK(std::abs(both.some.places[i].sum() - both.all.places[i].sum()) < kTolerance * all);
    CHECK(both.some.lookups[i].all == Approx(both.all.lookups[i].all).epsilon(kTolerance));
    CHECK(both.some.lookups[i].hits == Approx(both.all.lookups[i].hits).epsilon(kTolerance));
  }
}

TEST_CASE("a long loop takes as long as with all iterations timed", "[timing]") {
  const std::string code = TimedRun::address() + timed_loop(kAddressCode, 6000) + kExit;
  const int resident = GENERATE(1, 3);
  const Both both = times_of(code, {2 * resident, 1, resident});
  CHECK(both.some.untimed > both.some.instructions / 2);
  check_equal_times(both);
}

TEST_CASE("each of several loops is timed", "[timing]") {
  // An iteration of the second loop takes ten times as long.
  constexpr int kLoop = 7;
  const std::string first = TimedRun::address() + timed_loop(kAddressCode, 6000);
  const std::string slow = repeated(8, line("MUFU.EX2 R6, R1", stall(1)));
  const std::string code = first + timed_loop(kAddressCode + kLoop, 3000, slow) + kExit;
  const Both both = times_of(code, {1, 1, 1});
  CHECK(both.some.untimed > both.some.instructions / 2);
  check_equal_times(both);
}

TEST_CASE("warps may exit from within a long loop", "[timing]") {
  // Each warp exits after a different number of iterations.
  const std::string code =
      TimedRun::address() + line("S2R R1, SR_TID.X", stall(10)) +
      line("IADD3 R1, R1, 0x2000, RZ", stall(6)) + line("MOV R0, RZ", stall(6)) +
      line("ISETP.LT.AND P0, PT, R0, R1, PT", stall(6)) + line("@!P0 EXIT", stall(5)) +
      line("LDG.E R4, desc[UR4][R2.64]", writes(0)) + line("FFMA R5, R5, R5, R4", waits(0)) +
      line("IADD3 R0, R0, 0x4, RZ", stall(6)) +
      line(fmt::format("BRA {:#x}", (kAddressCode + 3) * kInstructionBytes), stall(5));
  const Both both = times_of(code, {4, 1, 2});
  CHECK(both.some.untimed > both.some.instructions / 2);
  check_equal_times(both);
}

TEST_CASE("code without a long loop is timed in full", "[timing]") {
  const std::string loop = TimedRun::address() + timed_loop(kAddressCode, 200) + kExit;
  CHECK(times_of(loop, {1, 1, 1}).some.untimed == 0);
  const std::string straight = repeated(20'000, line("FFMA R0, R1, R4, R6", stall(1))) + kExit;
  CHECK(times_of(straight, {1, 1, 1}).some.untimed == 0);
  // Many blocks with short loops.
  const Both blocks = times_of(loop, {40, 1, 2});
  CHECK(blocks.some.untimed == 0);
  CHECK(blocks.some.clocks == blocks.all.clocks);
}

TEST_CASE("a loop with mbarrier phases is timed in full", "[timing]") {
  const std::string body = line("@P6 SYNCS.ARRIVE.TRANS64.A1T0 R6, [URZ+0x8], RZ", stall(2));
  const std::string code = TimedRun::address() + timed_loop(kAddressCode, 6000, body) + kExit;
  CHECK(times_of(code, {1, 1, 1}).some.untimed == 0);
}

}  // namespace
}  // namespace gpuexp::test
