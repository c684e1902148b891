// Rendered reports: golden tables, and headlines that claim only what the numbers support.

#include <algorithm>

#include "analysis/headline.hpp"
#include "base/text.hpp"
#include "render/markdown.hpp"
#include "render/page.hpp"
#include "render/terminal.hpp"
#include "support/catch.hpp"
#include "support/small_report.hpp"

namespace {

using namespace gpuexp;

std::string terminal(std::size_t width, bool unicode, bool colour = false) {
  TerminalOptions options;
  options.width = width;
  options.unicode = unicode;
  options.colour = colour;
  return render_terminal(page_of(small_report()), options);
}

// The headline of the rows as one experiment.
std::string headline(std::vector<std::vector<Field>> rows) {
  Table table;
  table.columns = small_columns();
  table.rows = std::move(rows);
  const RecordTable records = test::record_table(table);
  const auto experiments = experiments_of(records);
  REQUIRE(experiments.size() == 1);
  return headline_of(experiments.front());
}

// A row of a sweep over n without a baseline, with the given rate.
std::vector<Field> swept_row(std::int64_t n, double tflops, double reuse = 1,
                             double relative_interval = 0.01) {
  std::vector<Field> row = timed_row("tile", n, 100, 1);
  row[8] = 100 * (1 - relative_interval);
  row[9] = 100 * (1 + relative_interval);
  row[10] = kMissing;
  row[11] = kMissing;
  row[15] = tflops;
  row[17] = tflops / 2;  // as a share of 200
  row[18] = std::int64_t{8};
  row[21] = reuse;
  return row;
}

}  // namespace

// ---- text

TEST_CASE("Widths count displayed columns", "[report][text]") {
  CHECK(display_width("abc") == 3);
  CHECK(display_width("µ±→█") == 4);
  CHECK(display_width("e\u0301") == 1);
  CHECK(display_width("漢字") == 4);
  CHECK(display_width("\xff\xc3") == 2);
  CHECK(pad_left("µs", 4) == "  µs");
  CHECK(pad_right("漢", 4) == "漢  ");
}

TEST_CASE("Control characters never reach a terminal", "[report][text]") {
  CHECK(printable("a\033[31mb\nc\td") == "a [31mb c d");
  CHECK(printable("bad\xff") == "bad?");
  CHECK(printable("\u202Eleft") == " left");
  CHECK(to_ascii("4 µs ± 1 → 漢") == "4 us +/- 1 -> ?");
}

TEST_CASE("Times have a suitable unit", "[report][text]") {
  CHECK(time_text(0.5) == "500.0 ns");
  CHECK(time_text(3.7) == "3.700 µs");
  CHECK(time_text(999.96) == "1.000 ms");
  CHECK(time_text(8930) == "8.930 ms");
  CHECK(time_text(2.5e6) == "2.500 s");
}

TEST_CASE("Numbers keep significant digits and never round to zero", "[report][text]") {
  CHECK(decimals_for({1, 2048}) == 0);
  CHECK(decimals_for({50.9, 6.2, 0.5}) == 2);
  CHECK(decimals_for({780.4, 96.1}) == 1);
  CHECK(decimals_for({40.1, 0}) == 2);
  CHECK_FALSE(decimals_for({40.1, 3e-7}));
  CHECK_FALSE(decimals_for({1e300}));
  CHECK(significant(9.249, 3) == "9.25");
  CHECK(significant(1024, 4) == "1024");
  CHECK(significant(99.96, 3) == "100");
  CHECK(significant(3.14e-7, 2) == "3.1e-07");
}

TEST_CASE("Bars have eighths, and values above 0 are visible", "[report][text]") {
  CHECK(bar(10, 10, 4) == "████");
  CHECK(bar(5, 10, 4) == "██  ");
  CHECK(bar(1.5 / 8, 4, 4) == "▎   ");
  CHECK(bar(1e-9, 10, 4) == "▏   ");
  CHECK(bar(0, 10, 4) == "    ");
  CHECK(bar(1, 0, 2) == "▏ ");
  CHECK(bar(1, 1, 0).empty());
}

TEST_CASE("Wrapped text keeps words whole", "[report][text]") {
  CHECK(wrap("one two three", 7) == std::vector<std::string>{"one two", "three"});
  CHECK(wrap("extraordinarily so", 4) == std::vector<std::string>{"extraordinarily", "so"});
  CHECK(wrap("", 4).empty());
}

// ---- tables

