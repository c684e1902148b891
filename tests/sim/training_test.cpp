// Training of networks: an MLP that learns in successive launches on the CPU, steps whose gradients
// overflow, and a transformer block. The GPU test has larger ones (tests/gpu/training_test.cpp).
#include <memory>

#include "sim/execution.hpp"
#include "support/training_run.hpp"

namespace gpuexp::test {
namespace {

TrainingMemory simulated() {
  struct State {
    sim::Simulator simulator{kernels(), device().compute_capability()};
    std::vector<std::unique_ptr<double[]>> memory;
  };
  const auto state = std::make_shared<State>();
  state->simulator.uses_host_loops = true;
  // The tests of families check the accesses of these kernels.
  sim::Checks checks;
  checks.memory = false;
  state->simulator.set_checks(checks);
  TrainingMemory m;
  m.allocate = [state](std::int64_t bytes) -> void* {
    const auto doubles = static_cast<std::size_t>(bytes) / sizeof(double) + 1;
    // Aligns buffers to 256 bytes.
    constexpr std::size_t kAlignment = 256;
    state->memory.push_back(std::make_unique<double[]>(doubles + kAlignment / sizeof(double)));
    void* at = state->memory.back().get();
    std::size_t room = doubles * sizeof(double) + kAlignment;
    at = std::align(kAlignment, doubles * sizeof(double), at, room);
    state->simulator.memory().add(at, static_cast<std::size_t>(bytes), "a buffer");
    return at;
  };
  m.run = [state](const Steps& steps) { state->simulator.run(steps); };
  m.read = [](void* to, const void* from, std::int64_t bytes) {
    std::memcpy(to, from, static_cast<std::size_t>(bytes));
  };
  return m;
}

TrainingRun small_run(const char* dtype, const char* variant, bool planted, int steps_before) {
  return {family_of("training_step"),
          {{"batch", std::int64_t{64}},
           {"width", std::int64_t{16}},
           {"hidden", std::int64_t{64}},
           {"layers", std::int64_t{1}},
           {"dtype", std::string(dtype)},
           {"overflow", std::string(planted ? "planted" : "no")},
           {"steps_before", std::int64_t{steps_before}},
           {"growth_interval", std::int64_t{20}},
           {"learning_rate", 3e-3}},
          variant,
          device(),
          simulated()};
}

constexpr int kSteps = 100;
constexpr std::size_t kWindow = 10;
constexpr std::uint64_t kSeeds = 10;

std::vector<Losses> curves(const char* dtype, const char* variant, std::uint64_t seeds) {
  TrainingRun run = small_run(dtype, variant, false, 0);
  std::vector<Losses> all;
  for (std::uint64_t seed = 1; seed <= seeds; ++seed)
    all.push_back(smoothed(run.losses(seed, kSteps), kWindow));
  return all;
}

TEST_CASE("a network learns equally well in all precisions, separate and fused", "[training]") {
  if (!has_machine_code()) return;
  const Spread fp32(curves("fp32", "fused", kSeeds));
  CHECK(fp32.most.back() < 0.4 * fp32.least.front());
  for (const auto& [dtype, variant] : {std::pair{"bf16", "fused"},
                                       {"fp16", "fused"},
                                       {"fp32", "separate"},
                                       {"bf16", "fused_recompute"}}) {
    INFO(dtype << " " << variant);
    check_within(fp32, curves(dtype, variant, 3));
  }
}

TEST_CASE("an overflow changes only the loss scale", "[training]") {
  if (!has_machine_code()) return;
  for (const char* variant : {"separate", "fused", "fused_recompute"}) {
    INFO(variant);
    check_overflow([&](bool planted) { return small_run("fp16", variant, planted, 5); });
  }
}

TrainingRun small_block(const char* dtype, const char* variant, bool planted) {
  return {family_of("training_block"),
          {{"sequences", std::int64_t{2}},
           {"tokens", std::int64_t{128}},
           {"width", std::int64_t{64}},
           {"hidden", std::int64_t{64}},
           {"dtype", std::string(dtype)},
           {"overflow", std::string(planted ? "planted" : "no")},
           {"steps_before", std::int64_t{0}},
           {"growth_interval", std::int64_t{20}},
           {"learning_rate", 3e-3}},
          variant,
          device(),
          simulated()};
}

TEST_CASE("an overflow in a block changes only the loss scale", "[training]") {
  if (!has_machine_code()) return;
  for (const char* variant : {"separate", "fused"}) {
    INFO(variant);
    check_overflow([&](bool planted) { return small_block("fp16", variant, planted); });
  }
}

// Small problems lack several heads and sizes that are not multiples of a tile.
TEST_CASE("a block is correct in all phases and types", "[training]") {
  if (!has_machine_code()) return;
  const std::pair<const char*, std::size_t> phases[] = {
      {"step", 6}, {"forward", 2}, {"backward", 3}, {"update", 2}};
  for (const char* dtype : {"bf16", "fp16", "fp32"}) {
    for (const auto& [phase, variants] : phases) {
      const Changed sizes = {{"sequences", std::int64_t{2}}, {"tokens", std::int64_t{37}},
                             {"width", std::int64_t{128}},   {"hidden", std::int64_t{75}},
                             {"dtype", std::string(dtype)},  {"phase", std::string(phase)}};
      CHECK(check_variants(family_of("training_block"), sizes) == variants);
    }
  }
}

TEST_CASE("a block is correct over several tiles of tokens", "[training]") {
  if (!has_machine_code()) return;
  for (const char* dtype : {"bf16", "fp32"}) {
    const Changed sizes = {{"sequences", std::int64_t{1}}, {"tokens", std::int64_t{261}},
                           {"width", std::int64_t{64}},    {"hidden", std::int64_t{72}},
                           {"dtype", std::string(dtype)},  {"phase", std::string("backward")}};
    CHECK(check_variants(family_of("training_block"), sizes) == 3);
  }
}

TEST_CASE("an overflow injected into a block is detected by the gradients", "[training]") {
  if (!has_machine_code()) return;
  // Few hidden units and many tokens make the first rows of other sequences largest.
  const std::pair<std::int64_t, std::int64_t> most[] = {{2, 40}, {3, 1}, {8, 1}};
  for (const auto& [sequences, hidden] : most) {
    const Changed sizes = {{"sequences", sequences},       {"tokens", std::int64_t{129}},
                           {"width", std::int64_t{64}},    {"hidden", hidden},
                           {"dtype", std::string("fp16")}, {"overflow", std::string("planted")}};
    CHECK(check_variants(family_of("training_block"), sizes) == 6);
  }
}

TEST_CASE("the loss scale doubles after the growth interval of good steps", "[training]") {
  if (!has_machine_code()) return;
  TrainingRun run = small_run("fp16", "fused", false, 0);
  run.begin(1);
  const std::int32_t first = run.contents<std::int32_t>("state").front();
  for (std::uint64_t batch = 1; batch <= 19; ++batch)
    run.step(batch);
  CHECK(run.contents<std::int32_t>("state").front() == first);
  run.step(20);
  CHECK((run.contents<std::int32_t>("state") == std::vector<std::int32_t>{first + 1, 0, 20, 0}));
}

}  // namespace
}  // namespace gpuexp::test
