// Splitting a lesson page at its markers, and errors of invalid markers.
#include "lesson/lesson_page.hpp"

#include "base/config_error.hpp"
#include "support/catch.hpp"

namespace gpuexp::test {
namespace {

// The error of the page.
std::string mistake(const std::string& text) {
  try {
    parse_lesson(text, "page.md");
  } catch (const ConfigError& e) {
    return e.what();
  }
  return "";
}

// A page with the marker on line 3.
std::string with_marker(const std::string& marker) {
  return "# Title\n\n" + marker + "\nold\n<!-- /gpuexp -->\n";
}

TEST_CASE("A page is split at its markers, without the generated text", "[lesson]") {
  const LessonPage page = parse_lesson(
      "# Title\n"
      "<!-- gpuexp: results ../all.json -->\n"
      "before\n"
      "<!-- gpuexp: measurement matmul problem=\"n=1024 m=512\" variants=naive,smem_* -->\n"
      "old | text\n"
      "<!-- /gpuexp -->\n"
      "after <!-- a comment of another kind -->",
      "docs/page.md");
  CHECK(page.results == "../all.json");
  REQUIRE(page.pieces.size() == 3);
  CHECK(page.pieces[0].text == "# Title\n");
  CHECK(page.pieces[0].part->kind == LessonPartKind::results);
  CHECK(page.pieces[1].text ==
        "before\n"
        "<!-- gpuexp: measurement matmul problem=\"n=1024 m=512\" variants=naive,smem_* -->\n");
  const LessonPart& part = *page.pieces[1].part;
  CHECK(part.kind == LessonPartKind::measurement);
  CHECK(part.place == "docs/page.md:4");
  CHECK(part.subject == "matmul");
  CHECK(part.option("problem") == "n=1024 m=512");
  CHECK(part.option("mode").empty());
  CHECK(part.option_list("variants", ',') == std::vector<std::string>{"naive", "smem_*"});
  CHECK(page.pieces[2].text == "<!-- /gpuexp -->\nafter <!-- a comment of another kind -->");
  CHECK_FALSE(page.pieces[2].part);
}

TEST_CASE("A page without markers stays unchanged", "[lesson]") {
  for (const std::string text : {"", "text\n", "no newline", "\n\n"}) {
    const LessonPage page = parse_lesson(text, "page.md");
    REQUIRE(page.pieces.size() == 1);
    CHECK(page.pieces[0].text == text);
    CHECK(page.results.empty());
  }
}

TEST_CASE("Markers keep their line ends and indentation", "[lesson]") {
  const LessonPage page =
      parse_lesson("  <!-- gpuexp: provenance -->\r\nold\r\n<!-- /gpuexp -->\r\n", "page.md");
  REQUIRE(page.pieces.size() == 2);
  CHECK(page.pieces[0].text == "  <!-- gpuexp: provenance -->\r\n");
  CHECK(page.pieces[1].text == "<!-- /gpuexp -->\r\n");
}

TEST_CASE("An error names the line of a marker without an end", "[lesson]") {
  CHECK(mistake("one\n<!-- gpuexp: explanation matmul -->\ntext\n") ==
        "page.md:2: 'explanation matmul' has no end; expected '<!-- /gpuexp -->' below it");
  CHECK(
      mistake("<!-- gpuexp: explanation matmul -->\n\n<!-- gpuexp: provenance -->\n"
              "<!-- /gpuexp -->\n") ==
      "page.md:1: 'explanation matmul' has no end before line 3; expected '<!-- /gpuexp -->' below "
      "it");
  CHECK(
      mistake("<!-- gpuexp: explanation matmul -->\n<!-- gpuexp: results a.json -->\n") ==
      "page.md:1: 'explanation matmul' has no end before line 2; expected '<!-- /gpuexp -->' below "
      "it");
  CHECK(mistake("text\n<!-- /gpuexp -->\n") == "page.md:2: '<!-- /gpuexp -->' without a part");
}

TEST_CASE("A comment like a marker that is not one is an error", "[lesson]") {
  for (const std::string marker :
       {"<!-- gpuexp explanation matmul -->", "<!--gpuexp: explanation matmul -->",
        "<!-- gpuexp: explanation matmul", "text <!-- gpuexp: explanation matmul -->",
        "<!-- gpuexp: -->", "<!-- / gpuexp -->", "<!-- /gpuexp: -->"}) {
    INFO(marker);
    CHECK_THAT(mistake("\n\n" + marker + "\n"),
               contains_text("page.md:3: '" + marker + "' is not a marker"));
  }
  CHECK(mistake("<!-- another: comment -->\n").empty());
}

TEST_CASE("Errors of unknown parts and options list the known ones", "[lesson]") {
  CHECK(mistake(with_marker("<!-- gpuexp: measurment matmul -->")) ==
        "page.md:3: 'measurment' is not a part of a lesson; did you mean 'measurement'? allowed: "
        "results, provenance, question, variants, code, prediction, measurement, sweep, counters, "
        "explanation, table, declared, figures, value");
  CHECK(mistake(with_marker("<!-- gpuexp: measurement matmul problm=n=1 -->")) ==
        "page.md:3: unknown option 'problm' of 'measurement'; did you mean 'problem'? allowed: "
        "problem, mode, variants");
  CHECK(mistake(with_marker("<!-- gpuexp: provenance matmul -->")) ==
        "page.md:3: unknown option 'matmul' of 'provenance'; none is allowed");
  CHECK(mistake(with_marker("<!-- gpuexp: question matmul mode=cold -->")) ==
        "page.md:3: unknown option 'mode' of 'question'; none is allowed");
}

TEST_CASE("The families of a page are those of its parts with results", "[lesson]") {
  const auto families = [](const std::string& markers) {
    return families_of(parse_lesson(markers, "page.md"));
  };
  const std::string end = "<!-- /gpuexp -->\n";
  CHECK(families("text\n").empty());
  CHECK(families("<!-- gpuexp: provenance -->\n" + end).empty());
  CHECK(families("<!-- gpuexp: code scan function=f -->\n" + end).empty());
  CHECK(families("<!-- gpuexp: table a.csv -->\n" + end).empty());
  CHECK(families("<!-- gpuexp: question matmul -->\n" + end +
                 "<!-- gpuexp: sweep coalescing -->\n" + end +
                 "<!-- gpuexp: counters matmul -->\n" + end) ==
        std::vector<std::string>{"matmul", "coalescing"});
}

TEST_CASE("Each option needs one value", "[lesson]") {
  CHECK(mistake(with_marker("<!-- gpuexp: measurement matmul mode -->")) ==
        "page.md:3: mode: expected mode=VALUE");
  CHECK(mistake(with_marker("<!-- gpuexp: measurement matmul mode= -->")) ==
        "page.md:3: mode: expected mode=VALUE");
  CHECK(mistake(with_marker("<!-- gpuexp: measurement matmul mode=cold mode=warm -->")) ==
        "page.md:3: 'mode' is given twice");
  CHECK(mistake(with_marker("<!-- gpuexp: measurement matmul problem=\"n=1 -->")) ==
        "page.md:3: a quote of 'problem=n=1' is not closed");
  CHECK(mistake(with_marker("<!-- gpuexp: measurement mode=cold -->")) ==
        "page.md:3: expected a family after 'measurement'");
  CHECK(mistake(with_marker("<!-- gpuexp: explanation -->")) ==
        "page.md:3: expected a family after 'explanation'");
  CHECK(mistake("<!-- gpuexp: results -->\n") == "page.md:1: expected a file after 'results'");
  CHECK(mistake("<!-- gpuexp: results a -->\n<!-- gpuexp: results b -->\n") ==
        "page.md:2: the page names its results twice");
}

}  // namespace
}  // namespace gpuexp::test
