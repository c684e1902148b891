#include "sim/addresses.hpp"

namespace gpuexp::sim {

std::byte* shared_at(Warp& warp, std::uint64_t address, unsigned width) {
  return warp.block.shared_at(address, width, width);
}

std::byte* generic_at(Warp& warp, unsigned lane, std::uint64_t address, unsigned width) {
  if ((address & kWindowMask) == kSharedWindow)
    return shared_at(warp, address & ~kWindowMask, width);
  if ((address & kWindowMask) == kLocalWindow)
    return warp.local_memory().at(lane, address & ~kWindowMask, width);
  if (address % width != 0)
    throw Fault(FaultKind::misaligned, describe_misaligned(address, width), address);
  return warp.block.launch.global->at(address, width);
}

GPUEXP_VECTORIZED void note_generic(Warp& warp, Access kind, unsigned width, LaneMask lanes,
                                    const Lanes64& address, const Lanes32* values) {
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
  if (lanes & shared) warp.block.note({Space::shared, kind, width, lanes & shared, offset, values});
  if (lanes & local) warp.block.note({Space::local, kind, width, lanes & local, offset});
}

}  // namespace gpuexp::sim
