// Plateaus and knees of latencies.
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

TEST_CASE("values that keep within 5 % are a plateau, and what lies between is none") {
  CHECK(ends({34, 34, 34.2, 69, 161, 282, 283, 294, 387, 665, 668}) ==
        Ends{{0, 2}, {5, 7}, {9, 10}});
  CHECK(ends({284, 286, 283, 291.8}) == Ends{{0, 3}});
  CHECK(ends({34, 69, 161, 282}).empty());
  CHECK(ends({34}).empty());
  CHECK(ends({}).empty());
}

// Of a slow rise each value is near its neighbour: the whole of it is no plateau.
TEST_CASE("a plateau is no wider than 5 % from its least to its largest value") {
  CHECK(ends({100, 104, 108, 112}) == Ends{{0, 1}, {2, 3}});
}

}  // namespace
}  // namespace gpuexp::test
