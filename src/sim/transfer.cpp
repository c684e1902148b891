#include "sim/transfer.hpp"

#include <fmt/format.h>

#include "sim/mbarrier.hpp"

namespace gpuexp::sim {

namespace {

void deliver_to(Warp& warp, const Delivery& delivery, std::uint32_t to, std::uint32_t barrier,
                const std::function<void(std::byte*)>& write) {
  const SharedPlace target = warp.block.shared_place(to);
  const SharedPlace signaled = warp.block.shared_place(barrier);
  if (&target.block != &signaled.block)
    throw Fault(FaultKind::other,
                fmt::format("bytes arrive in shared memory of block {}, but their mbarrier is in "
                            "block {}",
                            to_text(target.block.place), to_text(signaled.block.place)),
                target.offset);
  write(shared_range(warp, Access::bulk_store, to, delivery.bytes, delivery.alignment));
  arrive(signaled.block, signaled.offset, {0, -static_cast<std::int64_t>(delivery.bytes), false});
}

}  // namespace

std::byte* global_range(Warp& warp, Access kind, std::uint64_t address, std::size_t bytes) {
  if (address % kBulkUnit != 0)
    throw Fault(FaultKind::misaligned,
                fmt::format("a bulk copy at {:#x} is not aligned to {} bytes", address, kBulkUnit),
                address);
  std::byte* const begin = warp.block.launch.global->at(address, bytes);
  Lanes64 range{};
  range[0] = address;
  warp.block.note({Space::global, kind, static_cast<unsigned>(bytes), 1, range});
  return begin;
}

std::byte* shared_range(Warp& warp, Access kind, std::uint32_t address, std::size_t bytes,
                        std::size_t alignment) {
  const SharedPlace at = warp.block.shared_place(address);
  std::byte* const begin = at.block.shared_at(at.offset, bytes, alignment);
  Lanes64 range{};
  range[0] = at.offset;
  const MemoryAccess access{Space::shared, kind, static_cast<unsigned>(bytes), 1, range};
  if (&at.block == &warp.block) {
    warp.block.note(access);
  } else {
    at.block.check_range(access);
  }
  return begin;
}

void check_readable(Warp& warp, std::uint32_t address, std::size_t bytes) {
  const SharedPlace at = warp.block.shared_place(address);
  at.block.shared_at(at.offset, bytes, 1);
  Lanes64 range{};
  range[0] = at.offset;
  at.block.check_range({Space::shared, Access::bulk_load, static_cast<unsigned>(bytes), 1, range});
}

void deliver(Warp& warp, const Delivery& delivery, const std::function<void(std::byte*)>& write) {
  if (!delivery.blocks) return deliver_to(warp, delivery, delivery.to, delivery.barrier, write);
  constexpr std::uint32_t kOffsets = (1u << kRankShift) - 1;
  for_each_lane(*delivery.blocks, [&](unsigned rank) {
    const std::uint32_t base = rank << kRankShift;
    deliver_to(warp, delivery, base | (delivery.to & kOffsets),
               base | (delivery.barrier & kOffsets), write);
  });
}

}  // namespace gpuexp::sim
