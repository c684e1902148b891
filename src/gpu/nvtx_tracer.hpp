// NVTX ranges in the domain "gpuexp", as nsys and ncu show them.
#pragma once

#include <memory>

#include "run/tracer.hpp"

namespace gpuexp {

/// A tracer that emits NVTX ranges; costs next to nothing when no tool listens.
std::unique_ptr<Tracer> make_nvtx_tracer();

}  // namespace gpuexp
