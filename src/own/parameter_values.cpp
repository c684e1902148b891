#include "own/parameter_values.hpp"

#include <algorithm>
#include <cmath>
#include <cstdint>

#include <fmt/format.h>

#include "own/expression_tree.hpp"

namespace gpuexp::own {

namespace {

constexpr std::size_t kMaxValues = 1000;

bool is_power_of_two(const Expression& expression) {
  const Node& root = expression.root();
  return root.kind == NodeKind::power && root.operand(0).kind == NodeKind::integer &&
         root.operand(0).integer == 2;
}

class ValueReader {
 public:
  ValueReader(Statement& s, const std::string& parameter) : s_(s), parameter_(parameter) {}

  std::vector<Value> values() {
    do {
      const PlacedExpression first = expression();
      if (s_.takes("..")) {
        add_range(first, expression());
      } else {
        add(value_of(first), first.place);
      }
    } while (s_.takes(","));
    s_.expect_end();
    make_one_type();
    return std::move(values_);
  }

 private:
  PlacedExpression expression() {
    PlacedExpression read = s_.expression();
    const auto names = read.expression.names();
    if (!names.empty())
      s_.fail_at(read.place,
                 fmt::format("the value of {0} is '{1}'; expected a number, because the values of "
                             "parameters cannot use other names: write '{1}' where {0} is used",
                             parameter_, read.expression.text()));
    return read;
  }

  template <class Evaluate>
  auto evaluated(const PlacedExpression& expression, const Evaluate& evaluate) const {
    try {
      return evaluate(expression.expression);
    } catch (const ExpressionError& error) {
      s_.fail_at(after(expression.place, error.column()), error.what());
    }
  }
  std::int64_t integer(const PlacedExpression& expression) const {
    return evaluated(expression, [](const Expression& e) {
      try {
        return e.integer({});
      } catch (const ExpressionError& error) {
        throw ExpressionError(error.what() + real_hint(e), error.column());
      }
    });
  }

  /// How an expression of integers is written as one of real numbers, if its value is not whole.
  static std::string real_hint(const Expression& expression) {
    if (computes_with_reals(expression.root())) return "";
    double real = 0;
    try {
      real = expression.real({});
    } catch (const ExpressionError&) {
      return "";
    }
    if (real == std::floor(real)) return "";
    const Node& root = expression.root();
    const bool is_quotient = root.kind == NodeKind::divide &&
                             root.operand(0).kind == NodeKind::integer &&
                             root.operand(1).kind == NodeKind::integer;
    return fmt::format(
        "; numbers without a decimal point are integers: for {}, write {}", real,
        is_quotient ? fmt::format("{}.0/{}", root.operand(0).integer, root.operand(1).integer)
                    : "one of the numbers with a decimal point, such as 1.0");
  }

  /// A whole number without a decimal point is an integer: 1e6.
  Value value_of(const PlacedExpression& expression) const {
    if (!computes_with_reals(expression.expression.root())) return integer(expression);
    const double real = evaluated(expression, [](const Expression& e) { return e.real({}); });
    const bool is_whole = real == std::floor(real) && std::abs(real) <= kMaxInteger &&
                          expression.expression.root().kind == NodeKind::real &&
                          expression.expression.text().find('.') == std::string::npos;
    return is_whole ? Value(static_cast<std::int64_t>(real)) : Value(real);
  }

  /// Each power of two if both ends are written as powers of two, otherwise each whole number.
  void add_range(const PlacedExpression& first, const PlacedExpression& last) {
    const std::int64_t low = integer(first);
    const std::int64_t high = integer(last);
    if (high < low)
      s_.fail_at(first.place, fmt::format("the range {}..{} has no values; expected the lower end "
                                          "first",
                                          low, high));
    const bool doubles = is_power_of_two(first.expression) && is_power_of_two(last.expression);
    std::int64_t value = low;
    while (true) {
      add(value, first.place);
      // The difference is compared, because the next value may overflow.
      const auto left = static_cast<std::uint64_t>(high) - static_cast<std::uint64_t>(value);
      const std::int64_t step = doubles ? value : 1;
      if (left < static_cast<std::uint64_t>(step)) return;
      value += step;
    }
  }

  void add(const Value& value, const Place& place) {
    if (values_.size() >= kMaxValues)
      s_.fail_at(place, fmt::format("{} has more than {} values; write a range of powers of two as "
                                    "2^4..2^20",
                                    parameter_, kMaxValues));
    const auto* const integer = std::get_if<std::int64_t>(&value);
    const auto* const real = std::get_if<double>(&value);
    if (integer && std::abs(static_cast<double>(*integer)) > kMaxInteger)
      s_.fail_at(place, fmt::format("{} is {}; expected an integer from -2^52 to 2^52", parameter_,
                                    *integer));
    if (real && std::abs(*real) > kMaxReal)
      s_.fail_at(place, fmt::format("{} is {}; expected a number from -{} to {}", parameter_, *real,
                                    kMaxReal, kMaxReal));
    if (std::ranges::any_of(values_, [&](const Value& v) { return number(v) == number(value); }))
      s_.fail_at(place,
                 fmt::format("{} has the value {} twice", parameter_, gpuexp::to_string(value)));
    values_.push_back(value);
  }

  static double number(const Value& value) {
    const auto* const real = std::get_if<double>(&value);
    return real ? *real : static_cast<double>(std::get<std::int64_t>(value));
  }

  void make_one_type() {
    const auto is_double = [](const Value& value) { return std::holds_alternative<double>(value); };
    if (std::ranges::none_of(values_, is_double)) return;
    for (Value& value : values_)
      value = number(value);
  }

  Statement& s_;
  const std::string& parameter_;
  std::vector<Value> values_;
};

}  // namespace

std::vector<Value> read_values(Statement& s, const std::string& parameter) {
  return ValueReader(s, parameter).values();
}

}  // namespace gpuexp::own
