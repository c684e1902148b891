// Expressions: grammar, exact integer arithmetic, fp64 arithmetic, and error messages.
#include "own/expression.hpp"

#include <cstdint>
#include <limits>
#include <set>
#include <string>
#include <string_view>

#include "support/catch.hpp"

namespace gpuexp::own {
namespace {

constexpr std::int64_t kMaxInteger = std::numeric_limits<std::int64_t>::max();

const Names kNames{{"n", std::int64_t{1000}},
                   {"k", std::int64_t{3}},
                   {"share", 0.25},
                   {"type", std::string("f")},
                   {"big", kMaxInteger}};

std::int64_t integer_of(std::string_view text) {
  return Expression::parse(text).integer(kNames);
}
double real_of(std::string_view text) {
  return Expression::parse(text).real(kNames);
}
bool holds(std::string_view text) {
  return Expression::parse(text).holds(kNames);
}

struct Failure {
  std::string message;
  std::size_t column = 0;
};

template <class Action>
Failure failure_of(Action action) {
  try {
    action();
  } catch (const ExpressionError& error) {
    return {error.what(), error.column()};
  }
  return {"no error", 0};
}

void check_failure(const Failure& failure, std::string_view message, std::size_t column) {
  CHECK(failure.message == message);
  CHECK(failure.column == column);
}
void check_parse_error(std::string_view text, std::string_view message, std::size_t column) {
  CAPTURE(text);
  check_failure(failure_of([&] { Expression::parse(text); }), message, column);
}
void check_integer_error(std::string_view text, std::string_view message, std::size_t column) {
  CAPTURE(text);
  check_failure(failure_of([&] { integer_of(text); }), message, column);
}
void check_real_error(std::string_view text, std::string_view message, std::size_t column) {
  CAPTURE(text);
  check_failure(failure_of([&] { real_of(text); }), message, column);
}

std::string repeated(std::string_view part, int count) {
  std::string text;
  for (int i = 0; i < count; ++i)
    text += part;
  return text;
}

TEST_CASE("numbers are decimal or hexadecimal integers, or reals", "[expression]") {
  CHECK(integer_of("42") == 42);
  CHECK(integer_of("0x2a") == 42);
  CHECK(integer_of("0X2A") == 42);
  CHECK(integer_of("9223372036854775807") == kMaxInteger);
  CHECK(integer_of("0x1e+1") == 31);
  CHECK(real_of("0.5") == 0.5);
  CHECK(real_of(".5") == 0.5);
  CHECK(real_of("1e-3") == 1e-3);
  CHECK(real_of("2.5E+2") == 250);
  CHECK(real_of("7") == 7);
}

TEST_CASE("operators bind as in C, and powers bind tighter than signs", "[expression]") {
  CHECK(integer_of("2 + 3*4") == 14);
  CHECK(integer_of("(2 + 3)*4") == 20);
  CHECK(integer_of("10 - 3 - 2") == 5);
  CHECK(integer_of("64 / 8 / 2") == 4);
  CHECK(integer_of("17 % 10 * 2") == 14);
  CHECK(integer_of("2^3^2") == 512);
  CHECK(integer_of("-2^2") == -4);
  CHECK(integer_of("(-2)^2") == 4);
  CHECK(integer_of("2*3^2") == 18);
  CHECK(real_of("2^-1") == 0.5);
  CHECK(integer_of("--3") == 3);
  CHECK(integer_of("-3 + 5") == 2);
  CHECK(integer_of("!0 + 1") == 2);
  CHECK(integer_of("!3") == 0);
  CHECK(integer_of("1 + 1 < 3") == 1);
  CHECK(integer_of("1 || 0 && 0") == 1);
  CHECK(integer_of("(1 || 0) && 0") == 0);
  CHECK(integer_of("2 < 1 || 3 >= 3") == 1);
  CHECK(integer_of("1 ? 2 : 0 ? 3 : 4") == 2);
  CHECK(integer_of("0 ? 2 : 0 ? 3 : 4") == 4);
  CHECK(integer_of("1 ? 0 ? 5 : 6 : 7") == 6);
  CHECK(integer_of(" \t2\n+\r3 ") == 5);
}

TEST_CASE("comparisons and logical operators are 0 or 1", "[expression]") {
  CHECK(integer_of("1 <= 1") == 1);
  CHECK(integer_of("1 > 1") == 0);
  CHECK(integer_of("1 != 2") == 1);
  CHECK(integer_of("1 == 2") == 0);
  CHECK(integer_of("5 && 7") == 1);
  CHECK(integer_of("0 || 7") == 1);
  CHECK(real_of("0.5 < 0.75") == 1);
  CHECK(real_of("!0.5") == 0);
  CHECK(real_of("0.5 >= 0.5 && share > 0 && share <= 1 && share != 0 && share == 1/4") == 1);
}

TEST_CASE("operands that are not needed are not evaluated", "[expression]") {
  CHECK(integer_of("0 && 1/0") == 0);
  CHECK(integer_of("1 || unknown") == 1);
  CHECK(integer_of("k > 0 ? k : 1/0") == 3);
}

TEST_CASE("integer functions", "[expression]") {
  CHECK(integer_of("ceil_div(n, 256)") == 4);
  CHECK(integer_of("floor_div(n, 256)") == 3);
  CHECK(integer_of("ceil_div(-7, 2)") == -3);
  CHECK(integer_of("floor_div(-7, 2)") == -4);
  CHECK(integer_of("ceil_div(7, -2)") == -3);
  CHECK(integer_of("ceil_div(9223372036854775807, 2)") == 4611686018427387904);
  CHECK(integer_of("min(3, 1, 2)") == 1);
  CHECK(integer_of("max(3, 1, 4)") == 4);
  CHECK(integer_of("abs(-5)") == 5);
  CHECK(integer_of("log2(1024)") == 10);
  CHECK(integer_of("log2(1)") == 0);
  CHECK(integer_of("-7 % 3") == -1);
}

TEST_CASE("real functions", "[expression]") {
  CHECK(real_of("1 / 2") == 0.5);
  CHECK(real_of("n * share") == 250);
  CHECK(real_of("exp(0) + log(1) + sqrt(16) + pow(2, 3)") == 13);
  CHECK(real_of("floor(2.5) + ceil(2.5)") == 5);
  CHECK(real_of("ceil_div(2.5, 2) + floor_div(-2.5, 2)") == 0);
  CHECK(real_of("min(0.5, 0.25) + max(0.5, 0.25) + abs(-0.25)") == 1);
  CHECK(real_of("log2(8)") == 3);
  CHECK(real_of("7.5 % 2") == 1.5);
}

TEST_CASE("sums bind their index", "[expression]") {
  CHECK(integer_of("sum(i < 5: i)") == 10);
  CHECK(integer_of("sum(i < 3: sum(j < i + 1: 1))") == 6);
  CHECK(integer_of("sum(k < k: k)") == 3);
  CHECK(integer_of("sum(i < 0: 1/0)") == 0);
  CHECK(integer_of("sum(i < 4: i % 2 == 0 ? i : 0) + k") == 5);
  CHECK(real_of("sum(i < 4: i / 2)") == 3);
}

TEST_CASE("requirements combine integers and reals", "[expression]") {
  CHECK(holds("n % 8 == 0 && share < 0.5"));
  CHECK_FALSE(holds("n % 16 == 0"));
  CHECK(holds("share"));
  CHECK(holds("sqrt(16) == 4"));
  // Neighbouring integers above 2^53 have equal fp64 values.
  CHECK(holds("2^53 + 1 != 2^53"));
  check_failure(failure_of([] { holds("n / 32 == 31"); }),
                "1000 / 32 leaves the remainder 8; use ceil_div(1000, 32), or floor_div for the "
                "whole part",
                2);
}

TEST_CASE("names are parameters and buffers, not functions or indices", "[expression]") {
  CHECK(Expression::parse("max(a, b) + sum(k < K: A[i][k]*B[k][j]) + before(C[i])").names() ==
        std::set<std::string>{"A", "B", "C", "K", "a", "b", "i", "j"});
  // The index is not known in the number of terms.
  CHECK(Expression::parse("sum(k < k: k) + sum(i < 2: i)").names() == std::set<std::string>{"k"});
  CHECK(Expression::parse("sum + before").names() == std::set<std::string>{"before", "sum"});
  CHECK(Expression::parse("  n + 1 ").text() == "n + 1");
}

TEST_CASE("a prefix ends where the expression cannot continue", "[expression]") {
  std::string_view launch = "ceil_div(n, 256), 32*8>>>(x)";
  CHECK(Expression::parse_prefix(launch).integer(kNames) == 4);
  CHECK(launch == ", 32*8>>>(x)");
  launch.remove_prefix(1);
  const Expression block = Expression::parse_prefix(launch);
  CHECK(block.text() == "32*8");
  CHECK(block.integer(kNames) == 256);
  CHECK(launch == ">>>(x)");

  std::string_view compared = "(n > 3 ? 2 : 1) >>>";
  CHECK(Expression::parse_prefix(compared).integer(kNames) == 2);
  CHECK(compared == ">>>");
  std::string_view arguments = "n >= 3><<<4>>>";
  CHECK(Expression::parse_prefix(arguments).integer(kNames) == 1);
  CHECK(arguments == "><<<4>>>");
  std::string_view in_function = "max(n > 3, 0) > 1";
  CHECK(Expression::parse_prefix(in_function).integer(kNames) == 1);
  CHECK(in_function == "> 1");
  std::string_view kernel = "f<<<1, 2>>>";
  CHECK(Expression::parse_prefix(kernel).text() == "f");
  CHECK(kernel == "<<<1, 2>>>");
  std::string_view words = "a b";
  CHECK(Expression::parse_prefix(words).text() == "a");
  CHECK(words == "b");
}

TEST_CASE("columns count from the start of the text", "[expression]") {
  check_failure(failure_of([] { Expression::parse("x = 1 + ", 3); }),
                "expected a number, a name, a function call or '(', found the end", 8);
  CHECK(Expression::parse("x = 1 + 2", 3).text() == "1 + 2");
}

TEST_CASE("syntax errors say what is expected", "[expression]") {
  const std::string operand = "expected a number, a name, a function call or '(', found ";
  check_parse_error("", operand + "the end", 0);
  check_parse_error("1 + ", operand + "the end", 4);
  check_parse_error("1 + *", operand + "'*'", 4);
  check_parse_error("n >> 2", operand + "'>'", 3);
  check_parse_error("é", operand + "'é'", 0);
  check_parse_error("()", operand + "')'", 1);
  check_parse_error("a b", "found 'b' after 'a'; expected an operator or the end", 2);
  check_parse_error("a, b", "found ',' after 'a'; expected an operator or the end", 1);
  check_parse_error("a >>> b", "found '>>>' after 'a'; expected an operator or the end", 2);
  check_parse_error("a = b", "found '=' after 'a'; write == to compare", 2);
  check_parse_error("(1 + 2", "expected ')', found the end", 6);
  check_parse_error("a[1", "expected ']', found the end", 3);
  check_parse_error("max(1; 2)", "expected ',' or ')', found ';'", 5);
  check_parse_error("1 ? 2", "expected ':' and the value if the condition is false, found the end",
                    5);
  check_parse_error("1 < n < 3", "comparisons cannot be chained; write a < b && b < c", 6);
  check_parse_error("1 < n == 3", "comparisons cannot be chained; write a < b && b == c", 6);
}

TEST_CASE("malformed numbers are errors", "[expression]") {
  const std::string expected = " is not a number; expected a number such as 42, 0x2a, 0.5 or 1e-3";
  check_parse_error("1 + 16M", "'16M'" + expected, 4);
  check_parse_error("0x", "'0x'" + expected, 0);
  check_parse_error("0x1.8", "'0x1.8'" + expected, 0);
  check_parse_error("1.2.3", "'1.2.3'" + expected, 0);
  check_parse_error("1e", "'1e'" + expected, 0);
  check_parse_error("1.5f", "'1.5f'" + expected, 0);
  check_parse_error("9223372036854775808",
                    "the integer 9223372036854775808 is larger than 9223372036854775807", 0);
  check_parse_error("0x8000000000000000",
                    "the integer 0x8000000000000000 is larger than 9223372036854775807", 0);
  check_parse_error("1e999", "the number 1e999 is out of the range of fp64", 0);
}

TEST_CASE("errors in functions name what is allowed", "[expression]") {
  check_parse_error("1 + cieldiv(n, 2)",
                    "unknown function 'cieldiv'; did you mean 'ceil_div'? allowed: abs, before, "
                    "ceil, ceil_div, cos, erf, exp, floor, floor_div, fp32, log, log2, max, min, "
                    "pow, rint, round, rsqrt, sin, sqrt, sum, tanh, trunc",
                    4);
  check_parse_error("ceil_div(n)", "ceil_div() needs 2 arguments, found 1", 0);
  check_parse_error("abs()", "abs() needs 1 argument, found 0", 0);
  check_parse_error("1 + max(n)", "max() needs at least 2 arguments, found 1", 4);
  check_parse_error("sum(3 < n: 1)",
                    "expected the index of the sum, such as sum(k < K: a[k]), found '3'", 4);
  check_parse_error("sum(k <= n: 1)",
                    "expected '<' after the index of the sum, such as sum(k < K: a[k]), found "
                    "'<='",
                    6);
  check_parse_error("sum(k < n)",
                    "expected ':' and the term of the sum, such as sum(k < K: a[k]), found ')'", 9);
  check_parse_error("before(1)",
                    "expected an element of the output, such as before(C[i]), found '1'", 7);
  check_parse_error("before(C)",
                    "expected '[': before() has an element of the output, such as before(C[i]), "
                    "found ')'",
                    8);
  check_parse_error("before(C[i] + 1)", "expected ')', found '+'", 12);
}

TEST_CASE("integer arithmetic is exact", "[expression]") {
  check_integer_error("n / 32",
                      "1000 / 32 leaves the remainder 8; use ceil_div(1000, 32), or floor_div for "
                      "the whole part",
                      2);
  check_integer_error("n / (k - 3)", "division by zero in 1000 / 0", 2);
  check_integer_error("n % 0", "division by zero in 1000 % 0", 2);
  check_integer_error("ceil_div(n, 0)", "division by zero in ceil_div(1000, 0)", 0);
  const std::string range = " is out of the range of 64-bit integers";
  check_integer_error("big + 1", "9223372036854775807 + 1" + range, 4);
  check_integer_error("-big - 2", "-9223372036854775807 - 2" + range, 5);
  check_integer_error("big * 2", "9223372036854775807 * 2" + range, 4);
  check_integer_error("2^63", "2 ^ 63" + range, 1);
  check_integer_error("10^9223372036854775807", "10 ^ 9223372036854775807" + range, 2);
  check_integer_error("-(-big - 1)", "-(-9223372036854775808)" + range, 0);
  check_integer_error("abs(-big - 1)", "-(-9223372036854775808)" + range, 0);
  check_integer_error("(-big - 1) / -1", "-9223372036854775808 / -1" + range, 11);
  check_integer_error("sum(i < 2: big)", "the sum" + range, 0);
  CHECK(integer_of("2^62") == 4611686018427387904);
  CHECK(integer_of("(-2)^63") == std::numeric_limits<std::int64_t>::min());
  CHECK(integer_of("1^9223372036854775807") == 1);
  check_integer_error("2^-1", "2 ^ -1 is not an integer", 1);
  check_integer_error("log2(24)", "log2(24) is not an integer: 24 is not a power of two", 0);
  check_integer_error("log2(0)", "log2(0) is not an integer: 0 is not a power of two", 0);
}

TEST_CASE("a quotient that rounds up names ceil_div of its number", "[expression]") {
  const Names names{{"n", std::int64_t{1000}}, {"b", std::int64_t{256}}};
  const auto error_of = [&](const char* text) -> std::string {
    try {
      Expression::parse(text).integer(names);
    } catch (const ExpressionError& error) {
      return error.what();
    }
    return "";
  };
  const std::string hint = "leaves the remainder 231; use ceil_div(n, ";
  const std::string rest = "), which rounds up, or floor_div for the whole part";
  CHECK(error_of("(n + 255) / 256") == "1255 / 256 " + hint + "256" + rest);
  CHECK(error_of("(n + b - 1) / b") == "1255 / 256 " + hint + "b" + rest);
  CHECK(error_of("(n + 256 - 1) / 256") == "1255 / 256 " + hint + "256" + rest);
  CHECK(error_of("(2*n + 255) / 256") ==
        "2255 / 256 leaves the remainder 207; use ceil_div(2000, 256), which rounds up, or "
        "floor_div for the whole part");
  CHECK(error_of("(n + 254) / 256") ==
        "1254 / 256 leaves the remainder 230; use ceil_div(1254, 256), or floor_div for the whole "
        "part");
}

TEST_CASE("integer expressions name operands that are not integers", "[expression]") {
  check_integer_error("n * 0.5", "0.5 is not an integer; expected integers", 4);
  check_integer_error("n + 1e3", "1e3 is not an integer; expected integers", 4);
  check_integer_error("n * share", "parameter 'share' is 0.25; expected an integer", 4);
  check_integer_error("n + sqrt(4)",
                      "sqrt() has no integer result; allowed: abs, ceil_div, floor_div, log2, max, "
                      "min",
                      4);
  check_integer_error("n + type", "parameter 'type' is the text 'f'; expected a number", 4);
  check_integer_error(
      "n + shar", "unknown name 'shar'; did you mean 'share'? allowed: big, k, n, share, type", 4);
  check_integer_error("sum(j < 2: jj)",
                      "unknown name 'jj'; did you mean 'j'? allowed: big, k, n, share, type, j",
                      11);
  check_integer_error("1 + A[k]", "A[...] reads a buffer; only a check can read buffers", 4);
  check_integer_error("before(C[k])", "C[...] reads a buffer; only a check can read buffers", 0);
  check_failure(failure_of([] { Expression::parse("n").integer({}); }),
                "unknown name 'n'; none is allowed", 0);
}

TEST_CASE("results of real expressions are finite", "[expression]") {
  check_real_error("1 / (k - 3)", "division by zero in 1 / 0", 2);
  check_real_error("1 % 0.0", "division by zero in 1 % 0", 2);
  check_real_error("floor_div(1, 0)", "division by zero in floor_div(1, 0)", 0);
  check_real_error("1 + exp(1000)", "exp(1000) is inf; expected a finite number", 4);
  check_real_error("log(0)", "log(0) is -inf; expected a finite number", 0);
  check_real_error("1e300 * 1e300", "1e+300 * 1e+300 is inf; expected a finite number", 6);
  check_real_error("sum(i < 2: 1e308)", "the sum is not finite", 0);
  check_real_error("A[k]", "A[...] reads a buffer; only a check can read buffers", 0);
  const Names infinite{{"x", std::numeric_limits<double>::infinity()}};
  check_failure(failure_of([&] { Expression::parse("x").real(infinite); }),
                "parameter 'x' is inf; expected a finite number", 0);
}

TEST_CASE("nesting, length and work are limited", "[expression]") {
  const std::string nested = "the expression is nested more than 64 levels deep";
  CHECK(integer_of(repeated("(", 64) + "1" + repeated(")", 64)) == 1);
  check_parse_error(repeated("(", 65) + "1" + repeated(")", 65), nested, 65);
  check_parse_error(repeated("-", 65) + "1", nested, 65);
  check_parse_error("1" + repeated("^1", 65), nested, 130);
  check_parse_error("1" + repeated(" ? 1 : 1", 65), nested, 516);
  check_parse_error(repeated("(", 100000), nested, 65);
  check_parse_error(repeated("a[", 100000), nested, 130);
  CHECK(integer_of("1" + repeated("+1", 255)) == 256);
  check_parse_error("1" + repeated("+1", 256),
                    "the expression has more than 255 operators in a row; add parentheses around "
                    "groups of operands",
                    511);
  const std::string longer = "the expression is longer than 4096 characters";
  check_parse_error("1 + " + repeated("n", 4096), longer, 4096);
  CHECK(Expression::parse(repeated("n", 4096)).text().size() == 4096);
  check_integer_error("sum(i < n: sum(j < n: 1))", "the sums have more than 1000000 terms", 11);
  CHECK(integer_of("sum(i < 999: sum(j < n: 1))") == 999000);
}

}  // namespace
}  // namespace gpuexp::own
