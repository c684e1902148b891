// NVTX ranges in the domain "gpuexp", which nsys and ncu show.
#pragma once

#include <memory>

#include "run/tracer.hpp"

namespace gpuexp {

/// A tracer that emits NVTX ranges. Its cost is negligible if no tool listens.
std::unique_ptr<Tracer> make_nvtx_tracer();

}  // namespace gpuexp
