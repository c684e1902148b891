#include "run/runner.hpp"

#include <algorithm>
#include <cmath>
#include <functional>
#include <map>
#include <new>

#include "base/input_error.hpp"
#include "run/record_of.hpp"
#include "support/catch.hpp"
#include "support/toy_run.hpp"

namespace gpuexp::test {
namespace {

Verification wrong_result() {
  Verification v;
  v.checked = 8;
  v.wrong = 2;
  v.first_wrong.push_back({"y", 3, 1.0, 2.0, 0.1});
  return v;
}

TEST_CASE("a cell is verified, warmed up, sampled and verified again") {
  ToyRun b({"first"});
  const auto rows = b.run();
  REQUIRE(rows.size() == 1);
  CHECK(rows[0].status == Status::passed);
  CHECK(rows[0].time_us->median == 10.0);
  CHECK(rows[0].stop_reason == StopReason::converged);
  CHECK(b.executor.calls == std::vector<std::string>{"floor cold", "floor warm", "set_up 1",
                                                     "poison first", "launch first warm",
                                                     "check first", "warm_up first cold 3",
                                                     "sample first", "poison first",
                                                     "launch first cold", "check first"});
}

TEST_CASE("the variants of a group alternate in rounds with random order") {
  ToyRun b({"first", "second"});
  b.experiment().measure.target_relative_ci = 0;
  b.experiment().measure.max_samples = 40;
  b.run();
  const std::vector<std::string>& order = b.executor.order;
  REQUIRE(order.size() == 80);
  int firsts_ahead = 0;
  for (std::size_t i = 0; i < order.size(); i += 2) {
    CHECK(order[i] != order[i + 1]);
    firsts_ahead += order[i] == "first";
  }
  // With 40 fair coins, the count is outside these bounds once in 10^5 runs.
  CHECK(firsts_ahead > 6);
  CHECK(firsts_ahead < 34);
  ToyRun again({"first", "second"});
  again.experiment().measure = b.experiment().measure;
  again.run();
  CHECK(again.executor.order == order);
}

TEST_CASE("a converged variant is sampled until the others converge") {
  ToyRun b({"first", "second"});
  b.experiment().measure.max_samples = 100;
  b.executor.time_us = [&](const std::string& variant, int n) {
    b.clock_s += 0.01;
    return variant == "second" && n % 2 ? 20.0 : 10.0;
  };
  SECTION("for the whole time") {
    const auto rows = b.run();
    CHECK(rows[0].stop_reason == StopReason::converged);
    CHECK(rows[0].samples_us.size() == 100);
    CHECK(rows[1].stop_reason == StopReason::max_samples);
    CHECK(rows[1].samples_us.size() == 100);
  }
  SECTION("up to its own time limit") {
    b.executor.time_us = [&](const std::string& variant, int n) {
      b.clock_s += variant == "first" ? 0.05 : 0.01;
      return variant == "second" && n % 2 ? 20.0 : 10.0;
    };
    const auto rows = b.run();
    CHECK(rows[0].stop_reason == StopReason::converged);
    CHECK(rows[0].samples_us.size() == 40);  // max_seconds
    CHECK(rows[1].samples_us.size() == 100);
  }
}

TEST_CASE("a target below the timer's resolution is raised to it") {
  ToyRun b({"first"});
  b.executor.floor_us = {2.0, 2.5};
  // The interval's ends are one timer step apart: 3 % of the median.
  b.executor.time_us = [](const std::string&, int n) { return n % 3 == 1 ? 16.5 : 16.0; };
  CHECK(b.run()[0].stop_reason == StopReason::converged);
  ToyRun fine({"first"});
  fine.executor.floor_us = {2.0, 2.001953125};
  fine.executor.time_us = [](const std::string&, int n) { return n % 2 == 1 ? 16.5 : 16.0; };
  CHECK(fine.run()[0].stop_reason == StopReason::max_samples);
}

TEST_CASE("a wrong result is never timed, and a late one loses its times") {
  ToyRun b({"first", "second"});
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

Verification with_rms(double got, double allowed) {
  Verification v;
  v.checked = 8;
  v.worst_over_allowed = 0.9;
  v.add_rms({"y", got, allowed});
  return v;
}

std::map<std::string, Field> fields_by_name(const ToyRun& b, const Row& row) {
  std::map<std::string, Field> named;
  const RecordTable table = empty_table(b.plan);
  const ResultRecord record = record_of(table, b.plan, row);
  for (const RecordColumn& column : table.columns)
    named[column.name] = field_of(column, record);
  return named;
}

TEST_CASE("a row with partly compared elements is sampled and has their share") {
  ToyRun b({"first", "second"});
  b.executor.verification = [](const std::string& variant, int) {
    Verification v;
    v.elements = 1000;
    v.checked = variant == "first" ? 250 : 1000;
    return v;
  };
  const auto rows = b.run();
  CHECK(rows[0].status == Status::sampled);
  CHECK(rows[0].time_us.has_value());
  CHECK(rows[1].status == Status::passed);
  auto first = fields_by_name(b, rows[0]);
  CHECK(std::get<std::string>(first["status"]) == "sampled");
  CHECK(std::get<double>(first["verified_pct"]) == 25);
  CHECK(!std::holds_alternative<std::monostate>(first["speedup"]));
  CHECK(std::get<double>(fields_by_name(b, rows[1])["verified_pct"]) == 100);
}

TEST_CASE("a wrong compared element makes a row incorrect") {
  ToyRun b({"first"});
  b.executor.verification = [](const std::string&, int) {
    Verification v = wrong_result();
    v.elements = 1000;
    return v;
  };
  CHECK(b.run()[0].status == Status::incorrect);
}

TEST_CASE("elements within tolerance can exceed the RMS bound and fail") {
  ToyRun b({"first", "second"});
  b.executor.verification = [](const std::string& variant, int) {
    return variant == "first" ? with_rms(3e-6, 2e-6) : with_rms(1.5e-6, 2e-6);
  };
  const auto rows = b.run();
  CHECK(rows[0].status == Status::incorrect);
  CHECK(rows[0].reason ==
        "each element is within its tolerance, but the root-mean-square error of 'y' is 3e-06, "
        "allowed 2e-06");
  CHECK(std::get<double>(fields_by_name(b, rows[0]).at("error_rms_over_allowed")) == Approx(1.5));
  CHECK(rows[1].status == Status::passed);
  CHECK(rows[1].reason.empty());
  CHECK(std::get<double>(fields_by_name(b, rows[1]).at("error_rms_over_allowed")) == Approx(0.75));
}

TEST_CASE("the reason names each exceeded bound") {
  ToyRun b({"first", "second"});
  b.executor.verification = [](const std::string& variant, int) {
    Verification v = wrong_result();
    v.add_rms({"y", variant == "first" ? 3e-6 : 1e-6, 2e-6});
    return v;
  };
  const auto rows = b.run();
  CHECK_THAT(rows[0].reason, contains_text("2 of 8 elements are wrong; first y[3]"));
  CHECK_THAT(rows[0].reason, contains_text("allowed ±0.1; the root-mean-square error of 'y' is "
                                           "3e-06, allowed 2e-06"));
  CHECK(rows[1].reason.find("root-mean-square") == std::string::npos);
}

TEST_CASE("only passed rows have throughput, shares of limits and speedup") {
  ToyRun b({"first", "second", "even", "vendor"});
  b.sweep({Value{std::int64_t{4097}}});
  b.executor.verification = [](const std::string& variant, int) {
    return variant == "second" ? wrong_result() : Verification{};
  };
  const auto rows = b.run();
  const RecordTable table = empty_table(b.plan);
  for (const Row& row : rows) {
    INFO(row.cell->variant->id);
    const ResultRecord record = record_of(table, b.plan, row);
    for (const auto& number : {record.time_median_us, record.useful_gb_per_s, record.tflops,
                               record.limit_pct, record.speedup})
      CHECK(number.has_value() == (row.status == Status::passed));
  }
  CHECK(rows[2].status == Status::skipped);
  CHECK(rows[2].reason == "needs an even n");
  CHECK(rows[3].reason == "the library is not installed");
}

TEST_CASE("sampling stops at convergence, at max_samples or at max_seconds, and says which") {
  ToyRun b({"first"});
  b.experiment().measure.max_samples = 100;
  b.executor.floor_us = {1.0, 1.03125};
  SECTION("with noise it continues to max_samples") {
    b.executor.time_us = [](const std::string&, int n) { return n % 2 ? 10.0 : 20.0; };
    const auto rows = b.run();
    CHECK(rows[0].stop_reason == StopReason::max_samples);
    CHECK(rows[0].samples_us.size() == 100);
  }
  SECTION("a converged variant is sampled until min_seconds") {
    b.experiment().measure.min_seconds = 0.03;
    b.executor.time_us = [&](const std::string&, int) {
      b.clock_s += 0.001;
      return 10.0;
    };
    const auto rows = b.run();
    CHECK(rows[0].stop_reason == StopReason::converged);
    CHECK(rows[0].samples_us.size() == 31);  // checks after 20, 25 and 31 samples
  }
  SECTION("max_seconds overrides min_samples and flags the row") {
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

TEST_CASE("speedup refers to the baseline of the same problem and mode") {
  ToyRun b({"first", "second"});
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
  ToyRun b({"first"});
  b.experiment().modes = {Mode::cold, Mode::warm};
  b.run();
  CHECK(std::count(b.executor.calls.begin(), b.executor.calls.end(), std::string("set_up 1")) == 1);
}

TEST_CASE("a rejected call fails only its cell") {
  ToyRun b({"first", "second"});
  b.executor.fault = [](const std::string& call) {
    if (call == "check first") throw DeviceError("cudaErrorInvalidValue", DeviceFault::refused);
  };
  const auto rows = b.run();
  CHECK(rows[0].status == Status::failed);
  CHECK(rows[0].reason == "cudaErrorInvalidValue");
  CHECK(rows[1].status == Status::passed);
  CHECK(!rows[1].baseline_time_us.has_value());
}

TEST_CASE("if a device is lost for good, the remaining cells are not run") {
  ToyRun b({"first", "second", "even"});
  b.executor.fault = [](const std::string& call) {
    if (call == "launch first warm")
      throw DeviceError("cudaErrorIllegalAddress", DeviceFault::lost);
  };
  const auto rows = b.run();
  CHECK(rows[0].status == Status::failed);
  for (int i = 1; i < 3; ++i) {
    CHECK(rows[i].status == Status::not_run);
    CHECK(rows[i].reason == "the device was lost before: cudaErrorIllegalAddress");
  }
}

TEST_CASE("if the process that simulates is lost for good, the reason does not name a device") {
  ToyRun b({"first", "second"});
  b.device.simulated = true;
  b.executor.fault = [](const std::string& call) {
    if (call == "launch first warm") throw DeviceError("it crashed", DeviceFault::lost);
  };
  CHECK(b.run()[1].reason == "the process that simulated the GPU ended before: it crashed");
}

TEST_CASE("if a device recovers, only the faulty cell fails") {
  ToyRun b({"first", "second", "even"});
  b.executor.recovers = true;
  Status expected = Status::failed;
  std::string call_that_fails = "launch second warm";
  DeviceFault fault = DeviceFault::lost;
  std::size_t samples = 20;
  SECTION("in verification") {}
  SECTION("in the warm-up") {
    call_that_fails = "warm_up second cold 3";
  }
  SECTION("in the middle of sampling") {
    call_that_fails = "sample second 13";
  }
  SECTION("in the verification after sampling") {
    call_that_fails = "launch second cold";
  }
  SECTION("by a timeout") {
    call_that_fails = "sample second 13";
    fault = DeviceFault::timed_out;
    expected = Status::timeout;
  }
  b.executor.fault = [&](const std::string& call) {
    if (call == call_that_fails) throw DeviceError("gone", fault);
  };
  const auto rows = b.run();
  CHECK(rows[0].status == Status::passed);
  CHECK(rows[0].samples_us.size() == samples);
  CHECK(rows[1].status == expected);
  CHECK(rows[1].reason == "gone");
  CHECK(rows[1].samples_us.empty());
  CHECK(!rows[1].time_us.has_value());
  CHECK(rows[2].status == Status::passed);
  CHECK(rows[2].samples_us.size() == samples);
  CHECK(std::count(b.executor.calls.begin(), b.executor.calls.end(), "recover") == 1);
}

TEST_CASE("a problem that cannot be set up fails its cells, and the next problem runs") {
  ToyRun b({"first", "second"});
  b.sweep({Value{std::int64_t{64}}, Value{std::int64_t{128}}});
  std::string reason = "cudaErrorMemoryAllocation";
  std::function<void()> fail = [&] { throw DeviceError(reason, DeviceFault::refused); };
  SECTION("by the device") {}
  SECTION("by a malformed input file") {
    reason = "m.mtx:3: the row is '0'";
    fail = [&] { throw InputError(reason); };
  }
  SECTION("by a lack of host memory") {
    reason = "not enough host memory";
    fail = [] { throw std::bad_alloc(); };
  }
  int set_ups = 0;
  b.executor.fault = [&](const std::string& call) {
    if (call == "set_up 1" && ++set_ups <= 2) fail();
  };
  const auto rows = b.run();
  CHECK(rows[0].status == Status::failed);
  CHECK(rows[0].reason == reason);
  CHECK(rows[1].status == Status::failed);
  CHECK(rows[2].status == Status::passed);
  CHECK(rows[3].status == Status::passed);
}

TEST_CASE("an interrupt keeps the measurements so far, and remaining cells are not run") {
  ToyRun b({"first", "second"});
  b.sweep({Value{std::int64_t{64}}, Value{std::int64_t{128}}});
  bool interrupted = false;
  b.options.interrupted = [&] { return interrupted; };
  b.executor.time_us = [&](const std::string&, int n) {
    interrupted = interrupted || n == 6;
    b.clock_s += 0.02;
    return 2e4;
  };
  const auto rows = b.run();
  CHECK(rows[0].status == Status::passed);
  CHECK(rows[0].stop_reason == StopReason::interrupted);
  CHECK(rows[0].samples_us.size() == 7);
  CHECK(rows[1].samples_us.size() == 7);
  for (int i = 2; i < 4; ++i) {
    CHECK(rows[i].status == Status::not_run);
    CHECK(rows[i].reason == "interrupted");
  }
}

TEST_CASE("samples of an earlier run count, and finished cells are not sampled") {
  ToyRun b({"first", "second"});
  b.sweep({Value{std::int64_t{64}}, Value{std::int64_t{128}}});
  b.options.finished = {0, 1};
  b.options.prior_samples_us[2] = std::vector<double>(15, 10.0);
  const auto rows = b.run();
  REQUIRE(rows.size() == 2);
  CHECK(rows[0].cell->index == 2);
  CHECK(rows[0].samples_us.size() == 35);
  CHECK(rows[1].samples_us.size() == 20);
  CHECK(b.executor.samples_of("first") == 20);
  CHECK(b.executor.samples_of("second") == 20);
}

TEST_CASE("a short kernel is flagged as near the floor") {
  ToyRun b({"first"});
  b.executor.time_us = [](const std::string&, int) { return 6.0; };
  const Row row = b.run()[0];
  CHECK(row.floor_us == 2.25);
  CHECK(std::count(row.flags.begin(), row.flags.end(), "near_floor") == 1);
}

TEST_CASE("profiling launches each cell once and verifies that launch") {
  ToyRun b({"first", "second"});
  b.experiment().modes = {Mode::profile};
  const auto rows = b.run();
  CHECK(b.executor.calls ==
        std::vector<std::string>{"set_up 1", "poison first", "launch first profile", "check first",
                                 "poison second", "launch second profile", "check second"});
  CHECK(rows[0].status == Status::passed);
  CHECK(!rows[0].time_us.has_value());
}

TEST_CASE("only the profiled launch is in the range measure, and a wrong result is incorrect") {
  ToyRun b({"first"});
  b.experiment().modes = {Mode::profile};
  b.executor.verification = [](const std::string&, int) { return wrong_result(); };
  const auto rows = b.run();
  CHECK(rows[0].status == Status::incorrect);
  const std::vector<std::string> expected{
      "push toy/toy/first/n=1024,share=0.5,width=narrow/profile",
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

TEST_CASE("ranges nest and have the row's key") {
  ToyRun b({"first"});
  b.experiment().measure.min_samples = 1;
  b.experiment().measure.max_samples = 1;
  b.run();
  const std::string key = "push toy/toy/first/n=1024,share=0.5,width=narrow/cold";
  const std::vector<std::string> expected{
      "push floor", "pop",          "push floor",  "pop",  //
      key,          "push verify",  "push set-up", "pop",         "pop", "pop",
      key,          "push warm-up", "pop",         "pop",         key,   "push measure",
      "pop",        "pop",          key,           "push verify", "pop", "pop"};
  CHECK(b.tracer.events == expected);
}

TEST_CASE("results beyond the datasheet are flagged") {
  ToyRun b({"first"});
  b.sweep({Value{std::int64_t{1} << 20}});
  b.executor.time_us = [](const std::string&, int) { return 0.01; };
  const auto rows = b.run();
  CHECK(rows[0].flags == std::vector<std::string>{"output_in_l2", "above_limit", "near_floor"});
}

}  // namespace
}  // namespace gpuexp::test
