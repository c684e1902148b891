#include <cuda_runtime.h>

#include "gpu/cuda_check.hpp"
#include "gpu/load_latency.hpp"

namespace gpuexp::test {

__global__ void load_latency_kernel(const unsigned* begin, std::int64_t lines, unsigned* cycles) {
  constexpr int kWordsPerLine = kCacheLineBytes / sizeof(unsigned);
  for (std::int64_t line = blockIdx.x; line < lines; line += gridDim.x) {
    const unsigned* const address = begin + line * kWordsPerLine;
    unsigned start;
    unsigned end;
    // The second clock read depends on the loaded word, so it follows the load.
    asm volatile(
        "{ .reg .pred p; .reg .u32 word;\n\t"
        "mov.u32 %0, %%clock;\n\t"
        "ld.global.cg.u32 word, [%2];\n\t"
        "setp.ne.u32 p, word, 1;\n\t"
        "@p mov.u32 %1, %%clock;\n\t"
        "@!p mov.u32 %1, 0; }"
        : "=r"(start), "=r"(end)
        : "l"(address)
        : "memory");
    cycles[line] = end - start;
  }
}

void queue_load_latencies(const void* begin, std::int64_t lines, unsigned* d_cycles,
                          CUstream_st* stream) {
  int device = 0;
  int sm_count = 0;
  GPUEXP_CUDA(cudaGetDevice(&device));
  GPUEXP_CUDA(cudaDeviceGetAttribute(&sm_count, cudaDevAttrMultiProcessorCount, device));
  load_latency_kernel<<<sm_count, 1, 0, stream>>>(static_cast<const unsigned*>(begin), lines,
                                                  d_cycles);
  GPUEXP_CUDA(cudaGetLastError());
}

}  // namespace gpuexp::test
