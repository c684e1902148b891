#include <algorithm>
#include <cmath>
#include <cstddef>
#include <optional>
#include <utility>

#include <fmt/format.h>

#include "base/names.hpp"
#include "base/text.hpp"
#include "own/check_expression.hpp"
#include "own/check_program.hpp"
#include "own/check_ranges.hpp"
#include "own/expression_tree.hpp"

namespace gpuexp::own {

namespace {

CheckOp operator_of(NodeKind kind) {
  switch (kind) {
    case NodeKind::multiply: return CheckOp::multiply;
    case NodeKind::divide: return CheckOp::divide;
    case NodeKind::remainder: return CheckOp::remainder;
    case NodeKind::add: return CheckOp::add;
    case NodeKind::subtract: return CheckOp::subtract;
    case NodeKind::less: return CheckOp::less;
    case NodeKind::less_equal: return CheckOp::less_equal;
    case NodeKind::greater: return CheckOp::greater;
    case NodeKind::greater_equal: return CheckOp::greater_equal;
    case NodeKind::equal: return CheckOp::equal;
    case NodeKind::not_equal: return CheckOp::not_equal;
    default: return CheckOp::power;
  }
}

CheckOp function_of(const std::string& name) {
  static const std::map<std::string, CheckOp> kFunctions{{"abs", CheckOp::absolute},
                                                         {"ceil", CheckOp::ceiling},
                                                         {"exp", CheckOp::exponential},
                                                         {"floor", CheckOp::floor},
                                                         {"log", CheckOp::logarithm},
                                                         {"sqrt", CheckOp::square_root},
                                                         {"min", CheckOp::minimum},
                                                         {"max", CheckOp::maximum},
                                                         {"pow", CheckOp::power},
                                                         {"floor_div", CheckOp::floor_divide},
                                                         {"ceil_div", CheckOp::ceil_divide},
                                                         {"rsqrt", CheckOp::reciprocal_root},
                                                         {"sin", CheckOp::sine},
                                                         {"cos", CheckOp::cosine},
                                                         {"tanh", CheckOp::hyperbolic_tangent},
                                                         {"erf", CheckOp::error_function},
                                                         {"trunc", CheckOp::truncation},
                                                         {"rint", CheckOp::nearest},
                                                         {"round", CheckOp::nearest_away},
                                                         {"fp32", CheckOp::single}};
  return kFunctions.at(name);
}

bool contains_sum(const Node& node) {
  return node.kind == NodeKind::sum ||
         std::ranges::any_of(node.operands, [](const NodePointer& o) { return contains_sum(*o); });
}

bool uses_name(const Node& node, const std::vector<std::string>& names) {
  if (node.kind == NodeKind::name) return std::ranges::find(names, node.name) != names.end();
  return std::ranges::any_of(node.operands,
                             [&](const NodePointer& o) { return uses_name(*o, names); });
}

bool is_same(const Node& a, const Node& b) {
  return a.kind == b.kind && a.name == b.name && a.real == b.real &&
         std::ranges::equal(a.operands, b.operands, [](const NodePointer& x, const NodePointer& y) {
           return is_same(*x, *y);
         });
}

/// Appends the largest subexpressions that contain a sum and have one value for all values of the
/// indices `varying`.
void find_invariant(const Node& node, std::vector<std::string>& varying,
                    std::vector<const Node*>& found) {
  if (!contains_sum(node)) return;
  if (!uses_name(node, varying)) return found.push_back(&node);
  for (const NodePointer& operand : node.operands) {
    const bool is_term = node.kind == NodeKind::sum && operand == node.operands.back();
    if (is_term) varying.push_back(node.name);
    find_invariant(*operand, varying, found);
    if (is_term) varying.pop_back();
  }
}

// An index plus a constant, or a constant.
struct Affine {
  std::optional<std::int32_t> index;
  double constant = 0;
};

class CheckCompiler {
 public:
  CheckCompiler(const Check& check, const Names& parameters, const CheckBuffers& buffers)
      : check_(check), parameters_(parameters), buffers_(buffers), ranges_(parameters) {}

