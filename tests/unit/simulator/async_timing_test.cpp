// Asynchronous operations and the waits for them: mbarriers, bulk copies, warpgroup products,
// clusters. Each test has a wait that takes time and one that does not.
#include <cmath>
#include <fstream>
#include <map>

#include "support/catch.hpp"
#include "support/timed_run.hpp"
#include "timing/phase_times.hpp"

namespace gpuexp::test {
namespace {

/// Code of `steps` instructions with 4 cycles each.
std::string work(int steps) {
  return repeated(steps, line("FFMA R40, R41, R44, R46", stall(4)));
}

/// Initializes an mbarrier for `arrivals`. P0: lanes of warp 0; P2: lane 0 of each warp.
std::string with_barrier(unsigned arrivals) {
  const unsigned left = 0x100000 - arrivals;
  return line("S2R R1, SR_TID.X", stall(10)) + line("ISETP.LT.AND P0, PT, R1, 0x20, PT", stall(6)) +
         line("S2R R5, SR_LANEID", stall(10)) + line("ISETP.EQ.AND P2, PT, R5, RZ, PT", stall(6)) +
         line(fmt::format("UMOV UR4, {:#x}", left << 1), stall(1)) +
         line(fmt::format("UMOV UR5, {:#x}", left << 11), stall(6)) +
         line("SYNCS.EXCH.64 URZ, [URZ+0x8], UR4", stall(8));
}
constexpr int kBarrierCode = 7;

/// Waits for the first phase, as code at instruction `place`.
std::string wait_at(int place, const char* check = "SYNCS.PHASECHK.TRANS64.TRYWAIT") {
  constexpr int kBytes = 16;
  return line(fmt::format("{} P1, [URZ+0x8], RZ", check), writes(0)) +
         line(fmt::format("@!P1 BRA {:#x}", place * kBytes), waits(0));
}

const std::string kArrive = line("@P2 SYNCS.ARRIVE.TRANS64.A1T0 R6, [URZ+0x8], RZ", stall(2));

TEST_CASE("a warp sleeps until a phase of an mbarrier ends", "[timing]") {
  // Warp 1 works and arrives; warp 0 waits.
  const auto time_of = [](int steps, const char* check = "SYNCS.PHASECHK.TRANS64.TRYWAIT") {
    const int wait = kBarrierCode + 1 + steps + 2;
    return TimedRun(with_barrier(1) + line(fmt::format("@P0 BRA {:#x}", wait * 16), stall(5)) +
                        work(steps) + kArrive + kExit + wait_at(wait, check) + kExit,
                    2 * sim::kLanes)
        .time();
  };
  const AsyncParameters async;
  const SmTime time = time_of(100);
  const double begin = 10 + 6 + 10 + 6 + 1 + 6 + 8 + 5;
  CHECK(time.clocks == Approx(begin + 400 + async.arrival + async.phase_check + 5).margin(8));
  CHECK(time_of(200).clocks - time.clocks == Approx(400).margin(2));
  CHECK(all_of(time).largest() == WarpState::long_scoreboard);
  CHECK(all_of(time)[WarpState::long_scoreboard] == Approx(400 + 23 + 34).margin(15));
  CHECK(time.instructions == 2 * kBarrierCode + 2 + 100 + 2 + 3);  // without polling
  // mbarrier.test_wait polls.
  const SmTime polls = time_of(100, "SYNCS.PHASECHK.TRANS64");
  CHECK(polls.instructions > time.instructions + 10);
  CHECK(polls.clocks == Approx(time.clocks).margin(45));
}

TEST_CASE("waiting for an ended phase takes only the check", "[timing]") {
  const auto clocks = [](int steps) {
    return TimedRun(with_barrier(1) + kArrive + work(steps) + wait_at(kBarrierCode + 1 + steps) +
                    kExit)
        .clocks();
  };
  const double without = TimedRun(with_barrier(1) + kArrive + work(100) + kExit).clocks();
  CHECK(clocks(100) - without == Approx(AsyncParameters{}.phase_check + 5).margin(2));
}

TEST_CASE("a phase that never ends stops the run with the reason", "[timing]") {
  TimedRun never(with_barrier(2) + kArrive + wait_at(kBarrierCode + 1) + kExit);
  CHECK_THROWS_WITH(never.clocks(),
                    contains_text("warps wait for phases of mbarriers that never end"));
  TimedRun polls(with_barrier(2) + kArrive + wait_at(kBarrierCode + 1, "SYNCS.PHASECHK.TRANS64") +
                 kExit);
  polls.set_max_instructions(10000);
  CHECK_THROWS_WITH(polls.clocks(), contains_text("a loop has not ended after"));
}

TEST_CASE("waiting lanes let other lanes of their warp proceed", "[timing]") {
  // Lane 0 arrives after the branch to the wait, which the other lanes take.
  const int wait = kBarrierCode + 3;
  const std::string code = with_barrier(1) +
                           line(fmt::format("@!P2 BRA {:#x}", wait * 16), stall(5)) + kArrive +
                           kExit + wait_at(wait) + kExit;
  CHECK(TimedRun(code).clocks() < 400);
}

TEST_CASE("a phase ends with its last event", "[timing]") {
  const std::string code = kExit;
  sim::Program program = sim::decode(read_code_text(code));
  sim::LaunchState launch;
  launch.program = &program;
  launch.checks.memory = false;  // there is no memory
  const sim::Block block(launch, {});
  PhaseTimes phases;
  phases.add({&block, 8, false}, {700, 500});
  CHECK(phases.ended_at(block, 8).when == 0);
  phases.add({&block, 8, true}, {300, 300});
  CHECK(phases.ended_at(block, 8).when == 700);
  CHECK(phases.ended_at(block, 8).alone == 500);
  CHECK(phases.ended_at(block, 16).when == 0);
  phases.add({&block, 8, true}, {900, 900});
  CHECK(phases.ended_at(block, 8).when == 900);
  phases.forget(block);
  CHECK(phases.ended_at(block, 8).when == 0);
}

/// UR6 and UR7: the buffer. UR8: shared memory at 0x100. UR9: the mbarrier. UR10: the size.
std::string copy_setup(unsigned bytes) {
  const std::uint64_t at = TimedRun::buffer();
  return line(fmt::format("UMOV UR6, {:#x}", at & 0xffffffff), stall(1)) +
         line(fmt::format("UMOV UR7, {:#x}", at >> 32), stall(1)) +
         line("UMOV UR8, 0x100", stall(1)) + line("UMOV UR9, 0x8", stall(1)) +
         line(fmt::format("UMOV UR10, {:#x}", bytes / 16), stall(6)) +
         line(fmt::format("MOV R13, {:#x}", bytes), stall(6)) +
         line("@P2 SYNCS.ARRIVE.TRANS64 RZ, [URZ+0x8], R13", stall(2));
}
constexpr int kCopyCode = 7;

TEST_CASE("a bulk copy arrives when the memory path has served its lines", "[timing]") {
  const auto clocks = [](unsigned bytes, double dram_share) {
    SmParameters f = parameters();
    f.behind.dram_read_share = dram_share;
    return TimedRun(with_barrier(1) + copy_setup(bytes) +
                    line("UBLKCP.S.G [UR8], [UR6], UR10", stall(2)) +
                    wait_at(kBarrierCode + kCopyCode + 1) + kExit)
        .time(f)
        .clocks;
  };
  const AsyncParameters async;
  const double begin = 47 + 16 + 2;
  CHECK(clocks(128, 0) == Approx(begin + 250 - async.copy_ahead + async.phase_check + 5).margin(8));
  CHECK(clocks(128, 1) - clocks(128, 0) == Approx(600 - 250).margin(1));
  // The copy engine requests one line per `copy_line` cycles.
  CHECK(clocks(2048, 0) - clocks(128, 0) == Approx(15 * async.copy_line).margin(1));
}

TEST_CASE("a warp that does not wait for a bulk copy proceeds", "[timing]") {
  const auto clocks = [](const std::string& copy) {
    const std::string code = with_barrier(1) + copy_setup(2048) + copy + work(300);
    const int place = kBarrierCode + kCopyCode + 1 + 300;
    return TimedRun(code + (copy.empty() ? "" : wait_at(place)) + kExit).clocks();
  };
  const double with = clocks(line("UBLKCP.S.G [UR8], [UR6], UR10", stall(2)));
  CHECK(with - clocks("") == Approx(2 + AsyncParameters{}.phase_check + 5).margin(4));
}

TEST_CASE("a store by the copy engine reads shared memory by sectors", "[timing]") {
  Control commit = stall(1);
  commit.reads = 0;
  const auto time_of = [&](unsigned bytes, const std::string& then,
                           const char* what = "UBLKCP.G.S") {
    return TimedRun(with_barrier(1) + copy_setup(bytes) +
                    line(fmt::format("{} [UR6], [UR8], UR10", what), stall(2)) +
                    line("UTMACMDFLUSH", commit) + then + work(5) + kExit)
        .time();
  };
  const std::string wait = line("DEPBAR.LE SB0, 0x0", stall(4));
  const SmTime waited = time_of(1024, wait);
  CHECK(all_of(waited)[WarpState::long_scoreboard] == Approx(1024 / 32 + 38).margin(4));
  const double adds =
      all_of(time_of(1024, wait, "UBLKRED.G.S.ADD.F32.RN"))[WarpState::long_scoreboard];
  CHECK(adds == Approx(1024 / 32 * 1.25 + 38).margin(4));
  // One group may be pending.
  const SmTime beside = time_of(1024, line("DEPBAR.LE SB0, 0x1", stall(4)));
  CHECK(all_of(beside)[WarpState::long_scoreboard] == 0);
}

TEST_CASE("the copy engine transfers in one direction at a time", "[timing]") {
  const SmParameters f = parameters();
  OwnMemory both(f);
  OwnMemory out(f);
  constexpr std::uint64_t kBytes = 8192;
  both.copy_in(0, 0, kBytes);
  const double in_clocks = kBytes / 128 * f.async.copy_line;
  CHECK(both.copy_out(0, kBytes, kBytes, 1).read - out.copy_out(0, kBytes, kBytes, 1).read ==
        Approx(in_clocks).margin(1));
}

SmParameters with_tensor_cores() {
  SmParameters f = parameters();
  f.wgmma_operations[static_cast<std::size_t>(Pipe::tensor_bf16_fp32)] = 4096;
  return f;
}

/// Code of `count` consecutive products of a warpgroup; the last one closes the group.
std::string products(const std::string& shape, int count, bool a_in_registers = false) {
  const auto product = [&](bool is_last) {
    return line(fmt::format("HGMMA.{}.F32.BF16 R24, {}gdesc[UR4], R24{}", shape,
                            a_in_registers ? "R4, " : "", is_last ? ", gsb0" : ""),
                stall(1));
  };
  return repeated(count - 1, product(false)) + product(true);
}
const std::string kDescriptors = line("UMOV UR4, 0x40", stall(1)) +
                                 line("UMOV UR5, 0x0", stall(1)) +
                                 line("UMOV UR6, 0x40", stall(1)) + line("UMOV UR7, 0x0", stall(6));
std::string wait_for_groups(int left) {
  return line(fmt::format("WARPGROUP.DEPBAR.LE gsb0, {:#x}", left), stall(2));
}

double product_clocks(const std::string& shape, bool a_in_registers = false) {
  const auto clocks = [&](int count) {
    return TimedRun(
               kDescriptors + products(shape, count, a_in_registers) + wait_for_groups(0) + kExit,
               4 * sim::kLanes)
        .time(with_tensor_cores())
        .clocks;
  };
  return (clocks(12) - clocks(4)) / 8;
}

TEST_CASE("a product takes as long as its multiply-adds or its operands", "[timing]") {
  // 64 × N × 16 multiply-adds at 2048 per cycle; 2 KiB of A and 32 N bytes of B at 128 per cycle.
  CHECK(product_clocks("64x256x16") == Approx(128));
  CHECK(product_clocks("64x64x16") == Approx(32));
  CHECK(product_clocks("64x32x16") == Approx(16 + 8));
  CHECK(product_clocks("64x8x16") == Approx(16 + 2));
  CHECK(product_clocks("64x64x16", true) == Approx(32 + 4));
  CHECK(product_clocks("64x8x16", true) == Approx(17));
}

TEST_CASE("a warp waits for groups of products, or proceeds during them", "[timing]") {
  const auto time_of = [](const std::string& then) {
    return TimedRun(
               kDescriptors + products("64x256x16", 2) + products("64x256x16", 2) + then + kExit,
               4 * sim::kLanes)
        .time(with_tensor_cores());
  };
  const auto waited = [&](const std::string& then) {
    return all_of(time_of(then))[WarpState::barrier] / 4;
  };
  const double all = time_of(wait_for_groups(0)).clocks;
  CHECK(waited(wait_for_groups(0)) - waited(wait_for_groups(1)) == Approx(2 * 128).margin(2));
  CHECK(waited("") == 0);
  CHECK(waited(work(200) + wait_for_groups(0)) < 10);
  const AsyncParameters async;
  CHECK(all == Approx(4 * 128 + async.product_latency + 10).margin(10));
  CHECK(all_of(time_of(wait_for_groups(0))).largest() == WarpState::barrier);
  // Computation during the products takes no further time.
  CHECK(time_of(work(100) + wait_for_groups(0)).clocks == Approx(all).margin(4));
  // WARPGROUP.ARRIVE waits for registers.
  const SmTime ordered = time_of(line("WARPGROUP.ARRIVE", stall(1)));
  CHECK(ordered.clocks == Approx(all).margin(4));
  CHECK(all_of(ordered).largest() == WarpState::gmma);
}

TEST_CASE("a product starts when the last warp has issued it", "[timing]") {
  const auto clocks = [](int steps) {
    const std::string late =
        line("S2R R1, SR_TID.X", stall(10)) + line("ISETP.LT.AND P0, PT, R1, 0x60, PT", stall(6)) +
        line(fmt::format("@P0 BRA {:#x}", (3 + steps) * 16), stall(5)) + work(steps);
    return TimedRun(late + kDescriptors + products("64x64x16", 1) + wait_for_groups(0) + kExit,
                    4 * sim::kLanes)
        .time(with_tensor_cores())
        .clocks;
  };
  CHECK(clocks(200) - clocks(100) == Approx(400).margin(2));
}

TEST_CASE("the rate of products must be known", "[timing]") {
  const std::string text = kDescriptors + products("64x64x16", 1);
  const sim::Program program = sim::decode(read_code_text(text));
  CHECK(schedule_of(program, parameters()).refusal ==
        "the rate of HGMMA.64x64x16.F32.BF16 is not known");
  CHECK(schedule_of(program, with_tensor_cores()).refusal.empty());
}

SmTime time_of_cluster(std::int64_t blocks, const std::string& code) {
  TimedRun run(code);
  run.set_cluster(blocks);
  return run.time();
}

TEST_CASE("blocks of a cluster wait for each other at the cluster barrier", "[timing]") {
  const std::string barrier = line("UCGABAR_ARV", stall(1)) + line("UCGABAR_WAIT", stall(1));
  const auto time_of = [&](int steps) {
    const std::string late = line("S2UR UR4, SR_CgaCtaId", stall(10)) +
                             line("UISETP.EQ.AND UP0, UPT, UR4, URZ, UPT", stall(10)) +
                             line("PLOP3.LUT P0, PT, PT, PT, UP0, 0x80, 0x0", stall(10)) +
                             line(fmt::format("@P0 BRA {:#x}", (4 + steps) * 16), stall(5)) +
                             work(steps);
    return time_of_cluster(2, late + barrier + kExit);
  };
  const AsyncParameters async;
  CHECK(time_of(100).clocks == Approx(35 + 400 + async.cluster_barrier).margin(12));
  CHECK(all_of(time_of(100))[WarpState::barrier] ==
        Approx(400 + 2 * async.cluster_barrier).margin(12));
  // A warp that works between arrival and wait waits less.
  const std::string split =
      line("UCGABAR_ARV", stall(1)) + work(100) + line("UCGABAR_WAIT", stall(1)) + kExit;
  CHECK(all_of(time_of_cluster(2, split))[WarpState::barrier] == 0);
}

TEST_CASE("another block's shared memory has a higher latency than the block's own", "[timing]") {
  const auto clocks = [](unsigned rank, int loads) {
    const std::string setup = line(fmt::format("MOV R2, {:#x}", rank << 24 | 0x100), stall(1)) +
                              line("MOV R3, 0x7000000", stall(6)) + line("UCGABAR_ARV", stall(1)) +
                              line("UCGABAR_WAIT", stall(1));
    const std::string load = line("LD.E R0, [R2]", writes(0)) + line("MOV R1, R0", waits(0, 2));
    const std::string end = line("UCGABAR_ARV", stall(1)) + line("UCGABAR_WAIT", stall(1));
    TimedRun run(setup + repeated(loads, load) + end + kExit);
    run.set_cluster(2);
    return run.time().clocks;
  };
  const auto step = [&](unsigned rank) { return (clocks(rank, 20) - clocks(rank, 10)) / 10; };
  // Rank 0 addresses its own block in one of the blocks, and a remote block in the other.
  CHECK(step(0) == Approx(AsyncParameters{}.remote_latency + 2 + 7.5).margin(3));
  TimedRun alone(line("MOV R2, 0x100", stall(1)) + line("MOV R3, 0x7000000", stall(6)) +
                 line("LD.E R0, [R2]", writes(0)) + line("MOV R1, R0", waits(0, 2)) + kExit);
  CHECK(alone.clocks() < 60);
}

TEST_CASE("a fence of the GPU takes a round trip, a fence of the block does not", "[timing]") {
  const auto time_of = [](const char* fence) {
    return TimedRun(line(fence, stall(6)) + work(2) + kExit).time();
  };
  const SmTime of_gpu = time_of("MEMBAR.ALL.GPU");
  CHECK(of_gpu.clocks - time_of("MEMBAR.ALL.CTA").clocks ==
        Approx(AsyncParameters{}.fence - 6).margin(2));
  CHECK(all_of(of_gpu).largest() == WarpState::membar);
  CHECK(all_of(time_of("MEMBAR.ALL.CTA"))[WarpState::membar] == 0);
}

TEST_CASE("a later use of the data stage delays only later loads", "[timing]") {
  const SmParameters f = parameters();
  OwnMemory memory(f);
  memory.reserve_data_stage(1000, 1032, 32);
  CHECK(memory.shared(0, 1).done == 23);
  OwnMemory busy(f);
  busy.reserve_data_stage(1000, 1000, 32);
  CHECK(busy.shared(1000, 1).done == 1000 + 32 + 23);
}

TEST_CASE("asynchronous figures equal the recorded ones", "[timing]") {
  std::ifstream file(GPUEXP_SOURCE_DIR "/docs/studies/asynchronous/asynchronous.csv");
  std::map<std::string, double> recorded;
  for (std::string row; std::getline(file, row);) {
    const std::size_t comma = row.find(',');
    if (comma == row.npos || row.starts_with("figure")) continue;
    recorded[row.substr(0, comma)] = std::stod(row.substr(comma + 1));
  }
  const AsyncParameters a;
  const std::map<std::string, double> modelled{
      {"phase_check", a.phase_check},
      {"arrival", a.arrival},
      {"copy_ahead", a.copy_ahead},
      {"tensor_copy_behind", a.tensor_copy_delay},
      {"copy_row", a.copy_row},
      {"copy_bytes_per_clock", 128 / a.copy_line},
      {"copied_sector", a.copied_sector},
      {"reduced_sector", a.reduced_sector},
      {"copy_out", a.copy_out},
      {"product_latency", a.product_latency},
      {"product_latency_register_a", a.product_latency_register_a},
      {"product_gap_register_a", a.product_gap_register_a},
      {"least_product_register_a", a.min_product_register_a},
      {"most_products", static_cast<double>(a.max_products)},
      {"product_drain", a.product_drain},
      {"cluster_barrier", a.cluster_barrier},
      {"cluster_barrier_warp", a.cluster_barrier_warp},
      {"remote_latency", a.remote_latency},
      {"remote_load_bytes_per_clock", 128 / a.remote_load_line},
      {"remote_store_bytes_per_clock", 128 / a.remote_store_line},
      {"fence", a.fence}};
  for (const auto& [name, value] : modelled) {
    INFO(name);
    REQUIRE(recorded.count(name) == 1);
    CHECK(value == Approx(recorded.at(name)));
  }
}

}  // namespace
}  // namespace gpuexp::test
