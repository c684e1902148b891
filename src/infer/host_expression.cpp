#include "infer/host_expression.hpp"

#include <algorithm>
#include <array>
#include <cctype>
#include <charconv>
#include <cmath>
#include <limits>
#include <utility>

#include <fmt/format.h>

#include "base/names.hpp"
#include "base/text.hpp"
#include "compile/c_type.hpp"

namespace gpuexp::infer {

using own::Node;
using own::NodeKind;
using own::NodePointer;

namespace {

std::int64_t bytes_of_type(const CType& type) {
  switch (type.element) {
    case CElement::character:
    case CElement::boolean:
    case CElement::int8:
    case CElement::uint8: return type.lanes;
    case CElement::int16:
    case CElement::uint16:
    case CElement::fp16:
    case CElement::bf16: return std::int64_t{2} * type.lanes;
    case CElement::int32:
    case CElement::uint32:
    case CElement::fp32: return std::int64_t{4} * type.lanes;
    case CElement::int64:
    case CElement::uint64:
    case CElement::fp64: return std::int64_t{8} * type.lanes;
    case CElement::unknown: break;
  }
  throw HostExpressionError(fmt::format("the size of {}", shorten(type.text)));
}

constexpr std::string_view kSides = "xyz";  ///< members of dim3

bool is_number(const SourceToken& token) {
  return !token.text.empty() && std::isdigit(static_cast<unsigned char>(token.text[0])) != 0;
}

// ---- parser

/// Where names get their values.
struct Scope {
  const HostCode& code;
  const Aliases& aliases;
  std::size_t at = 0;
  std::map<std::string, NodePointer, std::less<>> bound = {};  ///< parameters of a macro
  int depth = 0;  ///< number of values and macros that are being replaced
  /// Receives constant variables that remain as names; null if their values replace them.
  NamedConstants* constants = nullptr;

  /// Where a value's or a macro's own names get their values.
  Scope within(std::size_t place) const { return {code, aliases, place, {}, depth + 1, constants}; }
};

std::vector<NodePointer> dimensions_in(const Tokens& tokens, const Scope& scope);

class HostParser {
 public:
  HostParser(const Tokens& tokens, const Scope& scope) : tokens_(tokens), scope_(scope) {}

  NodePointer parse_all() {
    constexpr int kMaxDepth = 32;
    if (scope_.depth > kMaxDepth) throw HostExpressionError("values that refer to each other");
    NodePointer root = conditional();
    if (at_ < tokens_.size()) fail();
    return root;
  }

 private:
  struct Level {
    std::string_view mark;
    NodeKind kind;
  };

  [[noreturn]] void fail() const {
    throw HostExpressionError(at_ < tokens_.size()
                                  ? fmt::format("'{}'", shorten(joined(tokens_, 0, tokens_.size())))
                                  : "an expression that ends early");
  }
  bool is(std::string_view mark, std::size_t ahead = 0) const {
    return at_ + ahead < tokens_.size() && tokens_[at_ + ahead].is(mark);
  }
  bool takes(std::string_view mark) {
    // Each character of punctuation is a token.
    for (std::size_t i = 0; i < mark.size(); ++i)
      if (!is(mark.substr(i, 1), i)) return false;
    at_ += mark.size();
    return true;
  }
  void expect(std::string_view mark) {
    if (!takes(mark)) fail();
  }

  NodePointer conditional() {
    const NodePointer condition = logical();
    if (!takes("?")) return condition;
    const NodePointer yes = conditional();
    expect(":");
    return operation(NodeKind::conditional, {condition, yes, conditional()});
  }

  NodePointer logical() {
    NodePointer left = comparison();
    for (;;) {
      if (takes("&&")) {
        left = operation(NodeKind::logical_and, {left, comparison()});
      } else if (takes("||")) {
        left = operation(NodeKind::logical_or, {left, comparison()});
      } else {
        return left;
      }
    }
  }

  NodePointer comparison() {
    const NodePointer left = shift();
    constexpr Level kLevels[] = {{"<=", NodeKind::less_equal}, {">=", NodeKind::greater_equal},
                                 {"==", NodeKind::equal},      {"!=", NodeKind::not_equal},
                                 {"<", NodeKind::less},        {">", NodeKind::greater}};
    for (const Level& level : kLevels)
      if (takes(level.mark)) return operation(level.kind, {left, shift()});
    return left;
  }

  NodePointer shift() {
    NodePointer left = sum();
    for (;;) {
      if (takes("<<")) {
        left = shifted(left, sum(), true);
      } else if (takes(">>")) {
        left = shifted(left, sum(), false);
      } else {
        return left;
      }
    }
  }

