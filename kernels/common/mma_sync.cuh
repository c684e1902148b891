// The tensor-core instruction mma.sync of compute capability 8.0 (8.9 and 9.0 for some types),
// and the loads of its operands.
//
// With g = lane / 4 and t = lane % 4, a lane of mma.m16n8k16 has these elements of bf16 or fp16,
// two per register (PTX ISA, "Matrix Fragments for mma.m16n8k16"):
//   A  rows g, g+8, g, g+8 and columns 2t, 2t, 2t+8, 2t+8, pairs along the row
//   B  rows 2t, 2t+8, pairs down the column g
//   C  rows g, g, g+8, g+8 and columns 2t, 2t+1, 2t, 2t+1, in fp32; in fp16, pairs along the row
// mma.m16n8k8 for tf32 and mma.m16n8k32 for int8 and fp8 have the same layout, with one 4-byte
// element or four 1-byte elements instead of each pair. A product is 32 bytes deep for every
// type.
//
// In fp64, a lane of mma.m8n8k4 has row g of A and column g of B at depth t, and columns 2t and
// 2t+1 of row g of C. mma.m16n8k4 and m16n8k16 also use row g+8 of A and C. m16n8k16 uses depths
// t, t+4, t+8 and t+12.
#pragma once

#include <cstdint>
#include <type_traits>

#include <cuda_fp8.h>
#include <cuda_runtime.h>

#include "kernels/common/types.cuh"

namespace gpuexp {

/// Minimum compute capability of variants that use the functions below
/// (Variant::min_compute_capability). On older GPUs the functions trap.
constexpr int kMmaBf16ComputeCapability = 80;

/// Whether mma.sync multiplies fp8. On compute capabilities 9.0 and 10.0, the instruction
/// converts the operands to fp16 first, so the functions below trap there.
constexpr bool mma_has_fp8(int capability) {
  return capability == 89 || capability >= 120;
}

/// The only compute capability with fp64 products of 16 rows and depths up to 16. Earlier GPUs
/// lack them; later GPUs execute them as several m8n8k4.
constexpr int kMmaFp64RowsComputeCapability = 90;

/// Depth of one product, in elements of type In (fp16, bf16, tf32 stored as fp32, fp8 or int8).
template <class In>
constexpr int kMmaDepth = 32 / static_cast<int>(sizeof(In));

/// Loads four 8×8 blocks of 16-bit elements. `row` points to 8 elements of a row in shared
/// memory, 16-byte aligned; lanes 8i to 8i+7 provide the rows of block i. Lane 4g + t receives
/// the elements 2t and 2t+1 of row g of block i in fragment[i].
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

/// ldmatrix_x4() with each block transposed: lane 4g + t receives rows 2t and 2t+1 of column g.
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

/// A lane's elements of a 16×8 tile of sums.
template <class Acc>
struct MmaSums;

template <>
struct MmaSums<float> {
  float x[4] = {};
  /// Columns 2t and 2t+1 of row g (half 0) or g+8 (half 1).
  __device__ float2 pair(int half) const { return make_float2(x[2 * half], x[2 * half + 1]); }
};

template <>
struct MmaSums<std::int32_t> {
  std::int32_t x[4] = {};
};

template <>
struct MmaSums<__half> {
  unsigned x[2] = {};  // two fp16 values each
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
  } else if constexpr (std::is_same<In, __nv_fp8_e4m3>::value) {
#if __CUDA_ARCH__ == 890 || __CUDA_ARCH__ >= 1200
    asm("mma.sync.aligned.m16n8k32.row.col.f32.e4m3.e4m3.f32 {%0, %1, %2, %3}, {%4, %5, %6, %7}, "
        "{%8, %9}, {%0, %1, %2, %3};"
        : "+f"(c.x[0]), "+f"(c.x[1]), "+f"(c.x[2]), "+f"(c.x[3])
        : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b[0]), "r"(b[1]));
#else
    __trap();
#endif
  }
#else
  __trap();
#endif
}

template <class In>
__device__ inline void mma(MmaSums<std::int32_t>& c, const unsigned (&a)[4],
                           const unsigned (&b)[2]) {
  static_assert(std::is_same<In, std::int8_t>::value, "only int8 products are summed in int32");
#if __CUDA_ARCH__ >= 800
  asm("mma.sync.aligned.m16n8k32.row.col.s32.s8.s8.s32 {%0, %1, %2, %3}, {%4, %5, %6, %7}, "
      "{%8, %9}, {%0, %1, %2, %3};"
      : "+r"(c.x[0]), "+r"(c.x[1]), "+r"(c.x[2]), "+r"(c.x[3])
      : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b[0]), "r"(b[1]));
#else
  __trap();
#endif
}

/// c (8×8) += a (8×4) · b (4×8), in fp64; a lane's c is two elements of row g.
__device__ inline void mma_m8n8k4(double (&c)[2], double a, double b) {
#if __CUDA_ARCH__ >= 800
  asm("mma.sync.aligned.m8n8k4.row.col.f64.f64.f64.f64 {%0, %1}, {%2}, {%3}, {%0, %1};"
      : "+d"(c[0]), "+d"(c[1])
      : "d"(a), "d"(b));
#else
  __trap();
#endif
}

/// c (16×8) += a (16×4) · b (4×8), in fp64; c[h] and a_h belong to row g + 8h.
__device__ inline void mma_m16n8k4(double (&c)[2][2], double a0, double a1, double b) {
#if __CUDA_ARCH__ >= 900
  asm("mma.sync.aligned.m16n8k4.row.col.f64.f64.f64.f64 {%0, %1, %2, %3}, {%4, %5}, {%6}, "
      "{%0, %1, %2, %3};"
      : "+d"(c[0][0]), "+d"(c[0][1]), "+d"(c[1][0]), "+d"(c[1][1])
      : "d"(a0), "d"(a1), "d"(b));
#else
  __trap();
#endif
}

/// c (16×8) += a (16×16) · b (16×8), in fp64; a[h][j] belongs to row g + 8h at depth t + 4j.
__device__ inline void mma_m16n8k16(double (&c)[2][2], const double (&a)[2][4],
                                    const double (&b)[4]) {
#if __CUDA_ARCH__ >= 900
  asm("mma.sync.aligned.m16n8k16.row.col.f64.f64.f64.f64 {%0, %1, %2, %3}, {%4, %5, %6, %7, %8, "
      "%9, %10, %11}, {%12, %13, %14, %15}, {%0, %1, %2, %3};"
      : "+d"(c[0][0]), "+d"(c[0][1]), "+d"(c[1][0]), "+d"(c[1][1])
      : "d"(a[0][0]), "d"(a[1][0]), "d"(a[0][1]), "d"(a[1][1]), "d"(a[0][2]), "d"(a[1][2]),
        "d"(a[0][3]), "d"(a[1][3]), "d"(b[0]), "d"(b[1]), "d"(b[2]), "d"(b[3]));
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
