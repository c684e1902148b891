// Element types of device code: names for half and bfloat16 buffers, and conversion to double and
// back.
#pragma once

#include <cuda_bf16.h>
#include <cuda_fp16.h>

#include "core/family_of.hpp"

namespace gpuexp {

template <>
struct DataTypeOf<__half> : std::integral_constant<DataType, DataType::fp16> {};
template <>
struct DataTypeOf<__nv_bfloat16> : std::integral_constant<DataType, DataType::bf16> {};

template <class T>
__host__ __device__ inline double to_double(T x) {
  return static_cast<double>(x);
}
template <>
__host__ __device__ inline double to_double(__half x) {
  return static_cast<double>(__half2float(x));
}
template <>
__host__ __device__ inline double to_double(__nv_bfloat16 x) {
  return static_cast<double>(__bfloat162float(x));
}

/// Rounds to nearest even.
template <class T>
__host__ __device__ inline T from_float(float x) {
  return static_cast<T>(x);
}
template <>
__host__ __device__ inline __half from_float(float x) {
  return __float2half_rn(x);
}
template <>
__host__ __device__ inline __nv_bfloat16 from_float(float x) {
  return __float2bfloat16_rn(x);
}

}  // namespace gpuexp
