// What predicted times explain of a difference between measured times.
#include "analysis/explanation.hpp"
#include "support/catch.hpp"
#include "support/explained_rows.hpp"

namespace gpuexp::test {
namespace {

using namespace explained;

TEST_CASE("Predictions may explain what amounts leave, with low confidence", "[explanation]") {
  Measured first{"first", 112, with(reading(5e7, 4), "active_warps_per_sm", 8)};
  Measured wide{"wide", 100, with(reading(5e7, 8), "active_warps_per_sm", 16)};
  first.predicted_us = 100;
  wide.predicted_us = 90;
  const auto r = read({first, wide});
  CHECK(*r->explanations.at(0).predicted == Approx(100.0 / 90));
  CHECK(r->explanations.at(0).cause == Cause::latency);
  CHECK(r->explanations.at(0).confidence == Confidence::low);
  CHECK_THAT(r->text(),
             contains_text("The cause is likely latency, waves or barriers (low confidence): "
                           "predict, which adds these to the amounts, gives 1.11× of 1.12×; first "
                           "has 8 warps per SM, wide has 16 warps per SM."));
  // A prediction that is off by half cannot explain a tenth, and is not quoted.
  first.predicted_us = 67;
  wide.predicted_us = 60;
  const auto off = read({first, wide});
  CHECK(off->explanations.at(0).cause == Cause::unknown);
  CHECK_THAT(off->text(), contains_text("is not explained"));
  CHECK_THAT(off->text(), !contains_text("predict"));
  CHECK_FALSE(read({first, {"wide", 100}})->explanations.at(0).predicted.has_value());
}

TEST_CASE("A prediction that fits both times is quoted, even if it contradicts", "[explanation]") {
  const auto text = [](double first_us, double wide_us) {
    Measured first{"first", 110, reading(5e7, 4)};
    Measured wide{"wide", 100, reading(5e7, 8)};
    first.predicted_us = first_us;
    wide.predicted_us = wide_us;
    return read({first, wide})->text();
  };
  CHECK_THAT(text(100, 110), contains_text(" predict gives the opposite, 0.909×."));
  CHECK_THAT(text(101, 100), contains_text(" predict gives 1.01× of 1.1×."));
  CHECK_THAT(text(101, 100), !contains_text("opposite"));
  CHECK_THAT(text(100, 140), !contains_text("predict"));
  CHECK_THAT(text(60, 100), !contains_text("predict"));
}

TEST_CASE("Latency is likely only if a prediction near the slower time is bound by latency",
          "[explanation]") {
  const auto text = [](double bytes, double predicted_us, const char* bound_by) {
    Measured first{"first", 1000, with(reading(bytes, 4), "active_warps_per_sm", 8)};
    first.predicted_us = predicted_us;
    first.bound_by = bound_by;
    return read({first, {"wide", 800, reading(bytes, 4)}})->text();
  };
  CHECK_THAT(
      text(6e8, 900, "latency"),
      contains_text("Latency is likely: predict, within a third of the time of first, has it "
                    "bound by latency, with 8 warps per SM."));
  CHECK_THAT(text(6e8, 900, "dram"), !contains_text("atency"));
  CHECK_THAT(text(6e8, 600, "latency"), !contains_text("atency"));
  CHECK_THAT(text(6e8, 0, ""), !contains_text("atency"));
  CHECK_THAT(text(8.1e8, 900, "latency"), !contains_text("atency"));  // bound by DRAM
  CHECK(read({{"first", 1000, reading(6e8, 4)}, {"wide", 800, reading(6e8, 4)}})
            ->explanations.at(0)
            .cause == Cause::unknown);
}

TEST_CASE("Latency is not a cause if amounts take a larger share of the slower variant's time",
          "[explanation]") {
  Measured first{"first", 108, reading(9e7, 4)};
  Measured fast{"fast", 100, reading(6e7, 4)};
  first.predicted_us = 108;
  fast.predicted_us = 100;
  CHECK(read({first, fast})->explanations.at(0).cause == Cause::unknown);
}

}  // namespace
}  // namespace gpuexp::test
