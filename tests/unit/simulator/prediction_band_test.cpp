// Bands of predicted times.
#include "model/prediction_band.hpp"

#include "support/catch.hpp"

namespace gpuexp::test {
namespace {

PredictionBand band(double time_us, const std::vector<Term>& terms, bool spans_gpus = false) {
  const auto found = prediction_band(time_us, terms, spans_gpus);
  REQUIRE(found);
  return *found;
}

TEST_CASE("a band is narrow if a measured rate explains most of the time", "[band]") {
  for (const char* resource : {"dram", "shared", "issue", "fma", "tensor", "blocks", "links"}) {
    INFO(resource);
    const PredictionBand narrow = band(100, {{resource, 60}, {"latency", 60}, {"launch", 19}});
    CHECK(narrow.pct == kNarrowBandPct);
    CHECK(narrow.cause.empty());
  }
}

TEST_CASE("a wide band has its cause", "[band]") {
  CHECK(band(100, {{"dram", 90}, {"launch", 20}}).cause == "launch");
  CHECK(band(100, {{"launch", 60}, {"l2", 30}}).cause == "launch");
  CHECK(band(100, {{"l2", 99}, {"dram", 98}}).cause == "l2");
  CHECK(band(100, {{"dram", 99}, {"l2", 98}}).cause.empty());
  CHECK(band(100, {{"l1", 99}, {"l2", 98}}).cause == "l1");
  CHECK(band(100, {{"dram", 59}, {"issue", 58}}).cause == "latency");
  CHECK(band(100, {{"latency", 90}, {"dram", 50}}).cause == "latency");
  CHECK(band(100, {{"links", 99}}, true).cause == "gpus");
  // Waits may overlap with the use of a resource.
  CHECK(band(100, {{"latency", 90}, {"dram", 75}}).cause.empty());
}

TEST_CASE("a kernel of a user's file has no narrow band", "[band]") {
  const PredictionBand narrow = band_of_own_kernel({kNarrowBandPct, ""});
  CHECK(narrow.cause == "own_kernel");
  CHECK(narrow.pct > kNarrowBandPct);
  CHECK(band_of_own_kernel({25, "launch"}).cause == "launch");
}

TEST_CASE("each cause has a wider band than none", "[band]") {
  CHECK_FALSE(prediction_band(1, {}, false));
  for (const BandCause& cause : band_causes()) {
    INFO(cause.id);
    CHECK(cause.pct > kNarrowBandPct);
    CHECK_FALSE(cause.text.empty());
  }
}

}  // namespace
}  // namespace gpuexp::test
