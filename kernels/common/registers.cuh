// Warps of a block that need more registers than others (PTX ISA, setmaxnreg). A kernel is compiled
// for as many as its launch bounds leave each thread; warpgroups (four warps) then give some back,
// and others take them.
#pragma once

#include <cuda_runtime.h>

namespace gpuexp {

/// Variants that use the functions below ask lacks_specific_code (compiled_for.cuh); in other code
/// they trap. By all warps of a warpgroup, and so many registers per thread from then on: a
/// multiple of 8 from 24 to 256.
template <int kRegisters>
__device__ inline void keep_registers() {
#ifdef __CUDA_ARCH_FEAT_SM90_ALL
  asm volatile("setmaxnreg.dec.sync.aligned.u32 %0;" ::"n"(kRegisters));
#else
  __trap();
#endif
}

/// Waits until there are as many.
template <int kRegisters>
__device__ inline void take_registers() {
#ifdef __CUDA_ARCH_FEAT_SM90_ALL
  asm volatile("setmaxnreg.inc.sync.aligned.u32 %0;" ::"n"(kRegisters));
#else
  __trap();
#endif
}

}  // namespace gpuexp
