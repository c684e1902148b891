// How a library whose matrices are column-major is asked for a product of row-major ones.
#pragma once

#include <cstdint>

namespace gpuexp {

/// A row-major matrix without padding is, read by columns, its transpose. So a library is asked for
/// Dᵀ = Bᵀ·Aᵀ: its first operand is B, the second A, and none is transposed. Each matrix's leading
/// dimension is the number of its rows here, the length of a row there. A vector with an element
/// for each of the result's rows, as epilogues add it, has one for each column of D.
struct ColumnMajorProduct {
  std::int64_t rows;     ///< of the result and of the first operand
  std::int64_t columns;  ///< of the result and of the second operand
  std::int64_t depth;    ///< columns of the first operand, rows of the second
};

/// Of D (m×n) = A (m×k) · B (k×n), all row-major and without padding.
inline ColumnMajorProduct column_major(std::int64_t m, std::int64_t n, std::int64_t k) {
  return {n, m, k};
}

}  // namespace gpuexp
