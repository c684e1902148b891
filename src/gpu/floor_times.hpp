#pragma once

#include <functional>
#include <vector>

#include "gpu/event_timer.hpp"
#include "run/executor.hpp"

namespace gpuexp {

/// Times in µs per launch of an empty kernel, which is launched and timed as variants are in the
/// mode. `before_each` enqueues untimed work before each sample, such as a flush. Throws CudaError.
std::vector<double> floor_times_us(const CudaStream& stream, EventTimer& timer, Mode mode,
                                   int samples, const std::function<void()>& before_each);

}  // namespace gpuexp
