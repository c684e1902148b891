// Elements of arrays as numbers, on host and device. C++17 without CUDA headers, included by .cu
// files.
#pragma once

#include <cmath>
#include <cstdint>
#include <cstring>

#include "base/random_bits.hpp"
#include "base/types.hpp"

namespace gpuexp {

namespace stored_detail {

template <class T>
GPUEXP_HOST_DEVICE inline T element_at(const void* data, std::int64_t i) {
#ifdef __CUDA_ARCH__
  return static_cast<const T*>(data)[i];
#else
  T element;
  std::memcpy(&element, static_cast<const unsigned char*>(data) + i * std::int64_t{sizeof(T)},
              sizeof element);
  return element;
#endif
}

template <class T>
GPUEXP_HOST_DEVICE inline double number_at(const void* data, std::int64_t i) {
  return static_cast<double>(element_at<T>(data, i));
}

// binary16 has 1 sign, 5 exponent and 10 mantissa bits. Exponent 0 marks subnormals, multiples of
// 2^-24; exponent 31 marks infinity and NaN, which is exponent 2047 in binary64.
GPUEXP_HOST_DEVICE inline double double_of_fp16(std::uint16_t half) {
  const std::uint64_t exponent = (half >> 10) & 0x1Fu;
  const std::uint64_t mantissa = half & 0x3FFu;
  if (exponent == 0) {
    const double magnitude = static_cast<double>(mantissa) * 0x1p-24;
    return (half & 0x8000u) ? -magnitude : magnitude;
  }
  const std::uint64_t wide_exponent = exponent == 0x1F ? 0x7FF : exponent + (1023 - 15);
  const std::uint64_t bits =
      (static_cast<std::uint64_t>(half & 0x8000u) << 48) | (wide_exponent << 52) | (mantissa << 42);
  double value = 0;
  std::memcpy(&value, &bits, sizeof value);
  return value;
}

// bfloat16 is the upper half of a binary32.
GPUEXP_HOST_DEVICE inline double double_of_bf16(std::uint16_t upper) {
  const std::uint32_t bits = static_cast<std::uint32_t>(upper) << 16;
  float value = 0;
  std::memcpy(&value, &bits, sizeof value);
  return static_cast<double>(value);
}

}  // namespace stored_detail

/// Element i of an array of little-endian elements, which need not be aligned on the host. 64-bit
/// integers are rounded to fp64.
GPUEXP_HOST_DEVICE inline double stored_element(const void* data, DataType type, std::int64_t i) {
  using namespace stored_detail;
  switch (type) {
    case DataType::fp64: return number_at<double>(data, i);
    case DataType::fp32:
    case DataType::tf32: return number_at<float>(data, i);
    case DataType::fp16: return double_of_fp16(element_at<std::uint16_t>(data, i));
    case DataType::bf16: return double_of_bf16(element_at<std::uint16_t>(data, i));
    case DataType::int8: return number_at<std::int8_t>(data, i);
    case DataType::int16: return number_at<std::int16_t>(data, i);
    case DataType::int32: return number_at<std::int32_t>(data, i);
    case DataType::int64: return number_at<std::int64_t>(data, i);
    case DataType::uint8: return number_at<std::uint8_t>(data, i);
    case DataType::uint16: return number_at<std::uint16_t>(data, i);
    case DataType::uint32: return number_at<std::uint32_t>(data, i);
    case DataType::uint64: return number_at<std::uint64_t>(data, i);
    case DataType::boolean:  // as the byte that is stored: a kernel may store another than 0 or 1
      return number_at<std::uint8_t>(data, i);
  }
  return static_cast<double>(NAN);
}

}  // namespace gpuexp
