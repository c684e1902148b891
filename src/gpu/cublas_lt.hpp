// cuBLASLt, loaded when first needed: products with an epilogue, where it is found.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "family/family.hpp"

namespace gpuexp::cublas_lt {

/// A reason when cuBLASLt cannot be loaded on this machine. Touches no GPU.
std::optional<std::string> unavailable();

/// D (m×n) = gelu(A (m×k) · B (k×n) + bias), all of one type, row-major and without padding; bias
/// has an element per column of D. Sums are fp32. GELU is the approximation by tanh, which the
/// library's documentation leaves open and its users found (pytorch/pytorch#104061).
struct GemmBiasGelu {
  DataType type;  ///< fp16 or bf16
  std::int64_t m, n, k;
  const void* a;
  const void* b;
  const void* bias;
  void* d;
  void* workspace;  ///< 256-byte aligned
  std::int64_t workspace_bytes;
};

/// What cuBLAS allocates for itself on compute capability 9.0 (cuBLAS, cublasSetWorkspace).
inline constexpr std::int64_t kWorkspaceBytes = std::int64_t{32} << 20;

/// One step that enqueues the product. Which kernel computes it is asked of the library's
/// heuristics when the step is enqueued first, and kept. It throws DeviceError naming cuBLASLt's
/// status when it refuses, or has no kernel for the product.
Steps step_of(const GemmBiasGelu& product);

}  // namespace gpuexp::cublas_lt
