// Products of submatrices in bf16, by cuBLAS.
#pragma once

#include "kernels/common/cublas_variant.cuh"
#include "kernels/common/launch.cuh"
#include "kernels/common/types.cuh"

namespace gpuexp {

/// A (rows × depth) · B (depth × columns), submatrices with the given pitches, on `sm_count` SMs
/// (0: all).
inline Steps part_product(std::int64_t rows, std::int64_t columns, std::int64_t depth,
                          const __nv_bfloat16* a, std::int64_t a_pitch, const __nv_bfloat16* b,
                          std::int64_t b_pitch, __nv_bfloat16* c, std::int64_t c_pitch,
                          int sm_count = 0) {
  if (rows == 0 || columns == 0) return {};
  // Only partial sums can have depth 0; they are contiguous.
  if (depth == 0) return MemsetStep{c, 0, static_cast<std::int64_t>(sizeof(*c)) * rows * columns};
  cublas::Gemm gemm{
      cublas::Compute::fp32, DataType::bf16, DataType::bf16, rows, columns, depth, a, b, c};
  gemm.a_pitch = a_pitch;
  gemm.b_pitch = b_pitch;
  gemm.c_pitch = c_pitch;
  gemm.sm_count = sm_count;
  return cublas::step_of(gemm);
}

}  // namespace gpuexp
