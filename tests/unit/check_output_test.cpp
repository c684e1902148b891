// Expected values as elements of the output, faults of checks, and magnitudes of exact sums.
#include <cmath>
#include <cstdint>
#include <limits>
#include <string>
#include <vector>

#include "own/check_evaluation.hpp"
#include "own/check_expression.hpp"
#include "support/catch.hpp"

namespace gpuexp::own {
namespace {

constexpr double kInf = std::numeric_limits<double>::infinity();

struct Evaluated {
  Checked checked;
  CheckFault fault;
};

/// The only element of an output of the type, from buffers x = {3, -7, 0.5, 1e20} of fp64 and
/// words = {5, 2^53} of 64-bit integers.
Evaluated evaluated(const std::string& expression, DataType type,
                    const CheckRounding& rounding = {}) {
  static const std::vector<double> x{3, -7, 0.5, 1e20};
  static const std::vector<std::uint64_t> words{5, std::uint64_t{1} << 53};
  CheckBuffers buffers;
  buffers.inputs["x"] = {x.data(), DataType::fp64, {4}};
  buffers.inputs["words"] = {words.data(), DataType::uint64, {2}};
  buffers.output_extents = {1};
  buffers.output_type = type;
  const Check check = Check::parse("out[i] = " + expression);
  CompiledCheck compiled = check.compiled({}, buffers);
  const double unit = compiled.program.rounding.unit;
  compiled.program.rounding = rounding;
  compiled.program.rounding.unit = unit;
  Evaluated result;
  result.checked = evaluate_with(compiled.program, 0, check_detail::StoredElements{}, result.fault);
  return result;
}
double value(const std::string& expression, DataType type) {
  const Evaluated result = evaluated(expression, type);
  CHECK(result.fault.kind == CheckFaultKind::none);
  return result.checked.value;
}
CheckFaultKind fault(const std::string& expression, DataType type = DataType::fp32) {
  const Evaluated result = evaluated(expression, type);
  CHECK(std::isnan(result.checked.value) == (result.fault.kind != CheckFaultKind::none));
  return result.fault.kind;
}

TEST_CASE("numbers beyond the range of the output's type are infinite", "[check]") {
  struct Case {
    DataType type;
    double largest;    // the largest number that rounds to a finite one
    double threshold;  // rounds to infinity
  };
  for (const Case& c :
       {Case{DataType::fp16, 65519, 65520}, Case{DataType::bf16, 0x1.FEFFFFp127, 0x1.FFp127},
        Case{DataType::fp32, 0x1.FFFFFEFFFFp127, 0x1.FFFFFFp127},
        Case{DataType::fp64, 1e308, 1e308 * 10}}) {
    CAPTURE(name_of(c.type));
    const auto number = [&](double x) {
      CheckBuffers buffers;
      buffers.inputs["a"] = {&x, DataType::fp64, {1}};
      buffers.output_extents = {1};
      buffers.output_type = c.type;
      return evaluate(Check::parse("y[i] = a[0]").program({}, buffers), 0);
    };
    CHECK(number(c.largest).value == c.largest);
    CHECK(number(-c.largest).magnitude == c.largest);
    CHECK(number(c.threshold).value == kInf);
    CHECK(number(-c.threshold).value == -kInf);
    // An infinite bound would let every result pass.
    CHECK(number(c.threshold).magnitude == 0);
  }
  CHECK(value("1/(x[0] - 3)", DataType::fp64) == kInf);
}

TEST_CASE("outputs of integers wrap around", "[check]") {
  CHECK(value("x[0] - 5", DataType::uint32) == 4294967294);
  CHECK(value("250 + x[0]*x[0]", DataType::uint8) == 3);
  CHECK(value("65535 + x[0]", DataType::uint16) == 2);
  CHECK(value("125 + x[0]", DataType::int8) == -128);
  CHECK(value("-2^15 - x[0]", DataType::int16) == 32765);
  CHECK(value("2^31", DataType::int32) == -2147483648.0);
  CHECK(value("-2^31 - 1", DataType::int32) == 2147483647);
  CHECK(value("-2^52 - 1", DataType::int64) == -4503599627370497);
  CHECK(value("2^52 + 1", DataType::uint64) == 4503599627370497);
}

TEST_CASE("outputs of bool are 1 unless the value is 0", "[check]") {
  for (const char* one : {"x[0] > 2", "x[0]", "-1", "256", "0.5"}) {
    CAPTURE(one);
    CHECK(value(one, DataType::boolean) == 1);
  }
  CHECK(value("x[0] > 3", DataType::boolean) == 0);
  CHECK(value("x[0] - 3", DataType::boolean) == 0);
  CHECK(fault("sqrt(-1)", DataType::boolean) == CheckFaultKind::nan_value);
}

TEST_CASE("integers that fp64 rounds are faults", "[check]") {
  CHECK(fault("2^53", DataType::uint64) == CheckFaultKind::inexact_integer);
  // -4 wraps around to 2^64 - 4.
  CHECK(fault("-4", DataType::uint64) == CheckFaultKind::inexact_integer);
  CHECK(fault("words[0]", DataType::uint64) == CheckFaultKind::none);
  CHECK(fault("words[1]", DataType::uint64) == CheckFaultKind::inexact_element);
  CHECK(fault("words[1]", DataType::fp32) == CheckFaultKind::none);  // rounds far below fp32
  // An intermediate product of a linear congruential generator.
  CHECK(fault("(2^30*1103515245 + 12345) % 2^31", DataType::uint32) ==
        CheckFaultKind::inexact_integer);
  CHECK(fault("sum(k < 4: 2^51) % 7", DataType::uint32) == CheckFaultKind::inexact_integer);
  CHECK(fault("sum(k < 3: 2^51) % 7", DataType::uint32) == CheckFaultKind::none);
  // Real numbers may be large in a condition.
  CHECK(fault("x[3]*2 > 1e20 ? 1 : 0", DataType::uint32) == CheckFaultKind::none);
  CHECK(fault("2^53", DataType::fp32) == CheckFaultKind::none);
}

TEST_CASE("integer division needs a function", "[check]") {
  CHECK(fault("x[1] / 2", DataType::int32) == CheckFaultKind::fractional_value);
  CHECK(evaluated("x[1] / 2", DataType::int32).fault.number == -3.5);
  CHECK(value("trunc(x[1] / 2)", DataType::int32) == -3);
  CHECK(value("floor_div(x[1], 2)", DataType::int32) == -4);
  CHECK(value("x[1] % 2", DataType::int32) == -1);
  CHECK(value("(x[1] - 1) / 2", DataType::int32) == -4);
  CHECK(value("x[1] / 2", DataType::fp32) == -3.5);
}

TEST_CASE("faults name the index, the dimension and the instruction", "[check]") {
  const Evaluated result = evaluated("1 + x[2 + 2]", DataType::fp32);
  CHECK(result.fault.kind == CheckFaultKind::index_out_of_range);
  CHECK(result.fault.number == 4);
  CHECK(result.fault.dimension == 0);
  CHECK(result.fault.instruction == 2);
  CHECK(fault("x[0.5]") == CheckFaultKind::fractional_index);
  CHECK(fault("x[log(x[1])]") == CheckFaultKind::index_out_of_range);
  CHECK(fault("log(x[1]) ? 1 : 0") == CheckFaultKind::nan_condition);
  CHECK(fault("sum(k < 2^53: 1)") == CheckFaultKind::too_many_terms);
  CHECK(fault("log(x[1])") == CheckFaultKind::nan_value);
  CHECK(fault("x[0] > 0 ? 1 : x[9]") == CheckFaultKind::none);
}

TEST_CASE("functions of checks and their magnitudes", "[check]") {
  const auto check_function = [](const std::string& text, double expected, double slope) {
    CAPTURE(text);
    const Checked checked = evaluated(text, DataType::fp64).checked;
    CHECK(checked.value == Approx(expected));
    CHECK(checked.magnitude == Approx(std::abs(expected) + std::abs(slope) * 0.5));
  };
  check_function("tanh(x[2])", std::tanh(0.5), 1 - std::tanh(0.5) * std::tanh(0.5));
  check_function("erf(x[2])", std::erf(0.5), 2 / std::sqrt(std::acos(-1.0)) * std::exp(-0.25));
  check_function("sin(x[2])", std::sin(0.5), std::cos(0.5));
  check_function("cos(x[2])", std::cos(0.5), std::sin(0.5));
  check_function("rsqrt(x[2])", std::sqrt(2.0), std::sqrt(2.0));
  CHECK(evaluated("trunc(x[1]/2)", DataType::fp64).checked.value == -3);
  CHECK(evaluated("trunc(x[1]/2)", DataType::fp64).checked.magnitude == 3.5);
}

TEST_CASE("checks round to whole numbers and to fp32 as C does", "[check]") {
  // x[1] is -7.
  CHECK(value("rint(x[1]/2)", DataType::int32) == -4);
  CHECK(value("rint(x[1]/2 + 1)", DataType::int32) == -2);
  CHECK(value("round(x[1]/2 + 1)", DataType::int32) == -3);
  CHECK(value("round(x[1]/2)", DataType::int32) == -4);
  // fp32 represents 2^24, and not 2^24 + 1.
  CHECK(value("fp32(2^24 + 1)", DataType::fp64) == 0x1p24);
  CHECK(value("fp32(0.1)", DataType::fp64) == static_cast<double>(0.1f));
  // 2.5 - 2^-30 is 2.5 in fp32, which rounds to the even neighbour.
  CHECK(value("rint(3.5 - 2^-30)", DataType::int32) == 3);
  CHECK(value("rint(fp32(3.5 - 2^-30))", DataType::int32) == 4);
  CHECK(value("fp32(1e300)", DataType::fp64) == std::numeric_limits<double>::infinity());
}

// ---- exact sums

constexpr CheckRounding kFp32{0x1p24, 0, 0.5, 0x1p24};

TEST_CASE("the magnitude of an exact sum of whole numbers covers no rounding", "[check]") {
  const auto magnitude = [](const std::string& text) {
    return evaluated(text, DataType::fp32, kFp32).checked.magnitude;
  };
  CHECK(magnitude("sum(k < 1000: x[0]*x[1] - k)") == 0);
  CHECK(magnitude("5*sum(k < 10: max(x[0], abs(x[1]), k > 5)) - x[0]^2") == 0);
  // 2^24 terms of 1 are exact, and one more is not.
  CHECK(magnitude("sum(k < 2^12: sum(l < 2^12: 1))") == 0);
  CHECK(magnitude("sum(k < 2^12: sum(l < 2^12: 1)) + 1") > 0x1p22);
  CHECK(magnitude("sum(k < 2^12 + 1: sum(l < 2^12: 1))") > 0x1p24);
  // So are multiples of a power of two, wherever it is a factor.
  CHECK(magnitude("sum(k < 10: 0.5*x[0])") == 0);
  CHECK(magnitude("0.25*sum(k < 10: x[0]) + 0.5*x[1]") == 0);
  CHECK(magnitude("0.5*sum(k < 2^12: sum(l < 2^12: 1)) + 0.5") > 0x1p22);
  // Fractions, as elements, numbers or results of a division, are not whole.
  CHECK(magnitude("sum(k < 10: x[2])") == 5);
  CHECK(magnitude("sum(k < 10: 0.1*x[0])") == Approx(3));
  CHECK(magnitude("sum(k < 10: x[0]/3)") == Approx(10));
  CHECK(magnitude("sum(k < 10: x[0]) + x[2]") == 30.5);
  // Without a limit, as for a declared tolerance, nothing is exact.
  CHECK(evaluated("sum(k < 10: x[0])", DataType::fp32).checked.magnitude == 30);
}

TEST_CASE("operations that round leave the magnitude of the whole check", "[check]") {
  const auto magnitude = [](const std::string& text) {
    return evaluated(text, DataType::fp32, kFp32).checked.magnitude;
  };
  CHECK(magnitude("0.1*sum(k < 10: x[0] + x[1])") == Approx(10));
  CHECK(magnitude("sum(k < 10: x[0]) / 2") == 15);
  CHECK(magnitude("sqrt(sum(k < 3: x[0]))") == 3);
}

TEST_CASE("an exact result that the output's type rounds keeps this rounding", "[check]") {
  // 16-bit outputs round whole numbers that they do not represent.
  CheckRounding fp16 = kFp32;
  fp16.output_limit = 2048;
  CHECK(evaluated("sum(k < 2048: 1)", DataType::fp16, fp16).checked.magnitude == 0);
  CHECK(evaluated("sum(k < 2049: 1)", DataType::fp16, fp16).checked.magnitude == 0.5 * 2049);
  CHECK(evaluated("0.5*sum(k < 2048: 1)", DataType::fp16, fp16).checked.magnitude == 0);
}

}  // namespace
}  // namespace gpuexp::own
