// Numbers in prose and recorded tables on pages.
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

// The rows as written by a run, with numbers in numeric columns.
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

std::string values_below(const std::string& paragraph, const std::string& entries) {
  return paragraph + "<!-- gpuexp: values\n" + entries + "-->\n";
}

// The text that replaces a value in the paragraph and in the list; `words` select the value.
std::string value(const std::string& words, bool replaces_results = false) {
  const std::string start = "It takes ", end = ", cold.\n";
  const std::string text =
      rendered(values_below(start + "old" + end, "old = " + words + "\n"), replaces_results);
  REQUIRE(text.starts_with(start));
  const std::string shown = text.substr(start.size(), text.find(end) - start.size());
  CHECK(text == values_below(start + shown + end, shown + " = " + words + "\n"));
  return shown;
}

std::string page_mistake(const std::string& page) {
  try {
    rendered(page);
  } catch (const ConfigError& e) {
    return e.what();
  }
  return "";
}

// The list is on line 2, and its first value on line 3.
std::string value_mistake(const std::string& words) {
  return page_mistake(values_below("It takes old.\n", "old = " + words + "\n"));
}

TEST_CASE("a value is a number of one recorded row, in the unit of its column") {
  CHECK(value("a/slow/* column=time_median_us") == "2.000 ms");
  CHECK(value("a/slow/n=1/cold column=tflops") == "0.5 TFLOP/s");
  CHECK(value("a/slow/* column=useful_bytes") == "8 GB");
  CHECK(value("a/fast/n=2/* column=time_median_us as=number") == "250");
  CHECK(value("a/fast/n=2/* column=time_median_us as=number digits=4") == "250.5");
  CHECK(value("a/fast/n=2/* column=note as=text") == "no, none");
  CHECK(value("a/broken/* column=note as=text") == "a \\*star\\*");
}

TEST_CASE("a value may be a ratio of two rows or columns") {
  const std::string times = " column=time_median_us over=a/fast/n=1/*";
  CHECK(value("a/slow/*" + times) == "16×");
  CHECK(value("a/slow/*" + times + " as=number") == "16");
  CHECK(value("a/slow/*" + times + " as=more") == "1500 %");
  CHECK(value("a/fast/n=1/* column=tflops over=a/fast/n=2/* as=percent digits=2") == "97 %");
  CHECK(value("a/fast/n=1/* column=tflops over=a/fast/n=2/* as=less digits=2") == "3 %");
  CHECK(value("a/slow/* column=useful_bytes over_column=time_median_us as=quantity") == "4 M");
}

TEST_CASE("a value may combine several rows") {
  CHECK(value("a/* take=count") == "4");
  CHECK(value("a/* take=count where=status=passed") == "3");
  CHECK(value("a/* column=tflops take=min where=\"status=passed tflops=8*\" as=number") == "8");
  CHECK(value("a/fast/* column=tflops take=max") == "8.25 TFLOP/s");
  CHECK(value("a/* column=tflops take=median where=status=passed as=number") == "8");
  CHECK(value("a/fast/* column=tflops take=median as=number digits=4") == "8.125");
  CHECK(value("a/fast/* column=tflops over=a/slow/* take=max") == "16.5×");
}

TEST_CASE("an error in a value has page, line, found text and allowed texts") {
  CHECK(value_mistake("a/fast/* column=tflops") ==
        "page.md:3: 'a/fast/*' matches 2 of 4 rows of rows.csv; expected one");
  CHECK(value_mistake("a/fats/n=1/cold column=tflops") ==
        "page.md:3: 'a/fats/n=1/cold' matches 0 of 4 rows of rows.csv; expected one; did you mean "
        "'a/fast/n=1/cold'?");
  CHECK(value_mistake("b/* column=tflops take=max") ==
        "page.md:3: 'b/*' matches 0 of 4 rows of rows.csv; expected one or more");
  CHECK_THAT(value_mistake("a/slow/* column=tflop"),
             contains_text("page.md:3: column: unknown column 'tflop' of rows.csv; did you mean "
                           "'tflops'? allowed: key, "));
  CHECK(value_mistake("a/slow/*") == "page.md:3: expected column=COLUMN");
  CHECK(value_mistake("a/broken/* column=tflops") ==
        "page.md:3: tflops of 'a/broken/n=1/cold' is empty; expected a number");
  CHECK(value_mistake("a/slow/* column=note as=text") ==
        "page.md:3: note is empty; expected a text");
  CHECK(value_mistake("a/slow/* column=status") ==
        "page.md:3: status of 'a/slow/n=1/cold' is 'passed'; expected a number");
  CHECK(value_mistake("a/slow/* column=tflops digits=0") ==
        "page.md:3: digits=0; expected a number from 1 to 9");
  CHECK_THAT(value_mistake("a/slow/* column=tflops as=times"),
             contains_text("page.md:3: as=times; allowed: unit, number"));
  CHECK_THAT(value_mistake("a/slow/* column=tflops take=mean"),
             contains_text("page.md:3: take=mean"));
  CHECK_THAT(value_mistake("a/slow/* column=tflops over=a/fast/n=1/* as=unit"),
             contains_text("page.md:3: as=unit is not allowed for a ratio; allowed: number"));
  CHECK(value_mistake("a/* take=count where=status") ==
        "page.md:3: where: expected COLUMN=GLOB instead of 'status'");
  CHECK_THAT(value_mistake("a/slow/* colum=tflops"),
             contains_text("page.md:3: unknown option 'colum' of 'value'"));
  CHECK(value_mistake("a/slow/* column=tflops file=absent.csv") ==
        "page.md:3: absent.csv: cannot be read");
}

