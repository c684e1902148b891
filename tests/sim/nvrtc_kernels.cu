// Compiled by NVRTC while the test runs (nvrtc_test.cpp), never by nvcc.
#include <cuda_fp16.h>
#include <cuda_fp8.h>

// Loop, shared memory and barriers. Launched with 128 threads.
extern "C" __global__ void block_sums(const float* in, float* out, int n) {
  __shared__ float sums[128];
  float sum = 0;
  for (int i = static_cast<int>(blockIdx.x * blockDim.x + threadIdx.x); i < n;
       i += static_cast<int>(gridDim.x * blockDim.x))
    sum += in[i];
  sums[threadIdx.x] = sum;
  for (unsigned half = blockDim.x / 2; half > 0; half /= 2) {
    __syncthreads();
    if (threadIdx.x < half) sums[threadIdx.x] += sums[threadIdx.x + half];
  }
  if (threadIdx.x == 0) out[blockIdx.x] = sums[0];
}

// Lanes leave the loop one after another. The switch compiles to an indexed branch through a table
// in constant memory.
extern "C" __global__ void divergent(const int* in, int* out) {
  int value = in[threadIdx.x];
  int steps = 0;
#pragma unroll 1
  while (value != 1) {
    value = value % 2 == 0 ? value / 2 : 3 * value + 1;
    ++steps;
  }
  switch (steps % 8) {
    case 0: steps = __popc(steps); break;
    case 1: steps = steps * 3 + 7; break;
    case 2: steps ^= 0x55; break;
    case 3: steps = __clz(steps); break;
    case 4: steps = __brev(steps); break;
    case 5: steps = -steps; break;
    case 6: steps = steps * steps; break;
    default: steps = ~steps; break;
  }
  out[threadIdx.x] = steps;
}

extern "C" __global__ void convert(const float* in, __half* half, unsigned char* fp8) {
  half[threadIdx.x] = __float2half_rn(in[threadIdx.x]);
  fp8[threadIdx.x] = __nv_cvt_float_to_fp8(in[threadIdx.x], __NV_SATFINITE, __NV_E4M3);
}

namespace counting {

// A template, so its name is mangled.
template <int kBins>
__global__ void histogram(const int* in, int* bins, int n) {
  const int i = static_cast<int>(blockIdx.x * blockDim.x + threadIdx.x);
  if (i < n) atomicAdd(&bins[in[i] % kBins], 1);
}

}  // namespace counting

// Writes one element past the end if `n` is the size of the buffer.
extern "C" __global__ void overrun(int* out, int n) {
  const int i = static_cast<int>(threadIdx.x);
  if (i <= n) out[i] = i;  // fault: overrun
}
