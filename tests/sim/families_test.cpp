// Every variant of every family on small awkward problems: its machine code, executed on the
// CPU, compared with the host's loops. Run one family with `-c <family>`.
#include <array>
#include <cstddef>
#include <map>
#include <numeric>

#include <sys/resource.h>

#include "family/registry.hpp"
#include "sim/execution.hpp"
#include "simulated/simulated_executor.hpp"
#include "support/catch.hpp"
#include "support/skip.hpp"
#include "support/small_problems.hpp"

namespace gpuexp::test {
namespace {

/// Variants without a small problem, and why they are covered nevertheless.
const std::map<std::string, std::string>& without_small_problem() {
  static const std::map<std::string, std::string> reasons{
      {"latency/dram", "its chain spans four times L2; its kernel is that of l2"},
      {"latency/dram_all_sms",
       "its chain spans four times L2, too; its kernel is that of l2_all_sms"},
  };
  return reasons;
}

/// Variants that the simulator refuses, with its reason.
const std::map<std::string, std::string>& not_simulated() {
  static const std::string launches = "kernels that launch kernels are not executed";
  static const std::map<std::string, std::string> reasons{
      {"bytes_in_flight/texture", "fetches of texture objects (TLD) are not simulated"},
      {"hierarchy/texture", "fetches of texture objects (TLD) are not simulated"},
      {"launch_overhead/device_stream", launches},
      {"launch_overhead/tail_launched", launches},
  };
  return reasons;
}

/// Whether a block of the GPU has enough shared memory for the variant.
bool has_room(const std::string& name, const DeviceSpec& device) {
  return name != "histogram/half_counters" || device.sm.shared_bytes_per_block >= 128 << 10;
}

/// Maximum operations of a problem, over all ranks; larger problems are left out.
constexpr double kMaxOperations = 2e8;

/// Number of problems that each variant was executed on, or refused.
using Executed = std::map<std::string, std::size_t>;

/// CPU time of this process and of the children it waited for, including ptxas.
double processor_seconds() {
  double seconds = 0;
  for (const int whose : {RUSAGE_SELF, RUSAGE_CHILDREN}) {
    rusage used{};
    getrusage(whose, &used);
    for (const timeval& time : {used.ru_utime, used.ru_stime})
      seconds += static_cast<double>(time.tv_sec) + 1e-6 * static_cast<double>(time.tv_usec);
  }
  return seconds;
}

/// The families share one budget of CPU time, so the tests end in bounded time for any number of
/// families. A family that exceeds its share skips problems, but each of its variants runs on at
/// least kMinProblems.
class Share {
 public:
  static constexpr std::size_t kMinProblems = 2;

  /// Each variant runs on at most `most` problems.
  Share(double seconds_of_all, std::size_t most)
      : most_(most),
        end_(processor_seconds() +
             seconds_of_all / static_cast<double>(Registry::global().families().size())) {}
  bool is_used() const { return processor_seconds() > end_; }
  /// Maximum number of problems per variant at this time.
  std::size_t most() const { return is_used() ? kMinProblems : most_; }

