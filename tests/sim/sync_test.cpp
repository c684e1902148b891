// The checks of the simulator find no fault in kernels that synchronize by flags in shared memory
// or by mbarriers, and find the missing fences and waits of their faulty forms.
#include <numeric>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "sim/fault.hpp"
#include "sim/run_time_kernels.hpp"

namespace gpuexp::test {
namespace {

constexpr std::int64_t kThreads = 128;
constexpr const char* kSyncFile = "tests/sim/sync_kernels.cu";

struct Outcome {
  std::vector<int> out;
  std::optional<sim::Fault> fault;
};

/// Executes one block of the kernel.
Outcome outcome_of(const RunTimeKernels& module, const std::string& kernel, int fault) {
  std::vector<int> in(8 * kThreads);
  std::iota(in.begin(), in.end(), 1);
  Outcome outcome{std::vector<int>(kThreads, -2), std::nullopt};
  RunTimeKernels::Execution execution(module);
  execution.add(in, "in");
  execution.add(outcome.out, "out");
  try {
    execution.run(kernel, 1, kThreads, in.data(), outcome.out.data(), fault);
  } catch (const sim::Fault& found) {
    outcome.fault = found;
  }
  return outcome;
}

int reversed(int t) {
  return static_cast<int>(kThreads) - t;
}
/// Sum over `stages` rows of 128 numbers.
int sum_of_stages(int t, int stages) {
  int sum = 0;
  for (int i = 0; i < stages; ++i)
    sum += i * static_cast<int>(kThreads) + reversed(t);
  return sum;
}

struct Case {
  const char* kernel;
  int faults;
  int (*expected)(int t);  ///< null: any
};

constexpr Case kCases[] = {
    {"copy_noinc", 2, reversed},
    {"copy_inc", 1, [](int t) { return sum_of_stages(t, 4); }},
    {"copy_barrier", 1, reversed},
    {"copy_pipeline", 1, [](int t) { return sum_of_stages(t, 8); }},
    {"volatile_flag", 2, [](int t) { return t < 32 ? 0 : t % 32 + 1; }},
    {"volatile_chain", 1,
     [](int t) {
       int sum = 0;
       for (int i = t; i >= 0; i -= 32)
         sum += i + 1;
       return sum;
     }},
    {"atomic_flag", 1, [](int t) { return t < 32 ? 0 : t % 32 + 1; }},
    {"flag_ring", 1,
     [](int t) {
       int sum = 0;
       for (int i = 0; t / 32 == 1 && i < 8; ++i)
         sum += i * 32 + 32 - t % 32;
       return sum;
     }},
    {"lock", 1, [](int) { return 1 + 33 + 65 + 97; }},
    {"volatile_unlock", 1, [](int) { return 1 + 33 + 65 + 97; }},
    {"last_warp", 1, nullptr},
    {"last_warp_acq_rel", 1, nullptr},
    {"polling_addition", 1, [](int t) { return t == 64 ? 1 : 0; }},
    {"plain_loop", 1, nullptr},
};

void check_correct(const RunTimeKernels& module, const Case& c) {
  const Outcome outcome = outcome_of(module, c.kernel, 0);
  if (outcome.fault) FAIL_CHECK(outcome.fault->what());
  for (int t = 0; c.expected && t < static_cast<int>(kThreads); ++t) {
    if (outcome.out[static_cast<std::size_t>(t)] == c.expected(t)) continue;
    FAIL_CHECK("thread " << t << " stores " << outcome.out[static_cast<std::size_t>(t)] << " not "
                         << c.expected(t));
    return;
  }
}

void check_faulty(const RunTimeKernels& module, const Case& c, int fault) {
  const Outcome outcome = outcome_of(module, c.kernel, fault);
  if (!outcome.fault) {
    FAIL_CHECK("the fault was not found");
    return;
  }
  INFO(outcome.fault->what());
  const bool copies = std::string_view(c.kernel).starts_with("copy");
  CHECK(outcome.fault->kind == (copies ? sim::FaultKind::async_copy : sim::FaultKind::race));
  CHECK(outcome.fault->place == module.place_of(std::string("fault: ") + c.kernel));
}

void check_all(int compute_capability) {
  INFO("compute capability " << compute_capability);
  const RunTimeKernels module(kSyncFile, compute_capability);
  for (const Case& c : kCases) {
    INFO(c.kernel);
    check_correct(module, c);
    for (int fault = 1; fault <= c.faults; ++fault) {
      INFO("fault " << fault);
      check_faulty(module, c, fault);
    }
  }
}

TEST_CASE("flags and mbarriers order accesses, and missing fences and waits are found", "[sync]") {
  if (const std::string missing = lacks_compiler(); !missing.empty())
    return skip(Tier::machine_code, missing);
  const int compute_capability = GENERATE(80, 89, 90, 120);
  check_all(compute_capability);
}

}  // namespace
}  // namespace gpuexp::test
