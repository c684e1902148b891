// How many output elements are drawn if the references of all of them take too long.
#pragma once

namespace gpuexp {

/// Approximate number of drawn elements, or more if they take at most the intended time.
inline constexpr double kUsualDrawnElements = 4096;
/// Fewer are drawn if they take more than this multiple of the intended time.
inline constexpr double kMaxDrawTime = 8;
/// Approximate minimum number of drawn elements. All are compared if the output has fewer.
inline constexpr double kMinDrawnElements = 1024;

}  // namespace gpuexp
