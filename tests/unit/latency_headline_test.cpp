// Plateaus and steps of latencies.
#include "analysis/headline.hpp"
#include "support/catch.hpp"

namespace gpuexp::test {
namespace {

using Ends = std::vector<std::pair<std::size_t, std::size_t>>;

Ends ends(const std::vector<double>& values) {
  Ends found;
  for (const Plateau& plateau : plateaus_of(values))
    found.emplace_back(plateau.first, plateau.last);
  return found;
}

TEST_CASE("values within 5 % form a plateau; values between plateaus do not") {
  CHECK(ends({34, 34, 34.2, 69, 161, 282, 283, 294, 387, 665, 668}) ==
        Ends{{0, 2}, {5, 7}, {9, 10}});
  CHECK(ends({284, 286, 283, 291.8}) == Ends{{0, 3}});
  CHECK(ends({34, 69, 161, 282}).empty());
  CHECK(ends({34}).empty());
  CHECK(ends({}).empty());
}

// In a slow rise neighbours are close, but the rise is not one plateau.
TEST_CASE("a plateau spans at most 5 % from its minimum to its maximum") {
  CHECK(ends({100, 104, 108, 112}) == Ends{{0, 1}, {2, 3}});
}

}  // namespace
}  // namespace gpuexp::test
