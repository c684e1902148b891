// The text around kernels: launches, macros, and the values that host code gives to variables.
#pragma once

#include <cstddef>
#include <deque>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "compile/source_tokens.hpp"

namespace gpuexp::infer {

using Tokens = std::vector<SourceToken>;

/// A macro, or a function whose body is one return statement.
struct HostMacro {
  bool has_parameters = false;
  std::vector<std::string> parameters;
  Tokens body;
};

/// What a variable is initialized with, or assigned last.
struct HostValue {
  Tokens tokens;
  bool is_constructed = false;  ///< `dim3 grid(4, 5)`: the tokens are the arguments
  std::size_t at = 0;           ///< token after which variables have the values that it uses
};

/// kernel<template_arguments><<<grid, block, bytes>>>(arguments)
struct TextLaunch {
  std::string kernel;
  std::vector<Tokens> template_arguments;
  Tokens grid;
  Tokens block;
  Tokens bytes;  ///< dynamic shared memory; may be empty
  std::vector<Tokens> arguments;
  std::string file;
  std::size_t line = 0;
  std::size_t at = 0;   ///< token of the kernel's name
  std::size_t end = 0;  ///< token after the arguments
};

/// A call of cudaMemcpyToSymbol() or cudaGetSymbolAddress().
struct SymbolUse {
  std::string variable;  ///< without namespaces
  Tokens source;         ///< the argument that is copied; empty for an address
  std::string file;
  std::size_t line = 0;
  std::size_t at = 0;  ///< token of the call
};

/// Where a token is in host code.
struct HostPlace {
  std::string function;   ///< name of the function; empty outside of functions
  std::size_t body = 0;   ///< token of the function's opening brace
  std::size_t block = 0;  ///< token of the innermost opening brace
};

/// The parts between commas that are in no bracket.
std::vector<Tokens> comma_parts(const Tokens& tokens);

/// Texts of one or several files. Values are found without a compiler: the nearest initializer or
/// assignment above, in a block that is still open.
class HostCode {
 public:
  /// `file` is the name for messages.
  void add(const std::string& file, const std::string& text);

  /// Copies each template of a host function or of a structure, once for each list of arguments
  /// with which the text uses it. The launches in the copies, whose parameters are the arguments,
  /// replace those in the template, unless it is also called with arguments that are deduced. To be
  /// called after the last add().
  void instantiate_templates();
  /// The launches in a copy of the host template around a launch. The arguments are given by the
  /// template's parameters. Empty if there is no template with all these parameters.
  std::vector<const TextLaunch*> launches_of_instance(
      const TextLaunch& launch, const std::map<std::string, std::string>& arguments);

  /// Number of template parameters of the kernel that have no default.
  std::size_t required_template_arguments(std::string_view kernel) const;

  /// References to launches stay valid when launches are added.
  const std::deque<TextLaunch>& launches() const { return launches_; }
  HostPlace place_of(std::size_t at) const;
  /// What distinguishes the copy of a template around token `at` from others: "_float_128". Empty
  /// outside of copies.
  std::string instance_at(std::size_t at) const;
  /// Whether the name is a token from `begin` to before `end`.
  bool mentions(std::string_view name, std::size_t begin, std::size_t end) const;
  /// The second argument of the call of cudaMemset() before token `at` that sets `pointer`, a
  /// variable. Empty if there is none in an open block, or if the text mentions the variable after
  /// the call.
  std::optional<Tokens> memset_before(const Tokens& pointer, std::size_t at) const;
  /// The number of bytes in the call of cudaMalloc() before token `at` that allocates what
  /// `pointer` points to, a variable. Empty if there is none in an open block.
  std::optional<Tokens> allocation_before(const Tokens& pointer, std::size_t at) const;
  /// The variables of device memory that host code sets or takes the address of.
  std::vector<SymbolUse> symbol_uses() const;
  /// Whether the body of a kernel or of a device function mentions the name.
  bool is_used_by_device(std::string_view name) const;
  /// Whether the text defines a function or a type of this name.
  bool defines(std::string_view name) const;
  /// Null if there is no macro, or function of one return statement, of this name.
  const HostMacro* macro(std::string_view name) const;
  /// The value that a variable, or a member such as "grid.x", has at token `at`; empty if the text
  /// does not give one: a parameter, a loop's variable, or one that is changed by ++ or +=.
  std::optional<HostValue> value(std::string_view name, std::size_t at) const;

 private:
  struct File {
    std::string name;
    std::size_t begin = 0;  ///< its tokens
    std::size_t end = 0;
    /// For an instance of a template: the template's first token, before which names have values,
    /// and what distinguishes the function's name from those of other instances.
    std::optional<std::size_t> template_at = std::nullopt;
    std::string suffix = {};
  };
  /// template <parameters> of a function or structure that is no device code.
  struct HostTemplate {
    std::string name;
    std::size_t begin = 0;  ///< the word `template`
    std::size_t after = 0;  ///< token after the parameters
    std::size_t name_at = 0;
    std::size_t end = 0;  ///< token after the body
    bool is_function = false;
    std::vector<std::string> parameters;
    std::vector<Tokens> defaults;  ///< one per parameter; may be empty
    bool has_instance = false;
    bool has_deduced_call = false;
    bool contains(std::size_t at) const { return at >= begin && at < end; }
  };
  using TemplateArguments = std::map<std::string, Tokens, std::less<>>;
  bool is(std::size_t i, std::string_view mark) const {
    return i < tokens_.size() && tokens_[i].is(mark);
  }
  bool is_triple(std::size_t i, char mark) const;
  /// Empty if `end` is not after `begin`.
  Tokens part(std::size_t begin, std::size_t end) const;
  std::size_t end_of_initializer(std::size_t i, std::size_t end) const;
  void read_macros(std::string_view text);
  void read_functions(const File& file);
  void read_launches(const File& file);
  std::optional<HostTemplate> template_at(std::size_t at, std::size_t end) const;
  std::vector<HostTemplate> host_templates() const;
  std::optional<TemplateArguments> arguments_at(std::size_t i, HostTemplate& of,
                                                const std::vector<HostTemplate>& all) const;
  Tokens with_values(const Tokens& tokens, std::size_t at) const;
  void add_instance(const HostTemplate& of, const TemplateArguments& arguments);
  std::optional<TextLaunch> launch_at(std::size_t open, const File& file) const;
  std::size_t opening_before(std::size_t close, const File& file) const;
  std::optional<HostValue> value_in(const File& file, std::string_view name, std::size_t at) const;
  std::optional<Tokens> byte_of_memset(std::size_t i) const;
  bool declares_dim3(std::size_t i, const File& file) const;
  bool ends_name(std::size_t i, std::string_view name) const;
  std::optional<HostValue> value_at(std::size_t i, const File& file) const;
  bool is_changed_at(std::size_t i) const;
  bool is_in_device_code(std::size_t at) const;
  std::optional<HostValue> constant_in(const File& file, std::string_view name) const;

  std::deque<std::string> texts_;  ///< the tokens are parts of them
  std::vector<File> files_;
  Tokens tokens_;
  std::map<std::string, HostMacro, std::less<>> macros_;
  std::deque<TextLaunch> launches_;
  std::set<std::size_t> names_of_copies_;  ///< tokens that name the copy of a template
};

}  // namespace gpuexp::infer
