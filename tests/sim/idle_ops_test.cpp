// Instructions skipped when only branches and addresses matter: skipping changes neither.
#include "sim/idle_ops.hpp"

#include <map>
#include <utility>
#include <vector>

#include "family/registry.hpp"
#include "sim/cluster.hpp"
#include "sim/recorded.hpp"
#include "support/small_problems.hpp"

namespace gpuexp::test {
namespace {

/// Instructions that the first clusters of a kernel execute, and the addresses that they access.
class Trace final : public sim::AccessListener {
 public:
  explicit Trace(const sim::LaunchState& launch) : global_(*launch.global) {
    constexpr std::int64_t kMaxClusters = 3;
    const Extent all{launch.grid.x / launch.cluster.x, launch.grid.y / launch.cluster.y,
                     launch.grid.z / launch.cluster.z};
    for (std::int64_t i = 0; i < std::min(all.count(), kMaxClusters); ++i) {
      sim::Cluster cluster(launch, {i % all.x, i / all.x % all.y, i / (all.x * all.y)});
      for (const auto& block : cluster.blocks())
        block->set_listener(this);
      cluster.run();
      for (const auto& block : cluster.blocks()) {
        for (const sim::OpCount& count : block->counts)
          executed.push_back(count.warps);
      }
    }
  }

  void hear(const sim::MemoryAccess& access) override {
    mix(static_cast<std::uint64_t>(access.space) << 8 | static_cast<std::uint64_t>(access.kind));
    mix(access.width);
    mix(access.lanes);
    sim::for_each_lane(access.lanes, [&](unsigned lane) {
      // Buffers of two runs have different addresses: use offsets.
      const std::uint64_t at = access.address[lane];
      const auto* const buffer = access.space == sim::Space::global ? global_.find(at, 0) : nullptr;
      mix(buffer ? at - buffer->begin() : at);
    });
  }

  std::vector<std::uint64_t> executed;  ///< by cluster, block and instruction
  std::uint64_t reached = 0;            ///< hash of accesses, in order

 private:
  void mix(std::uint64_t value) { reached = (reached ^ value) * 0x9E3779B97F4A7C15; }

  sim::GlobalMemory& global_;
};

std::vector<Trace> traces_of(const Family& family, const Values& values, const Variant& variant,
                             bool is_approximate) {
  Problem problem(family, values);
  const Steps steps = problem.host.steps(variant);
  bool keeps_global = false;
  for (const Step& step : steps.all()) {
    const auto* const kernel = std::get_if<KernelStep>(&step.action);
    keeps_global |= kernel && problem.simulator.is_decided_by_global(*kernel);
  }
  std::vector<Trace> traces;
  for (const Step& step : steps.all()) {
    const auto* const kernel = std::get_if<KernelStep>(&step.action);
    if (!kernel || kernel->shape.grid.count() == 0 || kernel->cooperative) continue;
    sim::LaunchState launch = problem.simulator.launch_of(*kernel);
    if (is_approximate) launch = problem.simulator.approximate_launch_of(*kernel, keeps_global);
    launch.checks.memory = false;
    traces.emplace_back(launch);
  }
  return traces;
}

TEST_CASE("skipping idle instructions changes no branch and no address", "[families]") {
  if (!has_machine_code()) return;
  constexpr double kFewOperations = 2e6;
  for (const Family& family : Registry::global().families()) {
    DYNAMIC_SECTION(family.id) {
      for (const Variant& variant : family.variants) {
        if (variant.is_vendor || variant.phases) continue;
        std::size_t left = 2;
        for (const Values& small : small_problems(family)) {
          const Values values = with_short_loops(family, small);
          const auto made = family.make_problem(values);
          if (left == 0 || family.gpus_of(made.get()) > 1) break;
          if (!runs_on(device(), family, variant, made.get()) ||
              operation_count(variant.work(made.get())) > kFewOperations)
            continue;
          --left;
          INFO(variant.id << " " << describe(family, values));
          Problem problem(family, values);
          if (!problem.simulator.refusal(problem.host.steps(variant)).empty()) break;
          const auto whole = traces_of(family, values, variant, false);
          const auto rough = traces_of(family, values, variant, true);
          REQUIRE(whole.size() == rough.size());
          for (std::size_t i = 0; i < whole.size(); ++i) {
            INFO("kernel " << i);
            CHECK(whole[i].executed == rough[i].executed);
            CHECK(whole[i].reached == rough[i].reached);
          }
        }
      }
    }
  }
}

/// In a variant's first kernel, the number of skipped instructions with this mnemonic, and of all.
std::pair<std::size_t, std::size_t> left_out(const char* family_id, const char* variant,
                                             std::string_view mnemonic) {
  const Family& family = family_of(family_id);
  Problem problem(family, family.defaults());
  const Steps steps = problem.host.steps(*family.find(variant));
  const auto& kernel = std::get<KernelStep>(steps.all().front().action);
  const sim::LaunchState launch = problem.simulator.launch_of(kernel);
  const sim::IdleOps idle = sim::idle_ops(*launch.program, false);
  std::pair<std::size_t, std::size_t> count;
  for (std::size_t i = 0; i < idle.of.size(); ++i) {
    const std::string_view opcode = launch.program->listed[i].opcode;
    if (opcode.substr(0, opcode.find('.')) != mnemonic) continue;
    count.first += idle.of[i] != sim::Idle::no;
    ++count.second;
  }
  return count;
}

TEST_CASE("values that only reach stores are skipped, and no others") {
  if (!has_machine_code()) return;
  const auto all_of = [](auto count) { return count.second > 0 && count.first == count.second; };
  const auto none_of = [](auto count) { return count.second > 0 && count.first == 0; };
  for (const char* mnemonic : {"FFMA", "LDS", "STS", "LDG", "STG"}) {
    INFO(mnemonic);
    CHECK(all_of(left_out("matmul", "smem_tile", mnemonic)));
  }
  CHECK(all_of(left_out("matmul_tensor", "mma_sync", "HMMA")));
  // These loads determine other addresses, or the length of a loop.
  CHECK(none_of(left_out("gather", "gather_random", "LDG")));
  CHECK(none_of(left_out("divergence", "split_in_warp", "LDG")));
  CHECK(none_of(left_out("matmul", "smem_tile", "BAR")));
}

TEST_CASE("loops over rows of a matrix depend on its data, and loops over sizes do not") {
  if (!has_machine_code()) return;
  const auto loops_over_data = [](const char* family_id, const char* variant) {
    const Family& family = family_of(family_id);
    Problem problem(family, family.defaults());
    const Steps steps = problem.host.steps(*family.find(variant));
    const auto& kernel = std::get<KernelStep>(steps.all().front().action);
    return problem.simulator.has_loops_decided_by_global(kernel);
  };
  CHECK(loops_over_data("spmv", "csr_thread_per_row"));
  CHECK(loops_over_data("spmv", "csr_warp_per_row"));
  // The data decide which loop is executed, and the cost how often.
  CHECK_FALSE(loops_over_data("divergence", "split_in_warp"));
  CHECK_FALSE(loops_over_data("gather", "gather_random"));
  CHECK_FALSE(loops_over_data("matmul", "smem_tile"));
  CHECK_FALSE(loops_over_data("softmax", "online"));
}

}  // namespace
}  // namespace gpuexp::test