  CompiledCheck compile() {
    const std::vector<std::int64_t>& extents = buffers_.output_extents;
    require_rank(check_.output(), extents, check_.indices().size(), 0);
    std::copy(extents.begin(), extents.end(), program_.extents);
    program_.rank = static_cast<std::int32_t>(extents.size());
    program_.type = buffers_.output_type;
    for (std::size_t d = 0; d < extents.size(); ++d)
      add_index(check_.indices()[d], 0, static_cast<double>(extents[d]) - 1);
    add_value(check_.expression().root());
    program_.rounding.unit = ranges_.unit(check_.expression().root());
    return {program_, nodes_, terms_, shared_sums_, shared_cost_};
  }

 private:
  [[noreturn]] static void fail(std::size_t column, const std::string& message) {
    throw ExpressionError(message, column);
  }

  static void require_rank(const std::string& buffer, const std::vector<std::int64_t>& extents,
                           std::size_t indices, std::size_t column) {
    const std::size_t rank = extents.size();
    if (rank > kMaxRank)
      fail(column, fmt::format("'{}' has {} dimensions; a check supports at most {}", buffer, rank,
                               kMaxRank));
    if (rank != indices)
      fail(column, fmt::format("'{}' has {}, found {}", buffer, counted(rank, "dimension"),
                               counted(indices, "index", "indices")));
  }

  /// Adds an index that takes the whole numbers from 0 to `last`.
  void add_index(const std::string& name, std::size_t column, double last) {
    const bool is_parameter = parameters_.find(name) != parameters_.end();
    if (is_parameter || buffers_.inputs.find(name) != buffers_.inputs.end())
      fail(column, fmt::format("the index '{}' has the name of a {}; rename the index", name,
                               is_parameter ? "parameter" : "buffer"));
    indices_.push_back(name);
    index_extents_.push_back(last + 1);
    ranges_.push_index(name, last);
  }

  // Appends an instruction that changes the size of the stack. Returns its position.
  std::int32_t add(const Node& node, CheckOp op, int pushed, std::int32_t operand = 0,
                   double number = 0) {
    if (program_.instruction_count >= kMaxInstructions)
      fail(node.column,
           fmt::format("the check needs more than {} instructions; simplify it, or declare a "
                       "reference kernel instead",
                       kMaxInstructions));
    stack_ += pushed;
    if (stack_ > kMaxStack)
      fail(node.column, fmt::format("the check needs more than {} intermediate values; write "
                                    "a + b + c instead of a + (b + c)",
                                    kMaxStack));
    program_.cost += executions_;
    if (!is_in_split_) program_.unsplit_cost += executions_;
    shared_cost_.of_all += executions_ * computed_.of_all;
    shared_cost_.of_drawn += executions_ * computed_.of_drawn;
    program_.instructions[program_.instruction_count] = {op, operand, number};
    nodes_.push_back(&node);
    return program_.instruction_count++;
  }
  // Makes the jump continue at the next instruction.
  void set_target(std::int32_t jump) {
    program_.instructions[jump].operand = program_.instruction_count;
  }

  void add_value(const Node& node) {
    const auto kept = kept_.find(&node);
    if (kept != kept_.end()) return static_cast<void>(add(node, CheckOp::kept, 1, kept->second));
    switch (node.kind) {
      case NodeKind::integer:
      case NodeKind::real: add(node, CheckOp::number, 1, 0, node.real); return;
      case NodeKind::name: add_affine(node, named(node)); return;
      case NodeKind::call: add_call(node); return;
      case NodeKind::index:
      case NodeKind::before: add_load(node); return;
      case NodeKind::sum: add_sum(node); return;
      case NodeKind::negate: add_unary(node, CheckOp::negate); return;
      case NodeKind::logical_not: add_unary(node, CheckOp::logical_not); return;
      case NodeKind::logical_and:
      case NodeKind::logical_or: add_logical(node); return;
      case NodeKind::conditional: add_conditional(node); return;
      default: add_binary(node); return;
    }
  }

