#include "own/parameter_types.hpp"

#include <cmath>
#include <cstdint>
#include <limits>
#include <map>
#include <utility>

#include <fmt/format.h>

namespace gpuexp::own {

namespace {

template <class T>
std::string add_integer(std::int64_t value, PackedArguments& arguments) {
  if (std::in_range<T>(value)) {
    arguments.add(static_cast<T>(value));
    return "";
  }
  return fmt::format("is {}; expected {} to {}", value, std::numeric_limits<T>::min(),
                     std::numeric_limits<T>::max());
}

std::string add_boolean(std::int64_t value, PackedArguments& arguments) {
  if (value != 0 && value != 1) return fmt::format("is {}; expected 0 or 1", value);
  arguments.add(value == 1);
  return "";
}

std::string add_integer(std::int64_t value, CElement element, PackedArguments& arguments) {
  switch (element) {
    case CElement::boolean: return add_boolean(value, arguments);
    case CElement::character:
    case CElement::int8: return add_integer<signed char>(value, arguments);
    case CElement::uint8: return add_integer<unsigned char>(value, arguments);
    case CElement::int16: return add_integer<std::int16_t>(value, arguments);
    case CElement::uint16: return add_integer<std::uint16_t>(value, arguments);
    case CElement::int32: return add_integer<std::int32_t>(value, arguments);
    case CElement::uint32: return add_integer<std::uint32_t>(value, arguments);
    case CElement::int64: return add_integer<std::int64_t>(value, arguments);
    case CElement::uint64: return add_integer<std::uint64_t>(value, arguments);
    default: return "has no integer type";
  }
}

}  // namespace

bool is_number(const CType& type) {
  return type.lanes == 1 && type.element != CElement::unknown && type.element != CElement::fp16 &&
         type.element != CElement::bf16;
}

std::int64_t size_of_number(const CType& type) {
  if (!is_number(type)) return 0;
  switch (type.element) {
    case CElement::character:
    case CElement::boolean:
    case CElement::int8:
    case CElement::uint8: return 1;
    case CElement::int16:
    case CElement::uint16: return 2;
    case CElement::int32:
    case CElement::uint32:
    case CElement::fp32: return 4;
    default: return 8;
  }
}

std::optional<DataType> element_type(const CType& type) {
  static const std::map<CElement, DataType> types{
      {CElement::boolean, DataType::boolean}, {CElement::character, DataType::int8},
      {CElement::int8, DataType::int8},       {CElement::uint8, DataType::uint8},
      {CElement::int16, DataType::int16},     {CElement::uint16, DataType::uint16},
      {CElement::int32, DataType::int32},     {CElement::uint32, DataType::uint32},
      {CElement::int64, DataType::int64},     {CElement::uint64, DataType::uint64},
      {CElement::fp16, DataType::fp16},       {CElement::bf16, DataType::bf16},
      {CElement::fp32, DataType::fp32},       {CElement::fp64, DataType::fp64}};
  const auto found = types.find(type.element);
  return type.lanes == 1 && found != types.end() ? std::optional(found->second) : std::nullopt;
}

CType lane_type(const CType& type) {
  CType lane;
  lane.element = type.element;
  lane.text = c_name_of(lane.element);
  return lane;
}

std::optional<DataType> lane_element_type(const CType& type) {
  return element_type(lane_type(type));
}

bool is_integer(DataType type) {
  return unit_roundoff(type) == 0;
}

std::string element_types_text() {
  return "float, double, __half, __nv_bfloat16, bool or an integer of 8 to 64 bits";
}

WholeNumbers whole_numbers(DataType type) {
  const auto symmetric = [](int bits) {
    const std::int64_t largest = std::int64_t{1} << bits;
    return WholeNumbers{-largest, largest};
  };
  switch (type) {
    case DataType::fp64: return symmetric(53);
    case DataType::fp32: return symmetric(24);
    case DataType::tf32:
    case DataType::fp16: return symmetric(11);
    case DataType::bf16: return symmetric(8);
    case DataType::int32: return {INT32_MIN, INT32_MAX};
    case DataType::uint8: return {0, UINT8_MAX};
    case DataType::uint16: return {0, UINT16_MAX};
    case DataType::uint32: return {0, UINT32_MAX};
    case DataType::uint64: return {0, std::int64_t{1} << 53};
    case DataType::int8: return {INT8_MIN, INT8_MAX};
    case DataType::int16: return {INT16_MIN, INT16_MAX};
    case DataType::int64: return symmetric(53);
    case DataType::boolean: return {0, 1};
  }
  return {};
}

double half_smallest(DataType type) {
  switch (type) {
    case DataType::fp64: return 0x1p-1074;  // half of it is no number of fp64
    case DataType::fp32:
    case DataType::tf32: return 0x1p-150;
    case DataType::fp16: return 0x1p-25;
    case DataType::bf16: return 0x1p-134;
    default: return 0;
  }
}

std::string add_number(const Expression& number, const CType& type, const Names& names,
                       PackedArguments& arguments) {
  if (type.element == CElement::fp32) {
    const double value = number.real(names);
    const double largest = std::numeric_limits<float>::max();
    if (std::abs(value) > largest)
      return fmt::format("is {}; expected -{:.8g} to {:.8g}", value, largest, largest);
    arguments.add(static_cast<float>(value));
    return "";
  }
  if (type.element == CElement::fp64) {
    arguments.add(number.real(names));
    return "";
  }
  return add_integer(number.integer(names), type.element, arguments);
}

}  // namespace gpuexp::own
