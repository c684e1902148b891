// Sizes that are equal on all current NVIDIA GPUs.
#pragma once

namespace gpuexp {

inline constexpr double kSectorBytes = 32;
inline constexpr double kWavefrontBytes = 128;
inline constexpr double kWarpThreads = 32;
inline constexpr double kSchedulersPerSm = 4;

}  // namespace gpuexp
