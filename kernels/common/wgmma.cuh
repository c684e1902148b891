// wgmma: asynchronous matrix products of a warpgroup (four warps). The tensor cores read A and B
// from shared memory. The instruction exists only in code for sm_90a, which runs only on compute
// capability 9.0.
//
// This file has the shape m64n256: D (64×256) += A (64×32 bytes) · B (32 bytes × 256). Warp w of
// the warpgroup has rows 16w to 16w+15 of D. With g = lane / 4 and t = lane % 4, register d[4j +
// 2h + e] of a lane is row 16w + g + 8h, column 8j + 2t + e (PTX ISA, "Asynchronous Warpgroup
// Level Matrix Instructions", register fragments of D).
#pragma once

#include <cstdint>

#include <cuda_fp8.h>
#include <cuda_runtime.h>

#include "kernels/common/types.cuh"

namespace gpuexp {

/// Variants that use the functions below must set Variant::min_compute_capability to this value and
/// check lacks_specific_code (compiled_for.cuh). In code for other architectures the functions
/// trap.
constexpr int kWgmmaComputeCapability = 90;

constexpr int kWarpgroup = 128;
constexpr int kWgmmaRegisters = 128;

/// Layout of operands in shared memory: rows of A, or columns of B, are rows of 128 bytes. Eight
/// rows form a block of 1024 bytes, aligned to 1024 bytes. 16-byte unit u of row r is stored as
/// unit u xor (r mod 8), so that each unit of the eight rows is in different banks.
constexpr int kWgmmaRowBytes = 128;
constexpr int kWgmmaAlignment = 1024;

__host__ __device__ constexpr int wgmma_offset(int row, int unit) {
  return row * kWgmmaRowBytes + ((unit ^ (row % 8)) << 4);
}

/// The matrix descriptor of an operand: its address, the stride of 1024 bytes between blocks of
/// eight rows, both in units of 16 bytes, and the 128-byte swizzle mode. The instruction ignores
/// the stride between columns of blocks (starting at bit 16), because a row is as long as the
/// swizzle's period.
__device__ inline std::uint64_t wgmma_descriptor(const void* shared) {
  constexpr std::uint64_t kBlockStride = std::uint64_t{kWgmmaAlignment >> 4} << 32;
  constexpr std::uint64_t kSwizzle128Bytes = std::uint64_t{1} << 62;
  const auto address = static_cast<unsigned>(__cvta_generic_to_shared(shared));
  return (address & 0x3FFFF) >> 4 | kBlockStride | kSwizzle128Bytes;
}

/// The descriptor of the operand `slices` × 32 bytes further along its rows.
__device__ inline std::uint64_t advance_descriptor(std::uint64_t operand, int slices) {
  return operand + static_cast<std::uint64_t>(slices * 2);
}

/// Orders this thread's stores to shared memory before reads by wgmma. A barrier of all threads
/// that made such stores must follow.
__device__ inline void fence_proxy_async_shared() {
#ifdef __CUDA_ARCH_FEAT_SM90_ALL
  asm volatile("fence.proxy.async.shared::cta;" ::: "memory");
#else
  __trap();
#endif
}

/// Orders this thread's accesses to the registers of D before the next wgmma.
__device__ inline void wgmma_fence() {
#ifdef __CUDA_ARCH_FEAT_SM90_ALL
  asm volatile("wgmma.fence.sync.aligned;" ::: "memory");
#else
  __trap();
#endif
}

/// Commits the products started since the last commit as one group.
__device__ inline void wgmma_commit() {
#ifdef __CUDA_ARCH_FEAT_SM90_ALL
  asm volatile("wgmma.commit_group.sync.aligned;" ::: "memory");
#else
  __trap();
#endif
}

/// Waits until at most the `pending` newest groups are unfinished. D may be read after
/// wgmma_wait<0>.
template <int pending>
__device__ inline void wgmma_wait() {
#ifdef __CUDA_ARCH_FEAT_SM90_ALL
  asm volatile("wgmma.wait_group.sync.aligned %0;" ::"n"(pending) : "memory");
#else
  __trap();
#endif
}

#ifdef __CUDA_ARCH_FEAT_SM90_ALL
#define GPUEXP_D_NAMES                                                                           \
  "{%0, %1, %2, %3, %4, %5, %6, %7, %8, %9, %10, %11, %12, %13, %14, %15, "                      \
  "%16, %17, %18, %19, %20, %21, %22, %23, %24, %25, %26, %27, %28, %29, %30, %31, "             \
  "%32, %33, %34, %35, %36, %37, %38, %39, %40, %41, %42, %43, %44, %45, %46, %47, "             \
  "%48, %49, %50, %51, %52, %53, %54, %55, %56, %57, %58, %59, %60, %61, %62, %63, "             \
  "%64, %65, %66, %67, %68, %69, %70, %71, %72, %73, %74, %75, %76, %77, %78, %79, "             \
  "%80, %81, %82, %83, %84, %85, %86, %87, %88, %89, %90, %91, %92, %93, %94, %95, "             \
  "%96, %97, %98, %99, %100, %101, %102, %103, %104, %105, %106, %107, %108, %109, %110, %111, " \
  "%112, %113, %114, %115, %116, %117, %118, %119, %120, %121, %122, %123, %124, %125, %126, "   \
  "%127}"
#define GPUEXP_D_4(kind, i) kind(d[i]), kind(d[i + 1]), kind(d[i + 2]), kind(d[i + 3])
#define GPUEXP_D_16(kind, i) \
  GPUEXP_D_4(kind, i), GPUEXP_D_4(kind, i + 4), GPUEXP_D_4(kind, i + 8), GPUEXP_D_4(kind, i + 12)
#define GPUEXP_D_64(kind, i)                                                  \
  GPUEXP_D_16(kind, i), GPUEXP_D_16(kind, i + 16), GPUEXP_D_16(kind, i + 32), \
      GPUEXP_D_16(kind, i + 48)
// D is an addend (the predicate `add` is true), and no operand is negated (1, 1).
#define GPUEXP_WGMMA(instruction, kind, flags)                                                 \
  asm volatile(                                                                                \
      "{\n.reg .pred add;\nsetp.ne.b32 add, 1, 0;\n"                                           \
      "wgmma.mma_async.sync.aligned." instruction " " GPUEXP_D_NAMES ", %128, %129, add" flags \
      ";\n}"                                                                                   \
      : GPUEXP_D_64(kind, 0), GPUEXP_D_64(kind, 64)                                            \
      : "l"(a), "l"(b))
#else
#define GPUEXP_WGMMA(instruction, kind, flags) \
  (void)d, (void)a, (void)b;                   \
  __trap()
#endif

/// Starts D += A·B, 32 bytes deep, for descriptors `a` and `b`. All threads of the warpgroup must
/// call this with the same descriptors.
template <class In>
__device__ void wgmma_m64n256(float (&d)[kWgmmaRegisters], std::uint64_t a, std::uint64_t b);

template <>
__device__ inline void wgmma_m64n256<__nv_bfloat16>(float (&d)[kWgmmaRegisters], std::uint64_t a,
                                                    std::uint64_t b) {
  GPUEXP_WGMMA("m64n256k16.f32.bf16.bf16", "+f", ", 1, 1, 0, 0");
}
template <>
__device__ inline void wgmma_m64n256<__half>(float (&d)[kWgmmaRegisters], std::uint64_t a,
                                             std::uint64_t b) {
  GPUEXP_WGMMA("m64n256k16.f32.f16.f16", "+f", ", 1, 1, 0, 0");
}
/// tf32, stored as fp32.
template <>
__device__ inline void wgmma_m64n256<float>(float (&d)[kWgmmaRegisters], std::uint64_t a,
                                            std::uint64_t b) {
  GPUEXP_WGMMA("m64n256k8.f32.tf32.tf32", "+f", ", 1, 1");
}
template <>
__device__ inline void wgmma_m64n256<__nv_fp8_e4m3>(float (&d)[kWgmmaRegisters], std::uint64_t a,
                                                    std::uint64_t b) {
  GPUEXP_WGMMA("m64n256k32.f32.e4m3.e4m3", "+f", ", 1, 1");
}
template <class In>
__device__ void wgmma_m64n256(std::int32_t (&d)[kWgmmaRegisters], std::uint64_t a, std::uint64_t b);
template <>
__device__ inline void wgmma_m64n256<std::int8_t>(std::int32_t (&d)[kWgmmaRegisters],
                                                  std::uint64_t a, std::uint64_t b) {
  GPUEXP_WGMMA("m64n256k32.s32.s8.s8", "+r", "");
}

#ifdef __CUDA_ARCH_FEAT_SM90_ALL
#undef GPUEXP_D_NAMES
#undef GPUEXP_D_4
#undef GPUEXP_D_16
#undef GPUEXP_D_64
#endif
#undef GPUEXP_WGMMA

}  // namespace gpuexp
