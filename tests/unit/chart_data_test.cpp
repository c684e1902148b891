// Data of the viewer's charts beyond the table: figures, intervals, rooflines.
#include "render/chart_data.hpp"

#include "analysis/row_labels.hpp"
#include "support/catch.hpp"
#include "support/small_report.hpp"
#include "support/toy_family.hpp"

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

Json data_of(const RecordTable& records, const Family* family = nullptr) {
  const auto experiments = experiments_of(records);
  REQUIRE(experiments.size() == 1);
  return chart_data(experiments.front(), family);
}

RecordTable swept() {
  return records_of({row_at("naive", 1024, 4000), row_at("tile", 1024, 400, 10),
                     row_at("naive", 512, 500), row_at("tile", 512, 100, 5),
                     row_at("naive", 2048, 32000), row_at("tile", 2048, 3200, 10)});
}

}  // namespace

TEST_CASE("Time intervals are those of the rows, divided by the median", "[chart]") {
  RecordTable records = swept();
  records.rows[2].time_ci95_low_us.reset();
  const Json data = data_of(records);
  CHECK(data.at("time_low").at(0).get<double>() == Approx(0.99));
  CHECK(data.at("time_high").at(0).get<double>() == Approx(1.01));
  CHECK(data.at("time_low").at(2).is_null());
}

TEST_CASE("Speedup intervals are those of the ratio to the baseline", "[chart]") {
  const Json data = data_of(swept());
  CHECK(data.at("speedup_low").at(0).is_null());  // the baseline itself
  const double low = data.at("speedup_low").at(1).get<double>();
  const double high = data.at("speedup_high").at(1).get<double>();
  CHECK(low < 1);
  CHECK(low > 0.98);
  CHECK(high > 1);
  CHECK(high < 1.02);
}

TEST_CASE("Only passed rows have prediction errors", "[chart]") {
  RecordTable records = swept();
  CHECK_FALSE(data_of(records).contains("prediction_error"));
  records.rows[0].prediction_error = -0.2;
  records.rows[1].prediction_error = 3;
  records.rows[1].status = Status::incorrect;
  const Json data = data_of(records);
  CHECK(data.at("prediction_error").at(0).get<double>() == -0.2);
  CHECK(data.at("prediction_error").at(1).is_null());
}

TEST_CASE("A declared figure has its kind and its axis, named as in the table", "[chart]") {
  Family family = toy_family();
  family.plots = {{"toy", "swept_times", "Times", {{"param.m", "size"}}}};
  const RecordTable records = swept();
  const Json figure = data_of(records, &family).at("figure");
  CHECK(figure.at("kind").get<std::string>() == "swept_times");
  CHECK(figure.at("axis").get<std::string>() == "m = n");  // heading of the column
  CHECK(figure.at("label").get<std::string>() == "size");
  family.plots = {{"toy", "swept_times", "Times", {{"param.n", "size"}}}};
  // The column m = n shows both parameters.
  CHECK_FALSE(data_of(records, &family).at("figure").contains("axis"));
  CHECK_FALSE(data_of(records).contains("figure"));
}

TEST_CASE("Failed rows have no chart numbers, rows faster than their limit no rates", "[chart]") {
  RecordTable records =
      records_of({row_at("naive", 1024, 4000), row_at("cublas", 1024, 400, 10),
                  row_at("tile", 1024, 500, 8), untimed_row("warp", 1024, "failed", "why")});
  for (ResultRecord& row : records.rows)
    row.arithmetic_intensity = 100;
  records.rows[2].limit_pct = 120;
  const Json data = data_of(records);
  CHECK(data.at("baseline").get<std::string>() == "naive");
  CHECK(data.at("libraries").dump() == "[\"cublas\"]");
  CHECK(data.at("above_limit").dump() == "[2]");
  CHECK(data.at("intensity").dump() == "[100.0,100.0,null,null]");
  CHECK(data.at("time_low").at(2).is_number());
  CHECK(data.at("time_low").at(3).is_null());
}

TEST_CASE("A roofline has intensities, rates and limiting pipes", "[chart]") {
  RecordTable records = swept();
  CHECK_FALSE(data_of(records).contains("intensity"));
  records.rows[1].arithmetic_intensity = 12.3456789;
  records.rows[1].intensity_from = "counted";
  const Json data = data_of(records);
  CHECK(data.at("intensity").at(0).is_null());
  CHECK(data.at("intensity").at(1).get<double>() == 12.346);
  CHECK(data.at("tflops").at(1).get<double>() == Approx(*records.rows[1].tflops).epsilon(1e-4));
  CHECK(data.at("intensity_from").dump() == "[\"counted\"]");
  CHECK(data.at("pipes").dump() == "[\"fp32\"]");
}

}  // namespace gpuexp::test
