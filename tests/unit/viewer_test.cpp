// The HTML page of a document: a policy of hashes, and data that cannot end its element.
#include "render/viewer.hpp"

#include <fmt/format.h>

#include "base/sha256.hpp"
#include "support/catch.hpp"
#include "support/viewer_page.hpp"

namespace gpuexp::test {
namespace {

std::string page_with(const std::string& json) {
  std::string html;
  write_viewer([&](std::string_view part) { html += part; },
               [&](const WritePart& write_json) { write_json(json); });
  return html;
}

std::string hash_in(const std::string& html, const std::string& directive) {
  const auto at = html.find(directive + " 'sha256-");
  REQUIRE(at != std::string::npos);
  const auto begin = at + directive.size() + 9;
  return html.substr(begin, html.find('\'', begin) - begin);
}

// The bytes of a base-64 text.
std::string bytes_of(const std::string& base64) {
  constexpr std::string_view kDigits =
      "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
  std::string bytes;
  unsigned bits = 0;
  int count = 0;
  for (const char digit : base64) {
    if (digit == '=') break;
    bits = bits << 6 | static_cast<unsigned>(kDigits.find(digit));
    count += 6;
    if (count < 8) continue;
    count -= 8;
    bytes += fmt::format("{:02x}", bits >> count & 0xFF);
  }
  return bytes;
}

}  // namespace

TEST_CASE("Text in the data cannot end its element, and is read back", "[viewer]") {
  const std::string evil = "</script><script>x</script><!--\"&'\x01\xff µ";
  const std::string html = page_with(Json{{"text", evil}}.dump());
  CHECK(count_in(html, "<script") == 2);
  CHECK(count_in(html, "</script>") == 2);
  CHECK(html.find("<!--") == std::string::npos);
  const std::string text = data_of_page(html).at("text").get<std::string>();
  CHECK(text == "</script><script>x</script><!--\"&'\x01\xEF\xBF\xBD µ");
}

TEST_CASE("A page loads no other file and names its style and script by hash", "[viewer]") {
  const std::string html = page_with("{}");
  CHECK(html.rfind("<!DOCTYPE html>", 0) == 0);
  CHECK_THAT(html, contains_text("default-src 'none'; style-src 'sha256-"));
  CHECK_THAT(html, contains_text("; base-uri 'none'; form-action 'none'\">"));
  CHECK(bytes_of(hash_in(html, "style-src")) == sha256(kViewerStyle));
  CHECK(bytes_of(hash_in(html, "script-src")) == sha256(kViewerScript));
  CHECK_THAT(html, contains_text("<style>" + std::string(kViewerStyle) + "</style>"));
  CHECK_THAT(html, contains_text("<script>" + std::string(kViewerScript) + "</script>"));
  CHECK(count_in(html, "<style") == 1);
  for (const char* foreign :
       {"src=", "<link", "<iframe", "@import", "url(", " style=", " onclick="})
    CHECK(kViewerPage.find(foreign) == std::string::npos);
  for (const char* foreign : {"@import", "url("})
    CHECK(kViewerStyle.find(foreign) == std::string::npos);
  CHECK(kViewerScript.find("innerHTML =") == std::string::npos);
  CHECK_THAT(html, contains_text("<noscript><p>This page draws its tables"));
}

TEST_CASE("JSON of a view has columns, and notes instead of numbers for failed rows", "[viewer]") {
  ExperimentView view;
  view.title = "e<1>";
  view.columns = {{"variant", false}, {"time (µs)", true}, {"speedup", true}};
  view.first_number = 1;
  view.rows = {{{"a<b>", "1.5", "2"}, "", "", 0, "key/a"},
               {{"c", "7", "9"}, "failed", "failed: \"why\"", 0, "key/c"}};
  view.footnotes = {"a  x&y: z"};
  const Json json = json_of(view);
  CHECK(json.at("columns").dump() ==
        "[{\"heading\":\"variant\",\"number\":false,\"cells\":[\"a<b>\",\"c\"]},"
        "{\"heading\":\"time (µs)\",\"number\":true,\"cells\":[\"1.5\",\"\"]},"
        "{\"heading\":\"speedup\",\"number\":true,\"cells\":[\"2\",\"\"]}]");
  CHECK(json.at("first_number").get<int>() == 1);
  CHECK(json.at("notes").dump() == "[[1,\"failed\",\"failed: \\\"why\\\"\"]]");
  CHECK(json.at("keys").dump() == "[\"key/a\",\"key/c\"]");
  CHECK(json.at("footnotes").at(0).get<std::string>() == "a  x&y: z");
  CHECK_FALSE(json.contains("headline"));
  CHECK_FALSE(json_of(ExperimentView{}).contains("columns"));
}

TEST_CASE("A comparison page has its head, tables and summary", "[viewer]") {
  Page page;
  page.head = {"A: a.json", "B: b.json"};
  page.summary = "2 rows: 1 slower, 1 same";
  page.experiments.emplace_back().title = "ladder: matmul";
  const Json data = data_of_page(render_html(page, "a.json and b.json"));
  CHECK(data.at("brand").get<std::string>() == "gpuexp comparison");
  CHECK(data.at("title").get<std::string>() == "a.json and b.json");
  CHECK(data.at("head").size() == 2);
  CHECK(data.at("summary").get<std::string>() == page.summary);
  CHECK(data.at("experiments").at(0).at("title").get<std::string>() == "ladder: matmul");
}

}  // namespace gpuexp::test
