// Products of parameters, found from numbers of elements (gpuexp init).
#include "infer/extent_fit.hpp"

#include <algorithm>
#include <array>
#include <functional>
#include <numeric>
#include <set>

#include "base/random_bits.hpp"
#include "infer/dimension_order.hpp"
#include "support/catch.hpp"

namespace gpuexp::infer {
namespace {

const std::vector<std::string> kNames{"a", "b", "c", "d", "e"};

std::vector<std::string> names(std::size_t count) {
  return {kNames.begin(), kNames.begin() + static_cast<std::ptrdiff_t>(count)};
}

std::vector<std::int64_t> counts_of(const std::vector<Sizes>& samples,
                                    const std::function<std::int64_t(const Sizes&)>& count) {
  std::vector<std::int64_t> counts;
  for (const Sizes& sizes : samples)
    counts.push_back(count(sizes));
  return counts;
}

/// The product that fits `count` at the sampled sizes; "none".
std::string fitted(std::size_t parameters, std::int64_t multiple_of,
                   const std::function<std::int64_t(const Sizes&)>& count) {
  const std::vector<Sizes> samples = sample_sizes(parameters, multiple_of, scale_for(parameters));
  const auto fit = ExtentFitter(names(parameters), samples).exact(counts_of(samples, count));
  return fit ? product_text(*fit) : "none";
}

TEST_CASE("sampled sizes distinguish products of parameters") {
  for (std::size_t parameters = 1; parameters <= kNames.size(); ++parameters) {
    for (const std::int64_t multiple_of : {1, 32, 128, 256}) {
      INFO(parameters << " parameters, multiples of " << multiple_of);
      const std::vector<Sizes> samples =
          sample_sizes(parameters, multiple_of, scale_for(parameters));
      CHECK(samples.size() >= 4);
      for (const Sizes& sizes : samples) {
        CHECK(std::set<std::int64_t>(sizes.begin(), sizes.end()).size() == parameters);
        for (const std::int64_t size : sizes)
          CHECK(size % multiple_of == 0);
      }
      // Products of at most four factors, each parameter at most twice: no two agree at all
      // samples.
      std::set<std::vector<std::int64_t>> products;
      std::size_t count = 0;
      std::vector<int> exponents(parameters, 0);
      for (;;) {
        if (std::accumulate(exponents.begin(), exponents.end(), 0) <= 4) {
          ++count;
          products.insert(counts_of(samples, [&](const Sizes& sizes) {
            std::int64_t product = 1;
            for (std::size_t i = 0; i < parameters; ++i)
              for (int e = 0; e < exponents[i]; ++e)
                product *= sizes[i];
            return product;
          }));
        }
        std::size_t i = 0;
        while (i < parameters && ++exponents[i] == 3)
          exponents[i++] = 0;
        if (i == parameters) break;
      }
      CHECK(products.size() == count);
    }
  }
}

TEST_CASE("random products of parameters and constants are recovered") {
  constexpr int kCases = 300;
  std::uint64_t draws = 0;
  const auto draw = [&](std::uint64_t below) { return random_bits(7, draws++) % below; };
  for (int i = 0; i < kCases; ++i) {
    const std::size_t parameters = 1 + draw(4);
    const std::int64_t multiple_of = std::array{1, 32, 128}[draw(3)];
    std::vector<std::size_t> factors;
    for (std::uint64_t f = 1 + draw(3); f > 0; --f)
      factors.push_back(draw(parameters));
    std::sort(factors.begin(), factors.end());
    const auto constant = static_cast<std::int64_t>(1 + 2 * draw(3));
    std::string expected;
    for (const std::size_t f : factors)
      expected += (expected.empty() ? "" : "*") + kNames[f];
    if (constant > 1) expected += "*" + std::to_string(constant);
    CHECK(fitted(parameters, multiple_of, [&](const Sizes& sizes) {
            std::int64_t count = constant;
            for (const std::size_t f : factors)
              count *= sizes[f];
            return count;
          }) == expected);
  }
}

TEST_CASE("halos, quotients, sums and constants are recovered") {
  using S = const Sizes&;
  CHECK(fitted(1, 1, [](S) { return 5; }) == "5");
  CHECK(fitted(1, 1, [](S s) { return s[0] + 1; }) == "a + 1");
  CHECK(fitted(1, 1, [](S s) { return s[0] - 1; }) == "a - 1");
  CHECK(fitted(1, 1, [](S s) { return s[0] + 38; }) == "a + 38");
  CHECK(fitted(2, 1, [](S s) { return (s[0] + 2) * (s[1] + 2); }) == "(a + 2)*(b + 2)");
  CHECK(fitted(2, 1, [](S s) { return (s[0] + 12) * (s[1] + 12); }) == "(a + 12)*(b + 12)");
  CHECK(fitted(2, 1, [](S s) { return s[0] + s[1] - 1; }) == "a + b - 1");
  CHECK(fitted(2, 1, [](S s) { return s[0] * ((s[1] + 31) / 32); }) == "a*ceil_div(b, 32)");
  CHECK(fitted(1, 32, [](S s) { return s[0] / 4; }) == "a/4");
  CHECK(fitted(1, 96, [](S s) { return s[0] / 3; }) == "a/3");
  CHECK(fitted(1, 32, [](S s) { return s[0] / 3; }) == "floor_div(a, 3)");
  CHECK(fitted(2, 1, [](S s) { return (s[0] / 2) * (s[1] / 2); }) ==
        "floor_div(a, 2)*floor_div(b, 2)");
  CHECK(fitted(2, 32, [](S s) { return (s[0] / 2) * (s[1] / 4) * 3; }) == "a*b/8*3");
  SECTION("the simplest of several forms") {
    // Also ceil_div(a, 1) and a + 0.
    CHECK(fitted(1, 1, [](S s) { return s[0]; }) == "a");
    CHECK(fitted(3, 128, [](S s) { return s[0] * s[2]; }) == "a*c");
  }
  SECTION("nothing is invented") {
    CHECK(fitted(2, 1, [](S s) { return s[0] * s[1] - 7 * s[0] % 11; }) == "none");
    CHECK(fitted(1, 1, [](S) { return 0; }) == "none");
    CHECK(fitted(1, 1, [](S s) { return s[0] * s[0] + 3 * s[0] % 5; }) == "none");
    // Whole tiles: the size must be a multiple of the tile.
    CHECK(fitted(1, 1, [](S s) { return s[0] / 4 * 4; }) == "none");
    CHECK(fitted(1, 1, [](S s) { return (s[0] + 2) / 3 * 3; }) == "none");
  }
}

TEST_CASE("the size of a grid is a factor") {
  const std::vector<Sizes> samples = sample_sizes(1, 1, 300);
  const auto blocks = counts_of(samples, [](const Sizes& s) { return (s[0] + 99) / 100; });
  const ExtentFitter fitter(names(1), samples, {{"ceil_div(a, 100)", blocks}});
  CHECK(product_text(*fitter.exact(blocks)) == "ceil_div(a, 100)");
}

TEST_CASE("a product that is a little larger covers what a kernel leaves out") {
  const std::vector<Sizes> samples = sample_sizes(2, 1, 130);
  const ExtentFitter fitter(names(2), samples);
  const auto covered = [&](const std::function<std::int64_t(const Sizes&)>& count) {
    const auto fit = fitter.above(counts_of(samples, count));
    return fit ? product_text(*fit) : "none";
  };
  CHECK(covered([](const Sizes& s) { return s[0] * s[1] - 3; }) == "a*b");
  CHECK(covered([](const Sizes& s) { return s[0] * s[1] - s[1] - 1; }) == "a*b");
  CHECK(covered([](const Sizes& s) { return s[0] * s[1] / 2; }) == "none");
}

/// Elements of the rows and columns [first, first + count) of a matrix with this row length.
ElementSet tile(std::int64_t row, std::int64_t rows, std::int64_t column, std::int64_t columns,
                std::int64_t row_length) {
  ElementSet elements;
  for (std::int64_t r = row; r < row + rows; ++r)
    for (std::int64_t c = column; c < column + columns; ++c)
      elements.push_back(r * row_length + c);
  return elements;
}

TEST_CASE("the tiles of blocks show which dimension is the row") {
  const std::vector<Dimension> dimensions{{"a", {40}}, {"b", {70}}};
  const auto order = [&](const std::vector<ElementSet>& sets) {
    const auto ordered = ordered_dimensions(dimensions, {{0, &sets}});
    return ordered ? ordered->dimensions[0].text + ordered->dimensions[1].text : "none";
  };
  CHECK(order({tile(0, 8, 0, 8, 70), tile(8, 8, 16, 8, 70)}) == "ab");
  CHECK(order({tile(0, 8, 0, 8, 40), tile(8, 8, 16, 8, 40)}) == "ba");
  CHECK(order({tile(0, 1, 0, 64, 64), tile(1, 1, 0, 64, 64)}) == "none");  // one-dimensional
  CHECK(order({tile(0, 1, 0, 5, 70)}) == "ab");  // both orders fit: as given
}

TEST_CASE("constants are distributed among the dimensions as the tiles of blocks show") {
  // At a = 64 and b = 96.
  const auto order = [&](const std::vector<Dimension>& dimensions, const ElementSet& set) {
    const std::vector<ElementSet> sets{set};
    const auto ordered = ordered_dimensions(dimensions, {{0, &sets}});
    std::string text;
    for (const Dimension& dimension : ordered.value_or(OrderedDimensions{}).dimensions)
      text += "[" + dimension.text + "]";
    return text;
  };
  const Dimension a{"a", {64}};
  const Dimension b{"b", {96}};
  const Dimension quarter{"b/4", {24}};
  const Dimension four{"4", {4}};
  CHECK(order({a, quarter}, tile(0, 16, 16, 16, 48)) == "[a/2][b/2]");
  CHECK(order({a, quarter}, tile(0, 16, 8, 16, 24)) == "[a][b/4]");
  CHECK(order({a, quarter}, tile(0, 8, 32, 32, 96)) == "[a/4][b]");
  CHECK(order({a, b, four}, tile(2, 32, 32, 32, 192)) == "[2*a][2*b]");
  SECTION("dimensions without gaps remain as given") {
    CHECK(order({a, b, four}, tile(2, 32, 32, 32, 384)) == "[a][b][4]");
    CHECK(order({a, b}, tile(0, 16, 16, 16, 96)) == "[a][b]");
  }
  SECTION("other expressions are not divided") {
    CHECK(regrouped({{"a + 2", {66}}, {"b - 1", {95}}}).empty());
    for (const std::vector<Dimension>& other : regrouped({{"a + 2", {66}}, quarter}))
      CHECK(product_text(other) == "(a + 2)*b/4");
  }
  SECTION("products are equal, and whole") {
    for (const std::vector<Dimension>& other : regrouped({a, quarter, {"3", {3}}}))
      CHECK(product_of(other, 0) == 64 * 24 * 3);
    CHECK(regrouped({{"a", {63}}, quarter}).size() == 1);  // 63/2 is not whole
  }
}

}  // namespace
}  // namespace gpuexp::infer
