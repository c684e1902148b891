// Tensor-core operands and sums.
#pragma once

#include <cmath>
#include <string_view>

#include "sim/tensor_sum.hpp"

namespace gpuexp::test {

struct Number {
  double value;
  std::int32_t exponent;
};

template <sim::SmallFloat format>
Number number(std::uint32_t bits) {
  return {sim::value_of<format>(bits), sim::tensor_exponent<format>(bits)};
}

/// An element of A or B. `type` is "fp16", "fp16_to_fp16" (sums in fp16), "bf16", "tf32", "e4m3" or
/// "e5m2".
inline Number element(std::string_view type, std::uint32_t bits) {
  if (type == "bf16") return number<sim::kBf16>(bits);
  if (type == "tf32") return number<sim::kTf32>(bits >> 13);
  if (type == "e4m3") return {sim::value_of_e4m3(bits), sim::tensor_exponent<sim::kE4m3>(bits)};
  if (type == "e5m2") return number<sim::kE5m2>(bits);
  return number<sim::kFp16>(bits);
}

inline bool is_to_fp16(std::string_view type) {
  return type == "fp16_to_fp16";
}
inline bool is_fp8(std::string_view type) {
  return type == "e4m3" || type == "e5m2";
}
inline int sum_places(std::string_view type) {
  return is_fp8(type) ? sim::kFp8SumPlaces : sim::kSumPlaces;
}

/// An element of C.
inline Number addend(std::string_view type, std::uint32_t bits) {
  if (is_to_fp16(type)) return number<sim::kFp16>(bits);
  return {std::bit_cast<float>(bits), sim::tensor_exponent<sim::kFp32>(bits)};
}

/// One sum, computed by the code that sums a row at once. The sum must be finite.
inline double sum_at_once(std::string_view type, const sim::TensorFactors& factors, unsigned column,
                          const Number& c) {
  sim::SumRow row{};
  sim::ExponentRow exponents = sim::ExponentRow{} + sim::kNoExponent;
  row[column] = c.value;
  exponents[column] = c.exponent;
  sim::add_products(factors, row, exponents, sum_places(type));
  return row[column];
}

/// The bits of an element of D.
inline std::uint32_t sum_bits(std::string_view type, const sim::TensorFactors& factors,
                              unsigned column, const Number& c, double sum) {
  if (sum == 0 && sim::is_negative_zero(factors, column, c.value))
    return is_to_fp16(type) ? 0x8000 : 0x80000000u;
  if (is_to_fp16(type)) return sim::sum_to_fp16(sum);
  return is_fp8(type) ? sim::fp8_sum_to_fp32(sum) : sim::sum_to_fp32(sum);
}

}  // namespace gpuexp::test