  NodePointer sum() {
    NodePointer left = product();
    for (;;) {
      if (takes("+")) {
        left = binary(NodeKind::add, left, product());
      } else if (takes("-")) {
        left = binary(NodeKind::subtract, left, product());
      } else {
        return left;
      }
    }
  }

  NodePointer product() {
    NodePointer left = unary();
    for (;;) {
      if (takes("*")) {
        left = binary(NodeKind::multiply, left, unary());
      } else if (takes("/")) {
        left = binary(NodeKind::divide, left, unary());
      } else if (takes("%")) {
        left = binary(NodeKind::remainder, left, unary());
      } else {
        return left;
      }
    }
  }

  NodePointer unary() {
    if (takes("-")) return negated(unary());
    if (takes("+")) return unary();
    if (takes("!")) return operation(NodeKind::logical_not, {unary()});
    return operand();
  }

  /// The tokens in the bracket at the current token, which is passed.
  Tokens bracket() {
    const std::size_t end = after_bracket(tokens_, at_);
    const bool is_closed = end >= at_ + 2 && end <= tokens_.size() &&
                           (tokens_[end - 1].is(")") || tokens_[end - 1].is("}"));
    if (!is_closed) fail();
    Tokens inner(tokens_.begin() + static_cast<std::ptrdiff_t>(at_) + 1,
                 tokens_.begin() + static_cast<std::ptrdiff_t>(end) - 1);
    at_ = end;
    return inner;
  }

  NodePointer operand() {
    if (at_ >= tokens_.size()) fail();
    if (is("(")) {
      const Tokens inner = bracket();
      // A cast of a number to another type changes no size.
      if (type_named(inner).element != CElement::unknown) return unary();
      return parsed_in(inner, scope_);
    }
    if (!tokens_[at_].is_word()) fail();
    if (is_number(tokens_[at_])) return number();
    return named();
  }

  NodePointer number() {
    const SourceToken& first = tokens_[at_++];
    std::string text(first.text);
    std::erase(text, '\'');
    if (is(".")) {
      ++at_;
      text += '.';
      if (at_ < tokens_.size() && is_number(tokens_[at_])) text += tokens_[at_++].text;
      if (is("f") || is("F")) ++at_;
    }
    const bool is_hexadecimal = text.starts_with("0x") || text.starts_with("0X");
    if (!is_hexadecimal && (text.ends_with('e') || text.ends_with('E')) && (is("-") || is("+"))) {
      text += tokens_[at_++].text;
      if (at_ < tokens_.size()) text += tokens_[at_++].text;
    }
    const std::string_view suffixes = is_hexadecimal ? "uUlL" : "uUlLfF";
    while (!text.empty() && suffixes.find(text.back()) != std::string_view::npos)
      text.pop_back();
    const std::string digits = is_hexadecimal ? text.substr(2) : text;
    std::int64_t whole = 0;
    const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), whole,
                                              is_hexadecimal ? 16 : 10);
    if (error == std::errc() && end == digits.data() + digits.size()) return integer_node(whole);
    const auto real = gpuexp::parsed<double>(text);
    if (!real) throw HostExpressionError(fmt::format("the number {}", shorten(text)));
    return real_node(*real);
  }

  /// Whether the expression continues with a member, an element or a call.
  bool is_continued(std::size_t ahead) const {
    const bool is_pointee = is("-", ahead) && is(">", ahead + 1);
    return is(".", ahead) || is("[", ahead) || is("(", ahead) || is_pointee;
  }

  /// The name of the alias that the next tokens are, if they are more than a variable; passes them.
  std::optional<std::string> longer_alias() {
    if (!is_continued(1) || scope_.bound.contains(tokens_[at_].text)) return std::nullopt;
    for (const auto& [text, name] : scope_.aliases) {
      std::string_view rest = text;
      std::size_t count = 0;
      while (!rest.empty() && at_ + count < tokens_.size() &&
             rest.starts_with(tokens_[at_ + count].text))
        rest.remove_prefix(tokens_[at_ + count++].text.size());
      if (count < 2 || !rest.empty() || is_continued(count)) continue;
      at_ += count;
      return name;
    }
    return std::nullopt;
  }

