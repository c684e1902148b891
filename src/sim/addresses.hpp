// Addresses of lanes, and where they lead: global, shared and local memory.
#pragma once

#include "sim/block.hpp"

namespace gpuexp::sim {

/// The bits of a 64-bit address that say of which space it is.
inline constexpr std::uint64_t kWindowMask = ~std::uint64_t{0xffffffff};

/// What stands in [ ]: with 64 bits, as for global memory, and with 32.
void global_addresses(const Warp& warp, const Source& at, Lanes64& address);
void shared_addresses(const Warp& warp, const Source& at, Lanes64& address);

std::byte* shared_at(Warp& warp, std::uint64_t address, unsigned width);
/// Global memory, or shared memory and the lane's local memory through their windows.
std::byte* generic_at(Warp& warp, unsigned lane, std::uint64_t address, unsigned width);

/// Before an access by addresses of which each may be of any space.
void note_generic(Warp& warp, Access kind, unsigned width, LaneMask lanes, const Lanes64& address);

}  // namespace gpuexp::sim
