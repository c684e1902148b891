// cuSPARSE's sparse matrix-vector products, loaded at run time.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "family/step.hpp"

namespace gpuexp::cusparse {

/// Why cuSPARSE cannot be called; empty if it can.
std::optional<std::string> unavailable();

enum class Algorithm {
  csr_alg1,  ///< cuSPARSE's default for CSR
  csr_alg2,  ///< bitwise-identical results in each run
};

/// y = A·x by cusparseSpMV in fp32; A is in CSR format with indices from 0.
struct SpMV {
  std::int64_t rows, columns, nonzeros;
  std::int32_t* row_offsets;
  std::int32_t* column_indices;
  float* values;
  float* x;
  float* y;
  Algorithm algorithm;
};

/// Enqueues the product. The first call creates descriptors and a buffer and preprocesses the
/// matrix (cusparseSpMV_preprocess); the step keeps them. Throws DeviceError with cuSPARSE's status
/// on failure.
Steps step_of(const SpMV& spmv);

}  // namespace gpuexp::cusparse
