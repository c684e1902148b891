// Predictions stored between runs of the program.
#include "simulated/prediction_store.hpp"

#include <fstream>

#include "support/catch.hpp"
#include "support/scratch_folder.hpp"

namespace gpuexp::test {
namespace {

TEST_CASE("a stored prediction is found only under its own key", "[predictions]") {
  const ScratchFolder folder;
  const PredictionStore store(folder.path() / "new" / "predictions");
  CHECK_FALSE(store.find("a"));
  store.keep("a", {1.5, {{"dram", 1.25}, {"issue", 0.5}}, "", {{8, 2, 6, 4, 64, 32}}});
  store.keep("b", {{}, {}, "it has no code"});
  const auto a = PredictionStore(folder.path() / "new" / "predictions").find("a");
  REQUIRE(a);
  CHECK(a->time_us == 1.5);
  REQUIRE(a->terms.size() == 2);
  CHECK(a->terms[0].resource == "dram");
  CHECK(a->terms[1].time_us == 0.5);
  CHECK(a->why_not.empty());
  REQUIRE(a->caches.size() == 1);
  CHECK(a->caches[0].l1_sectors == 8);
  CHECK(a->caches[0].l1_hits == 2);
  CHECK(a->caches[0].l2_sectors == 6);
  CHECK(a->caches[0].l2_hits == 4);
  CHECK(a->caches[0].dram_read_bytes == 64);
  CHECK(a->caches[0].dram_written_bytes == 32);
  const auto b = store.find("b");
  REQUIRE(b);
  CHECK_FALSE(b->time_us);
  CHECK(b->why_not == "it has no code");
  CHECK_FALSE(store.find("c"));
  CodePrediction unsettled{{}, {}, "there is no ptxas"};
  unsettled.is_settled = false;
  store.keep("c", unsettled);
  CHECK_FALSE(store.find("c"));
}

TEST_CASE("damaged files and files with another key are ignored", "[predictions]") {
  const ScratchFolder folder;
  const PredictionStore store(folder.path());
  store.keep("a", {1.5, {{"dram", 1}}, ""});
  const auto file = *std::filesystem::directory_iterator(folder.path());
  SECTION("truncated") {
    std::filesystem::resize_file(file, 10);
  }
  SECTION("invalid contents") {
    std::ofstream(file.path())
        << R"({"key": "a", "time_us": "soon", "terms": [], "why_not": "", "caches": []})";
  }
  SECTION("a time without a bound") {
    std::ofstream(file.path())
        << R"({"key": "a", "time_us": 2, "terms": [], "why_not": "", "caches": []})";
  }
  SECTION("written without cache counts") {
    std::ofstream(file.path())
        << R"({"key": "a", "time_us": 2, "terms": [["dram", 1]], "why_not": ""})";
  }
  SECTION("another key") {
    std::ofstream(file.path())
        << R"({"key": "b", "time_us": 2, "terms": [["dram", 1]], "why_not": "", "caches": []})";
  }
  CHECK_FALSE(store.find("a"));
  store.keep("a", {2.5, {{"dram", 2}}, ""});
  CHECK(store.find("a")->time_us == 2.5);
}

TEST_CASE("without a usable folder nothing is stored", "[predictions]") {
  const PredictionStore nowhere({});
  nowhere.keep("a", {1.5, {}, ""});
  CHECK_FALSE(nowhere.find("a"));
  const PredictionStore not_made("/dev/null/predictions");
  not_made.keep("a", {1.5, {}, ""});
  CHECK_FALSE(not_made.find("a"));
}

}  // namespace
}  // namespace gpuexp::test
