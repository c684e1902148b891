#include "compile/c_type.hpp"

#include <algorithm>
#include <array>
#include <optional>
#include <utility>

namespace gpuexp {

namespace {

struct ElementRow {
  CElement element;
  std::string_view name;
};
constexpr std::array<ElementRow, 15> kElements{{
    {CElement::character, "char"},
    {CElement::boolean, "bool"},
    {CElement::int8, "signed char"},
    {CElement::uint8, "unsigned char"},
    {CElement::int16, "short"},
    {CElement::uint16, "unsigned short"},
    {CElement::int32, "int"},
    {CElement::uint32, "unsigned int"},
    {CElement::int64, "long"},
    {CElement::uint64, "unsigned long"},
    {CElement::fp16, "__half"},
    {CElement::bf16, "__nv_bfloat16"},
    {CElement::fp32, "float"},
    {CElement::fp64, "double"},
    {CElement::unknown, ""},
}};

/// Names of one word, of the standard library and of CUDA.
constexpr std::array<std::pair<std::string_view, CElement>, 30> kTypeNames{{
    {"bool", CElement::boolean},     {"float", CElement::fp32},
    {"double", CElement::fp64},      {"half", CElement::fp16},
    {"__half", CElement::fp16},      {"_Float16", CElement::fp16},
    {"nv_bfloat16", CElement::bf16}, {"__nv_bfloat16", CElement::bf16},
    {"__bf16", CElement::bf16},      {"int8_t", CElement::int8},
    {"uint8_t", CElement::uint8},    {"int16_t", CElement::int16},
    {"uint16_t", CElement::uint16},  {"int32_t", CElement::int32},
    {"uint32_t", CElement::uint32},  {"int64_t", CElement::int64},
    {"uint64_t", CElement::uint64},  {"size_t", CElement::uint64},
    {"ssize_t", CElement::int64},    {"ptrdiff_t", CElement::int64},
    {"intptr_t", CElement::int64},   {"uintptr_t", CElement::uint64},
    {"uchar", CElement::uint8},      {"ushort", CElement::uint16},
    {"uint", CElement::uint32},      {"ulong", CElement::uint64},
    {"__int8", CElement::int8},      {"__int16", CElement::int16},
    {"__int32", CElement::int32},    {"__int64", CElement::int64},
}};

/// CUDA's vector types without the number of lanes, which is 1 to 4 or, for 16 bits, 2.
constexpr std::array<std::pair<std::string_view, CElement>, 16> kVectorNames{{
    {"char", CElement::int8},
    {"uchar", CElement::uint8},
    {"short", CElement::int16},
    {"ushort", CElement::uint16},
    {"int", CElement::int32},
    {"uint", CElement::uint32},
    {"long", CElement::int64},
    {"ulong", CElement::uint64},
    {"longlong", CElement::int64},
    {"ulonglong", CElement::uint64},
    {"float", CElement::fp32},
    {"double", CElement::fp64},
    {"half", CElement::fp16},
    {"__half", CElement::fp16},
    {"nv_bfloat16", CElement::bf16},
    {"__nv_bfloat16", CElement::bf16},
}};

const ElementRow& row_of(CElement element) {
  return *std::find_if(kElements.begin(), kElements.end(),
                       [&](const ElementRow& row) { return row.element == element; });
}

bool is_left_out(const SourceToken& token) {
  constexpr std::array<std::string_view, 11> kWords{
      "const",    "volatile", "__restrict__", "__restrict",        "restrict", "struct",
      "typename", "class",    "enum",         "__grid_constant__", "register"};
  return std::find(kWords.begin(), kWords.end(), token.text) != kWords.end();
}

// "unsigned long long int" and the like, in any order.
std::optional<CElement> integer_of(const std::vector<SourceToken>& words) {
  const auto count = [&](std::string_view word) {
    return std::count_if(words.begin(), words.end(), [&](const auto& w) { return w.is(word); });
  };
  const auto is_unsigned = count("unsigned");
  const auto is_signed = count("signed") + count("__signed__");
  const auto longs = count("long");
  const auto shorts = count("short");
  const auto chars = count("char");
  const auto known = is_unsigned + is_signed + longs + shorts + chars + count("int");
  if (words.empty() || static_cast<std::size_t>(known) != words.size()) return std::nullopt;
  if (chars > 0)
    return is_unsigned > 0 ? CElement::uint8 : is_signed > 0 ? CElement::int8 : CElement::character;
  if (longs > 0) return is_unsigned > 0 ? CElement::uint64 : CElement::int64;
  if (shorts > 0) return is_unsigned > 0 ? CElement::uint16 : CElement::int16;
  return is_unsigned > 0 ? CElement::uint32 : CElement::int32;
}

// "float4", "__half2", "double4_16a".
std::optional<std::pair<CElement, int>> vector_of(std::string_view name) {
  constexpr std::string_view kAlignments[] = {"_16a", "_32a"};
  for (const std::string_view alignment : kAlignments) {
    if (name.ends_with(alignment)) name.remove_suffix(alignment.size());
  }
  if (name.empty() || name.back() < '1' || name.back() > '4') return std::nullopt;
  const int lanes = name.back() - '0';
  name.remove_suffix(1);
  for (const auto& [vector, element] : kVectorNames) {
    const bool is_16_bit = element == CElement::fp16 || element == CElement::bf16;
    if (name == vector && (!is_16_bit || lanes == 2)) return std::pair(element, lanes);
  }
  return std::nullopt;
}

std::optional<CElement> named_element(std::string_view name) {
  for (const auto& [known, element] : kTypeNames)
    if (name == known) return element;
  return std::nullopt;
}

}  // namespace

std::string_view c_name_of(CElement element) {
  return row_of(element).name;
}

CType type_named(const std::vector<SourceToken>& tokens) {
  std::vector<SourceToken> words;
  for (const SourceToken& token : tokens)
    if (!is_left_out(token)) words.push_back(token);
  CType type;
  type.text = joined(words, 0, words.size());
  if (const auto integer = integer_of(words)) {
    type.element = *integer;
    return type;
  }
  std::string_view name = type.text;
  for (const std::string_view space : {"::", "cuda::std::", "std::"})
    if (name.starts_with(space)) name.remove_prefix(space.size());
  if (const auto element = named_element(name)) {
    type.element = *element;
  } else if (const auto vector = vector_of(name)) {
    type.element = vector->first;
    type.lanes = vector->second;
  }
  return type;
}

CType type_named(std::string_view name) {
  return type_named(tokens_of(name));
}

}  // namespace gpuexp
