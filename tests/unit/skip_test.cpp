// What tests/scripts/skip_test.py starts, one at a time: hidden from a run of everything.
#include "support/skip.hpp"

namespace gpuexp::test {
namespace {

TEST_CASE("a test whose tool is missing", "[.skip_machine_code]") {
  skip(Tier::machine_code, "no cuobjdump");
}

TEST_CASE("a test whose GPU has no counters", "[.skip_gpu]") {
  skip(Tier::gpu, "no hardware counters");
}

TEST_CASE("a test that has what it needs", "[.skip_none]") {
  CHECK(true);
}

TEST_CASE("a test that fails beside one that is skipped", "[.skip_fails]") {
  skip(Tier::hardware, "no such ability");
  CHECK(false);
}

TEST_CASE("a test that fails as often as the code for skipped tests says", "[.skip_fails_often]") {
  for (int i = 0; i < kSkipped; ++i)
    CHECK(false);
}

}  // namespace
}  // namespace gpuexp::test
