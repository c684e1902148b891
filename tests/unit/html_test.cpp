// A report as a page of HTML: text in which nothing is markup, tables, and a page that stands
// alone.
#include "render/html.hpp"

#include "base/sha256.hpp"
#include "family/registry.hpp"
#include "render/html_assets.hpp"
#include "render/html_report.hpp"
#include "render/html_table.hpp"
#include "render/html_variants.hpp"
#include "support/catch.hpp"
#include "support/small_report.hpp"
#include "support/toy_family.hpp"

namespace gpuexp::test {
namespace {

std::string page_of_report(const Report& report, const Registry& registry) {
  std::string html;
  write_html({report, registry, device_rates(report)},
             [&](std::string_view part) { html += part; });
  return html;
}

std::size_t count_in(const std::string& text, std::string_view part) {
  std::size_t count = 0;
  for (auto at = text.find(part); at != std::string::npos; at = text.find(part, at + part.size()))
    ++count;
  return count;
}

}  // namespace

TEST_CASE("No character of escaped text is markup", "[html]") {
  CHECK(escape_html("<script>alert(\"x\" & 'y')</script>") ==
        "&lt;script&gt;alert(&quot;x&quot; &amp; &#39;y&#39;)&lt;/script&gt;");
  CHECK(escape_html("µ → \033[31m\xff") == "µ →  [31m?");
  CHECK(escape_html("a\nb") == "a b");
  CHECK(escape_html_lines("a\n<b>\n") == "a\n&lt;b&gt;\n");
  CHECK(html_element("p", "1 < 2") == "<p>1 &lt; 2</p>");
}

TEST_CASE("Base 64 as RFC 4648 has it", "[html]") {
  CHECK(base64_of_hex("").empty());
  CHECK(base64_of_hex("66") == "Zg==");
  CHECK(base64_of_hex("666f") == "Zm8=");
  CHECK(base64_of_hex("666f6f") == "Zm9v");
  CHECK(base64_of_hex("666f6f626172") == "Zm9vYmFy");
  CHECK(base64_of_hex("fbefff") == "++//");
}

TEST_CASE("A table has its numbers aligned, its notes in their place, and no markup in texts",
          "[html]") {
  ExperimentView view;
  view.columns = {{"variant", false}, {"time (µs)", true}, {"speed-up", true}};
  view.first_number = 1;
  view.rows = {{{"a<b>", "1.5", "2"}, "", "", 0}, {{"c", "", ""}, "failed", "failed: \"why\"", 0}};
  view.footnotes = {"a  x&y: z"};
  const std::string html = html_table(view, "e<1>");
  CHECK_THAT(html, contains_text("aria-label=\"e&lt;1&gt;\""));
  CHECK_THAT(
      html, contains_text("<th scope=\"col\">variant</th><th scope=\"col\" class=\"n\">time (µs)"));
  CHECK_THAT(html, contains_text("<tr><td>a&lt;b&gt;<td class=n>1.5<td class=n>2\n"));
  CHECK_THAT(html, contains_text("<tr class=lost><td>c<td colspan=2>failed: &quot;why&quot;\n"));
  CHECK_THAT(html, contains_text("<ul class=\"notes\"><li>a  x&amp;y: z</li></ul>"));
}

TEST_CASE("A page holds verdicts, numbers, reasons and provenance", "[html]") {
  const Registry nothing;
  const std::string html = page_of_report(small_report(), nothing);
  CHECK_THAT(html, contains_text("<li>10 rows</li><li class=\"good\">5 passed</li>"
                                 "<li class=\"bad\">1 incorrect</li>"));
  CHECK_THAT(html, contains_text("<dt>GPU</dt><dd>NVIDIA H200</dd>"));
  CHECK_THAT(html, contains_text("<dd>2025-01-02 03:04 UTC</dd>"));
  CHECK_THAT(html, contains_text("gpuexp run configs/a b.json"));
  CHECK_THAT(html, contains_text("skipped: needs compute capability 9.0 or later"));
  CHECK_THAT(html, contains_text("few_samples: the wall cap came before min_samples"));
  CHECK_THAT(html, contains_text(">time (µs)<"));
  CHECK_THAT(html, contains_text("<td class=n>34400.0"));
  CHECK_THAT(html, contains_text("<th scope=\"row\">commit</th><td>0123456789abcdef"));
  CHECK_THAT(html, contains_text("This program does not know the family"));
  Report cut = small_report();
  cut.complete = false;
  CHECK_THAT(page_of_report(cut, nothing), contains_text("the run ended before its end"));
  CHECK(html.find("the run ended before its end") == std::string::npos);
}

TEST_CASE("A page holds published figures, where there are any", "[html]") {
  Report report = small_report();
  const Registry registry;
  CHECK_THAT(page_of_report(report, registry), !contains_text("Published figures"));
  PublishedFigure& figure = report.figures.emplace_back();
  figure.title = "Steps <1>";
  figure.source = {"A. Author", "Products", 2022, "https://example.org", "table 1"};
  figure.published_on = "NVIDIA A100";
  Claim& claim = figure.claims.emplace_back();
  claim.name = "time & more";
  claim.published = 2;
  claim.quantity = {{"time_median_us"}, {{"ladder", "none", "cold", {}, 1}}, {}, {}, 1};
  const std::string html = page_of_report(report, registry);
  CHECK_THAT(html,
             contains_text("<h2>Published figures</h2>\n<p>published numbers: 1 not measured"));
  CHECK_THAT(html, contains_text("<h3>Steps &lt;1&gt;</h3>"));
  CHECK_THAT(html, contains_text("time &amp; more: there is no row ladder/none, cold"));
}

TEST_CASE("A page asks for nothing, and names its style and its script by their hashes", "[html]") {
  const Registry nothing;
  const std::string html = page_of_report(small_report(), nothing);
  for (const char* foreign : {"http:", "https:", "src=", "<link", "<iframe", "@import", "url("})
    CHECK(html.find(foreign) == std::string::npos);
  CHECK(count_in(html, "<script") == 1);
  CHECK(count_in(html, "<style") == 1);
  CHECK(html.find(" style=") == std::string::npos);
  CHECK(html.find(" onclick=") == std::string::npos);
  CHECK_THAT(html, contains_text("default-src 'none'; style-src 'sha256-" +
                                 base64_of_hex(sha256(kHtmlStyle)) + "'; script-src 'sha256-" +
                                 base64_of_hex(sha256(kHtmlScript)) + "'"));
  CHECK_THAT(html, contains_text("<style>" + std::string(kHtmlStyle) + "</style>"));
  CHECK_THAT(html, contains_text("<script>" + std::string(kHtmlScript) + "</script>"));
}

TEST_CASE("No text of results becomes an element or ends an attribute", "[html]") {
  const std::string evil = "\"><script>x</script><img src=y onerror='z'>";
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
  const std::string html = page_of_report(report, nothing);
  CHECK(count_in(html, "<script") == 1);
  CHECK(html.find("<img") == std::string::npos);
  CHECK(html.find("\"><script>x") == std::string::npos);
  CHECK(count_in(html, "&lt;script&gt;x") > 20);
}

TEST_CASE("What a variant is stands beside its source", "[html]") {
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
  HtmlReport page{report, registry, {}};
  page.sources[{"toy", "second"}] = {
      {"kernels/toy.cu", {{7, "if (a < b)", 0, ""}, {8, "y = x;", 3, "1 STG.32"}}},
      {{"kernels/common/pack.cuh", {{2, "load();", 1, ""}, {4, "pack();", 1, ""}}}},
      "9.0",
      5};
  page.sources_note = "of another commit";
  std::string html;
  write_html(page, [&](std::string_view part) { html += part; });
  CHECK_THAT(html, contains_text("<p class=\"question\">Does the machinery work?</p>"));
  CHECK_THAT(html, contains_text("<p>for tests</p>"));
  CHECK_THAT(html, contains_text("Compared to first: "));
  CHECK_THAT(html, contains_text("Source: kernels/toy.cu, from line 7; 5 machine instructions"));
  CHECK_THAT(html, contains_text(
                       "<i>   7      </i>if (a &lt; b)\n<i>   8    3 </i>y = x;  <b>1 STG.32</b>"));
  CHECK_THAT(html, contains_text("Lines of kernels/common/pack.cuh"));
  CHECK_THAT(html, contains_text("<i>   ⋯</i>\n<i>   4    1 </i>pack();"));
  CHECK_THAT(html, contains_text("This program does not have its source."));
  CHECK_THAT(html, contains_text("A library&#39;s; its source is not here.") ||
                       contains_text("A library's; its source is not here."));
  CHECK_THAT(html, contains_text("This program does not know the variant."));
  CHECK_THAT(html, contains_text("of another commit"));
}

}  // namespace gpuexp::test
