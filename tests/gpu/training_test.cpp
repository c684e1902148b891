// Training of an MLP and a transformer block for 500 steps. Ten runs in fp32 with different seeds
// define the spread that runs with other precisions and kernels must stay within. `[.recording]`
// writes all losses.
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

// A family's network and its problem. A network without attention cannot learn the block's targets,
// so their variance remains in the loss.
struct Task {
  const char* family;
  std::map<std::string, Value> sizes;
  double max_loss_left;  // maximum last loss relative to the first, by window
};
const Task& of_mlp() {
  static const Task task{"training_step",
                         {{"batch", std::int64_t{256}},
                          {"width", std::int64_t{64}},
                          {"hidden", std::int64_t{256}},
                          {"layers", std::int64_t{2}}},
                         0.25};
  return task;
}
const Task& of_block() {
  static const Task task{"training_block",
                         {{"sequences", std::int64_t{16}},
                          {"tokens", std::int64_t{32}},
                          {"width", std::int64_t{128}},
                          {"hidden", std::int64_t{256}}},
                         0.25};
  return task;
}

TrainingRun run_of(const Task& task, const Arithmetic& of, bool planted = false) {
  const Family* const family = Registry::global().find(task.family);
  REQUIRE(family);
  std::map<std::string, Value> changed = task.sizes;
  changed["dtype"] = std::string(of.dtype);
  changed["overflow"] = std::string(planted ? "planted" : "no");
  changed["steps_before"] = std::int64_t{0};
  changed["growth_interval"] = std::int64_t{100};
  changed["learning_rate"] = 1e-3;
  return {*family, changed, of.variant, this_device(), on_gpu()};
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

std::vector<Losses> curves(const Task& task, const Arithmetic& of) {
  TrainingRun run = run_of(task, of);
  std::vector<Losses> all;
  for (std::uint64_t seed = 1; seed <= kSeeds; ++seed)
    all.push_back(smoothed(run.losses(seed, kSteps), kWindow));
  return all;
}

void check_learning(const Task& task) {
  const Spread fp32(curves(task, kFirst));
  CHECK(fp32.most.back() < task.max_loss_left * fp32.least.front());
  for (const Arithmetic& of : kOthers) {
    INFO(of.dtype << " " << of.variant);
    check_within(fp32, curves(task, of));
  }
}

TEST_CASE("a network learns equally well in all precisions and with all kernels", "[training]") {
  if (!can_run()) return;
  check_learning(of_mlp());
}

TEST_CASE("a block learns equally well in all precisions and with all kernels", "[training]") {
  if (!can_run()) return;
  check_learning(of_block());
}

TEST_CASE("an overflow changes only the loss scale", "[training]") {
  if (!can_run()) return;
  Task one_layer = of_mlp();
  one_layer.sizes["layers"] = std::int64_t{1};
  for (const Task& task : {one_layer, of_block()}) {
    for (const char* variant : {"separate", "fused", "fused_recompute"}) {
      INFO(task.family << " " << variant);
      check_overflow([&](bool planted) { return run_of(task, {"fp16", variant}, planted); });
    }
  }
}

// One row per window of steps: minimum, mean and maximum of ten runs' losses.
void record(const Task& task, const std::string& file) {
  std::ofstream csv(file);
  csv << "run,dtype,variant,step,loss_least,loss_mean,loss_most\n";
  std::vector<Arithmetic> all{kFirst};
  all.insert(all.end(), std::begin(kOthers), std::end(kOthers));
  for (const Arithmetic& of : all) {
    const Spread spread(curves(task, of));
    for (std::size_t w = 0; w < spread.mean.size(); ++w)
      csv << of.dtype << '/' << of.variant << '/' << (w + 1) * kWindow << ',' << of.dtype << ','
          << of.variant << ',' << (w + 1) * kWindow << ',' << spread.least[w] << ','
          << spread.mean[w] << ',' << spread.most[w] << '\n';
  }
  CHECK(csv.good());
}
std::string file_of(const char* variable, const char* otherwise) {
  const char* const file = std::getenv(variable);
  return file ? file : otherwise;
}

TEST_CASE("losses of all runs, in a file", "[.recording]") {
  REQUIRE(can_run());
  record(of_mlp(), file_of("GPUEXP_LOSSES", "training_loss.csv"));
}

TEST_CASE("losses of all runs of a block, in a file", "[.recording]") {
  REQUIRE(can_run());
  record(of_block(), file_of("GPUEXP_BLOCK_LOSSES", "training_block_loss.csv"));
}

}  // namespace
}  // namespace gpuexp::test
