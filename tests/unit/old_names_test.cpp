// Files of earlier versions, whose columns, counters and directions had other names.
#include "base/old_names.hpp"

#include <algorithm>

#include <fmt/format.h>

#include "config/config_reader.hpp"
#include "family/counters.hpp"
#include "lesson/recorded_table.hpp"
#include "results/json_read.hpp"
#include "results/json_write.hpp"
#include "results/run_log_read.hpp"
#include "support/catch.hpp"
#include "support/fake_family.hpp"
#include "support/record_rows.hpp"

namespace gpuexp::test {
namespace {

constexpr FieldType kTextField = FieldType::text;
constexpr FieldType kRealField = FieldType::real;

std::string replaced(std::string text, std::string_view from, std::string_view to) {
  for (auto at = text.find(from); at != std::string::npos; at = text.find(from, at + to.size()))
    text.replace(at, from.size(), to);
  return text;
}

// As the version before the names of today would have written it.
std::string in_old_words(std::string text) {
  text = replaced(text, "\"schema_version\": 2", "\"schema_version\": 1");
  for (const OldName& name : kOldColumns)
    text = replaced(text, fmt::format("\"{}\"", name.current), fmt::format("\"{}\"", name.old));
  for (const OldName& name : kOldCounters)
    text = replaced(text, name.current, name.old);
  for (const OldName& name : kOldDirections)
    text = replaced(text, fmt::format(" {} ", name.current), fmt::format(" {} ", name.old));
  return text;
}

Report report() {
  Table table;
  table.columns = {
      {"status", "", kTextField, ""},
      {"reason", "", kTextField, ""},
      {"expected_changes", "", kTextField, fixed_column(&ResultRecord::expected_changes).doc},
      {"timer_resolution_us", "us", kRealField,
       fixed_column(&ResultRecord::timer_resolution_us).doc},
      {"counter.l1_data_wavefronts", "", kRealField, ""},
      {"counter.l1_tag_wavefronts", "", kRealField, ""}};
  table.rows = {{"passed", Field{},
                 "l1_data_wavefronts decreases 2;l1_tag_wavefronts increases 3;"
                 "l2_sectors unchanged 1.05",
                 0.032, 8.0, 4.0}};
  Report report;
  report.table = record_table(table);
  report.kernels.columns = {{"key", "", kTextField, ""},
                            {"counter.l1_tag_wavefronts", "", kRealField, ""}};
  report.kernels.rows = {{"k", 4.0}};
  return report;
}

TEST_CASE("every old name has one of today", "[old_names]") {
  for (const OldName& name : kOldColumns) {
    CAPTURE(name.old);
    CHECK(find_fixed_column(name.current) != nullptr);
    CHECK(find_fixed_column(name.old) == nullptr);
    CHECK(current_column(name.old) == name.current);
    CHECK(current_column(name.current) == name.current);
  }
  for (const OldName& name : kOldCounters) {
    CAPTURE(name.old);
    CHECK(find_counter(name.current) != nullptr);
    CHECK(find_counter(name.old) == nullptr);
    CHECK(current_column(fmt::format("counter.{}", name.old)) ==
          fmt::format("counter.{}", name.current));
  }
  for (const OldName& name : kReplacedCounters) {
    CAPTURE(name.old);
    CHECK(find_counter(name.current) != nullptr);
    CHECK(find_counter(name.old) == nullptr);
    CHECK(counter_to_count(name.old) == name.current);
    const std::string column = fmt::format("counter.{}", name.old);
    CHECK(current_column(column) == column);
  }
  for (const Direction direction : kDirections) {
    CHECK(current_direction(name_of(direction)) == name_of(direction));
    CHECK(std::any_of(kOldDirections.begin(), kOldDirections.end(),
                      [&](const OldName& name) { return name.current == name_of(direction); }));
  }
}

TEST_CASE("a report under old names is read as one under those of today", "[old_names]") {
  const std::string today = to_json(report());
  const std::string old = in_old_words(today);
  REQUIRE(old.find("l1_tag_turns") != std::string::npos);
  REQUIRE(old.find("\"moves\"") != std::string::npos);
  REQUIRE(old.find(" falls ") != std::string::npos);
  const Report read = parse_report(old, "r.json");
  CHECK(read.table == report().table);
  CHECK(read.kernels == report().kernels);
  CHECK(to_json(read) == today);
  // Messages are about the file as it is.
  CHECK_THROWS_WITH(
      parse_report(replaced(old, "\"time_quantum_us\":0.032", "\"time_quantum_us\":\"x\""),
                   "r.json"),
      contains_text("rows[0].time_quantum_us: expected a number, found \"x\""));
  CHECK_THROWS_WITH(
      parse_report(replaced(old, "\"name\":\"reason\"", "\"name\":\"expected_changes\""), "r.json"),
      contains_text("'moves' is the name of an earlier column"));
}

TEST_CASE("a log under old names is read as one under those of today", "[old_names]") {
  Report head = report();
  head.table.rows.clear();
  head.kernels.rows.clear();
  const std::string origin = R"({"build_id":"","seed":null,"sets":[],"filter":"","profile":false})";
  const RunLog read =
      parse_run_log(fmt::format(R"({{"gpuexp_log":1,"cells":1,"origin":{},"report":{}}}
{{"row":0,"fields":["passed",null,"l1_wavefronts falls 2",0.032,8.0,4.0]}}
)",
                                origin, in_old_words(replaced(to_json(head), "\n", " "))),
                    "log");
  const ResultRecord& row = read.report.table.rows.at(0);
  CHECK(text_of(row.expected_changes) == "l1_data_wavefronts decreases 2");
  CHECK(row.timer_resolution_us == 0.032);
  CHECK(row.counters.number("l1_tag_wavefronts") == 4.0);
  CHECK(read.report.table.columns == report().table.columns);
}

TEST_CASE("recorded CSV under old names is read as one under those of today", "[old_names]") {
  const Table table = parse_recorded_csv(
      "key,moves,time_quantum_us,counter.l1_wavefronts\n"
      "a,l1_tag_turns falls 2,0.032,8\n"
      "`l1_tag_turns`,,,\n",
      "old.csv");
  CHECK(table.column("timer_resolution_us") == std::size_t{2});
  CHECK(table.column("counter.l1_data_wavefronts") == std::size_t{3});
  CHECK(table.columns[2].unit == "us");
  CHECK(text_of(table.rows[0][1]) == "l1_tag_wavefronts decreases 2");
  CHECK(row_name(table, 1) == "`l1_tag_wavefronts`");
}

TEST_CASE("a config may ask for counters by their old names", "[old_names]") {
  const auto counters = [](const std::string& names) {
    return parse_config(fmt::format(R"({{"name": "c", "experiments": [
  {{"family": "matmul", "counters": [{}]}}]}})",
                                    names),
                        "c.json", fake::registry())
        .counters();
  };
  CHECK(counters("\"l1_tag_turns\", \"l1_wavefronts\"") ==
        std::vector<std::string>{"l1_tag_wavefronts", "l1_data_wavefronts"});
  CHECK_THROWS_WITH(counters("\"l1_tag_turns\", \"l1_tag_wavefronts\""),
                    contains_text("given twice"));
}

}  // namespace
}  // namespace gpuexp::test
