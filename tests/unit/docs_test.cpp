// README and docs against the declarations and sources that they quote.
#include <algorithm>
#include <filesystem>
#include <fstream>
#include <regex>
#include <set>
#include <sstream>

#include "family/counters.hpp"
#include "record/fixed_columns.hpp"
#include "support/catch.hpp"

namespace gpuexp::test {
namespace {

std::string read_file(const std::string& path) {
  std::ifstream in(std::string(GPUEXP_SOURCE_DIR) + "/" + path);
  REQUIRE(in);
  std::ostringstream text;
  text << in.rdbuf();
  return text.str();
}

std::set<std::string> names_in(const std::string& text, const std::regex& pattern) {
  std::set<std::string> names;
  for (std::sregex_iterator it(text.begin(), text.end(), pattern), end; it != end; ++it)
    names.insert((*it)[1]);
  return names;
}

// Names of result columns, without the prefix of counters.
std::set<std::string> declared_names() {
  std::set<std::string> names;
  for (const FixedColumn& column : fixed_columns())
    names.insert(column.name);
  for (const Counter& counter : kCounters)
    names.emplace(counter.id);
  return names;
}

std::set<std::string> declared_metrics() {
  std::set<std::string> metrics;
  for (const Counter& counter : kCounters) {
    for (const std::string_view metric : {counter.numerator, counter.denominator})
      metrics.emplace(metric);
  }
  return metrics;
}

// Names in backticks within parentheses are columns or counters.
TEST_CASE("the glossary names only columns, counters and metrics that exist") {
  const std::string text = read_file("docs/glossary.md");
  const std::string terms = text.substr(0, text.find("## Hardware counters"));
  std::set<std::string> named;
  for (const std::string& group :
       names_in(terms, std::regex(R"(\(((?:`[^`]+`(?:, | counts them)?)+))"))) {
    for (const std::string& name : names_in(group, std::regex("`([^`]+)`")))
      named.insert(name);
  }
  const std::set<std::string> declared = declared_names();
  CHECK(named.size() > 30);
  for (const std::string& name : named) {
    INFO(name);
    CHECK(declared.count(name) == 1);
  }
  const std::set<std::string> metrics = declared_metrics();
  for (const std::string& metric :
       names_in(terms, std::regex(R"(`([a-z0-9_]+__[a-z0-9_]+\.sum)`)"))) {
    INFO(metric);
    CHECK(metrics.count(metric) == 1);
  }
}

TEST_CASE("the glossary has every counter with its Nsight Compute metric, and the terms in use") {
  const std::string text = read_file("docs/glossary.md");
  for (const Counter& counter : kCounters) {
    CHECK_THAT(text, contains_text("| `" + std::string(counter.id) + "` | "));
    const std::string_view metric =
        counter.nsight_name.empty() ? counter.numerator : counter.nsight_name;
    CHECK_THAT(text, contains_text("`" + std::string(metric) + "`"));
  }
  for (const char* term :
       {"L1 tag stage (t-stage)", "L1 data stage", "wavefront", "expected counter changes",
        "timer resolution", "integrated autocorrelation time", "wave", "tail efficiency",
        "ceiling source", "utilization", "accumulator", "check failed",
        "block the stream until the launch is enqueued"})
    CHECK_THAT(text, contains_text("\n| " + std::string(term) + " | "));
}

TEST_CASE("the variant shown in the docs equals the source") {
  const std::string page = read_file("docs/adding_a_variant.md");
  const std::size_t start = page.find("```cpp\n");
  const std::size_t end = page.find("```", start + 7);
  REQUIRE(end != std::string::npos);
  const std::string shown = page.substr(start + 7, end - start - 7);
  CHECK(read_file("kernels/matmul.cu").find(shown) != std::string::npos);
}

TEST_CASE("the README is short and names every page of docs") {
  const std::string readme = read_file("README.md");
  CHECK(std::count(readme.begin(), readme.end(), '\n') <= 150);
  for (const auto& entry :
       std::filesystem::directory_iterator(std::string(GPUEXP_SOURCE_DIR) + "/docs")) {
    if (entry.path().extension() == ".md")
      CHECK_THAT(readme, contains_text("(docs/" + entry.path().filename().string() + ")"));
  }
}

}  // namespace
}  // namespace gpuexp::test
