#include "sim/mbarrier.hpp"

#include <cstring>

#include <fmt/format.h>

namespace gpuexp::sim {

namespace {

constexpr std::uint32_t kCounts = 1u << 20;
constexpr unsigned kArrivalsAt = 1;
constexpr unsigned kBytesAt = 21;
constexpr unsigned kPendingAt = 43;
constexpr unsigned kParityAt = 63;
constexpr unsigned kBytesBits = kPendingAt - kBytesAt;
constexpr std::int64_t kMaxBytes = (1 << 20) - 1;  // PTX ISA, "Tracking asynchronous operations"

}  // namespace

Mbarrier Mbarrier::from_bits(std::uint64_t bits) {
  const auto count_at = [&](unsigned at) {
    return (kCounts - static_cast<std::uint32_t>(bits >> at)) & (kCounts - 1);
  };
  Mbarrier b;
  b.arrivals = count_at(kArrivalsAt);
  b.pending = count_at(kPendingAt);
  constexpr unsigned kUp = 64 - kPendingAt;
  b.bytes = static_cast<std::int32_t>(static_cast<std::int64_t>(bits << kUp) >> (64 - kBytesBits));
  b.parity = (bits >> kParityAt & 1) != 0;
  return b;
}

std::uint64_t Mbarrier::bits() const {
  const auto place = [](std::uint64_t value, unsigned at) { return value << at; };
  constexpr std::uint64_t kBytesMask = (std::uint64_t{1} << kBytesBits) - 1;
  return place((kCounts - arrivals) & (kCounts - 1), kArrivalsAt) |
         place(static_cast<std::uint64_t>(bytes) & kBytesMask, kBytesAt) |
         place((kCounts - pending) & (kCounts - 1), kPendingAt) | place(parity, kParityAt);
}

Mbarrier read_mbarrier(Block& block, std::uint64_t address) {
  std::uint64_t bits = 0;
  std::memcpy(&bits, block.shared_at(address, sizeof bits, sizeof bits), sizeof bits);
  const Mbarrier barrier = Mbarrier::from_bits(bits);
  if (barrier.arrivals == 0)
    throw Fault("no mbarrier was initialized at " + block.shared_offset(address));
  return barrier;
}

std::uint64_t arrive(Block& block, std::uint64_t address, const Arrival& arrival) {
  if (block.launch.is_alone) return 0;
  Mbarrier barrier = read_mbarrier(block, address);
  const std::uint64_t before = barrier.bits();
  const std::int64_t bytes = barrier.bytes + arrival.announced_bytes;
  if (bytes > kMaxBytes || bytes < -kMaxBytes)
    throw Fault(fmt::format("the mbarrier at {} would wait for {} bytes; the limit is 2^20 - 1",
                            block.shared_offset(address), bytes));
  if (arrival.count > barrier.pending)
    throw Fault(fmt::format("the mbarrier at {} receives {} arrivals, but expects {} in this phase",
                            block.shared_offset(address), arrival.count, barrier.pending));
  barrier.bytes = static_cast<std::int32_t>(bytes);
  barrier.pending -= arrival.count;
  if (arrival.leaves) barrier.arrivals -= arrival.count;
  const bool ends_phase = barrier.pending == 0 && barrier.bytes == 0;
  if (ends_phase) {
    barrier.pending = barrier.arrivals;
    barrier.parity = !barrier.parity;
    block.end_phase(address);
  }
  const std::uint64_t after = barrier.bits();
  std::memcpy(block.shared_at(address, sizeof after, sizeof after), &after, sizeof after);
  block.tell({&block, address, ends_phase});
  return before;
}

}  // namespace gpuexp::sim
