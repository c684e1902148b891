// Inputs by Zipf's law: frequency of each value.
#include "kernels/common/zipf.cuh"

#include <cmath>
#include <vector>

#include "support/catch.hpp"

namespace gpuexp::test {
namespace {

/// How often each rank was drawn; element 0 is unused.
std::vector<double> counts_of_ranks(unsigned bits, double exponent, std::int64_t draws) {
  constexpr std::uint64_t kSeed = 7;
  const ZipfDraw draw = zipf_draw(bits, exponent, kSeed);
  const std::uint32_t values = 1u << bits;
  std::vector<double> by_value(values);
  for (std::int64_t i = 0; i < draws; ++i)
    ++by_value.at(draw(i));
  std::vector<double> by_rank(values);
  for (std::uint32_t rank = 1; rank < values; ++rank)
    by_rank[rank] = by_value[(rank - 1) * kZipfMultiplier % values];
  return by_rank;
}

TEST_CASE("the r-th most frequent value is 1/r^s times as frequent as the first", "[zipf]") {
  constexpr std::int64_t kDraws = 1'000'000;
  for (const unsigned bits : {8u, 16u}) {
    for (const double exponent : {0.1, 0.5, 1.0, 2.0, 3.0}) {
      INFO(bits << " bits, exponent " << exponent);
      const std::vector<double> counts = counts_of_ranks(bits, exponent, kDraws);
      double sum = 0;
      double all = 0;
      for (std::size_t rank = 1; rank < counts.size(); ++rank) {
        sum += std::pow(static_cast<double>(rank), -exponent);
        all += counts[rank];
      }
      CHECK(all == kDraws);
      for (const std::size_t rank : {1, 2, 3, 5, 8, 13, 21, 34, 55, 89, 144, 233, 255}) {
        INFO("rank " << rank);
        const double expected = kDraws * std::pow(static_cast<double>(rank), -exponent) / sum;
        // Five standard deviations, plus the error of the piecewise linear approximation.
        CHECK(std::abs(counts[rank] - expected) <= 5 * std::sqrt(expected + 1) + 2e-3 * expected);
      }
    }
  }
}

}  // namespace
}  // namespace gpuexp::test
