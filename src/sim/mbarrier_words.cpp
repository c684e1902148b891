#include "sim/mbarrier_words.hpp"

#include <cstring>

#include <fmt/format.h>

namespace gpuexp::sim {

namespace {

constexpr std::uint32_t kArrivals = 1u << 30;
constexpr std::uint32_t kPending = 1u << 31;
constexpr std::uint32_t kMaxArrivals = (1 << 20) - 1;  // PTX ISA, mbarrier.init
constexpr unsigned kWordBits = 32;
constexpr unsigned kParityAt = 63;

}  // namespace

MbarrierWords MbarrierWords::from_bits(std::uint64_t bits) {
  MbarrierWords b;
  b.arrivals = (kArrivals - static_cast<std::uint32_t>(bits)) & (kArrivals - 1);
  b.pending = (kPending - static_cast<std::uint32_t>(bits >> kWordBits)) & (kPending - 1);
  b.parity = (bits >> kParityAt & 1) != 0;
  return b;
}

std::uint64_t MbarrierWords::bits() const {
  return (kArrivals - arrivals) |
         std::uint64_t{(kPending - pending) & (kPending - 1)} << kWordBits |
         std::uint64_t{parity} << kParityAt;
}

std::uint64_t arrive_at_words(Block& block, std::uint64_t address) {
  std::byte* const at = block.shared_at(address, sizeof(std::uint64_t), sizeof(std::uint64_t));
  std::uint64_t before = 0;
  std::memcpy(&before, at, sizeof before);
  MbarrierWords barrier = MbarrierWords::from_bits(before);
  if (block.launch.is_alone) return before;
  if (barrier.arrivals == 0 || barrier.arrivals > kMaxArrivals)
    throw Fault("no mbarrier was initialized at " + block.shared_offset(address));
  if (barrier.pending == 0)
    throw Fault(
        fmt::format("the mbarrier at {} receives an arrival, but expects none in this "
                    "phase",
                    block.shared_offset(address)));
  --barrier.pending;
  const bool ends_phase = barrier.pending == 0;
  if (ends_phase) {
    barrier.pending = barrier.arrivals;
    barrier.parity = !barrier.parity;
    block.end_phase(address);
  }
  const std::uint64_t after = barrier.bits();
  std::memcpy(at, &after, sizeof after);
  block.tell({&block, address, ends_phase});
  return before;
}

}  // namespace gpuexp::sim
