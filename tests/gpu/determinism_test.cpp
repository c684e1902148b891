// Deterministic variants have bitwise-identical results in every launch. A variant that adds floats
// in any order does not.
#include <algorithm>
#include <set>
#include <string>
#include <vector>

#include <cuda_runtime_api.h>

#include "family/registry.hpp"
#include "gpu/device_query.hpp"
#include "gpu/problem_launches.hpp"
#include "support/catch.hpp"
#include "support/small_problems.hpp"

namespace gpuexp::test {
namespace {

constexpr std::uint64_t kSeed = 7;
constexpr int kLaunches = 10;

/// Contents of each output of a variant after a launch.
using Outputs = std::vector<std::vector<unsigned char>>;

class Problem {
 public:
  Problem(const Family& family, const Values& values)
      : device_(query_device(0, {}).spec), launches_(family, values, kSeed, device_, stream_) {}

  const DeviceSpec& device() const { return device_; }
  const void* problem() const { return launches_.problem(); }

  /// Outputs of one launch, poisoned before it.
  Outputs launch(const Variant& variant) {
    const Family& family = launches_.family();
    std::vector<std::size_t> filled;
    for (std::size_t i = 0; i < family.buffers.size(); ++i) {
      if (is_output(family.buffers[i].role) && variant.fills(family.buffers[i].name))
        filled.push_back(i);
    }
    launches_.prepare(variant);
    launches_.copy().poison(filled, stream_);
    launches_.reset(variant, Mode::warm);
    launches_.enqueue(variant, Mode::warm);
    launches_.copy().pull(stream_);
    stream_.synchronize();
    Outputs outputs;
    for (const std::size_t i : filled) {
      const GuardedMemory& memory = launches_.copy().buffers()[i];
      std::vector<unsigned char>& bytes = outputs.emplace_back(memory.bytes());
      GPUEXP_CUDA(cudaMemcpy(bytes.data(), memory.image(), bytes.size(), cudaMemcpyDeviceToHost));
    }
    return outputs;
  }

 private:
  DeviceSpec device_;
  CudaStream stream_;
  ProblemLaunches launches_;
};

/// Number of launches whose outputs differ from those of the first.
int launches_that_differ(Problem& problem, const Variant& variant) {
  const Outputs first = problem.launch(variant);
  int differ = 0;
  for (int i = 1; i < kLaunches; ++i)
    differ += problem.launch(variant) != first;
  return differ;
}

std::int64_t output_bytes(const Family& family, const Values& values) {
  const auto problem = family.make_problem(values);
  std::int64_t bytes = 0;
  for (const Buffer& buffer : family.buffers) {
    if (is_output(buffer.role))
      bytes += buffer.count(problem.get()) *
               static_cast<std::int64_t>(size_of(buffer.type(problem.get())));
  }
  return bytes;
}

/// Halves the largest size that may be halved; returns false if there is none.
bool shrink(const Family& family, Values& values) {
  std::int64_t* largest = nullptr;
  for (std::size_t i = 0; i < values.size(); ++i) {
    auto* const number = std::get_if<std::int64_t>(&values[i]);
    const bool may_shrink =
        number && static_cast<double>(*number / 2) >= std::max(1.0, family.parameters[i].min);
    if (may_shrink && (!largest || *number > *largest)) largest = number;
  }
  if (largest) *largest /= 2;
  return largest != nullptr;
}

/// All combinations of choices. Sizes are large enough that the order of blocks varies, and small
/// enough that the host compares outputs within minutes.
std::vector<Values> large_problems(const Family& family, const DeviceSpec& device) {
  constexpr std::int64_t kMaxBytes = std::int64_t{1} << 26;
  std::vector<Values> problems = choice_combinations(family);
  std::erase_if(problems, [&](const Values& values) {
    return family.unsupported && family.unsupported(family.make_problem(values).get(), device);
  });
  for (Values& values : problems) {
    while (output_bytes(family, values) > kMaxBytes && shrink(family, values)) {
    }
  }
  return problems;
}

bool can_run(const Problem& problem, const Family& family, const Variant& variant) {
  if (variant.unavailable && variant.unavailable()) return false;
  if (problem.device().compute_capability() < variant.min_compute_capability) return false;
  if (family.unsupported && family.unsupported(problem.problem(), problem.device())) return false;
  return !(variant.unsupported && variant.unsupported(problem.problem(), problem.device()));
}

TEST_CASE("deterministic variants have bitwise-identical results in ten launches",
          "[determinism]") {
  const DeviceSpec device = query_device(0, {}).spec;
  for (const Family& family : Registry::global().families()) {
    if (family.gpus) continue;  // each rank needs its own process
    const bool has_any = std::any_of(family.variants.begin(), family.variants.end(),
                                     [](const Variant& v) { return v.deterministic; });
    if (!has_any) continue;
    DYNAMIC_SECTION(family.id) {
      std::set<std::string> declared;
      for (const Variant& variant : family.variants) {
        if (variant.deterministic && !(variant.unavailable && variant.unavailable()))
          declared.insert(variant.id);
      }
      std::set<std::string> launched;
      const auto launch_on = [&](const Values& values, const std::set<std::string>& ids) {
        Problem problem(family, values);
        for (const Variant& variant : family.variants) {
          if (ids.count(variant.id) == 0 || !can_run(problem, family, variant)) continue;
          INFO(variant.id << " " << describe(family, values));
          launched.insert(variant.id);
          CHECK(launches_that_differ(problem, variant) == 0);
        }
      };
      for (const Values& values : large_problems(family, device))
        launch_on(values, declared);
      std::set<std::string> left = declared;  // variants that support only small problems
      for (const Values& values : small_problems(family)) {
        for (const std::string& id : launched)
          left.erase(id);
        if (left.empty()) break;
        launch_on(values, left);
      }
      CHECK(launched == declared);
    }
  }
}

TEST_CASE("atomic float sums differ between launches", "[determinism]") {
  const Family* const family = Registry::global().find("atomics");
  REQUIRE(family);
  const Variant* const variant = family->find("float_block_first");
  REQUIRE(variant);
  CHECK(!variant->deterministic);
  Problem problem(*family, large_problems(*family, query_device(0, {}).spec).front());
  CHECK(launches_that_differ(problem, *variant) > 0);
}

}  // namespace
}  // namespace gpuexp::test
