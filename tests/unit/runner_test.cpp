#include "core/runner.hpp"

#include <algorithm>

#include "core/columns.hpp"
#include "support/catch.hpp"
#include "support/fake_executor.hpp"
#include "support/toy_family.hpp"

namespace gpuexp::test {
namespace {

/// One experiment on the toy family with everything around it that a run needs.
struct Bench {
  Family family = toy_family();
  DeviceSpec device = toy_device();
  KernelResources resources;
  Config config;
  Plan plan;
  FakeExecutor executor;
  RecordingTracer tracer;
  RunObserver observer;
  RunOptions options;
  double clock_s = 0;

  explicit Bench(const std::vector<std::string>& variants) {
    Experiment e;
    e.name = "toy";
    e.family = &family;
    for (const std::string& id : variants)
      e.variants.push_back(family.find(id));
    e.baseline = e.variants.front();
    e.modes = {Mode::cold};
    config.experiments.push_back(e);
    options.now_s = [this] { return clock_s; };
  }

  Experiment& experiment() { return config.experiments.front(); }

  void sweep(std::vector<AxisItem> sizes) {
    experiment().axes = {{"n", std::move(sizes)}};
    experiment().axis_groups = {{0}};
  }

  std::vector<Row> run() {
    plan = make_plan(config, device, resources, device.memory_bytes);
    return run_plan(plan, resources, executor, tracer, observer, options);
  }
};

Verification wrong_result() {
  Verification v;
  v.checked = 8;
  v.wrong = 2;
  v.first = Mismatch{"y", 3, 1.0, 2.0, 0.1};
  return v;
}

TEST_CASE("a cell is verified, warmed up, sampled and verified again") {
  Bench b({"first"});
  const auto rows = b.run();
  REQUIRE(rows.size() == 1);
  CHECK(rows[0].status == Status::passed);
  CHECK(rows[0].time_us->median == 10.0);
  CHECK(rows[0].stop_reason == StopReason::converged);
  CHECK(b.executor.calls == std::vector<std::string>{"set_up 1", "poison first", "launch first",
                                                     "check first", "warm_up first cold 3",
                                                     "sample first", "poison first", "launch first",
                                                     "check first"});
}

TEST_CASE("a wrong result is never timed, and a late one loses its times") {
  Bench b({"first", "second"});
  b.executor.verification = [](const std::string& variant, int n) {
    const bool wrong = variant == "first" ? n == 0 : n == 1;
    return wrong ? wrong_result() : Verification{};
  };
  const auto rows = b.run();
  for (const Row& row : rows) {
    CHECK(row.status == Status::incorrect);
    CHECK(!row.time_us.has_value());
    CHECK(row.samples_us.empty());
  }
  CHECK(b.executor.samples_of("first") == 0);
  CHECK_THAT(rows[0].reason,
             contains_text("2 of 8 elements are wrong; first y[3]: expected 1, got 2"));
  CHECK_THAT(rows[1].reason, contains_text("after timing"));
}

TEST_CASE("only passed rows have throughput, limits reached and speed-up") {
  Bench b({"first", "second", "even", "vendor"});
  b.sweep({Value{std::int64_t{4097}}});
  b.executor.verification = [](const std::string& variant, int) {
    return variant == "second" ? wrong_result() : Verification{};
  };
  const auto rows = b.run();
  const auto columns = columns_of(b.plan);
  for (const Row& row : rows) {
    const auto fields = fields_of(columns, b.plan, row);
    for (std::size_t i = 0; i < columns.size(); ++i) {
      for (const char* name :
           {"time_median_us", "useful_gb_per_s", "tflops", "limit_pct", "speedup"}) {
        if (columns[i].name != name) continue;
        INFO(row.cell->variant->id << " " << name);
        CHECK(std::holds_alternative<std::monostate>(fields[i]) == (row.status != Status::passed));
      }
    }
  }
  CHECK(rows[2].status == Status::skipped);
  CHECK(rows[2].reason == "needs an even n");
  CHECK(rows[3].reason == "the library is not installed");
}

TEST_CASE("sampling stops at convergence, at the sample cap or at the wall cap, and says which") {
  Bench b({"first"});
  b.experiment().measure.max_samples = 100;
  SECTION("noise keeps it going up to max_samples") {
    b.executor.time_us = [](const std::string&, int n) { return n % 2 ? 10.0 : 20.0; };
    const auto rows = b.run();
    CHECK(rows[0].stop_reason == StopReason::max_samples);
    CHECK(rows[0].samples_us.size() == 100);
  }
  SECTION("the wall cap wins over min_samples and flags the row") {
    b.executor.time_us = [&](const std::string&, int) {
      b.clock_s += 0.7;
      return 7e5;
    };
    const auto rows = b.run();
    CHECK(rows[0].stop_reason == StopReason::max_seconds);
    CHECK(rows[0].samples_us.size() == 3);
    CHECK(!rows[0].time_us->median_ci95.has_value());
    CHECK(std::count(rows[0].flags.begin(), rows[0].flags.end(), "few_samples") == 1);
  }
}

TEST_CASE("speed-up refers to the baseline of the same problem and mode") {
  Bench b({"first", "second"});
  b.sweep({Value{std::int64_t{64}}, Value{std::int64_t{128}}});
  int set_ups = 0;
  b.executor.time_us = [&](const std::string& variant, int) {
    set_ups = static_cast<int>(
        std::count(b.executor.calls.begin(), b.executor.calls.end(), std::string("set_up 1")));
    return (variant == "first" ? 40.0 : 10.0) * set_ups;
  };
  const auto rows = b.run();
  REQUIRE(rows.size() == 4);
  CHECK(rows[1].baseline_time_us == 40.0);
  CHECK(rows[1].time_us->median == 10.0);
  CHECK(rows[3].baseline_time_us == 80.0);
  CHECK(rows[3].time_us->median == 20.0);
}

TEST_CASE("modes of one problem share a set-up") {
  Bench b({"first"});
  b.experiment().modes = {Mode::cold, Mode::warm};
  b.run();
  CHECK(std::count(b.executor.calls.begin(), b.executor.calls.end(), std::string("set_up 1")) == 1);
}

TEST_CASE("a fault fails its cell; a lost device leaves the rest not run") {
  Bench b({"first", "second", "even"});
  bool lost = false;
  b.executor.verification = [&](const std::string& variant, int) -> Verification {
    if (variant == "first") throw DeviceError("cudaErrorLaunchOutOfResources", lost);
    return {};
  };
  SECTION("the call alone") {
    const auto rows = b.run();
    CHECK(rows[0].status == Status::failed);
    CHECK(rows[0].reason == "cudaErrorLaunchOutOfResources");
    CHECK(rows[1].status == Status::passed);
    CHECK(!rows[1].baseline_time_us.has_value());
  }
  SECTION("the device") {
    lost = true;
    const auto rows = b.run();
    CHECK(rows[0].status == Status::failed);
    CHECK(rows[1].status == Status::not_run);
    CHECK(rows[2].status == Status::not_run);
  }
}

TEST_CASE("an interrupt keeps what was measured and leaves the rest not run") {
  Bench b({"first", "second"});
  int asked = 0;
  b.options.interrupted = [&] { return ++asked > 8; };
  const auto rows = b.run();
  CHECK(rows[0].status == Status::passed);
  CHECK(rows[0].stop_reason == StopReason::interrupted);
  CHECK(rows[0].samples_us.size() == 7);
  CHECK(rows[1].status == Status::not_run);
  CHECK(rows[1].reason == "interrupted");
}

TEST_CASE("profiling launches once per cell, and that launch is the one verified") {
  Bench b({"first", "second"});
  b.options.kind = RunKind::profile;
  const auto rows = b.run();
  CHECK(b.executor.calls == std::vector<std::string>{"set_up 1", "poison first", "launch first",
                                                     "check first", "poison second",
                                                     "launch second", "check second"});
  CHECK(rows[0].status == Status::passed);
  CHECK(!rows[0].time_us.has_value());
}

TEST_CASE("a profiled launch alone is in the range measure, and a wrong one is incorrect") {
  Bench b({"first"});
  b.options.kind = RunKind::profile;
  b.executor.verification = [](const std::string&, int) { return wrong_result(); };
  const auto rows = b.run();
  CHECK(rows[0].status == Status::incorrect);
  const std::vector<std::string> expected{"push toy/toy/first/n=1024,share=0.5,width=narrow/cold",
                                          "push set-up",
                                          "pop",
                                          "push verify",
                                          "pop",
                                          "push measure",
                                          "pop",
                                          "push verify",
                                          "pop",
                                          "pop"};
  CHECK(b.tracer.events == expected);
}

TEST_CASE("ranges nest and carry the row's key") {
  Bench b({"first"});
  b.run();
  const std::vector<std::string> expected{"push toy/toy/first/n=1024,share=0.5,width=narrow/cold",
                                          "push set-up",
                                          "pop",
                                          "push verify",
                                          "pop",
                                          "push warm-up",
                                          "pop",
                                          "push measure",
                                          "pop",
                                          "push verify",
                                          "pop",
                                          "pop"};
  CHECK(b.tracer.events == expected);
}

TEST_CASE("results that the datasheet forbids are flagged") {
  Bench b({"first"});
  b.sweep({Value{std::int64_t{1} << 20}});
  b.executor.time_us = [](const std::string&, int) { return 0.01; };
  const auto rows = b.run();
  CHECK(rows[0].flags == std::vector<std::string>{"output_in_l2", "above_limit"});
}

}  // namespace
}  // namespace gpuexp::test
