#include "sim/tensor_box.hpp"

#include <algorithm>
#include <cstring>

#include <fmt/format.h>

#include "sim/fault.hpp"

namespace gpuexp::sim {

namespace {

constexpr std::int64_t kGroupBytes = 16;
// Limits of cuTensorMapEncodeTiled (CUDA Driver API).
constexpr std::int64_t kMaxExtent = std::int64_t{1} << 32;
constexpr std::int64_t kMaxStride = std::int64_t{1} << 40;
constexpr std::int64_t kMaxBox = 256;

std::int64_t span_of(Swizzle swizzle) {
  switch (swizzle) {
    case Swizzle::none: break;
    case Swizzle::bytes_32: return 32;
    case Swizzle::bytes_64: return 64;
    case Swizzle::bytes_128: return 128;
  }
  return 0;
}

std::int64_t row_bytes(const TensorMap& map) {
  return map.box[0] * static_cast<std::int64_t>(size_of(map.type));
}

bool is_integer(DataType type) {
  return unit_roundoff(type) == 0;
}

}  // namespace

std::string tensor_map_refusal(const TensorMap& map) {
  const std::size_t rank = map.extents.size();
  if (rank == 0 || rank > kMaxDimensions || map.strides.size() + 1 != rank ||
      map.box.size() != rank)
    return "a tensor map has 1 to 5 extents, the same number of box extents, and one stride fewer";
  const auto any = [](const std::vector<std::int64_t>& of, const auto& is_wrong) {
    return std::any_of(of.begin(), of.end(), is_wrong);
  };
  if (reinterpret_cast<std::uintptr_t>(map.base) % kGroupBytes != 0)
    return "a tensor map's memory is not aligned to 16 bytes";
  if (any(map.extents, [](auto extent) { return extent < 1 || extent > kMaxExtent; }))
    return "an extent of a tensor map is not in the range from 1 to 2^32";
  if (any(map.strides, [](auto s) { return s < 0 || s >= kMaxStride || s % kGroupBytes != 0; }))
    return "a stride of a tensor map is not a multiple of 16 bytes below 2^40";
  if (any(map.box, [](auto box) { return box < 1 || box > kMaxBox; }))
    return "a box of a tensor map has 1 to 256 elements along each dimension";
  if (row_bytes(map) % kGroupBytes != 0)
    return "a row of a tensor map's box is not a multiple of 16 bytes";
  if (map.fill == OutOfBoundsFill::nan && is_integer(map.type))
    return "a tensor of integers cannot be filled with NaN";
  const std::int64_t span = span_of(map.swizzle);
  if (span != 0 && row_bytes(map) > span)
    return "a row of a tensor map's box is longer than its swizzle";
  if (span != 0 && row_bytes(map) < span)
    return "the layout of rows that are shorter than their swizzle is not documented";
  return "";
}

// XORs the index of a 16-byte group with the index of its 128-byte row, modulo the number of groups
// in a row of the pattern.
std::uint64_t swizzled(std::uint64_t address, Swizzle swizzle) {
  constexpr unsigned kGroupShift = 4;
  constexpr unsigned kRowShift = 7;
  if (swizzle == Swizzle::none) return address;
  const auto groups = static_cast<std::uint64_t>(span_of(swizzle) / kGroupBytes);
  return address ^ (address >> kRowShift & (groups - 1)) << kGroupShift;
}

TensorBox::TensorBox(const TensorMap& map, const Place& first, For use)
    : map_(map), first_(first), use_(use) {
  for (std::size_t d = 0; use == For::writing && d < map.extents.size(); ++d) {
    if (first[d] < 0)
      throw Fault(FaultKind::out_of_bounds,
                  fmt::format("a box that is written starts at coordinate {} of dimension {}",
                              first[d], d));
  }
  const auto size = static_cast<std::int64_t>(size_of(map.type));
  const std::int64_t begin = first[0] * size;
  if (begin % kGroupBytes != 0)
    throw Fault(FaultKind::misaligned,
                fmt::format("a box starts at element {} of its rows, at an offset of {} bytes, "
                            "which is not a multiple of {} bytes",
                            first[0], begin, kGroupBytes));
}

std::size_t TensorBox::bytes() const {
  std::size_t bytes = size_of(map_.type);
  for (const std::int64_t box : map_.box)
    bytes *= static_cast<std::size_t>(box);
  return bytes;
}

void TensorBox::for_rows(
    const std::function<void(std::size_t, std::uint64_t, std::size_t)>& row) const {
  const auto size = static_cast<std::int64_t>(size_of(map_.type));
  const std::size_t rank = map_.extents.size();
  const std::int64_t begin = std::max<std::int64_t>(0, -std::int64_t{first_[0]});
  const std::int64_t group = kGroupBytes / size;
  const std::int64_t extent =
      use_ == For::reading ? map_.extents[0] : (map_.extents[0] + group - 1) / group * group;
  const std::int64_t end = std::min(map_.box[0], extent - first_[0]);
  if (begin >= end) return;
  const std::int64_t rows = static_cast<std::int64_t>(bytes()) / (map_.box[0] * size);
  for (std::int64_t r = 0; r < rows; ++r) {
    std::uint64_t address = reinterpret_cast<std::uint64_t>(map_.base) +
                            static_cast<std::uint64_t>((first_[0] + begin) * size);
    bool is_inside = true;
    std::int64_t rest = r;
    for (std::size_t d = 1; d < rank; ++d) {
      const std::int64_t at = first_[d] + rest % map_.box[d];
      rest /= map_.box[d];
      is_inside = is_inside && at >= 0 && at < map_.extents[d];
      address += static_cast<std::uint64_t>(at * map_.strides[d - 1]);
    }
    if (is_inside)
      row(static_cast<std::size_t>((r * map_.box[0] + begin) * size), address,
          static_cast<std::size_t>((end - begin) * size));
  }
}

// fma.oob tests for this 16-bit NaN (sim/half_ops.cpp). The bits for wider types are not known; the
// simulator repeats the 16-bit pattern.
std::vector<std::byte> TensorBox::filled() const {
  std::vector<std::byte> box(bytes());
  if (map_.fill == OutOfBoundsFill::zero) return box;
  constexpr std::uint16_t kOutside = 0x7ff7;
  for (std::size_t at = 0; at < box.size(); at += sizeof kOutside)
    std::memcpy(&box[at], &kOutside, sizeof kOutside);
  return box;
}

// The type of the operation is the tensor's type (PTX ISA, cp.reduce.async.bulk.tensor).
AtomicType reduction_type(DataType type, Atomic how) {
  const bool is_sum = how == Atomic::add;
  const bool is_order = how == Atomic::min || how == Atomic::max;
  const bool counts = how == Atomic::increment || how == Atomic::decrement;
  switch (type) {
    case DataType::fp32:
      if (is_sum) return AtomicType::f32;
      break;
    case DataType::fp16:
      if (is_sum || is_order) return AtomicType::f16;
      break;
    case DataType::bf16:
      if (is_sum || is_order) return AtomicType::bf16;
      break;
    case DataType::int32:
      if (!counts) return AtomicType::s32;
      break;
    case DataType::uint32: return AtomicType::u32;
    case DataType::uint64:
      if (!counts) return AtomicType::u64;
      break;
    default: break;
  }
  throw Fault(fmt::format("a tensor of {} has no such reduction", name_of(type)));
}

}  // namespace gpuexp::sim