TEST_CASE("a list gives the values of the paragraph above, in order") {
  const std::string tflops = " = a/slow/* column=tflops\n";
  const auto twice = [&](const std::string& first, const std::string& second) {
    return values_below("\n1 GB, `1` and [1](1.md), then " + first + " and 1.5, " + second + ".\n",
                        first + tflops + second + tflops);
  };
  CHECK(rendered(values_below("7\n\nFrom 7 to 8 s, 7.5.\n", "7" + tflops + "8 s" + tflops)) ==
        values_below("7\n\nFrom 0.5 TFLOP/s to 0.5 TFLOP/s, 7.5.\n",
                     "0.5 TFLOP/s" + tflops + "0.5 TFLOP/s" + tflops));
  CHECK(rendered(twice("2", "2")) == twice("0.5 TFLOP/s", "0.5 TFLOP/s"));
  CHECK(page_mistake(values_below("From 7 to 8.\n", "8" + tflops + "7" + tflops)) ==
        "page.md:4: the paragraph above has no '7'; expected the texts of its values, in their "
        "order");
  CHECK(page_mistake(values_below("7\n\nFrom 8.\n", "7" + tflops)) ==
        "page.md:5: the paragraph above has no '7'; expected the texts of its values, in their "
        "order");
  CHECK(page_mistake(values_below("From 7 to 7.\n", "7" + tflops)) ==
        "page.md:3: '7' occurs more often in the paragraph above than in the list; expected one "
        "line per occurrence");
  CHECK(page_mistake(values_below("From 7.\n", "7 is a/slow/*\n")) ==
        "page.md:3: '7 is a/slow/*' is not a value; expected 'TEXT = ROW …' or '-->'");
  CHECK_THAT(page_mistake("From 7.\n<!-- gpuexp: values\n7" + tflops),
             contains_text("page.md:2: 'values' has no end; expected '-->' below it"));
  CHECK_THAT(page_mistake("<!-- gpuexp: table study.csv -->\n" + values_below("7\n", "7" + tflops)),
             contains_text("page.md:1: 'table study.csv' has no end before line 3"));
  CHECK_THAT(page_mistake("From <!-- gpuexp: value a/slow/* column=tflops -->7<!-- /gpuexp -->.\n"),
             contains_text("is not a marker"));
  CHECK(page_mistake("<!-- gpuexp: value a/slow/* column=tflops -->\n") ==
        "page.md:1: a value is listed below its paragraph; expected '<!-- gpuexp: values'");
}

TEST_CASE("results other than the page's may lack a value") {
  CHECK(value("a/absent/* column=tflops", true) == "not recorded");
  CHECK(value("a/slow/* column=counter.sectors", true) == "not recorded");
  CHECK(value("a/broken/* column=tflops", true) == "not recorded");
  CHECK(value("a/slow/* column=tflops over=a/absent/*", true) == "not recorded");
  CHECK(value("a/slow/* column=tflops", true) == "0.5 TFLOP/s");
}

TEST_CASE("a recorded table is shown unchanged") {
  CHECK(rendered("<!-- gpuexp: table study.csv -->\nold\n<!-- /gpuexp -->\n") ==
        "<!-- gpuexp: table study.csv -->\n\n"
        "| before | lasts | share |\n|---|---:|---:|\n"
        "| `cudaFree` of 1 GiB | 2.3 ms | 1.5 |\n| a \\| b | -3 |  |\n"
        "\n<!-- /gpuexp -->\n");
}

TEST_CASE("an invalid CSV file is rejected with its line") {
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

TEST_CASE("declared tables list all declarations") {
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
             contains_text("page.md:1: unknown declared table 'column'; did you mean 'columns'? "
                           "allowed: columns, flags, counters, config_keys"));
}

TEST_CASE("a page needs results only if one of its parts uses them") {
  CHECK_FALSE(needs_results(parse_lesson("text\n", "page.md")));
  CHECK_FALSE(
      needs_results(parse_lesson("<!-- gpuexp: declared columns -->\n<!-- /gpuexp -->\n"
                                 "a 1\n<!-- gpuexp: values\n1 = a column=b file=c.csv\n-->\n",
                                 "page.md")));
  CHECK(needs_results(parse_lesson("a 1\n<!-- gpuexp: values\n1 = a column=b\n-->\n", "page.md")));
  CHECK(needs_results(parse_lesson("<!-- gpuexp: provenance -->\n<!-- /gpuexp -->\n", "page.md")));
}

}  // namespace
}  // namespace gpuexp::test
