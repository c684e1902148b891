#include "own/check_expression.hpp"

#include <algorithm>
#include <cctype>
#include <cmath>
#include <utility>

#include <fmt/format.h>

#include "base/names.hpp"
#include "base/text_parts.hpp"
#include "own/check_ranges.hpp"
#include "own/expression_tree.hpp"

namespace gpuexp::own {

namespace {

constexpr double kFunctionRoundings = 8;

// Reads "C[i][j] =".
class HeadReader {
 public:
  explicit HeadReader(std::string_view text) : text_(text) {}

  std::string take_name(std::string_view what) {
    skip_blanks();
    const std::size_t begin = position_;
    while (position_ < text_.size() && is_name_character(begin))
      ++position_;
    if (position_ == begin) fail(what);
    return std::string(text_.substr(begin, position_ - begin));
  }
  bool take(char symbol) {
    skip_blanks();
    if (position_ >= text_.size() || text_[position_] != symbol) return false;
    ++position_;
    return true;
  }
  void require(char symbol, std::string_view what) {
    if (!take(symbol)) fail(what);
  }
  [[noreturn]] void fail(std::string_view what) const {
    const std::string_view rest = trimmed(text_.substr(position_));
    throw ExpressionError(fmt::format("expected {} of a check such as C[i][j] = A[i][j] + 1, "
                                      "found {}",
                                      what, rest.empty() ? "the end" : "'" + shorten(rest) + "'"),
                          position_);
  }
  std::size_t position() const { return position_; }

 private:
  bool is_name_character(std::size_t begin) const {
    const auto c = static_cast<unsigned char>(text_[position_]);
    return std::isalpha(c) || c == '_' || (position_ > begin && std::isdigit(c));
  }
  void skip_blanks() {
    position_ = std::min(text_.find_first_not_of(" \t\r\n", position_), text_.size());
  }

  std::string_view text_;
  std::size_t position_ = 0;
};

// Errors that do not depend on parameters and buffers.
class CheckRules {
 public:
  explicit CheckRules(const std::vector<std::string>& indices) : scope_(indices) {}

  void apply(const Node& node) {
    if (node.kind == NodeKind::call) apply_to_call(node);
    if (node.kind == NodeKind::sum) return apply_to_sum(node);
    for (const NodePointer& operand : node.operands)
      apply(*operand);
  }

 private:
  [[noreturn]] static void fail(const Node& node, const std::string& message) {
    throw ExpressionError(message, node.column);
  }

  static void apply_to_call(const Node& node) {
    std::vector<std::string> allowed;
    for (const FunctionRule& rule : function_rules())
      if (rule.in_checks) allowed.emplace_back(rule.name);
    if (std::find(allowed.begin(), allowed.end(), node.name) == allowed.end())
      fail(node, fmt::format("a check cannot compute {}(){}", node.name,
                             allowed_names(node.name, allowed)));
  }

  void apply_to_sum(const Node& node) {
    apply(node.operand(0));
    if (std::find(scope_.begin(), scope_.end(), node.name) != scope_.end())
      fail(node,
           fmt::format("the index '{}' of the sum is already an index; rename it", node.name));
    if (++sums_ > kMaxSums)
      fail(node, fmt::format("sums are nested more than {} levels deep", kMaxSums));
    scope_.push_back(node.name);
    apply(node.operand(1));
    scope_.pop_back();
    --sums_;
  }

  std::vector<std::string> scope_;
  int sums_ = 0;
};

bool uses_name(const Node& node, const std::string& name) {
  return (node.kind == NodeKind::name && node.name == name) ||
         std::ranges::any_of(node.operands,
                             [&](const NodePointer& operand) { return uses_name(*operand, name); });
}

// Counts roundings by the rules that Checked::magnitude requires: the factors of a product
// contribute the roundings of both, the terms of a sum those of the term with the most.
class RoundingCount {
 public:
  RoundingCount(const Names& parameters, const std::vector<std::string>& indices,
                const std::vector<std::int64_t>& extents)
      : ranges_(parameters) {
    for (std::size_t d = 0; d < indices.size() && d < extents.size(); ++d)
      ranges_.push_index(indices[d], static_cast<double>(extents[d]) - 1);
  }

  ErrorTerms total(const Node& root) {
    const Roundings all = count(root);
    return {all.summed + all.shared, all.operations, depends_on_data_};
  }

