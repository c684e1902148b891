// Checks: their programs, magnitudes, numbers of roundings, and error messages.
#include <cmath>
#include <cstdint>
#include <cstring>
#include <limits>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/random_bits.hpp"
#include "own/check_evaluation.hpp"
#include "own/check_expression.hpp"
#include "support/catch.hpp"

namespace gpuexp::own {
namespace {

using Extents = std::vector<std::int64_t>;

template <class T>
CheckBuffer buffer_of(const std::vector<T>& data, DataType type, Extents extents = {}) {
  if (extents.empty()) extents = {static_cast<std::int64_t>(data.size())};
  return {data.data(), type, std::move(extents)};
}
CheckBuffer doubles(const std::vector<double>& data, Extents extents = {}) {
  return buffer_of(data, DataType::fp64, std::move(extents));
}

std::vector<Checked> all_elements(std::string_view check, const Names& parameters,
                                  const CheckBuffers& buffers) {
  const CheckProgram program = Check::parse(check).program(parameters, buffers);
  std::int64_t count = 1;
  for (const std::int64_t extent : buffers.output_extents)
    count *= extent;
  std::vector<Checked> elements;
  for (std::int64_t i = 0; i < count; ++i)
    elements.push_back(evaluate(program, i));
  return elements;
}

std::vector<double> values_of(std::string_view check, const Names& parameters,
                              const CheckBuffers& buffers) {
  std::vector<double> values;
  for (const Checked& element : all_elements(check, parameters, buffers))
    values.push_back(element.value);
  return values;
}

// The only element of an output, from an expression of x = 3, y = -0.5, z = 0 and tiny = 2^-60.
Checked checked_of(const std::string& expression) {
  const std::vector<double> data{3, -0.5, 0, 0x1p-60};
  CheckBuffers buffers;
  buffers.output_extents = {1};
  for (std::size_t i = 0; const char* name : {"x", "y", "z", "tiny"})
    buffers.inputs[name] = {&data[i++], DataType::fp64, {1}};
  return evaluate(Check::parse("out[i] = " + expression).program({}, buffers), 0);
}
double value_of(const std::string& expression) {
  return checked_of(expression).value;
}
double magnitude_of(const std::string& expression) {
  return checked_of(expression).magnitude;
}

TEST_CASE("a check has an output, indices and an expression", "[check]") {
  const Check check = Check::parse(" C[i][ j ] = alpha*A[i][j] + before(C[i][j]) ");
  CHECK(check.text() == "C[i][ j ] = alpha*A[i][j] + before(C[i][j])");
  CHECK(check.output() == "C");
  CHECK(check.indices() == std::vector<std::string>{"i", "j"});
  CHECK(check.expression().text() == "alpha*A[i][j] + before(C[i][j])");
  CHECK(check.names() == std::set<std::string>{"A", "C", "alpha"});
}

TEST_CASE("arithmetic of checks is that of fp64", "[check]") {
  CHECK(value_of("2 + 3*x[0] - x[0]/4") == 10.25);
  CHECK(value_of("1/3") == 1.0 / 3);
  CHECK(value_of("-x[0]^2") == -9);
  CHECK(value_of("x[0]^16") == 43046721);
  CHECK(value_of("x[0]^0.5") == std::pow(3.0, 0.5));
  CHECK(value_of("pow(x[0], y[0])") == std::pow(3.0, -0.5));
  CHECK(value_of("pow(x[0], 3)") == 27);
  CHECK(value_of("-7 % x[0]") == -1);
  CHECK(value_of("7.5 % 2") == 1.5);
  CHECK(value_of("floor(y[0]) + 10*ceil(y[0]) + 100*abs(y[0])") == 49);
  CHECK(value_of("floor_div(-7, 2) + 10*ceil_div(-7, 2)") == -34);
  CHECK(value_of("min(x[0], 1, 2) + 10*max(x[0], 1, 2)") == 31);
  CHECK(value_of("exp(1)") == std::exp(1.0));
  CHECK(value_of("log(x[0])") == std::log(3.0));
  CHECK(value_of("sqrt(x[0])") == std::sqrt(3.0));
  CHECK(value_of("0x10") == 16);
}

TEST_CASE("comparisons and logical operators of checks are 0 or 1", "[check]") {
  CHECK(value_of("(x[0] < 3) + 10*(x[0] <= 3) + 100*(x[0] > 3) + 1000*(x[0] >= 3)") == 1010);
  CHECK(value_of("(x[0] == 3) + 10*(x[0] != 3)") == 1);
  CHECK(value_of("!x[0] + 10*!z[0]") == 10);
  CHECK(value_of("(x[0] && y[0]) + 10*(x[0] && z[0]) + 100*(z[0] && x[0])") == 1);
  CHECK(value_of("(x[0] || z[0]) + 10*(z[0] || y[0]) + 100*(z[0] || z[0])") == 11);
  CHECK(value_of("x[0] > 2 ? y[0] > 0 ? 1 : 2 : 3") == 2);
  CHECK(value_of("x[0] > 4 ? 1 : i == 0 ? 2 : 3") == 2);
}

TEST_CASE("minimum and maximum of NaN are NaN", "[check]") {
  for (const char* text :
       {"min(log(y[0]), 1)", "min(1, log(y[0]))", "max(log(y[0]), 1)", "max(1, log(y[0]))"}) {
    CAPTURE(text);
    CHECK(std::isnan(value_of(text)));
  }
}

TEST_CASE("a check of a matrix product reads the output before the launch", "[check]") {
  constexpr int kM = 3, kN = 4, kK = 5;
  std::vector<float> a(kM * kK), b(kK * kN), c(kM * kN);
  for (std::size_t i = 0; i < a.size(); ++i)
    a[i] = static_cast<float>(i) - 4.5f;
  for (std::size_t i = 0; i < b.size(); ++i)
    b[i] = 0.25f * static_cast<float>(i) - 1;
  for (std::size_t i = 0; i < c.size(); ++i)
    c[i] = static_cast<float>(i);
  CheckBuffers buffers;
  buffers.inputs = {{"A", buffer_of(a, DataType::fp32, {kM, kK})},
                    {"B", buffer_of(b, DataType::fp32, {kK, kN})}};
  buffers.output_extents = {kM, kN};
  buffers.before["C"] = buffer_of(c, DataType::fp32, {kM, kN});
  const std::vector<Checked> checked =
      all_elements("C[i][j] = alpha*sum(k < K: A[i][k]*B[k][j]) + beta*before(C[i][j])",
                   {{"alpha", 0.5}, {"beta", std::int64_t{3}}, {"K", std::int64_t{kK}}}, buffers);
  for (std::size_t i = 0; i < kM; ++i) {
    for (std::size_t j = 0; j < kN; ++j) {
      double sum = 0, magnitude = 0;
      for (std::size_t k = 0; k < kK; ++k) {
        sum += static_cast<double>(a[i * kK + k]) * static_cast<double>(b[k * kN + j]);
        magnitude +=
            std::abs(static_cast<double>(a[i * kK + k]) * static_cast<double>(b[k * kN + j]));
      }
      const double before = static_cast<double>(c[i * kN + j]);
      CHECK(checked[i * kN + j].value == 0.5 * sum + 3 * before);
      CHECK(checked[i * kN + j].magnitude == 0.5 * magnitude + 3 * before);
    }
  }
}

TEST_CASE("a check of a transpose", "[check]") {
  const std::vector<double> in{1, 2, 3, 4, 5, 6};
  CheckBuffers buffers;
  buffers.inputs["in"] = doubles(in, {2, 3});
  buffers.output_extents = {3, 2};
  CHECK(values_of("out[c][r] = in[r][c]", {}, buffers) == std::vector<double>{1, 4, 2, 5, 3, 6});
}

TEST_CASE("a check of a volume has up to four indices", "[check]") {
  std::vector<double> in(2 * 3 * 4 * 5);
  for (std::size_t i = 0; i < in.size(); ++i)
    in[i] = static_cast<double>(i);
  CheckBuffers buffers;
  buffers.inputs["in"] = doubles(in, {2, 3, 4, 5});
  buffers.output_extents = {2, 3, 4, 5};
  CHECK(values_of("out[a][b][c][d] = in[a][b][c][d]", {}, buffers) == in);
  CHECK(values_of("out[a][b][c][d] = ((a*3 + b)*4 + c)*5 + d", {}, buffers) == in);
}

TEST_CASE("operands that are not needed read nothing out of range", "[check]") {
  const std::vector<double> a{1, 2, 4, 8};
  CheckBuffers buffers;
  buffers.inputs["a"] = doubles(a);
  buffers.output_extents = {4};
  const Names n{{"n", std::int64_t{4}}};
  CHECK(values_of("out[i] = (i > 0 ? a[i-1] : 0) + a[i] + (i < n-1 ? a[i+1] : 0)", n, buffers) ==
        std::vector<double>{3, 7, 14, 12});
  CHECK(values_of("out[i] = i > 0 && a[i-1] > 1", n, buffers) == std::vector<double>{0, 0, 1, 1});
  CHECK(values_of("out[i] = i == 0 || a[i-1] > 1", n, buffers) == std::vector<double>{1, 0, 1, 1});
  CHECK(values_of("out[i] = a[(i + 1) % n]", n, buffers) == std::vector<double>{2, 4, 8, 1});
  CHECK(values_of("out[i] = a[n - 1 - i] + a[1 + i - 1]", n, buffers) ==
        std::vector<double>{9, 6, 6, 9});
}

TEST_CASE("an index that is out of range or not whole makes the value NaN", "[check]") {
  const std::vector<double> a{1, 2, 4, std::nan("")};
  CheckBuffers buffers;
  buffers.inputs["a"] = doubles(a, {2, 2});
  buffers.output_extents = {1};
  for (const char* expression :
       {"a[0][2]", "a[0][-1]", "a[2][0]", "a[0][0.5]", "a[0][1/3]", "a[0][a[1][1]]",
        // Neither comparisons nor maxima hide it.
        "a[0][2] > 0", "max(1, a[0][2])", "a[0][2] > 0 ? 1 : 2", "sum(k < a[0][2]: 1)",
        "sum(k < 3: a[0][k])"}) {
    CAPTURE(expression);
    const Checked checked = all_elements("out[i] = " + std::string(expression), {}, buffers)[0];
    CHECK(std::isnan(checked.value));
    CHECK(std::isnan(checked.magnitude));
  }
  // A condition that is NaN; a number of terms that is NaN or that fp64 cannot count.
  for (const char* expression :
       {"a[1][1] ? 1 : 2", "a[1][1] && 1", "sum(k < a[1][1]: 1)", "sum(k < 2^53: 1)"}) {
    CAPTURE(expression);
    CHECK(std::isnan(all_elements("out[i] = " + std::string(expression), {}, buffers)[0].value));
  }
}

TEST_CASE("sums have indices of their own and any number of terms", "[check]") {
  const std::vector<double> a{1, 2, 4, 8};
  const std::vector<std::int32_t> row{0, 1, 1, 4};
  const std::vector<std::int32_t> column{2, 0, 1, 3};
  CheckBuffers buffers;
  buffers.inputs["a"] = doubles(a);
  buffers.output_extents = {4};
  CHECK(values_of("out[i] = sum(k < i+1: a[k])", {}, buffers) == std::vector<double>{1, 3, 7, 15});
  CHECK(values_of("out[i] = sum(k < i: a[k])", {}, buffers) == std::vector<double>{0, 1, 3, 7});
  CHECK(values_of("out[i] = sum(k < i - 2: 1) + sum(k < 1.5: 1)", {}, buffers) ==
        std::vector<double>{2, 2, 2, 3});
  CHECK(values_of("out[i] = sum(j < 2: sum(k < 3: sum(l < k: sum(m < 2: 10*i + l))))", {},
                  buffers) == std::vector<double>{4, 124, 244, 364});
  buffers.inputs = {{"a", doubles(a)},
                    {"row", buffer_of(row, DataType::int32)},
                    {"column", buffer_of(column, DataType::int32)}};
  buffers.output_extents = {3};
  CHECK(values_of("y[r] = sum(k < row[r+1] - row[r]: a[row[r]+k]*column[row[r]+k])", {}, buffers) ==
        std::vector<double>{2, 0, 28});
}

TEST_CASE("a check of a softmax over rows", "[check]") {
  const std::vector<double> x{0.5, -1, 2, 3, 0, -2};
  CheckBuffers buffers;
  buffers.inputs["x"] = doubles(x, {2, 3});
  buffers.output_extents = {2, 3};
  const Names n{{"n", std::int64_t{3}}};
  const std::vector<Checked> checked =
      all_elements("y[r][c] = exp(x[r][c]) / sum(k < n: exp(x[r][k]))", n, buffers);
  for (std::size_t i = 0; i < x.size(); ++i) {
    double sum = 0, sum_magnitude = 0;
    for (std::size_t k = i / 3 * 3; k < i / 3 * 3 + 3; ++k) {
      sum += std::exp(x[k]);
      sum_magnitude += std::exp(x[k]) * (1 + std::abs(x[k]));
    }
    CHECK(checked[i].value == std::exp(x[i]) / sum);
    CHECK(checked[i].magnitude ==
          Approx(std::exp(x[i]) * (1 + std::abs(x[i])) * sum_magnitude / (sum * sum)));
  }
}

TEST_CASE("magnitudes bound the terms whose roundings matter", "[check]") {
  CHECK(magnitude_of("-5") == 5);
  CHECK(magnitude_of("y[0]") == 0.5);
  CHECK(magnitude_of("x[0] + y[0]") == 3.5);
  CHECK(magnitude_of("x[0] - x[0]") == 6);
  CHECK(magnitude_of("(x[0] - x[0])*y[0]") == 3);
  CHECK(magnitude_of("sum(k < 4: k % 2 == 0 ? x[0] : -x[0])") == 12);
  CHECK(magnitude_of("-abs(x[0] + y[0])") == 3.5);
  CHECK(magnitude_of("floor(x[0] + y[0]) + ceil(x[0] + y[0])") == 7);
  CHECK(magnitude_of("x[0] > 2 ? x[0] + y[0] : 100") == 3.5);
  CHECK(magnitude_of("min(x[0] - x[0], 5) + max(x[0] - x[0], 5)") == 12);
  CHECK(magnitude_of("(x[0] > 2) + (x[0] > 4) + !z[0] + (x[0] && y[0])") == 3);
  CHECK(magnitude_of("i") == 0);
}

TEST_CASE("magnitudes follow the derivatives of division, roots and powers", "[check]") {
  // Without cancellation in the divisor, that of the dividend divided by the divisor.
  CHECK(magnitude_of("(x[0] + y[0]) / 2") == 1.75);
  CHECK(magnitude_of("1 / (x[0] + y[0])") == Approx(3.5 / (2.5 * 2.5)));
  CHECK(magnitude_of("floor_div(7, x[0])") == Approx(7.0 / 3));
  CHECK(magnitude_of("ceil_div(7, x[0])") == Approx(7.0 / 3));
  CHECK(magnitude_of("7 % x[0]") == 13);
  CHECK(magnitude_of("sqrt(x[0])") == std::sqrt(3.0));
  CHECK(magnitude_of("sqrt(x[0] + 1 - x[0])") == 3.5);
  CHECK(magnitude_of("sqrt(tiny[0] + x[0] - x[0])") == std::sqrt(6.0) * 4096);
  CHECK(magnitude_of("sqrt(x[0] - x[0])") == std::sqrt(6.0) * 4096);
  CHECK(magnitude_of("sqrt(z[0])") == 0);
  CHECK(magnitude_of("exp(y[0])") == Approx(1.5 * std::exp(-0.5)));
  CHECK(magnitude_of("log(x[0])") == Approx(std::log(3.0) + 1));
  CHECK(magnitude_of("(x[0] + y[0])^3") == Approx(3.5 * 3.5 * 3.5));
  CHECK(magnitude_of("pow(x[0], y[0])") ==
        Approx(std::pow(3.0, -0.5) * (1 + 0.5 + 0.5 * std::log(3.0))));
  CHECK(magnitude_of("pow(x[0] - x[0], 2.5)") == Approx(std::pow(6.0, 2.5)));
}

TEST_CASE("the tolerance of a check bounds the error of fp32 arithmetic", "[check]") {
  constexpr std::size_t kRows = 40, kTerms = 50;
  std::vector<float> x(kRows * kTerms);
  for (std::size_t i = 0; i < x.size(); ++i)
    x[i] = static_cast<float>(static_cast<double>(random_bits(7, i) >> 11) * 0x1p-51 - 2);
  CheckBuffers buffers;
  buffers.inputs["x"] = buffer_of(x, DataType::fp32, {kRows, kTerms});
  buffers.output_extents = {kRows};
  const Names n{{"n", static_cast<std::int64_t>(kTerms)}};
  const std::string text =
      "y[r] = sqrt(sum(k < n: (x[r][k] - x[r][0])^2)/n) / (1 + sum(k < n: exp(x[r][k])*x[r][k]))";
  const ErrorTerms terms = Check::parse(text).terms(n, buffers.output_extents);
  const std::vector<Checked> checked = all_elements(text, n, buffers);
  for (std::size_t r = 0; r < kRows; ++r) {
    float squares = 0, sum = 0;
    for (std::size_t k = 0; k < kTerms; ++k) {
      const float value = x[r * kTerms + k];
      squares += (value - x[r * kTerms]) * (value - x[r * kTerms]);
      sum += std::exp(value) * value;
    }
    const float got = std::sqrt(squares / static_cast<float>(kTerms)) / (1 + sum);
    const double error = std::abs(static_cast<double>(got) - checked[r].value);
    CHECK(error <= (terms.summed + terms.operations) * 0x1p-24 * checked[r].magnitude);
  }
}

TEST_CASE("roundings are those of the longest path, and sums count their terms", "[check]") {
  const Names names{{"K", std::int64_t{512}}, {"alpha", 0.5}};
  const auto terms_of = [&](std::string_view text) {
    return Check::parse(text).terms(names, {64, 32});
  };
  const auto check_terms = [&](std::string_view text, double summed, double operations) {
    CAPTURE(text);
    CHECK(terms_of(text).summed == summed);
    CHECK(terms_of(text).operations == operations);
    CHECK_FALSE(terms_of(text).depends_on_data);
  };
  check_terms("C[i][j] = A[i][j]", 0, 0);
  check_terms("C[i][j] = A[i][j] + B[i][j]", 0, 1);
  check_terms("C[i][j] = alpha*sum(k < K: A[i][k]*B[k][j]) + 3*before(C[i][j])", 512, 4);
  check_terms("C[i][j] = sum(k < i+1: A[k][j])", 64, 0);
  check_terms("C[i][j] = sum(k < 64-i: A[k][j])", 64, 0);
  check_terms("C[i][j] = sum(k < (i+1)*(j+1): A[k][j])", 64 * 32, 0);
  check_terms("C[i][j] = sum(k < 8: sum(l < k+1: A[k][l]))", 64, 0);
  // An inner sum without the outer index is computed once, so its roundings add.
  check_terms("C[i][j] = sum(k < 8: A[k][j] - sum(l < 4: A[l][i]))", 12, 1);
  check_terms("C[i][j] = sum(k < 8: (A[k][j] - sum(l < 4: A[l][i])/4)^2)", 16, 7);
  check_terms("C[i][j] = sum(k < 8: sum(l < 4: A[k][l])*sum(m < 16: A[m][i]))", 48, 1);
  check_terms("C[i][j] = sum(k < 8: sum(l < 4: sum(m < 2: A[k][m])))", 48, 0);
  check_terms("C[i][j] = sum(k < 8: A[k][j]) + sum(k < 4: A[k][j])", 8, 1);
  check_terms("C[i][j] = exp(A[i][j]) / sum(k < 32: exp(A[i][k]))", 32, 17);
  check_terms("C[i][j] = sum(k < 2.5: 1)", 3, 1);
  check_terms("C[i][j] = sum(k < i - 64: 1)", 0, 1);
  check_terms("C[i][j] = (A[i][j] - 1)^3", 0, 8);
  check_terms("C[i][j] = pow(A[i][j], 0.3) + sqrt(A[i][j])", 0, 10);
  check_terms("C[i][j] = A[i][j] > 0.5 ? -abs(A[i][j]) : max(A[i][j], 1, 2)", 0, 1);
  check_terms("C[i][j] = floor_div(i, 2) % 3", 0, 5);
  // The maximum of i % 8 is neither at the first nor at the last index.
  check_terms("C[i][j] = sum(k < i % 8 + 1: A[k][j])", 8, 0);
  check_terms("C[i][j] = sum(k < 20 - abs(i - 30): A[k][j])", 20, 0);
  check_terms("C[i][j] = tanh(A[i][j]) + erf(A[i][j])", 0, 9);
  check_terms("C[i][j] = rsqrt(sin(cos(A[i][j])))", 0, 24);
  check_terms("C[i][j] = trunc(A[i][j])", 0, 0);
  check_terms("C[i][j] = rint(A[i][j])", 0, 0);
  check_terms("C[i][j] = fp32(A[i][j])", 0, 1);
  CHECK(terms_of("C[i][j] = sum(k < row[i+1] - row[i]: 1)").depends_on_data);
  CHECK(terms_of("C[i][j] = sum(k < row[i+1] - row[i]: 1)").summed == 1);
}

template <class T>
double loaded_as(T element, DataType type) {
  const std::vector<T> data{T{}, element};
  CheckBuffers buffers;
  buffers.inputs["a"] = buffer_of(data, type);
  buffers.output_extents = {2};
  return all_elements("out[i] = a[i]", {}, buffers)[1].value;
}

TEST_CASE("elements of all types become fp64", "[check]") {
  CHECK(loaded_as(0.1, DataType::fp64) == 0.1);
  CHECK(loaded_as(0.1f, DataType::fp32) == static_cast<double>(0.1f));
  CHECK(loaded_as(0.1f, DataType::tf32) == static_cast<double>(0.1f));
  CHECK(loaded_as(std::int32_t{-7}, DataType::int32) == -7);
  CHECK(loaded_as(std::uint8_t{255}, DataType::uint8) == 255);
  CHECK(loaded_as(std::uint16_t{65535}, DataType::uint16) == 65535);
  CHECK(loaded_as(std::uint32_t{4294967295u}, DataType::uint32) == 4294967295.0);
  CHECK(loaded_as(std::uint64_t{1} << 63, DataType::uint64) == 0x1p63);
  CHECK(std::isnan(loaded_as(std::nanf(""), DataType::fp32)));
}

/// The number by the definition of formats with a sign, exponent and mantissa (IEEE 754, 3.4).
double number_of(std::uint32_t bits, int exponent_bits) {
  const int mantissa_bits = 15 - exponent_bits;
  const int largest = (1 << exponent_bits) - 1;
  const int exponent = static_cast<int>(bits >> mantissa_bits) & largest;
  const int mantissa = static_cast<int>(bits) & ((1 << mantissa_bits) - 1);
  const int scale = 1 - largest / 2 - mantissa_bits;  // exponent of the smallest positive number
  double magnitude = exponent == 0
                         ? std::ldexp(mantissa, scale)
                         : std::ldexp((1 << mantissa_bits) + mantissa, scale + exponent - 1);
  if (exponent == largest)
    magnitude = mantissa == 0 ? std::numeric_limits<double>::infinity() : std::nan("");
  return (bits & 0x8000u) != 0 ? -magnitude : magnitude;
}

TEST_CASE("all numbers of 16 bits become the fp64 of their definition", "[check]") {
  for (const auto& [type, exponent_bits] :
       {std::pair(DataType::fp16, 5), std::pair(DataType::bf16, 8)}) {
    int different = 0;
    for (std::uint32_t bits = 0; bits < 65536; ++bits) {
      const auto half = static_cast<std::uint16_t>(bits);
      unsigned char bytes[2];
      std::memcpy(bytes, &half, sizeof half);
      const double expected = number_of(bits, exponent_bits);
      const double got = to_double(bytes, type);
      const bool is_equal = std::isnan(expected)
                                ? std::isnan(got)
                                : got == expected && std::signbit(got) == std::signbit(expected);
      different += is_equal ? 0 : 1;
    }
    CHECK(different == 0);
  }
  CHECK(loaded_as(std::uint16_t{0x0001}, DataType::fp16) == 0x1p-24);
  CHECK(loaded_as(std::uint16_t{0x8001}, DataType::fp16) == -0x1p-24);
  CHECK(loaded_as(std::uint16_t{0x03FF}, DataType::fp16) == 1023 * 0x1p-24);
  CHECK(loaded_as(std::uint16_t{0x7BFF}, DataType::fp16) == 65504);
  CHECK(loaded_as(std::uint16_t{0xFC00}, DataType::fp16) ==
        -std::numeric_limits<double>::infinity());
  CHECK(std::isnan(loaded_as(std::uint16_t{0x7C01}, DataType::fp16)));
  CHECK(loaded_as(std::uint16_t{0x3F80}, DataType::bf16) == 1);
  CHECK(loaded_as(std::uint16_t{0x0001}, DataType::bf16) == 0x1p-133);
}

}  // namespace
}  // namespace gpuexp::own
