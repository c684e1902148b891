// Measures the cycles of the first accesses of a kernel. Prints CSV: means over warps and over three launches.
// Build and run: nvcc -O3 -std=c++17 -arch=sm_90a -o first_access first_access.cu && ./first_access
#include <cstdio>
#include <cstdlib>
#include <vector>

#include "../check.cuh"

constexpr int kAccesses = 8;
constexpr int kBlocks = 132;
constexpr int kWords = 64;  // read by a block from each buffer

__constant__ unsigned constants[1024];
__device__ unsigned sink;

struct Parameters {
  unsigned values[200];
};

__device__ __forceinline__ unsigned now() {
  unsigned clock;
  asm volatile("mov.u32 %0, %%clock;" : "=r"(clock)::"memory");
  return clock;
}

// The address depends on the sum of earlier values, so each load waits for them.
__device__ __forceinline__ unsigned load(const unsigned* from, unsigned sum) {
  unsigned value;
  asm volatile("ld.global.cg.u32 %0, [%1];" : "=r"(value) : "l"(from + (sum == 0xfffffff1u)) : "memory");
  return value;
}
__device__ __forceinline__ unsigned parameter(const unsigned* from) {
  unsigned value;
  asm volatile("ld.param.u32 %0, [%1];" : "=r"(value) : "l"(from) : "memory");
  return value;
}
// A use of the sum, so that the next reading of the clock comes after the access.
__device__ __forceinline__ void use(unsigned sum) {
  if (sum == 77) sink = sum;
}

__global__ void first(const unsigned* a, const unsigned* b, unsigned* clocks, __grid_constant__ const Parameters parameters) {
  unsigned t[kAccesses + 1];
  unsigned sum = 0;
  const unsigned* const own_a = a + blockIdx.x * kWords;
  const unsigned* const own_b = b + blockIdx.x * kWords;
  constexpr int kOtherLine = kBlocks * kWords;
  t[0] = now();
  use(sum += parameter(&parameters.values[0]));
  t[1] = now();
  use(sum += parameter(&parameters.values[150]));
  t[2] = now();
  use(sum += load(own_a, sum));
  t[3] = now();
  use(sum += load(own_a + kOtherLine, sum));
  t[4] = now();
  use(sum += load(own_a, sum));
  t[5] = now();
  use(sum += load(own_b, sum));
  t[6] = now();
  use(sum += load(own_b + kOtherLine, sum));
  t[7] = now();
  unsigned constant;
  asm volatile("ld.const.u32 %0, [%1];" : "=r"(constant) : "l"(0ul + sum % 2 * 4) : "memory");
  use(sum += constant);
  t[8] = now();
  if (threadIdx.x % 32 != 0) return;
  unsigned* const to = clocks + (blockIdx.x * (blockDim.x / 32) + threadIdx.x / 32) * kAccesses;
  for (int i = 0; i < kAccesses; ++i) to[i] = t[i + 1] - t[i];
  if (sum == 77) sink = constants[sum];
}

__global__ void read_all(const int4* from, std::size_t count, unsigned* out) {
  int sum = 0;
  for (std::size_t i = blockIdx.x * blockDim.x + threadIdx.x; i < count; i += std::size_t(gridDim.x) * blockDim.x) sum += from[i].x;
  if (sum == 12345) *out = sum;
}
__global__ void empty() {}

int main() {
  constexpr std::size_t kFlushBytes = std::size_t(256) << 20;
  constexpr std::size_t kBytes = 8 << 20;
  constexpr int kSamples = 3;
  int4* flushed;
  unsigned *a, *b, *clocks;
  CHECK(cudaMalloc(&flushed, kFlushBytes));
  CHECK(cudaMemset(flushed, 0, kFlushBytes));
  CHECK(cudaMalloc(&a, kBytes));
  CHECK(cudaMalloc(&b, kBytes));
  CHECK(cudaMemset(a, 0, kBytes));
  CHECK(cudaMemset(b, 0, kBytes));
  CHECK(cudaMalloc(&clocks, kBlocks * 8 * kAccesses * sizeof(unsigned)));
  const Parameters parameters{};
  std::printf("state,blocks,warps,first_parameter,next_parameter,first_load,next_line,same_line,other_buffer,other_buffer_next_line,first_constant\n");
  for (const int blocks : {1, kBlocks})
    for (const int warps : {1, 8})
      for (const bool flush : {false, true}) {
        double sums[kAccesses] = {};
        for (int sample = 0; sample <= kSamples; ++sample) {
          if (flush) {
            for (int i = 0; i < 2; ++i) read_all<<<1056, 256>>>(flushed, kFlushBytes / sizeof(int4), a);
          } else {
            first<<<blocks, 32 * warps>>>(a, b, clocks, parameters);
            empty<<<1, 32>>>();
          }
          first<<<blocks, 32 * warps>>>(a, b, clocks, parameters);
          CHECK(cudaDeviceSynchronize());
          if (sample == 0) continue;  // loads the code
          std::vector<unsigned> host(std::size_t(blocks) * warps * kAccesses);
          CHECK(cudaMemcpy(host.data(), clocks, host.size() * sizeof(unsigned), cudaMemcpyDeviceToHost));
          for (std::size_t i = 0; i < host.size(); ++i) sums[i % kAccesses] += double(host[i]) / (blocks * warps * kSamples);
        }
        std::printf("%s,%d,%d", flush ? "flushed" : "again", blocks, warps);
        for (const double sum : sums) std::printf(",%.0f", sum);
        std::printf("\n");
      }
}
