// Stores to parts of sectors: how many sectors reach L2 (README.md, partly written sectors).
//
// gpuexp run partial_stores.cu --counters
//
// gpuexp: y[132*1024*128]
// gpuexp: parts2_apart1_warps1 = parts<2, 1><<<132, 32>>>(y)
// gpuexp: parts2_apart1_warps8 = parts<2, 1><<<132, 256>>>(y)
// gpuexp: parts2_apart1_warps32 = parts<2, 1><<<132, 1024>>>(y)
// gpuexp: parts2_apart2_warps1 = parts<2, 2><<<132, 32>>>(y)
// gpuexp: parts2_apart2_warps8 = parts<2, 2><<<132, 256>>>(y)
// gpuexp: parts2_apart2_warps32 = parts<2, 2><<<132, 1024>>>(y)
// gpuexp: parts2_apart4_warps1 = parts<2, 4><<<132, 32>>>(y)
// gpuexp: parts2_apart4_warps8 = parts<2, 4><<<132, 256>>>(y)
// gpuexp: parts2_apart4_warps32 = parts<2, 4><<<132, 1024>>>(y)
// gpuexp: parts2_apart8_warps1 = parts<2, 8><<<132, 32>>>(y)
// gpuexp: parts2_apart8_warps8 = parts<2, 8><<<132, 256>>>(y)
// gpuexp: parts2_apart8_warps32 = parts<2, 8><<<132, 1024>>>(y)
// gpuexp: parts2_apart16_warps1 = parts<2, 16><<<132, 32>>>(y)
// gpuexp: parts2_apart16_warps8 = parts<2, 16><<<132, 256>>>(y)
// gpuexp: parts2_apart16_warps32 = parts<2, 16><<<132, 1024>>>(y)
// gpuexp: parts8_apart1_warps1 = parts<8, 1><<<132, 32>>>(y)
// gpuexp: parts8_apart1_warps8 = parts<8, 1><<<132, 256>>>(y)
// gpuexp: parts8_apart1_warps32 = parts<8, 1><<<132, 1024>>>(y)
// gpuexp: parts8_apart2_warps1 = parts<8, 2><<<132, 32>>>(y)
// gpuexp: parts8_apart2_warps8 = parts<8, 2><<<132, 256>>>(y)
// gpuexp: parts8_apart2_warps32 = parts<8, 2><<<132, 1024>>>(y)
// gpuexp: parts8_apart4_warps1 = parts<8, 4><<<132, 32>>>(y)
// gpuexp: parts8_apart4_warps8 = parts<8, 4><<<132, 256>>>(y)
// gpuexp: parts8_apart4_warps32 = parts<8, 4><<<132, 1024>>>(y)
// gpuexp: parts8_apart8_warps1 = parts<8, 8><<<132, 32>>>(y)
// gpuexp: parts8_apart8_warps8 = parts<8, 8><<<132, 256>>>(y)
// gpuexp: parts8_apart8_warps32 = parts<8, 8><<<132, 1024>>>(y)
// gpuexp: parts8_apart16_warps1 = parts<8, 16><<<132, 32>>>(y)
// gpuexp: parts8_apart16_warps8 = parts<8, 16><<<132, 256>>>(y)
// gpuexp: parts8_apart16_warps32 = parts<8, 16><<<132, 1024>>>(y)
// gpuexp: later20 = later<<<132, 32>>>(y, 20)
// gpuexp: later100 = later<<<132, 32>>>(y, 100)
// gpuexp: later400 = later<<<132, 32>>>(y, 400)
// gpuexp: warps_warps2 = warps<<<132, 64>>>(y)
// gpuexp: warps_warps8 = warps<<<132, 256>>>(y)
// gpuexp: warps_warps32 = warps<<<132, 1024>>>(y)
// gpuexp: whole_warps2 = whole<<<132, 64>>>(y)
// gpuexp: whole_warps8 = whole<<<132, 256>>>(y)
// gpuexp: whole_warps32 = whole<<<132, 1024>>>(y)

// Each lane has a sector of its own. A warp stores words 0 to kParts - 1 of its sectors; kApart
// instructions store other sectors between two words of a sector.
template <int kParts, int kApart>
__global__ void __launch_bounds__(1024) parts(float* y) {
  float* const sector = y + (blockIdx.x * (blockDim.x / 32) + threadIdx.x / 32) * 4096 +
                        threadIdx.x % 32 * 8;
  for (int first = 0; first < 16; first += kApart) {
#pragma unroll
    for (int word = 0; word < kParts; ++word)
#pragma unroll
      for (int i = 0; i < kApart; ++i)
        sector[(first + i) * 256 + word] = 1.0f;
  }
}

// As parts<4, 1>, but the warp waits for `clocks` cycles or more after each store.
__global__ void __launch_bounds__(1024) later(float* y, int clocks) {
  float* const sector = y + (blockIdx.x * (blockDim.x / 32) + threadIdx.x / 32) * 4096 +
                        threadIdx.x % 32 * 8;
  for (int i = 0; i < 16; ++i) {
    for (int word = 0; word < 4; ++word) {
      sector[i * 256 + word] = 1.0f;
      const long long begin = clock64();
      while (clock64() - begin < clocks)
        ;
    }
  }
}

// Two warps store the halves of each sector.
__global__ void __launch_bounds__(1024) warps(float* y) {
  float* const sector = y + (blockIdx.x * (blockDim.x / 32) + threadIdx.x / 64 * 2) * 4096 +
                        threadIdx.x % 32 * 8;
  const int half = threadIdx.x / 32 % 2;
  for (int i = 0; i < 32; ++i)
    *reinterpret_cast<float4*>(sector + i * 256 + 4 * half) = make_float4(1, 1, 1, 1);
}

// A warp stores each whole line four times in a row.
__global__ void __launch_bounds__(1024) whole(float* y) {
  float* const line = y + (blockIdx.x * (blockDim.x / 32) + threadIdx.x / 32) * 4096 +
                      threadIdx.x % 32;
  for (int i = 0; i < 128; ++i)
#pragma unroll
    for (int word = 0; word < 4; ++word)
      line[i * 32] = word;
}
