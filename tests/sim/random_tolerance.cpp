#include "sim/random_tolerance.hpp"

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <numbers>
#include <string_view>

#include "sim/small_floats.hpp"

namespace gpuexp::test {

namespace {

enum class Format { fp32, fp64, fp16, bf16 };

Format format_of(std::string_view opcode) {
  if (opcode.find("bf16") != std::string_view::npos) return Format::bf16;
  if (opcode.find("f16") != std::string_view::npos) return Format::fp16;
  return opcode.ends_with("f64") ? Format::fp64 : Format::fp32;
}

double value(std::uint64_t bits, Format format) {
  const auto low = static_cast<std::uint32_t>(bits);
  switch (format) {
    case Format::fp32: return std::bit_cast<float>(low);
    case Format::fp64: return std::bit_cast<double>(bits);
    case Format::fp16: return sim::value_of<sim::kFp16>(low & 0xffff);
    case Format::bf16: return sim::value_of<sim::kBf16>(low & 0xffff);
  }
  return 0;
}

/// Stated errors as powers of two; 0: none of this kind.
struct Stated {
  std::string_view opcode;
  double relative;
  double absolute;
};

// PTX ISA, "Floating Point Instructions" and "Half Precision Floating Point Instructions". An fp32
// ulp is at most 2^-23 of the number. Errors of sin and cos hold for arguments within 2 pi.
constexpr std::array kStated{
    Stated{"ex2.approx.f16", -9.9, 0},
    Stated{"ex2.approx.ftz.bf16", -7, 0},
    Stated{"tanh.approx.f16", 0, -10},
    Stated{"tanh.approx.bf16", 0, -8},
    Stated{"ex2.approx", -22, 0},
    Stated{"lg2.approx", -22, -22},
    Stated{"sin.approx", 0, -20.5},
    Stated{"cos.approx", 0, -20.5},
    Stated{"sqrt.approx", -22, 0},
    Stated{"rsqrt.approx.ftz.f64", -20, 0},
    Stated{"rsqrt.approx", -22, 0},
    Stated{"rcp.approx.ftz.f64", -20, 0},
    Stated{"rcp.approx", -22, 0},
    Stated{"tanh.approx", -10.9, 0},
    Stated{"div.", -21, 0},
};

bool is_near(const Stated& stated, double got, double expected, double least_normal) {
  if (std::isnan(got) || std::isnan(expected)) return std::isnan(got) && std::isnan(expected);
  if (std::isinf(got) || std::isinf(expected)) return got == expected;
  const double distance = std::fabs(got - expected);
  return (stated.relative != 0 && distance <= std::exp2(stated.relative) * std::fabs(expected)) ||
         (stated.absolute != 0 && distance <= std::exp2(stated.absolute)) ||
         distance <= least_normal * std::exp2(-22);
}

}  // namespace

bool is_near(const RandomResult& result, const RandomLaunch& launch,
             const std::vector<RandomResult>& results, unsigned thread, std::uint64_t got,
             std::uint64_t expected) {
  const std::string opcode = result.opcode();
  const Format format = format_of(opcode);
  // The argument is the last operand. An operand before the opcode is the result if the guard is
  // false.
  const std::string last = result.text.substr(result.text.rfind(' ') + 1);
  double argument = 0;
  for (const RandomResult* operand : operands_of(results, result)) {
    if (operand->name == last)
      argument = std::fabs(value(value_of(launch, *operand, thread), format));
  }
  for (Stated stated : kStated) {
    if (!opcode.starts_with(stated.opcode)) continue;
    if (opcode.starts_with("sin") || opcode.starts_with("cos")) {
      if (argument > 100 * std::numbers::pi) return true;  // no error is stated
      if (argument > 2 * std::numbers::pi) stated.absolute = -14.7;
    }
    const double least = format == Format::fp16   ? 0x1p-14
                         : format == Format::fp64 ? 0x1p-1022
                                                  : 0x1p-126;
    const bool is_pair = opcode.ends_with("x2");
    return is_near(stated, value(got, format), value(expected, format), least) &&
           (!is_pair ||
            is_near(stated, value(got >> 16, format), value(expected >> 16, format), least));
  }
  return false;
}

}  // namespace gpuexp::test
