// Addresses of a matrix in shared memory, as wgmma reads it.
#pragma once

#include <cstdint>

namespace gpuexp::sim {

struct MatrixDescriptor {
  std::uint32_t start = 0;           ///< address in shared memory
  std::uint32_t leading_stride = 0;  ///< bytes
  std::uint32_t stride = 0;          ///< bytes
  /// First row of the swizzle pattern: the number of 128-byte rows past a multiple of 1024 bytes.
  std::uint32_t base_offset = 0;
  /// Number of 16-byte units in a row of the swizzle pattern: 1 (no swizzle), 2, 4 or 8.
  std::uint32_t row_units = 1;

  static MatrixDescriptor from_bits(std::uint64_t bits);

  /// Address of the 16 bytes in row `row` at unit `unit` along K.
  std::uint32_t k_major(std::uint32_t row, std::uint32_t unit) const;
  /// Address of 16 bytes of a matrix that is contiguous along M or N: value `k` along K, unit
  /// `unit` along M or N.
  std::uint32_t mn_major(std::uint32_t k, std::uint32_t unit) const;

 private:
  std::uint32_t swizzled(std::uint32_t address) const;
};

}  // namespace gpuexp::sim
