// Expressions of host code, converted to expressions of declarations: macros, functions of one
// return statement and variables are replaced by their values.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "infer/host_code.hpp"
#include "infer/host_tree.hpp"

namespace gpuexp::infer {

/// Names in the declaration, by the names of host variables, or by other texts without spaces that
/// stand for a number: "config.width", "shape[0]". Their values are not looked up.
using Aliases = std::map<std::string, std::string, std::less<>>;

/// Values of host variables and macros that are constant.
using NamedConstants = std::map<std::string, std::int64_t, std::less<>>;

/// The key of Aliases for these tokens: a variable, a member, an element or the result of a member
/// function. Empty for other expressions.
std::string alias_text(const Tokens& tokens);

class HostExpressions {
 public:
  /// Variables have the values that they have at token `at` of the code, which must outlive this
  /// object.
  HostExpressions(const HostCode& code, std::size_t at, Aliases aliases = {})
      : code_(code), at_(at), aliases_(std::move(aliases)) {}

  /// A variable without a known value remains as a name. Throws HostExpressionError.
  own::NodePointer expression(const Tokens& tokens) const;
  /// One to three sizes: of a number, a dim3 or a variable of that type. Throws
  /// HostExpressionError.
  std::vector<own::NodePointer> dimensions(const Tokens& tokens) const;
  /// Like dimensions(), but variables and macros whose value is constant and that device code does
  /// not use remain as names. Adds them to `constants`.
  std::vector<own::NodePointer> dimensions_by_name(const Tokens& tokens,
                                                   NamedConstants& constants) const;

 private:
  const HostCode& code_;
  std::size_t at_;
  Aliases aliases_;
};

}  // namespace gpuexp::infer
