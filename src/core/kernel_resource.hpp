#pragma once

#include <cstddef>

namespace gpuexp {

// What the compiler gave one kernel on one architecture, read out of the compiled objects with
// `cuobjdump --dump-resource-usage`: what a prediction of occupancy needs where there is no GPU to
// ask with cudaFuncGetAttributes. A kernel has one row per architecture that the binary holds
// machine code for; PTX has none.
struct KernelResource {
  // Address of the kernel's host stub: the pointer that cudaLaunchKernel takes, so a variant finds
  // the rows of its kernels by the pointers that it launches.
  const void* host_function;
  const char* mangled_name;
  // 10 × major + minor compute capability: 80, 90. sm_90a counts as 90.
  int architecture;
  // Per thread.
  int registers;
  // Per block, as declared in the kernel: without what a launch asks for on top, and without the
  // 1 KiB per block that the system keeps from compute capability 8.0 on.
  int static_shared_bytes;
  // Per thread, both in local memory: what cuobjdump calls LOCAL, which nvcc 13 leaves at 0, and
  // the stack, which holds local arrays, spilled registers and call frames.
  int local_bytes;
  int stack_bytes;
};

// The rows of this binary's kernels, sorted by name, then architecture; count receives how many
// there are. The table is generated while the kernels are built (kernels/kernel_resources.cmake),
// and has no rows where the build had no cuobjdump or no CUDA. Lives as long as the program.
const KernelResource* kernel_resource_table(std::size_t& count);

}  // namespace gpuexp
