// Verdicts of rows about published figures: when each one appears, and when not.
#include "results/claim_outcomes.hpp"

#include "render/figure_views.hpp"
#include "support/catch.hpp"

namespace gpuexp::test {

namespace {

std::shared_ptr<const NameList> names(const std::vector<std::string>& of) {
  auto list = std::make_shared<NameList>();
  for (const std::string& name : of)
    list->add(name);
  return list;
}

ResultRecord record(const std::string& variant, std::int64_t n, std::optional<double> time_us) {
  ResultRecord r;
  r.experiment = "ladder";
  r.family = "toy";
  r.variant = variant;
  r.mode = Mode::warm;
  r.status = Status::passed;
  r.executed_on = kOnGpu;
  r.time_median_us = time_us;
  r.parameters = NamedValues(names({"n", "dtype"}));
  r.parameters.set("n", n);
  r.parameters.set("dtype", std::string("fp16"));
  r.metrics = NamedValues(names({"passes"}));
  r.counters = NamedValues(names({"dram_read_bytes", "dram_write_bytes"}));
  return r;
}

std::vector<ResultRecord> rows() {
  std::vector<ResultRecord> rows{record("slow", 64, 500), record("slow", 128, 2000),
                                 record("fast", 128, 400)};
  rows[1].operations = 4e9;
  rows[1].useful_bytes = 2e9;
  rows[1].tflops = 2.0;
  rows[1].predicted_time_us = 1000;
  rows[2].predicted_time_us = 500;
  rows[2].counters.set("dram_read_bytes", 3e9);
  rows[2].counters.set("dram_write_bytes", 1e9);
  rows[2].metrics.set("passes", 5.0);
  return rows;
}

ClaimedRow row(const std::string& variant, std::int64_t n = 128) {
  return {"ladder", variant, "warm", {{"n", n}}, 1};
}

/// A published factor of 5, within 10 %.
Claim claim() {
  Claim c;
  c.name = "speed-up";
  c.unit = "×";
  c.published = 5;
  c.quantity = {{"time_median_us"}, {row("slow")}, {row("fast")}, {}, 1};
  c.band_low = 0.9;
  c.band_high = 1.1;
  c.because = "it is a toy";
  return c;
}

}  // namespace

TEST_CASE("a number within the band is reproduced", "[figures]") {
  const ClaimOutcome outcome = outcome_of(claim(), rows());
  CHECK(outcome.verdict == ClaimVerdict::reproduced);
  CHECK(outcome.value == 5.0);
  CHECK(outcome.expected == 5.0);
  CHECK_FALSE(outcome.is_transposed);
  CHECK(outcome.ratio == 1.0);
  CHECK(outcome.origin == ValueOrigin::measured);
  CHECK(outcome.why == "1 of 5×, within the band of 0.9 to 1.1: it is a toy");
}

TEST_CASE("a number at an end of the band is reproduced, one beyond it is not", "[figures]") {
  Claim c = claim();
  for (const auto& [low, high, verdict] : {std::tuple{1.0, 2.0, ClaimVerdict::reproduced},
                                           {0.5, 1.0, ClaimVerdict::reproduced},
                                           {1.001, 2.0, ClaimVerdict::not_reproduced},
                                           {0.5, 0.999, ClaimVerdict::not_reproduced}}) {
    CAPTURE(low, high);
    c.band_low = low;
    c.band_high = high;
    CHECK(outcome_of(c, rows()).verdict == verdict);
  }
}

TEST_CASE("a count that must be equal says so; a different count is not reproduced", "[figures]") {
  Claim c = claim();
  c.band_low = c.band_high = 1;
  CHECK(outcome_of(c, rows()).why == "5×, exactly as expected: it is a toy");
  c.published = 5.01;
  CHECK(outcome_of(c, rows()).verdict == ClaimVerdict::not_reproduced);
}

TEST_CASE("a number outside the band has a reason, if one is known", "[figures]") {
  Claim c = claim();
  c.published = 10;
  const ClaimOutcome unknown = outcome_of(c, rows());
  CHECK(unknown.verdict == ClaimVerdict::not_reproduced);
  CHECK(unknown.ratio == 0.5);
  CHECK_THAT(unknown.why,
             contains_text("0.5 of 10×, outside of the band of 0.9 to 1.1. No known reason "
                           "explains the difference."));
  c.model.bound_by = "dram";
  CHECK_THAT(
      outcome_of(c, rows()).why,
      contains_text("According to the model, ladder/slow at n = 128, warm is bound by dram here."));
  c.expectation = "A toy has 100 SMs.";
  CHECK_THAT(outcome_of(c, rows()).why, contains_text("1.1. A toy has 100 SMs."));
  CHECK_THAT(outcome_of(claim(), rows()).why, !contains_text("bound by"));
}

TEST_CASE("the model transposes a number if it has both devices", "[figures]") {
  Claim c = claim();
  c.published = 10;
  c.model.here = 2;
  c.model.published = 4;
  ClaimOutcome outcome = outcome_of(c, rows());
  CHECK(outcome.is_transposed);
  CHECK(outcome.expected == 5.0);
  CHECK(outcome.verdict == ClaimVerdict::reproduced);
  CHECK_THAT(outcome.why, contains_text("1 of 5×, within"));
  c.model.published.reset();
  c.model.why_not = "no code for it";
  outcome = outcome_of(c, rows());
  CHECK_FALSE(outcome.is_transposed);
  CHECK(outcome.expected == 10.0);
  CHECK(outcome.verdict == ClaimVerdict::not_reproduced);
  CHECK_THAT(outcome.why, contains_text("The published number is used unchanged: no code for it."));
}

TEST_CASE("rows that are missing, skipped or untimed are not measured", "[figures]") {
  const auto why = [](const Claim& c, const std::vector<ResultRecord>& of) {
    const ClaimOutcome outcome = outcome_of(c, of);
    CHECK(outcome.verdict == ClaimVerdict::not_measured);
    CHECK_FALSE(outcome.value);
    CHECK_FALSE(outcome.ratio);
    CHECK(outcome.origin == ValueOrigin::none);
    return outcome.why;
  };
  CHECK(why(claim(), {}) == "no row matches ladder/slow at n = 128, warm");
  auto some = rows();
  some[2].status = Status::skipped;
  some[2].reason = "the library is not installed";
  CHECK(why(claim(), some) ==
        "ladder/fast at n = 128, warm: skipped: the library is not installed");
  some = rows();
  some[1].time_median_us.reset();
  CHECK(why(claim(), some) == "ladder/slow at n = 128, warm: it has no time_median_us");
  some[1].executed_on = kSimulated;
  CHECK(why(claim(), some) == "ladder/slow at n = 128, warm: simulated rows have no times");
  some = rows();
  some.push_back(some[1]);
  CHECK(why(claim(), some) == "several rows match ladder/slow at n = 128, warm");
}

TEST_CASE("a time that was not measured is never replaced by the model's", "[figures]") {
  Claim c = claim();
  c.model.here = 5;
  CHECK(outcome_of(c, {}).verdict == ClaimVerdict::not_measured);
  auto simulated = rows();
  for (ResultRecord& r : simulated) {
    r.executed_on = kSimulated;
    r.time_median_us.reset();
  }
  CHECK(outcome_of(c, simulated).verdict == ClaimVerdict::not_measured);
}

TEST_CASE("counts name their origin", "[figures]") {
  Claim c = claim();
  c.unit = "GB";
  c.published = 4;
  c.quantity = {
      {"counter.dram_read_bytes", "counter.dram_write_bytes"}, {row("fast")}, {}, {}, 1e9};
  ClaimOutcome outcome = outcome_of(c, rows());
  CHECK(outcome.value == 4.0);
  CHECK(outcome.origin == ValueOrigin::counted);
  auto simulated = rows();
  simulated[2].executed_on = kSimulated;
  CHECK(outcome_of(c, simulated).origin == ValueOrigin::simulated);
  auto uncounted = rows();
  uncounted[2].counters.set("dram_write_bytes", Field{});
  CHECK(outcome_of(c, uncounted).verdict == ClaimVerdict::not_measured);
  CHECK(outcome_of(c, uncounted).why ==
        "ladder/fast at n = 128, warm: counter.dram_write_bytes was not counted");
  c.model.here = 8;
  outcome = outcome_of(c, uncounted);
  CHECK(outcome.origin == ValueOrigin::predicted);
  CHECK(outcome.value == 8.0);
  CHECK(outcome.verdict == ClaimVerdict::not_reproduced);
}

TEST_CASE("computed and measured metrics have different origins", "[figures]") {
  Claim c = claim();
  c.unit = "";
  c.quantity = {{"metric.passes"}, {row("fast")}, {}, {}, 1};
  CHECK(outcome_of(c, rows()).origin == ValueOrigin::measured);
  c.model.here = 5;
  CHECK(outcome_of(c, rows()).origin == ValueOrigin::computed);
}

TEST_CASE("rows are summed with their multiplicity, and divided", "[figures]") {
  Quantity q{{"time_median_us"}, {row("slow"), row("slow", 64)}, {}, {}, 1e3};
  CHECK(value_of(q, rows()).number == 2.5);
  q.rows[1].times = 4;
  CHECK(value_of(q, rows()).number == 4.0);
  q.over = {row("fast")};
  q.scale = 1;
  CHECK(value_of(q, rows()).number == 10.0);
  q = {{"operations"}, {row("slow")}, {row("slow")}, {"useful_bytes"}, 1};
  CHECK(value_of(q, rows()).number == 2.0);
}

TEST_CASE("the model's number comes from predicted times", "[figures]") {
  CHECK(model_value_of(claim().quantity, rows()).number == 2.0);
  const Quantity rate{{"tflops"}, {row("slow")}, {}, {}, 1};
  CHECK(model_value_of(rate, rows()).number == Approx(4.0));
  const Quantity bytes{{"useful_gb_per_s"}, {row("slow")}, {}, {}, 1};
  CHECK(model_value_of(bytes, rows()).number == Approx(2000.0));
  const Quantity missing{{"time_median_us"}, {row("slow", 64)}, {}, {}, 1};
  CHECK_FALSE(model_value_of(missing, rows()).number);
  CHECK(model_value_of(missing, rows()).why_not ==
        "ladder/slow at n = 64, warm: the model has no time_median_us");
}

TEST_CASE("a row is selected by all of the claim's fields", "[figures]") {
  const ResultRecord r = record("slow", 128, 1);
  CHECK(is_row(row("slow"), r));
  CHECK_FALSE(is_row(row("fast"), r));
  CHECK_FALSE(is_row(row("slow", 64), r));
  CHECK(is_row({"ladder", "slow", "warm", {{"dtype", std::string("fp16")}, {"n", 128.0}}, 1}, r));
  CHECK_FALSE(is_row({"ladder", "slow", "warm", {{"dtype", std::string("bf16")}}, 1}, r));
  CHECK_FALSE(is_row({"ladder", "slow", "cold", {}, 1}, r));
  CHECK_FALSE(is_row({"other", "slow", "warm", {}, 1}, r));
}

TEST_CASE("figures are shown with source and summary", "[figures][render]") {
  PublishedFigure figure;
  figure.title = "Steps";
  figure.source = {"A. Author", "Matmul", 2022, "https://example.org", "table 1"};
  figure.published_on = "NVIDIA A100";
  figure.claims = {claim(), claim(), claim()};
  figure.claims[1].published = 50;
  figure.claims[2].quantity.rows = {row("none")};
  figure.claims[0].model.here = 2;
  figure.claims[0].model.published = 2;
  const auto views = figure_views({figure}, rows());
  REQUIRE(views.size() == 1);
  CHECK(views[0].facts == std::vector<std::string>{"A. Author, 2022: Matmul, table 1",
                                                   "NVIDIA A100", "https://example.org"});
  REQUIRE(views[0].rows.size() == 3);
  CHECK(views[0].rows[0].cells ==
        std::vector<std::string>{"speed-up", "5×", "5×", "2×", "5×", "reproduced"});
  CHECK(views[0].rows[1].cells ==
        std::vector<std::string>{"speed-up", "50×", "50×, unchanged", "", "5×", "not reproduced"});
  CHECK(views[0].rows[2].cells ==
        std::vector<std::string>{"speed-up", "5×", "5×, unchanged", "", "", "not measured"});
  CHECK(views[0].explanations.size() == 3);
  CHECK(figures_summary({figure}, rows()) ==
        "published numbers: 1 reproduced, 1 not reproduced, 1 not measured");
  CHECK(figures_summary({}, rows()).empty());
  const auto predicted = predicted_figure_views({figure});
  REQUIRE(predicted.size() == 1);
  CHECK(predicted[0].columns.size() == 4);
  CHECK(predicted[0].rows[0].cells == std::vector<std::string>{"speed-up", "5×", "5×", "2×"});
}

}  // namespace gpuexp::test
