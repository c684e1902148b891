#include "own/check_ranges.hpp"

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdint>
#include <initializer_list>
#include <limits>

namespace gpuexp::own {

namespace {

constexpr int kMaxWholeExponent = 16;
constexpr double kInfinity = std::numeric_limits<double>::infinity();

/// The smallest range that contains the values. NaN, as of 0 × infinity, has no known bound.
Range around(std::initializer_list<double> values) {
  Range range{kInfinity, -kInfinity};
  for (const double value : values) {
    if (std::isnan(value)) return all_numbers();
    range = {std::min(range.low, value), std::max(range.high, value)};
  }
  return range;
}

Range joined(const Range& a, const Range& b) {
  return {std::min(a.low, b.low), std::max(a.high, b.high)};
}

bool has_zero(const Range& range) {
  return range.low <= 0 && range.high >= 0;
}

/// An operation that is monotonic in each operand has its extremes at the ends of their ranges.
template <class Operation>
Range at_ends(const Range& a, const Range& b, const Operation& operation) {
  return around({operation(a.low, b.low), operation(a.low, b.high), operation(a.high, b.low),
                 operation(a.high, b.high)});
}
template <class Operation>
Range at_ends(const Range& a, const Operation& operation) {
  return around({operation(a.low), operation(a.high)});
}

Range quotient(const Range& a, const Range& b) {
  if (has_zero(b)) return all_numbers();
  return at_ends(a, b, [](double x, double y) { return x / y; });
}

/// |a % b| is at most |a|, below |b|, and for whole numbers at most |b| - 1.
Range remainder(const Range& a, const Range& b, bool is_whole) {
  const double most = std::min(a.largest(), b.largest() - (is_whole ? 1 : 0));
  return {a.low < 0 ? -most : 0, a.high > 0 ? most : 0};
}

Range power(const Range& base, const Range& exponent) {
  const Range ends = at_ends(base, exponent, [](double x, double y) { return std::pow(x, y); });
  if (base.low > 0) return ends;
  const bool is_whole = exponent.low == exponent.high && exponent.low >= 0 &&
                        exponent.low == std::floor(exponent.low);
  if (!is_whole) return all_numbers();
  return has_zero(base) ? joined(ends, {0, 0}) : ends;
}

Range rounded(const std::string& function, const Range& range) {
  if (function.starts_with("floor")) return {std::floor(range.low), std::floor(range.high)};
  if (function.starts_with("ceil")) return {std::ceil(range.low), std::ceil(range.high)};
  if (function == "trunc") return at_ends(range, [](double x) { return std::trunc(x); });
  if (function == "rint") return at_ends(range, [](double x) { return std::rint(x); });
  return at_ends(range, [](double x) { return std::round(x); });
}

/// Functions that increase with their operand.
Range increasing(const std::string& function, const Range& range) {
  if (function == "fp32")
    return at_ends(range, [](double x) { return static_cast<double>(static_cast<float>(x)); });
  if (function == "exp") return at_ends(range, [](double x) { return std::exp(x); });
  if (function == "tanh") return at_ends(range, [](double x) { return std::tanh(x); });
  if (function == "erf") return at_ends(range, [](double x) { return std::erf(x); });
  if (function == "log") return at_ends(range, [](double x) { return std::log(x); });
  if (function == "sqrt") return at_ends(range, [](double x) { return std::sqrt(x); });
  return all_numbers();
}

/// The largest power of two, at most 1, of which the number is a multiple.
double unit_of(double number) {
  constexpr int kBits = 53;
  if (number == 0) return 1;
  int exponent = 0;
  const double fraction = std::frexp(std::fabs(number), &exponent);
  const auto bits = static_cast<std::uint64_t>(std::ldexp(fraction, kBits));
  return std::min(1.0, std::ldexp(1.0, exponent - kBits + std::countr_zero(bits)));
}

}  // namespace

int whole_exponent(const Node& node) {
  const bool is_power =
      node.kind == NodeKind::power || (node.kind == NodeKind::call && node.name == "pow");
  if (!is_power || node.operand(1).kind != NodeKind::integer) return 0;
  const std::int64_t exponent = node.operand(1).integer;
  return exponent >= 2 && exponent <= kMaxWholeExponent ? static_cast<int>(exponent) : 0;
}

double Range::largest() const {
  return std::max(std::fabs(low), std::fabs(high));
}

Range all_numbers() {
  return {-kInfinity, kInfinity};
}

CheckRanges::CheckRanges(const Names& parameters, RangeOfElements elements)
    : parameters_(parameters), elements_(std::move(elements)) {}

void CheckRanges::push_index(const std::string& name, double last) {
  indices_.emplace_back(name, Range{0, std::max(0.0, last)});
}

const Range* CheckRanges::index_range(const std::string& name) const {
  const auto found = std::find_if(indices_.rbegin(), indices_.rend(),
                                  [&](const auto& index) { return index.first == name; });
  return found == indices_.rend() ? nullptr : &found->second;
}

Range CheckRanges::of_name(const Node& node) const {
  if (const Range* const range = index_range(node.name)) return *range;
  const double value = real_value(node, parameters_);
  return {value, value};
}

Range CheckRanges::of_call(const Node& node) const {
  const std::string& name = node.name;
  Range range = of(node.operand(0));
  if (name == "floor_div" || name == "ceil_div")
    return rounded(name, quotient(range, of(node.operand(1))));
  if (rounds_to_whole_numbers(name)) return rounded(name, range);
  if (name == "pow") return power(range, of(node.operand(1)));
  if (name == "sin" || name == "cos") return {-1, 1};
  if (name == "abs")
    return {has_zero(range) ? 0 : std::min(std::fabs(range.low), std::fabs(range.high)),
            range.largest()};
  if (name != "min" && name != "max") return increasing(name, range);
  for (std::size_t i = 1; i < node.operands.size(); ++i) {
    const Range other = of(node.operand(i));
    range = name == "min" ? Range{std::min(range.low, other.low), std::min(range.high, other.high)}
                          : Range{std::max(range.low, other.low), std::max(range.high, other.high)};
  }
  return range;
}

Range CheckRanges::of_sum(const Node& node) const {
  const double terms = max_terms(node);
  CheckRanges inner = *this;
  inner.push_index(node.name, terms - 1);
  const Range term = inner.of(node.operand(1));
  return around({0, terms * term.low, terms * term.high});
}

Range CheckRanges::of(const Node& node) const {
  const auto operand = [&](std::size_t i) { return of(node.operand(i)); };
  const auto combined = [&](const auto& operation) {
    return at_ends(operand(0), operand(1), operation);
  };
  switch (node.kind) {
    case NodeKind::integer:
    case NodeKind::real: return {node.real, node.real};
    case NodeKind::name: return of_name(node);
    case NodeKind::index:
    case NodeKind::before: return elements_ ? elements_(node) : all_numbers();
    case NodeKind::call: return of_call(node);
    case NodeKind::sum: return of_sum(node);
    case NodeKind::negate: return at_ends(operand(0), [](double x) { return -x; });
    case NodeKind::add: return combined([](double x, double y) { return x + y; });
    case NodeKind::subtract: return combined([](double x, double y) { return x - y; });
    case NodeKind::multiply: return combined([](double x, double y) { return x * y; });
    case NodeKind::divide: return quotient(operand(0), operand(1));
    case NodeKind::remainder:
      return remainder(operand(0), operand(1),
                       is_whole(node.operand(0)) && is_whole(node.operand(1)));
    case NodeKind::power: return power(operand(0), operand(1));
    case NodeKind::conditional: return joined(operand(1), operand(2));
    default: return {0, 1};  // comparisons and logical operations
  }
}

double CheckRanges::smallest_unit(const Node& node, std::size_t first) const {
  double smallest = 1;
  for (std::size_t i = first; i < node.operands.size(); ++i)
    smallest = std::min(smallest, unit(node.operand(i)));
  return smallest;
}

double CheckRanges::unit_of_function(const Node& node) const {
  if (const int factors = whole_exponent(node); factors > 0)
    return std::pow(unit(node.operand(0)), factors);
  const std::string& name = node.name;
  if (name == "abs" || name == "min" || name == "max" || name == "fp32") return smallest_unit(node);
  if (rounds_to_whole_numbers(name)) return smallest_unit(node) > 0 ? 1 : 0;
  return 0;
}

double CheckRanges::unit(const Node& node) const {
  switch (node.kind) {
    case NodeKind::integer:
    case NodeKind::index:
    case NodeKind::before: return 1;
    case NodeKind::real: return unit_of(node.real);
    case NodeKind::name: return index_range(node.name) ? 1 : unit_of(real_value(node, parameters_));
    case NodeKind::sum: {
      CheckRanges inner = *this;
      inner.push_index(node.name, 0);
      return inner.unit(node.operand(1));
    }
    case NodeKind::divide:
    case NodeKind::remainder: return 0;
    case NodeKind::multiply: return unit(node.operand(0)) * unit(node.operand(1));
    case NodeKind::power:
    case NodeKind::call: return unit_of_function(node);
    case NodeKind::conditional: return unit(node.operand(0)) > 0 ? smallest_unit(node, 1) : 0;
    case NodeKind::logical_not:
    case NodeKind::logical_and:
    case NodeKind::logical_or: return smallest_unit(node) > 0 ? 1 : 0;
    default:
      if (is_comparison(node.kind)) return compares_exactly(node) ? 1 : 0;
      return smallest_unit(node);
  }
}

/// A literal or parameter may be a fraction: comparing it rounds nothing.
bool CheckRanges::compares_exactly(const Node& comparison) const {
  return std::ranges::all_of(comparison.operands, [this](const NodePointer& operand) {
    return operand->kind == NodeKind::real || operand->kind == NodeKind::name || is_whole(*operand);
  });
}

double CheckRanges::magnitude(const Node& node) {
  const auto of_operand = [&](std::size_t i) { return magnitude(node.operand(i)); };
  switch (node.kind) {
    case NodeKind::integer:
    case NodeKind::real:
    case NodeKind::name:
    case NodeKind::index:
    case NodeKind::before: return of(node).largest();
    case NodeKind::negate: return of_operand(0);
    case NodeKind::add:
    case NodeKind::subtract: return of_operand(0) + of_operand(1);
    case NodeKind::multiply: return of_operand(0) * of_operand(1);
    case NodeKind::power: return std::pow(of_operand(0), whole_exponent(node));
    case NodeKind::conditional: return std::max(of_operand(1), of_operand(2));
    case NodeKind::sum: {
      const double terms = max_terms(node);
      push_index(node.name, terms - 1);
      const double term = of_operand(1);
      pop_index();
      return terms > 0 ? terms * term : 0;
    }
    case NodeKind::call: {
      if (const int factors = whole_exponent(node); factors > 0)
        return std::pow(of_operand(0), factors);
      double largest = 0;
      for (std::size_t i = 0; i < node.operands.size(); ++i)
        largest = std::max(largest, of_operand(i));
      return largest;
    }
    default: return 1;  // comparisons and logical operations
  }
}

double CheckRanges::max_terms(const Node& sum) const {
  return std::max(0.0, std::ceil(of(sum.operand(0)).high));
}

}  // namespace gpuexp::own
