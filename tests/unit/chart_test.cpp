// What figures of an experiment show: which numbers, over what, in how many charts.
#include "analysis/chart.hpp"

#include "analysis/report_summary.hpp"
#include "base/time_unit.hpp"
#include "support/catch.hpp"
#include "support/small_report.hpp"

namespace gpuexp::test {
namespace {

std::vector<Field> row_at(const std::string& variant, std::int64_t n, double time_us,
                          double speedup = 1) {
  return timed_row(variant, n, time_us, speedup);
}

RecordTable records_of(std::vector<std::vector<Field>> rows) {
  Table table;
  table.columns = small_columns();
  table.rows = std::move(rows);
  return record_table(table);
}

std::vector<Chart> charts(const RecordTable& records, const Figure* declared = nullptr) {
  const auto experiments = experiments_of(records);
  REQUIRE(experiments.size() == 1);
  return charts_of(experiments.front(), declared);
}

RecordTable swept() {
  return records_of({row_at("naive", 1024, 4000), row_at("tile", 1024, 400, 10),
                     row_at("naive", 512, 500), row_at("tile", 512, 100, 5),
                     row_at("naive", 2048, 32000), row_at("tile", 2048, 3200, 10)});
}

}  // namespace

TEST_CASE("A parameter with three values makes lines of the rate that limits", "[chart]") {
  const RecordTable records = swept();
  const auto shown = charts(records);
  REQUIRE(shown.size() == 1);
  const auto& lines = std::get<LineChart>(shown[0]);
  CHECK(lines.x_label == "m = n");
  CHECK(lines.y_label == "TFLOP/s");
  REQUIRE(lines.series.size() == 2);
  CHECK(lines.series[0].name == "naive");
  REQUIRE(lines.series[0].points.size() == 3);
  CHECK(lines.series[0].points[0].x == 512);
  const ChartPoint& last = lines.series[0].points[2];
  CHECK(last.x == 2048);
  CHECK(last.y.value == Approx(2 * std::pow(2048.0, 3) / 32000 / 1e6));
  // The time's interval is ±1 %.
  CHECK(*last.y.low == Approx(last.y.value / 1.01));
  CHECK(*last.y.high == Approx(last.y.value / 0.99));
}

TEST_CASE("A declared figure says which number, and over what", "[chart]") {
  const RecordTable records = swept();
  const Figure times{"toy", "swept_times", "Times", {{"param.n", "size"}}};
  const auto shown = charts(records, &times);
  REQUIRE(shown.size() == 1);
  const auto& lines = std::get<LineChart>(shown[0]);
  CHECK(lines.x_label == "m = n");  // n is a twin of m, whose column stands for both
  CHECK(lines.y_label == "time (µs)");
  CHECK(lines.series[1].points[0].y.value == 100);
  const Figure over_m{"toy", "relative_times", "Times", {{"param.m", "size"}}};
  const auto relative = charts(records, &over_m);
  CHECK(std::get<LineChart>(relative[0]).x_label == "size");
  CHECK(std::get<LineChart>(relative[0]).y_label == "time over that of naive");
  const ChartPoint& point = std::get<LineChart>(relative[0]).series[1].points[1];
  CHECK(point.y.value == Approx(0.1));
  CHECK(*point.y.low < 0.1);
  CHECK(*point.y.high > 0.1);
}

TEST_CASE("Figures of bars have a chart per problem on one scale", "[chart]") {
  const RecordTable records = swept();
  const Figure shares{"toy", "share_of_copy", "Shares", {}};
  const auto shown = charts(records, &shares);
  REQUIRE(shown.size() == 3);
  const auto& first = std::get<BarChart>(shown[0]);
  CHECK(first.title == "m = n = 1024");
  CHECK(first.label == "speed-up over naive");
  CHECK(first.reference == 1.0);
  REQUIRE(first.bars.size() == 2);
  CHECK(first.bars[0].kind == BarKind::baseline);
  CHECK(first.bars[1].label == "tile");
  CHECK(first.bars[1].length.value == 10);
  const ChartRange& range = std::get<BarChart>(shown[1]).range;  // of all three
  CHECK(range.low == 1);
  CHECK(range.high == *first.bars[1].length.high);
  CHECK(range.high > 10);
}

TEST_CASE("Bars yield to lines where sizes are what is asked about", "[chart]") {
  std::vector<std::vector<Field>> rows;
  for (const std::int64_t n : {512, 1024, 2048, 4096, 8192})
    rows.push_back(row_at("naive", n, 1e5));
  const Figure ladder{"toy", "ladder", "Rungs", {}};
  const auto lines = charts(records_of(rows), &ladder);
  REQUIRE(lines.size() == 1);
  CHECK(std::holds_alternative<LineChart>(lines[0]));
  rows.pop_back();
  const auto shown = charts(records_of(rows), &ladder);
  REQUIRE(shown.size() == 1);  // a bar per problem, in one chart
  REQUIRE(std::get<BarChart>(shown[0]).bars.size() == 4);
  CHECK(std::get<BarChart>(shown[0]).bars[3].label == "m = n = 4096");
}

TEST_CASE("Rows that did not pass or are above their limit are not drawn", "[chart]") {
  RecordTable records =
      records_of({row_at("naive", 1024, 4000), row_at("cublas", 1024, 400, 10),
                  row_at("tile", 1024, 500, 8), untimed_row("warp", 1024, "failed", "why")});
  auto shown = charts(records);
  REQUIRE(shown.size() == 1);
  CHECK(std::get<BarChart>(shown[0]).title.empty());
  CHECK(std::get<BarChart>(shown[0]).bars.size() == 3);
  CHECK(std::get<BarChart>(shown[0]).bars[1].kind == BarKind::library);
  records.rows[2].limit_pct = 120;
  shown = charts(records);
  CHECK(std::get<BarChart>(shown[0]).bars.size() == 2);
  records.rows[1].status = Status::incorrect;
  CHECK(charts(records).empty());  // one bar says nothing
}

TEST_CASE("Too many series for one chart stand in several", "[chart]") {
  std::vector<std::vector<Field>> rows;
  for (const std::int64_t n : {512, 1024, 2048}) {
    for (int v = 0; v < 5; ++v) {
      for (const std::int64_t k : {64, 128}) {
        rows.push_back(row_at("v" + std::to_string(v), n, 1000));
        rows.back()[20] = k;
      }
    }
  }
  const RecordTable records = records_of(rows);
  const auto shown = charts(records);
  REQUIRE(shown.size() == 2);
  CHECK(std::get<LineChart>(shown[0]).title == "k = 64");
  CHECK(std::get<LineChart>(shown[1]).title == "k = 128");
  CHECK(std::get<LineChart>(shown[0]).series.size() == 5);
  CHECK(std::get<LineChart>(shown[0]).series[4].name == "v4");
}

TEST_CASE("Simulated rows show predicted times", "[chart]") {
  RecordTable records = swept();
  for (ResultRecord& row : records.rows) {
    row.executed_on = kSimulated;
    row.predicted_time_us = row.time_median_us;
    row.time_median_us.reset();
  }
  const auto shown = charts(records);
  REQUIRE(shown.size() == 1);
  CHECK(std::get<LineChart>(shown[0]).y_label == "predicted time (µs)");
}

TEST_CASE("A unit suits the shortest of several times", "[chart]") {
  CHECK(time_unit_for({3.7, 276500}).name == "µs");
  CHECK(time_unit_for({0.5, 12}).name == "ns");
  CHECK(time_unit_for({1200, 5000}).name == "ms");
  CHECK(time_unit_for({2e6}).name == "s");
  CHECK(time_unit_for({0, 1500}).name == "ms");
  CHECK(time_unit_for({}).name == "µs");
}

TEST_CASE("A report comes to counts, errors of predictions, and a largest speed-up", "[chart]") {
  Report report = small_report();
  using Counts = std::vector<std::pair<std::string, std::size_t>>;
  CHECK(status_counts(report.table) == Counts{{"passed", 5},
                                              {"incorrect", 1},
                                              {"skipped", 1},
                                              {"failed", 1},
                                              {"timeout", 1},
                                              {"not_run", 1}});
  CHECK(flag_counts(report.table) == Counts{{"few_samples", 2}, {"of_tomorrow", 1}});
  CHECK_FALSE(prediction_errors({report.table.rows.begin(), report.table.rows.end()}));
  const double errors[] = {0.05, -0.2, 0.01, 0.5, -0.09};
  for (std::size_t i = 0; i < 5; ++i)
    report.table.rows[i].prediction_error = errors[i];
  report.table.rows[5].prediction_error = 3;  // of an incorrect row
  const auto found = prediction_errors({report.table.rows.begin(), report.table.rows.end()});
  REQUIRE(found);
  CHECK(found->rows == 5);
  CHECK(found->within_10_pct == 3);
  CHECK(found->within_25_pct == 4);
  CHECK(found->median_pct == Approx(100 * std::expm1(0.09)));
  const auto experiments = experiments_of(report.table);
  REQUIRE(largest_speedup(experiments[0]));
  CHECK(largest_speedup(experiments[0])->variant == "cublas");
  CHECK(passed_rows(experiments[0]) == 5);
  report.table.rows[4].limit_pct = 130;
  CHECK(largest_speedup(experiments[0])->variant == "smem_tile");
  const RecordTable same = records_of({row_at("naive", 64, 100), row_at("tile", 64, 99, 1.01)});
  CHECK(largest_speedup(experiments_of(same)[0]) == nullptr);
}

TEST_CASE("The ends of clocks and power are those of all rows", "[chart]") {
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
