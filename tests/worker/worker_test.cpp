// A run with a worker process, without a GPU: the worker is this program, with an executor whose
// fault is named on its command line.
#include <algorithm>
#include <cmath>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <new>
#include <thread>

#include "base/input_error.hpp"
#include "fake_job.hpp"
#include "fake_rank.hpp"
#include "family/registry.hpp"
#include "run/runner.hpp"
#include "support/catch.hpp"
#include "support/fake_executor.hpp"
#include "support/skip.hpp"
#include "support/toy_family.hpp"
#include "base/process.hpp"
#include "worker/remote_executor.hpp"
#include "worker/serve.hpp"

namespace gpuexp::test {
namespace {

const Registry& toy_registry() {
  static const Registry kRegistry = [] {
    Registry registry;
    Family family = toy_family();
    family.variants.push_back(*family.find("first"));
    family.variants.back().id = "in_fresh_processes";
    family.variants.back().timing = Timing::fresh_process;
    registry.add(std::move(family));
    return registry;
  }();
  return kRegistry;
}

Verification nan_result() {
  Verification v;
  v.checked = 8;
  v.wrong = 1;
  v.worst_over_allowed = std::nan("");
  v.add_rms({"y", std::nan(""), 0.25});
  v.first_wrong.push_back({"y", 3, 1.0, std::nan(""), 0.1});
  return v;
}

/// Executor that applies the named fault to the variant `second`.
std::unique_ptr<Executor> scripted(const std::string& fault) {
  if (fault == "no_context") throw DeviceError("cudaErrorDevicesUnavailable", DeviceFault::refused);
  auto executor = std::make_unique<FakeExecutor>();
  executor->kernels.push_back({"second_kernel", std::nan("")});
  executor->verification = [fault](const std::string& variant, int) {
    return fault == "nan" && variant == "second" ? nan_result() : Verification{};
  };
  executor->fault = [fault](const std::string& call) {
    if (fault == "kill_always" && call == "launch second warm") std::raise(SIGKILL);
    if (fault == "every_set_up" && call == "set_up 1") std::abort();
    if (fault == "no_power" && call == "sustain first second even warm")
      throw DeviceError("no power", DeviceFault::refused);
    if (fault == "hang_reference" && call == "poison second")
      std::this_thread::sleep_for(std::chrono::hours(1));
    if (call != "sample second 7") return;
    if (fault == "crash") std::abort();
    if (fault == "exit") std::_Exit(7);
    if (fault == "kill") std::raise(SIGKILL);
    if (fault == "hang") std::this_thread::sleep_for(std::chrono::hours(1));
    if (fault == "illegal") throw DeviceError("cudaErrorIllegalAddress", DeviceFault::lost);
    if (fault == "refused") throw DeviceError("cudaErrorInvalidValue", DeviceFault::refused);
    if (fault == "malformed") throw InputError("m.mtx:3: the row is '0'");
    if (fault == "no_memory") throw std::bad_alloc();
  };
  return executor;
}

[[noreturn]] void work(const std::string& fault) {
  Channel channel(ChildProcess::kChannelDescriptor);
  channel.send("ready");
  RecordingTracer tracer;
  serve(
      channel, toy_registry(), [&] { return scripted(fault); }, tracer);
  std::_Exit(0);
}

/// Three variants on one problem, run by a worker with the fault.
struct WorkerRun {
  RemoteOptions remote;
  RunOptions options;
  Config config;
  Plan plan;
  KernelResources resources;
  RecordingTracer tracer;
  RunObserver observer;
  int started = 0;
  std::string greeting;

  explicit WorkerRun(const std::string& fault) {
    remote.start = [this, fault] {
      ++started;
      // "kill" affects only the first worker; other faults recur with the variant.
      const std::string its = fault == "kill" && started > 1 ? "none" : fault;
      return std::make_unique<ChildProcess>(std::vector<std::string>{"worker", its});
    };
    remote.launch_timeout_s = 0.5;
    remote.reference_timeout_s = 1;
    Experiment e;
    e.name = "toy";
    e.family = toy_registry().find("toy");
    for (const char* id : {"first", "second", "even"})
      e.variants.push_back(e.family->find(id));
    e.modes = {Mode::warm};
    e.measure.min_seconds = 0;
    e.measure.max_samples = 20;
    config.experiments.push_back(e);
  }

