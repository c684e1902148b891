// Comparison of variants of one run with other variants of another run.
#include "analysis/variant_pairs.hpp"

#include "analysis/run_comparison.hpp"
#include "support/catch.hpp"
#include "support/record_rows.hpp"

namespace gpuexp::test {
namespace {

using Catch::Matchers::Contains;

struct Timed {
  std::string experiment;
  std::string variant;
  std::string parameters;
  double us;
  std::string family = "f";
};

Report timed(const std::vector<Timed>& rows) {
  Table table;
  table.columns = {{"experiment", "", FieldType::text, ""},
                   {"family", "", FieldType::text, ""},
                   {"variant", "", FieldType::text, ""},
                   {"status", "", FieldType::text, ""},
                   {"key", "", FieldType::text, ""}};
  Report report;
  report.complete = true;
  for (const Timed& row : rows) {
    const std::string place = row.experiment + "/" + row.family + "/" + row.variant;
    table.rows.push_back({row.experiment, row.family, row.variant, "passed",
                          place + "/" + row.parameters + "/cold"});
    report.samples_us.emplace_back(20, row.us);
  }
  report.table = record_table(table);
  return report;
}

const Report& ours() {
  static const Report report = timed({{"e", "fused", "n=1", 10},
                                      {"e", "ops", "n=1", 50},
                                      {"e", "fused", "n=2", 20},
                                      {"other", "fused", "n=1", 10}});
  return report;
}

const Report& theirs() {
  static const Report report = timed({{"e", "eager", "n=1", 51}, {"e", "triton", "n=1", 12}});
  return report;
}

RunComparison compared(const std::vector<std::string>& pairs) {
  static std::pair<Report, Report> runs;
  runs = paired_by_variants(ours(), theirs(), variant_pairs_of(pairs));
  return compare_runs(runs.first, runs.second, {0.05, 0});
}

TEST_CASE("families of only one run are left out", "[compare]") {
  const Report a = timed({{"e", "fused", "n=1", 10}, {"e", "own", "n=1", 10, "h"}});
  const Report b = timed({{"e", "triton", "n=1", 12}, {"e", "triton", "n=1", 9, "g"}});
  const auto [of_a, of_b] = paired_by_variants(a, b, variant_pairs_of({"fused=triton"}));
  REQUIRE(of_b.table.rows.size() == 1);
  CHECK(of_b.table.rows.front().family == "f");
  CHECK(of_a.table.rows.size() == 1);
  CHECK_THROWS_WITH(paired_by_variants(a, b, variant_pairs_of({"own=triton"})),
                    "no common family: 'own' in A is of h, 'triton' in B of f, g");
}

TEST_CASE("a variant is compared with another variant of the other run", "[compare]") {
  const RunComparison comparison = compared({"fused=triton", "ops=eager"});
  REQUIRE(comparison.rows.size() == 4);
  const ComparedRow& fused = comparison.rows[0];
  CHECK(fused.record->key == "e/f/fused → triton/n=1/cold");
  CHECK(fused.record->variant == "fused → triton");
  CHECK(fused.outcome == Outcome::slower);
  CHECK(fused.ratio->value == Approx(1.2));
  // Cells of only one run stay missing.
  CHECK(comparison.rows[1].record->key == "e/f/fused → triton/n=2/cold");
  CHECK(comparison.rows[1].outcome == Outcome::missing);
  CHECK(comparison.rows[2].outcome == Outcome::missing);
  CHECK(comparison.rows[3].record->key == "e/f/ops → eager/n=1/cold");
  CHECK(comparison.rows[3].outcome == Outcome::same);
}

TEST_CASE("one variant may be compared with several", "[compare]") {
  const RunComparison comparison = compared({"fused=triton", "fused=eager"});
  REQUIRE(comparison.rows.size() == 6);
  CHECK(comparison.rows[0].ratio->value == Approx(1.2));
  CHECK(comparison.rows[3].ratio->value == Approx(5.1));
}

TEST_CASE("invalid pairs of variants are named", "[compare]") {
  CHECK_THROWS_WITH(compared({"fused=jax"}),
                    "run B: no row of variant 'jax'; expected one of: eager, triton");
  CHECK_THROWS_WITH(compared({"fuse=triton"}),
                    "run A: no row of variant 'fuse'; expected one of: fused, ops");
  for (const char* text : {"fused", "=triton", "fused=", "a=b=c", ""})
    CHECK_THROWS_WITH(variant_pairs_of({text}), contains_text("is not a pair of variants"));
  CHECK_THROWS_WITH(variant_pairs_of({"a=b", "a=b"}), "'a=b' is given twice");
}

TEST_CASE("a key that names another variant than its row is rejected", "[compare]") {
  Report broken = ours();
  broken.table.rows[0].key = "e/f/ops/n=1/cold";
  CHECK_THROWS_WITH(
      paired_by_variants(broken, theirs(), variant_pairs_of({"fused=triton"})),
      "the key 'e/f/ops/n=1/cold' does not belong to variant 'fused' of experiment 'e'");
}

}  // namespace
}  // namespace gpuexp::test
