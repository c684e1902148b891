// Conversions of elements to double and from float. types.cuh adds the 16-bit types; it is
// separate, because the CUDA headers of these types take long to compile.
#pragma once

#include <type_traits>

#include "family/family_of.hpp"

namespace gpuexp {

template <class T>
__host__ __device__ inline double to_double(T x) {
  static_assert(std::is_arithmetic<T>::value, "include kernels/common/types.cuh");
  return static_cast<double>(x);
}

template <class T>
__host__ __device__ inline T from_float(float x) {
  static_assert(std::is_arithmetic<T>::value, "include kernels/common/types.cuh");
  return static_cast<T>(x);
}

}  // namespace gpuexp