  std::vector<Row> run() {
    plan = make_plan(config, toy_device(), resources, std::int64_t{1} << 40);
    RemoteExecutor executor(remote);
    greeting = executor.greeting();
    return run_plan(plan, resources, executor, tracer, observer, options);
  }
};

TEST_CASE("a worker runs a plan like a local executor") {
  WorkerRun b("none");
  const auto rows = b.run();
  CHECK(b.greeting == "ready");
  CHECK(b.started == 1);
  REQUIRE(rows.size() == 3);
  for (const Row& row : rows) {
    INFO(row.reason);
    CHECK(row.status == Status::passed);
    CHECK(row.samples_us == std::vector<double>(20, 10.0));
    CHECK(row.floor_us == 2.25);
    CHECK(row.clocks->median_mhz == 1000.0);
    CHECK(row.traits->gated);
  }
}

TEST_CASE("a variant timed in fresh processes gets one worker per sample") {
  WorkerRun b("none");
  Experiment& e = b.config.experiments.front();
  e.variants = {e.family->find("first"), e.family->find("in_fresh_processes")};
  e.modes = {Mode::cold};
  e.measure.min_samples = e.measure.max_samples = 4;
  const auto rows = b.run();
  REQUIRE(rows.size() == 2);
  for (const Row& row : rows) {
    INFO(row.reason);
    CHECK(row.status == Status::passed);
    CHECK(row.samples_us == std::vector<double>(4, 10.0));
  }
  CHECK(!rows[1].traits->gated);
  CHECK(b.started == 5);
}

TEST_CASE("a worker runs a group back to back") {
  WorkerRun b("no_power");
  b.config.experiments.front().measure.sustain_seconds = 0.2;
  const auto rows = b.run();
  const auto failed = std::find_if(rows.begin(), rows.end(),
                                   [](const Row& row) { return row.status != Status::passed; });
  REQUIRE(failed != rows.end());
  CHECK(failed->status == Status::failed);
  CHECK(failed->reason == "while the group's launches ran back to back: no power");
  CHECK(std::all_of(failed + 1, rows.end(),
                    [](const Row& row) { return row.status == Status::passed; }));
  CHECK(b.started == 1);
}

TEST_CASE("hardware counters arrive from a worker unchanged", "[counters]") {
  WorkerRun b("none");
  b.config.experiments.front().counters = {"lts__t_sectors.sum"};
  const auto rows = b.run();
  REQUIRE(rows.front().counts.has_value());
  const LaunchCounts& counts = *rows.front().counts;
  CHECK(counts.metrics == std::vector<std::string>{"lts__t_sectors.sum"});
  CHECK(counts.passes == 1);
  REQUIRE(counts.kernels.size() == 2);
  CHECK(counts.kernels[0].kernel == "kernel");
  CHECK(counts.kernels[0].values == std::vector<double>{8.0});
  CHECK(std::isnan(counts.kernels[1].values.front()));
}

TEST_CASE("instruction counts arrive from a worker unchanged", "[counters]") {
  WorkerRun b("none");
  RemoteExecutor executor(b.remote);
  const Experiment& e = b.config.experiments.front();
  CountedLaunch launch{e.family, {}, e.variants.front(), Mode::warm};
  for (const Parameter& p : e.family->parameters)
    launch.values.push_back(p.default_value);
  const auto counted = executor.count_source(launch, 1, 3);
  REQUIRE(counted.size() == 1);
  CHECK(counted[0].kernel == "kernel");
  CHECK(counted[0].address == 3);
  CHECK(counted[0].counts == SourceCounts{1, 32, 31, 8, 4, 2, 1});
  executor.restart();
  CHECK(executor.count_source(launch, 1, 4).at(0).address == 4);
  CHECK(b.started == 2);
}

TEST_CASE("a fault that ends a worker fails only its cell, and the reason describes it") {
  struct Case {
    const char* fault;
    Status status;
    const char* reason;
    int workers;
  };
  const auto c = GENERATE(
      Case{"crash", Status::failed, "the worker process ended during sample: signal 6", 2},
      Case{"exit", Status::failed, "the worker process ended during sample: exit code 7", 2},
      Case{"kill_always", Status::failed, "ended during launch of second: signal 9", 3},
      Case{"hang", Status::timeout, "sample did not end within 1 s; --launch-timeout", 2},
      // No time limit of the kernel: its status is not `timeout`.
      Case{"hang_reference", Status::failed,
           "the expected values were not computed within 1 s (poison of second)", 2},
      Case{"illegal", Status::failed, "cudaErrorIllegalAddress", 2},
      Case{"refused", Status::failed, "cudaErrorInvalidValue", 1},
      Case{"malformed", Status::failed, "m.mtx:3: the row is '0'", 1},
      Case{"no_memory", Status::failed, "not enough host memory", 1});
  WorkerRun b(c.fault);
  const auto rows = b.run();
  INFO(c.fault << ": " << rows[1].reason);
  CHECK(rows[1].status == c.status);
  CHECK_THAT(rows[1].reason, contains_text(c.reason));
  CHECK(b.started == c.workers);
  for (const int i : {0, 2}) {
    CHECK(rows[i].status == Status::passed);
    CHECK(rows[i].samples_us.size() == 20);
  }
}

TEST_CASE("a worker that is killed from outside costs only time") {
  WorkerRun b("kill");
  const auto rows = b.run();
  CHECK(b.started == 2);
  for (const Row& row : rows) {
    INFO(row.reason);
    CHECK(row.status == Status::passed);
  }
}

TEST_CASE("NaN results arrive as NaN") {
  WorkerRun b("nan");
  const auto rows = b.run();
  CHECK(rows[1].status == Status::incorrect);
  CHECK_THAT(rows[1].reason, contains_text("expected 1, got nan, allowed ±0.1"));
  CHECK(std::isnan(rows[1].verification->worst_over_allowed));
  CHECK(rows[1].verification->rms.buffer == "y");
  CHECK(std::isnan(rows[1].verification->rms.got));
  CHECK(rows[1].verification->rms.allowed == 0.25);
}

TEST_CASE("a worker that ends before any answer is not restarted forever") {
  WorkerRun b("every_set_up");
  const auto rows = b.run();
  // The floor counts as an answer. After it, each further cell may try one worker.
  CHECK(b.started <= 3);
  CHECK(rows[0].status == Status::failed);
  CHECK(rows[2].status == Status::not_run);
}

TEST_CASE("a context that cannot be created is the reason in every cell") {
  WorkerRun b("no_context");
  const auto rows = b.run();
  for (const Row& row : rows) {
    CHECK(row.status == (&row == &rows.front() ? Status::failed : Status::not_run));
    CHECK_THAT(row.reason, contains_text("cudaErrorDevicesUnavailable"));
  }
}

TEST_CASE("an interrupt ends a launch that does not return, and keeps the others' samples") {
  WorkerRun b("hang");
  b.remote.launch_timeout_s = 60;
  int calls = 0;
  // The launch that hangs is the first long wait.
  b.remote.interrupted = [&] { return ++calls > 2; };
  const auto rows = b.run();
  CHECK(rows[1].status == Status::not_run);
  CHECK_THAT(rows[1].reason, contains_text("interrupted during sample"));
  CHECK(rows[0].status == Status::passed);
  CHECK(rows[2].status == Status::passed);
}

}  // namespace
}  // namespace gpuexp::test

int main(int argc, char** argv) {
  if (argc > 2 && std::string(argv[1]) == "worker") gpuexp::test::work(argv[2]);
  if (argc > 3 && std::string(argv[1]) == "rank")
    gpuexp::test::work_as_rank(std::atoi(argv[2]), argv[3]);
  if (argc == 6 && std::string(argv[1]) == "agent")
    return gpuexp::test::work_as_agent({argv + 2, argv + argc});
  if (argc > 3 && std::string(argv[1]) == "job") return gpuexp::test::work_in_job(argv[2], argv[3]);
  return gpuexp::test::run_tests(argc, argv);
}
