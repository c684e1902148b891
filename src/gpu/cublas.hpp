// cuBLAS as a reference variant, loaded on first use.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "family/family.hpp"

namespace gpuexp::cublas {

/// Why cuBLAS cannot be loaded; empty if it can. Uses no GPU.
std::optional<std::string> unavailable();

/// Types of multiplication and accumulation.
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
  // Row pitch in elements; 0: the number of columns, without padding.
  std::int64_t a_pitch = 0;
  std::int64_t b_pitch = 0;
  std::int64_t c_pitch = 0;
  int sm_count = 0;  ///< number of SMs to use if other kernels run concurrently; 0: all
};

/// Transpose of a row-major fp32 matrix without padding, by cublasSgeam, which computes 1·A + 0·B:
/// it preserves normal numbers but not every NaN.
struct Transpose {
  std::int64_t rows, columns;
  const void* in;
  void* out;
};

/// out = Aᵀ·x by cublasSgemv: one sum per column of A. A is fp32, rows × columns, row-major and
/// without padding.
struct Gemv {
  std::int64_t rows, columns;
  const float* a;
  const float* x;
  float* out;
};

/// These steps enqueue the operation. They throw DeviceError with cuBLAS's status on failure.
Steps step_of(const Gemm& gemm);
Steps step_of(const Transpose& transpose);
Steps step_of(const Gemv& gemv);

}  // namespace gpuexp::cublas
