// Where a product's results are stored, and the kernel that sends them to other GPUs.
#pragma once

#include "kernels/tensor_parallel/problem.cuh"

namespace gpuexp::tensor_parallel {

constexpr int kBlock = 512;

/// A rectangle of a matrix and its copies in matrices of the same pitch. `from` and `to` are the
/// addresses of the first unit.
struct Sent {
  const void* from;
  Ranks<void> to;
  int copies;
  std::int64_t rows;
  std::int64_t row_units;
  std::int64_t pitch;  // in units
};

// Each unit is loaded once, and stored to all destinations.
template <class Unit>
__global__ void __launch_bounds__(kBlock) send_kernel(Sent sent) {
  constexpr int kUnroll = 4;
  const auto* const from = static_cast<const Unit*>(sent.from);
  const std::int64_t units = sent.rows * sent.row_units;
  const std::int64_t threads = static_cast<std::int64_t>(gridDim.x) * kBlock;
  for (std::int64_t first = static_cast<std::int64_t>(blockIdx.x) * kBlock + threadIdx.x;
       first < units; first += kUnroll * threads) {
    Unit v[kUnroll];
    std::int64_t at[kUnroll];
#pragma unroll
    for (int j = 0; j < kUnroll; ++j) {
      const std::int64_t i = first + j * threads;
      at[j] = i / sent.row_units * sent.pitch + i % sent.row_units;
      if (i < units) v[j] = from[at[j]];
    }
#pragma unroll
    for (int r = 0; r < kMaxRanks; ++r) {
      if (r >= sent.copies) continue;
#pragma unroll
      for (int j = 0; j < kUnroll; ++j) {
        if (first + j * threads < units) static_cast<Unit*>(sent.to.of[r])[at[j]] = v[j];
      }
    }
  }
}

/// Matrices to which a product is stored; addresses are of its first element. Each row is stored to
/// all matrices or, if `by_rows`, only to the matrix whose range of rows contains it.
struct Targets {
  Ranks<T> c;
  int count;
  std::int64_t pitch;
  bool by_rows;
  std::int64_t begins[kMaxRanks + 1];

  struct Places {
    int first;
    int end;
  };
  __device__ Places of_row(std::int64_t row) const {
    if (!by_rows) return {0, count};
    int first = 0;
    while (row >= begins[first + 1])
      ++first;
    return {first, first + 1};
  }
};

}  // namespace gpuexp::tensor_parallel
