// Summary of a whole report.
#include "analysis/report_summary.hpp"

#include "base/text.hpp"
#include "support/catch.hpp"
#include "support/small_report.hpp"

namespace gpuexp::test {

TEST_CASE("The unit suits the shortest of several times", "[summary]") {
  CHECK(time_unit_for({3.7, 276500}).name == "µs");
  CHECK(time_unit_for({0.5, 12}).name == "ns");
  CHECK(time_unit_for({1200, 5000}).name == "ms");
  CHECK(time_unit_for({2e6}).name == "s");
  CHECK(time_unit_for({0, 1500}).name == "ms");
  CHECK(time_unit_for({}).name == "µs");
}

TEST_CASE("The summary counts statuses and flags", "[summary]") {
  Report report = small_report();
  using Counts = std::vector<std::pair<std::string, std::size_t>>;
  CHECK(status_counts(report.table) == Counts{{"passed", 5},
                                              {"incorrect", 1},
                                              {"skipped", 1},
                                              {"failed", 1},
                                              {"timeout", 1},
                                              {"not_run", 1}});
  CHECK(flag_counts(report.table) == Counts{{"few_samples", 2}, {"of_tomorrow", 1}});
}

TEST_CASE("Ranges of clocks and power cover all rows", "[summary]") {
  Report report = small_report();
  CHECK_FALSE(conditions_of(report.table).highest_power_w);
  report.table.rows[0].sm_clock_mhz = 1900;
  report.table.rows[1].sm_clock_mhz = 1500;
  report.table.rows[1].sm_clock_min_mhz = 1300;
  report.table.rows[1].power_w = 650;
  report.table.rows[2].power_w = 400;
  const ReadConditions read = conditions_of(report.table);
  CHECK(read.lowest_sm_clock_mhz == 1300.0);
  CHECK(read.highest_sm_clock_mhz == 1900.0);
  CHECK(read.highest_power_w == 650.0);
}

}  // namespace gpuexp::test
