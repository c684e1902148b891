// NVTX ranges in the domain "gpuexp", as nsys and ncu show them.
#pragma once

#include <memory>

#include "run/tracer.hpp"

namespace gpuexp {

/// A tracer that emits NVTX ranges; its cost is negligible without a listening tool.
std::unique_ptr<Tracer> make_nvtx_tracer();

}  // namespace gpuexp
