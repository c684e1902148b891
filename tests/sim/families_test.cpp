// Every variant of every family on small awkward problems: its own machine code, executed on the
// CPU, against the host's loops. Run one family with `-c <family>`.
#include <algorithm>
#include <cmath>
#include <map>
#include <set>

#include "family/registry.hpp"
#include "sim/execution.hpp"
#include "support/catch.hpp"
#include "support/skip.hpp"
#include "support/small_problems.hpp"

namespace gpuexp::test {
namespace {

/// What is not executed, and the instructions that it would take.
const std::map<std::string, std::string>& not_executed() {
  static const std::map<std::string, std::string> reasons{
      {"memory_bandwidth/copy_bulk", "SYNCS and UBLKCP: bulk copies and their barriers"},
      {"memory_bandwidth/read_bulk", "SYNCS and UBLKCP: bulk copies and their barriers"},
      {"tensor_rate/wgmma", "HGMMA, IGMMA and QGMMA: products of a warpgroup"},
  };
  return reasons;
}

/// What has no small problem, and why that is no loss.
const std::map<std::string, std::string>& without_small_problem() {
  static const std::map<std::string, std::string> reasons{
      {"latency/dram", "its chain spans four times L2; its kernel is that of l2"},
  };
  return reasons;
}

struct Expected {
  std::vector<double> value;
  std::vector<double> magnitude;
};

std::map<std::size_t, Expected> expected_outputs(const Family& family, const void* problem,
                                                 const void* data) {
  std::map<std::size_t, Expected> outputs;
  std::vector<ReferenceView> views;
  for (std::size_t i = 0; i < family.buffers.size(); ++i) {
    if (!is_output(family.buffers[i].role)) continue;
    const auto count = static_cast<std::size_t>(family.buffers[i].count(problem));
    Expected& expected = outputs[i];
    expected.value.assign(count, std::nan(""));
    expected.magnitude.assign(count, std::nan(""));
    views.push_back({expected.value.data(), expected.magnitude.data()});
  }
  family.host_reference(problem, data, views);
  return outputs;
}

void check_output(const Buffer& buffer, const Tolerance& tolerance, DataType type,
                  const Expected& expected, const void* got) {
  std::size_t wrong = 0;
  for (std::size_t i = 0; i < expected.value.size(); ++i) {
    const double value =
        to_double(static_cast<const unsigned char*>(got) + i * size_of(type), type);
    const double allowed = tolerance.absolute + tolerance.relative * expected.magnitude[i];
    const bool right = value == expected.value[i] || std::abs(value - expected.value[i]) <= allowed;
    if (!right && wrong++ == 0) {
      INFO(buffer.name << "[" << i << "] is " << value << ", expected " << expected.value[i]
                       << ", allowed " << allowed);
      CHECK(right);
    }
  }
  CHECK(wrong == 0);
}

bool runs_here(const Family& family, const Variant& variant, const void* problem) {
  if (variant.is_vendor || device().compute_capability() < variant.min_compute_capability)
    return false;
  if (family.unsupported && family.unsupported(problem, device())) return false;
  return !(variant.unsupported && variant.unsupported(problem, device()));
}

/// Larger problems are left out.
constexpr double kMostOperations = 2e8;

void test_problem(const Family& family, const Values& values, std::set<std::string>& executed) {
  INFO(describe(family, values));
  const auto problem = family.make_problem(values);
  if (family.unsupported && family.unsupported(problem.get(), device())) return;
  sim::Simulator simulator(kernels(), device().compute_capability());
  Buffers buffers(family, problem.get(), simulator.memory());
  const auto data = family.make_data(buffers.pointers());
  simulator.run(family.inputs(problem.get(), data.get(), 7));
  const auto expected = expected_outputs(family, problem.get(), data.get());
  for (const Variant& variant : family.variants) {
    INFO(family.id << "/" << variant.id);
    if (!runs_here(family, variant, problem.get())) continue;
    if (operation_count(variant.work(problem.get())) > kMostOperations) continue;
    const bool is_refused = not_executed().count(family.id + "/" + variant.id) > 0;
    executed.insert(variant.id);
    if (is_refused) {
      CHECK_THROWS(execute(family, variant, problem.get(), data.get(), buffers, simulator));
      continue;
    }
    execute(family, variant, problem.get(), data.get(), buffers, simulator);
    for (const auto& [place, output] : expected) {
      const Buffer& buffer = family.buffers[place];
      if (!variant.fills(buffer.name)) continue;
      check_output(
          buffer,
          buffer.tolerance ? buffer.tolerance(problem.get()) : family.tolerance(problem.get()),
          buffer.type(problem.get()), output, buffers.pointers()[place]);
    }
  }
}

/// Numbers of steps and passes, which may be 1, cut to what a CPU does quickly: a loop's body is
/// the same in its twentieth turn.
Values with_short_loops(const Family& family, Values values) {
  constexpr std::int64_t kMost = 21;
  for (std::size_t i = 0; i < values.size(); ++i) {
    const Parameter& p = family.parameters[i];
    auto* const number = std::get_if<std::int64_t>(&values[i]);
    if (number && !p.is_extent && p.min == 1) *number = std::min(*number, kMost);
  }
  return values;
}

TEST_CASE("what is not executed is there", "[names]") {
  for (const auto* list : {&not_executed(), &without_small_problem()}) {
    for (const auto& [name, reason] : *list) {
      INFO(name);
      const Family* family = Registry::global().find(name.substr(0, name.find('/')));
      REQUIRE(family);
      CHECK(family->find(name.substr(name.find('/') + 1)) != nullptr);
    }
  }
}

TEST_CASE("every family's machine code computes what its reference does", "[families]") {
  if (kernels().empty())
    return skip(Tier::machine_code, "built without cuobjdump: the binary keeps no machine code");
  for (const Family& family : Registry::global().families()) {
    DYNAMIC_SECTION(family.id) {
      std::set<std::string> executed;
      for (const Values& values : small_problems(family))
        test_problem(family, with_short_loops(family, values), executed);
      for (const Variant& variant : family.variants) {
        const std::string name = family.id + "/" + variant.id;
        INFO(name);
        const bool is_left_out = variant.is_vendor || without_small_problem().count(name) > 0;
        CHECK(is_left_out != (executed.count(variant.id) > 0));
      }
    }
  }
}

}  // namespace
}  // namespace gpuexp::test