TEST_CASE("Terminal rendering of a small report", "[report][terminal][golden]") {
  CHECK(
      terminal(100, true) ==
      R"(gpuexp 0.1.0 · commit 0123456789ab · NVIDIA H200 · driver 580.65.06 · 2025-01-02T03:04:05Z ·
configs/a b.json
predictions from ceilings measured on NVIDIA H200

ladder: matmul
  k = 64 · cold · speedup over naive · limit: fp32
  variant    m = n      time  ± %  TFLOP/s  % of limit  speedup                                reuse
  naive       1024  4.300 ms  1.0     0.50        1.00     1.00 ▎                              1.000
  smem_tile   1024  430.0 µs  1.0     4.99        9.99    10.00 ██▉                        a   4.500
  naive       2048  34.40 ms  1.0     0.50        1.00     1.00 ▎                              1.000
  smem_tile   2048  3.200 ms  1.0     5.37       10.74    10.75 ███▏                       ab  4.500
  cublas      2048  400.0 µs  1.0    42.95       85.90    86.00 █████████████████████████      4.500
  a,b         2048  incorrect: expected "1", got nan
  tensor×     2048  skipped: needs compute capability 9.0 or later
  warp        2048  failed: too many resources | launch.cu:1
  slow        2048  timeout
  last        2048  not_run: interrupted
  a  few_samples: max_seconds was reached before min_samples (--set measure.max_seconds=10)
  b  of_tomorrow
  → At m = n = 2048, cublas is 86× (84.8 to 87.2) as fast as naive (34.40 ms → 400.0 µs; reuse 1 →
    4.5) and reaches 86 % of the fp32 limit; the best of the others, smem_tile, reaches 12 % of
    cublas.

10 rows: 5 passed, 1 incorrect, 1 skipped, 1 failed, 1 timeout, 1 not_run
)");
}

TEST_CASE("Terminal rendering in ASCII and a narrow terminal", "[report][terminal][golden]") {
  CHECK(terminal(60, false) == R"(gpuexp 0.1.0 | commit 0123456789ab | NVIDIA H200 | driver
580.65.06 | 2025-01-02T03:04:05Z | configs/a b.json
predictions from ceilings measured on NVIDIA H200

ladder: matmul
  k = 64 | cold | speedup over naive | limit: fp32
  variant    m = n      time  +/- %  TFLOP/s  % of limit  speedup
  naive       1024  4.300 ms    1.0     0.50        1.00     1.00
  smem_tile   1024  430.0 us    1.0     4.99        9.99    10.00  a
  naive       2048  34.40 ms    1.0     0.50        1.00     1.00
  smem_tile   2048  3.200 ms    1.0     5.37       10.74    10.75  ab
  cublas      2048  400.0 us    1.0    42.95       85.90    86.00
  a,b         2048  incorrect: expected "1", got nan
  tensorx     2048  skipped: needs compute capability 9.0 or
                    later
  warp        2048  failed: too many resources | launch.cu:1
  slow        2048  timeout
  last        2048  not_run: interrupted
  a  few_samples: max_seconds was reached before min_samples
     (--set measure.max_seconds=10)
  b  of_tomorrow
  Too wide to show here: reuse.
  -> At m = n = 2048, cublas is 86x (84.8 to 87.2) as fast
     as naive (34.40 ms -> 400.0 us; reuse 1 -> 4.5) and
     reaches 86 % of the fp32 limit; the best of the others,
     smem_tile, reaches 12 % of cublas.

10 rows: 5 passed, 1 incorrect, 1 skipped, 1 failed, 1 timeout, 1 not_run
)");
}

TEST_CASE("An unverified row keeps its numbers, but is not compared", "[report][terminal]") {
  Report report = small_report();
  const auto cublas = std::ranges::find(report.table.rows, "cublas", &ResultRecord::variant);
  REQUIRE(cublas != report.table.rows.end());
  cublas->status = Status::unverified;
  cublas->reason = "no check of c";
  cublas->speedup.reset();
  TerminalOptions options;
  options.width = 200;
  const std::string text = render_terminal(page_of(report), options);
  INFO(text);
  CHECK_THAT(text, contains_text("cublas      2048  400.0 "));
  CHECK_THAT(text, contains_text("  unverified: no check of c\n"));
  CHECK_THAT(text, contains_text("10 rows: 4 passed, 1 unverified, 1 incorrect"));
  CHECK_THAT(text, contains_text("smem_tile is "));
  CHECK_THAT(text, !contains_text("cublas is"));
  CHECK_THAT(render_markdown(page_of(report)), contains_text("| unverified: no check of c |"));
}

TEST_CASE("Colour changes only the colour", "[report][terminal]") {
  std::string text = terminal(100, true, true);
  CHECK(text != terminal(100, true));
  for (std::size_t begin = text.find('\033'); begin != std::string::npos; begin = text.find('\033'))
    text.erase(begin, text.find('m', begin) - begin + 1);
  CHECK(text == terminal(100, true));
}

TEST_CASE("All terminal widths are supported", "[report][terminal]") {
  for (std::size_t width = 1; width < 140; ++width)
    CHECK_THAT(terminal(width, true), contains_text("10 rows: 5 passed"));
  CHECK_THAT(terminal(0, true), contains_text("reuse"));
}