  // A value whose magnitude is not used, so that constants can be combined.
  void add_exact(const Node& node) {
    if (const std::optional<Affine> value = affine(node)) return add_affine(node, *value);
    add_value(node);
  }
  void add_affine(const Node& node, const Affine& value) {
    add(node, value.index ? CheckOp::index : CheckOp::number, 1, value.index.value_or(0),
        value.constant);
  }

  std::optional<Affine> affine(const Node& node) const {
    if (is_constant(node)) return Affine{std::nullopt, real_value(node, parameters_)};
    if (node.kind == NodeKind::name) return named(node);
    if (node.kind != NodeKind::add && node.kind != NodeKind::subtract) return std::nullopt;
    const std::optional<Affine> a = affine(node.operand(0));
    const std::optional<Affine> b = affine(node.operand(1));
    const bool is_sum = node.kind == NodeKind::add;
    if (!a || !b || (b->index && (a->index || !is_sum))) return std::nullopt;
    return Affine{a->index ? a->index : b->index,
                  is_sum ? a->constant + b->constant : a->constant - b->constant};
  }

  // Whether the value depends only on parameters.
  bool is_constant(const Node& node) const {
    if (node.kind == NodeKind::index || node.kind == NodeKind::before || node.kind == NodeKind::sum)
      return false;
    if (node.kind == NodeKind::name) {
      const auto found = parameters_.find(node.name);
      return found != parameters_.end() && !std::holds_alternative<std::string>(found->second);
    }
    return std::all_of(node.operands.begin(), node.operands.end(),
                       [this](const NodePointer& operand) { return is_constant(*operand); });
  }

  Affine named(const Node& node) const {
    const auto index = std::find(indices_.begin(), indices_.end(), node.name);
    if (index != indices_.end()) return {static_cast<std::int32_t>(index - indices_.begin()), 0};
    const auto buffer = buffers_.inputs.find(node.name);
    if (buffer != buffers_.inputs.end())
      fail(node.column, fmt::format("'{}' is a buffer with {}, found no index", node.name,
                                    counted(buffer->second.extents.size(), "dimension")));
    if (parameters_.find(node.name) != parameters_.end())
      return {std::nullopt, real_value(node, parameters_)};
    std::vector<std::string> allowed = indices_;
    for (const auto& [name, value] : parameters_)
      allowed.push_back(name);
    fail(node.column,
         fmt::format("unknown name '{}'{}", shorten(node.name), allowed_names(node.name, allowed)));
  }

  void add_unary(const Node& node, CheckOp op, std::int32_t operand = 0) {
    add_value(node.operand(0));
    add(node, op, 0, operand);
  }

  void add_binary(const Node& node) {
    if (const int factors = whole_exponent(node); factors > 0)
      return add_unary(node, CheckOp::whole_power, factors);
    for (const NodePointer& operand : node.operands)
      is_comparison(node.kind) ? add_exact(*operand) : add_value(*operand);
    add(node, operator_of(node.kind), -1);
  }

  void add_call(const Node& node) {
    const CheckOp op = function_of(node.name);
    if (node.operands.size() == 1) return add_unary(node, op);
    if (const int factors = whole_exponent(node); factors > 0)
      return add_unary(node, CheckOp::whole_power, factors);
    add_value(node.operand(0));
    for (std::size_t i = 1; i < node.operands.size(); ++i) {
      add_value(node.operand(i));
      add(node, op, -1);
    }
  }

  // a && b is a ? (b is not 0) : 0, and a || b is a ? 1 : (b is not 0).
  void add_logical(const Node& node) {
    const bool is_and = node.kind == NodeKind::logical_and;
    const auto add_side = [&](bool is_second) {
      if (!is_second) return static_cast<void>(add(node, CheckOp::number, 1, 0, is_and ? 0 : 1));
      add_value(node.operand(1));
      add(node, CheckOp::truth, 0);
    };
    add_value(node.operand(0));
    const std::int32_t if_zero = add(node, CheckOp::jump_if_zero, -1);
    add_side(is_and);
    const std::int32_t to_end = add(node, CheckOp::jump, -1);
    set_target(if_zero);
    add_side(!is_and);
    set_target(to_end);
  }

