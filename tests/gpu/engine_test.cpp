// The executor and the runner on a GPU: wrong results are rejected, a fault fails its cell and is
// reported in later ones, and the resource table matches the driver.
#include <algorithm>
#include <chrono>
#include <cmath>
#include <map>
#include <thread>

#include <cuda_runtime_api.h>
#include <fmt/format.h>

#include "family/registry.hpp"
#include "gpu/broken_family.hpp"
#include "gpu/chained_checks.hpp"
#include "gpu/cuda_check.hpp"
#include "gpu/cuda_executor.hpp"
#include "gpu/device_query.hpp"
#include "gpu/resources.hpp"
#include "gpu/sm_clock.hpp"
#include "run/runner.hpp"
#include "support/skip.hpp"
#include "support/small_problems.hpp"
#include "base/process.hpp"
#include "worker/remote_executor.hpp"

namespace gpuexp::test {
namespace {

class NoTracer final : public Tracer {
 public:
  void push(const std::string&) override {}
  void pop() override {}
};

std::unique_ptr<Executor> in_this_process(const DeviceSpec& device) {
  return make_cuda_executor(0, device);
}

std::unique_ptr<Executor> in_a_worker(const DeviceSpec&) {
  RemoteOptions options;
  options.start = [] { return std::make_unique<ChildProcess>(std::vector<std::string>{"worker"}); };
  options.launch_timeout_s = 2.0;
  return std::make_unique<RemoteExecutor>(options);
}

/// Runs the named variants of the broken family, in one group per mode.
class BrokenRun {
 public:
  explicit BrokenRun(const std::vector<std::string>& variants,
                     std::unique_ptr<Executor> (*make)(const DeviceSpec&) = in_this_process,
                     Mode mode = Mode::cold)
      : family_(broken_family()) {
    Experiment e;
    e.name = "broken";
    e.family = &family_;
    for (const std::string& id : variants)
      e.variants.push_back(family_.find(id));
    e.modes = {mode};
    e.measure.min_samples = 5;
    e.measure.min_seconds = 0;
    e.measure.max_samples = e.measure.min_samples;
    config_.experiments.push_back(e);
    device_ = query_device(0, {}).spec;
    plan_ = make_plan(config_, device_, resources_, device_.memory_bytes);
    const auto executor = make(device_);
    NoTracer tracer;
    RunObserver observer;
    for (Row& row : run_plan(plan_, resources_, *executor, tracer, observer, {})) {
      rows_.emplace(row.cell->variant->id, std::move(row));
    }
  }

  const Row& row(const std::string& variant) const { return rows_.at(variant); }

