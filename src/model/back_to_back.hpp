// Time per launch in a series of launches of which each starts when the previous one has ended.
#pragma once

#include <optional>

#include "base/mode.hpp"
#include "device/ceilings.hpp"

namespace gpuexp {

/// Time from the end of a kernel to the start of the next kernel of its stream or graph, in µs.
/// Empty if a ceiling is missing.
std::optional<double> next_kernel_us(Mode mode, const Ceilings& ceilings);

/// Time per launch in a back-to-back mode, in µs. A launch takes `gpu_us` on the GPU, including
/// next_kernel_us, and `calls` calls of the host. Without a graph, the host may need longer for its
/// calls than the GPU for the launch, and the kBackToBackLaunches launches of a series share the
/// host's time to enqueue the first launch and to notice the end of the last one. Empty if a
/// ceiling is missing.
std::optional<double> back_to_back_us(Mode mode, double gpu_us, double calls,
                                      const Ceilings& ceilings);

}  // namespace gpuexp
