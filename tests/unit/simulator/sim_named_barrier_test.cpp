// Named barriers: ordered accesses, races, and missing threads.
#include <optional>
#include <string>
#include <vector>

#include <fmt/format.h>

#include "sim/warp_order.hpp"
#include "support/catch.hpp"
#include "support/execution.hpp"

namespace gpuexp::test {
namespace {

using namespace sim;

/// R1: the warp. R3: the lane. R2: four times the lane.
const std::string kWarpInR1 =
    "//a.cu\n#0:1\nS2R R4, SR_TID.X;0\nSHF.R.U32.HI R1, RZ, 0x5, R4;0\nS2R R3, SR_LANEID;0\n"
    "SHF.L.U32 R2, R3, 0x2, RZ;0\n";

/// Code that only this warp executes, padded to 16 instructions.
std::string of_warp(unsigned warp, const std::string& code) {
  constexpr int kPart = 16;
  const auto lines = [](const std::string& text) {
    int count = 0;
    for (const char c : text)
      count += c == ';';
    return count;
  };
  const int begin = lines(kWarpInR1) + kPart * static_cast<int>(warp);
  std::string part = fmt::format("ISETP.NE.AND P0, PT, R1, {:#x}, PT;0\n@P0 BRA {:#x};0\n", warp,
                                 16 * (begin + kPart));
  part += code;
  while (lines(part) < kPart)
    part += "NOP;0\n";
  return part;
}

std::optional<Fault> fault_of(const std::vector<std::string>& warps) {
  std::string code = kWarpInR1;
  for (unsigned w = 0; w < warps.size(); ++w)
    code += of_warp(w, warps[w]);
  Execution e(code, static_cast<unsigned>(warps.size()));
  try {
    e.run();
  } catch (const Fault& fault) {
    return fault;
  }
  return std::nullopt;
}

const std::string kStore = "#0:2\nSTS [R2], R1;0\n";
const std::string kLoad = "#0:3\nLDS R5, [R2];0\n";

std::string sync(unsigned barrier, unsigned threads) {
  return fmt::format("BAR.SYNC.DEFER_BLOCKING {:#x}, {:#x};0\n", barrier, threads);
}
std::string arrive(unsigned barrier, unsigned threads) {
  return fmt::format("BAR.ARV {:#x}, {:#x};0\n", barrier, threads);
}

TEST_CASE("a named barrier that some warps never reach is reported with its arrivals", "[sim]") {
  const auto fault = fault_of({"#0:7\n" + sync(3, 96), sync(3, 96), "", sync(4, 64)});
  REQUIRE(fault);
  CHECK(fault->kind == FaultKind::barrier);
  CHECK(fault->place == "a.cu:7");
  CHECK_THAT(
      fault->words,
      contains_text("barrier 3 is never reached by all of its threads: 64 of 96 have arrived; "
                    "barrier 4 is never reached by all of its threads: 32 of 64 have arrived"));
  CHECK_THAT(fault->words, contains_text("exited threads: 32"));
  CHECK(!fault_of({sync(3, 96), sync(3, 96), arrive(3, 96)}));
  const auto block = fault_of({"BAR.SYNC.DEFER_BLOCKING 0x0;0\n", sync(1, 64)});
  REQUIRE(block);
  CHECK_THAT(
      block->words,
      contains_text("barrier 0 is never reached by all of its threads: 32 of 64 have arrived; "
                    "barrier 1 is never reached by all of its threads: 32 of 64 have arrived"));
}

TEST_CASE("a barrier and its thread count may be in registers", "[sim]") {
  const auto waits = [](const std::string& bar) {
    return fault_of({kStore + sync(5, 64), bar + kLoad});
  };
  CHECK(!waits("MOV R6, 0x5;0\nBAR.SYNC.DEFER_BLOCKING R6, 0x40;0\n"));
  CHECK(!waits("MOV R6, 0x40;0\nBAR.SYNC.DEFER_BLOCKING 0x5, R6;0\n"));
  CHECK(!waits("MOV R6, 0x400005;0\nBAR.SYNC.DEFER_BLOCKING R6, R6;0\n"));
  CHECK_THAT(waits("MOV R6, 0x10;0\nBAR.SYNC.DEFER_BLOCKING R6, 0x40;0\n")->words,
             contains_text("the block has no barrier 16; expected 0 to 15"));
}

TEST_CASE("a barrier phase has one thread count", "[sim]") {
  const auto fault = fault_of({sync(1, 64), sync(1, 96), sync(1, 96)});
  REQUIRE(fault);
  CHECK(fault->kind == FaultKind::barrier);
  CHECK_THAT(fault->words, contains_text("barrier 1 with a count of 96 threads; earlier arrivals "
                                         "gave a count of 64"));
  // The next phase may have another count.
  CHECK(!fault_of({sync(1, 64) + sync(1, 96), sync(1, 64) + sync(1, 96), sync(1, 96)}));
}

// Barrier 1: data is ready. Barrier 2: its space may be overwritten.
std::string producer(const std::string& waits_for_space) {
  return kStore + arrive(1, 64) + waits_for_space + kStore + arrive(1, 64);
}
std::string consumer(const std::string& waits_for_data) {
  return waits_for_data + kLoad + arrive(2, 64) + waits_for_data + kLoad;
}

TEST_CASE("a producer and a consumer that wait for each other do not race", "[sim]") {
  CHECK(!fault_of({producer(sync(2, 64)), consumer(sync(1, 64))}));
  CHECK(!fault_of({consumer(sync(1, 64)), producer(sync(2, 64))}));
  // Without either barrier they race.
  const auto early_store = fault_of({consumer(sync(1, 64)), producer("")});
  REQUIRE(early_store);
  CHECK(early_store->kind == FaultKind::race);
  CHECK(fault_of({producer(sync(2, 64)), consumer(arrive(1, 64))})->kind == FaultKind::race);
}

TEST_CASE("a named barrier of other warps orders no accesses", "[sim]") {
  const auto third = [](const std::string& waits) {
    return fault_of(
        {kStore + sync(1, 64) + sync(2, 96), sync(1, 64) + kLoad + sync(2, 96), waits + kLoad});
  };
  const auto race = third("");
  REQUIRE(race);
  CHECK(race->kind == FaultKind::race);
  CHECK_THAT(race->words, contains_text("since thread (0, 0, 0) at a.cu:2 wrote them"));
  CHECK(third(arrive(2, 96))->kind == FaultKind::race);  // arriving gives no order
  CHECK(!third(sync(2, 96)));
}

TEST_CASE("a warp passes its order on to the next barrier", "[sim]") {
  const auto chain = [](const std::string& between) {
    return fault_of({kStore + arrive(1, 64), between + arrive(2, 64), sync(2, 64) + kLoad});
  };
  CHECK(!chain(sync(1, 64)));
  CHECK(chain(arrive(1, 64))->kind == FaultKind::race);
}

TEST_CASE("a writer must wait for each reader", "[sim]") {
  // Warp 2 writes, warps 0 and 1 read in turn, and warp 2 writes again.
  const auto run = [](const std::string& first, const std::string& second, unsigned threads) {
    return fault_of({sync(1, 96) + kLoad + first, sync(1, 96) + kLoad + second,
                     kStore + sync(1, 96) + sync(2, threads) + kStore});
  };
  CHECK(!run(arrive(2, 96), arrive(2, 96), 96));
  for (const unsigned missing : {0u, 1u}) {
    const auto race = missing == 0 ? run("", arrive(2, 64), 64) : run(arrive(2, 64), "", 64);
    REQUIRE(race);
    CHECK(race->kind == FaultKind::race);
    CHECK_THAT(race->words, contains_text(fmt::format("since thread ({}, 0, 0) at a.cu:3 read them",
                                                      missing * kLanes)));
  }
}

TEST_CASE("barriers order atomics of several warps", "[sim]") {
  const std::string add = "#0:4\nATOMS.ADD R6, [RZ+0x100], R3;0\n";
  const std::string zero = "STS [RZ+0x100], RZ;0\n";
  const std::string read_by_one = "ISETP.NE.AND P1, PT, R3, RZ, PT;0\n@!P1 LDS R7, [RZ+0x100];0\n";
  const auto run = [&](const std::string& third) {
    return fault_of({zero + sync(1, 96) + add + sync(2, 96) + read_by_one,
                     sync(1, 96) + add + arrive(2, 96), sync(1, 96) + third});
  };
  CHECK(!run(add + arrive(2, 96)));
  const auto race = run(arrive(2, 96) + add);
  REQUIRE(race);
  CHECK(race->kind == FaultKind::race);
}

TEST_CASE("each warp tracks the time up to which it is ordered after other warps", "[sim]") {
  BlockTime clock = 5;
  WarpOrder order(clock, 3);
  order.arrive(1, 0);
  CHECK(clock == 6);
  order.arrive(1, 1);
  order.release(1, 0b10, 0b10);
  CHECK(order.known(1, 0) == 5);
  CHECK(order.known(1, 1) == 6);
  CHECK(order.known(0, 1) == 0);  // it only arrived
  order.arrive(1, 2);             // the next phase starts empty
  order.release(1, 0b100, 0);
  CHECK(order.known(2, 0) == 0);
  CHECK(order.known(2, 2) == 0);  // only some of its lanes arrived
  order.arrive(2, 1);
  order.release(2, 0b100, 0b100);
  CHECK(order.known(2, 0) == 5);
}

}  // namespace
}  // namespace gpuexp::test
