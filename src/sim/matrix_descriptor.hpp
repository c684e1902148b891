// How wgmma finds a matrix in shared memory.
#pragma once

#include <cstdint>

namespace gpuexp::sim {

/// A matrix descriptor (PTX ISA, "Matrix Descriptor Format").
struct MatrixDescriptor {
  std::uint32_t start = 0;           ///< address in shared memory
  std::uint32_t leading_stride = 0;  ///< bytes
  std::uint32_t stride = 0;          ///< bytes
  /// Where the permutation's pattern begins, in rows of 128 bytes past a multiple of 1024.
  std::uint32_t base_offset = 0;
  /// Units of 16 bytes in a row of the permutation's pattern: 1 (none), 2, 4 or 8.
  std::uint32_t row_units = 1;

  static MatrixDescriptor from_bits(std::uint64_t bits);

  /// Where 16 bytes lie: of row `row`, unit `unit` along K.
  std::uint32_t k_major(std::uint32_t row, std::uint32_t unit) const;
  /// Where 16 bytes lie of a matrix stored along M or N: of K's `k`, unit `unit` along M or N.
  std::uint32_t mn_major(std::uint32_t k, std::uint32_t unit) const;

 private:
  std::uint32_t permuted(std::uint32_t address) const;
};

}  // namespace gpuexp::sim