 private:
  Family family_;
  Config config_;
  DeviceSpec device_;
  KernelResources resources_;
  Plan plan_;
  std::map<std::string, Row> rows_;
};

TEST_CASE("back-to-back launches are timed together, enqueued or as a graph", "[engine]") {
  const Mode mode = GENERATE(Mode::back_to_back, Mode::back_to_back_graph);
  const auto make = GENERATE(in_this_process, in_a_worker);
  const BrokenRun run({"right", "nan"}, make, mode);
  const Row& right = run.row("right");
  INFO(right.reason);
  REQUIRE(right.status == Status::passed);
  // A sample has as many replays of a graph as take 10 ms by the time of one launch outside of it
  // (about 10 us for this kernel, most of it the host's call), and at most 50.
  const int replays = right.traits->launches / kBackToBackLaunches;
  CHECK(right.traits->launches % kBackToBackLaunches == 0);
  CHECK(replays >= (is_captured(mode) ? 10 : 1));
  CHECK(replays <= (is_captured(mode) ? 50 : 1));
  CHECK_FALSE(right.traits->gated);
  REQUIRE(right.floor_us);
  // An empty kernel in the same mode is not slower than one with work.
  CHECK(right.time_us->median > 0.8 * *right.floor_us);
  CHECK(run.row("nan").status == Status::incorrect);
}

TEST_CASE("wrong results are rejected and have no time", "[engine]") {
  const std::vector<std::string> wrong{"nan",   "unwritten_tail", "overrun_end", "overrun_begin",
                                       "stale", "bad_tile",       "one_percent", "changed_input"};
  // `right` comes last: it must pass after the others' damage.
  std::vector<std::string> all = wrong;
  all.push_back("right");
  const BrokenRun run(all);
  CHECK(run.row("right").status == Status::passed);
  CHECK(run.row("right").time_us.has_value());
  for (const std::string& variant : wrong) {
    INFO(variant << ": " << run.row(variant).reason);
    CHECK(run.row(variant).status == Status::incorrect);
    CHECK(!run.row(variant).time_us.has_value());
    CHECK(!run.row(variant).reason.empty());
  }
  CHECK_THAT(run.row("overrun_end").reason, contains_text("outside of buffer 'y'"));
  CHECK_THAT(run.row("changed_input").reason, contains_text("wrote into input 'x'"));
  CHECK_THAT(run.row("unwritten_tail").reason, contains_text("y[999]"));
  const auto& tile = run.row("bad_tile").verification->first_wrong;
  REQUIRE(tile.size() == 32);
  CHECK(tile.front().index == 32);
  CHECK(tile.back().index == 63);
  const auto& nan = run.row("nan").verification->first_wrong;
  REQUIRE(nan.size() == 1);
  CHECK(std::isnan(nan.front().got));
  CHECK_THAT(run.row("bad_tile").reason,
             contains_text("32 of 1000 elements are wrong; first y[32]"));
}

TEST_CASE("references that use results check each operation against its actual inputs",
          "[engine]") {
  const Family family = chained_family();
  const auto executor = in_this_process(query_device(0, {}).spec);
  executor->set_up(family, values_with(family), 7);
  check_each_operation(*executor, family);
  const auto unwritten = wrong_outputs(*executor, *family.find("unwritten_first"));
  CHECK((unwritten.at("y") == 1 && unwritten.at("z") == 1));
  check_each_operation(*executor, family);
}

TEST_CASE("registers in the generated table match the driver's", "[engine][machine_code]") {
  std::size_t count = 0;
  const KernelResource* table = kernel_resource_table(count);
  if (count == 0) {
    return skip(Tier::machine_code, "built without cuobjdump: the kernel resource table is empty");
  }
  const KernelResources resources(table, count);
  const DeviceSpec device = query_device(0, {}).spec;
  GPUEXP_CUDA(cudaSetDevice(0));
  int checked = 0;
  for (const Family& family : Registry::global().families()) {
    if (family.gpus) continue;  // each rank needs its own process
    for (const Values& values : choice_combinations(family)) {
      const auto problem = family.make_problem(values);
      for (const Variant& variant : family.variants) {
        if (variant.is_vendor || device.compute_capability() < variant.min_compute_capability)
          continue;
        if (variant.unsupported && variant.unsupported(problem.get(), device)) continue;
        for (const Shape& shape : variant.shapes(problem.get(), device)) {
          INFO(family.id << "/" << variant.id);
          cudaFuncAttributes attributes;
          GPUEXP_CUDA(cudaFuncGetAttributes(&attributes, shape.kernel));
          const auto found = resources.find(shape.kernel, device.compute_capability());
          REQUIRE(found.has_value());
          if (!found->exact) continue;
          CHECK(found->resource.registers == attributes.numRegs);
          CHECK(found->resource.static_shared_bytes ==
                static_cast<int>(attributes.sharedSizeBytes));
          CHECK(found->resource.local_bytes + found->resource.stack_bytes ==
                static_cast<int>(attributes.localSizeBytes));
          ++checked;
        }
      }
    }
  }
  CHECK(checked > 0);
}

// The driver clears returned memory in the background, which slows the next measurement.
TEST_CASE("the process keeps freed memory and reuses it", "[engine]") {
  int pools = 0;
  GPUEXP_CUDA(cudaDeviceGetAttribute(&pools, cudaDevAttrMemoryPoolsSupported, 0));
  if (pools == 0) return skip(Tier::hardware, "the device has no memory pools");
  const auto free_bytes = [] {
    std::size_t free = 0;
    std::size_t total = 0;
    GPUEXP_CUDA(cudaMemGetInfo(&free, &total));
    return free;
  };
  constexpr std::int64_t kBytes = 256 << 20;
  { const DeviceMemory first(kBytes); }
  const std::size_t with_kept = free_bytes();
  for (int i = 0; i < 3; ++i) {
    const DeviceMemory again(kBytes);
    CHECK(free_bytes() == with_kept);
  }
  CHECK(free_bytes() == with_kept);
}

// A measurement for docs/results/README.md: successive copies of 512 MiB, after memory was returned
// to the driver, and after it was returned to a pool that keeps it.
TEST_CASE("measured: copies after memory was freed", "[.freed]") {
  constexpr std::size_t kBytes = std::size_t{512} << 20;
  constexpr std::size_t kGiB = std::size_t{1} << 30;
  constexpr int kCopies = 600;
  const DeviceMemory from(kBytes);
  const DeviceMemory to(kBytes);
  GPUEXP_CUDA(cudaMemset(from.get(), 0, kBytes));
  const CudaStream stream;
  const auto report = [&](const char* what, std::size_t gib) {
    std::vector<CudaEvent> ends(kCopies + 1);
    ends[0].record(stream);
    for (int i = 1; i <= kCopies; ++i) {
      GPUEXP_CUDA(
          cudaMemcpyAsync(to.get(), from.get(), kBytes, cudaMemcpyDeviceToDevice, stream.get()));
      ends[i].record(stream);
    }
    stream.synchronize();
    std::vector<double> us;
    for (int i = 0; i < kCopies; ++i)
      us.push_back(elapsed_us(ends[i], ends[i + 1]));
    std::vector<double> last(us.end() - kCopies / 4, us.end());
    std::nth_element(last.begin(), last.begin() + kCopies / 8, last.end());
    const double usual_us = last[kCopies / 8];
    double slow_ms = 0;
    for (const double copy_us : us)
      slow_ms += copy_us > 1.05 * usual_us ? 1e-3 * copy_us : 0.0;
    fmt::print("{:14} {:2} GiB: slow for {:5.1f} ms, the second copy {:.0f} µs, then {:.0f} µs\n",
               what, gib, slow_ms, us[1], usual_us);
  };
  report("nothing", 0);
  for (const std::size_t gib : {1, 2, 4, 8, 16, 32}) {
    void* memory = nullptr;
    GPUEXP_CUDA(cudaMalloc(&memory, gib * kGiB));
    report("cudaMalloc", gib);
    GPUEXP_CUDA(cudaFree(memory));
    report("cudaFree", gib);
  }
  for (const std::size_t gib : {1, 8, 32}) {
    { const DeviceMemory pooled(static_cast<std::int64_t>(gib * kGiB)); }
    report("kept in a pool", gib);
  }
}

// Hidden tests for compute-sanitizer, which must report each of them; otherwise it does not work.
TEST_CASE("planted: a write past an allocation", "[.planted][memcheck]") {
  write_past_allocation();
}
TEST_CASE("planted: a race in shared memory", "[.planted][racecheck]") {
  race_in_shared_memory();
}

TEST_CASE("a gate that its launch waits for opens by itself, and the row gives the reason",
          "[engine]") {
  const BrokenRun run({"right", "waits", "waits_undeclared", "waits_on_host_clock"});
  CHECK(run.row("right").traits->gated);
  CHECK(run.row("waits").status == Status::passed);
  CHECK(!run.row("waits").traits->gated);
  CHECK(run.row("waits_on_host_clock").status == Status::passed);
  CHECK(!run.row("waits_on_host_clock").traits->gated);
  // The host's clock includes the round trip to the GPU.
  CHECK(run.row("waits_on_host_clock").time_us->median > run.row("right").time_us->median);
  CHECK(run.row("waits_undeclared").status == Status::failed);
  CHECK_THAT(run.row("waits_undeclared").reason, contains_text("declare Timing::ungated"));
}

TEST_CASE("first launches include loading on first use", "[engine]") {
  const BrokenRun run({"right", "in_fresh_processes", "from_first"}, in_a_worker);
  for (const char* variant : {"in_fresh_processes", "from_first"}) {
    const Row& row = run.row(variant);
    INFO(variant << ": " << row.reason);
    REQUIRE(row.status == Status::passed);
    CHECK(row.samples_us.size() == 5);
    CHECK(!row.traits->gated);
    CHECK(row.traits->flushed_bytes > 0);
  }
  const std::vector<double>& from_first = run.row("from_first").samples_us;
  const double later = *std::max_element(from_first.begin() + 1, from_first.end());
  CAPTURE(from_first, run.row("in_fresh_processes").samples_us);
  CHECK(from_first.front() > 2 * later);
  const std::vector<double>& fresh = run.row("in_fresh_processes").samples_us;
  CHECK(*std::min_element(fresh.begin(), fresh.end()) > 2 * later);
  // Cost of a process, as used in run_estimate.cpp.
  const auto seconds_of = [](const char* variant) {
    const auto start = std::chrono::steady_clock::now();
    const BrokenRun timed({variant}, in_a_worker);
    return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
  };
  fmt::print("a sample in a process of its own takes {:.2f} s\n",
             (seconds_of("in_fresh_processes") - seconds_of("from_first")) /
                 static_cast<double>(fresh.size()));
  // Without a worker, no launch is the first of its process.
  const BrokenRun here({"right", "from_first"});
  CHECK(here.row("from_first").status == Status::skipped);
  CHECK(here.row("right").status == Status::passed);
}

TEST_CASE("every mode verifies, times and reports its traits", "[engine]") {
  const auto traits = [](Mode mode) {
    const BrokenRun run({"right", "one_percent"}, in_this_process, mode);
    INFO(name_of(mode) << ": " << run.row("right").reason);
    CHECK(run.row("right").status == Status::passed);
    CHECK(run.row("right").time_us->median > 0);
    CHECK(run.row("one_percent").status == Status::incorrect);
    return *run.row("right").traits;
  };
  const std::int64_t l2_bytes = query_device(0, {}).spec.l2_bytes;
  CHECK(traits(Mode::cold).flushed_bytes >= 2 * l2_bytes);
  CHECK(traits(Mode::warm).flushed_bytes == 0);
  const SampleTraits graph = traits(Mode::graph);
  CHECK(graph.launches > 100);
  CHECK(graph.rotated_bytes == 256 * 2 * 1000 * std::int64_t{sizeof(float)});
}

// In a separate process, because the fault destroys the context.
TEST_CASE("a fault fails its cell and is reported in later cells", "[engine][fault]") {
  const BrokenRun run({"right", "illegal_address", "one_percent"});
  CHECK(run.row("right").status == Status::not_run);
  CHECK(run.row("illegal_address").status == Status::failed);
  CHECK_THAT(run.row("illegal_address").reason, contains_text("cudaErrorIllegalAddress"));
  CHECK(run.row("one_percent").status == Status::not_run);
  CHECK_THAT(run.row("one_percent").reason, contains_text("the device was lost before"));
}

TEST_CASE("a fault in a worker fails only its cell", "[engine][worker]") {
  const std::map<std::string, std::string> name_of_fault{
      {"illegal_address", "cudaErrorIllegalAddress"},
      {"misaligned_address", "cudaErrorMisalignedAddress"},
      {"trap", "cudaErrorLaunchFailure"},
      {"device_assert", "cudaErrorAssert"},
      {"out_of_memory", "cudaErrorMemoryAllocation"},
      {"beyond_limits", "cudaErrorInvalid"},
      {"endless", "did not end within 2 s"}};
  std::vector<std::string> variants{"right"};
  for (const auto& [variant, name] : name_of_fault)
    variants.push_back(variant);
  variants.insert(variants.end(), {"one_percent", "waits"});
  const BrokenRun run(variants, in_a_worker);
  for (const auto& [variant, name] : name_of_fault) {
    INFO(variant << ": " << run.row(variant).reason);
    CHECK(run.row(variant).status == (variant == "endless" ? Status::timeout : Status::failed));
    CHECK_THAT(run.row(variant).reason, contains_text(name));
  }
  CHECK(run.row("one_percent").status == Status::incorrect);
  for (const char* variant : {"right", "waits"}) {
    INFO(variant << ": " << run.row(variant).reason);
    CHECK(run.row(variant).status == Status::passed);
    CHECK(run.row(variant).samples_us.size() == 5);
  }
}

TEST_CASE("the SM clock is between 10 and 101 % of the maximum", "[engine]") {
  const DeviceSpec device = query_device(0, {}).spec;
  const CudaStream stream;
  SmClock clock(device.sm_count);
  CHECK(!clock.mhz(stream).has_value());
  for (int i = 0; i < 5; ++i) {
    const double mhz = clock.mhz(stream).value();
    CHECK(mhz > 0.1 * device.sm_clock_max_mhz);
    CHECK(mhz < 1.01 * device.sm_clock_max_mhz);
    fmt::print("SM clock {:.1f} MHz of {:.0f}\n", mhz, device.sm_clock_max_mhz);
  }
}

TEST_CASE("a clock reading reports the share of time under load", "[engine]") {
  const DeviceSpec device = query_device(0, {}).spec;
  const Family family = broken_family();
  const Variant& right = *family.find("right");
  const auto executor = make_cuda_executor(0, device);
  executor->set_up(family, values_with(family), 1);
  executor->timer()->warm_up(right, Mode::cold, {1, 1});
  executor->timer()->start_clock();
  CHECK(!executor->timer()->sm_clock().has_value());  // shorter than 1 ms
  std::this_thread::sleep_for(std::chrono::milliseconds(5));
  const auto idle = executor->timer()->sm_clock();
  REQUIRE(idle.has_value());
  CHECK(idle->load < 0.01);
  // A flush before each sample counts as load.
  executor->timer()->sample(std::vector<const Variant*>(100, &right), Mode::cold,
                            [](std::size_t, const Sample&) {});
  const auto sampled = executor->timer()->sm_clock();
  REQUIRE(sampled.has_value());
  CHECK(sampled->load > 0.3);
  CHECK(sampled->load < 1.01);
  executor->timer()->sustain({&right}, Mode::cold, 0.02);
  const auto sustained = executor->timer()->sm_clock();
  REQUIRE(sustained.has_value());
  CHECK(sustained->load > 0.9);
  fmt::print("load: idle {:.3f}, cold samples {:.3f}, back to back {:.3f}\n", idle->load,
             sampled->load, sustained->load);
}

}  // namespace
}  // namespace gpuexp::test
