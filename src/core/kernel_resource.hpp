#pragma once

#include <cstddef>

namespace gpuexp {

// What the compiler gave one kernel on one architecture, as `cuobjdump --dump-resource-usage` reads it out of the
// compiled objects: what a prediction of occupancy needs, without a GPU. cudaFuncGetAttributes gives the same for
// the GPU present. A kernel has one row per architecture that the binary holds machine code for; PTX has none.
struct KernelResource {
  // Address of the kernel's host stub: the pointer that cudaLaunchKernel takes, so a variant finds the rows
  // of its kernels by the pointers that it launches.
  const void* host_function;
  const char* mangled_name;
  int architecture;  // 10 × major + minor compute capability: 80, 90; sm_90a counts as 90
  int registers;     // per thread
  // Per block, declared in the kernel. Without what is asked for at launch, and without the 1 KiB per block that the
  // system keeps from compute capability 8.0 on: add that to both before dividing the SM's shared memory.
  int static_shared_bytes;
  int local_bytes;  // per thread, LOCAL of cuobjdump; compilers of today put arrays and spills on the stack instead
  int stack_bytes;  // per thread: local arrays, spilled registers and call frames, all in local memory
};

// The rows of this binary's kernels, sorted by name, then architecture; count receives how many there are. The table
// is generated while the kernels are built (kernels/kernel_resources.cmake), and has no rows where the build
// had no cuobjdump or no CUDA. Lives as long as the program.
const KernelResource* kernel_resource_table(std::size_t& count);

}  // namespace gpuexp