TEST_CASE("Markdown rendering of a small report", "[report][markdown][golden]") {
  CHECK(
      render_markdown(page_of(small_report())) ==
      R"(gpuexp 0.1.0 · commit 0123456789ab · NVIDIA H200 · driver 580.65.06 · 2025-01-02T03:04:05Z · configs/a b.json

predictions from ceilings measured on NVIDIA H200

## ladder: matmul

k = 64 · cold · speedup over naive · limit: fp32

| variant | m = n | time | ± % | TFLOP/s | % of limit | speedup |  | reuse | status |
| :--- | ---: | ---: | ---: | ---: | ---: | ---: | :--- | ---: | :--- |
| naive | 1024 | 4.300 ms | 1.0 | 0.50 | 1.00 | 1.00 |  | 1.000 | passed |
| smem_tile | 1024 | 430.0 µs | 1.0 | 4.99 | 9.99 | 10.00 | a | 4.500 | passed |
| naive | 2048 | 34.40 ms | 1.0 | 0.50 | 1.00 | 1.00 |  | 1.000 | passed |
| smem_tile | 2048 | 3.200 ms | 1.0 | 5.37 | 10.74 | 10.75 | ab | 4.500 | passed |
| cublas | 2048 | 400.0 µs | 1.0 | 42.95 | 85.90 | 86.00 |  | 4.500 | passed |
| a,b | 2048 |  |  |  |  |  |  |  | incorrect: expected "1", got nan |
| tensor× | 2048 |  |  |  |  |  |  |  | skipped: needs compute capability 9.0 or later |
| warp | 2048 |  |  |  |  |  |  |  | failed: too many resources \| launch.cu:1 |
| slow | 2048 |  |  |  |  |  |  |  | timeout |
| last | 2048 |  |  |  |  |  |  |  | not_run: interrupted |

- a  few_samples: max_seconds was reached before min_samples (--set measure.max_seconds=10)
- b  of_tomorrow

At m = n = 2048, cublas is 86× (84.8 to 87.2) as fast as naive (34.40 ms → 400.0 µs; reuse 1 → 4.5) and reaches 86 % of the fp32 limit; the best of the others, smem_tile, reaches 12 % of cublas.

10 rows: 5 passed, 1 incorrect, 1 skipped, 1 failed, 1 timeout, 1 not_run
)");
}

TEST_CASE("A bar is full at the largest value of its own column", "[report][terminal]") {
  Table table;
  table.columns = small_columns();
  table.rows = {timed_row("naive", 2048, 800, 1), timed_row("tile", 2048, 400, 2)};
  Report report;
  report.table = test::record_table(table);
  // The rates, 21 and 43 TFLOP/s, are larger than the speedups that the bar shows.
  const ExperimentView view = page_of(report).experiments.at(0);
  CHECK(view.columns.at(view.bar_after).heading == "speedup");
  CHECK(view.full_bar == 2);
  CHECK(view.rows.at(0).bar == 1);
  CHECK(view.rows.at(1).bar == 2);
}

TEST_CASE("An empty report is rendered", "[report][terminal][markdown]") {
  CHECK(render_terminal(page_of(Report{}), {}) == "0 rows; the run did not finish\n");
  CHECK(render_markdown(page_of(Report{})) == "0 rows; the run did not finish\n");
}

TEST_CASE("A report without some columns is rendered", "[report][terminal]") {
  Report report;
  report.table = RecordTable({{"variant", "", FieldType::text, ""}});
  report.table.rows.emplace_back().variant = "naive";
  CHECK_THAT(render_terminal(page_of(report), {}), contains_text("naive    no status"));
}

// ---- headlines

TEST_CASE("A ladder is described at its largest problem", "[report][headline]") {
  CHECK(headline({timed_row("naive", 1024, 4300, 1), timed_row("tile", 1024, 43, 100),
                  timed_row("naive", 2048, 34400, 1), timed_row("tile", 2048, 3440, 10)}) ==
        "At m = n = 2048, tile is 10× (9.86 to 10.1) as fast as naive (34.40 ms → 3.440 ms; reuse "
        "1 → 4.5) and "
        "reaches 10 % of the "
        "fp32 limit.");
}

TEST_CASE("A kernel is compared with the vendor library", "[report][headline]") {
  CHECK_THAT(headline({timed_row("naive", 2048, 34400, 1), timed_row("cublas", 2048, 500, 68.8),
                       timed_row("tile", 2048, 400, 86)}),
             contains_text("tile is 86× (84.8 to 87.2) as fast as naive") &&
                 contains_text("; that is 125 % of cublas."));
}

