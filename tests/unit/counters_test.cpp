#include "family/counters.hpp"

#include <limits>
#include <set>

#include "support/catch.hpp"

namespace gpuexp::test {
namespace {

SelectedCounter counter(const std::string& name) {
  const auto selected = select_counters({name});
  REQUIRE(selected.size() == 1);
  return selected.front();
}

TEST_CASE("counters have unique names, and groups are contiguous", "[counters]") {
  std::set<std::string_view> names;
  for (const Counter& c : kCounters) {
    INFO(c.id);
    CHECK(names.insert(c.id).second);
    CHECK_FALSE(c.doc.empty());
    CHECK(is_nsight_metric(c.numerator));
    CHECK((c.denominator.empty() || is_nsight_metric(c.denominator)));
    // Sums over several kernels are formed before the division.
    const bool is_of_sums =
        c.numerator.ends_with(".sum") && (c.denominator.empty() || c.denominator.ends_with(".sum"));
    const bool is_mean_over_most = c.numerator.ends_with(".avg") && c.denominator.ends_with(".max");
    CHECK((is_of_sums || is_mean_over_most));
  }
  const auto groups = counter_groups();
  CHECK(std::set(groups.begin(), groups.end()).size() == groups.size());
  for (const std::string& group : groups)
    CHECK_FALSE(names.count(group));
}

TEST_CASE("groups, counters and metrics are selected once, in a fixed order", "[counters]") {
  const auto selected =
      select_counters({"lts__t_sectors.sum", "shared", "dram_read_bytes", "shared_bank_conflicts"});
  std::vector<std::string> names;
  for (const SelectedCounter& c : selected)
    names.push_back(c.name);
  CHECK(names == std::vector<std::string>{"dram_read_bytes", "shared_load_wavefronts",
                                          "shared_store_wavefronts", "shared_bank_conflicts",
                                          "lts__t_sectors.sum"});
  CHECK(select_counters({"all"}).size() == kCounters.size());
  CHECK(select_counters({}).empty());
  // Both ratios read the same metric once.
  CHECK(metrics_of(select_counters({"global_load_sectors", "global_load_sectors_per_request"})) ==
        std::vector<std::string>{"l1tex__t_sectors_pipe_lsu_mem_global_op_ld.sum",
                                 "l1tex__t_requests_pipe_lsu_mem_global_op_ld.sum"});
}

TEST_CASE("the ratio of a launch is the ratio of its kernels' sums", "[counters]") {
  const SelectedCounter per_request = counter("global_load_sectors_per_request");
  const LaunchCounts counts{metrics_of({per_request}), {{"a", {400, 100}}, {"b", {3200, 100}}}, 1};
  CHECK(counted(per_request, counts).value() == Approx(18.0));
  CHECK(counted(per_request, counts, 0).value() == Approx(4.0));
  CHECK(counted(per_request, counts, 1).value() == Approx(32.0));
}

TEST_CASE("values that cannot be computed are empty", "[counters]") {
  const SelectedCounter per_request = counter("global_load_sectors_per_request");
  const auto metrics = metrics_of({per_request});
  CHECK_FALSE(counted(per_request, {metrics, {{"none", {0, 0}}}, 1}));
  CHECK_FALSE(counted(per_request, {metrics, {}, 1}));
  CHECK_FALSE(counted(per_request, {{metrics.front()}, {{"a", {4}}}, 1}));
  constexpr double kNan = std::numeric_limits<double>::quiet_NaN();
  CHECK_FALSE(counted(per_request, {metrics, {{"a", {kNan, 1}}}, 1}));
  CHECK_FALSE(counted(per_request, {metrics, {{"a", {1, kNan}}}, 1}));
}

TEST_CASE("cycles of the mean and of the busiest SM are summed over kernels", "[counters]") {
  const SelectedCounter balance = counter("sm_balance_pct");
  const std::vector<std::string> metrics{balance.numerator, balance.denominator};
  // Half of the SMs work in the first kernel, all in the second, which is three times as long.
  CHECK(counted(balance, {metrics, {{"a", {50, 100}}, {"b", {300, 300}}}, 1}).value() ==
        Approx(100 * 350.0 / 400));
  CHECK(counted(balance, {metrics, {{"a", {50, 100}}}, 1}).value() == Approx(50));
  CHECK_FALSE(counted(balance, {metrics, {{"a", {0, 0}}}, 1}));
}

TEST_CASE("metrics of several kernels combine by their rollup", "[counters]") {
  const auto over_both = [](const std::string& metric) {
    return counted(counter(metric), {{metric}, {{"a", {3}}, {"b", {5}}}, 1});
  };
  CHECK(over_both("lts__t_sectors.sum").value() == 8.0);
  CHECK(over_both("gpc__cycles_elapsed.max").value() == 5.0);
  CHECK(over_both("gpc__cycles_elapsed.min").value() == 3.0);
  CHECK_FALSE(over_both("lts__t_sector_hit_rate.pct"));
  const SelectedCounter rate = counter("lts__t_sector_hit_rate.pct");
  CHECK(counted(rate, {{rate.name}, {{"a", {75}}}, 1}).value() == 75.0);
}

}  // namespace
}  // namespace gpuexp::test
