// Records: the text of each fixed column, and unknown contents of files.
#include <fmt/format.h>

#include "base/report_error.hpp"
#include "record/record_table.hpp"
#include "results/csv_write.hpp"
#include "results/json_read.hpp"
#include "results/json_write.hpp"
#include "results/run_log_read.hpp"
#include "support/catch.hpp"
#include "support/record_rows.hpp"

namespace gpuexp::test {
namespace {

// A value unique to the column, except in enumerations.
Field distinct_value(const FixedColumn& column, std::size_t place) {
  if (!column.values.empty()) return column.values[place % column.values.size()];
  if (std::holds_alternative<std::vector<ExpectedChange> ResultRecord::*>(column.member))
    return fmt::format("l2_sectors decreases {}.5;l1_hit_pct unchanged 1.05", place + 1);
  switch (column.type) {
    case FieldType::text: return fmt::format("{} one;{} two", column.name, column.name);
    case FieldType::integer: return static_cast<std::int64_t>(place + 1);
    case FieldType::real: return static_cast<double>(place) + 0.5;
  }
  return {};
}

std::vector<ColumnInfo> fixed_infos() {
  const auto& columns = fixed_columns();
  return {columns.begin(), columns.end()};
}

Report report_of(const Table& table) {
  Report report;
  report.table = record_table(table);
  return report;
}

// The error of a report with one row, in which the column has the value.
std::string error_of(const std::string& column, const std::string& type, const std::string& value) {
  const std::string text = fmt::format(
      R"({{"schema_version": 3, "complete": true,
  "provenance": {{"argv": [], "config": {{}}, "settings": {{}}, "device": {{}}}},
  "columns": [{{"name": "{}", "unit": "", "type": "{}", "doc": ""}}], "rows": [{{"{}": {}}}]}})",
      column, type, column, value);
  try {
    parse_report(text, "r.json");
  } catch (const ReportError& e) {
    return e.what();
  }
  return "no error";
}

TEST_CASE("every fixed column has its own member and is read back", "[record]") {
  Table table;
  table.columns = fixed_infos();
  std::vector<Field>& fields = table.rows.emplace_back();
  for (std::size_t i = 0; i < fixed_columns().size(); ++i)
    fields.push_back(distinct_value(fixed_columns()[i], i));
  const Report report = report_of(table);
  // Two columns with the same member would both write the last stored value.
  CHECK(table_of(report.table).rows == table.rows);
  const Report read = parse_report(to_json(report), "r.json");
  CHECK(read.table == report.table);
  for (const FixedColumn& column : fixed_columns()) {
    CAPTURE(column.name);
    CHECK(&fixed_column(column.member) == &column);
    CHECK(find_fixed_column(column.name) == &column);
    CHECK(column_named(column.name) == column_of(column.member));
    ResultRecord record = report.table.rows.front();
    REQUIRE(store(column.member, {}, record));
    CHECK(field_of(column.member, record) == Field{});
    CHECK_FALSE(record == report.table.rows.front());
  }
}

TEST_CASE("a value outside its enumeration is rejected with its place", "[record]") {
  CHECK(error_of("mode", "text", "\"hot\"") ==
        "r.json: rows[0].mode: expected cold, warm, graph, back_to_back, back_to_back_graph or "
        "profile, found \"hot\"");
  CHECK(error_of("status", "text", "\"lucky\"") ==
        "r.json: rows[0].status: expected passed, sampled, unverified, incorrect, failed, skipped, "
        "timeout or "
        "not_run, "
        "found \"lucky\"");
  CHECK_THAT(error_of("stop_reason", "text", "\"\""),
             contains_text("rows[0].stop_reason: expected"));
  CHECK_THAT(error_of("expected_changes", "text", "\"l2_sectors jumps 2\""),
             contains_text("rows[0].expected_changes: expected counters with ") &&
                 contains_text("found \"l2_sectors jumps 2\""));
  CHECK(error_of("mode", "text", "null") == "no error");
  CHECK(error_of("mode", "text", "\"warm\"") == "no error");
  // Later versions may add flags.
  CHECK(error_of("flags", "text", "\"of_tomorrow\"") == "no error");
}

TEST_CASE("a fixed column with another type is rejected", "[record]") {
  CHECK(error_of("time_median_us", "text", "\"1\"") ==
        "r.json: columns[0]: type: expected \"real\" for 'time_median_us', found \"text\"");
  CHECK(error_of("time_of_tomorrow_us", "text", "\"1\"") == "no error");
}

TEST_CASE("unknown columns keep their places", "[record]") {
  Table table;
  table.columns = {{"colour", "", FieldType::text, "of the case"},
                   {"variant", "", FieldType::text, ""},
                   {"param.n", "", FieldType::integer, ""},
                   {"height_mm", "mm", FieldType::real, ""},
                   {"metric.depth", "", FieldType::real, ""},
                   {"count", "", FieldType::integer, ""},
                   {"counter.lts__t_sectors.sum", "", FieldType::real, ""}};
  const Field none;
  table.rows = {{"green", "naive", std::int64_t{8}, 1.5, 2.5, std::int64_t{3}, 4.5},
                {none, "tile", std::int64_t{9}, none, none, none, none}};
  const Report report = report_of(table);
  const Report read = parse_report(to_json(report), "r.json");
  CHECK(table_of(read.table) == table);
  CHECK(to_json(read) == to_json(report));
  CHECK_THAT(to_csv(read.table), contains_text("colour,variant,param.n,height_mm,") &&
                                     contains_text("green,naive,8,1.5,2.5,3,4.5\r\n"));
  const ResultRecord& row = read.table.rows.front();
  CHECK(row.others.text("colour") == "green");
  CHECK(row.others.number("height_mm") == 1.5);
  CHECK(row.parameters.number("n") == 8.0);
  CHECK(row.metrics.number("depth") == 2.5);
  CHECK(row.counters.number("lts__t_sectors.sum") == 4.5);
  CHECK(row.counters.number("of_tomorrow") == std::nullopt);
  CHECK(row.others.names() == std::vector<std::string>{"colour", "height_mm", "count"});
}

TEST_CASE("a report without some columns leaves their members empty", "[record]") {
  Table table;
  table.columns = {{"variant", "", FieldType::text, ""},
                   {"status", "", FieldType::text, ""},
                   {"time_median_us", "us", FieldType::real, ""}};
  table.rows = {{"naive", "passed", 2.5}};
  const Report read = parse_report(to_json(report_of(table)), "r.json");
  const ResultRecord& row = read.table.rows.front();
  CHECK(row.time_us() == 2.5);
  CHECK(row.mode == std::nullopt);
  CHECK(row.compare_to.empty());
  CHECK(row.expected_changes.empty());
  CHECK(row.half_interval_us() == std::nullopt);
  CHECK_FALSE(read.table.has(&ResultRecord::mode));
  CHECK(read.table.has(&ResultRecord::status));
  CHECK(read.table.columns.size() == 3);
}

TEST_CASE("lists in one field are split and joined", "[record]") {
  Table table;
  table.columns = {{"flags", "", FieldType::text, ""}, {"clock_reasons", "", FieldType::text, ""}};
  table.rows = {{"few_samples;of_tomorrow", Field{}}};
  const RecordTable records = record_table(table);
  const ResultRecord& row = records.rows.front();
  CHECK(row.flags == std::vector<std::string>{"few_samples", "of_tomorrow"});
  CHECK(row.has_flag("of_tomorrow"));
  CHECK_FALSE(row.has_flag("few"));
  CHECK(row.clock_reasons.empty());
  CHECK(table_of(records) == table);
}

}  // namespace
}  // namespace gpuexp::test
