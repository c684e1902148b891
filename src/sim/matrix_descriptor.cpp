#include "sim/matrix_descriptor.hpp"

namespace gpuexp::sim {

namespace {

constexpr std::uint32_t kUnit = 16;
constexpr std::uint32_t kRows = 8;  // rows per block; strides are distances between blocks

}  // namespace

MatrixDescriptor MatrixDescriptor::from_bits(std::uint64_t bits) {
  const auto field = [&](unsigned at, unsigned width) {
    return static_cast<std::uint32_t>(bits >> at) & ((1u << width) - 1);
  };
  constexpr std::uint32_t kRowUnits[] = {1, 8, 4, 2};  // by the mode in the upper bits
  MatrixDescriptor d;
  d.start = field(0, 14) * kUnit;
  d.leading_stride = field(16, 14) * kUnit;
  d.stride = field(32, 14) * kUnit;
  d.base_offset = field(49, 3);
  d.row_units = kRowUnits[field(62, 2)];
  return d;
}

// XORs the index of a 16-byte unit in its row of the swizzle pattern with the index of its 128-byte
// row modulo `row_units`, so that units of one column are in different banks.
std::uint32_t MatrixDescriptor::swizzled(std::uint32_t address) const {
  const std::uint32_t row = (address >> 7) - base_offset;
  return address ^ (row & (row_units - 1)) * kUnit;
}

// Blocks of eight rows are `stride` bytes apart. With a swizzle, a row of a block is as long as the
// swizzle pattern, and units along K are contiguous. Without a swizzle, a block is one unit wide,
// and the next block along K is `leading_stride` bytes away.
std::uint32_t MatrixDescriptor::k_major(std::uint32_t row, std::uint32_t unit) const {
  const std::uint32_t next_unit = row_units == 1 ? leading_stride : kUnit;
  return swizzled(start + row / kRows * stride + row % kRows * row_units * kUnit +
                  unit * next_unit);
}

// A block has one row for each of eight values of K, as wide as the swizzle pattern. Swizzled
// blocks are `stride` bytes apart along K and `leading_stride` bytes along M or N. Without a
// swizzle, the two strides are exchanged.
std::uint32_t MatrixDescriptor::mn_major(std::uint32_t k, std::uint32_t unit) const {
  const bool is_swizzled = row_units > 1;
  const std::uint32_t along_k = is_swizzled ? stride : leading_stride;
  const std::uint32_t along_mn = is_swizzled ? leading_stride : stride;
  return swizzled(start + k / kRows * along_k + k % kRows * row_units * kUnit +
                  unit / row_units * along_mn + unit % row_units * kUnit);
}

}  // namespace gpuexp::sim
