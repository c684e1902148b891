// Computes the lanes' addresses and resolves them in global, shared and local memory.
#pragma once

#include <optional>

#include "sim/registers.hpp"

namespace gpuexp::sim {

/// The bits of a 64-bit generic address that select the memory space.
inline constexpr std::uint64_t kWindowMask = ~std::uint64_t{0xffffffff};

/// Computes the lanes' 64-bit global or generic addresses from an operand in [ ].
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

/// Computes the lanes' 32-bit addresses in local or shared memory from an operand in [ ]. Each
/// address is XORed with `high_bits`: with the rank bits of the block, an address in its shared
/// memory becomes an offset.
GPUEXP_INLINED void local_addresses(const Warp& warp, const Source& at, Lanes64& address,
                                    std::uint32_t high_bits = 0) {
  const std::uint32_t offset = static_cast<std::uint32_t>(at.bits) + warp.uniform[at.uniform_index];
  const Lanes32& base = warp.registers[at.index];
  for (unsigned l = 0; l < kLanes; ++l)
    address[l] = ((base[l] << at.shift) + offset) ^ high_bits;
}

/// Computes the lanes' offsets in the block's shared memory. An address in another block's shared
/// memory gives an offset past the end.
GPUEXP_INLINED void shared_addresses(const Warp& warp, const Source& at, Lanes64& address) {
  local_addresses(warp, at, address, warp.block.shared_base());
}

std::byte* shared_at(Warp& warp, std::uint64_t address, unsigned width);
/// Resolves a generic address in global memory, the cluster's shared memory or the lane's local
/// memory. Throws Fault if the address is out of bounds or misaligned.
std::byte* generic_at(Warp& warp, unsigned lane, std::uint64_t address, unsigned width);

/// Number to add to the lanes' addresses to get host addresses; empty if no single array contains
/// all of them.
using Origin = std::optional<std::uint64_t>;

/// Origin of an access to the block's shared memory. Empty if an address is out of bounds or
/// misaligned; shared_at() then throws the Fault.
inline Origin shared_origin(const Warp& warp, const MemoryAccess& access) {
  std::vector<std::byte>& shared = warp.block.shared;
  const bool is_inside =
      access.shape.last < shared.size() && shared.size() - access.shape.last >= access.width;
  if (!is_inside || !access.shape.is_aligned) return std::nullopt;
  return reinterpret_cast<std::uint64_t>(shared.data());
}

/// Notes an access to the cluster's shared memory by 32-bit addresses. Call it before the access.
void note_shared(Warp& warp, const MemoryAccess& access);
/// Notes an access whose generic addresses may be in several spaces. `access.space` is global;
/// `values` are the values that a store writes. Call it before the access.
void note_generic(Warp& warp, const MemoryAccess& access, const Lanes32* values = nullptr);
/// Notes the access and returns its origin, which is empty unless all addresses are aligned and one
/// global buffer contains all bytes.
Origin note_generic(Warp& warp, Access kind, unsigned width, LaneMask lanes, const Lanes64& address,
                    const Lanes32* values = nullptr, bool is_flag = false);

}  // namespace gpuexp::sim
