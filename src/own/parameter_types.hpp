// C types of kernel parameters: numbers that a launch passes, and elements of buffers.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "base/types.hpp"
#include "compile/c_type.hpp"
#include "family/step.hpp"
#include "own/expression.hpp"

namespace gpuexp::own {

/// Whether a launch can pass a number of this type.
bool is_number(const CType& type);

/// Bytes of a number of this type; 0 if launches cannot pass it.
std::int64_t size_of_number(const CType& type);

/// The type of a buffer's elements; empty if buffers cannot have it.
std::optional<DataType> element_type(const CType& type);

/// The type of a buffer's elements for a pointer to this type: of float4, that of one lane. Empty
/// if buffers cannot have it.
std::optional<DataType> lane_element_type(const CType& type);

/// The types of buffers' elements for messages: "float, double, …".
std::string element_types_text();

/// The type of one lane of a vector: float of float4. Unknown for structures.
CType lane_type(const CType& type);

bool is_integer(DataType type);

/// Range of the whole numbers that elements of the type represent exactly, with all numbers in
/// between. 64-bit integers are limited to 2^53, because contents are computed in fp64.
struct WholeNumbers {
  std::int64_t low = 0;
  std::int64_t high = 0;
};
WholeNumbers whole_numbers(DataType type);

/// Half the smallest positive number of the type, subnormal numbers included: the largest error of
/// rounding to a subnormal number. 0 for integers.
double half_smallest(DataType type);

/// Evaluates the number and adds it to the arguments. Returns why the value does not fit the type,
/// such as "is 300; expected -128 to 127", or "". Throws ExpressionError.
std::string add_number(const Expression& number, const CType& type, const Names& names,
                       PackedArguments& arguments);

}  // namespace gpuexp::own
