#include "analysis/run_comparison.hpp"

#include <limits>

#include "analysis/compared_row.hpp"
#include "render/comparison_json.hpp"
#include "render/comparison_page.hpp"
#include "render/terminal.hpp"
#include "support/catch.hpp"
#include "support/run_report.hpp"

namespace gpuexp::test {
namespace {

using Samples = std::vector<double>;

const Samples kTen(20, 10.0);
const Samples kTwelve(20, 12.0);

ComparedRow only_row(const RunRow& a, const RunRow& b) {
  const RunComparison comparison = compare_runs(run_report({a}), run_report({b}), {0.02, 0});
  REQUIRE(comparison.rows.size() == 1);
  return comparison.rows.front();
}

TEST_CASE("a difference in time but not in cycles is not a difference of the program",
          "[compare]") {
  const auto at = [](double mhz, const Samples& samples) {
    return RunRow{"e/row", samples, "passed", "", mhz};
  };
  const ComparedRow throttled = only_row(at(1800, kTen), at(1500, kTwelve));
  CHECK(throttled.outcome == Outcome::inconclusive);
  CHECK(throttled.reason == "different in time but not in cycles: SM clock B/A 0.833");
  CHECK(only_row(at(1500, kTwelve), at(1800, kTen)).outcome == Outcome::inconclusive);
  CHECK(only_row(at(1800, kTen), at(1790, kTwelve)).outcome == Outcome::slower);
  CHECK(only_row(at(1800, kTwelve), at(1790, kTen)).outcome == Outcome::faster);
  // Memory does not follow the SM clock: equal times count as the same.
  CHECK(only_row(at(1800, kTen), at(1500, kTen)).outcome == Outcome::same);
  CHECK(only_row(at(0, kTen), at(1500, kTwelve)).outcome == Outcome::slower);
}

TEST_CASE("a difference between empty kernels is not a difference of the program", "[compare]") {
  const auto with_floor = [](double floor_us, const Samples& samples) {
    return RunRow{"e/row", samples, "passed", "", 0, floor_us};
  };
  const Samples ten_and_a_half(20, 10.5);
  // 0.4 of the 0.5 µs come from the floor: 1 % remains, below the effect of 2 %.
  const ComparedRow shifted = only_row(with_floor(2.5, kTen), with_floor(2.9, ten_and_a_half));
  CHECK(shifted.outcome == Outcome::same);
  CHECK(shifted.reason.empty());
  CHECK(shifted.floor_shift_us == Approx(0.4));
  const ComparedRow back = only_row(with_floor(2.9, ten_and_a_half), with_floor(2.5, kTen));
  CHECK(back.outcome == Outcome::same);
  CHECK(back.floor_shift_us == Approx(-0.4));
  // 0.6 of the 0.7 µs come from the floor: 1 % remains.
  const Samples ten_and_seven_tenths(20, 10.7);
  const ComparedRow partly = only_row(with_floor(2.5, kTen), with_floor(3.1, ten_and_seven_tenths));
  CHECK(partly.outcome == Outcome::same);
  const ComparedRow opposed = only_row(with_floor(3.1, kTen), with_floor(2.5, ten_and_a_half));
  CHECK(opposed.outcome == Outcome::inconclusive);
  CHECK(opposed.reason == "empty kernels of the two runs also differ by 0.600 us");
  CHECK(only_row(with_floor(2.5, kTen), with_floor(2.9, kTen)).outcome == Outcome::same);
  CHECK(only_row(with_floor(2.5, kTen), with_floor(2.55, ten_and_a_half)).outcome ==
        Outcome::slower);
  CHECK(only_row(with_floor(2.5, kTen), with_floor(2.9, kTwelve)).outcome == Outcome::slower);
}

TEST_CASE("each kernel of a launch adds the difference between empty kernels", "[compare]") {
  const auto row = [](double floor_us, std::int64_t kernels, const Samples& samples) {
    return RunRow{"e/row", samples, "passed", "", 0, floor_us, kernels};
  };
  const Samples eleven(20, 11.0);
  // One empty kernel explains 1 % of 10 % more time, and ten explain all.
  CHECK(only_row(row(2.5, 1, kTen), row(2.6, 1, eleven)).outcome == Outcome::slower);
  const ComparedRow of_ten = only_row(row(2.5, 10, kTen), row(2.6, 10, eleven));
  CHECK(of_ten.outcome == Outcome::same);
  CHECK(of_ten.floor_shift_us == Approx(1.0));
  // If one run lacks the number of kernels, the other run's number is used.
  CHECK(only_row(row(2.5, 0, kTen), row(2.6, 10, eleven)).outcome == Outcome::same);
  CHECK(only_row(row(2.5, 10, kTen), row(2.6, 0, eleven)).outcome == Outcome::same);
  CHECK(only_row(row(2.5, 0, kTen), row(2.6, 0, eleven)).outcome == Outcome::slower);
  // Neither slower nor the same, with the reason.
  const ComparedRow partly = only_row(row(2.6, 10, kTen), row(2.5, 10, Samples(20, 10.3)));
  CHECK(partly.outcome == Outcome::inconclusive);
  CHECK(partly.reason == "10 empty kernels of the two runs also differ by 1.000 us");
  // A larger slowdown remains one.
  CHECK(only_row(row(2.5, 10, kTen), row(2.6, 10, kTwelve)).outcome == Outcome::slower);
}

TEST_CASE("rows are matched by key, and none is dropped", "[compare]") {
  const Report a = run_report({{"e/same", kTen},
                               {"e/slower", kTen},
                               {"e/faster", kTwelve},
                               {"e/gone", kTen},
                               {"f/broken", kTen},
                               {"f/repaired", {}, "failed", "no memory"},
                               {"f/skipped", {}, "skipped"}});
  const Report b = run_report({{"f/skipped", {}, "skipped"},
                               {"f/repaired", kTen},
                               {"f/broken", {}, "incorrect", "1 of 8 wrong"},
                               {"e/faster", kTen},
                               {"e/slower", kTwelve},
                               {"e/same", kTen},
                               {"e/extra", kTen}});
  const RunComparison c = compare_runs(a, b, {0.02, 0});
  std::vector<std::pair<std::string, Outcome>> found;
  for (const ComparedRow& row : c.rows)
    found.emplace_back(row.record->key, row.outcome);
  CHECK(found == std::vector<std::pair<std::string, Outcome>>{{"e/same", Outcome::same},
                                                              {"e/slower", Outcome::slower},
                                                              {"e/faster", Outcome::faster},
                                                              {"e/gone", Outcome::missing},
                                                              {"f/broken", Outcome::broken},
                                                              {"f/repaired", Outcome::repaired},
                                                              {"f/skipped", Outcome::untested},
                                                              {"e/extra", Outcome::added}});
  CHECK(c.rows[1].ratio->value == Approx(1.2));
  CHECK(c.rows[4].reason == "incorrect in B: 1 of 8 wrong");
  CHECK(c.table.rows.size() == c.rows.size());
  CHECK(c.all.ratios.size() == 3);
  REQUIRE(c.experiments.size() == 2);
  CHECK(c.experiments[0].experiment == "e");
  CHECK(c.experiments[0].count(Outcome::added) == 1);
  CHECK(c.experiments[1].count(Outcome::broken) == 1);
}

TEST_CASE("a row that did not pass in A is not missing from B", "[compare]") {
  const Report a = run_report({{"e/kept", kTen},
                               {"e/skipped", {}, "skipped", "needs a library"},
                               {"e/failed", {}, "failed"},
                               {"e/sampled", kTen, "sampled"}});
  const RunComparison c = compare_runs(a, run_report({{"e/kept", kTen}}), {0.02, 0});
  REQUIRE(c.rows.size() == 4);
  CHECK(c.rows[1].outcome == Outcome::untested);
  CHECK(c.rows[1].reason == "skipped in A: needs a library, not in B");
  CHECK_FALSE(c.rows[1].status_b.has_value());
  CHECK(c.rows[2].outcome == Outcome::untested);
  CHECK(c.rows[3].outcome == Outcome::missing);
  CHECK(c.all.count(Outcome::missing) == 1);  // the number that --fail-on missing tests
  CHECK(c.rows[0].is_in_both);
  CHECK_FALSE(c.rows[1].is_in_both);
  // Untested rows are shown only on request.
  CHECK(page_of(c, {}, {}).experiments.front().rows.size() == 1);
  CHECK(page_of(c, {}, {true}).experiments.front().rows.size() == 4);
}

TEST_CASE("rows that cannot be compared are inconclusive, with the reason", "[compare]") {
  constexpr double kNotANumber = std::numeric_limits<double>::quiet_NaN();
  const auto reason = [](const Samples& a, const Samples& b) {
    const ComparedRow row = only_row({"e/x", a}, {"e/x", b});
    CHECK(row.outcome == Outcome::inconclusive);
    CHECK(!row.ratio.has_value());
    return row.reason;
  };
  CHECK(reason(kTen, {}) == "no samples in B");
  CHECK(reason({10, 10, 10}, kTen) == "3 samples in A, 6 are needed");
  CHECK(reason({10}, kTen) == "1 sample in A, 6 are needed");
  CHECK(reason(Samples(20, kNotANumber), kTen) == "statistics of a sample that is not finite in A");
  CHECK(reason(kTen, Samples(20, 0.0)) == "times in B are not above the timer resolution");
  CHECK(reason(Samples(20, -1.0), kTen) == "times in A are not above the timer resolution");
}

TEST_CASE("an interval across a limit is inconclusive", "[compare]") {
  Samples wide(20, 10.0);
  for (std::size_t i = 0; i < wide.size(); i += 2)
    wide[i] = 11.0;
  const ComparedRow row = only_row({"e/x", kTen}, {"e/x", wide});
  CHECK(row.outcome == Outcome::inconclusive);
  CHECK(row.reason == "the interval includes the minimum effect");
}

TEST_CASE("a duplicate key cannot be matched", "[compare]") {
  const RunComparison c = compare_runs(run_report({{"e/x", kTen}, {"e/x", kTwelve}}),
                                       run_report({{"e/x", kTen}}), {0.02, 0});
  REQUIRE(c.rows.size() == 1);
  CHECK(c.rows.front().outcome == Outcome::inconclusive);
  CHECK(c.rows.front().reason == "the key is in 2 rows of A and 1 of B");
}

TEST_CASE("the minimum effect refers to the faster side, and a tick widens the interval",
          "[compare]") {
  const RunComparison c = compare_runs(run_report({{"e/x", kTen}}, 0.5),
                                       run_report({{"e/x", kTwelve}}, 0.5), {0.01, 0.4});
  const ComparedRow& row = c.rows.front();
  CHECK(row.effect.value() == Approx(0.04));
  CHECK(row.ratio->ci95.low < 1.2 - 0.02);
  CHECK(row.outcome == Outcome::slower);
}

TEST_CASE("reports without keys or rows", "[compare]") {
  CHECK_THROWS_AS(compare_runs(Report{}, run_report({}), {}), ReportError);
  const RunComparison c = compare_runs(run_report({}), run_report({}), {});
  CHECK(c.rows.empty());
  CHECK(render_terminal(page_of(c, {}, {}), {}) == "0 rows\n");
}

TEST_CASE("rows can be selected by key", "[compare]") {
  Report report = run_report({{"e/a", {1, 2}}, {"e/b", {3}}, {"e/c", {4}}});
  keep_keys(report, {"e/c", "e/a", "e/d"});
  REQUIRE(report.table.rows.size() == 2);
  CHECK(report.samples_us == std::vector<std::vector<double>>{{1, 2}, {4}});
  CHECK(report.table.rows[1].key == "e/c");
  report.samples_us.clear();  // left out
  keep_keys(report, {"e/c"});
  CHECK(report.table.rows.size() == 1);
  CHECK(report.samples_us.empty());
  report.table.columns.pop_back();
  CHECK_THROWS_AS(keep_keys(report, {"e/c"}), ReportError);
}

TEST_CASE("each differing circumstance has a line", "[compare]") {
  Provenance a;
  a.git_commit = "0123456789abcdef";
  a.cuda_toolkit = "13.0.88";
  a.settings = {{"seed", "7"}, {"x.max_samples", std::int64_t{100}}};
  a.device.name = "NVIDIA H200";
  a.device.uuid = "GPU-1";
  CHECK(differences(a, a).empty());
  Provenance b = a;
  b.git_commit = "fedcba9876543210";
  b.git_dirty = true;
  b.cuda_toolkit = "13.1.0";
  b.settings = {{"seed", "8"}, {"x.max_samples", std::int64_t{200}}, {"y.max_samples", 1.5}};
  b.device.uuid = "GPU-2";
  b.device.driver_version = "580";
  CHECK(differences(a, b) ==
        std::vector<std::string>{"another GPU of this model: GPU-1 → GPU-2",
                                 "driver: unknown → 580", "toolkit: 13.0.88 → 13.1.0",
                                 "commit: 0123456789ab → fedcba987654 with local changes",
                                 "seed: 7 → 8", "settings: x.max_samples 100 → 200"});
}

TEST_CASE("only cells that passed in every run count as repeated", "[compare]") {
  const Report first = run_report({{"e/x", kTen}, {"e/y", kTen}});
  const Report second = run_report({{"e/x", kTwelve}, {"e/y", kTen}});
  const Report third = run_report({{"e/x", kTen}, {"e/y", {}, "failed"}});
  const auto cells = repeated_cells({first, second, third});
  REQUIRE(cells.size() == 3);
  CHECK(std::sqrt(cells[0].ratio.low * cells[0].ratio.high) == Approx(1.2));
  CHECK(cells[0].time_us == 10.0);
}

TEST_CASE("the largest slowdown comes first, and equal rows only on request", "[compare]") {
  const Report a = run_report({{"e/same", kTen}, {"e/little", kTen}, {"e/much", kTen}});
  const Report b =
      run_report({{"e/same", kTen}, {"e/little", Samples(20, 11.0)}, {"e/much", kTwelve}});
  const RunComparison c = compare_runs(a, b, {0.02, 0});
  const Page page = page_of(c, {}, {});
  REQUIRE(page.experiments.size() == 1);
  REQUIRE(page.experiments.front().rows.size() == 2);
  CHECK(page.experiments.front().rows.front().cells[3] == "1.200");
  CHECK(page_of(c, {}, {true}).experiments.front().rows.size() == 3);
  CHECK(page.summary == "3 rows: 2 slower, 1 same; geometric mean of B/A 1.097 (1.097–1.097)");
}

}  // namespace
}  // namespace gpuexp::test
