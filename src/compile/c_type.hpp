// Types of kernel parameters, by their names in C++.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "compile/source_tokens.hpp"

namespace gpuexp {

enum class CElement {
  character,  ///< char, signed on x86-64 and in device code
  boolean,
  int8,
  uint8,
  int16,
  uint16,
  int32,
  uint32,
  int64,
  uint64,
  fp16,
  bf16,
  fp32,
  fp64,
  unknown,  ///< a structure, an enumeration or an unknown name
};

struct CType {
  CElement element = CElement::unknown;
  int lanes = 1;     ///< 4 for float4
  std::string text;  ///< without const, as written: "unsigned int"

  friend bool operator==(const CType&, const CType&) = default;
};

/// "float", "unsigned int", "__half": the name in device code; "" for unknown.
std::string_view c_name_of(CElement element);

/// The type with this name: "unsigned long long", "std::uint8_t", "float4", "__half2". Types are
/// those of 64-bit Linux. Words like const, which do not change the type, are left out.
CType type_named(const std::vector<SourceToken>& tokens);
CType type_named(std::string_view name);

}  // namespace gpuexp
