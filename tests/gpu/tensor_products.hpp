// Products on the tensor cores, of whatever bits they are given.
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

/// What one lane has of a product of 16 × 8 (a warp's rows of wgmma's 64, B being the first
/// warp's), 32 bytes along K: fragments as the PTX ISA has them.
struct Fragments {
  std::uint32_t a[4];
  std::uint32_t b[2];
  std::uint32_t c[4];
};

/// D of each lane, four words each; whole warps, of wgmma whole warpgroups. Throws CudaError.
std::vector<std::uint32_t> products(Product product, const std::vector<Fragments>& lanes);

}  // namespace gpuexp::test