  // After a jump to the end, the other branch starts with the stack as it was before this branch.
  void add_conditional(const Node& node) {
    add_value(node.operand(0));
    const std::int32_t if_zero = add(node, CheckOp::jump_if_zero, -1);
    add_value(node.operand(1));
    const std::int32_t to_end = add(node, CheckOp::jump, -1);
    set_target(if_zero);
    add_value(node.operand(2));
    set_target(to_end);
  }

  void add_sum(const Node& node) {
    add_exact(node.operand(0));
    const std::int32_t first = program_.instruction_count;
    const SharedCost enclosing = computed_;
    std::optional<SharedSum> shared = shared_sum(node);
    if (shared) {
      computed_.of_all = std::min(computed_.of_all, shared->computed.of_all);
      computed_.of_drawn = std::min(computed_.of_drawn, shared->computed.of_drawn);
      enclosing_shared_.push_back(*shared);
    }
    const std::optional<std::int32_t> skip = add_invariant(node);
    const std::int32_t begin = add(node, CheckOp::sum_begin, 0);
    add_terms(node, begin);
    set_target(begin);
    if (skip) set_target(*skip);
    if (!shared) return;
    enclosing_shared_.pop_back();
    computed_ = enclosing;
    shared->begin = first;
    shared->end = program_.instruction_count;
    shared_sums_.push_back(*shared);
  }

  /// The sum with the indices that it uses, if evaluations of several elements share its values.
  std::optional<SharedSum> shared_sum(const Node& node) const {
    // The parts of a split sum are added in another order than the terms of a sum within it.
    const bool is_within_sum = indices_.size() > buffers_.output_extents.size();
    if (is_within_sum && may_be_split(node, ranges_)) return std::nullopt;
    std::vector<bool> uses;
    for (const std::string& index : indices_)
      uses.push_back(uses_name(node, {index}));
    std::optional<SharedSum> shared = sum_of(uses, index_extents_, buffers_.output_extents.size());
    const bool adds_nothing =
        shared && !enclosing_shared_.empty() && !shared->is_shared_more(enclosing_shared_.back());
    return adds_nothing ? std::nullopt : shared;
  }

  /// Whether the sum or a sum in its terms may have kMinSplitTerms terms.
  static bool may_be_split(const Node& node, CheckRanges ranges) {
    if (node.kind == NodeKind::sum) {
      const double terms = ranges.max_terms(node);
      if (!(terms < kMinSplitTerms)) return true;
      ranges.push_index(node.name, terms - 1);
    }
    return std::ranges::any_of(
        node.operands, [&](const NodePointer& operand) { return may_be_split(*operand, ranges); });
  }

  void add_terms(const Node& node, std::int32_t begin) {
    constexpr double kUnknown = 1;
    const double bound = ranges_.max_terms(node);
    const double terms = std::isinf(bound) ? kUnknown : bound;
    const double executions = executions_;
    const bool is_in_split = is_in_split_;
    executions_ *= terms;
    is_in_split_ = is_in_split_ || terms >= kMinSplitTerms;
    add_index(node.name, node.column, terms - 1);
    index_extents_.back() = bound;
    add_value(node.operand(1));
    add(node, CheckOp::sum_next, -1, begin + 1, ranges_.unit(node.operand(1)));
    terms_ += executions_;
    indices_.pop_back();
    index_extents_.pop_back();
    ranges_.pop_index();
    executions_ = executions;
    is_in_split_ = is_in_split;
  }

