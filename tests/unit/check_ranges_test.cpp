// Bounds on the values of checks' expressions.
#include "own/check_ranges.hpp"

#include <cmath>
#include <string>

#include "support/catch.hpp"

namespace gpuexp::own {
namespace {

const Names kNames{{"n", std::int64_t{1000}}, {"half", 0.5}};

/// Ranges with the indices i from 0 to 99 and j from 0 to 7; elements are -3 to 2.
CheckRanges ranges() {
  CheckRanges ranges(kNames, [](const Node&) { return Range{-3, 2}; });
  ranges.push_index("i", 99);
  ranges.push_index("j", 7);
  return ranges;
}

void check_range(const std::string& text, double low, double high) {
  CAPTURE(text);
  const Expression expression = Expression::parse(text);
  const Range range = ranges().of(expression.root());
  CHECK(range.low == low);
  CHECK(range.high == high);
}

TEST_CASE("ranges of arithmetic", "[check_ranges]") {
  check_range("i + 1", 1, 100);
  check_range("n - i", 901, 1000);
  check_range("-i", -99, 0);
  check_range("a[i] * a[j]", -6, 9);
  check_range("i % 8", 0, 7);
  check_range("i % n", 0, 99);
  check_range("(i - 50) % 8", -7, 7);
  check_range("i % half", 0, 0.5);
  check_range("i / 8", 0, 99.0 / 8);
  check_range("n / (i - 5)", -INFINITY, INFINITY);
  check_range("floor_div(i, 8)", 0, 12);
  check_range("ceil_div(i, 8)", 0, 13);
  check_range("(j - 3)^2", 0, 16);
  check_range("2^j", 1, 128);
  check_range("i^half", -INFINITY, INFINITY);
  check_range("min(i, j)", 0, 7);
  check_range("max(i, 50, j)", 50, 99);
  check_range("abs(a[i])", 0, 3);
  check_range("abs(i + 2)", 2, 101);
  check_range("i > 5 ? j : -1", -1, 7);
  check_range("i > 5 && j", 0, 1);
  check_range("sqrt(i + 1)", 1, 10);
  check_range("10*sin(i)", -10, 10);
  check_range("trunc(half*i)", 0, 49);
  check_range("rint(half*i)", 0, 50);
  check_range("round(half*i + half)", 1, 50);
  check_range("fp32(2^24 + i + 1)", 0x1p24, 0x1p24 + 100);
  check_range("sum(k < j + 1: k - 1)", -8, 48);
  check_range("log(i)", -INFINITY, std::log(99.0));
  check_range("log(i - 1)", -INFINITY, INFINITY);
}

TEST_CASE("a value is whole if no division, function or fraction is in it", "[check_ranges]") {
  const auto is_whole = [](const std::string& text) {
    return ranges().is_whole(Expression::parse(text).root());
  };
  for (const char* text :
       {"2*a[i] - i^3 + n", "sum(k < n: a[k]*(k > i))", "max(a[i], 3, j)", "i > 5 ? -a[i] : 7",
        "a[i] > half ? 1 : a[i] == 0.1", "pow(a[i], 2)", "floor(a[i])", "2.0"}) {
    CAPTURE(text);
    CHECK(is_whole(text));
  }
  for (const char* text :
       {"a[i] / 2", "half*a[i]", "sum(k < n: a[k]*0.1)", "sqrt(a[i])", "2^j", "exp(i)",
        "max(a[i], half)", "a[i]*half > 1", "i % 8", "floor_div(i, 2)"}) {
    CAPTURE(text);
    CHECK_FALSE(is_whole(text));
  }
}

TEST_CASE("units are powers of two of which a value is a multiple", "[check_ranges]") {
  const auto unit = [](const std::string& text) {
    return ranges().unit(Expression::parse(text).root());
  };
  CHECK(unit("8*a[i]") == 1);
  CHECK(unit("half*a[i]") == 0.5);
  CHECK(unit("0.75*a[i] - half") == 0.25);
  CHECK(unit("half*sum(k < n: half*a[k])") == 0.25);
  CHECK(unit("(half*a[i])^3") == 0.125);
  CHECK(unit("i > 5 ? half : 1") == 0.5);
  CHECK(unit("floor(half*a[i])") == 1);
  CHECK(unit("0.1") == 0x1p-55);
  CHECK(unit("0*a[i]") == 1);
  CHECK(unit("a[i]/2") == 0);
  CHECK(unit("a[i]*half > 1") == 0);
}

TEST_CASE("magnitudes are bounded by those of the operands", "[check_ranges]") {
  const auto magnitude = [](const std::string& text) {
    return ranges().magnitude(Expression::parse(text).root());
  };
  CHECK(magnitude("a[i] - a[j]") == 6);
  CHECK(magnitude("sum(k < n: a[k]*a[i])") == 9000);
  CHECK(magnitude("sum(k < i - 99: a[k])") == 0);
  CHECK(magnitude("2*a[i]^3") == 54);
  CHECK(magnitude("max(a[i], n) + (i > 4)") == 1001);
}

}  // namespace
}  // namespace gpuexp::own
