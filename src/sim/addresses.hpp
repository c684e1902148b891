// Addresses of lanes, and where they lead: global, shared and local memory.
#pragma once

#include <optional>

#include "sim/registers.hpp"

namespace gpuexp::sim {

/// The bits of a 64-bit address that say of which space it is.
inline constexpr std::uint64_t kWindowMask = ~std::uint64_t{0xffffffff};

/// What stands in [ ], with 64 bits, as for global memory.
GPUEXP_INLINED void global_addresses(const Warp& warp, const Source& at, Lanes64& address) {
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

/// With 32 bits, as for local memory. `begin`: bits that stand in front of all of them.
GPUEXP_INLINED void local_addresses(const Warp& warp, const Source& at, Lanes64& address,
                                    std::uint32_t begin = 0) {
  const std::uint32_t offset = static_cast<std::uint32_t>(at.bits) + warp.uniform[at.uniform_index];
  const Lanes32& base = warp.registers[at.index];
  for (unsigned l = 0; l < kLanes; ++l)
    address[l] = ((base[l] << at.shift) + offset) ^ begin;
}

/// As for shared memory, from the beginning of the block's: an address of another block's is no
/// offset that the block has.
GPUEXP_INLINED void shared_addresses(const Warp& warp, const Source& at, Lanes64& address) {
  local_addresses(warp, at, address, warp.block.shared_base());
}

std::byte* shared_at(Warp& warp, std::uint64_t address, unsigned width);
/// Global memory, or shared memory of the cluster and the lane's local memory through their
/// windows.
std::byte* generic_at(Warp& warp, unsigned lane, std::uint64_t address, unsigned width);

/// What is added to the lanes' addresses where memory of this process holds them all.
using Origin = std::optional<std::uint64_t>;

/// Of an access of the block's shared memory. Empty where some lane is outside or not aligned: who
/// asks for its place is told.
inline Origin shared_origin(const Warp& warp, const MemoryAccess& access) {
  std::vector<std::byte>& shared = warp.block.shared;
  const bool is_inside =
      access.shape.last < shared.size() && shared.size() - access.shape.last >= access.width;
  if (!is_inside || !access.shape.is_aligned) return std::nullopt;
  return reinterpret_cast<std::uint64_t>(shared.data());
}

/// Before an access of the cluster's shared memory, by addresses of 32 bits.
void note_shared(Warp& warp, const MemoryAccess& access);
/// Before an access by addresses of which each may be of any space, and which is given as one of
/// global memory. `values`: what a store writes.
void note_generic(Warp& warp, const MemoryAccess& access, const Lanes32* values = nullptr);
/// Likewise. Empty unless one buffer of global memory has all of them.
Origin note_generic(Warp& warp, Access kind, unsigned width, LaneMask lanes, const Lanes64& address,
                    const Lanes32* values = nullptr);

}  // namespace gpuexp::sim
