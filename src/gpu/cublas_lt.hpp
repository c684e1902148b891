// cuBLASLt's products with an epilogue, loaded on first use.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "family/family.hpp"

namespace gpuexp::cublas_lt {

/// Why cuBLASLt cannot be loaded; empty if it can. Uses no GPU.
std::optional<std::string> unavailable();

/// D (m×n) = gelu(A (m×k) · B (k×n) + bias), all of one type, row-major and without padding; bias
/// has one element per column of D. Accumulation is in fp32. GELU is the tanh approximation, which
/// users have determined; the documentation does not state it (pytorch/pytorch#104061).
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

/// Bytes of workspace that cuBLAS itself allocates on compute capability 9.0 (cuBLAS,
/// cublasSetWorkspace).
inline constexpr std::int64_t kWorkspaceBytes = std::int64_t{32} << 20;

/// Enqueues the product. The first call selects the kernel with cuBLASLt's heuristics; later calls
/// reuse it. Throws DeviceError if no kernel supports the product, or with cuBLASLt's status on
/// failure.
Steps step_of(const GemmBiasGelu& product);

}  // namespace gpuexp::cublas_lt
