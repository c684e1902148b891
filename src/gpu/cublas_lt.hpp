// cuBLASLt, loaded on first use if it is installed: products with an epilogue.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "family/family.hpp"

namespace gpuexp::cublas_lt {

/// Why cuBLASLt cannot be loaded on this machine; empty if it can. Uses no GPU.
std::optional<std::string> unavailable();

/// D (m×n) = gelu(A (m×k) · B (k×n) + bias), all of one type, row-major and without padding; bias
/// has one element per column of D. Accumulation is in fp32. GELU is the tanh approximation, which
/// the documentation does not state but users have determined (pytorch/pytorch#104061).
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

/// Workspace that cuBLAS allocates for itself on compute capability 9.0 (cuBLAS,
/// cublasSetWorkspace).
inline constexpr std::int64_t kWorkspaceBytes = std::int64_t{32} << 20;

/// A step that enqueues the product. On the first call, cuBLASLt's heuristics select the kernel,
/// which is kept. It throws DeviceError with cuBLASLt's status on failure, or if there is no kernel
/// for the product.
Steps step_of(const GemmBiasGelu& product);

}  // namespace gpuexp::cublas_lt
