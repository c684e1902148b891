// Verification with a sampled reference: faults that it detects, and those that it misses.
#include <fmt/format.h>

#include "family/draw_limits.hpp"
#include "family/registry.hpp"
#include "gpu/broken_family.hpp"
#include "gpu/cuda_executor.hpp"
#include "gpu/device_query.hpp"
#include "run/compared_elements.hpp"
#include "run/runner.hpp"
#include "support/skip.hpp"
#include "support/small_problems.hpp"

namespace gpuexp::test {
namespace {

constexpr std::int64_t kElements = 1 << 20;
constexpr double kNothing = 1e-12;  ///< seconds; too short for any reference

std::unique_ptr<Executor> executor_with(double max_reference_s) {
  CudaOptions options;
  options.max_reference_s = max_reference_s;
  return make_cuda_executor(0, query_device(0, {}).spec, options);
}

/// The seed decides whether the first piece is drawn, which contains the broken family's tile at
/// element 32.
std::uint64_t seed_that_draws_first(bool is_drawn) {
  std::uint64_t seed = 1;
  while (affordable_draw(0, kElements, kElements, seed).has(0) != is_drawn)
    ++seed;
  return seed;
}

Verification verified(Executor& executor, const Family& family, const char* variant) {
  const Verification v = executor.verify(*family.find(variant), Mode::warm);
  fmt::print("{}/{}: {} of {} elements checked, {} wrong\n", family.id, variant, v.checked,
             v.elements, v.wrong);
  return v;
}

TEST_CASE("a reference above its time limit is computed for random elements, one below for all",
          "[sampled_reference]") {
  const Family family = broken_family();
  const auto below = executor_with(CudaOptions{}.max_reference_s);
  below->set_up(family, {kElements}, 1);
  CHECK(verified(*below, family, "right").checked == kElements);
  const auto above = executor_with(kNothing);
  above->set_up(family, {kElements}, 1);
  const Verification v = verified(*above, family, "right");
  CHECK(v.passed());
  CHECK(v.elements == kElements);
  CHECK(v.checked > kMinDrawnElements / 2);
  CHECK(v.checked < 2 * kMinDrawnElements);
  CHECK(verified(*above, family, "right").checked == v.checked);
  // Few enough elements that all are compared.
  above->set_up(family, {std::int64_t{1000}}, 1);
  CHECK(verified(*above, family, "right").checked == 1000);
}

TEST_CASE("a sample detects faults in its elements, and NaN, guards and inputs anywhere",
          "[sampled_reference]") {
  const Family family = broken_family();
  const auto executor = executor_with(kNothing);
  executor->set_up(family, {kElements}, seed_that_draws_first(true));
  for (const char* wrong : {"nan", "unwritten_tail", "overrun_end", "overrun_begin", "stale",
                            "bad_tile", "one_percent", "changed_input"}) {
    INFO(wrong);
    // Its second launch writes nothing.
    if (wrong == std::string("stale")) CHECK(verified(*executor, family, wrong).passed());
    CHECK(!verified(*executor, family, wrong).passed());
  }
  const Verification tile = verified(*executor, family, "bad_tile");
  CHECK(tile.wrong == 32);
  REQUIRE(!tile.first_wrong.empty());
  CHECK(tile.first_wrong.front().index == 32);
  CHECK(verified(*executor, family, "right").passed());

  executor->set_up(family, {kElements}, seed_that_draws_first(false));
  CHECK(verified(*executor, family, "bad_tile").passed());
  CHECK(!verified(*executor, family, "nan").passed());
  CHECK(!verified(*executor, family, "unwritten_tail").passed());
}

// Its unwritten elements are not NaN, so a sample could miss them.
TEST_CASE("an output that is also an input is compared completely in up to eight times the limit",
          "[sampled_reference]") {
  const Family& family = *Registry::global().find("partial_write");
  const Values values = values_with(family, {{"n", std::int64_t{100'003}}});
  const auto verification = [&](double max_reference_s) {
    const auto executor = executor_with(max_reference_s);
    executor->set_up(family, values, 1);
    const Verification v = verified(*executor, family, "write_strided");
    CHECK(v.passed());
    return v;
  };
  const Verification sampled = verification(kNothing);
  CHECK(sampled.elements > 100'003);
  CHECK(sampled.checked < sampled.elements);
  const double all_s =
      static_cast<double>(sampled.elements) / reference_rate(query_device(0, {}).spec);
  CHECK(verification(all_s / (kMaxDrawTime - 1)).checked == sampled.elements);
  CHECK(verification(all_s / (kMaxDrawTime + 1)).checked < sampled.elements);
}

// Each supported variant, in modes with one and with several copies of the outputs.
TEST_CASE("correct products pass with sampled references, and their rows say so",
          "[sampled_reference]") {
  const DeviceSpec device = query_device(0, {}).spec;
  for (const char* id : {"matmul", "matmul_tensor"}) {
    const Family& family = *Registry::global().find(id);
    Config config;
    Experiment& e = config.experiments.emplace_back();
    e.name = id;
    e.family = &family;
    for (const Variant& variant : family.variants)
      e.variants.push_back(&variant);
    e.modes = {Mode::cold, Mode::graph};
    e.axes = {{"m", {{std::int64_t{512}}}}, {"n", {{std::int64_t{512}}}}};
    e.axis_groups = {{0}, {1}};
    e.measure.min_samples = e.measure.max_samples = 3;
    e.measure.min_seconds = 0;
    const KernelResources resources;
    const Plan plan = make_plan(config, device, resources, device.memory_bytes);
    struct : Tracer {
      void push(const std::string&) override {}
      void pop() override {}
    } tracer;
    RunObserver observer;
    const auto executor = executor_with(kNothing);
    int sampled = 0;
    for (const Row& row : run_plan(plan, resources, *executor, tracer, observer, {})) {
      if (row.status == Status::skipped) continue;
      INFO(row.key << ": " << row.reason);
      CHECK(row.status == Status::sampled);
      CHECK(row.time_us.has_value());
      ++sampled;
    }
    CHECK(sampled > 0);
  }
}

}  // namespace
}  // namespace gpuexp::test
