// Numbers in prose and recorded tables, as pages show them.
#include <fmt/format.h>

#include "base/config_error.hpp"
#include "family/counters.hpp"
#include "lesson/lesson.hpp"
#include "record/fixed_columns.hpp"
#include "record/flags.hpp"
#include "support/catch.hpp"
#include "support/record_rows.hpp"

namespace gpuexp::test {
namespace {

constexpr const char* kRows =
    "key,time_median_us,tflops,useful_bytes,status,note\n"
    "a/slow/n=1/cold,2000,0.5,8e9,passed,\n"
    "a/fast/n=1/cold,125,8,8e9,passed,\n"
    "a/fast/n=2/cold,250.5,8.25,16e9,passed,\"no, none\"\n"
    "a/broken/n=1/cold,,,8e9,incorrect,a *star*\n";

constexpr const char* kStudy =
    "before,lasts,share\n"
    "`cudaFree` of 1 GiB,2.3 ms,1.5\n"
    "a | b,-3,\n";

RecordedTable recorded(const std::string& file) {
  static const Table rows = parse_recorded_csv(kRows, "rows.csv");
  static const Table study = parse_recorded_csv(kStudy, "study.csv");
  if (file == "rows.csv") return {file, &rows};
  if (file == "study.csv") return {file, &study};
  throw ConfigError(file + ": cannot be read");
}

// The rows as a run would have them: numbers where columns hold numbers.
RecordTable results() {
  Table table = parse_recorded_csv(kRows, "rows.csv");
  for (std::size_t c = 0; c < table.columns.size(); ++c) {
    const FixedColumn* fixed = find_fixed_column(table.columns[c].name);
    if (!fixed) continue;
    table.columns[c].type = fixed->type;
    for (std::vector<Field>& row : table.rows) {
      const auto number = number_of(row[c]);
      if (fixed->type == FieldType::real) row[c] = number ? Field{*number} : Field{};
    }
  }
  return record_table(table);
}

std::string rendered(const std::string& page, bool replaces_results = false) {
  static const Registry registry;
  Report report;
  report.table = results();
  return render_lesson(parse_lesson(page, "page.md"),
                       {registry, report, "rows.csv", {}, recorded, replaces_results});
}

// What a value marker shows; `marker` is what stands behind "value ".
std::string value(const std::string& marker, bool replaces_results = false) {
  const std::string start = "It takes <!-- gpuexp: value " + marker + " -->";
  const std::string end = "<!-- /gpuexp -->, cold.\n";
  const std::string text = rendered(start + "old" + end, replaces_results);
  REQUIRE(text.starts_with(start));
  REQUIRE(text.ends_with(end));
  return text.substr(start.size(), text.size() - start.size() - end.size());
}

std::string page_mistake(const std::string& page) {
  try {
    rendered(page);
  } catch (const ConfigError& e) {
    return e.what();
  }
  return "";
}

std::string value_mistake(const std::string& marker) {
  return page_mistake("\nIt takes <!-- gpuexp: value " + marker + " -->old<!-- /gpuexp -->.\n");
}

TEST_CASE("a value is a number of one recorded row, in its column's unit") {
  CHECK(value("a/slow/* column=time_median_us") == "2.000 ms");
  CHECK(value("a/slow/n=1/cold column=tflops") == "0.5 TFLOP/s");
  CHECK(value("a/slow/* column=useful_bytes") == "8 GB");
  CHECK(value("a/fast/n=2/* column=time_median_us as=number") == "250");
  CHECK(value("a/fast/n=2/* column=time_median_us as=number digits=4") == "250.5");
  CHECK(value("a/fast/n=2/* column=note as=text") == "no, none");
  CHECK(value("a/broken/* column=note as=text") == "a \\*star\\*");
}

TEST_CASE("a value may be a quotient of two rows or columns") {
  const std::string times = " column=time_median_us over=a/fast/n=1/*";
  CHECK(value("a/slow/*" + times) == "16×");
  CHECK(value("a/slow/*" + times + " as=number") == "16");
  CHECK(value("a/slow/*" + times + " as=more") == "1500 %");
  CHECK(value("a/fast/n=1/* column=tflops over=a/fast/n=2/* as=percent digits=2") == "97 %");
  CHECK(value("a/fast/n=1/* column=tflops over=a/fast/n=2/* as=less digits=2") == "3 %");
  CHECK(value("a/slow/* column=useful_bytes over_column=time_median_us as=quantity") == "4 M");
}

TEST_CASE("a value may be taken of several rows") {
  CHECK(value("a/* take=count") == "4");
  CHECK(value("a/* take=count where=status=passed") == "3");
  CHECK(value("a/* column=tflops take=min where=\"status=passed tflops=8*\" as=number") == "8");
  CHECK(value("a/fast/* column=tflops take=max") == "8.25 TFLOP/s");
  CHECK(value("a/* column=tflops take=median where=status=passed as=number") == "8");
  CHECK(value("a/fast/* column=tflops take=median as=number digits=4") == "8.125");
  CHECK(value("a/fast/* column=tflops over=a/slow/* take=max") == "16.5×");
}

TEST_CASE("a mistake in a value names the page, the line, what was found and what is allowed") {
  CHECK(value_mistake("a/fast/* column=tflops") ==
        "page.md:2: 'a/fast/*' names 2 of 4 rows of rows.csv; expected one");
  CHECK(value_mistake("a/fats/n=1/cold column=tflops") ==
        "page.md:2: 'a/fats/n=1/cold' names 0 of 4 rows of rows.csv; expected one; did you mean "
        "'a/fast/n=1/cold'?");
  CHECK(value_mistake("b/* column=tflops take=max") ==
        "page.md:2: 'b/*' names 0 of 4 rows of rows.csv; expected one or more");
  CHECK_THAT(value_mistake("a/slow/* column=tflop"),
             contains_text("page.md:2: column: 'tflop' is no column of rows.csv; did you mean "
                           "'tflops'? allowed: key, "));
  CHECK(value_mistake("a/slow/*") == "page.md:2: expected column=COLUMN");
  CHECK(value_mistake("a/broken/* column=tflops") ==
        "page.md:2: tflops of 'a/broken/n=1/cold' is empty; expected a number");
  CHECK(value_mistake("a/slow/* column=status") ==
        "page.md:2: status of 'a/slow/n=1/cold' is 'passed'; expected a number");
  CHECK(value_mistake("a/slow/* column=tflops digits=0") ==
        "page.md:2: digits=0; expected a number from 1 to 9");
  CHECK_THAT(value_mistake("a/slow/* column=tflops as=times"),
             contains_text("page.md:2: as=times; allowed: unit, number"));
  CHECK_THAT(value_mistake("a/slow/* column=tflops take=mean"),
             contains_text("page.md:2: take=mean"));
  CHECK_THAT(value_mistake("a/slow/* column=tflops over=a/fast/n=1/* as=unit"),
             contains_text("page.md:2: as=unit: a quotient has none; allowed: number"));
  CHECK(value_mistake("a/* take=count where=status") ==
        "page.md:2: where: expected COLUMN=GLOB instead of 'status'");
  CHECK_THAT(value_mistake("a/slow/* colum=tflops"),
             contains_text("page.md:2: 'colum' is no option of 'value'"));
  CHECK(value_mistake("a/slow/* column=tflops file=absent.csv") ==
        "page.md:2: absent.csv: cannot be read");
}

TEST_CASE("a value stands inside of a line") {
  const std::string marker = "<!-- gpuexp: value a/slow/* column=tflops -->";
  CHECK(rendered("One " + marker + "x<!-- /gpuexp -->, two " + marker + "<!-- /gpuexp --> (end)") ==
        "One " + marker + "0.5 TFLOP/s<!-- /gpuexp -->, two " + marker +
            "0.5 TFLOP/s<!-- /gpuexp --> (end)");
  CHECK_THAT(page_mistake("- " + marker + "x<!-- /gpuexp -->\n"),
             contains_text("page.md:1: the line starts with a marker"));
  CHECK_THAT(page_mistake("One " + marker + "x\n<!-- /gpuexp -->\n"),
             contains_text("has no end; expected '<!-- /gpuexp -->' on the same line"));
  CHECK_THAT(page_mistake("One " + marker + "x<!-- /gpuexp --> <!-- /gpuexp -->\n"),
             contains_text("page.md:1: '<!-- /gpuexp -->' is no marker of a value"));
  CHECK_THAT(
      page_mistake("<!-- gpuexp: table study.csv -->\nOne " + marker + "x<!-- /gpuexp -->\n"),
      contains_text("page.md:1: 'table study.csv' has no end before line 2"));
}

TEST_CASE("other results than the page's own may lack what a value asks for") {
  CHECK(value("a/absent/* column=tflops", true) == "not recorded");
  CHECK(value("a/slow/* column=counter.sectors", true) == "not recorded");
  CHECK(value("a/broken/* column=tflops", true) == "not recorded");
  CHECK(value("a/slow/* column=tflops over=a/absent/*", true) == "not recorded");
  CHECK(value("a/slow/* column=tflops", true) == "0.5 TFLOP/s");
}

TEST_CASE("a recorded table is shown as it is") {
  CHECK(rendered("<!-- gpuexp: table study.csv -->\nold\n<!-- /gpuexp -->\n") ==
        "<!-- gpuexp: table study.csv -->\n\n"
        "| before | lasts | share |\n|---|---:|---:|\n"
        "| `cudaFree` of 1 GiB | 2.3 ms | 1.5 |\n| a \\| b | -3 |  |\n"
        "\n<!-- /gpuexp -->\n");
}

TEST_CASE("a recorded file that is no CSV is refused with its line") {
  const auto refused = [](const std::string& text) -> std::string {
    try {
      parse_recorded_csv(text, "x.csv");
    } catch (const ConfigError& e) {
      return e.what();
    }
    return "";
  };
  CHECK(refused("a,b\r\n1,2\r\n").empty());
  CHECK(refused("a,b\n1,2\n3\n") == "x.csv:3: 1 fields; expected 2, as in the header");
  CHECK(refused("a,b\n\"1,2\n") == "x.csv:2: a quote is not closed");
  CHECK_THAT(refused("a,b\n\"1\"2,3\n"), contains_text("x.csv:2: expected ','"));
}

std::string declared(const std::string& what) {
  return rendered("<!-- gpuexp: declared " + what + " -->\n<!-- /gpuexp -->\n");
}

TEST_CASE("declared tables name all that is declared") {
  for (const FixedColumn& column : fixed_columns())
    CHECK_THAT(declared("columns"), contains_text("| `" + column.name + "` | "));
  CHECK_THAT(declared("columns"),
             contains_text("| `key` |  | text | every | experiment/family/variant"));
  CHECK_THAT(declared("columns"), contains_text("| `speedup` | x | real | passed | "));
  for (const Flag& flag : kFlags)
    CHECK_THAT(declared("flags"), contains_text(fmt::format("| `{}` | ", flag.id)));
  for (const Counter& counter : kCounters)
    CHECK_THAT(declared("counters"), contains_text(fmt::format("| `{}` | ", counter.id)));
  CHECK_THAT(declared("config_keys"), contains_text("| `min_samples` | 20 | "));
  CHECK_THAT(page_mistake("<!-- gpuexp: declared column -->\n<!-- /gpuexp -->\n"),
             contains_text("page.md:1: 'column' is no declared table; did you mean 'columns'? "
                           "allowed: columns, flags, counters, config_keys"));
}

TEST_CASE("a page needs results only where a part is made from them") {
  CHECK_FALSE(needs_results(parse_lesson("text\n", "page.md")));
  CHECK_FALSE(
      needs_results(parse_lesson("<!-- gpuexp: declared columns -->\n<!-- /gpuexp -->\n"
                                 "a <!-- gpuexp: value a column=b file=c.csv --><!-- /gpuexp -->\n",
                                 "page.md")));
  CHECK(needs_results(
      parse_lesson("a <!-- gpuexp: value a column=b --><!-- /gpuexp -->\n", "page.md")));
  CHECK(needs_results(parse_lesson("<!-- gpuexp: provenance -->\n<!-- /gpuexp -->\n", "page.md")));
}

}  // namespace
}  // namespace gpuexp::test
