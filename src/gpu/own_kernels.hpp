// Kernels that fill the buffers of users' kernels and evaluate their checks on a GPU.
#pragma once

namespace gpuexp {

/// Sets own::device_kernels(). Call it once, before a user's kernel is launched.
void provide_own_kernels();

}  // namespace gpuexp
