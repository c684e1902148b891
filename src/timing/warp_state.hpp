// What a warp does in a clock, under the names that Nsight Compute has for it.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string_view>

namespace gpuexp {

/// smsp__average_warps_issue_stalled_<name> of Nsight Compute, where the warp is not `selected`.
enum class WarpState : std::uint8_t {
  selected,            ///< issues an instruction
  not_selected,        ///< could, but another warp of its scheduler does
  wait,                ///< for the fixed latency of the instruction before
  long_scoreboard,     ///< for a result from L1, L2 or device memory
  short_scoreboard,    ///< for one from shared memory, or of the special function unit
  math_pipe_throttle,  ///< for the pipe that the instruction goes to
  mio_throttle,        ///< for a place in the queue of shared memory and its like
  lg_throttle,         ///< for a place in the queue of local and global memory
  dispatch_stall,      ///< for operands that lie in one register bank
  barrier,  ///< for other warps of the block or the cluster, or for products of its warpgroup
  membar,   ///< until others see what it has stored
  gmma,     ///< until products of its warpgroup have left the registers to it
};
inline constexpr std::size_t kWarpStates = 12;

std::string_view name_of(WarpState state);

/// Clocks of warps by what they did in them.
struct WarpClocks {
  std::array<double, kWarpStates> in{};

  double& operator[](WarpState state) { return in[static_cast<std::size_t>(state)]; }
  double operator[](WarpState state) const { return in[static_cast<std::size_t>(state)]; }
  WarpClocks& operator+=(const WarpClocks& more);
  WarpClocks& operator*=(double factor);
  double sum() const;
  /// The state that has most.
  WarpState largest() const;
};

}  // namespace gpuexp
