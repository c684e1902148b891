// What variants declare to move and execute, held against what the hardware counts.
#include <algorithm>
#include <cmath>

#include "family/registry.hpp"
#include "gpu/cuda_executor.hpp"
#include "gpu/device_query.hpp"
#include "model/traffic_terms.hpp"
#include "support/skip.hpp"

namespace gpuexp::test {
namespace {

/// The family's default problem, or the one with every extent one less: odd, with tails everywhere.
Values problem_of(const Family& family, std::int64_t less) {
  Values values;
  for (const Parameter& p : family.parameters) {
    const auto* size = std::get_if<std::int64_t>(&p.default_value);
    values.push_back(p.is_extent && size ? Value{*size - less} : p.default_value);
  }
  return values;
}

std::vector<std::string> counters_of_terms() {
  std::vector<std::string> names;
  for (const TrafficTerm& term : traffic_terms())
    names.insert(names.end(), term.counters.begin(), term.counters.end());
  return names;
}

/// Values other than those that are typical may do up to twice as much, or half.
double tolerance_of(const TrafficTerm& term, const Variant& variant) {
  const double tolerance = tolerance_of(term.exactness);
  return variant.traffic_is_typical ? std::max(tolerance, std::log(2.0)) : tolerance;
}

TEST_CASE("variants move and execute what they declare", "[traffic][counters]") {
  const DeviceSpec device = query_device(0, {}).spec;
  const auto executor = make_cuda_executor(0, device);
  const std::vector<std::string> metrics = metrics_of(select_counters(counters_of_terms()));
  const CounterSupport support = executor->counter_reader()->counter_support(metrics);
  if (!support.unavailable.empty()) {
    return skip(Tier::gpu, "no hardware counters here: " + support.unavailable);
  }
  int checked = 0;
  for (const Family& family : Registry::global().families()) {
    for (const std::int64_t less : {0, 1}) {
      const Values values = problem_of(family, less);
      const auto problem = family.make_problem(values);
      if (family.unsupported && family.unsupported(problem.get(), device)) continue;
      std::vector<CountedLaunch> launches;
      for (const Variant& variant : family.variants) {
        if (!variant.traffic) continue;
        if (variant.unsupported && variant.unsupported(problem.get(), device)) continue;
        launches.push_back({&family, values, &variant, Mode::cold});
      }
      if (launches.empty()) continue;
      const std::vector<LaunchCounts> all = executor->counter_reader()->count(launches, 1, metrics);
      for (std::size_t i = 0; i < launches.size(); ++i) {
        const Variant& variant = *launches[i].variant;
        const LaunchCounts& counts = all[i];
        const auto traffic = variant.traffic(problem.get(), device);
        for (const TrafficTerm& term : traffic_terms()) {
          const auto value = counted(term, counts);
          if (!value) continue;
          const double declared = total(term, traffic);
          INFO(family.id << "/" << variant.id << ", extents " << less
                         << " below default: " << std::string(term.id) << " declared " << declared
                         << ", counted " << *value);
          if (*value < term.least && declared < 2 * term.least) continue;
          CHECK(std::abs(std::log(declared / *value)) <= tolerance_of(term, variant));
          ++checked;
        }
      }
    }
  }
  CHECK(checked > 0);
}

}  // namespace
}  // namespace gpuexp::test
