#include "base/types.hpp"

#include <array>

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
  static constexpr std::array<TypeInfo, 14> kTypes{{{"fp64", 8, 0x1p-53},
                                                    {"fp32", 4, 0x1p-24},
                                                    {"tf32", 4, 0x1p-11},
                                                    {"fp16", 2, 0x1p-11},
                                                    {"bf16", 2, 0x1p-8},
                                                    {"int32", 4, 0.0},
                                                    {"uint8", 1, 0.0},
                                                    {"uint16", 2, 0.0},
                                                    {"uint32", 4, 0.0},
                                                    {"uint64", 8, 0.0},
                                                    {"int8", 1, 0.0},
                                                    {"int16", 2, 0.0},
                                                    {"int64", 8, 0.0},
                                                    {"bool", 1, 0.0}}};
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
