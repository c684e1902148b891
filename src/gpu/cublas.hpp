// cuBLAS, loaded when first needed: a reference variant where it is found, a skip where it is not.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "family/family.hpp"

namespace gpuexp::cublas {

/// A reason when cuBLAS cannot be loaded on this machine. Loads it on the first call; touches no
/// GPU.
std::optional<std::string> unavailable();

/// How products are summed and, for fp32 inputs, whether the multiplier sees all of their bits.
enum class Compute {
  fp32,  ///< fp32 inputs in full (TF32 off), or fp16 and bf16 inputs with fp32 accumulation
  tf32,  ///< fp32 inputs rounded to TF32, fp32 accumulation
  fp16,  ///< fp16 inputs with fp16 accumulation
};

/// C (m×n) = A (m×k) · B (k×n), all row-major; an operand may lie transposed.
struct Gemm {
  Compute compute;
  DataType input;   ///< fp32, fp16 or bf16
  DataType output;  ///< fp32, fp16 or bf16
  std::int64_t m, n, k;
  const void* a;
  const void* b;
  void* c;
  bool a_transposed = false;  ///< in memory it is k×m
  bool b_transposed = false;  ///< n×k
  // Elements in memory from a row to the next, where it is not the row's length.
  std::int64_t a_pitch = 0;
  std::int64_t b_pitch = 0;
  std::int64_t c_pitch = 0;
  int sm_count = 0;  ///< SMs that it should take, where others run beside it; 0: all
};

/// The transpose of an fp32 matrix, rows × columns, by cublasSgeam; both row-major and without
/// padding. It computes 1·A + 0·B, which keeps normal numbers and not every NaN.
struct Transpose {
  std::int64_t rows, columns;
  const void* in;
  void* out;
};

/// The product of a matrix's transpose and a vector, out = Aᵀ·x, by cublasSgemv: a sum per column.
/// A, rows × columns, is fp32, row-major and without padding.
struct Gemv {
  std::int64_t rows, columns;
  const float* a;
  const float* x;
  float* out;
};

/// One step that enqueues the product, or the transpose. It throws DeviceError naming cuBLAS's
/// status when it refuses.
Steps step_of(const Gemm& gemm);
Steps step_of(const Transpose& transpose);
Steps step_of(const Gemv& gemv);

}  // namespace gpuexp::cublas
