// The tensor-core instruction of compute capability 8.0 and the loads that feed it.
//
// With g = lane / 4 and t = lane % 4, a lane of mma.m16n8k16 holds (PTX ISA, "Matrix Fragments for
// mma.m16n8k16"), two elements of bf16 per register:
//   A  rows g, g+8, g, g+8 and columns 2t, 2t, 2t+8, 2t+8, pairs along the row
//   B  rows 2t, 2t+8, pairs down the column g
//   C  rows g, g, g+8, g+8 and columns 2t, 2t+1, 2t, 2t+1, in fp32
#pragma once

#include <cuda_runtime.h>

namespace gpuexp {

/// Variants that use the functions below set Variant::min_compute_capability to this; on older GPUs
/// they trap.
constexpr int kMmaBf16ComputeCapability = 80;

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

}  // namespace gpuexp
