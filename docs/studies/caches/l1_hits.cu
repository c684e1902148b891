// Loads of which L1 holds some lanes' words and lacks the others'. l1_hits.py compiles and runs this program, and counts with ncu.
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <vector>

#include <cuda_runtime.h>

namespace {

constexpr int kLanes = 32;
constexpr int kRequests = 2048;  // issued by each warp
constexpr int kUnrolled = 8;

void check(cudaError_t error) {
  if (error == cudaSuccess) return;
  std::fprintf(stderr, "%s\n", cudaGetErrorString(error));
  std::exit(1);
}

template <class Words>
__device__ unsigned sum_of(const Words& words) {
  const auto* word = reinterpret_cast<const unsigned*>(&words);
  unsigned sum = 0;
  for (unsigned i = 0; i < sizeof(Words) / sizeof(unsigned); ++i)
    sum += word[i];
  return sum;
}

// Lanes below `resident` load the same words each time, the others those `step` elements further. The steps are arguments, so
// that the compiler does not know which loads are the same.
template <class Words>
__global__ void load(const Words* base, int stride, int resident, int resident_step, int step, unsigned* sink, long long* clocks) {
  const auto lane = static_cast<int>(threadIdx.x % kLanes);
  const bool is_resident = lane < resident;
  constexpr int kStream = (1 << 22) / sizeof(Words);  // elements from the resident lines to the first new ones
  const Words* at = base + lane * stride + (is_resident ? 0 : kStream);
  const int next = is_resident ? resident_step : step;
  unsigned sum = is_resident ? sum_of(__ldca(at)) : 0;
  __syncthreads();
  const long long begun = clock64();
  for (int i = 0; i < kRequests; i += kUnrolled) {
    Words words[kUnrolled];
    for (Words& one : words) {
      one = __ldca(at);
      at += next;
    }
    for (const Words& one : words)
      sum += sum_of(one);
  }
  __syncthreads();
  if (threadIdx.x == 0) *clocks = clock64() - begun;
  if (sum == 1) *sink = sum;
}

struct Buffers {
  void* lines = nullptr;
  unsigned* sink = nullptr;
  long long* clocks = nullptr;
};

template <class Words>
void measure(const Buffers& b, int stride, int resident, int warps) {
  // New lines each time: farther than the widest request, and an odd number of lines, so that all banks of the tags come up.
  const int step = 33 * 33 * 4 * kLanes / static_cast<int>(sizeof(Words));
  load<<<1, kLanes * warps>>>(static_cast<const Words*>(b.lines), stride, resident, 0, step, b.sink, b.clocks);
  check(cudaDeviceSynchronize());
  long long clocks = 0;
  check(cudaMemcpy(&clocks, b.clocks, sizeof clocks, cudaMemcpyDeviceToHost));
  std::printf("%zu,%d,%d,%d,%d,%.3f\n", sizeof(Words), stride, resident, warps, kRequests,
              static_cast<double>(clocks) / kRequests / warps);
}

template <class Words>
void measure_all(const Buffers& b, const std::vector<int>& strides) {
  for (const int stride : strides)
    measure<Words>(b, stride, kLanes, 8);
  for (const int stride : {1, 2, 5, 8, 9, 15, 16, 31, 32, 33})
    for (const int resident : {0, 1, 8, 16, 24, 31})
      measure<Words>(b, stride, resident, 1);
}

}  // namespace

int main() {
  Buffers b;
  constexpr std::size_t kBytes = std::size_t{1} << 30;
  check(cudaMalloc(&b.lines, kBytes));
  check(cudaMemset(b.lines, 0, kBytes));
  check(cudaMalloc(&b.sink, sizeof(unsigned)));
  check(cudaMalloc(&b.clocks, sizeof(long long)));
  std::vector<int> strides;
  for (int stride = 0; stride <= 66; ++stride)
    strides.push_back(stride);
  std::printf("bytes_per_lane,stride,resident_lanes,warps,requests_per_warp,cycles_per_request\n");
  measure_all<std::uint32_t>(b, strides);
  measure_all<uint2>(b, {1, 2, 3, 4, 5, 7, 8, 9, 15, 16, 17, 32, 33});
  measure_all<uint4>(b, {1, 2, 3, 4, 5, 7, 8, 9, 15, 16, 17, 32, 33});
}