 private:
  struct Roundings {
    double summed = 0;  ///< terms of sums, except:
    double shared = 0;  ///< terms of sums that are equal in all terms of the enclosing sum
    double operations = 0;
  };

  Roundings count(const Node& node) {
    switch (node.kind) {
      case NodeKind::integer:
      case NodeKind::real:
      case NodeKind::name: return {0, 0, 1};
      case NodeKind::sum: return sum(node);
      case NodeKind::conditional: return larger(count(node.operand(1)), count(node.operand(2)));
      case NodeKind::negate: return count(node.operand(0));
      case NodeKind::add:
      case NodeKind::subtract:
        return rounded(larger(count(node.operand(0)), count(node.operand(1))), 1);
      case NodeKind::multiply:
      case NodeKind::divide:
      case NodeKind::remainder:
        return rounded(both(count(node.operand(0)), count(node.operand(1))), 1);
      case NodeKind::power:
      case NodeKind::call: return function(node);
      default: return {};  // loads, comparisons and logical operations
    }
  }

  static Roundings larger(const Roundings& a, const Roundings& b) {
    return {std::max(a.summed, b.summed), std::max(a.shared, b.shared),
            std::max(a.operations, b.operations)};
  }
  static Roundings both(const Roundings& a, const Roundings& b) {
    return {a.summed + b.summed, a.shared + b.shared, a.operations + b.operations};
  }
  static Roundings rounded(Roundings a, double roundings) {
    a.operations += roundings;
    return a;
  }

  Roundings function(const Node& node) {
    Roundings terms = count(node.operand(0));
    if (const int factors = whole_exponent(node); factors > 0)
      return {terms.summed * factors, terms.shared * factors,
              terms.operations * factors + factors - 1};
    const bool is_choice = node.name == "min" || node.name == "max";
    for (std::size_t i = 1; i < node.operands.size(); ++i) {
      const Roundings other = count(node.operand(i));
      terms = is_choice ? larger(terms, other) : both(terms, other);
    }
    if (is_choice || node.name == "abs" || rounds_to_whole_numbers(node.name)) return terms;
    const bool is_basic = node.name == "sqrt" || node.name == "fp32" || node.name == "floor_div" ||
                          node.name == "ceil_div";
    return rounded(terms, is_basic ? 1 : kFunctionRoundings);
  }

  // A kernel may add all terms of nested sums one after another, so that their numbers multiply.
  // An inner sum that is the same in all terms of the outer one has one relative error in all.
  Roundings sum(const Node& node) {
    const bool is_shared = !enclosing_.empty() && !uses_name(node, enclosing_.back());
    double terms = ranges_.max_terms(node);
    if (std::isinf(terms)) {
      depends_on_data_ = true;
      terms = 1;
    }
    ranges_.push_index(node.name, terms - 1);
    enclosing_.push_back(node.name);
    const Roundings term = count(node.operand(1));
    enclosing_.pop_back();
    ranges_.pop_index();
    const double summed = terms * std::max(1.0, term.summed) + term.shared;
    return {is_shared ? 0 : summed, is_shared ? summed : 0, term.operations};
  }

  CheckRanges ranges_;
  std::vector<std::string> enclosing_;  ///< indices of the enclosing sums
  bool depends_on_data_ = false;
};

}  // namespace

Check Check::parse(std::string_view text) {
  HeadReader head(text);
  std::string output = head.take_name("the output");
  std::vector<std::string> indices;
  while (head.take('[')) {
    const std::size_t column = head.position();
    indices.push_back(head.take_name("the name of an index"));
    if (std::count(indices.begin(), indices.end(), indices.back()) > 1)
      throw ExpressionError(
          fmt::format("the index '{}' appears twice; rename one of them", indices.back()), column);
    head.require(']', "']' after the name of an index");
  }
  if (indices.empty()) head.fail("the indices '[i]'");
  head.require('=', "'=' after the output");
  Expression expression = Expression::parse(text, head.position());
  CheckRules(indices).apply(expression.root());
  return {trimmed(text), std::move(output), std::move(indices), std::move(expression)};
}

std::set<std::string> Check::names() const {
  std::set<std::string> names = expression_.names();
  for (const std::string& index : indices_)
    names.erase(index);
  return names;
}

ErrorTerms Check::terms(const Names& parameters,
                        const std::vector<std::int64_t>& output_extents) const {
  return RoundingCount(parameters, indices_, output_extents).total(expression_.root());
}

}  // namespace gpuexp::own
