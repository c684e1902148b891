// Tensor core products of arbitrary bits.
#pragma once

#include <cstdint>
#include <vector>

namespace gpuexp::test {

enum class Product {
  mma_fp16,
  mma_bf16,
  mma_tf32,
  mma_fp16_to_fp16,
  wgmma_fp16,
  wgmma_bf16,
  wgmma_tf32,
  wgmma_fp16_to_fp16,
  wgmma_e4m3,
  wgmma_e5m2,
};

inline bool is_wgmma(Product product) {
  return product >= Product::wgmma_fp16;
}

/// One lane's fragments, as in the PTX ISA, of a product of 16 × 8 with 32 bytes along K. For
/// wgmma, a is the warp's rows of the 64, and b comes from the first warp.
struct Fragments {
  std::uint32_t a[4];
  std::uint32_t b[2];
  std::uint32_t c[4];
};

/// Four words of D per lane. `lanes` holds whole warps, or whole warpgroups for wgmma. Throws
/// CudaError.
std::vector<std::uint32_t> products(Product product, const std::vector<Fragments>& lanes);

}  // namespace gpuexp::test
