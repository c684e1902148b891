// Expected changes of counters and metrics, measured on the GPU. Each variant and the one that it
// compares to run at the family's default problem, or at the problem of `shown_at`.
#include <algorithm>
#include <map>

#include "family/counters.hpp"
#include "family/expected_change.hpp"
#include "family/registry.hpp"
#include "gpu/cuda_executor.hpp"
#include "gpu/device_query.hpp"
#include "support/skip.hpp"
#include "support/small_problems.hpp"

namespace gpuexp::test {
namespace {

using CounterValues = std::map<std::string, double>;

bool runs_on(const DeviceSpec& device, const Family& family, const Variant& variant,
             const void* problem) {
  if (device.compute_capability() < variant.min_compute_capability) return false;
  if (family.unsupported && family.unsupported(problem, device)) return false;
  if (variant.unsupported && variant.unsupported(problem, device)) return false;
  return !(variant.unavailable && variant.unavailable());
}

std::string names_of(const CounterValues& values) {
  std::string names;
  for (const auto& [name, value] : values)
    names += name + " ";
  return names;
}

/// Counters of the variants of one problem, each counted once.
class Counted {
 public:
  Counted(Executor& executor, const DeviceSpec& device, const Family& family, const Values& values)
      : executor_(executor),
        device_(device),
        family_(family),
        values_(values),
        problem_(family.make_problem(values)) {
    std::vector<std::string> names;
    for (const Variant& variant : family.variants) {
      for (const ExpectedChange& expected : variant.expected_changes) {
        if (expected.counter == kTimeColumn) {
          needs_time_ = true;
        } else if (!expected.counter.starts_with(kMetricMark)) {
          names.push_back(expected.counter);
        }
      }
    }
    counters_ = select_counters(names);
  }

  /// Why counters cannot be read; empty if they can.
  std::string unavailable() {
    return counters_.empty()
               ? ""
               : executor_.counter_reader()->counter_support(metrics_of(counters_)).unavailable;
  }

  bool runs(const Variant& variant) const {
    return runs_on(device_, family_, variant, problem_.get());
  }

  /// Compares the variant with `reference`, whose counts are in `of_reference`.
  void check(const Variant& variant, const Variant& reference, Counted& of_reference) {
    const auto changes = expected_changes_at(variant.expected_changes, problem_.get());
    if (changes.empty()) return;
    const CounterValues& from = of_reference.count(reference);
    const CounterValues& to = count(variant);
    for (const ExpectedChange& expected : changes) {
      INFO(family_.id << "/" << variant.id << " against " << reference.id << ": "
                      << text_of({expected}));
      INFO("counted of " << reference.id << ": " << names_of(from));
      INFO("counted of " << variant.id << ": " << names_of(to));
      REQUIRE(from.count(expected.counter) == 1);
      REQUIRE(to.count(expected.counter) == 1);
      INFO(from.at(expected.counter) << " -> " << to.at(expected.counter));
      CHECK(matches_expectation(expected, from.at(expected.counter), to.at(expected.counter)));
    }
  }

 private:
  const CounterValues& count(const Variant& variant) {
    const auto [found, is_new] = counts_.try_emplace(&variant);
    if (!is_new) return found->second;
    if (needs_time_ && !times_first_launches(variant.timing))
      found->second[std::string(kTimeColumn)] = median_us(variant);
    if (!counters_.empty()) {
      const LaunchCounts counts =
          executor_.counter_reader()
              ->count({{&family_, values_, &variant, Mode::cold}}, 7, metrics_of(counters_))
              .front();
      for (const SelectedCounter& counter : counters_) {
        if (const auto value = counted(counter, counts)) found->second[counter.name] = *value;
      }
    }
    for (const auto& [name, value] : metrics_of_launch(variant))
      found->second[std::string(kMetricMark) + name] = value;
    return found->second;
  }

  double median_us(const Variant& variant) {
    constexpr int kSamples = 15;
    executor_.set_up(family_, values_, 7);
    executor_.timer()->warm_up(variant, Mode::warm, {3, 1});
    std::vector<double> samples_us;
    executor_.timer()->sample(
        std::vector<const Variant*>(kSamples, &variant), Mode::warm,
        [&](std::size_t, const Sample& sample) { samples_us.push_back(sample.time_us); });
    std::sort(samples_us.begin(), samples_us.end());
    return samples_us[kSamples / 2];
  }

  MetricValues metrics_of_launch(const Variant& variant) {
    MetricValues values;
    if (variant.metrics) values = variant.metrics(problem_.get(), device_);
    if (!variant.measured_metrics) return values;
    executor_.set_up(family_, values_, 7);
    executor_.launch(variant, Mode::warm);
    const MetricValues measured = executor_.measured_metrics(variant);
    values.insert(values.end(), measured.begin(), measured.end());
    return values;
  }

  Executor& executor_;
  const DeviceSpec& device_;
  const Family& family_;
  Values values_;
  std::shared_ptr<const void> problem_;
  std::vector<SelectedCounter> counters_;
  bool needs_time_ = false;
  std::map<const Variant*, CounterValues> counts_;
};

TEST_CASE("counters change as variants declare", "[expected_changes]") {
  const DeviceSpec device = query_device(0, {}).spec;
  const auto executor = make_cuda_executor(0, device);
  for (const Family& family : Registry::global().families()) {
    if (family.gpus) continue;  // each rank needs its own process
    DYNAMIC_SECTION(family.id) {
      for (const Values& values : choice_combinations(family)) {
        std::map<Values, Counted> problems;
        const auto at = [&](const Values& of) -> Counted& {
          return problems.try_emplace(of, *executor, device, family, of).first->second;
        };
        if (const std::string reason = at(values).unavailable(); !reason.empty()) {
          return skip(Tier::gpu, "no hardware counters here: " + reason);
        }
        for (const Variant& variant : family.variants) {
          if (variant.expected_changes.empty()) continue;
          const Variant& reference = *family.find(variant.compare_to);
          Counted& counted = at(family.shown_at(variant, values));
          // The reference may need another problem than the variant.
          Counted& of_reference =
              counted.runs(reference) ? counted : at(family.shown_at(reference, values));
          INFO(describe(family, family.shown_at(variant, values)));
          if (counted.runs(variant) && of_reference.runs(reference))
            counted.check(variant, reference, of_reference);
        }
      }
    }
  }
}

}  // namespace
}  // namespace gpuexp::test
