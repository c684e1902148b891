#include "gpu/column_major.hpp"

#include <cstddef>
#include <vector>

#include "support/catch.hpp"

namespace gpuexp::test {
namespace {

using Numbers = std::vector<double>;

Numbers numbers(std::int64_t count, int factor) {
  Numbers values;
  for (std::int64_t i = 0; i < count; ++i)
    values.push_back(static_cast<double>((i * factor + 3) % 17));
  return values;
}

double& at(Numbers& matrix, std::int64_t place) {
  return matrix[static_cast<std::size_t>(place)];
}

/// The result of a column-major library: first · second + bias, with one bias element per row and
/// leading dimensions equal to the number of rows.
Numbers by_columns(const ColumnMajorProduct& p, Numbers first, Numbers second, Numbers bias) {
  Numbers result(static_cast<std::size_t>(p.rows * p.columns));
  for (std::int64_t column = 0; column < p.columns; ++column) {
    for (std::int64_t row = 0; row < p.rows; ++row) {
      double sum = at(bias, row);
      for (std::int64_t i = 0; i < p.depth; ++i)
        sum += at(first, i * p.rows + row) * at(second, column * p.depth + i);
      at(result, column * p.rows + row) = sum;
    }
  }
  return result;
}

TEST_CASE("a column-major library computes a row-major product and adds a bias per column",
          "[column_major]") {
  constexpr std::int64_t kM = 3, kN = 5, kK = 4;
  Numbers a = numbers(kM * kK, 5), b = numbers(kK * kN, 7), bias = numbers(kN, 11);
  Numbers d(kM * kN);
  for (std::int64_t i = 0; i < kM; ++i) {
    for (std::int64_t j = 0; j < kN; ++j) {
      at(d, i * kN + j) = at(bias, j);
      for (std::int64_t l = 0; l < kK; ++l)
        at(d, i * kN + j) += at(a, i * kK + l) * at(b, l * kN + j);
    }
  }
  CHECK(by_columns(column_major(kM, kN, kK), b, a, bias) == d);
}

}  // namespace
}  // namespace gpuexp::test
