// Reallocation of registers between the warpgroups (four warps) of a block (PTX ISA, setmaxnreg).
// A kernel starts with the number of registers per thread that its launch bounds allow. Some
// warpgroups then release registers, and other warpgroups acquire these registers.
#pragma once

#include <cuda_runtime.h>

namespace gpuexp {

/// Reduces the number of registers per thread to kRegisters, a multiple of 8 from 24 to 256. All
/// warps of a warpgroup must call this. In code that is not specific to sm_90a, the functions of
/// this file trap, so variants must check lacks_specific_code (compiled_for.cuh).
template <int kRegisters>
__device__ inline void release_registers() {
#ifdef __CUDA_ARCH_FEAT_SM90_ALL
  asm volatile("setmaxnreg.dec.sync.aligned.u32 %0;" ::"n"(kRegisters));
#else
  __trap();
#endif
}

/// Increases the number of registers per thread to kRegisters, after waiting until they are
/// available. All warps of a warpgroup must call this.
template <int kRegisters>
__device__ inline void acquire_registers() {
#ifdef __CUDA_ARCH_FEAT_SM90_ALL
  asm volatile("setmaxnreg.inc.sync.aligned.u32 %0;" ::"n"(kRegisters));
#else
  __trap();
#endif
}

}  // namespace gpuexp
