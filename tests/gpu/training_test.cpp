// A network that learns in 500 steps: ten runs in fp32 with seeds of their own come first, and
// those of other precisions and other kernels are held to their spread. `[.recording]` writes what
// all come to.
#include <cstdlib>
#include <fstream>
#include <memory>

#include <cuda_runtime_api.h>

#include "family/registry.hpp"
#include "gpu/both_executors.hpp"
#include "gpu/launcher.hpp"
#include "gpu/resources.hpp"
#include "support/training_run.hpp"

namespace gpuexp::test {
namespace {

TrainingMemory on_gpu() {
  struct State {
    CudaStream stream;
    std::vector<DeviceMemory> memory;
  };
  const auto state = std::make_shared<State>();
  TrainingMemory m;
  m.allocate = [state](std::int64_t bytes) { return state->memory.emplace_back(bytes).get(); };
  m.run = [state](const Steps& steps) { enqueue(steps, state->stream); };
  m.read = [state](void* to, const void* from, std::int64_t bytes) {
    state->stream.synchronize();
    GPUEXP_CUDA(cudaMemcpy(to, from, static_cast<std::size_t>(bytes), cudaMemcpyDeviceToHost));
  };
  return m;
}

struct Arithmetic {
  const char* dtype;
  const char* variant;
};

TrainingRun run_of(const Arithmetic& of, bool planted = false, int layers = 2) {
  const Family* const family = Registry::global().find("training_step");
  REQUIRE(family);
  return {*family,
          {{"batch", std::int64_t{256}},
           {"width", std::int64_t{64}},
           {"hidden", std::int64_t{256}},
           {"layers", std::int64_t{planted ? 1 : layers}},
           {"dtype", std::string(of.dtype)},
           {"overflow", std::string(planted ? "planted" : "no")},
           {"steps_before", std::int64_t{0}},
           {"growth_interval", std::int64_t{100}},
           {"learning_rate", 1e-3}},
          of.variant,
          this_device(),
          on_gpu()};
}

constexpr int kSteps = 500;
constexpr std::size_t kWindow = 25;
constexpr std::uint64_t kSeeds = 10;
constexpr Arithmetic kFirst{"fp32", "fused"};
constexpr Arithmetic kOthers[] = {{"fp32", "separate"},        {"fp32", "fused_recompute"},
                                  {"bf16", "separate"},        {"bf16", "fused"},
                                  {"bf16", "fused_recompute"}, {"fp16", "separate"},
                                  {"fp16", "fused"},           {"fp16", "fused_recompute"}};

bool can_run() {
  return this_device().compute_capability() >= 80;
}

std::vector<Losses> curves(const Arithmetic& of) {
  TrainingRun run = run_of(of);
  std::vector<Losses> all;
  for (std::uint64_t seed = 1; seed <= kSeeds; ++seed)
    all.push_back(smoothed(run.losses(seed, kSteps), kWindow));
  return all;
}

TEST_CASE("a network learns the same in all precisions and by all kernels", "[training]") {
  if (!can_run()) return;
  const Spread fp32(curves(kFirst));
  CHECK(fp32.most.back() < 0.25 * fp32.least.front());
  for (const Arithmetic& of : kOthers) {
    INFO(of.dtype << " " << of.variant);
    check_within(fp32, curves(of));
  }
}

TEST_CASE("an overflow leaves all but the scale of the loss", "[training]") {
  if (!can_run()) return;
  for (const char* variant : {"separate", "fused", "fused_recompute"}) {
    INFO(variant);
    check_overflow([&](bool planted) { return run_of({"fp16", variant}, planted, 1); });
  }
}

// A row per window of steps: the least, mean and most of ten runs' losses.
TEST_CASE("losses of all runs, in a file", "[.recording]") {
  REQUIRE(can_run());
  const char* const file = std::getenv("GPUEXP_LOSSES");
  std::ofstream csv(file ? file : "training_loss.csv");
  csv << "run,dtype,variant,step,loss_least,loss_mean,loss_most\n";
  std::vector<Arithmetic> all{kFirst};
  all.insert(all.end(), std::begin(kOthers), std::end(kOthers));
  for (const Arithmetic& of : all) {
    const Spread spread(curves(of));
    for (std::size_t w = 0; w < spread.mean.size(); ++w)
      csv << of.dtype << '/' << of.variant << '/' << (w + 1) * kWindow << ',' << of.dtype << ','
          << of.variant << ',' << (w + 1) * kWindow << ',' << spread.least[w] << ','
          << spread.mean[w] << ',' << spread.most[w] << '\n';
  }
  CHECK(csv.good());
}

}  // namespace
}  // namespace gpuexp::test
