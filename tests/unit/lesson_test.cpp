// Generated parts of a lesson page, from an artificial family and rows.
#include "lesson/lesson.hpp"

#include <map>

#include "base/config_error.hpp"
#include "family/counters.hpp"
#include "support/catch.hpp"
#include "support/record_rows.hpp"
#include "support/toy_family.hpp"

namespace gpuexp::test {
namespace {

constexpr FieldType kText = FieldType::text;
constexpr FieldType kReal = FieldType::real;
constexpr FieldType kInteger = FieldType::integer;

struct Measured {
  std::string variant;
  std::int64_t n;
  double time_us;
  std::string experiment = "sizes";
  std::string mode = "cold";
  std::map<std::string, double> counters = {};
  double predicted_us = 0;  ///< 0: none
  std::string status = "passed";
  std::string family = "toy";
  double sustained_us = 0;  ///< 0: none
};

Field text(const std::string& value) {
  return value.empty() ? Field{} : Field{value};
}

Field positive(double value) {
  return value > 0 ? Field{value} : Field{};
}

std::vector<ColumnInfo> columns() {
  std::vector<ColumnInfo> columns;
  for (const char* name : {"experiment", "family", "variant", "mode", "status", "reason", "flags",
                           "limit_by", "bound_by", "compare_to", "expected_changes"})
    columns.push_back({name, "", kText, ""});
  for (const char* name :
       {"time_median_us", "time_ci95_low_us", "time_ci95_high_us", "useful_bytes",
        "useful_gb_per_s", "limit_time_us", "limit_pct", "predicted_time_us", "metric.waves"})
    columns.push_back({name, "", kReal, ""});
  columns.push_back({"param.n", "", kInteger, ""});
  columns.push_back({"param.share", "", kReal, ""});
  columns.push_back({"param.width", "", kText, ""});
  columns.push_back({"sustained_time_us", "", kReal, ""});
  for (const Counter& counter : kCounters)
    columns.push_back({"counter." + std::string(counter.id), "", kReal, ""});
  return columns;
}

std::vector<Field> row_of(const Measured& m) {
  const bool passed = m.status == "passed";
  const double time_us = passed ? m.time_us : 0;
  const double bytes = 8.0 * static_cast<double>(m.n);
  std::vector<Field> row{m.experiment,
                         m.family,
                         m.variant,
                         m.mode,
                         m.status,
                         text(passed ? "" : "it did not work"),
                         Field{},
                         "dram",
                         text(m.predicted_us > 0 ? "l2" : ""),
                         text(m.variant == "second" ? "first" : ""),
                         text(m.variant == "second" ? "dram_read_bytes decreases 2" : ""),
                         positive(time_us),
                         positive(time_us * 0.99),
                         positive(time_us * 1.01),
                         bytes,
                         positive(passed ? bytes / m.time_us / 1e3 : 0),
                         bytes / 1e6,
                         positive(passed ? 100 * bytes / 1e6 / m.time_us : 0),
                         positive(m.predicted_us),
                         m.n < 2048 ? 1.0 : 2.0,
                         m.n,
                         0.5,
                         "narrow",
                         positive(m.sustained_us)};
  for (const Counter& counter : kCounters) {
    const auto found = m.counters.find(std::string(counter.id));
    row.push_back(found == m.counters.end() ? Field{} : Field{found->second});
  }
  return row;
}

const Registry& toy_registry() {
  static const Registry registry = [] {
    Registry r;
    Family family = toy_family();
    family.physics = "Bytes of `n_*` over *bandwidth*, a ` alone.";
    family.metrics.push_back({"waves", "", "waves of blocks"});
    r.add(family);
    family.id = "alone";  // a family without comparisons
    for (Variant& variant : family.variants)
      variant.compare_to.clear();
    r.add(std::move(family));
    r.add_source("toy", "// ---- first\n\n__global__ void toy_kernel(int n) {\n  n = 1;\n}\n");
    return r;
  }();
  return registry;
}

// The generated part; `marker` is the text between "gpuexp: " and "-->".
std::string part(const std::string& marker, const std::vector<Measured>& measured = {}) {
  Report report;
  report.complete = true;
  report.provenance.device.name = "Toy GPU";
  report.provenance.device.sm_count = 100;
  report.provenance.device.compute_capability = "9.0";
  report.provenance.device.sm_clock_max_mhz = 1000;
  report.provenance.device.memory_bytes_per_s = 1e12;
  report.table = RecordTable(columns());
  for (const Measured& m : measured)
    report.table.rows.push_back(record_from(report.table, row_of(m)));
  const std::string start = "<!-- gpuexp: " + marker + " -->\n";
  const LessonPage page = parse_lesson(start + "old\n<!-- /gpuexp -->\n", "page.md");
  const std::string text =
      render_lesson(page, {toy_registry(), report, "../results/all.json", device_rates(report)});
  const std::string end = "\n<!-- /gpuexp -->\n";
  REQUIRE(text.starts_with(start + "\n"));
  REQUIRE(text.ends_with(end));
  return text.substr(start.size() + 1, text.size() - start.size() - 1 - end.size());
}

std::string marker_mistake(const std::string& marker) {
  try {
    part(marker);
  } catch (const ConfigError& e) {
    return e.what();
  }
  return "";
}

TEST_CASE("A table of many rows is collapsed", "[lesson]") {
  const auto swept = [](std::int64_t sizes) {
    std::vector<Measured> rows;
    for (std::int64_t n = 1; n <= sizes; ++n)
      rows.push_back({"first", n, 10});
    return part("sweep toy axis=n", rows);
  };
  CHECK_THAT(swept(10), !contains_text("<details>"));
  CHECK_THAT(swept(11), contains_text("<details><summary>11 rows</summary>\n\n| n |"));
  CHECK_THAT(swept(11), contains_text("|\n\n</details>\n"));
}

TEST_CASE("A page shows functions from the family's source", "[lesson]") {
  CHECK(part("code toy function=toy_kernel") ==
        "```cpp\n__global__ void toy_kernel(int n) {\n  n = 1;\n}\n```\n");
  CHECK(marker_mistake("code toy") == "page.md:1: expected function=NAME");
  CHECK(marker_mistake("code toy function=toy") ==
        "page.md:1: kernels/toy.cu defines no function 'toy'");
  CHECK(marker_mistake("code other function=toy_kernel") ==
        "page.md:1: kernels/other.cu defines no function 'toy_kernel'");
}

std::map<std::string, double> reading(double bytes) {
  return {{"dram_read_bytes", bytes}, {"dram_write_bytes", 0},  {"l1_data_wavefronts", 1e4},
          {"warp_instructions", 1e6}, {"issue_active_pct", 10}, {"tensor_instructions", 0}};
}

const std::vector<Measured> kTwoSizes{
    {"first", 1024, 100}, {"second", 1024, 50}, {"first", 2048, 200}, {"second", 2048, 80}};

TEST_CASE("Provenance names the GPU and links the results", "[lesson]") {
  CHECK(part("provenance") ==
        "Toy GPU · 100 SMs\n\nRecorded in [all.json](<../results/all.json>).\n");
}

TEST_CASE("The question has the recorded values of each parameter", "[lesson]") {
  CHECK(part("question toy", kTwoSizes) ==
        "> **Does the machinery work?**\n\n"
        "Bytes of `n_*` over \\*bandwidth\\*, a \\` alone.\n\n"
        "- `n`: elements. Recorded: 1024, 2048\n"
        "- `share`: a share. Recorded: 0.5\n"
        "- `width`: a width. Recorded: narrow\n");
  CHECK_THAT(part("question toy"),
             contains_text("- `n`: elements. Default: 1024 (not recorded)\n"));
  std::vector<Measured> many;
  for (std::int64_t n = 1; n <= 20; ++n)
    many.push_back({"first", n, 1});
  CHECK_THAT(part("question toy", many), contains_text("Recorded: 20 values from 1 to 20\n"));
}

TEST_CASE("All variants of the registry are listed, recorded or not", "[lesson]") {
  CHECK(
      part("variants toy", kTwoSizes) ==
      "- **`first`**: for tests\n"
      "- **`second`**, compared to `first`: for tests *Counters:* dram_read_bytes decreases (2× or "
      "more; "
      "at some problems), warp_instructions unchanged (within 1.05×).\n"
      "- **`even`**: for tests *not recorded*\n"
      "- **`vendor`**: for tests *not recorded*\n");
}

TEST_CASE("A measurement shows the longest problem that most variants have", "[lesson]") {
  auto rows = kTwoSizes;
  rows.push_back({"first", 4096, 500});
  rows.push_back({"even", 2048, 0, "sizes", "cold", {}, 0, "failed"});
  CHECK(part("measurement toy", rows) ==
        "n = 2048 · share = 0.5 · width = narrow · cold · limit: dram by the datasheet\n\n"
        "| variant | time | ± % | compared to | speedup | useful GB/s | % of limit |\n"
        "| :--- | ---: | ---: | :--- | ---: | ---: | ---: |\n"
        "| first | 200.0 µs | 1.0 |  |  | 0.0819 | 0.0082 |\n"
        "| second | 80.00 µs | 1.0 | first | 2.5× (2.46 to 2.54) | 0.2048 | 0.02 |\n"
        "| even | failed: it did not work |  |  |  |  |  |\n"
        "| vendor | not recorded |  |  |  |  |  |\n");
  CHECK_THAT(part("measurement toy problem=n=1024", rows), contains_text("n = 1024 · share = 0.5"));
  CHECK_THAT(part("measurement toy variants=f*", rows), contains_text("n = 4096"));
}

TEST_CASE("A measurement shows burst and sustained times if a row has both", "[lesson]") {
  auto rows = kTwoSizes;
  rows[3].sustained_us = 92;
  const std::string text = part("measurement toy", rows);
  CHECK_THAT(text, contains_text("| variant | time | ± % | sustained | compared to | speedup |"));
  CHECK_THAT(text, contains_text("| first | 200.0 µs | 1.0 |  |  |  |"));
  CHECK_THAT(text, contains_text("| second | 80.00 µs | 1.0 | 92.00 µs | first | 2.5×"));
  rows[3].status = "failed";
  CHECK(part("measurement toy", rows).find("sustained") == std::string::npos);
}

TEST_CASE("If several experiments have a problem, the one with most variants is shown",
          "[lesson]") {
  const std::string table =
      part("measurement toy variants=first,second",
           {{"first", 1024, 300, "alone"}, {"first", 1024, 100}, {"second", 1024, 50}});
  CHECK_THAT(table, contains_text("| first | 100.0 µs |"));
  CHECK_THAT(table, contains_text("| 2× (1.97 to 2.03) |"));
}

TEST_CASE("A variant is compared to a variant of another experiment", "[lesson]") {
  CHECK_THAT(part("measurement toy", {{"first", 1024, 100, "a"}, {"second", 1024, 50, "b"}}),
             contains_text("| second | 50.00 µs | 1.0 | first | 2× (1.97 to 2.03) |"));
}

TEST_CASE("Mode cold is shown, unless another is given or is the only one recorded", "[lesson]") {
  auto rows = kTwoSizes;
  rows.push_back({"first", 2048, 20, "sizes", "warm"});
  CHECK_THAT(part("measurement toy", rows), contains_text(" · cold · "));
  CHECK_THAT(part("measurement toy mode=warm", rows), contains_text(" · warm · "));
  CHECK_THAT(part("measurement toy", {{"first", 2048, 20, "sizes", "graph"}}),
             contains_text(" · graph · "));
}

TEST_CASE("Missing results are reported as not recorded", "[lesson]") {
  const std::string missing = "Not recorded: these results have no row of toy ";
  CHECK(part("measurement toy") == missing + "(cold).\n");
  CHECK(part("prediction toy problem=n=512", kTwoSizes) == missing + "(n = 512, cold).\n");
  CHECK(part("counters toy mode=warm", kTwoSizes) == missing + "(warm).\n");
  CHECK(part("sweep toy axis=n problem=share=0.25", kTwoSizes) ==
        missing + "(share = 0.25, cold).\n");
  CHECK_THAT(part("prediction toy", kTwoSizes), contains_text("Predicted times: not recorded.\n"));
  CHECK_THAT(part("counters toy", kTwoSizes),
             contains_text("Counters: not recorded. `gpuexp run --counters` reads them.\n"));
}

TEST_CASE("A prediction is shown by itself and with its measurement", "[lesson]") {
  const std::vector<Measured> rows{{"first", 1024, 100, "sizes", "cold", {}, 90},
                                   {"second", 1024, 50, "sizes", "cold", {}, 60}};
  CHECK(part("prediction toy variants=first,second", rows) ==
        "n = 1024 · share = 0.5 · width = narrow · cold\n\n"
        "| variant | lower bound | set by | predicted | bound by | compared to | predicted speedup "
        "|\n"
        "| :--- | ---: | :--- | ---: | :--- | :--- | ---: |\n"
        "| first | 8.192 ns | dram | 90.00 µs | l2 |  |  |\n"
        "| second | 8.192 ns | dram | 60.00 µs | l2 | first | 1.5× |\n");
  const std::string measured = part("measurement toy variants=first,second", rows);
  CHECK_THAT(measured, contains_text("| predicted | off by |"));
  CHECK_THAT(measured, contains_text("| 90.00 µs | -10 % |"));
  CHECK_THAT(measured, contains_text("| 60.00 µs | +20 % |"));
}

TEST_CASE("Columns of a sweep are variants or values, whichever are fewer", "[lesson]") {
  CHECK(part("sweep toy axis=n variants=first,second", kTwoSizes) ==
        "share = 0.5 · width = narrow · cold · time\n\n"
        "| n | first | second |\n"
        "| ---: | ---: | ---: |\n"
        "| 1024 | 100.0 µs | 50.00 µs |\n"
        "| 2048 | 200.0 µs | 80.00 µs |\n");
  auto rows = kTwoSizes;
  rows.push_back({"even", 2048, 0, "sizes", "cold", {}, 0, "skipped"});
  CHECK(part("sweep toy axis=n show=rate", rows) ==
        "share = 0.5 · width = narrow · cold · useful GB/s\n\n"
        "| n | 1024 | 2048 |\n"
        "| :--- | ---: | ---: |\n"
        "| first | 0.0819 | 0.0819 |\n"
        "| second | 0.1638 | 0.2048 |\n"
        "| even | – | skipped |\n"
        "| vendor | not recorded | not recorded |\n");
}

TEST_CASE("A sweep shows several quantities of one variant at given values", "[lesson]") {
  auto rows = kTwoSizes;
  for (const std::int64_t n : {512, 4096})
    rows.push_back({"second", n, static_cast<double>(n), "sizes", "cold", reading(1e6), 0});
  CHECK(part("sweep toy axis=n variants=second show=time,speed-up,waves,dram_read_bytes "
             "values=512,1024,4096",
             rows) ==
        "share = 0.5 · width = narrow · cold\n\n"
        "| n | time | speed-up | waves | dram_read_bytes |\n"
        "| ---: | ---: | ---: | ---: | ---: |\n"
        "| 512 | 512.0 µs |  | 1 | 1 MB |\n"
        "| 1024 | 50.00 µs | 2× | 1 | not recorded |\n"
        "| 4096 | 4.096 ms |  | 2 | 1 MB |\n");
  CHECK(part("sweep toy axis=n variants=second around=waves show=waves", rows) ==
        "share = 0.5 · width = narrow · cold · waves\n\n"
        "| n | second |\n"
        "| ---: | ---: |\n"
        "| 1024 | 1 |\n"
        "| 2048 | 2 |\n");
  CHECK(part("sweep toy axis=n variants=second around=waves show=waves",
             {{"second", 512, 1}, {"second", 1024, 2}}) ==
        "waves is the same at all recorded values of n (cold).\n");
}

TEST_CASE("A sweep reports given values that were not recorded", "[lesson]") {
  CHECK(part("sweep toy axis=n variants=second values=1024,4096", kTwoSizes) ==
        "share = 0.5 · width = narrow · cold · time\n\n"
        "| n | second |\n"
        "| ---: | ---: |\n"
        "| 1024 | 50.00 µs |\n"
        "| 4096 | – |\n");
  CHECK(part("sweep toy axis=n variants=second values=4096,8192", kTwoSizes) ==
        "Not recorded: these results have no row of toy (cold, n = 4096, 8192).\n");
}

TEST_CASE("Counters show DRAM traffic and whether expected changes occurred", "[lesson]") {
  const std::string table =
      part("counters toy", {{"first", 1024, 100, "sizes", "cold", reading(8e4)},
                            {"second", 1024, 50, "sizes", "cold", reading(2e4)},
                            {"even", 1024, 50}});
  CHECK(
      table ==
      "n = 1024 · share = 0.5 · width = narrow · cold\n\n"
      "| variant | DRAM read | DRAM written | useful bytes | moved / useful |\n"
      "| :--- | ---: | ---: | ---: | ---: |\n"
      "| first | 80 kB | 0 B | 8.19 kB | 9.77× |\n"
      "| second | 20 kB | 0 B | 8.19 kB | 2.44× |\n"
      "| even | not recorded |  |  |  |\n"
      "| vendor | not recorded |  |  |  |\n\n"
      "| variant | compared to | counter | from | to | expected | as expected |\n"
      "| :--- | :--- | :--- | ---: | ---: | :--- | :--- |\n"
      "| second | first | dram_read_bytes | 80 kB | 20 kB | decreases (2× or more) | yes: 4× |\n");
  CHECK_THAT(part("counters toy", {{"first", 1024, 100, "sizes", "cold", reading(8e4)},
                                   {"second", 1024, 50, "sizes", "cold", reading(7e4)}}),
             contains_text("| decreases (2× or more) | no: 1.14× |"));
}

TEST_CASE("The explanation equals that of explain and lists missing results", "[lesson]") {
  // 80 MB in 100 µs are 80 % of 1 TB/s.
  const std::string text =
      part("explanation toy", {{"first", 1024, 100, "sizes", "cold", reading(8e7)},
                               {"second", 1024, 25, "sizes", "cold", reading(2e7)}});
  CHECK_THAT(text, contains_text("- second is 4× (3.94 to 4.06) as fast as first (100.0 µs → 25.00 "
                                 "µs): 20 MB read from DRAM instead of 80 MB"));
  CHECK_THAT(text,
             contains_text("The cause is DRAM in first: the amounts account for 4× of 4× (high "
                           "confidence). At the device's rates first is bound by DRAM"));
  CHECK_THAT(part("explanation toy", {{"first", 1024, 100}}),
             contains_text("- second: not recorded.\n"));
  CHECK_THAT(part("explanation toy",
                  {{"first", 1024, 100}, {"second", 1024, 0, "sizes", "cold", {}, 0, "failed"}}),
             contains_text("- second: failed.\n"));
  // 8 kB at 1 TB/s take 8 ns.
  CHECK_THAT(part("explanation toy", {{"first", 1024, 100}, {"second", 1024, 0.001}}),
             contains_text("- second: excluded, because it is faster than its limit.\n"));
  CHECK_THAT(part("explanation toy", {{"first", 1024, 0.001}, {"second", 1024, 100}}),
             contains_text("- second: first was faster than its limit and is excluded at this "
                           "problem.\n"));
  CHECK_THAT(part("explanation toy", {{"second", 1024, 100}}),
             contains_text("- second: first was not timed at this problem.\n"));
  CHECK_THAT(part("explanation toy", {{"first", 1024, 100, "base"}, {"second", 1024, 50, "sizes"}}),
             contains_text("- second is 2×"));
  CHECK_THAT(part("explanation toy variants=first", {{"first", 1024, 100}, {"first", 2048, 300}}),
             contains_text("- none of these variants has a variant to compare to.\n"));
}

TEST_CASE("Without comparisons, headlines of the experiments are shown", "[lesson]") {
  Measured small{"first", 1024, 100};
  Measured large{"first", 2048, 300};
  small.family = large.family = "alone";
  CHECK(part("explanation alone", {small, large}) ==
        "- sizes: Throughput drops 33 % from n = 1024 to 2048 (waves 1 → 2), the largest step "
        "between "
        "0.0546 GB/s (n = 2048) and 0.0819 GB/s (n = 1024).\n");
  CHECK(part("explanation alone") == "- alone: not recorded.\n");
  CHECK(marker_mistake("explanation alone mode=cold") ==
        "page.md:1: option 'mode' is not allowed: no variant of family 'alone' has a compare_to, "
        "so the part describes whole experiments");
}

TEST_CASE("Names that the registry lacks are errors with their place", "[lesson]") {
  CHECK(marker_mistake("explanation tyo") ==
        "page.md:1: unknown family 'tyo'; did you mean 'toy'? allowed: alone, toy");
  CHECK_THAT(marker_mistake("measurement toy problem=m=4"),
             contains_text(
                 "page.md:1: problem: unknown parameter 'm' of family 'toy'; allowed: n, share"));
  CHECK_THAT(marker_mistake("measurement toy problem=n=0"),
             contains_text("page.md:1: problem: n: 0 is out of range; allowed: 1 to 1048576"));
  CHECK(marker_mistake("measurement toy problem=n=") == "page.md:1: problem: expected n=VALUE");
  CHECK_THAT(marker_mistake("measurement toy problem=width=wid"),
             contains_text("did you mean 'wide'?"));
  CHECK_THAT(marker_mistake("measurement toy mode=hot"),
             contains_text("page.md:1: unknown mode 'hot'; allowed: cold, warm"));
  CHECK_THAT(marker_mistake("measurement toy variants=first,third"),
             contains_text("page.md:1: unknown variant 'third' of family 'toy';"));
  CHECK_THAT(marker_mistake("sweep toy"),
             contains_text("page.md:1: 'sweep' needs axis=PARAMETER;"));
  CHECK_THAT(marker_mistake("sweep toy axis=m"),
             contains_text("page.md:1: axis: unknown parameter 'm' of family 'toy';"));
  CHECK_THAT(marker_mistake("sweep toy axis=n show=tiem"), contains_text("did you mean 'time'?"));
  CHECK(marker_mistake("sweep toy axis=n show=time,rate") ==
        "page.md:1: show: more than one quantity needs one variant; variants= selects 4");
  CHECK_THAT(marker_mistake("sweep toy axis=n variants=first around=tiles"),
             contains_text("page.md:1: around: unknown metric 'tiles' of family 'toy';"));
  CHECK_THAT(marker_mistake("sweep toy axis=n values=1,x"),
             contains_text("page.md:1: values: n: "));
}

TEST_CASE("A page names its results", "[lesson]") {
  Report report;
  report.table = RecordTable(columns());
  const LessonPage page = parse_lesson("a\n<!-- gpuexp: results old.json -->\nb\n", "page.md");
  CHECK(render_lesson(page, {toy_registry(), report, "x/new.json", {}}) ==
        "a\n<!-- gpuexp: results x/new.json -->\nb\n");
  const std::string text = render_lesson(page, {toy_registry(), report, "my results/r.json", {}});
  CHECK(text == "a\n<!-- gpuexp: results \"my results/r.json\" -->\nb\n");
  CHECK(parse_lesson(text, "page.md").results == "my results/r.json");
}

TEST_CASE("A page shows published figures of recorded results, with verdicts", "[lesson]") {
  const std::string start = "<!-- gpuexp: figures h200/figures.json -->\n";
  const LessonPage page = parse_lesson(start + "old\n<!-- /gpuexp -->\n", "page.md");
  CHECK_FALSE(needs_results(page));
  Report recorded;
  recorded.provenance.device.name = "Toy GPU";
  const auto rendered = [&] {
    return render_lesson(
        page,
        {toy_registry(), {}, "", {}, {}, false, [&](const std::string& file) -> const Report& {
           CHECK(file == "h200/figures.json");
           return recorded;
         }});
  };
  CHECK_THROWS_WITH(rendered(), "page.md:1: h200/figures.json has no published figures");
  recorded.table = RecordTable(columns());
  recorded.table.rows.push_back(record_from(recorded.table, row_of({"first", 64, 500})));
  PublishedFigure& figure = recorded.figures.emplace_back();
  figure.title = "Steps";
  figure.source = {"A. Author", "Copies", 2022, "https://example.org", "table 1"};
  figure.published_on = "NVIDIA A100";
  Claim& claim = figure.claims.emplace_back();
  claim.name = "time";
  claim.unit = "ms";
  claim.published = 0.5;
  claim.quantity = {
      {"time_median_us"}, {{"sizes", "first", "cold", {{"n", std::int64_t{64}}}, 1}}, {}, {}, 1000};
  claim.band_low = 0.9;
  claim.band_high = 1.1;
  claim.because = "a toy";
  const std::string text = rendered();
  CHECK_THAT(text, contains_text("Toy GPU · published numbers: 1 reproduced\n"));
  CHECK_THAT(text, contains_text("### Steps\n\nA. Author, 2022: Copies, table 1 · NVIDIA A100 · "));
  CHECK_THAT(text, contains_text("| time | 0.5 ms | 0.5 ms, unchanged |  | 0.5 ms | reproduced |"));
  CHECK_THAT(text, contains_text("- time: 1 of 0.5 ms, within the band"));
}

}  // namespace
}  // namespace gpuexp::test
