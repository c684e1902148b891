// The tensor-core instruction of compute capability 8.0 and the loads that feed it.
//
// With g = lane / 4 and t = lane % 4, a lane of mma.m16n8k16 holds (PTX ISA, "Matrix Fragments for
// mma.m16n8k16"), two elements of bf16 or fp16 per register:
//   A  rows g, g+8, g, g+8 and columns 2t, 2t, 2t+8, 2t+8, pairs along the row
//   B  rows 2t, 2t+8, pairs down the column g
//   C  rows g, g, g+8, g+8 and columns 2t, 2t+1, 2t, 2t+1, in fp32; in fp16, pairs along the row
// mma.m16n8k8 for tf32 is the same with one element of 4 bytes in the place of each pair: a product
// is 32 bytes deep whatever the type.
#pragma once

#include <type_traits>

#include <cuda_runtime.h>

#include "kernels/common/types.cuh"

namespace gpuexp {

/// Variants that use the functions below set Variant::min_compute_capability to this; on older GPUs
/// they trap.
constexpr int kMmaBf16ComputeCapability = 80;

/// Elements of type In (fp16, bf16, or tf32 stored as fp32) that one product is deep.
template <class In>
constexpr int kMmaDepth = 32 / static_cast<int>(sizeof(In));

/// Loads four 8×8 blocks of 16-bit elements. `row` is where 8 elements of one row start, 16-byte
/// aligned in shared memory: lanes 8i to 8i+7 name the rows of block i. Lane 4g + t receives in
/// fragment[i] the elements 2t and 2t+1 of row g of block i.
__device__ inline void ldmatrix_x4(unsigned (&fragment)[4], const void* row) {
#if __CUDA_ARCH__ >= 800
  const auto address = static_cast<unsigned>(__cvta_generic_to_shared(row));
  asm volatile("ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%0, %1, %2, %3}, [%4];"
               : "=r"(fragment[0]), "=r"(fragment[1]), "=r"(fragment[2]), "=r"(fragment[3])
               : "r"(address)
               : "memory");
#else
  __trap();
#endif
}

/// The same with every block transposed: the lane receives rows 2t and 2t+1 of column g.
__device__ inline void ldmatrix_x4_transposed(unsigned (&fragment)[4], const void* row) {
#if __CUDA_ARCH__ >= 800
  const auto address = static_cast<unsigned>(__cvta_generic_to_shared(row));
  asm volatile("ldmatrix.sync.aligned.m8n8.x4.trans.shared.b16 {%0, %1, %2, %3}, [%4];"
               : "=r"(fragment[0]), "=r"(fragment[1]), "=r"(fragment[2]), "=r"(fragment[3])
               : "r"(address)
               : "memory");
#else
  __trap();
#endif
}

/// c (16×8, fp32) += a (16×16, bf16) · b (16×8, bf16), by one warp.
__device__ inline void mma_m16n8k16_bf16(float (&c)[4], const unsigned (&a)[4], unsigned b0,
                                         unsigned b1) {
#if __CUDA_ARCH__ >= 800
  asm("mma.sync.aligned.m16n8k16.row.col.f32.bf16.bf16.f32 {%0, %1, %2, %3}, {%4, %5, %6, %7}, "
      "{%8, %9}, {%0, %1, %2, %3};"
      : "+f"(c[0]), "+f"(c[1]), "+f"(c[2]), "+f"(c[3])
      : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b0), "r"(b1));
#else
  __trap();
#endif
}

/// A lane's share of a 16×8 tile of sums.
template <class Acc>
struct MmaSums;

template <>
struct MmaSums<float> {
  float x[4] = {};
  /// Columns 2t and 2t+1 of row g (half 0) or g+8 (half 1).
  __device__ float2 pair(int half) const { return make_float2(x[2 * half], x[2 * half + 1]); }
};

template <>
struct MmaSums<__half> {
  unsigned x[2] = {};  // two fp16 each; no bits set are two zeros
  __device__ __half2 pair(int half) const { return reinterpret_cast<const __half2&>(x[half]); }
};

/// c += a·b, 16×kMmaDepth<In> by kMmaDepth<In>×8, by one warp.
template <class In>
__device__ inline void mma(MmaSums<float>& c, const unsigned (&a)[4], const unsigned (&b)[2]) {
  if constexpr (std::is_same<In, __nv_bfloat16>::value) {
    mma_m16n8k16_bf16(c.x, a, b[0], b[1]);
    return;
  }
#if __CUDA_ARCH__ >= 800
  if constexpr (std::is_same<In, __half>::value) {
    asm("mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 {%0, %1, %2, %3}, {%4, %5, %6, %7}, "
        "{%8, %9}, {%0, %1, %2, %3};"
        : "+f"(c.x[0]), "+f"(c.x[1]), "+f"(c.x[2]), "+f"(c.x[3])
        : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b[0]), "r"(b[1]));
  } else if constexpr (std::is_same<In, float>::value) {
    asm("mma.sync.aligned.m16n8k8.row.col.f32.tf32.tf32.f32 {%0, %1, %2, %3}, {%4, %5, %6, %7}, "
        "{%8, %9}, {%0, %1, %2, %3};"
        : "+f"(c.x[0]), "+f"(c.x[1]), "+f"(c.x[2]), "+f"(c.x[3])
        : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b[0]), "r"(b[1]));
  }
#else
  __trap();
#endif
}

template <class In>
__device__ inline void mma(MmaSums<__half>& c, const unsigned (&a)[4], const unsigned (&b)[2]) {
  static_assert(std::is_same<In, __half>::value, "only fp16 products are summed in fp16");
#if __CUDA_ARCH__ >= 800
  asm("mma.sync.aligned.m16n8k16.row.col.f16.f16.f16.f16 {%0, %1}, {%2, %3, %4, %5}, {%6, %7}, "
      "{%0, %1};"
      : "+r"(c.x[0]), "+r"(c.x[1])
      : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b[0]), "r"(b[1]));
#else
  __trap();
#endif
}

}  // namespace gpuexp
