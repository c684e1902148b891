// Kernel argument with a matrix in compressed sparse rows, for the kernels of spmv.
#pragma once

#include <cstdint>

#include "kernels/common/launch.cuh"

namespace gpuexp::spmv {

// Matrix A in compressed sparse rows: row r has nonzeros offsets[r] to offsets[r + 1] - 1.
struct Csr {
  const std::int32_t* offsets;
  const std::int32_t* columns;
  const float* values;
  const float* x;
  float* y;
  std::int32_t rows;
  std::int32_t nonzeros;

  __device__ __forceinline__ float product(int i) const { return values[i] * x[columns[i]]; }
};

constexpr int kBlock = 256;
constexpr int kWarps = kBlock / kWarp;

}  // namespace gpuexp::spmv
