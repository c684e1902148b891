// Times of machine code on an SM: scoreboards, barriers, memory path.
#include <algorithm>
#include <array>
#include <fstream>
#include <string>

#include <fmt/format.h>

#include "sim/decoder.hpp"
#include "support/catch.hpp"
#include "support/timed_run.hpp"

namespace gpuexp::test {
namespace {

TEST_CASE("a warp waits for the scoreboards in its instruction", "[timing]") {
  Control loads = stall(1);
  loads.writes = 0;
  Control uses = stall(1);
  uses.waits = 1;
  const std::string setup = line("MOV R1, RZ", stall(6));
  const auto clocks_of = [&](int steps) {
    const std::string step =
        line("LDS R0, [R1]", loads) + line("MOV R1, R0", uses) + line("MOV R1, RZ", stall(5));
    return TimedRun(setup + line("STS [R1], RZ", stall(1)) + repeated(steps, step) + kExit);
  };
  const double step = (clocks_of(20).clocks() - clocks_of(10).clocks()) / 10;
  CHECK(step == Approx(23 + 1 + 5).margin(1));
  const WarpClocks clocks = all_of(clocks_of(20).time());
  CHECK(clocks.largest() == WarpState::short_scoreboard);
  CHECK(clocks[WarpState::long_scoreboard] == 0);
}

TEST_CASE("loads have the latency of L1, L2 or device memory", "[timing]") {
  Control loads = stall(1);
  loads.writes = 0;
  Control uses = stall(2);
  uses.waits = 1;
  const std::string load = line("LDG.E R0, desc[UR4][R2.64]", loads) + line("MOV R1, R0", uses);
  const auto clocks_of = [&](int times, double dram_share) {
    SmParameters f = parameters();
    f.behind.dram_read_share = dram_share;
    return TimedRun(TimedRun::address() + repeated(times, load) + kExit).time(f).clocks;
  };
  CHECK(clocks_of(1, 1) - clocks_of(1, 0) == Approx(600 - 250));
  CHECK(clocks_of(2, 0) - clocks_of(1, 0) == Approx(34 + 2));  // the second load hits L1
  CHECK(clocks_of(3, 1) - clocks_of(2, 1) == Approx(34 + 2));
}

TEST_CASE("latencies have the recorded spread around their mean", "[timing]") {
  std::ifstream file(GPUEXP_SOURCE_DIR "/docs/studies/warp_scheduling/latency_spread.csv");
  std::string title;
  std::getline(file, title);
  REQUIRE(title == "share_pct,h200_l2_clocks,h200_dram_clocks,h100_l2_clocks,h100_dram_clocks\r");
  std::array<std::array<double, LatencySpread::kKnots>, 5> columns{};
  for (std::size_t i = 0; i < LatencySpread::kKnots; ++i) {
    for (auto& column : columns) {
      REQUIRE(file >> column[i]);
      file.ignore();
    }
    CHECK(columns[0][i] == Approx(100 * LatencySpread::kShares[i]));
  }
  const auto is_recorded = [](const LatencySpread& spread, const auto& clocks) {
    double mean = 0;
    for (std::size_t i = 1; i < LatencySpread::kKnots; ++i)
      mean += (LatencySpread::kShares[i] - LatencySpread::kShares[i - 1]) *
              (clocks[i] + clocks[i - 1]) / 2;
    for (std::size_t i = 0; i < LatencySpread::kKnots; ++i)
      CHECK(spread.ratios[i] == Approx(clocks[i] / mean).margin(0.001));
  };
  is_recorded(kL2Spread, columns[1]);
  is_recorded(kDramSpread, columns[2]);
}

TEST_CASE("a warp waits for the slowest of its lines", "[timing]") {
  Control loads = stall(2);
  loads.writes = 0;
  Control uses = stall(2);
  uses.waits = 1;
  const std::string code = TimedRun::address() + line("S2R R1, SR_TID.X", stall(10)) +
                           line("IMAD R2, R1, 0x40, R2", stall(6)) +
                           line("LDG.E R0, desc[UR4][R2.64]", loads) + line("MOV R1, R0", uses) +
                           kExit;
  const auto clocks_of = [&](const LatencySpread& spread, unsigned warps) {
    SmParameters f = parameters();
    f.behind.dram_read_share = 1;
    f.dram_spread = spread;
    return TimedRun(code, warps * sim::kLanes).time(f).clocks;
  };
  const double mean = clocks_of(kNoSpread, 1);
  CHECK(clocks_of(kDramSpread, 1) >= mean + (kDramSpread.ratios.front() - 1) * 600 - 1);
  CHECK(clocks_of(kDramSpread, 1) <= mean + (kDramSpread.ratios.back() - 1) * 600 + 1);
  // 32 warps load 64 KiB from 128 slices. The slowest is almost certainly within the slowest 10 %.
  CHECK(clocks_of(kDramSpread, 32) > clocks_of(kNoSpread, 32) + (kDramSpread.at(0.9) - 1) * 600);
  CHECK(clocks_of(kDramSpread, 32) == clocks_of(kDramSpread, 32));
}

TEST_CASE("draws are uniform and reproducible", "[timing]") {
  ShareDraw one;
  ShareDraw other;
  constexpr int kDraws = 10000;
  double sum = 0;
  for (int i = 0; i < kDraws; ++i) {
    const double share = one.next();
    REQUIRE(share >= 0);
    REQUIRE(share < 1);
    CHECK(share == other.next());
    sum += share;
  }
  CHECK(sum / kDraws == Approx(0.5).margin(0.01));
}

TEST_CASE("lines of one L2 slice have the same share", "[timing]") {
  SliceShares shares;
  constexpr std::uint64_t kLine = 4;  // sectors
  constexpr std::uint64_t kKib = 8 * kLine;
  for (const std::uint64_t line : {0, 1, 4, 5})
    CHECK(shares.of(7 * kKib + line * kLine, 0.25 + 0.125 * static_cast<double>(line)) == 0.25);
  for (const std::uint64_t line : {2, 3, 6, 7})
    CHECK(shares.of(7 * kKib + line * kLine + 3, 0.25 * static_cast<double>(line)) == 0.5);
  CHECK(shares.of(8 * kKib, 0.875) == 0.875);
}

TEST_CASE("warps that reach a barrier early wait for the others", "[timing]") {
  // Warps 1 and above execute 100 instructions fewer.
  const std::string code =
      line("S2R R1, SR_TID.X", stall(10)) + line("ISETP.LT.AND P0, PT, R1, 0x20, PT", stall(6)) +
      line("@!P0 BRA 0x670", stall(5)) + repeated(100, line("FFMA R0, R1, R4, R6", stall(4))) +
      line("BAR.SYNC.DEFER_BLOCKING 0x0", stall(5)) + kExit;
  const SmTime both = TimedRun(code, 2 * sim::kLanes).time();
  CHECK(both.clocks == Approx(10 + 6 + 5 + 400 + 20 + 1).margin(10));
  CHECK(all_of(both)[WarpState::barrier] == Approx(400 + 2 * 20).margin(15));
  CHECK(all_of(TimedRun(code).time())[WarpState::barrier] == Approx(20).margin(6));
}

TEST_CASE("a step is between two barriers and requests data from L2", "[timing]") {
  const std::string barrier = line("BAR.SYNC.DEFER_BLOCKING 0x0", stall(5));
  const auto load = [](int offset) {
    return line(fmt::format("LDG.E R0, desc[UR4][R2.64+{:#x}]", offset), stall(2));
  };
  const auto steps_of = [](const std::string& code) {
    return TimedRun(TimedRun::address() + code + kExit, 2 * sim::kLanes).time().steps;
  };
  CHECK(steps_of(load(0) + barrier + load(0x400) + barrier) == 2);
  // Before the second barrier nothing is loaded; before the third, the load hits L1.
  CHECK(steps_of(load(0) + barrier + barrier + load(0) + barrier) == 1);
  CHECK(steps_of(load(0) + load(0x400)) == 0);
}

TEST_CASE("an endless warp ends with a fault", "[timing]") {
  TimedRun run(line("MOV R0, RZ", stall(1)) + line("BRA 0x0", stall(5)));
  run.set_max_instructions(1000);
  CHECK_THROWS_WITH(run.clocks(), contains_text("a loop has not ended after"));
}

TEST_CASE("blocks run consecutively on their SM", "[timing]") {
  const std::string code = repeated(100, line("FFMA R0, R1, R4, R6", stall(4))) + kExit;
  SmParameters f = parameters();
  f.block_gap = 300;
  const auto clocks_of = [&](std::int64_t blocks, int resident) {
    return TimedRun(code).time(f, {blocks, 1, resident}).clocks;
  };
  CHECK(clocks_of(2, 1) == Approx(2 * clocks_of(1, 1) + 300));
  CHECK(clocks_of(2, 2) == Approx(clocks_of(1, 1)));
  // With thousands of blocks, only some waves and the last wave are executed.
  const SmTime many = TimedRun(code).time(f, {4002, 1, 4});
  CHECK(many.starts.size() < 4002);
  CHECK(many.starts.size() >= 12);
  CHECK((4002 - many.starts.size()) % 4 == 0);
}

TEST_CASE("a run with unequal blocks stops early if it would skip some blocks", "[timing]") {
  // The loop has `least` plus the block's number of iterations.
  const auto time_of = [](int least, std::int64_t blocks, bool stops) {
    const std::string code =
        line("S2R R1, SR_CTAID.X", stall(10)) +
        line(fmt::format("IADD3 R1, R1, {:#x}, RZ", least), stall(6)) +
        line("MOV R0, RZ", stall(6)) + line("IADD3 R0, R0, 0x1, RZ", stall(6)) +
        line("ISETP.LT.AND P0, PT, R0, R1, PT", stall(6)) + line("@P0 BRA 0x30", stall(5)) + kExit;
    BlocksOfSm of{blocks, 400, 2};
    of.stops_if_uneven = stops;
    return TimedRun(code, 4 * sim::kLanes).time(parameters(), of);
  };
  const SmTime whole = time_of(4000, 200, false);
  const SmTime ended = time_of(4000, 200, true);
  CHECK_FALSE(whole.is_even());
  CHECK_FALSE(ended.is_even());
  CHECK(ended.instructions < whole.instructions);
  CHECK(ended.starts.size() < 200);
  // Runs with equal blocks, or without skipped blocks, are timed to the end.
  CHECK(time_of(100'000, 20, true).is_even());
  CHECK(time_of(100'000, 20, true).clocks == time_of(100'000, 20, false).clocks);
  CHECK(time_of(4000, 6, true).clocks == time_of(4000, 6, false).clocks);
}

TEST_CASE("bank conflicts delay the data stage", "[timing]") {
  const SmParameters f = parameters();
  OwnMemory free_of(f);
  OwnMemory conflicting(f);
  double free_done = 0;
  double conflicting_done = 0;
  for (int i = 0; i < 10; ++i) {
    free_done = free_of.shared(0, 1).done;
    conflicting_done = conflicting.shared(0, 32).done;
  }
  CHECK(free_done == 9 + 23);
  CHECK(conflicting_done == 319 + 23);
}

sim::GlobalTouch one_line() {
  sim::GlobalTouch touch;
  for (std::uint64_t i = 0; i < 4; ++i)
    touch.sectors[touch.count++] = 4 + i;
  touch.tag_wavefronts = 1;
  touch.bank_wavefronts = 1;
  touch.missed_wavefronts = 1;
  return touch;
}

TEST_CASE("cp.async bypasses the data stage, and loads do not", "[timing]") {
  const SmParameters f = parameters();
  OwnMemory copying(f);
  OwnMemory loading(f);
  for (int i = 0; i < 10; ++i) {
    copying.copy(0, one_line(), false);
    loading.load(0, one_line(), false);
  }
  CHECK(copying.shared(0, 1).done == 23);
  CHECK(loading.shared(0, 1).done >= 10 + 23);
}

/// Sectors that reach L2 if a warp stores `parts` words of each of 32 sectors, one word of every
/// sector per instruction.
double stored_sectors(unsigned parts, unsigned width) {
  const SmParameters f = parameters();
  OwnMemory memory(f);
  for (unsigned part = 0; part < parts; ++part) {
    sim::Lanes64 words;
    for (unsigned lane = 0; lane < sim::kLanes; ++lane)
      words[lane] = TimedRun::buffer() + 32 * lane + width * part;
    const sim::MemoryAccess access{sim::Space::global, sim::Access::store, width, sim::kAllLanes,
                                   words};
    memory.store(16 * part, sim::touch_of(access));
  }
  return memory.l2_writes();
}

TEST_CASE("L2 receives parts of sectors that follow one another as one sector", "[timing]") {
  CHECK(stored_sectors(1, 4) == 32);
  CHECK(stored_sectors(8, 4) == 32);
  CHECK(stored_sectors(2, 16) == 32);
  // Whole sectors do not join.
  sim::GlobalTouch whole = one_line();
  const SmParameters f = parameters();
  OwnMemory memory(f);
  for (int i = 0; i < 4; ++i)
    memory.store(i, whole);
  CHECK(memory.l2_writes() == 16);
}

/// Cycles until the last of 4096 lines has been loaded, stored, or both.
double clocks_of_lines(const SmParameters& f, bool loads, bool stores) {
  OwnMemory memory(f);
  double last = 0;
  for (std::uint64_t i = 0; i < 4096; ++i) {
    sim::GlobalTouch touch = one_line();
    for (std::size_t k = 0; k < touch.count; ++k)
      touch.sectors[k] += 4 * i;
    if (loads) last = std::max(last, memory.load(0, touch, false).done);
    for (std::size_t k = 0; k < touch.count; ++k)
      touch.sectors[k] += std::uint64_t{1} << 20;
    if (stores) last = std::max(last, memory.store(0, touch).done);
  }
  return last;
}

TEST_CASE("lines from DRAM and newly written lines share a port of L2", "[timing]") {
  SmParameters f = parameters();
  f.l2_latency = f.dram_latency = f.l1_latency = 0;
  f.behind.l2_read_clocks = 0.5;
  f.behind.l2_write_clocks = 3;
  f.behind.l2_fill_clocks = f.behind.l2_first_write_clocks = 1;
  f.behind.dram_write_share = 0;
  f.behind.l2_sectors = 1e9;
  constexpr double kSectors = 4 * 4096;
  f.behind.dram_read_share = 1;
  CHECK(clocks_of_lines(f, true, false) == Approx(kSectors).epsilon(0.01));
  CHECK(clocks_of_lines(f, false, true) == Approx(kSectors).epsilon(0.01));
  CHECK(clocks_of_lines(f, true, true) == Approx(2 * kSectors).epsilon(0.01));
  // Lines that hit in L2 use another port.
  f.behind.dram_read_share = 0;
  CHECK(clocks_of_lines(f, true, true) == Approx(kSectors).epsilon(0.01));
  // Atomics also wait for DRAM writes, but not for L2 misses of loads.
  SmParameters atomics = parameters();
  atomics.behind.dram_read_share = 1;
  atomics.behind.dram_write_share = 0;
  const auto first_atomic = [&] {
    OwnMemory memory(atomics);
    memory.set_warp(1, 0);
    sim::Lanes64 words;
    for (unsigned lane = 0; lane < sim::kLanes; ++lane)
      words[lane] = 128 + 4 * lane;
    return memory.atomic(0, {sim::Space::global, sim::Access::reduction, 4, sim::kAllLanes, words})
        .alone;
  };
  CHECK(first_atomic() == Approx(atomics.l2_latency));
  atomics.behind.dram_write_share = 1;
  CHECK(first_atomic() == Approx(atomics.dram_latency));
  // A line that the block wrote before is not new.
  OwnMemory again(f);
  again.set_warp(1, 0);
  const double once = again.store(0, one_line()).done;
  CHECK(again.store(0, one_line()).done == Approx(once + 4 * f.behind.l2_write_clocks));
}

/// Cycles until all lines have been accessed, with the given number of sectors of each.
double clocks_of_sectors(const SmParameters& f, bool loads, std::size_t sectors) {
  OwnMemory memory(f);
  double last = 0;
  for (std::uint64_t i = 0; i < 4096; ++i) {
    sim::GlobalTouch touch = one_line();
    touch.count = sectors;
    for (std::size_t k = 0; k < touch.count; ++k)
      touch.sectors[k] += 4 * i;
    last = std::max(last, (loads ? memory.load(0, touch, true) : memory.store(0, touch)).done);
  }
  return last / (4096.0 * static_cast<double>(sectors));
}

TEST_CASE("a sector takes L2 longer if it is the only one of its line", "[timing]") {
  SmParameters f = parameters();
  f.l2_latency = f.dram_latency = f.l1_latency = 0;
  f.behind.l2_read_clocks = 2;
  f.behind.l2_write_clocks = f.behind.l2_first_write_clocks = 3;
  // An H200's cycles per sector, relative to whole lines (docs/studies/caches/l2_lines.csv).
  CHECK(clocks_of_sectors(f, true, 4) == Approx(2).epsilon(0.01));
  CHECK(clocks_of_sectors(f, true, 2) == Approx(2).epsilon(0.01));
  CHECK(clocks_of_sectors(f, true, 1) == Approx(2 * 1.75).epsilon(0.01));
  CHECK(clocks_of_sectors(f, false, 4) == Approx(3).epsilon(0.01));
  CHECK(clocks_of_sectors(f, false, 2) == Approx(3 * 1.225).epsilon(0.01));
  CHECK(clocks_of_sectors(f, false, 1) == Approx(3 * 1.67).epsilon(0.01));
}

TEST_CASE("a kernel ends when its stores are acknowledged", "[timing]") {
  const SmParameters f = parameters();
  OwnMemory memory(f);
  const double stored = memory.store(0, one_line()).done;
  CHECK(memory.last() == Approx(stored + f.l2_latency));
  OwnMemory loaded(f);
  loaded.load(0, one_line(), false);
  CHECK(loaded.last() < f.l2_latency);
}

TEST_CASE("the first load of a kernel takes longer", "[timing]") {
  SmParameters f = parameters();
  f.first_load = 90;
  OwnMemory memory(f);
  const double first = memory.load(0, one_line(), true).done;
  CHECK(first == Approx(f.l2_latency + f.first_load).margin(2));
  CHECK(memory.load(1000, one_line(), true).done == Approx(1000 + f.l2_latency).margin(2));
}

TEST_CASE("L1 holds earlier loads and stores", "[timing]") {
  const SmParameters f = parameters();
  OwnMemory memory(f);
  memory.load(0, one_line(), false);
  CHECK(memory.take_lookups().hits == 0);
  memory.load(0, one_line(), false);
  const SectorLookups again = memory.take_lookups();
  CHECK(again.all == 4);
  CHECK(again.hits == 4);
  memory.load(0, one_line(), true);
  CHECK(memory.take_lookups().hits == 0);
  OwnMemory stored(f);
  stored.store(0, one_line());
  stored.load(0, one_line(), false);
  CHECK(stored.take_lookups().hits == 4);
  CHECK(stored.take_lookups().all == 0);
}

TEST_CASE("each part of the SM is busy for its instructions", "[timing]") {
  const std::string multiply = line("FFMA R0, R1, R4, R6", stall(1));
  const SmBusy arithmetic = TimedRun(repeated(100, multiply) + kExit, 8 * sim::kLanes).time().busy;
  CHECK(arithmetic[SmPart::issue] == 2 * 101);  // 8 warps, 4 schedulers
  CHECK(arithmetic[SmPart::fma] == 2 * 100);
  CHECK(arithmetic[SmPart::alu] == 0);
  CHECK(arithmetic[SmPart::l1] == 0);
  CHECK(arithmetic[SmPart::dram] == 0);
  // One wavefront for each of 32 words of a bank.
  const SmParameters f = parameters();
  OwnMemory memory(f);
  for (int i = 0; i < 10; ++i)
    memory.shared(0, 32);
  memory.load(0, one_line(), false);
  SmBusy shared;
  memory.add_to(shared);
  CHECK(shared[SmPart::shared] == 321);
  CHECK(shared[SmPart::l1] == 0);
  OwnMemory other(f);
  for (int i = 0; i < 10; ++i)
    other.load(0, one_line(), false);
  SmBusy global;
  other.add_to(global);
  CHECK(global[SmPart::l1] == 10);
  CHECK(global[SmPart::shared] == 0);
}

TEST_CASE("the latency of a warp does not depend on the number of warps", "[timing]") {
  Control loads = stall(1);
  loads.writes = 0;
  Control uses = stall(4);
  uses.waits = 1;
  const std::string chain =
      repeated(10, line("LDG.E R0, desc[UR4][R2.64]", loads) + line("FADD R0, R0, R0", uses));
  const std::string code =
      TimedRun::address() + chain + repeated(100, line("FFMA R4, R5, R6, RZ", stall(1))) + kExit;
  const SmTime alone = TimedRun(code).time();
  const SmTime together = TimedRun(code, 32 * sim::kLanes).time();
  CHECK(alone.busy[SmPart::latency] == Approx(alone.clocks).epsilon(0.02));
  CHECK(together.clocks > alone.clocks + 500);  // eight warps per scheduler
  CHECK(together.busy[SmPart::latency] == Approx(alone.clocks).epsilon(0.02));
}

TEST_CASE("an instruction without a modelled time is rejected", "[timing]") {
  const std::string text = "//a.cu\n#0:3\nMOV R4, 0x0;0\n#0:4\nNANOSLEEP 0x20;0\nEXIT;0\n";
  const sim::Program program = sim::decode(read_code_text(text));
  CHECK(schedule_of(program, parameters()).refusal ==
        "the time of NANOSLEEP is not modelled at a.cu:4");
}

}  // namespace
}  // namespace gpuexp::test
