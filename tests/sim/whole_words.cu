#include "kernels/common/launch.cuh"
#include "sim/whole_words.hpp"

namespace gpuexp::test {

namespace whole {

__global__ void words_kernel(int iterations, std::uint64_t* words, unsigned* torn) {
  const auto at = __cvta_generic_to_global(words + threadIdx.x);
  unsigned differ = 0;
#pragma unroll 1
  for (unsigned i = 0; i < static_cast<unsigned>(iterations); ++i) {
    if (blockIdx.x == 0) {
      const std::uint64_t word = static_cast<std::uint64_t>(i) << 32 | i;
      asm volatile("st.relaxed.gpu.global.u64 [%0], %1;" ::"l"(at), "l"(word) : "memory");
    } else {
      std::uint64_t word;
      asm volatile("ld.relaxed.gpu.global.u64 %0, [%1];" : "=l"(word) : "l"(at) : "memory");
      differ += word >> 32 != (word & 0xffffffffu) ? 1 : 0;
    }
  }
  if (blockIdx.x == 1) torn[threadIdx.x] = differ;
}

}  // namespace whole

Steps whole_words(int iterations, std::uint64_t* words, unsigned* torn) {
  Shape s;
  s.block = {kWholeWords, 1, 1};
  s.grid = {2, 1, 1};
  return launch(whole::words_kernel, s, iterations, words, torn);
}

}  // namespace gpuexp::test
