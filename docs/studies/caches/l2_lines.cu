// Measures the rates at which L2 serves loads and stores, by the number of sectors of a line that a request accesses. Prints CSV.
// Build and run: nvcc -O3 -arch=sm_90a -o l2_lines l2_lines.cu && ./l2_lines
#include <algorithm>
#include <cstdio>
#include <cstdlib>

#include "../check.cuh"

constexpr int kBlocks = 1056;
constexpr int kThreads = 256;
constexpr int kTimes = 64;
constexpr int kAhead = 8;
constexpr unsigned kRegionBytes = 8 << 20;  // L2 holds it

// Lanes access addresses `stride` bytes apart; all blocks together move through the region.
__global__ void load(const char* from, unsigned stride, int* out) {
  unsigned at = (blockIdx.x * blockDim.x + threadIdx.x) * stride;
  const unsigned step = gridDim.x * blockDim.x * stride;
  int sum = 0;
  for (int i = 0; i < kTimes; i += kAhead) {
    int values[kAhead];
#pragma unroll
    for (int k = 0; k < kAhead; ++k)
      asm volatile("ld.global.cg.u32 %0, [%1];" : "=r"(values[k]) : "l"(from + ((at + k * step) & (kRegionBytes - 1))));
#pragma unroll
    for (int k = 0; k < kAhead; ++k) sum += values[k];
    at += kAhead * step;
  }
  if (sum == 12345) *out = sum;
}

template <class T>
__global__ void store(char* to, unsigned stride) {
  unsigned at = (blockIdx.x * blockDim.x + threadIdx.x) * stride;
  const unsigned step = gridDim.x * blockDim.x * stride;
  for (int i = 0; i < kTimes; ++i, at += step) *reinterpret_cast<T*>(to + (at & (kRegionBytes - 1))) = T{};
}

template <class F>
float fastest_us(F launch) {
  cudaEvent_t begin, end;
  CHECK(cudaEventCreate(&begin));
  CHECK(cudaEventCreate(&end));
  float best = 1e30f;
  for (int i = 0; i < 10; ++i) {
    CHECK(cudaEventRecord(begin));
    launch();
    CHECK(cudaEventRecord(end));
    CHECK(cudaEventSynchronize(end));
    float ms;
    CHECK(cudaEventElapsedTime(&ms, begin, end));
    best = std::min(best, ms * 1000);
  }
  return best;
}

void report(const char* access, int bytes, unsigned stride, float us) {
  const double lanes = double(kBlocks) * kThreads * kTimes;
  const double sectors = stride >= 32 ? lanes : lanes * stride / 32;
  const int per_line = stride >= 128 ? 1 : std::min(4, int(128 / stride));
  std::printf("%s,%d,%u,%d,%.0f\n", access, bytes, stride, per_line, sectors / us);
}

int main() {
  char* memory;
  int* out;
  CHECK(cudaMalloc(&memory, kRegionBytes + 16));
  CHECK(cudaMemset(memory, 0, kRegionBytes + 16));
  CHECK(cudaMalloc(&out, sizeof(int)));
  std::printf("access,bytes_per_lane,stride_bytes,sectors_per_line,sectors_per_us\n");
  for (const unsigned stride : {32u, 64u, 128u, 256u, 4128u})
    report("load", 4, stride, fastest_us([&] { load<<<kBlocks, kThreads>>>(memory, stride, out); }));
  report("store", 16, 16, fastest_us([&] { store<int4><<<kBlocks, kThreads>>>(memory, 16); }));
  report("store", 4, 4, fastest_us([&] { store<int><<<kBlocks, kThreads>>>(memory, 4); }));
  for (const unsigned stride : {32u, 64u, 128u, 256u, 4128u}) {
    report("store", 4, stride, fastest_us([&] { store<int><<<kBlocks, kThreads>>>(memory, stride); }));
    report("store", 16, stride, fastest_us([&] { store<int4><<<kBlocks, kThreads>>>(memory, stride); }));
  }
}
