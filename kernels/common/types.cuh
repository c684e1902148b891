// The 16-bit element types of device code: their names as buffers, and conversion to double and
// back.
#pragma once

#include <cuda_bf16.h>
#include <cuda_fp16.h>

#include "kernels/common/convert.cuh"

namespace gpuexp {

template <>
struct DataTypeOf<__half> : std::integral_constant<DataType, DataType::fp16> {};
template <>
struct DataTypeOf<__nv_bfloat16> : std::integral_constant<DataType, DataType::bf16> {};

template <>
__host__ __device__ inline double to_double(__half x) {
  return static_cast<double>(__half2float(x));
}
template <>
__host__ __device__ inline double to_double(__nv_bfloat16 x) {
  return static_cast<double>(__bfloat162float(x));
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