TEST_CASE("A kernel with a library's name as prefix is not a library", "[report][headline]") {
  CHECK_THAT(
      headline({timed_row("naive", 2048, 34400, 1), timed_row("cublas_like", 2048, 500, 68.8),
                timed_row("tile", 2048, 400, 86)}),
      contains_text("tile is 86×") && !contains_text("cublas"));
}

TEST_CASE("Differences that samples cannot resolve are not claimed", "[report][headline]") {
  CHECK(headline({timed_row("naive", 1024, 4300, 1), timed_row("tile", 1024, 4290, 1.002)}) ==
        "No variant differs from naive (4.300 ms) by more than the samples resolve.");
  CHECK(headline({timed_row("naive", 1024, 4300, 1), timed_row("tile", 1024, 8600, 0.5)}) ==
        "tile reaches 50 % of the speed of naive (8.600 ms against 4.300 ms; reuse 1 → 4.5).");
  CHECK(headline({timed_row("naive", 1024, 4300, 1), timed_row("tile", 1024, 8600, 0.5),
                  timed_row("slow", 1024, 12900, 0.33)})
            .starts_with("tile reaches 50 % of the speed of naive (8.600 ms against 4.300 ms"));
  CHECK_THAT(headline({timed_row("naive", 1024, 4300, 1), timed_row("tile", 1024, 8600, 0.5),
                       timed_row("slow", 1024, 12900, 0.33)}),
             contains_text("; the slowest, slow, takes 3× "));
  CHECK(headline({timed_row("naive", 1024, 4300, 1), timed_row("tile", 1024, 4290, 1.002),
                  timed_row("slow", 1024, 12900, 0.33)})
            .starts_with("tile is as fast as naive (4.300 ms); the slowest, slow, takes 3× "));
}

TEST_CASE("A row faster than its limit is left out", "[report][headline]") {
  CHECK(headline({timed_row("naive", 1024, 4300, 1), timed_row("tile", 1024, 40, 107.5)}) ==
        "naive takes 4.300 ms, 1 % of the fp32 limit. Excluded: a row above the "
        "limit.");
}

TEST_CASE("A sweep is described by its largest step", "[report][headline]") {
  CHECK(headline({swept_row(2050, 70, 2), swept_row(2047, 99), swept_row(2048, 100),
                  swept_row(2049, 69, 2), swept_row(2051, 71, 2)}) ==
        "Throughput drops 31 % from n = 2048 to 2049 (reuse 1 → 2), the largest step between 69 "
        "TFLOP/s (n = 2049) and 100 TFLOP/s (n = 2048).");
}

TEST_CASE("A sweep without steps is described by its range", "[report][headline]") {
  CHECK(headline({swept_row(1, 10), swept_row(2, 20), swept_row(3, 30), swept_row(4, 40),
                  swept_row(5, 50)}) ==
        "Throughput is between 10 TFLOP/s (n = 1) and 50 TFLOP/s (n = 5).");
  CHECK(headline({swept_row(1, 10), swept_row(2, 20), swept_row(3, 300), swept_row(4, 40),
                  swept_row(5, 50)}) ==
        "Throughput is between 10 TFLOP/s (n = 1) and 50 TFLOP/s (n = 5). Excluded: "
        "a row above the limit.");
  CHECK(headline({swept_row(1, 50), swept_row(2, 50), swept_row(3, 50.2), swept_row(4, 50),
                  swept_row(5, 50)}) == "Throughput is nearly independent of n.");
}

TEST_CASE("A step within the noise is ignored", "[report][headline]") {
  CHECK(headline({swept_row(1, 100, 1, 0.5), swept_row(2, 80, 1, 0.5), swept_row(3, 100, 1, 0.5),
                  swept_row(4, 80, 1, 0.5), swept_row(5, 100, 1, 0.5)}) ==
        "Throughput is nearly independent of n.");
}

TEST_CASE("If times do not differ, the headline may compare a share", "[report][headline]") {
  std::vector<std::vector<Field>> rows{timed_row("naive", 1024, 4300, 1),
                                       timed_row("scaled", 1024, 4290, 1.002)};
  Table table;
  table.columns = small_columns();
  table.columns[*table.column("metric.reuse")].name = "metric.lost_pct";
  table.rows = rows;
  const RecordTable records = test::record_table(table);
  CHECK(headline_of(experiments_of(records).front()) ==
        "No variant differs from naive (4.300 ms) by more than the samples resolve; lost_pct is 1 "
        "with naive and 4.5 with scaled.");
}

TEST_CASE("Without numbers there is no comparison", "[report][headline]") {
  CHECK(headline({untimed_row("naive", 64, "failed", "no"),
                  untimed_row("tile", 64, "skipped", "no")}) == "No row passed.");
  CHECK(headline({untimed_row("naive", 64, "passed", kMissing)}).empty());
  CHECK(headline({timed_row("naive", 1024, 4300, 1)}) ==
        "naive takes 4.300 ms, 1 % of the fp32 limit.");
}
