#pragma once

#include <cstdint>

namespace gpuexp {

/// A column-major library reads a row-major matrix without padding as its transpose, so it computes
/// Dᵀ = Bᵀ·Aᵀ: the first operand is B, the second is A, neither transposed. Leading dimensions are
/// the row lengths in row-major order. An epilogue vector with one element per row of Dᵀ has one
/// element per column of D.
struct ColumnMajorProduct {
  std::int64_t rows;     ///< rows of the result and of the first operand
  std::int64_t columns;  ///< columns of the result and of the second operand
  std::int64_t depth;    ///< columns of the first operand, rows of the second
};

/// The column-major product for D (m×n) = A (m×k) · B (k×n), all row-major and without padding.
inline ColumnMajorProduct column_major(std::int64_t m, std::int64_t n, std::int64_t k) {
  return {n, m, k};
}

}  // namespace gpuexp
