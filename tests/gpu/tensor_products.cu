#include "gpu/cuda_check.hpp"
#include "gpu/tensor_products.hpp"

namespace gpuexp::test {

namespace {

constexpr int kWarp = 32;
constexpr int kWarpgroup = 128;

#define GPUEXP_MMA(SHAPE, TYPE)                                                                    \
  asm("mma.sync.aligned." SHAPE ".row.col.f32." TYPE "." TYPE                                      \
      ".f32 {%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, {%10, %11, %12, %13};"                   \
      : "=r"(d[0]), "=r"(d[1]), "=r"(d[2]), "=r"(d[3])                                             \
      : "r"(x.a[0]), "r"(x.a[1]), "r"(x.a[2]), "r"(x.a[3]), "r"(x.b[0]), "r"(x.b[1]), "r"(x.c[0]), \
        "r"(x.c[1]), "r"(x.c[2]), "r"(x.c[3]))

__global__ void mma_kernel(Product product, const Fragments* lanes, std::uint32_t* results) {
  const unsigned i = blockIdx.x * blockDim.x + threadIdx.x;
  const Fragments x = lanes[i];
  std::uint32_t d[4] = {0, 0, 0, 0};
  switch (product) {
    case Product::mma_fp16: GPUEXP_MMA("m16n8k16", "f16"); break;
    case Product::mma_bf16: GPUEXP_MMA("m16n8k16", "bf16"); break;
    case Product::mma_tf32: GPUEXP_MMA("m16n8k8", "tf32"); break;
    default:
      asm("mma.sync.aligned.m16n8k16.row.col.f16.f16.f16.f16 "
          "{%0, %1}, {%2, %3, %4, %5}, {%6, %7}, {%8, %9};"
          : "=r"(d[0]), "=r"(d[1])
          : "r"(x.a[0]), "r"(x.a[1]), "r"(x.a[2]), "r"(x.a[3]), "r"(x.b[0]), "r"(x.b[1]),
            "r"(x.c[0]), "r"(x.c[1]));
  }
  for (int j = 0; j < 4; ++j)
    results[4 * i + j] = d[j];
}

#define GPUEXP_WGMMA(SHAPE, D, OPERANDS, LAST, ...)                              \
  asm volatile(                                                                  \
      "{.reg .pred p; setp.ne.b32 p, 1, 0; wgmma.fence.sync.aligned;"            \
      "wgmma.mma_async.sync.aligned." SHAPE " " D ", " OPERANDS ", p, 1, 1" LAST \
      ";"                                                                        \
      "wgmma.commit_group.sync.aligned; wgmma.wait_group.sync.aligned 0;}"       \
      : __VA_ARGS__                                                              \
      : "r"(x.a[0]), "r"(x.a[1]), "r"(x.a[2]), "r"(x.a[3]), "l"(matrix)          \
      : "memory")
#define GPUEXP_WGMMA_FP32(SHAPE, LAST)                                                          \
  GPUEXP_WGMMA(SHAPE, "{%0, %1, %2, %3}", "{%4, %5, %6, %7}, %8", LAST, "+r"(d[0]), "+r"(d[1]), \
               "+r"(d[2]), "+r"(d[3]))

__global__ void wgmma_kernel(Product product, const Fragments* lanes, std::uint32_t* results) {
#ifdef __CUDA_ARCH_FEAT_SM90_ALL
  // Two consecutive core matrices along K, of 8 rows of 16 bytes.
  __shared__ alignas(128) unsigned char b[256];
  const unsigned i = blockIdx.x * blockDim.x + threadIdx.x;
  const unsigned lane = threadIdx.x % kWarp;
  const Fragments x = lanes[i];
  std::uint32_t d[4] = {x.c[0], x.c[1], x.c[2], x.c[3]};
  if (threadIdx.x < kWarp) {
    for (unsigned r = 0; r < 2; ++r)
      *reinterpret_cast<std::uint32_t*>(b + 128 * r + lane / 4 * 16 + lane % 4 * 4) = x.b[r];
  }
  asm volatile("fence.proxy.async;" ::: "memory");
  __syncthreads();
  constexpr std::uint64_t kLeading = std::uint64_t{128 >> 4} << 16;
  constexpr std::uint64_t kStride = std::uint64_t{256 >> 4} << 32;
  const std::uint64_t matrix =
      (static_cast<std::uint64_t>(__cvta_generic_to_shared(b)) >> 4 & 0x3fff) | kLeading | kStride;
  switch (product) {
    case Product::wgmma_fp16: GPUEXP_WGMMA_FP32("m64n8k16.f32.f16.f16", ", 0"); break;
    case Product::wgmma_bf16: GPUEXP_WGMMA_FP32("m64n8k16.f32.bf16.bf16", ", 0"); break;
    case Product::wgmma_tf32: GPUEXP_WGMMA_FP32("m64n8k8.f32.tf32.tf32", ""); break;
    case Product::wgmma_e4m3: GPUEXP_WGMMA_FP32("m64n8k32.f32.e4m3.e4m3", ""); break;
    case Product::wgmma_e5m2: GPUEXP_WGMMA_FP32("m64n8k32.f32.e5m2.e5m2", ""); break;
    default:
      GPUEXP_WGMMA("m64n8k16.f16.f16.f16", "{%0, %1}", "{%2, %3, %4, %5}, %6", ", 0", "+r"(d[0]),
                   "+r"(d[1]));
      d[2] = d[3] = 0;  // two words hold all fp16 elements
  }
  for (int j = 0; j < 4; ++j)
    results[4 * i + j] = d[j];
#endif
}

}  // namespace

std::vector<std::uint32_t> products(Product product, const std::vector<Fragments>& lanes) {
  Fragments* d_lanes = nullptr;
  std::uint32_t* d_results = nullptr;
  std::vector<std::uint32_t> results(4 * lanes.size());
  const std::size_t bytes = lanes.size() * sizeof(Fragments);
  const std::size_t result_bytes = results.size() * sizeof(std::uint32_t);
  GPUEXP_CUDA(cudaMalloc(&d_lanes, bytes));
  GPUEXP_CUDA(cudaMalloc(&d_results, result_bytes));
  GPUEXP_CUDA(cudaMemcpy(d_lanes, lanes.data(), bytes, cudaMemcpyHostToDevice));
  const auto count = static_cast<unsigned>(lanes.size());
  if (is_wgmma(product)) {
    wgmma_kernel<<<count / kWarpgroup, kWarpgroup>>>(product, d_lanes, d_results);
  } else {
    mma_kernel<<<count / kWarp, kWarp>>>(product, d_lanes, d_results);
  }
  GPUEXP_CUDA(cudaGetLastError());
  GPUEXP_CUDA(cudaMemcpy(results.data(), d_results, result_bytes, cudaMemcpyDeviceToHost));
  GPUEXP_CUDA(cudaFree(d_lanes));
  GPUEXP_CUDA(cudaFree(d_results));
  return results;
}

}  // namespace gpuexp::test
