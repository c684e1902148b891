// The schema of results.json against the columns. tests/scripts/results_schema_test.py validates
// files against it.
#include <string>

#include <nlohmann/json.hpp>

#include "record/fixed_columns.hpp"
#include "results/json_fields.hpp"
#include "results/json_read.hpp"
#include "results/json_schema.hpp"
#include "results/json_write.hpp"
#include "support/catch.hpp"
#include "support/sample_report.hpp"

namespace gpuexp::test {

namespace {

using Json = nlohmann::ordered_json;

Json row_schema() {
  return Json::parse(report_schema())["$defs"]["row"];
}

}  // namespace

TEST_CASE("the results schema has every column with its description", "[schema]") {
  const Json row = row_schema();
  for (const FixedColumn& column : fixed_columns()) {
    CAPTURE(column.name);
    const Json& schema = row["properties"][column.name];
    CHECK(schema["description"].get<std::string>().rfind(column.doc, 0) == 0);
    CHECK((schema.contains("enum") || schema.contains("type")));
  }
  CHECK(row["properties"].size() == fixed_columns().size() + 1);  // and the samples
  CHECK(row["properties"]["status"]["enum"] == Json({"passed", "sampled", "unverified", "incorrect",
                                                     "failed", "skipped", "timeout", "not_run"}));
  CHECK(row["properties"]["mode"]["enum"] ==
        Json({"cold", "warm", "graph", "back_to_back", "back_to_back_graph", "profile"}));
  CHECK(row["properties"]["stop_reason"]["enum"] ==
        Json({"converged", "max_samples", "max_seconds", "interrupted", nullptr}));
  CHECK(row["required"] == Json({"experiment", "family", "variant", "mode", "status", "key"}));
  CHECK(row["properties"]["samples"]["type"] == Json({"integer", "null"}));
  CHECK(row["else"]["properties"].contains("tflops"));
  CHECK(row["else"]["properties"].contains("speedup"));
}

TEST_CASE("the lists of statuses and stop reasons are complete", "[schema]") {
  CHECK(name_of(static_cast<Status>(kStatuses.size())) == "unknown");
  CHECK(name_of(static_cast<StopReason>(kStopReasons.size())) == "unknown");
}

TEST_CASE("the results schema allows further members", "[schema]") {
  const std::string schema = report_schema();
  CHECK(schema.find("\"additionalProperties\": false") == std::string::npos);
  CHECK(schema.find("unevaluatedProperties") == std::string::npos);
  CHECK(Json::parse(schema)["properties"]["schema_version"]["const"] == kReportSchemaVersion);
}

TEST_CASE("a sampled report with every status is read back from JSON", "[report][json]") {
  const Report report = sample_report(64, 7);
  CHECK(report.table.rows.size() >= 64);
  CHECK(parse_report(to_json(report), "r.json") == report);
  const std::string text = to_json(report, {false});
  for (const Status status : kStatuses)
    CHECK_THAT(text, contains_text(fmt::format("\"status\":\"{}\"", name_of(status))));
}

TEST_CASE("published figures are read back from JSON, with model values", "[report][json]") {
  Report report = sample_report(16, 3);
  REQUIRE(report.figures.size() == 1);
  Claim& claim = report.figures[0].claims.at(0);
  claim.expectation = "other SMs";
  claim.model = {2.0, 4.0, "", "dram"};
  claim.quantity.rows[0].times = 4;
  claim.quantity.over_columns = {"useful_gb_per_s"};
  const std::string text = to_json(report);
  CHECK(parse_report(text, "r.json").figures == report.figures);
  const Json outcome = Json::parse(text)["figures"][0]["claims"][0]["outcome"];
  CHECK(outcome["expected"] == 1.25);
  CHECK(outcome["is_transposed"] == true);
  CHECK(outcome["verdict"].is_string());
  const Json schema = Json::parse(report_schema())["$defs"]["figure"]["properties"]["claims"];
  const Json written = Json::parse(text)["figures"][0]["claims"][0];
  for (const auto& item : written.items()) {
    CAPTURE(item.key());
    CHECK(schema["items"]["properties"].contains(item.key()));
  }
}

TEST_CASE("a report without figures has no such member", "[report][json]") {
  Report report = sample_report(16, 3);
  report.figures.clear();
  CHECK_FALSE(Json::parse(to_json(report)).contains("figures"));
  CHECK(parse_report(to_json(report), "r.json").figures.empty());
}

}  // namespace gpuexp::test
