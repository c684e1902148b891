// How many output elements are drawn if the references of all of them take too long.
#pragma once

namespace gpuexp {

/// About so many elements are drawn, also if fewer would take the intended time...
inline constexpr double kUsualDrawnElements = 4096;
/// ...unless they take more than this multiple of the intended time.
inline constexpr double kMaxDrawTime = 8;
/// About so many elements are drawn in any case, or all if the output has fewer.
inline constexpr double kMinDrawnElements = 1024;

}  // namespace gpuexp
