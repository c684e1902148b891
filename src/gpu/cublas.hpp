// cuBLAS as a reference variant, loaded on first use; the variant is skipped if it is missing.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "family/family.hpp"

namespace gpuexp::cublas {

/// Why cuBLAS cannot be loaded on this machine; empty if it can. Loads it on the first call; uses
/// no GPU.
std::optional<std::string> unavailable();

/// Accumulation type and, for fp32 inputs, whether the multiplier uses all of their bits.
enum class Compute {
  fp32,  ///< fp32 inputs in full (TF32 off), or fp16 and bf16 inputs with fp32 accumulation
  tf32,  ///< fp32 inputs rounded to TF32, fp32 accumulation
  fp16,  ///< fp16 inputs with fp16 accumulation
};

/// C (m×n) = A (m×k) · B (k×n), all row-major; an operand may be stored transposed.
struct Gemm {
  Compute compute;
  DataType input;   ///< fp32, fp16 or bf16
  DataType output;  ///< fp32, fp16 or bf16
  std::int64_t m, n, k;
  const void* a;
  const void* b;
  void* c;
  bool a_transposed = false;  ///< stored as k×m
  bool b_transposed = false;  ///< stored as n×k
  // Row pitch in elements; 0: the row length.
  std::int64_t a_pitch = 0;
  std::int64_t b_pitch = 0;
  std::int64_t c_pitch = 0;
  int sm_count = 0;  ///< number of SMs to use if other kernels run concurrently; 0: all
};

/// Transpose of an fp32 matrix, rows × columns, by cublasSgeam; both row-major and without padding.
/// It computes 1·A + 0·B, which preserves normal numbers but not every NaN.
struct Transpose {
  std::int64_t rows, columns;
  const void* in;
  void* out;
};

/// Product of a matrix's transpose and a vector, out = Aᵀ·x, by cublasSgemv: one sum per column. A,
/// rows × columns, is fp32, row-major and without padding.
struct Gemv {
  std::int64_t rows, columns;
  const float* a;
  const float* x;
  float* out;
};

/// A step that enqueues the operation. It throws DeviceError with cuBLAS's status on failure.
Steps step_of(const Gemm& gemm);
Steps step_of(const Transpose& transpose);
Steps step_of(const Gemv& gemv);

}  // namespace gpuexp::cublas
