// Sparse matrices times vectors by cuSPARSE, which is loaded at run time where it exists.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "family/step.hpp"

namespace gpuexp::cusparse {

/// Why cuSPARSE cannot be called; empty where it can.
std::optional<std::string> unavailable();

enum class Algorithm {
  csr_alg1,  ///< the default
  csr_alg2,  ///< the same bits in each run
};

/// y = A·x by cusparseSpMV, in fp32; A as compressed sparse rows, indices from 0.
struct SpMV {
  std::int64_t rows, columns, nonzeros;
  std::int32_t* row_offsets;
  std::int32_t* column_indices;
  float* values;
  float* x;
  float* y;
  Algorithm algorithm;
};

/// One step that enqueues the product. Descriptors and buffer are made and the matrix is looked
/// through (cusparseSpMV_preprocess) before it is enqueued for the first time, and kept as long as
/// the step. It throws DeviceError naming cuSPARSE's status when it refuses.
Steps step_of(const SpMV& spmv);

}  // namespace gpuexp::cusparse
