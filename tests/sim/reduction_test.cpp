// Reductions and scans over many blocks; small problems of every family have one or two.
#include "sim/execution.hpp"

namespace gpuexp::test {
namespace {

TEST_CASE("reductions and scans of many blocks are correct", "[reduction]") {
  if (!has_machine_code()) return;
  const Family& family =
      family_of(GENERATE("reduction", "grid_sum", "argmax", "welford", "scan", "compaction"));
  // Both have tails. With the larger one, a thread of the grid handles several vectors.
  const std::int64_t n = GENERATE(16387, 4'300'001);
  for (Values values : choice_combinations(family)) {
    values.front() = n;
    CHECK(check_variants(family, values) >= 3);
  }
}

}  // namespace
}  // namespace gpuexp::test
