// The 16-bit element types of device code: their DataType, and conversions to double and from
// float.
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

/// Calls `make` with a zero of type bf16 if `type` is bf16, otherwise of type float.
template <class Make>
auto of_float_type(DataType type, Make make) {
  return type == DataType::bf16 ? make(__nv_bfloat16{}) : make(float{});
}

/// Calls f with a value of the C++ type that stores elements of bf16, fp16, tf32 (as float) or
/// fp32.
template <class Function>
auto with_stored_type(DataType type, Function f) {
  if (type == DataType::bf16) return f(__nv_bfloat16{});
  if (type == DataType::fp16) return f(__half{});
  return f(float{});
}

__host__ __device__ inline double element_of(const void* array, DataType type, std::int64_t i) {
  if (type == DataType::bf16) return to_double(static_cast<const __nv_bfloat16*>(array)[i]);
  if (type == DataType::fp16) return to_double(static_cast<const __half*>(array)[i]);
  return to_double(static_cast<const float*>(array)[i]);
}

}  // namespace gpuexp
