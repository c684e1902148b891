// States of a warp, named as in Nsight Compute.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string_view>

namespace gpuexp {

/// Stall reasons are the metrics smsp__average_warps_issue_stalled_<name>.
enum class WarpState : std::uint8_t {
  selected,
  not_selected,        ///< could issue, but its scheduler chose another warp
  wait,                ///< waits for the fixed latency of the previous instruction
  long_scoreboard,     ///< waits for a result from L1, L2 or device memory
  short_scoreboard,    ///< waits for a result from shared memory or the special function unit
  math_pipe_throttle,  ///< waits for the instruction's pipe
  mio_throttle,        ///< waits for an entry in the queue of shared memory and similar units
  lg_throttle,         ///< waits for an entry in the queue of local and global memory
  dispatch_stall,      ///< waits for operands in one register bank
  barrier,  ///< waits for other warps of the block or cluster, or for products of its warpgroup
  membar,   ///< waits until its stores are visible
  gmma,     ///< waits until products of its warpgroup have released its registers
};
inline constexpr std::size_t kWarpStates = 12;

std::string_view name_of(WarpState state);

struct WarpClocks {
  std::array<double, kWarpStates> in{};

  double& operator[](WarpState state) { return in[static_cast<std::size_t>(state)]; }
  double operator[](WarpState state) const { return in[static_cast<std::size_t>(state)]; }
  WarpClocks& operator+=(const WarpClocks& more);
  WarpClocks& operator*=(double factor);
  double sum() const;
  WarpState largest() const;
};

}  // namespace gpuexp
