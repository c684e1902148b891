#include "base/types.hpp"

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <cstring>
#include <limits>
#include <stdexcept>

#include <fmt/format.h>

namespace gpuexp {

std::string to_string(const Value& value) {
  return std::visit([](const auto& v) { return fmt::format("{}", v); }, value);
}

namespace {

struct TypeInfo {
  std::string_view name;
  std::size_t bytes;
  double unit_roundoff;
};

const TypeInfo& info(DataType type) {
  static constexpr std::array<TypeInfo, 10> kTypes{{{"fp64", 8, 0x1p-53},
                                                    {"fp32", 4, 0x1p-24},
                                                    {"tf32", 4, 0x1p-11},
                                                    {"fp16", 2, 0x1p-11},
                                                    {"bf16", 2, 0x1p-8},
                                                    {"int32", 4, 0.0},
                                                    {"uint8", 1, 0.0},
                                                    {"uint16", 2, 0.0},
                                                    {"uint32", 4, 0.0},
                                                    {"uint64", 8, 0.0}}};
  return kTypes.at(static_cast<std::size_t>(type));
}

}  // namespace

std::size_t size_of(DataType type) {
  return info(type).bytes;
}
std::string_view name_of(DataType type) {
  return info(type).name;
}
double unit_roundoff(DataType type) {
  return info(type).unit_roundoff;
}

namespace {

template <class T>
double read_as(const unsigned char* bytes) {
  T x;
  std::memcpy(&x, bytes, sizeof x);
  return static_cast<double>(x);
}

// IEEE 754 binary16: 1 sign, 5 exponent, 10 mantissa bits.
double half_to_double(std::uint16_t bits) {
  const int exponent = (bits >> 10) & 0x1F;
  const int mantissa = bits & 0x3FF;
  double magnitude = std::ldexp(1024 + mantissa, exponent - 25);
  if (exponent == 0) magnitude = std::ldexp(mantissa, -24);
  if (exponent == 0x1F) {
    magnitude = mantissa == 0 ? std::numeric_limits<double>::infinity()
                              : std::numeric_limits<double>::quiet_NaN();
  }
  return (bits & 0x8000) ? -magnitude : magnitude;
}

}  // namespace

double to_double(const unsigned char* bytes, DataType type) {
  std::uint16_t low = 0;
  std::memcpy(&low, bytes, std::min(sizeof low, size_of(type)));
  switch (type) {
    case DataType::fp64: return read_as<double>(bytes);
    case DataType::fp32:
    case DataType::tf32: return read_as<float>(bytes);
    case DataType::fp16: return half_to_double(low);
    // bfloat16 is the upper half of a binary32.
    case DataType::bf16:
      return static_cast<double>(std::bit_cast<float>(static_cast<std::uint32_t>(low) << 16));
    case DataType::int32: return read_as<std::int32_t>(bytes);
    case DataType::uint8:
    case DataType::uint16: return low;
    case DataType::uint32: return read_as<std::uint32_t>(bytes);
    case DataType::uint64: return read_as<std::uint64_t>(bytes);
  }
  throw std::logic_error("a data type without a conversion");
}

std::string_view name_of(Pipe pipe) {
  static constexpr std::array<std::string_view, kPipeCount> kNames{"fp64",
                                                                   "fp32",
                                                                   "fp16",
                                                                   "int32",
                                                                   "tensor_fp64",
                                                                   "tensor_tf32",
                                                                   "tensor_fp16_fp32",
                                                                   "tensor_fp16_fp16",
                                                                   "tensor_bf16_fp32",
                                                                   "tensor_fp8_fp32",
                                                                   "tensor_int8_int32"};
  return kNames.at(static_cast<std::size_t>(pipe));
}

}  // namespace gpuexp
