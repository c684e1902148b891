// Latency of dependent loads in the time model, predicted from machine code.
#include "model/code_time.hpp"

#include <cmath>
#include <variant>

#include "device/hardware_sizes.hpp"
#include "family/registry.hpp"
#include "sim/recorded.hpp"
#include "simulated/code_prediction.hpp"
#include "support/catch.hpp"
#include "support/skip.hpp"
#include "support/small_problems.hpp"
#include "timing/latency_spread.hpp"

namespace gpuexp::test {
namespace {

constexpr double kOnOneSm = 150;
constexpr double kOnAllSms = 250;

/// All ceilings that the model needs, except latencies of L2 and DRAM.
Ceilings other_ceilings() {
  Ceilings c = datasheet_ceilings(device());
  c.dram_random_bytes_per_s = 1e12;
  c.l2_read_bytes_per_s = c.l2_write_bytes_per_s = 5e12;
  c.shared_bytes_per_s = 33e12;
  c.l1_latency_ns = 18;
  c.shared_latency_ns = 15;
  c.barrier_latency_ns = 13;
  c.block_latency_ns = 500;
  c.blocks_per_s = 1e9;
  c.floor_cold_us = c.floor_warm_us = c.floor_graph_us = 2;
  return c;
}

Ceilings of_l2(const std::optional<double>& on_all_sms) {
  Ceilings c = other_ceilings();
  c.dram_latency_ns = 1000;
  c.l2_latency_ns = kOnOneSm;
  c.l2_all_sms_latency_ns = on_all_sms;
  return c;
}

Ceilings of_dram(const std::optional<double>& on_all_sms) {
  Ceilings c = other_ceilings();
  c.l2_latency_ns = 10;
  c.dram_latency_ns = kOnOneSm;
  c.dram_all_sms_latency_ns = on_all_sms;
  return c;
}

/// Time of a chase of `steps` steps on `sms` SMs, with this share of loads answered by DRAM.
double chase_us(const Ceilings& ceilings, std::int64_t steps, std::int64_t sms, double dram_share) {
  const Family& family = *Registry::global().find("latency");
  // Every step loads a line that no earlier step has loaded.
  constexpr std::int64_t kChainBytes = 1 << 22;
  Problem problem(family, values_with(family, {{"steps", steps}, {"bytes", kChainBytes}}));
  const Steps launch = problem.host.steps(*family.find("l2_all_sms"));
  REQUIRE(launch.all().size() == 1);
  KernelStep chase = std::get<KernelStep>(launch.all().front().action);
  chase.shape.grid = {sms, 1, 1};
  KernelTraffic traffic;
  traffic.read_sectors = static_cast<double>(steps * sms);
  traffic.dram.read = dram_share * kSectorBytes * traffic.read_sectors;
  const CodeTime time = CodeTimeModel(device(), ceilings, Mode::cold)
                            .launch_time(problem.simulator, {{&chase, 1}}, {traffic});
  INFO(time.refusal);
  REQUIRE(time.refusal.empty());
  return time.total_us;
}

/// Nanoseconds per additional step.
double step_ns(const Ceilings& ceilings, std::int64_t sms, double dram_share) {
  constexpr std::int64_t kSteps = 1 << 13;
  const double more =
      chase_us(ceilings, 2 * kSteps, sms, dram_share) - chase_us(ceilings, kSteps, sms, dram_share);
  return 1e3 * more / static_cast<double>(kSteps);
}

Approx about(double ns) {
  // A step is one load, plus the loop's branch once in 256. Latencies of lines are spread around
  // the mean, for DRAM by a quarter, which 8192 steps average out.
  return Approx(ns).epsilon(0.01);
}

TEST_CASE("load latency grows with the number of SMs that have blocks", "[code_time]") {
  if (kernels().empty())
    return skip(Tier::machine_code, "built without cuobjdump: the binary keeps no machine code");
  const int all = device().sm_count;
  for (const int sms : {1, all / 2, all}) {
    CAPTURE(sms);
    const double expected = std::lerp(kOnOneSm, kOnAllSms, static_cast<double>(sms) / all);
    CHECK(step_ns(of_l2(kOnAllSms), sms, 0) == about(expected));
    CHECK(step_ns(of_dram(kOnAllSms), sms, 1) == about(expected));
  }
  // Blocks that an SM runs one after another do not count as further SMs.
  CHECK(step_ns(of_l2(kOnAllSms), 2 * all, 0) == about(2 * kOnAllSms));
}

TEST_CASE("without a latency on all SMs, loads take that of a single SM", "[code_time]") {
  if (kernels().empty())
    return skip(Tier::machine_code, "built without cuobjdump: the binary keeps no machine code");
  const int all = device().sm_count;
  CHECK(step_ns(of_l2({}), all, 0) == about(kOnOneSm));
  CHECK(step_ns(of_dram({}), all, 1) == about(kOnOneSm));
  // A DRAM latency has no effect on L2, nor the reverse.
  Ceilings l2 = of_l2({});
  l2.dram_all_sms_latency_ns = kOnAllSms;
  CHECK(step_ns(l2, all, 0) == about(kOnOneSm));
  Ceilings dram = of_dram({});
  dram.l2_all_sms_latency_ns = kOnAllSms;
  CHECK(step_ns(dram, all, 1) == about(kOnOneSm));
}

/// Launch time of N kernels and of fills of memory.
double launches_us(const Ceilings& ceilings, Mode mode, std::size_t kernels, double fills = 0) {
  const Family& family = *Registry::global().find("block_start");
  Problem problem(family, values_with(family, {{"blocks", std::int64_t{1}}}));
  const Steps launch = problem.host.steps(*family.find("many_resident"));
  const auto& kernel = std::get<KernelStep>(launch.all().front().action);
  const CodeTime time =
      CodeTimeModel(device(), ceilings, mode)
          .launch_time(problem.simulator, std::vector<ResidentKernel>(kernels, {&kernel, 1}),
                       std::vector<KernelTraffic>(kernels), nullptr, fills);
  REQUIRE(time.refusal.empty());
  return time.launch_us;
}

TEST_CASE("later kernels of a launch wait for earlier ones, for less time in a graph",
          "[code_time]") {
  if (kernels().empty())
    return skip(Tier::machine_code, "built without cuobjdump: the binary keeps no machine code");
  Ceilings c = of_l2(kOnOneSm);
  c.floor_warm_us = 3;
  c.floor_graph_us = 0.5;
  CHECK(launches_us(c, Mode::warm, 1) == Approx(3));
  CHECK(launches_us(c, Mode::warm, 5) == Approx(3 + 4 * 0.5));  // 0.5: the graph's floor
  c.kernel_latency_ns = 1250;
  CHECK(launches_us(c, Mode::warm, 1) == Approx(3));
  // Each kernel's own time includes the acknowledgement of its stores.
  CHECK(launches_us(c, Mode::warm, 5) == Approx(3 + 4 * (1.25 - 1e-3 * kOnOneSm)));
  CHECK(launches_us(c, Mode::graph, 5) == Approx(5 * 0.5));
  CHECK(launches_us(c, Mode::warm, 1, 2) == Approx(3 + 2 * 1.25));
  CHECK(launches_us(c, Mode::graph, 1, 2) == Approx(0.5 + 2 * 1.25));
}

/// Time of blocks that store their number and load nothing.
double stores_us(std::int64_t blocks) {
  const Family& family = *Registry::global().find("block_start");
  Problem problem(family, values_with(family, {{"blocks", blocks}}));
  const CodeTime time = predict_from_code(launch_to_time(problem.host, *family.find("one_resident"),
                                                         problem.simulator, device(), kernels()),
                                          problem.simulator, Mode::warm, device(), of_l2(kOnOneSm));
  REQUIRE(time.refusal.empty());
  return time.total_us;
}

/// Standard deviation of a line's latency whose mean is 1, linear between the knots.
double deviation_of(const LatencySpread& spread) {
  double squares = 0;
  for (std::size_t i = 1; i < LatencySpread::kKnots; ++i) {
    const double a = spread.ratios[i - 1];
    const double b = spread.ratios[i];
    squares +=
        (LatencySpread::kShares[i] - LatencySpread::kShares[i - 1]) * (a * a + a * b + b * b) / 3;
  }
  return std::sqrt(squares - 1);
}

/// Time of attention with many blocks. With a causal mask, later blocks have more work.
double attention_us(const std::string& mask) {
  const Family& family = *Registry::global().find("attention");
  constexpr std::int64_t kTokens = 8192, kHeads = 32;
  Problem problem(family, values_with(family, {{"heads", kHeads},
                                               {"queries", kTokens},
                                               {"keys", kTokens},
                                               {"head_dim", std::int64_t{64}},
                                               {"mask", mask}}));
  const Steps launch = problem.host.steps(*family.find("skip_hidden"));
  REQUIRE(launch.all().size() == 1);
  const auto& kernel = std::get<KernelStep>(launch.all().front().action);
  constexpr int kBlocksPerSm = 2;
  KernelTraffic traffic;
  traffic.read_sectors = 1;
  const CodeTime time = CodeTimeModel(device(), of_l2(kOnAllSms), Mode::warm)
                            .launch_time(problem.simulator, {{&kernel, kBlocksPerSm}}, {traffic});
  INFO(time.refusal);
  REQUIRE(time.refusal.empty());
  return time.total_us;
}

// An SM has 16 blocks. Sampling only its first ones would time the blocks with the least work.
TEST_CASE("blocks with different work are timed from a sample of all of them", "[code_time]") {
  if (!has_machine_code()) return;
  const double all = attention_us("full");
  const double half = attention_us("causal");
  // Share of 64 × 64 tiles that are at least partly visible. The time may be off by a quarter.
  constexpr double kVisible = 65.0 / 128, kOff = 1.25;
  CHECK(half > kVisible / kOff * all);
  CHECK(half < kVisible * kOff * all);
}

// Half of the blocks of twice_the_blocks exit at their first branch.
TEST_CASE("blocks that exit at once take the time to start them", "[code_time]") {
  if (!has_machine_code()) return;
  const Family& family = *Registry::global().find("launch_shape");
  const std::int64_t side = 4096;
  Problem problem(family,
                  values_with(family, {{"nx", side}, {"ny", side}, {"nz", std::int64_t{1}}}));
  const auto time_us = [&](const char* variant, double blocks_per_s) {
    Ceilings c = of_l2(kOnAllSms);
    c.blocks_per_s = blocks_per_s;
    const CodeTime time = predict_from_code(
        launch_to_time(problem.host, *family.find(variant), problem.simulator, device(), kernels()),
        problem.simulator, Mode::warm, device(), c);
    REQUIRE(time.refusal.empty());
    return time.total_us - time.launch_us;
  };
  constexpr double kSlow = 1e8, kMicro = 1e6;
  const double blocks = static_cast<double>(side) * static_cast<double>(side) / 256;
  CHECK(time_us("block_256x1x1", kSlow) > blocks / kSlow * kMicro);
  CHECK(time_us("twice_the_blocks", kSlow) > 0.999 * 2 * blocks / kSlow * kMicro);
  CHECK(time_us("twice_the_blocks", kSlow) < 1.05 * 2 * blocks / kSlow * kMicro);
  // With a higher block rate, the other blocks' work bounds the time.
  CHECK(time_us("twice_the_blocks", 100 * kSlow) < 2 * blocks / kSlow * kMicro / 2);
}

TEST_CASE("a launch ends with its slowest SM", "[code_time]") {
  if (kernels().empty())
    return skip(Tier::machine_code, "built without cuobjdump: the binary keeps no machine code");
  const int all = device().sm_count;
  constexpr std::int64_t kSteps = 64;
  // The largest of 132 sums of latencies is 2.6 standard deviations above the mean (Tippett, On the
  // Extreme Individuals and the Range of Samples, 1925). With four times the steps, the deviation
  // doubles. Other costs are in both times and cancel.
  const Ceilings c = of_dram({});
  const double more =
      chase_us(c, 4 * kSteps, all, 1) - chase_us(c, kSteps, all, 1) - 1e-3 * 3 * kSteps * kOnOneSm;
  const double expected = 1e-3 * 2.6 * deviation_of(kDramSpread) * kOnOneSm * std::sqrt(kSteps);
  CHECK(more > 0.4 * expected);
  CHECK(more < 1.6 * expected);
  // SMs without loads take equally long. The last one starts when all others have a block.
  const double last_start_us = 1e6 * (all - 1) / *c.blocks_per_s;
  CHECK(stores_us(all) == Approx(stores_us(1) + last_start_us).margin(0.02));
}

/// Time of a variant of spmv.
double spmv_us(const char* variant, const char* matrix) {
  const Family& family = *Registry::global().find("spmv");
  Problem problem(family, values_with(family, {{"rows", std::int64_t{30'011}},
                                               {"mean", std::int64_t{16}},
                                               {"matrix", std::string(matrix)}}));
  const CodeTime time = predict_from_code(
      launch_to_time(problem.host, *family.find(variant), problem.simulator, device(), kernels()),
      problem.simulator, Mode::cold, device(), of_dram(kOnAllSms));
  INFO(time.refusal);
  REQUIRE(time.refusal.empty());
  return time.total_us - time.launch_us;
}

// Rows have 16 nonzeros on average, and one row has more than 11,000, which a thread loads one after
// another in one of 118 blocks.
TEST_CASE("a launch does not end before the longest row of its matrix", "[code_time]") {
  if (kernels().empty())
    return skip(Tier::machine_code, "built without cuobjdump: the binary keeps no machine code");
  CHECK(spmv_us("csr_thread_per_row", "power_law") >
        20 * spmv_us("csr_thread_per_row", "regular"));
  CHECK(spmv_us("csr_warp_per_row", "power_law") > 2 * spmv_us("csr_warp_per_row", "regular"));
  // Its blocks have equal numbers of nonzeros.
  CHECK(spmv_us("csr_adaptive", "power_law") < 2 * spmv_us("csr_adaptive", "regular"));
}

/// Time of mixed_precision/fp16, whose last block handles a partial tile in a loop.
double relu_us(std::int64_t n) {
  const Family& family = *Registry::global().find("mixed_precision");
  Problem problem(family, values_with(family, {{"n", n}}));
  const CodeTime time = predict_from_code(
      launch_to_time(problem.host, *family.find("fp16"), problem.simulator, device(), kernels()),
      problem.simulator, Mode::cold, device(), of_dram(kOnAllSms));
  REQUIRE(time.refusal.empty());
  return time.total_us;
}

TEST_CASE("a launch ends with its last block, even if that takes longer", "[code_time]") {
  if (kernels().empty())
    return skip(Tier::machine_code, "built without cuobjdump: the binary keeps no machine code");
  constexpr std::int64_t kTile = 4096;
  constexpr std::int64_t kTiles = 200;
  constexpr std::int64_t kThreads = 256;
  const double whole = relu_us(kTiles * kTile);
  // Time of this number of successive round trips.
  const auto loop_us = [](std::int64_t trips) {
    return 1e-3 * static_cast<double>(trips) * kOnAllSms;
  };
  const double ragged = relu_us(kTiles * kTile - 1);
  CHECK(ragged > whole + 0.7 * loop_us(kTile / kThreads - 1));
  CHECK(ragged < whole + 2 * loop_us(kTile / kThreads));
  CHECK(relu_us(kTiles * kTile - kTile + kThreads) < whole + loop_us(2));
}

}  // namespace
}  // namespace gpuexp::test