  NodePointer named() {
    if (const auto alias = longer_alias()) return name_node(*alias);
    std::string name(tokens_[at_++].text);
    while (is(":") && is(":", 1) && at_ + 2 < tokens_.size()) {
      name = tokens_[at_ + 2].text;
      at_ += 3;
    }
    if (name.ends_with("_cast") && is("<")) {
      at_ = after_bracket(tokens_, at_);
      if (!is("(")) fail();
      return parsed_in(bracket(), scope_);
    }
    if (name == "sizeof" && is("(")) return integer_node(bytes_of_type(type_named(bracket())));
    if (is("(") && type_named(name).element != CElement::unknown)
      return parsed_in(bracket(), scope_);
    if (is("(")) return call(name);
    if (is("[")) fail_at(at_ - 1, fmt::format("'{}'", shorten(joined(tokens_, 0, tokens_.size()))));
    if (is_continued(0)) return member(name);
    if (name == "true" || name == "false") return integer_node(name == "true" ? 1 : 0);
    return variable(name);
  }

  static NodePointer parsed_in(const Tokens& tokens, const Scope& scope) {
    return HostParser(tokens, scope).parse_all();
  }

  NodePointer call(const std::string& name) {
    std::vector<NodePointer> arguments;
    for (const Tokens& argument : comma_parts(bracket()))
      arguments.push_back(parsed_in(argument, scope_));
    const HostMacro* const macro = scope_.code.macro(name);
    if (!macro || !macro->has_parameters || macro->parameters.size() != arguments.size())
      return called(name, arguments);
    Scope inner = scope_.within(scope_.at);
    for (std::size_t i = 0; i < arguments.size(); ++i)
      inner.bound[macro->parameters[i]] = arguments[i];
    try {
      return parsed_in(macro->body, inner);
    } catch (const HostExpressionError&) {
      return called(name, arguments);
    }
  }

  /// grid.x, or a member that the text assigns a value to.
  NodePointer member(const std::string& name) {
    const std::size_t begin = at_ - 1;
    std::string path = name;
    while (is(".") || is("-")) {
      const std::size_t size = is(".") ? 1 : 2;
      if (at_ + size >= tokens_.size()) fail();
      path += fmt::format("{}{}", is(".") ? "." : "->", tokens_[at_ + size].text);
      at_ += size + 1;
      const bool is_next = is(".") || (is("-") && is(">", 1));
      if (!is_next) break;
    }
    if (const auto assigned = scope_.code.value(path, scope_.at))
      return parsed_in(assigned->tokens, scope_.within(assigned->at));
    const std::size_t which = kSides.find(path.back());
    const auto value = scope_.code.value(name, scope_.at);
    if (path.size() != name.size() + 2 || which == kSides.npos || !value)
      fail_at(begin, shorten(path));
    const Scope outer = scope_.within(value->at);
    const std::vector<NodePointer> sizes = dimensions_in(value->tokens, outer);
    return which < sizes.size() ? sizes[which] : integer_node(1);
  }

  NodePointer variable(const std::string& name) const {
    if (const auto bound = scope_.bound.find(name); bound != scope_.bound.end())
      return bound->second;
    if (const auto alias = scope_.aliases.find(name); alias != scope_.aliases.end())
      return name_node(alias->second);
    const auto value = scope_.code.value(name, scope_.at);
    const HostMacro* const macro = scope_.code.macro(name);
    try {
      if (value && !value->is_constructed)
        return by_name(name, parsed_in(value->tokens, scope_.within(value->at)),
                       !scope_.code.place_of(value->at).function.empty());
      if (macro && !macro->has_parameters)
        return by_name(name, parsed_in(macro->body, scope_.within(scope_.at)), false);
    } catch (const HostExpressionError&) {
      // The value is known only to the host program.
    }
    return name_node(name);
  }

  /// The value of a variable or macro, or its name if constants remain as names.
  NodePointer by_name(const std::string& name, NodePointer value, bool is_local) const {
    const auto constant = constant_of(*value);
    if (!scope_.constants || !constant) return value;
    if (!is_local && scope_.code.is_used_by_device(name)) return value;
    scope_.constants->emplace(name, *constant);
    return name_node(name);
  }

  /// Throws the error of a member, an element or a result without a known value; its first name is
  /// the token at `begin`.
  [[noreturn]] void fail_at(std::size_t begin, const std::string& message) const {
    std::size_t end = begin + 1;
    while (end < tokens_.size()) {
      const bool is_dot = tokens_[end].is(".");
      const bool is_pointee =
          end + 1 < tokens_.size() && tokens_[end].is("-") && tokens_[end + 1].is(">");
      if (!is_dot && !is_pointee && !tokens_[end].is("[") && !tokens_[end].is("(")) break;
      end = is_dot ? end + 2 : is_pointee ? end + 3 : after_bracket(tokens_, end);
    }
    const std::size_t last = std::min(end, tokens_.size());
    throw HostExpressionError(message,
                              alias_text({tokens_.begin() + static_cast<std::ptrdiff_t>(begin),
                                          tokens_.begin() + static_cast<std::ptrdiff_t>(last)}));
  }

