#include "sim/local_memory.hpp"

#include <algorithm>
#include <bit>

#include "sim/fault.hpp"

namespace gpuexp::sim {

namespace {

constexpr std::byte kMark{1};

// Pointer to the byte at an address. `used` is stored from kLocalBytes downwards.
std::byte* byte_at(std::vector<std::byte>& used, std::uint64_t address) {
  constexpr std::size_t kMinBytes = 1024;
  const std::size_t from_end = kLocalBytes - address;
  if (from_end > used.size()) {
    const std::size_t size = std::max(std::bit_ceil(from_end), kMinBytes);
    used.insert(used.begin(), size - used.size(), std::byte{0});
  }
  return used.data() + (used.size() - from_end);
}

}  // namespace

std::byte* LocalMemory::at(unsigned lane, std::uint64_t address, std::size_t bytes) {
  if (address > kLocalBytes || bytes > kLocalBytes - address)
    throw Fault(FaultKind::out_of_bounds, describe_outside_local(address, bytes), address, lane);
  if (address % bytes != 0)
    throw Fault(FaultKind::misaligned, describe_misaligned(address, bytes, " of local memory"),
                address, lane);
  return byte_at(bytes_[lane], address);
}

bool LocalMemory::is_written(unsigned lane, std::uint64_t address, std::size_t bytes) const {
  const std::vector<std::byte>& marks = marks_[lane];
  const std::size_t from_end = kLocalBytes - address;
  if (from_end > marks.size()) return false;
  const auto first = marks.end() - static_cast<std::ptrdiff_t>(from_end);
  return std::all_of(first, first + static_cast<std::ptrdiff_t>(bytes),
                     [](std::byte mark) { return mark == kMark; });
}

void LocalMemory::set_written(unsigned lane, std::uint64_t address, std::size_t bytes,
                              bool is_written) {
  std::fill_n(byte_at(marks_[lane], address), bytes, is_written ? kMark : std::byte{0});
}

}  // namespace gpuexp::sim
