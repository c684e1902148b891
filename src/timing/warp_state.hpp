// States of a warp in a cycle, with the names of Nsight Compute.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string_view>

namespace gpuexp {

/// Stall reasons are smsp__average_warps_issue_stalled_<name> in Nsight Compute.
enum class WarpState : std::uint8_t {
  selected,            ///< issues an instruction
  not_selected,        ///< could issue, but its scheduler chose another warp
  wait,                ///< for the fixed latency of the previous instruction
  long_scoreboard,     ///< for a result from L1, L2 or device memory
  short_scoreboard,    ///< for a result from shared memory or the special function unit
  math_pipe_throttle,  ///< for the pipe of the instruction
  mio_throttle,        ///< for an entry in the queue of shared memory and similar units
  lg_throttle,         ///< for an entry in the queue of local and global memory
  dispatch_stall,      ///< for operands in one register bank
  barrier,  ///< for other warps of the block or the cluster, or for products of its warpgroup
  membar,   ///< until its stores are visible
  gmma,     ///< until products of its warpgroup have released its registers
};
inline constexpr std::size_t kWarpStates = 12;

std::string_view name_of(WarpState state);

/// Cycles of warps by state.
struct WarpClocks {
  std::array<double, kWarpStates> in{};

  double& operator[](WarpState state) { return in[static_cast<std::size_t>(state)]; }
  double operator[](WarpState state) const { return in[static_cast<std::size_t>(state)]; }
  WarpClocks& operator+=(const WarpClocks& more);
  WarpClocks& operator*=(double factor);
  double sum() const;
  /// The state with the most cycles.
  WarpState largest() const;
};

}  // namespace gpuexp
