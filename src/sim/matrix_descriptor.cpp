#include "sim/matrix_descriptor.hpp"

namespace gpuexp::sim {

namespace {

constexpr std::uint32_t kUnit = 16;
constexpr std::uint32_t kRows = 8;  // of a block, whose rows and units the strides do not count

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

// A unit's place within 128 bytes (64, 32) is xored with the row of 128 bytes that it lies in, so
// that units below each other lie in different banks.
std::uint32_t MatrixDescriptor::permuted(std::uint32_t address) const {
  const std::uint32_t row = (address >> 7) - base_offset;
  return address ^ (row & (row_units - 1)) * kUnit;
}

// Blocks of eight rows, `stride` apart. In a permuted block a row is as long as the pattern's, and
// K's units follow each other; else the block is one unit wide, and the next lies the leading
// stride further on.
std::uint32_t MatrixDescriptor::k_major(std::uint32_t row, std::uint32_t unit) const {
  const std::uint32_t next_unit = row_units == 1 ? leading_stride : kUnit;
  return permuted(start + row / kRows * stride + row % kRows * row_units * kUnit +
                  unit * next_unit);
}

// Blocks of eight values of K, a row each, as wide as the pattern. Permuted ones lie `stride` apart
// along K and the leading stride along M or N; others the reverse.
std::uint32_t MatrixDescriptor::mn_major(std::uint32_t k, std::uint32_t unit) const {
  const bool is_permuted = row_units > 1;
  const std::uint32_t along_k = is_permuted ? stride : leading_stride;
  const std::uint32_t along_mn = is_permuted ? leading_stride : stride;
  return permuted(start + k / kRows * along_k + k % kRows * row_units * kUnit +
                  unit / row_units * along_mn + unit % row_units * kUnit);
}

}  // namespace gpuexp::sim
