#include "own/declared_type.hpp"

#include <algorithm>
#include <array>
#include <cctype>
#include <utility>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "base/names.hpp"
#include "base/text_parts.hpp"
#include "own/parameter_types.hpp"

namespace gpuexp::own {

namespace {

/// The names at the beginning of the text, which blanks separate.
std::vector<std::string> leading_names(std::string_view text) {
  const auto is_of_name = [](char c) {
    return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '_';
  };
  std::vector<std::string> names;
  while (!text.empty() && is_of_name(text.front())) {
    const auto end = std::ranges::find_if_not(text, is_of_name);
    names.emplace_back(text.begin(), end);
    text.remove_prefix(names.back().size());
    text = trimmed(text);
  }
  return names;
}

/// Names of other languages and libraries.
constexpr std::array<std::pair<std::string_view, std::string_view>, 19> kForeignTypes{{
    {"float64", "double"},      {"fp64", "double"},
    {"f64", "double"},          {"float32", "float"},
    {"fp32", "float"},          {"f32", "float"},
    {"float16", "__half"},      {"fp16", "__half"},
    {"f16", "__half"},          {"bfloat16", "__nv_bfloat16"},
    {"bf16", "__nv_bfloat16"},  {"int8", "int8_t"},
    {"uint8", "uint8_t"},       {"int16", "int16_t"},
    {"uint16", "uint16_t"},     {"int32", "int"},
    {"uint32", "unsigned int"}, {"int64", "int64_t"},
    {"uint64", "uint64_t"},
}};

}  // namespace

std::optional<std::string> nearest_type(std::string_view word) {
  const auto foreign =
      std::ranges::find(kForeignTypes, word, &std::pair<std::string_view, std::string_view>::first);
  if (foreign != kForeignTypes.end()) return std::string(foreign->second);
  static const std::vector<std::string> types{"float", "double",   "half",  "__half",
                                              "bool",  "char",     "short", "__nv_bfloat16",
                                              "long",  "unsigned", "int"};
  return nearest_name(word, types);
}

std::optional<CType> take_type(Statement& s) {
  std::vector<std::string> words = leading_names(s.rest());
  if (words.size() < 2) return std::nullopt;
  words.pop_back();
  const CType type = type_named(fmt::format("{}", fmt::join(words, " ")));
  if (type.element == CElement::unknown) return std::nullopt;
  for (const std::string& word : words)
    s.takes_word(word);
  return type;
}

void require_element_type(const Statement& s, const CType& type, const Place& place) {
  if (element_type(type)) return;
  const CType lane = lane_type(type);
  s.fail_at(place, fmt::format("elements of type {} are not supported; expected {}; declare {} "
                               "times as many elements of type {} instead, as in '{} x[{}*n]'",
                               type.text, element_types_text(), type.lanes, lane.text, lane.text,
                               type.lanes));
}

std::vector<Value> typed_values(const Statement& s, const CType& type, const Place& place,
                                std::vector<Value> values) {
  if (!is_number(type))
    s.fail_at(place, fmt::format("a number of type {} is not supported; expected bool, an integer "
                                 "type, float or double",
                                 type.text));
  const bool is_real = type.element == CElement::fp32 || type.element == CElement::fp64;
  for (Value& value : values) {
    const auto* const integer = std::get_if<std::int64_t>(&value);
    if (is_real && integer) value = static_cast<double>(*integer);
    if (!is_real && !integer)
      s.fail_at(place, fmt::format("a number of type {} cannot be {}; expected a whole number",
                                   type.text, gpuexp::to_string(value)));
  }
  return values;
}

}  // namespace gpuexp::own