 private:
  std::size_t most_;
  double end_;
};

/// The family's variants that support this problem and ran on fewer than `most`.
std::vector<const Variant*> due_variants(const Family& family, const void* problem,
                                         const DeviceSpec& device, std::size_t most,
                                         Executed& executed) {
  std::vector<const Variant*> due;
  if (family.unsupported && family.unsupported(problem, device)) return due;
  const int ranks = family.gpus_of(problem);
  for (const Variant& variant : family.variants) {
    if (executed[variant.id] < most && runs_on(device, family, variant, problem) &&
        ranks * operation_count(variant.work(problem)) <= kMaxOperations)
      due.push_back(&variant);
  }
  return due;
}

void test_problem(const Family& family, const Values& values, const DeviceSpec& device,
                  Executor& executor, const Share& share, Executed& executed) {
  constexpr std::uint64_t kInputSeed = 7;
  INFO(describe(family, values));
  const auto problem = family.make_problem(values);
  const auto due = due_variants(family, problem.get(), device, share.most(), executed);
  if (due.empty()) return;
  executor.set_up(family, values, kInputSeed);
  for (const Variant* variant : due) {
    INFO(family.id << "/" << variant->id);
    ++executed[variant->id];
    const auto refused = not_simulated().find(family.id + "/" + variant->id);
    if (refused != not_simulated().end()) {
      SimulationLimits limits(device, kernels(), {});
      CHECK(limits.refusal(*variant, problem.get()) == refused->second);
      continue;
    }
    const Verification result = executor.verify(*variant, Mode::cold);
    INFO((result.passed() ? "" : failure_of(result)));
    CHECK(result.passed());
  }
}

/// One part per GPU: each GPU starts with other problems.
constexpr std::size_t kParts = 3;

/// All small problems, starting at the given part. Steps of about the golden ratio spread any
/// number of first problems evenly.
std::vector<Values> spread_problems(const Family& family, std::size_t part) {
  const std::vector<Values> problems = small_problems(family);
  constexpr double kGolden = 0.6180339887498949;
  auto step = static_cast<std::size_t>(kGolden * static_cast<double>(problems.size())) + 1;
  while (std::gcd(step, problems.size()) != 1)
    ++step;
  const std::size_t first = problems.size() * part / kParts;
  std::vector<Values> spread;
  for (std::size_t i = 0; i < problems.size(); ++i)
    spread.push_back(problems[(first + i) * step % problems.size()]);
  return spread;
}

/// Requires that every variant runs whose instructions code of this compute capability may have.
void test_on(const Family& family, const DeviceSpec& device, int capability_of_code,
             const Share& share, std::size_t part = 0) {
  SimulatedOptions options;
  options.launch_timeout_s = 300;  // other processes may use the CPU, too
  const auto executor = make_simulated_executor(device, kernels(), options);
  Executed executed;
  for (const Values& values : spread_problems(family, part))
    test_problem(family, with_short_loops(family, values), device, *executor, share, executed);
  for (const Variant& variant : family.variants) {
    const std::string name = family.id + "/" + variant.id;
    INFO(name);
    const bool is_left_out = variant.is_vendor || without_small_problem().count(name) > 0 ||
                             variant.min_compute_capability > capability_of_code ||
                             !has_room(name, device);
    CHECK(is_left_out != (executed[variant.id] > 0));
  }
}

TEST_CASE("listed exceptions name existing variants", "[names]") {
  for (const auto* left_out : {&without_small_problem(), &not_simulated()}) {
    for (const auto& [name, reason] : *left_out) {
      INFO(name);
      const Family* family = Registry::global().find(name.substr(0, name.find('/')));
      REQUIRE(family);
      CHECK(family->find(name.substr(name.find('/') + 1)) != nullptr);
    }
  }
}

TEST_CASE("every family's machine code matches its reference", "[families]") {
  if (kernels().empty())
    return skip(Tier::machine_code, "built without cuobjdump: the binary keeps no machine code");
  constexpr double kSecondsOfAll = 500;
  // Families with many combinations of choices skip some.
  constexpr std::size_t kMaxProblems = 200;
  for (const Family& family : Registry::global().families()) {
    DYNAMIC_SECTION(family.id) {
      test_on(family, device(), device().compute_capability(), Share(kSecondsOfAll, kMaxProblems));
    }
  }
}

TEST_CASE("every family's PTX, compiled for another GPU, matches its reference", "[other_gpu]") {
  if (kernels().empty())
    return skip(Tier::machine_code, "built without cuobjdump: the binary keeps no machine code");
  constexpr int kCapabilityOfPtx = 80;
  constexpr double kSecondsOfAll = 400;
  // Their code differs in its instructions. The test above covers extents of every kind.
  constexpr std::size_t kMaxProblems = 4;
  const std::array<const char*, kParts> gpus{"a100_sxm4_80gb", "b200", "rtx_5090"};
  std::size_t first = 0;
  for (const Family& family : Registry::global().families()) {
    ++first;  // each family starts with another GPU: compiling may use up its share
    DYNAMIC_SECTION(family.id) {
      const Share share(kSecondsOfAll, kMaxProblems);
      for (std::size_t i = 0; i < kParts; ++i) {
        if (i > 0 && share.is_used()) break;
        const std::size_t part = (first + i) % kParts;
        INFO(gpus.at(part));
        test_on(family, device_of(gpus.at(part)), kCapabilityOfPtx, share, part);
      }
    }
  }
}

}  // namespace
}  // namespace gpuexp::test
