// A family's variant that calls cuBLAS.
#pragma once

#include "gpu/cublas.hpp"
#include "kernels/common/launch.cuh"

namespace gpuexp {

/// operation(problem, data) returns a cublas::Gemm, Transpose or Gemv.
template <class Variant, class WorkOf, class OperationOf>
Variant cublas_variant(std::string compare_to, WorkOf work, OperationOf operation) {
  Variant v("cublas", std::move(compare_to));
  v.is_vendor = true;
  v.unavailable = cublas::unavailable;
  v.work = work;
  v.launch = [operation](const auto& p, const auto& d, const LaunchContext&) {
    return cublas::step_of(operation(p, d));
  };
  return v;
}

}  // namespace gpuexp
