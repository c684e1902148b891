// The variant of a family of matrix products that calls cuBLAS.
#pragma once

#include "gpu/cublas.hpp"
#include "kernels/common/launch.cuh"

namespace gpuexp {

/// `gemm` gives a problem's and its buffers' cublas::Gemm.
template <class Variant, class WorkOf, class GemmOf>
Variant cublas_variant(std::string compare_to, WorkOf work, GemmOf gemm) {
  Variant v;
  v.id = "cublas";
  v.compare_to = std::move(compare_to);
  v.is_vendor = true;
  v.unavailable = cublas::unavailable;
  v.work = work;
  v.launch = [gemm](const auto& p, const auto& d, const LaunchContext&) {
    return cublas::gemm(gemm(p, d));
  };
  return v;
}

}  // namespace gpuexp
