// Atomics and histograms, executed from machine code: number of requests, and 16-bit counters that
// would overflow.
#include <map>
#include <string>

#include "family/counters.hpp"
#include "sim/execution.hpp"
#include "simulated/simulated_executor.hpp"
#include "support/catch.hpp"
#include "support/skip.hpp"
#include "support/small_problems.hpp"

namespace gpuexp::test {
namespace {

constexpr std::uint64_t kSeed = 7;

SimulatedOptions patient() {
  SimulatedOptions options;
  options.launch_timeout_s = 300;  // other processes may use the CPU, too
  return options;
}

/// Requests that one launch of atomics/variant issues, after its results were verified.
double requests(const char* variant, const char* counter, std::int64_t k) {
  constexpr std::int64_t kValues = 1 << 17;
  const Family& family = family_of("atomics");
  const Variant* const found = family.find(variant);
  REQUIRE(found);
  const auto executor = make_simulated_executor(device(), kernels(), patient());
  const Values values = values_with(family, {{"n", kValues}, {"k", k}});
  executor->set_up(family, values, kSeed);
  REQUIRE(executor->verify(*found, Mode::cold).passed());
  const auto selected = select_counters({counter});
  const auto counts = executor->counter_reader()->count({{&family, values, found, Mode::cold}},
                                                        kSeed, metrics_of(selected));
  const auto value = counted(selected.front(), counts.front());
  REQUIRE(value);
  return *value;
}

TEST_CASE("atomics issue one request per warp and value, or per partial sum",
          "[sim][machine_code]") {
  if (!has_machine_code()) return;
  constexpr double kWarpValues = (1 << 17) / 32;
  constexpr double kTiles = (1 << 17) / 4096;
  const char* const reductions = "global_reduction_requests";
  const char* const atomics = "global_atomic_requests";
  CHECK(requests("global", reductions, 1) == kWarpValues);
  CHECK(requests("global", reductions, 1000) == kWarpValues);
  CHECK(requests("global", atomics, 1) == 0);
  CHECK(requests("returning", reductions, 1) == 0);
  CHECK(requests("returning", atomics, 1) == kWarpValues);
  CHECK(requests("match_aggregated", reductions, 1) == kWarpValues);
  CHECK(requests("warp_first", reductions, 1) == kWarpValues);
  CHECK(requests("redux_aggregated", reductions, 1) == kWarpValues);
  CHECK(requests("block_first", reductions, 1) == kTiles);
  CHECK(requests("shared_first", reductions, 256) == kTiles * 256 / 32);
  CHECK(requests("float_block_first", reductions, 1) == kTiles);
  CHECK(requests("float_fixed_order", reductions, 1) == 0);
}

TEST_CASE("16-bit counters stay exact for more samples than they can count",
          "[sim][machine_code]") {
  if (!has_machine_code()) return;
  const Family& family = family_of("histogram");
  const Variant* const variant = family.find("half_counters");
  REQUIRE(variant);
  // Five of six samples have the most frequent value: several times what a block's counter holds.
  constexpr std::int64_t kSamples = (std::int64_t{1} << 24) + 5;
  DeviceSpec few_sms = device();
  few_sms.sm_count = 32;
  SimulatedOptions options = patient();
  options.blocks.count = ExecutedBlocks::kAll;
  const auto executor = make_simulated_executor(few_sms, kernels(), options);
  executor->set_up(family,
                   values_with(family, {{"n", kSamples},
                                        {"dtype", std::string("uint16")},
                                        {"distribution", std::string("zipf")},
                                        {"exponent", 3.0}}),
                   kSeed);
  CHECK(executor->verify(*variant, Mode::cold).passed());
}

}  // namespace
}  // namespace gpuexp::test
