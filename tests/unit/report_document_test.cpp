// The document of a report page: verdicts, tables, sources, provenance.
#include "render/report_document.hpp"

#include "support/catch.hpp"
#include "support/small_report.hpp"
#include "support/toy_family.hpp"
#include "support/viewer_page.hpp"

namespace gpuexp::test {
namespace {

std::string html_of(const ReportDocument& document) {
  std::string html;
  write_html(document, [&](std::string_view part) { html += part; });
  return html;
}

Json document_of(const Report& report, const Registry& registry = {}) {
  return data_of_page(html_of({report, registry, device_rates(report)}));
}

std::string text_at(const Json& json, const char* member) {
  return json.at(member).get<std::string>();
}

// Cells of the column with this heading, as JSON.
std::string cells_of(const Json& view, const std::string& heading) {
  for (const Json& column : view.at("columns"))
    if (text_at(column, "heading") == heading) return column.at("cells").dump();
  return "no column";
}

}  // namespace

TEST_CASE("A document holds verdicts, numbers, reasons and provenance", "[html]") {
  const Json document = document_of(small_report());
  CHECK(text_at(document, "title") == "a b on NVIDIA H200");
  CHECK(document.at("rows").get<int>() == 10);
  CHECK(document.at("statuses").dump() ==
        R"([["passed",5],["incorrect",1],["skipped",1],["failed",1],["timeout",1],["not_run",1]])");
  const Json& experiment = document.at("experiments").at(0);
  CHECK(text_at(experiment, "title") == "ladder: matmul");
  CHECK_THAT(cells_of(experiment, "time (µs)"),
             contains_text(R"(["4300.0","430.0","34400.0","3200.0","400.0","")"));
  CHECK_THAT(experiment.at("footnotes").dump(),
             contains_text("few_samples: max_seconds was reached before min_samples"));
  CHECK_THAT(experiment.at("notes").dump(),
             contains_text(R"([6,"skipped","skipped: needs compute capability 9.0 or later"])"));
  CHECK(document.at("complete").get<bool>());
  CHECK(text_at(document.at("provenance"), "git_commit") ==
        "0123456789abcdef0123456789abcdef01234567");
  CHECK(text_at(document.at("provenance").at("config"), "text") == "{\"name\": \"a b\"}\n");
  CHECK_THAT(text_at(document.at("families").at(0), "note"), contains_text("Unknown family"));
  Report cut = small_report();
  cut.complete = false;
  CHECK_FALSE(document_of(cut).at("complete").get<bool>());
}

TEST_CASE("The family of a kernel file has the source that the results hold", "[html]") {
  Report report = small_report();
  for (ResultRecord& row : report.table.rows)
    row.family = "k.cu";
  const auto family_of = [&] { return document_of(report).at("families").at(0); };
  CHECK(text_at(family_of(), "question") == "Kernels of the file k.cu.");
  CHECK(text_at(family_of(), "note") == "The results do not have the file's source.");
  CHECK(text_at(family_of().at("variants").at(0), "id") == report.table.rows[0].variant);
  report.provenance.inputs.resize(2);
  report.provenance.inputs[0].path = "/folder/other.cu";
  report.provenance.inputs[0].text = "other";
  report.provenance.inputs[1].path = "/folder/k.cu";
  report.provenance.inputs[1].text = "// one\n// two\n";
  CHECK(family_of().at("source").at("parts").at(0).dump() ==
        R"({"file":"k.cu","lines":[[1,0,"// one",""],[2,0,"// two",""]]})");
}

TEST_CASE("The summary has flags and conditions of the GPU", "[html]") {
  Report report = small_report();
  report.table.rows[0].sm_clock_mhz = 1900;
  report.table.rows[1].sm_clock_mhz = 1500;
  const Json document = document_of(report);
  CHECK(cells_of(document.at("flags"), "flag") == R"(["few_samples","of_tomorrow"])");
  CHECK(cells_of(document.at("flags"), "rows") == R"(["2","1"])");
  CHECK_THAT(cells_of(document.at("flags"), "meaning"), contains_text("max_seconds"));
  CHECK(document.at("conditions").dump() ==
        R"({"lowest_sm_clock_mhz":1500.0,"highest_sm_clock_mhz":1900.0,"highest_power_w":null})");
}

TEST_CASE("Failed rows have no numbers in a document", "[html]") {
  Report report = small_report();
  for (ResultRecord& row : report.table.rows) {
    if (row.passed()) continue;
    row.time_median_us = 777;
    row.tflops = 777;
    row.speedup = 777;
  }
  CHECK_THAT(document_of(report).at("experiments").dump(), !contains_text("777"));
}

TEST_CASE("A document has published figures, if there are any", "[html]") {
  Report report = small_report();
  CHECK_FALSE(document_of(report).contains("figures"));
  PublishedFigure& figure = report.figures.emplace_back();
  figure.title = "Steps <1>";
  figure.source = {"A. Author", "Products", 2022, "https://example.org", "table 1"};
  figure.published_on = "NVIDIA A100";
  Claim& claim = figure.claims.emplace_back();
  claim.name = "time & more";
  claim.published = 2;
  claim.quantity = {{"time_median_us"}, {{"ladder", "none", "cold", {}, 1}}, {}, {}, 1};
  const Json document = document_of(report);
  const Json& figures = document.at("figures");
  CHECK(text_at(figures, "summary") == "published numbers: 1 not measured");
  const Json& view = figures.at("views").at(0);
  CHECK(text_at(view, "title") == "Steps <1>");
  CHECK_THAT(view.at("explanations").dump(),
             contains_text("time & more: no row matches ladder/none, cold"));
}

TEST_CASE("Text of results is never markup in a page", "[html]") {
  const std::string evil = "\"></script><script>x</script><!--<img src=y onerror='z'>\x01\xff";
  Report report = small_report();
  for (ResultRecord& row : report.table.rows) {
    row.experiment = row.family = row.baseline = evil;
    row.flags = {evil};
    row.limit_by = row.bound_by = row.key = evil;
    if (!row.passed()) row.reason = evil;
  }
  report.table.rows[1].variant = evil;
  Provenance& p = report.provenance;
  p.gpuexp_version = p.git_commit = p.utc = p.host = p.compiler = evil;
  p.device.name = p.device.driver_version = p.device.uuid = evil;
  p.argv = {evil};
  p.config = {evil, evil, evil, evil};
  p.settings = {{evil, evil}};
  p.ceilings = {evil, {{evil, evil, 1, 1, 1, evil, 1}}};
  const Registry nothing;
  const std::string html = html_of({report, nothing, device_rates(report)});
  CHECK(count_in(html, "<script") == 2);
  CHECK(count_in(html, "</script>") == 2);
  CHECK(html.find("<img") == std::string::npos);
  CHECK(count_in(html, "\\u003cscript>x") > 20);
  CHECK_THAT(text_at(data_of_page(html), "title"), contains_text("<script>x</script><!--"));
}

TEST_CASE("A variant's description is shown with its source", "[html]") {
  Registry registry;
  registry.add(toy_family());
  Report report = small_report();
  for (ResultRecord& row : report.table.rows) {
    row.family = "toy";
    row.variant = "first";
  }
  report.table.rows[0].variant = "second";
  report.table.rows[1].variant = "vendor";
  report.table.rows[2].variant = "of_tomorrow";
  ReportDocument document{report, registry, {}};
  document.sources[{"toy", "second"}] = {
      {"kernels/toy.cu", {{7, "if (a < b)", 0, ""}, {8, "y = x;", 3, "1 STG.32"}}},
      {{"kernels/common/pack.cuh", {{2, "load();", 1, ""}, {4, "pack();", 1, ""}}}},
      "9.0",
      5};
  document.sources_note = "of another commit";
  const Json data = data_of_page(html_of(document));
  CHECK(text_at(data, "sources_note") == "of another commit");
  CHECK(text_at(data.at("experiments").at(0), "question") == "Does the machinery work?");
  const Json& family = data.at("families").at(0);
  CHECK(text_at(family, "question") == "Does the machinery work?");
  const Json& second = family.at("variants").at(0);
  CHECK(text_at(second, "why") == "for tests");
  CHECK_THAT(text_at(second, "compared"), contains_text("Compared to first"));
  const Json& source = second.at("source");
  CHECK(text_at(source, "summary") ==
        "Source: kernels/toy.cu, from line 7; 5 machine instructions");
  CHECK(source.at("parts").at(0).at("lines").dump() ==
        R"x([[7,0,"if (a < b)",""],[8,3,"y = x;","1 STG.32"]])x");
  CHECK(text_at(source.at("parts").at(1), "file") == "kernels/common/pack.cuh");
  CHECK(text_at(family.at("variants").at(1), "note") == "Library variant without source.");
  CHECK(text_at(family.at("variants").at(2), "note") == "Unknown variant.");
  CHECK(text_at(family.at("variants").at(3), "note") == "Source not available.");
}

}  // namespace gpuexp::test
