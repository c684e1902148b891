// Faults of kernel files: their messages name the cause.
#include <string>

#include "sim/kernel_folder.hpp"

namespace gpuexp::test {
namespace {

TEST_CASE("a read before another thread's write names the missing barrier", "[own_family]") {
  REQUIRE_TOOLKIT();
  KernelFolder folder;
  const Family& family = folder.load("reverse.cu", R"(// gpuexp: x[256] y[256]
// gpuexp: no_barrier<<<1, 256>>>
// gpuexp: early_barrier<<<1, 256>>>
// gpuexp: no_write<<<1, 256>>>
// gpuexp: with_barrier<<<1, 256>>>
// gpuexp: check y[i] = x[255 - i]
__global__ void no_barrier(const float* x, float* y) {
  __shared__ float s[256];
  s[threadIdx.x] = x[threadIdx.x];
  y[threadIdx.x] = s[255 - threadIdx.x];
}
__global__ void early_barrier(const float* x, float* y) {
  __shared__ float s[256];
  y[threadIdx.x] = s[255 - threadIdx.x];
  __syncthreads();
  s[threadIdx.x] = x[threadIdx.x];
  __syncthreads();
  y[threadIdx.x] += s[threadIdx.x];
}
__global__ void no_write(const float* x, float* y) {
  __shared__ float s[256];
  if (threadIdx.x < 128) s[threadIdx.x] = x[threadIdx.x];
  __syncthreads();
  y[threadIdx.x] = s[255 - threadIdx.x];
}
__global__ void with_barrier(const float* x, float* y) {
  __shared__ float s[256];
  s[threadIdx.x] = x[threadIdx.x];
  __syncthreads();
  y[threadIdx.x] = s[255 - threadIdx.x];
}
)");
  CHECK(failure(family, "no_barrier") ==
        "no_barrier, reverse.cu:10, block (0, 0, 0), thread (0, 0, 0): 4 bytes of shared memory at "
        "0x3fc are read before thread (255, 0, 0) at reverse.cu:9 writes them, and used at "
        "reverse.cu:10; no barrier separates this write from the read: one is missing between "
        "them, such as __syncthreads()");
  for (const char* const variant : {"early_barrier", "no_write"}) {
    INFO(variant);
    CHECK_THAT(failure(family, variant),
               contains_text("are read before anything wrote them, and used at reverse.cu:") &&
                   !contains_text("missing between"));
  }
  CHECK(failure(family, "with_barrier").empty());
}

TEST_CASE("a misaligned vector access names the element", "[own_family]") {
  REQUIRE_TOOLKIT();
  KernelFolder folder;
  const Family& family = folder.load("vectors.cu", R"(// gpuexp: x[132] y[128]
// gpuexp: right = shift<0><<<1, 32>>>
// gpuexp: wrong = shift<1><<<1, 32>>>
// gpuexp: check y[i] = x[i]
template <int OFFSET>
__global__ void shift(const float* x, float* y) {
  const int t = threadIdx.x;
  reinterpret_cast<float4*>(y)[t] = reinterpret_cast<const float4*>(x + OFFSET)[t];
}
)");
  CHECK(failure(family, "right").empty());
  const std::string wrong = failure(family, "wrong");
  CHECK_THAT(wrong, contains_text("vectors.cu:8, block (0, 0, 0), thread (0, 0, 0): 16 bytes at "));
  CHECK_THAT(wrong, Catch::EndsWith(" are not aligned: they begin at element 1 of buffer x of 528 "
                                    "bytes, 4 bytes past a multiple of 16"));
}

TEST_CASE("lanes that wait for absent lanes of a mask are named", "[own_family]") {
  REQUIRE_TOOLKIT();
  KernelFolder folder;
  const Family& family = folder.load("shuffle.cu", R"(// gpuexp: x[64] y[64]
// gpuexp: absent<<<1, 64>>>
// gpuexp: present<<<1, 64>>>
// gpuexp: check y[i] = x[63 - i]
__global__ void absent(const float* x, float* y) {
  __shared__ float s[64];
  float v = x[threadIdx.x];
  // Lanes 16 to 31 arrive at the barrier instead, which needs lanes 0 to 15 there.
  if (threadIdx.x % 32 < 16) v = __shfl_sync(0xffffffff, v, threadIdx.x % 16) + 1;
  s[threadIdx.x] = v;
  __syncthreads();
  y[threadIdx.x] = s[63 - threadIdx.x];
}
__global__ void present(const float* x, float* y) {
  __shared__ float s[64];
  float v = x[threadIdx.x];
  if (threadIdx.x % 32 < 16) v = __shfl_sync(0xffff, v, threadIdx.x % 16);
  s[threadIdx.x] = v;
  __syncthreads();
  y[threadIdx.x] = s[63 - threadIdx.x];
}
)");
  CHECK(failure(family, "present").empty());
  const std::string absent = failure(family, "absent");
  CHECK_THAT(absent,
             contains_text("; lanes 0 to 15 of warp 0 wait at shuffle.cu:11 for lanes 16 to "
                           "31 of the mask, which never arrive; so do lanes of 1 other "
                           "warp; exited threads: 0"));
  CHECK_THAT(absent, contains_text("threads waiting there: 32 at shuffle.cu:11"));
}

}  // namespace
}  // namespace gpuexp::test
