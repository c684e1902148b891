// Tests that tests/scripts/skip_test.py starts one by one; hidden by default.
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

TEST_CASE("a test that fails next to a skipped one", "[.skip_fails]") {
  skip(Tier::hardware, "no such ability");
  CHECK(false);
}

TEST_CASE("a test with as many failures as the code for skipped tests", "[.skip_fails_often]") {
  for (int i = 0; i < kSkipped; ++i)
    CHECK(false);
}

}  // namespace
}  // namespace gpuexp::test
