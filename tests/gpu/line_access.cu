#include <cuda_runtime.h>

#include "gpu/cuda_check.hpp"
#include "gpu/line_access.hpp"

namespace gpuexp::test {

__global__ void line_access_kernel(LineAccess access, unsigned char* begin,
                                   const __grid_constant__ LaneOffsets offsets) {
  const int lane = threadIdx.x;
  if (lane >= offsets.lanes) return;
  const std::int64_t* const of = reinterpret_cast<const std::int64_t*>(&offsets);
  unsigned char* const to = begin + of[lane];
  __shared__ alignas(128) unsigned char copied[32][128];
  const auto shared = static_cast<unsigned>(__cvta_generic_to_shared(copied[lane]));
  if (access == LineAccess::load) {
    // ptxas removes a load whose result has no use.
    asm volatile(
        "{ .reg .pred p; .reg .u32 word;\n\t"
        "ld.global.ca.u32 word, [%0];\n\t"
        "setp.eq.u32 p, word, 0xFFFFFFFF;\n\t"
        "@p trap; }"
        :
        : "l"(to)
        : "memory");
  } else if (access == LineAccess::store) {
    asm volatile("st.global.u32 [%0], 0;" : : "l"(to) : "memory");
  } else if (access == LineAccess::copy || access == LineAccess::committed_copy) {
    asm volatile("cp.async.ca.shared.global [%0], [%1], 4;" : : "r"(shared), "l"(to) : "memory");
    if (access == LineAccess::committed_copy) asm volatile("cp.async.commit_group;" : : : "memory");
  } else {
    asm volatile("red.global.add.u32 [%0], 1;" : : "l"(to) : "memory");
  }
}

void queue_line_access(LineAccess access, void* begin, const LaneOffsets& offsets,
                       CUstream_st* stream) {
  line_access_kernel<<<1, 32, 0, stream>>>(access, static_cast<unsigned char*>(begin), offsets);
  GPUEXP_CUDA(cudaGetLastError());
}

}  // namespace gpuexp::test
