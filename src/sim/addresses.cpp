#include "sim/addresses.hpp"

#include <fmt/format.h>

#include "sim/registers.hpp"

namespace gpuexp::sim {

void global_addresses(const Warp& warp, const Source& at, Lanes64& address) {
  if (at.index == kZeroRegister) {
    address.of.fill(0);
  } else {
    Source base = at;
    base.kind = Operand::Kind::reg;
    if (at.wide) {
      read_pair(warp, base, address);
    } else {
      for (unsigned l = 0; l < kLanes; ++l)
        address[l] = warp.registers[at.index][l];
    }
  }
  std::uint64_t offset = at.bits;
  if (at.uniform_index != kZeroUniformRegister)
    offset += warp.uniform[at.uniform_index] |
              static_cast<std::uint64_t>(warp.uniform[at.uniform_index + 1u]) << 32;
  for (unsigned l = 0; l < kLanes; ++l)
    address[l] += offset;
}

void shared_addresses(const Warp& warp, const Source& at, Lanes64& address) {
  const std::uint32_t offset = static_cast<std::uint32_t>(at.bits) + warp.uniform[at.uniform_index];
  const Lanes32& base = warp.registers[at.index];
  for (unsigned l = 0; l < kLanes; ++l)
    address[l] = base[l] + offset;
}

std::byte* shared_at(Warp& warp, std::uint64_t address, unsigned width) {
  return warp.block.shared_at(address, width, width);
}

std::byte* generic_at(Warp& warp, unsigned lane, std::uint64_t address, unsigned width) {
  if ((address & kWindowMask) == kSharedWindow)
    return shared_at(warp, address & ~kWindowMask, width);
  if ((address & kWindowMask) == kLocalWindow)
    return warp.local_at(lane, address & ~kWindowMask, width);
  if (address % width != 0)
    throw Fault(fmt::format("{} bytes at {:#x} are not aligned", width, address));
  return warp.block.launch.global->at(address, width);
}

void note_generic(Warp& warp, Access kind, unsigned width, LaneMask lanes, const Lanes64& address) {
  LaneMask shared = 0;
  LaneMask local = 0;
  for (unsigned l = 0; l < kLanes; ++l) {
    shared |= LaneMask{(address[l] & kWindowMask) == kSharedWindow} << l;
    local |= LaneMask{(address[l] & kWindowMask) == kLocalWindow} << l;
  }
  const LaneMask global = lanes & ~shared & ~local;
  if (global) warp.block.note({Space::global, kind, width, global, address});
  if (!(lanes & shared)) return;
  Lanes64 offset;
  for (unsigned l = 0; l < kLanes; ++l)
    offset[l] = address[l] & ~kWindowMask;
  warp.block.note({Space::shared, kind, width, lanes & shared, offset});
}

}  // namespace gpuexp::sim
