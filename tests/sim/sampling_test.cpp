// Launches with only some blocks executed, compared with the same launches executed completely.
#include <cmath>
#include <map>

#include "family/registry.hpp"
#include "sim/execution.hpp"
#include "simulated/host_problem.hpp"
#include "simulated/simulated_executor.hpp"
#include "support/catch.hpp"
#include "support/skip.hpp"
#include "support/small_problems.hpp"

namespace gpuexp::test {
namespace {

struct Case {
  std::string family;
  std::string variant;
  std::map<std::string, Value> values;
  double min_error;  ///< minimum standard error of the estimates
  double max_error;
};

const Variant& variant_of(const Family& family, const std::string& id) {
  const Variant* const variant = family.find(id);
  REQUIRE(variant);
  return *variant;
}

TEST_CASE("a sample of a grid's blocks estimates the counters of all", "[sampling]") {
  if (kernels().empty())
    return skip(Tier::machine_code, "built without cuobjdump: the binary keeps no machine code");
  const std::int64_t one{1};
  const Case c = GENERATE_COPY(
      Case{"matmul", "naive", {{"m", 512 * one}, {"n", 256 * one}, {"k", 64 * one}}, 0, 0},
      // The last blocks along each side do less; rows have any alignment within a line.
      Case{"matmul", "naive", {{"m", 520 * one}, {"n", 264 * one}, {"k", 40 * one}}, 0, 0.003},
      Case{"coalescing", "read_strided", {{"n", 400'000 * one}, {"stride", 7 * one}}, 0, 0.003},
      // Changes its output in place, which is mostly zero before.
      Case{"partial_write", "write_strided", {{"n", 100'000 * one}, {"stride", 4 * one}}, 0, 0.003},
      // Random addresses and branches: blocks differ.
      Case{"gather", "gather_random", {{"n", 300'000 * one}}, 1e-7, 0.003},
      Case{"divergence", "random", {{"n", 150'000 * one}, {"fraction", 0.03}}, 1e-5, 0.003},
      // Two kinds of block, one after the other.
      Case{"divergence", "sorted", {{"n", 150'000 * one}, {"fraction", 0.3}}, 0, 0.003});
  INFO(c.family << "/" << c.variant);
  const Family& family = *Registry::global().find(c.family);
  const Variant& variant = variant_of(family, c.variant);
  sim::Simulator simulator(kernels(), device().compute_capability());
  simulator.uses_host_loops = true;
  HostProblem problem(family, values_with(family, c.values), 7, device(), simulator);
  const sim::KernelExecution whole = problem.launch(variant).front();
  CHECK(whole.executed_blocks == whole.blocks);
  CHECK(whole.standard_error == 0);
  sim::BlockSampling sampling;
  sampling.min_lane_instructions = 0;
  problem.set_sampling(sampling);
  problem.poison(variant);
  const sim::KernelExecution some = problem.launch(variant).front();
  CHECK(some.blocks == whole.blocks);
  CHECK(some.executed_blocks < whole.blocks);
  CHECK(some.standard_error >= c.min_error);
  CHECK(some.standard_error <= c.max_error);
  for (std::size_t m = 0; m < sim::kMetrics; ++m) {
    INFO(sim::metric_names()[m]);
    const double exact = whole.metrics()[m];
    // Five standard errors of the worst metric. They cannot account for blocks that are too rare to
    // be drawn (the one where a sorted side ends), hence the target error is allowed as well.
    const double allowed = std::max(5 * some.standard_error, sampling.standard_error) * exact;
    CHECK(std::abs(some.metrics()[m] - exact) <= (c.max_error == 0 ? 0 : allowed));
  }
  const Verification verification = problem.check(variant);
  CHECK(verification.passed());
  CHECK(verification.checked > 0);
  CHECK(verification.checked < verification.elements);
}

class Sampled {
 public:
  Sampled() : family(*Registry::global().find("matmul")) {
    for (Variant& v : family.variants) {
      if (v.id == "naive") naive = &v;
    }
    REQUIRE(naive);
    options.blocks = {8};
  }
  Verification verify() {
    const auto executor = make_simulated_executor(device(), kernels(), options);
    executor->set_up(
        family,
        values_with(family,
                    {{"m", std::int64_t{256}}, {"n", std::int64_t{256}}, {"k", std::int64_t{64}}}),
        1);
    return executor->verify(*naive, Mode::cold);
  }

  Family family;
  Variant* naive = nullptr;
  SimulatedOptions options;
};

TEST_CASE("a sample of a launch is compared with the reference", "[sampling]") {
  if (kernels().empty())
    return skip(Tier::machine_code, "built without cuobjdump: the binary keeps no machine code");
  Sampled b;
  SECTION("a correct launch passes in the elements that its blocks wrote") {
    const Verification v = b.verify();
    CHECK(v.passed());
    CHECK(v.elements == 256 * 256);
    CHECK(v.checked % (16 * 16) == 0);
    CHECK(v.checked >= 8 * 16 * 16);
    CHECK(v.checked < v.elements);
  }
  SECTION("a launch that writes nothing is wrong") {
    b.naive->launch = [](const void*, const void*, const LaunchContext&) { return Steps(); };
    CHECK(!b.verify().passed());
  }
  SECTION("a launch that sums too few products is wrong") {
    const auto right = b.naive->launch;
    const auto problem = b.family.make_problem(values_with(
        b.family, {{"m", std::int64_t{256}}, {"n", std::int64_t{256}}, {"k", std::int64_t{63}}}));
    b.naive->launch = [right, problem](const void*, const void* data, const LaunchContext& x) {
      return right(problem.get(), data, x);
    };
    const Verification v = b.verify();
    CHECK(!v.passed());
    CHECK(v.wrong > 0);
    REQUIRE(!v.first_wrong.empty());
    CHECK(v.first_wrong.front().index == 0);
  }
}

/// Output of a family's reference kernels, executed on the CPU, in arrays filled with `fill`.
class ExecutedReference {
 public:
  ExecutedReference(const Family& family, const Values& values, double fill)
      : family_(family), problem_(family.make_problem(values)) {
    for (const Buffer& buffer : family.buffers) {
      const auto count = static_cast<std::size_t>(buffer.count(problem_.get()));
      const HostMemory& memory =
          buffers_.emplace_back(count * size_of(buffer.type(problem_.get())));
      simulator_.memory().add(memory.data(), memory.bytes());
      pointers_.push_back(memory.data());
      if (!is_output(buffer.role)) continue;
      value.assign(count, fill);
      magnitude.assign(count, fill);
    }
    for (std::vector<double>* array : {&value, &magnitude})
      simulator_.memory().add(array->data(), array->size() * sizeof(double));
    data_ = family.make_data(pointers_);
    simulator_.run(family.inputs(problem_.get(), data_.get(), 7));
  }

  void evaluate(const ElementDraw& draw) {
    simulator_.run(
        family_.reference(problem_.get(), data_.get(), {{value.data(), magnitude.data(), draw}}));
  }

  std::vector<double> value;
  std::vector<double> magnitude;

 private:
  const Family& family_;
  std::shared_ptr<const void> problem_;
  sim::Simulator simulator_{kernels(), device().compute_capability()};
  std::vector<HostMemory> buffers_;
  std::vector<void*> pointers_;
  std::shared_ptr<const void> data_;
};

// GPUs run these kernels if a reference of all elements costs too much.
TEST_CASE("reference kernels compute the drawn elements and no others", "[sampling]") {
  if (kernels().empty())
    return skip(Tier::machine_code, "built without cuobjdump: the binary keeps no machine code");
  constexpr double kFill = -1234.5;
  for (const char* id : {"matmul", "matmul_tensor", "wave_quantization"}) {
    INFO(id);
    const Family& family = *Registry::global().find(id);
    // Odd extents, so pieces start anywhere in a row and the last one is partial.
    std::map<std::string, Value> small{{"n", std::int64_t{97}}, {"k", std::int64_t{9}}};
    if (family.find_parameter("m")) small.emplace("m", std::int64_t{81});
    if (family.find_parameter("pitch")) small.emplace("pitch", std::int64_t{128});
    ExecutedReference whole(family, values_with(family, small), kFill);
    ExecutedReference some(family, values_with(family, small), kFill);
    const ElementDraw draw = drawn_share(0.3, 7);
    whole.evaluate({});
    some.evaluate(draw);
    std::size_t drawn = 0;
    for (std::size_t i = 0; i < whole.value.size(); ++i) {
      const bool has = draw.has(static_cast<std::int64_t>(i));
      drawn += has;
      if (some.value[i] != (has ? whole.value[i] : kFill)) FAIL_CHECK(i);
      if (some.magnitude[i] != (has ? whole.magnitude[i] : kFill)) FAIL_CHECK(i);
      if (whole.value[i] == kFill) FAIL_CHECK(i);
    }
    CHECK(drawn > whole.value.size() / 10);
    CHECK(drawn < whole.value.size() / 2);
  }
}

std::int64_t input_elements(const Family& family, const void* problem) {
  std::int64_t elements = 0;
  for (const Buffer& buffer : family.buffers) {
    if (buffer.role != BufferRole::output) elements += buffer.count(problem);
  }
  return elements;
}

/// Problems that the device supports, smallest inputs first.
std::vector<std::pair<std::int64_t, Values>> by_input_elements(const Family& family) {
  std::vector<std::pair<std::int64_t, Values>> problems;
  for (const Values& values : small_problems(family)) {
    const auto problem = family.make_problem(values);
    if (family.unsupported && family.unsupported(problem.get(), device())) continue;
    problems.emplace_back(input_elements(family, problem.get()), values);
  }
  std::stable_sort(problems.begin(), problems.end(),
                   [](const auto& a, const auto& b) { return a.first < b.first; });
  return problems;
}

// The simulator fills inputs by host loops.
TEST_CASE("host loops fill inputs like their kernels, bit by bit", "[host_loops]") {
  if (kernels().empty())
    return skip(Tier::machine_code, "built without cuobjdump: the binary keeps no machine code");
  for (const Family& family : Registry::global().families()) {
    DYNAMIC_SECTION(family.id) {
      constexpr std::int64_t kMaxElements = std::int64_t{1} << 18;  // for kernels on the CPU
      int compared = 0;
      for (const auto& [elements, values] : by_input_elements(family)) {
        if (compared > 0 && elements > kMaxElements) break;
        INFO(describe(family, values));
        ++compared;
        sim::Simulator of_kernels(kernels(), device().compute_capability());
        sim::Simulator of_host(kernels(), device().compute_capability());
        of_host.uses_host_loops = true;
        const HostProblem a(family, values, 7, device(), of_kernels);
        const HostProblem b(family, values, 7, device(), of_host);
        for (std::size_t i = 0; i < family.buffers.size(); ++i) {
          if (family.buffers[i].role == BufferRole::output) continue;
          // Its values are addresses.
          const bool is_walked = family.id == "latency" || family.id == "hierarchy";
          if (is_walked && family.buffers[i].name == "chain") continue;
          INFO(family.buffers[i].name);
          const auto x = a.buffer(i);
          const auto y = b.buffer(i);
          CHECK(std::equal(x.begin(), x.end(), y.begin(), y.end()));
        }
      }
      CHECK(compared > 0);
    }
  }
}

}  // namespace
}  // namespace gpuexp::test
