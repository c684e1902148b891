// Problems that span GPUs, without a GPU: ranks are processes that synchronize on the host. A
// rank's fault fails its cells, and no process waits forever.
#include <algorithm>
#include <chrono>
#include <fstream>
#include <thread>
#include <utility>

#include "base/input_file.hpp"
#include "fake_rank.hpp"
#include "family/registry.hpp"
#include "span_run.hpp"
#include "support/catch.hpp"
#include "support/scratch_folder.hpp"
#include "base/channel.hpp"
#include "worker/job.hpp"
#include "base/process.hpp"

namespace gpuexp::test {
namespace {

/// A process that ends slowly, like one with a GPU.
class SlowToEnd final : public WorkerProcess {
 public:
  explicit SlowToEnd(std::unique_ptr<WorkerProcess> process) : process_(std::move(process)) {}
  void send(std::string_view line) override { process_->send(line); }
  std::optional<std::string> receive(double timeout_s,
                                     const std::function<bool()>& give_up) override {
    return process_->receive(timeout_s, give_up);
  }
  Ending end() override {
    std::this_thread::sleep_for(std::chrono::milliseconds(1500));
    return process_->end();
  }

 private:
  std::unique_ptr<WorkerProcess> process_;
};

struct MachineRun : SpanRun {
  std::vector<int> started;            ///< rank of each started worker
  std::vector<Environment> variables;  ///< its environment

