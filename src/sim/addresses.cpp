#include "sim/addresses.hpp"

namespace gpuexp::sim {

std::byte* shared_at(Warp& warp, std::uint64_t address, unsigned width) {
  return warp.block.shared_at(address, width, width);
}

std::byte* generic_at(Warp& warp, unsigned lane, std::uint64_t address, unsigned width) {
  if ((address & kWindowMask) == kSharedWindow) {
    const SharedPlace at = warp.block.shared_place(static_cast<std::uint32_t>(address));
    return at.block.shared_at(at.offset, width, width);
  }
  if ((address & kWindowMask) == kLocalWindow)
    return warp.local_memory().at(lane, address & ~kWindowMask, width);
  GlobalMemory& global = *warp.block.launch.global;
  if (address % width != 0)
    throw Fault(FaultKind::misaligned, global.describe_misaligned(address, width), address);
  return global.at(address, width);
}

void note_shared(Warp& warp, const MemoryAccess& access) {
  Block& block = warp.block;
  LaneMask own = 0;
  Lanes64 offset;
  for (unsigned l = 0; l < kLanes; ++l) {
    offset[l] = access.address[l] ^ block.shared_base();
    own |= LaneMask{offset[l] >> kRankShift == 0} << l;
  }
  const LaneMask others = access.lanes & ~own;
  if (access.lanes & own) {
    MemoryAccess to_own{Space::shared,      access.kind, access.width,
                        access.lanes & own, offset,      access.values};
    to_own.is_flag = access.is_flag;
    block.note(to_own);
  }
  if (others)
    block.note({Space::cluster, access.kind, access.width, others, access.address, access.values});
}

namespace {

GPUEXP_VECTORIZED void note_mixed(Warp& warp, const MemoryAccess& access, const Lanes32* values) {
  const Access kind = access.kind;
  const unsigned width = access.width;
  const LaneMask lanes = access.lanes;
  const Lanes64& address = access.address;
  LaneMask shared = 0;
  LaneMask local = 0;
  for (unsigned l = 0; l < kLanes; ++l) {
    shared |= LaneMask{(address[l] & kWindowMask) == kSharedWindow} << l;
    local |= LaneMask{(address[l] & kWindowMask) == kLocalWindow} << l;
  }
  const LaneMask global = lanes & ~(shared | local);
  if (global != 0) warp.block.note({Space::global, kind, width, global, address});
  if (global == lanes) return;
  Lanes64 offset;
  for (unsigned l = 0; l < kLanes; ++l)
    offset[l] = address[l] & ~kWindowMask;
  if (lanes & local) warp.block.note({Space::local, kind, width, lanes & local, offset});
  if (lanes & shared) {
    MemoryAccess to_shared{Space::shared, kind, width, lanes & shared, offset, values};
    to_shared.is_flag = access.is_flag;
    note_shared(warp, to_shared);
  }
}

}  // namespace

void note_generic(Warp& warp, const MemoryAccess& access, const Lanes32* values) {
  if (access.shape.last >= kLocalWindow)
    note_mixed(warp, access, values);
  else
    warp.block.note(access);
}

Origin note_generic(Warp& warp, Access kind, unsigned width, LaneMask lanes, const Lanes64& address,
                    const Lanes32* values, bool is_flag) {
  MemoryAccess access{Space::global, kind, width, lanes, address};
  access.is_flag = is_flag;
  note_generic(warp, access, values);
  if (access.shape.last >= kLocalWindow || !warp.block.launch.global->holds(access))
    return std::nullopt;
  return 0;
}

}  // namespace gpuexp::sim
