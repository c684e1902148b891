// Runs on executors that lack an ability, and runs of variants with timed first launches.
#include <algorithm>

#include "record/flags.hpp"
#include "run/runner.hpp"
#include "support/catch.hpp"
#include "support/toy_run.hpp"

namespace gpuexp::test {
namespace {

using Calls = std::vector<std::string>;

void time(Family& family, const std::string& variant, Timing timing) {
  for (Variant& v : family.variants) {
    if (v.id == variant) v.timing = timing;
  }
}

std::ptrdiff_t count_of(const Calls& calls, const std::string& call) {
  return std::count(calls.begin(), calls.end(), call);
}

TEST_CASE("an executor without a timer verifies each cell once and counts if it can") {
  ToyRun b({"first"});
  b.executor.times = false;
  b.experiment().counters = {"dram_read_bytes"};
  SECTION("with counters") {
    const auto rows = b.run();
    CHECK(rows[0].status == Status::passed);
    CHECK(!rows[0].time_us);
    CHECK(rows[0].samples_us.empty());
    REQUIRE(rows[0].counts);
    CHECK(b.executor.calls == Calls{"set_up 1", "poison first", "launch first warm", "check first",
                                    "count first cold"});
  }
  SECTION("without") {
    b.executor.counts = false;
    const auto rows = b.run();
    CHECK(rows[0].status == Status::passed);
    CHECK(!rows[0].counts);
    CHECK(rows[0].flags.empty());
    CHECK(b.executor.calls ==
          Calls{"set_up 1", "poison first", "launch first warm", "check first"});
  }
  SECTION("a wrong result is not counted") {
    b.executor.verification = [](const std::string&, int) {
      Verification v;
      v.wrong = 1;
      return v;
    };
    const auto rows = b.run();
    CHECK(rows[0].status == Status::incorrect);
    CHECK(!rows[0].counts);
  }
}

TEST_CASE("an executor that times but cannot count returns only times") {
  ToyRun b({"first"});
  b.executor.counts = false;
  b.experiment().counters = {"dram_read_bytes"};
  const auto rows = b.run();
  CHECK(rows[0].time_us);
  CHECK(!rows[0].counts);
}

TEST_CASE("each sample of a variant timed in fresh processes has its own process") {
  ToyRun b({"first", "second"});
  time(b.family, "second", Timing::fresh_process);
  b.experiment().measure.min_samples = 4;
  b.experiment().measure.max_samples = 4;
  b.executor.time_us = [](const std::string& variant, int n) {
    return variant == "second" ? 500.0 + n : 10.0;
  };
  const auto rows = b.run();
  const Calls& calls = b.executor.calls;
  CHECK(rows[1].status == Status::passed);
  CHECK(rows[1].samples_us == std::vector<double>{500, 501, 502, 503});
  CHECK(rows[1].time_us->median == 501.5);
  CHECK(count_of(calls, "restart") == 4);
  CHECK(count_of(calls, "sample_from_first second cold 1") == 4);
  CHECK(count_of(calls, "warm_up second cold 3") == 0);
  CHECK(count_of(b.executor.order, "second") == 0);
  // Each process is set up again, without calls in between.
  for (auto call = std::find(calls.begin(), calls.end(), "restart"); call != calls.end();
       call = std::find(call + 1, calls.end(), "restart")) {
    CHECK(call[1] == "set_up 1");
    CHECK(call[2] == "sample_from_first second cold 1");
  }
  CHECK(rows[0].samples_us == std::vector<double>(4, 10.0));
}

TEST_CASE("the launches of one process are timed from the first") {
  ToyRun b({"first"});
  time(b.family, "first", Timing::from_first);
  b.experiment().measure.min_samples = 6;
  b.executor.time_us = [](const std::string&, int n) { return n == 0 ? 900.0 : 10.0; };
  const auto rows = b.run();
  CHECK(rows[0].status == Status::passed);
  CHECK(rows[0].samples_us == std::vector<double>{900, 10, 10, 10, 10, 10});
  CHECK(count_of(b.executor.calls, "restart") == 1);
  CHECK(rows[0].stop_reason == StopReason::none);
}

TEST_CASE("first launches are skipped if no other process can start") {
  ToyRun b({"first", "second"});
  time(b.family, "first", Timing::fresh_process);
  b.executor.restarts = false;
  const auto rows = b.run();
  CHECK(rows[0].status == Status::skipped);
  CHECK_THAT(rows[0].reason, contains_text("--no-isolate"));
  CHECK(rows[1].status == Status::passed);
}

TEST_CASE("first launches are neither warm nor replayed") {
  ToyRun b({"first"});
  time(b.family, "first", GENERATE(Timing::fresh_process, Timing::from_first));
  b.experiment().modes = {Mode::cold, Mode::warm, Mode::graph, Mode::back_to_back,
                          Mode::back_to_back_graph};
  const auto rows = b.run();
  CHECK(rows[0].status == Status::passed);
  for (const int i : {1, 2, 3, 4}) {
    CHECK(rows[i].status == Status::skipped);
    CHECK_THAT(rows[i].reason, contains_text("first launches"));
  }
}

TEST_CASE("back-to-back launches are verified one by one and have no timer step") {
  ToyRun b({"first"});
  const Mode mode = GENERATE(Mode::back_to_back, Mode::back_to_back_graph);
  b.experiment().modes = {mode};
  b.executor.floor_us = {2.0, 2.5};
  const auto rows = b.run();
  CHECK(rows[0].status == Status::passed);
  CHECK(rows[0].time_us->quantum_us == 0);
  const auto launched = [&](Mode in) {
    return std::count(b.executor.calls.begin(), b.executor.calls.end(),
                      "launch first " + std::string(name_of(in)));
  };
  CHECK(launched(Mode::warm) == 2);
  CHECK(launched(mode) == 0);
  CHECK(std::count(rows[0].flags.begin(), rows[0].flags.end(), kUngated.id) == 0);
}

TEST_CASE("launches that need a reset never run back to back") {
  ToyRun b({"first"});
  b.experiment().modes = {Mode::warm, Mode::back_to_back};
  b.family.reset = [](const void*, const void*) { return Steps(); };
  SECTION("needed") {
    const auto rows = b.run();
    CHECK(rows[0].status == Status::passed);
    CHECK(rows[1].status == Status::skipped);
    CHECK_THAT(rows[1].reason, contains_text("restored before each"));
  }
  SECTION("not needed") {
    b.family.repeats_without_reset = true;
    CHECK(b.run()[1].status == Status::passed);
  }
}

TEST_CASE("a fault in a fresh process fails its cell, and an interrupt keeps the samples taken") {
  ToyRun b({"first", "second"});
  time(b.family, "first", Timing::fresh_process);
  b.experiment().measure.max_samples = 20;
  SECTION("a fault") {
    b.executor.fault = [](const std::string& call) {
      if (call == "restart") throw DeviceError("no worker", DeviceFault::lost);
    };
    b.executor.recovers = true;
    const auto rows = b.run();
    CHECK(rows[0].status == Status::failed);
    CHECK(rows[0].reason == "no worker");
    CHECK(rows[1].status == Status::passed);
  }
  SECTION("an interrupt") {
    int started = 0;
    b.executor.fault = [&](const std::string& call) { started += call == "restart"; };
    b.options.interrupted = [&] { return started == 3; };
    const auto rows = b.run();
    CHECK(rows[0].samples_us.size() == 3);
    CHECK(rows[0].stop_reason == StopReason::interrupted);
  }
}

}  // namespace
}  // namespace gpuexp::test