  const Tokens& tokens_;
  const Scope& scope_;
  std::size_t at_ = 0;
};

Tokens without_ends(const Tokens& tokens) {
  return {tokens.begin() + 1, tokens.end() - 1};
}

/// Replaces sizes that the text assigns to members: grid.z = batch.
void set_assigned_sides(std::vector<NodePointer>& sizes, std::string_view name,
                        const Scope& scope) {
  for (std::size_t d = 0; d < kSides.size(); ++d) {
    const auto assigned = scope.code.value(fmt::format("{}.{}", name, kSides[d]), scope.at);
    if (!assigned) continue;
    while (sizes.size() <= d)
      sizes.push_back(integer_node(1));
    const Scope outer = scope.within(assigned->at);
    sizes[d] = HostParser(assigned->tokens, outer).parse_all();
  }
}

/// The sizes of dim3(…), {…}, the name of a dim3, or one number.
std::vector<NodePointer> dimensions_in(const Tokens& tokens, const Scope& scope) {
  constexpr int kMaxDepth = 32;
  constexpr std::size_t kMaxDimensions = 3;
  if (tokens.empty()) throw HostExpressionError("no size");
  if (scope.depth > kMaxDepth) throw HostExpressionError("values that refer to each other");
  const auto is_bracket = [&](std::size_t at) {
    return at < tokens.size() && (tokens[at].is("(") || tokens[at].is("{")) &&
           after_bracket(tokens, at) == tokens.size();
  };
  Tokens inner = tokens;
  if (tokens[0].is("dim3") && is_bracket(1)) {
    inner = without_ends(Tokens(tokens.begin() + 1, tokens.end()));
  } else if (tokens[0].is("{") && is_bracket(0)) {
    inner = without_ends(tokens);
  } else if (tokens.size() == 1 && tokens[0].is_word()) {
    const bool is_alias = scope.aliases.contains(tokens[0].text);
    const auto value = is_alias ? std::nullopt : scope.code.value(tokens[0].text, scope.at);
    const Scope outer = scope.within(value ? value->at : scope.at);
    const bool is_dim3 =
        value &&
        (value->is_constructed || (!value->tokens.empty() && value->tokens[0].is("dim3")) ||
         (value->tokens.size() == 1 && value->tokens[0].is_word() && !is_number(value->tokens[0])));
    std::vector<NodePointer> sizes;
    if (is_dim3) sizes = dimensions_in(value->tokens, outer);
    set_assigned_sides(sizes, tokens[0].text, scope);
    if (!sizes.empty()) return sizes;
  }
  std::vector<NodePointer> sizes;
  for (const Tokens& part : comma_parts(inner))
    sizes.push_back(HostParser(part, scope).parse_all());
  if (sizes.empty() || sizes.size() > kMaxDimensions)
    throw HostExpressionError(fmt::format("'{}'", shorten(joined(tokens, 0, tokens.size()))));
  while (sizes.size() > 1 && constant_of(*sizes.back()) == 1)
    sizes.pop_back();
  return sizes;
}

}  // namespace

std::string alias_text(const Tokens& tokens) {
  if (tokens.empty() || !tokens[0].is_word() || is_number(tokens[0])) return "";
  std::string text(tokens[0].text);
  for (std::size_t i = 1; i < tokens.size();) {
    const bool is_dot = tokens[i].is(".");
    const bool is_pointee = i + 1 < tokens.size() && tokens[i].is("-") && tokens[i + 1].is(">");
    const bool is_bracket = tokens[i].is("[") || tokens[i].is("(");
    const std::size_t end = is_bracket ? after_bracket(tokens, i) : i + (is_dot ? 2 : 3);
    // A call of a function that is no member may compute anything.
    if (!(is_dot || is_pointee || is_bracket) || end > tokens.size() ||
        (i == 1 && tokens[i].is("(")))
      return "";
    for (; i < end; ++i)
      text += tokens[i].text;
  }
  return text;
}

own::NodePointer HostExpressions::expression(const Tokens& tokens) const {
  const Scope scope{code_, aliases_, at_};
  return HostParser(tokens, scope).parse_all();
}

std::vector<own::NodePointer> HostExpressions::dimensions(const Tokens& tokens) const {
  return dimensions_in(tokens, {code_, aliases_, at_});
}

std::vector<own::NodePointer> HostExpressions::dimensions_by_name(const Tokens& tokens,
                                                                  NamedConstants& constants) const {
  return dimensions_in(tokens, {code_, aliases_, at_, {}, 0, &constants});
}

}  // namespace gpuexp::infer