  /// Computes sums that are equal in all terms of this sum before its first term. Returns the
  /// instruction that skips this if the sum has no terms.
  std::optional<std::int32_t> add_invariant(const Node& sum) {
    std::vector<std::string> varying{sum.name};
    std::vector<const Node*> invariant;
    find_invariant(sum.operand(1), varying, invariant);
    std::erase_if(invariant, [&](const Node* node) { return kept_.contains(node); });
    if (invariant.empty() || kept_count_ == kMaxKept) return std::nullopt;
    const std::int32_t skip = add(sum, CheckOp::sum_has_terms, 0);
    std::vector<const Node*> computed;
    for (const Node* node : invariant) {
      const auto same =
          std::ranges::find_if(computed, [&](const Node* other) { return is_same(*other, *node); });
      if (same != computed.end()) {
        kept_[node] = kept_.at(*same);
      } else if (kept_count_ < kMaxKept) {
        add_kept(*node);
        computed.push_back(node);
      }
    }
    return skip;
  }

  void add_kept(const Node& node) {
    const std::int32_t slot = kept_count_++;
    const std::int32_t attempt = add(node, CheckOp::attempt, 0, 0, slot);
    add_value(node);
    add(node, CheckOp::keep, -1, slot);
    set_target(attempt);
    kept_[&node] = slot;
  }

  void add_load(const Node& node) {
    const CheckBuffer& buffer = loaded_buffer(node);
    require_rank(node.name, buffer.extents, node.operands.size(), node.column);
    for (const NodePointer& index : node.operands)
      add_exact(*index);
    const int indices = static_cast<int>(node.operands.size());
    add(node, CheckOp::load, 1 - indices, view_of(node, buffer));
  }

  const CheckBuffer& loaded_buffer(const Node& node) const {
    const bool is_before = node.kind == NodeKind::before;
    const auto& buffers = is_before ? buffers_.before : buffers_.inputs;
    if (const auto found = buffers.find(node.name); found != buffers.end()) return found->second;
    if (is_before && buffers_.inputs.contains(node.name))
      fail(node.column, fmt::format("'{0}' is an input, which launches do not change: write "
                                    "{0}[...] instead of before({0}[...])",
                                    node.name));
    if (is_before)
      fail(node.column, fmt::format("before({0}[...]) needs the value of '{0}' before the launch; "
                                    "declare the buffer as in_out",
                                    node.name));
    std::vector<std::string> allowed;
    for (const auto& [name, buffer] : buffers)
      allowed.push_back(name);
    fail(node.column, fmt::format("unknown buffer '{}'{}", shorten(node.name),
                                  allowed_names(node.name, allowed)));
  }

  std::int32_t view_of(const Node& node, const CheckBuffer& buffer) {
    const auto known = views_.find(node.name);
    if (known != views_.end()) return known->second;
    if (program_.buffer_count >= kMaxBuffers)
      fail(node.column, fmt::format("the check reads more than {} buffers", kMaxBuffers));
    BufferView& view = program_.buffers[program_.buffer_count];
    view.data = buffer.data;
    view.type = buffer.type;
    view.rank = static_cast<std::int32_t>(buffer.extents.size());
    std::copy(buffer.extents.begin(), buffer.extents.end(), view.extents);
    views_.emplace(node.name, program_.buffer_count);
    return program_.buffer_count++;
  }

  const Check& check_;
  const Names& parameters_;
  const CheckBuffers& buffers_;
  CheckProgram program_;
  std::vector<const Node*> nodes_;     // by instruction
  std::vector<std::string> indices_;   // the output's, then those of enclosing sums
  std::vector<double> index_extents_;  // their numbers of values; infinite without a known bound
  CheckRanges ranges_;                 // knows the same indices
  std::map<std::string, std::int32_t> views_;
  std::map<const Node*, std::int32_t> kept_;  // slots of values that are computed before a sum
  std::int32_t kept_count_ = 0;
  double executions_ = 1;  // upper bound for the next instruction, per element
  bool is_in_split_ = false;
  double terms_ = 0;
  std::vector<SharedSum> shared_sums_;
  std::vector<SharedSum> enclosing_shared_;
  SharedCost computed_{1, 1};  // shares of `executions_` that remain because of enclosing_shared_
  SharedCost shared_cost_;
  int stack_ = 0;
};

}  // namespace

CompiledCheck Check::compiled(const Names& parameters, const CheckBuffers& buffers) const {
  return CheckCompiler(*this, parameters, buffers).compile();
}

}  // namespace gpuexp::own