  MachineRun(const std::string& fault, std::int64_t gpus) : SpanRun(gpus) {
    machine.start = [this, fault](int rank, const Environment& environment) {
      // These two faults occur only in a rank's first worker.
      const bool again = std::count(started.begin(), started.end(), rank) > 0;
      started.push_back(rank);
      variables.push_back(environment);
      const std::string its = fault == "kill_once" ? "kill_launch" : fault;
      std::unique_ptr<WorkerProcess> worker =
          std::make_unique<ChildProcess>(std::vector<std::string>{
              "rank", std::to_string(rank),
              again && (fault == "late" || fault == "kill_once") ? "none" : its});
      if (fault == "kill_missed" && rank == 1)
        worker = std::make_unique<SlowToEnd>(std::move(worker));
      return worker;
    };
  }
};

TEST_CASE("a problem across GPUs uses one worker per GPU, other problems use the first") {
  const auto gpus = GENERATE(std::int64_t{2}, std::int64_t{3}, std::int64_t{4});
  MachineRun b("none", gpus);
  const auto rows = b.run();
  REQUIRE(rows.size() == 4);
  CHECK(b.started.size() == static_cast<std::size_t>(gpus));
  for (int i = 0; i < 3; ++i) {
    INFO(rows[i].reason);
    CHECK(rows[i].status == Status::passed);
    // Time of the slowest rank, and time between the first and last start.
    CHECK(rows[i].samples_us == std::vector<double>(20, 9.0 + static_cast<double>(gpus)));
    CHECK(rows[i].skews_us == std::vector<double>(20, 2.0 * static_cast<double>(gpus - 1)));
    CHECK(rows[i].verification->elements == 8 * gpus);
    const std::vector<StepTime>& timeline = rows[i].traits->timeline;
    REQUIRE(timeline.size() == 2 * static_cast<std::size_t>(gpus));
    CHECK(timeline[2] == StepTime{"kernel", 0, 0, 11, 1});
    CHECK(timeline[3] == StepTime{"copy", 1, 1, 2, 1});
  }
  CHECK(rows[3].status == Status::passed);
  CHECK(rows[3].samples_us == std::vector<double>(20, 10.0));
  CHECK(rows[3].skews_us.empty());
  CHECK(rows[3].traits->timeline.front() == StepTime{"kernel", 0, 0, 10});
}

std::vector<std::string> lines_of(const std::filesystem::path& path) {
  std::ifstream file(path);
  std::vector<std::string> lines;
  for (std::string line; std::getline(file, line);)
    lines.push_back(line);
  return lines;
}

TEST_CASE("each rank names its launches in NVTX ranges of its process, even if it starts late") {
  const ScratchFolder folder;
  const std::filesystem::path path = folder.path() / "ranges";
  MachineRun b("traced " + path.string(), 2);
  MachineExecutor executor(b.machine);
  const Family& family = *b.config.experiments.front().family;
  const Values values = family.defaults();
  const Variant& first = family.variants.front();
  executor.start_profiler();
  executor.set_up(family, values, 7);
  executor.verify(first, Mode::warm);
  executor.sample({&first, &family.variants.at(1)}, Mode::warm, [](std::size_t, const Sample&) {});
  executor.launch(first, Mode::profile);
  executor.stop_profiler();
  for (const int rank : {0, 1}) {
    const auto range = [&](const char* variant, const char* mode, const char* phase) {
      return std::vector<std::string>{
          "push rank " + std::to_string(rank) + " toy_span/" + variant + "/n=1024,gpus=2/" + mode,
          std::string("push ") + phase, "pop", "pop"};
    };
    std::vector<std::string> expected{"start_profiler"};
    for (const auto& part :
         {range("first", "warm", "verify"), range("first", "warm", "verify"),
          range("first", "warm", "verify"), range("first", "warm", "measure"),
          range("second", "warm", "measure"), range("first", "profile", "measure"),
          std::vector<std::string>{"stop_profiler"}})
      expected.insert(expected.end(), part.begin(), part.end());
    CHECK(lines_of(path.string() + "." + std::to_string(rank)) == expected);
  }
  // A new worker starts profiling again, but not after profiling has stopped.
  const auto first_of_new = [&] {
    executor.restart();
    executor.set_up(family, values, 7);
    executor.launch(first, Mode::profile);
    return lines_of(path.string() + ".0").front();
  };
  executor.start_profiler();
  CHECK(first_of_new() == "start_profiler");
  executor.stop_profiler();
  CHECK_THAT(first_of_new(), contains_text("push rank 0"));
}

TEST_CASE("a fault of one rank ends the workers of all, and the reason names it") {
  struct Case {
    const char* fault;
    Status status;
    const char* reason;
    bool in_every_variant;  ///< the fault occurs in every variant
  };
  const auto c = GENERATE(
      Case{"kill_launch", Status::failed,
           "rank 1: the worker process ended during launch of second: signal 9", false},
      Case{"kill_missed", Status::failed,
           "rank 1: the worker process ended during launch of second: signal 9", false},
      Case{"hang_launch", Status::failed, "rank 0: rank 1 has sent nothing for 1 s", false},
      Case{"no_memory", Status::failed, "rank 1: no memory", true},
      Case{"wrong", Status::incorrect, "first y of rank 1[3]", true});
  MachineRun b(c.fault, 3);
  const auto rows = b.run();
  REQUIRE(rows.size() == 4);
  for (int i = 0; i < 3; ++i) {
    INFO(c.fault << ": " << rows[i].reason);
    const bool is_hit = c.in_every_variant || i == 1;
    CHECK(rows[i].status == (is_hit ? c.status : Status::passed));
    if (is_hit) CHECK_THAT(rows[i].reason, contains_text(c.reason));
  }
  INFO(rows[3].reason);
  CHECK(rows[3].status == Status::passed);
}

TEST_CASE("a rank's worker that is killed from outside costs only time, and is reported") {
  struct RecoveryObserver : RunObserver {
    std::vector<std::string> recoveries;
    void recovered(const std::string& why) override { recoveries.push_back(why); }
  };
  RecoveryObserver recovery_observer;
  MachineRun b("kill_once", 3);
  b.observer = &recovery_observer;
  for (const Row& row : b.run()) {
    INFO(row.reason);
    CHECK(row.status == Status::passed);
  }
  CHECK(b.started == std::vector{0, 1, 2, 0, 1, 2});
  REQUIRE(recovery_observer.recoveries.size() == 1);
  CHECK_THAT(recovery_observer.recoveries.front(),
             contains_text("rank 1: the worker process ended during launch of second: signal 9"));
}

TEST_CASE("ranks wait for a late rank for a limited time") {
  MachineRun b("late", 2);
  const auto rows = b.run();
  CHECK_THAT(rows[0].reason,
             contains_text("rank 0: rank 1 did not join the exchange between ranks within 1 s"));
  CHECK(rows[0].status == Status::failed);
  for (int i = 1; i < 4; ++i) {
    INFO(rows[i].reason);
    CHECK(rows[i].status == Status::passed);
  }
}

TEST_CASE("a new environment starts new workers, which problems with the same one reuse") {
  MachineRun b("none", 2);
  const Family& plain = *b.config.experiments.front().family;
  const Family& alone = *b.config.experiments.back().family;
  Family with = plain;
  with.environment = [](const void*) { return Environment{{"NCCL_ALGO", "Ring"}}; };
  MachineExecutor executor(b.machine);
  const auto set_up = [&](const Family& family) { executor.set_up(family, family.defaults(), 7); };
  set_up(plain);
  CHECK(b.started == std::vector{0, 1});
  set_up(with);
  set_up(with);
  CHECK(b.started == std::vector{0, 1, 0, 1});
  CHECK(b.variables.back() == Environment{{"NCCL_ALGO", "Ring"}});
  CHECK(b.variables.front().empty());
  executor.launch(with.variants.front(), Mode::warm);
  set_up(alone);
  CHECK(b.started == std::vector{0, 1, 0, 1, 0});
  CHECK(b.variables.back().empty());
  executor.launch(alone.variants.front(), Mode::warm);
}

TEST_CASE("counts of a launch are reported per rank") {
  MachineRun b("none", 3);
  const Experiment& span = b.config.experiments.front();
  const Experiment& alone = b.config.experiments.back();
  const Family& family = *span.family;
  Values values = family.defaults();
  values.back() = std::int64_t{3};
  MachineExecutor executor(b.machine);
  const CountedLaunch first{&family, values, &family.variants[0], Mode::warm};
  const CountedLaunch second{&family, values, &family.variants[1], Mode::warm};
  const CountedLaunch other{alone.family, alone.family->defaults(), alone.variants[0], Mode::warm};
  const auto counts = executor.count({first, second, other}, 7, {"a.sum"});
  REQUIRE(counts.size() == 3);
  for (int i = 0; i < 2; ++i) {
    REQUIRE(counts[i].kernels.size() == 3);
    for (int rank = 0; rank < 3; ++rank) {
      CHECK(counts[i].kernels[rank].kernel == "rank_" + std::to_string(rank));
      CHECK(counts[i].kernels[rank].values == std::vector{100.0 + rank});
    }
  }
  CHECK(counts[2].kernels.size() == 1);
  CHECK(counts[2].kernels.front().kernel == "kernel");
}

TEST_CASE("a worker reads a file from its planned path and refuses a changed one") {
  const ScratchFolder folder;
  const std::string path = folder.path() / "a.txt";
  std::ofstream(path) << "1";
  FileIdentity identity = identity_of(path);
  identity.name = "in_another_folder/a.txt";
  plan_file(identity);
  MachineRun b("none", 2);
  const Family& family = *spanning_registry().find("toy_file");
  Values values = family.defaults();
  values.back() = identity.name;
  const CountedLaunch launch{&family, values, &family.variants[0], Mode::warm};
  MachineExecutor executor(b.machine);
  CHECK_NOTHROW(executor.set_up(family, values, 7));
  CHECK_NOTHROW(executor.count({launch}, 7, {"a.sum"}));
  std::ofstream(path) << "2";
  const auto is_named = contains_text(path + " has changed since the run was planned");
  CHECK_THROWS_WITH(executor.set_up(family, values, 7), is_named);
  CHECK_THROWS_WITH(executor.count({launch}, 7, {"a.sum"}), is_named);
}

TEST_CASE("cells that span more GPUs than the machine has are skipped") {
  MachineRun b("none", 5);
  const auto rows = b.run();
  for (int i = 0; i < 3; ++i) {
    CHECK(rows[i].status == Status::skipped);
    CHECK(rows[i].reason == "needs 5 GPUs; 4 can be used here");
  }
  CHECK(rows[3].status == Status::passed);
  CHECK(b.started == std::vector<int>{0});
}

/// Rank 0 ends at once; the agent of rank 1 is reported lost shortly afterwards.
struct LostWorker : WorkerProcess {
  int rank;
  bool has_greeted = false;
  explicit LostWorker(int of) : rank(of) {}
  void send(std::string_view) override {}
  std::optional<std::string> receive(double, const std::function<bool()>&) override {
    if (!std::exchange(has_greeted, true)) return "ready";
    if (rank == 0) throw ChannelClosed("closed");
    std::this_thread::sleep_for(std::chrono::milliseconds(50));
    throw JobLost("rank 1 is lost");
  }
  Ending end() override { return {"exit code 1", false}; }
};

TEST_CASE("an error that ends the run takes precedence over the worker that ended first") {
  SpanRun b(2);
  b.machine.start = [](int rank, const Environment&) { return std::make_unique<LostWorker>(rank); };
  CHECK_THROWS_AS(b.run(), JobLost);
}

}  // namespace
}  // namespace gpuexp::test
