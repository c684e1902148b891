#include "compile/kernel_symbols.hpp"

#include <algorithm>
#include <array>
#include <iterator>
#include <optional>
#include <utility>

#include "base/demangled_name.hpp"
#include "compile/source_tokens.hpp"

namespace gpuexp {

namespace {

using Tokens = std::vector<SourceToken>;

/// A declaration of a kernel in the source.
struct DeclaredKernel {
  std::string name;
  std::size_t line = 0;
  std::vector<KernelParameter> parameters;
  std::string scope = {};  ///< namespaces: "linear::blas::"
  bool is_template = false;
};

bool is_attribute(const SourceToken& token) {
  constexpr std::array<std::string_view, 9> kNames{
      "__launch_bounds__", "__cluster_dims__", "__block_size__", "__maxnreg__", "__attribute__",
      "__align__",         "alignas",          "noexcept",       "__declspec"};
  return std::find(kNames.begin(), kNames.end(), token.text) != kNames.end();
}

// Words after which a parameter has no name yet.
bool is_type_word(const SourceToken& token) {
  constexpr std::array<std::string_view, 23> kWords{
      "const", "volatile", "struct",   "class",  "enum",  "typename",     "unsigned",  "signed",
      "char",  "short",    "int",      "long",   "float", "double",       "bool",      "void",
      "auto",  "register", "restrict", "size_t", "half",  "__restrict__", "__restrict"};
  return std::find(kWords.begin(), kWords.end(), token.text) != kWords.end();
}

bool is_mark(const Tokens& tokens, std::size_t i, std::string_view mark) {
  return i < tokens.size() && tokens[i].is(mark);
}

// A parameter's tokens without its default value and attributes.
Tokens without_additions(const Tokens& tokens) {
  Tokens kept;
  for (std::size_t i = 0; i < tokens.size() && !tokens[i].is("=");) {
    if (is_attribute(tokens[i]) && is_mark(tokens, i + 1, "(")) {
      i = after_bracket(tokens, i + 1);
    } else if (tokens[i].is("[") && is_mark(tokens, i + 1, "[")) {
      i = after_bracket(tokens, i);
    } else if (tokens[i].is("<")) {
      const std::size_t end = after_bracket(tokens, i);
      while (i < end)
        kept.push_back(tokens[i++]);
    } else {
      kept.push_back(tokens[i++]);
    }
  }
  return kept;
}

// Removes and returns the name, if the tokens end in one: a word after a type.
std::string take_name(Tokens& tokens) {
  if (tokens.size() < 2 || !tokens.back().is_word() || is_type_word(tokens.back())) return "";
  const bool is_qualified = tokens[tokens.size() - 2].is(":");
  const bool has_type = std::any_of(tokens.begin(), tokens.end() - 1, [](const SourceToken& t) {
    return t.is_word() && !t.is("const") && !t.is("volatile") && !t.is("struct") &&
           !t.is("class") && !t.is("enum") && !t.is("typename");
  });
  if (is_qualified || !has_type) return "";
  const std::string name(tokens.back().text);
  tokens.pop_back();
  return name;
}

// Sets the name of "float (*a)[32]" and removes what follows the element's type. The name of a
// demangled type is empty.
void take_nested_declarator(Tokens& tokens, KernelParameter& parameter) {
  for (std::size_t i = 0; i + 1 < tokens.size(); ++i) {
    if (tokens[i].is("<")) {
      i = after_bracket(tokens, i) - 1;
    } else if (tokens[i].is("(") && tokens[i + 1].is("*")) {
      const std::size_t end = after_bracket(tokens, i);
      for (std::size_t j = i; j < end; ++j)
        if (tokens[j].is_word() && !is_type_word(tokens[j])) parameter.name = tokens[j].text;
      const bool is_function = is_mark(tokens, end, "(");
      parameter.is_pointer = true;
      tokens.resize(i);
      if (is_function) tokens.clear();
      return;
    }
  }
}

KernelParameter parameter_of(const Tokens& all, bool is_named) {
  KernelParameter parameter;
  Tokens tokens = without_additions(all);
  parameter.spelled = joined(tokens, 0, tokens.size());
  take_nested_declarator(tokens, parameter);
  const auto extent = std::find_if(tokens.begin(), tokens.end(),
                                   [](const SourceToken& token) { return token.is("["); });
  if (extent != tokens.end() && tokens.back().is("]")) {
    tokens.erase(extent, tokens.end());
    parameter.is_pointer = true;
  }
  if (is_named && parameter.name.empty()) parameter.name = take_name(tokens);
  // The first * outside of template arguments, and the number of them.
  std::size_t base = tokens.size();
  int stars = 0;
  for (std::size_t i = 0; i < tokens.size(); ++i) {
    if (tokens[i].is("<")) i = after_bracket(tokens, i) - 1;
    if (i >= tokens.size() || !tokens[i].is("*")) continue;
    if (stars++ == 0) base = i;
  }
  const int pointers = stars + (parameter.is_pointer ? 1 : 0);
  const Tokens type(tokens.begin(), tokens.begin() + static_cast<std::ptrdiff_t>(base));
  parameter.type = type_named(type);
  if (pointers > 1) {
    parameter.type =
        CType{CElement::unknown, 1, parameter.type.text + std::string(pointers - 1, '*')};
  }
  parameter.is_pointer = pointers > 0;
  parameter.is_const =
      parameter.is_pointer &&
      std::any_of(type.begin(), type.end(), [](const auto& t) { return t.is("const"); });
  return parameter;
}

// Parameters in the parentheses at `open`.
std::vector<KernelParameter> parameters_at(const Tokens& tokens, std::size_t open, bool is_named) {
  std::vector<KernelParameter> parameters;
  const std::size_t end = after_bracket(tokens, open);
  const std::size_t close = end - (is_mark(tokens, end - 1, ")") ? 1 : 0);
  bool in_default = false;  // where < may mean "less than"
  std::size_t begin = open + 1;
  const auto finish = [&](std::size_t at) {
    const Tokens part(tokens.begin() + static_cast<std::ptrdiff_t>(begin),
                      tokens.begin() + static_cast<std::ptrdiff_t>(at));
    if (!part.empty() && !(part.size() == 1 && part[0].is("void")))
      parameters.push_back(parameter_of(part, is_named));
    begin = at + 1;
    in_default = false;
  };
  for (std::size_t i = open + 1; i < close;) {
    if (tokens[i].is("=")) in_default = true;
    const bool opens = tokens[i].is("(") || tokens[i].is("[") || tokens[i].is("{") ||
                       (tokens[i].is("<") && !in_default);
    if (tokens[i].is(",")) finish(i);
    i = opens ? after_bracket(tokens, i) : i + 1;
  }
  finish(close);
  return parameters;
}

// Whether a function's parameters end before token `i`: its body, the end of its declaration or
// more of it follows.
bool follows_parameters(const Tokens& tokens, std::size_t i) {
  return i < tokens.size() && (tokens[i].is("{") || tokens[i].is(";") || tokens[i].is("-") ||
                               is_attribute(tokens[i]) || tokens[i].is("requires"));
}

// The declaration after __global__ at position `at`. Words with arguments before the name are
// attributes or macros.
std::optional<DeclaredKernel> declared_after(const Tokens& tokens, std::size_t at) {
  const std::size_t end_of_search = std::min(tokens.size(), at + kMaxBracketTokens);
  for (std::size_t i = at + 1; i < end_of_search;) {
    const SourceToken& token = tokens[i];
    if (token.is("{") || token.is("}") || token.is(";") || token.is("__global__")) break;
    std::size_t next = token.is("[") ? after_bracket(tokens, i) : i + 1;
    if (token.is_word() && is_mark(tokens, next, "<")) next = after_bracket(tokens, next);
    if (token.is_word() && is_mark(tokens, next, "(")) {
      const std::size_t end = after_bracket(tokens, next);
      if (!is_attribute(token) && follows_parameters(tokens, end))
        return DeclaredKernel{std::string(token.text), token.line,
                              parameters_at(tokens, next, true)};
      next = end;
    }
    i = next;
  }
  return std::nullopt;
}

/// The namespaces at a position of the source. An anonymous namespace needs no name.
class Scope {
 public:
  /// Reads the next token.
  void read(const SourceToken& token) {
    if (token.is("namespace")) {
      next_.clear();
      is_namespace_ = true;
    } else if (token.is("{")) {
      opened_.push_back(is_namespace_ && !next_.empty() ? next_ + "::" : "");
      is_namespace_ = false;
    } else if (token.is("}") && !opened_.empty()) {
      opened_.pop_back();
    } else if (token.is(";") || token.is("=")) {
      is_namespace_ = false;  // a using directive or an alias
    } else if (is_namespace_) {
      next_ += token.text;
    }
  }
  std::string text() const {
    std::string all;
    for (const std::string& name : opened_)
      all += name;
    return all;
  }

 private:
  std::vector<std::string> opened_;  ///< for each open brace its namespace, or ""
  std::string next_;
  bool is_namespace_ = false;
};

std::vector<DeclaredKernel> declared_kernels(std::string_view source) {
  const Tokens tokens = tokens_of(source);
  std::vector<DeclaredKernel> kernels;
  Scope scope;
  bool is_template = false;
  for (std::size_t i = 0; i < tokens.size(); ++i) {
    scope.read(tokens[i]);
    if (tokens[i].is("template")) is_template = true;
    if (tokens[i].is(";") || tokens[i].is("{") || tokens[i].is("}")) is_template = false;
    if (!tokens[i].is("__global__")) continue;
    auto kernel = declared_after(tokens, i);
    if (!kernel) continue;
    kernel->scope = scope.text();
    kernel->is_template = is_template;
    kernels.push_back(std::move(*kernel));
  }
  return kernels;
}

std::vector<DeclaredKernel> declared_kernels(const std::vector<std::string>& sources) {
  std::vector<DeclaredKernel> kernels;
  for (const std::string& source : sources) {
    for (DeclaredKernel& kernel : declared_kernels(std::string_view(source)))
      kernels.push_back(std::move(kernel));
  }
  return kernels;
}

// Fills name, template arguments and parameters from "void space::add<float>(float const*, int)".
void read_demangled(const std::string& text, KernelSignature& signature) {
  const Tokens tokens = tokens_of(text);
  for (std::size_t i = 0; i < tokens.size();) {
    if (tokens[i].is("(")) {
      const bool is_anonymous = is_mark(tokens, i + 1, "anonymous");
      if (!is_anonymous) {
        signature.parameters = parameters_at(tokens, i, false);
        return;
      }
      i = after_bracket(tokens, i);
    } else if (tokens[i].is("<")) {
      const std::size_t end = after_bracket(tokens, i);
      signature.template_arguments = joined(tokens, i + 1, end - 1);
      i = end;
    } else {
      if (tokens[i].is_word()) {
        signature.name = tokens[i].text;
        signature.template_arguments.clear();
      }
      ++i;
    }
  }
}

// How well the declaration fits. Types of template parameters are unknown. An explicit
// instantiation has equal types but no names, so a name is worth more than an equal type.
int agreement(const DeclaredKernel& declared, const KernelSignature& signature) {
  constexpr int kConflict = -4;
  constexpr int kSameType = 2;
  constexpr int kUnknownType = 1;
  constexpr int kName = 2;
  int score = 0;
  for (std::size_t i = 0; i < declared.parameters.size(); ++i) {
    const KernelParameter& a = declared.parameters[i];
    const KernelParameter& b = signature.parameters[i];
    const bool is_same = a.type.element == b.type.element && a.type.lanes == b.type.lanes &&
                         a.is_pointer == b.is_pointer;
    const bool is_unknown = a.type.element == CElement::unknown;
    score += is_unknown ? kUnknownType : is_same ? kSameType : kConflict;
    if (!a.name.empty()) score += kName;
  }
  return score;
}

void add_names(KernelSignature& signature, const std::vector<DeclaredKernel>& declared) {
  const DeclaredKernel* best = nullptr;
  for (const DeclaredKernel& kernel : declared) {
    if (kernel.name != signature.name || kernel.parameters.size() != signature.parameters.size())
      continue;
    if (!best || agreement(kernel, signature) > agreement(*best, signature)) best = &kernel;
  }
  if (!best) return;
  signature.line = best->line;
  for (std::size_t i = 0; i < signature.parameters.size(); ++i) {
    signature.parameters[i].name = best->parameters[i].name;
    signature.parameters[i].spelled = best->parameters[i].spelled;
  }
}

KernelSignature signature_of(const std::string& lowered_name,
                             const std::vector<DeclaredKernel>& declared) {
  KernelSignature signature;
  signature.lowered_name = lowered_name;
  const std::string demangled = demangled_name(lowered_name);
  if (demangled != lowered_name) {
    read_demangled(demangled, signature);
    add_names(signature, declared);
    return signature;
  }
  signature.name = lowered_name;
  for (const DeclaredKernel& kernel : declared) {
    const bool has_names = std::none_of(kernel.parameters.begin(), kernel.parameters.end(),
                                        [](const auto& p) { return p.name.empty(); });
    if (kernel.name != lowered_name || (signature.line != 0 && !has_names)) continue;
    signature.line = kernel.line;
    signature.parameters = kernel.parameters;
  }
  return signature;
}

std::vector<KernelParameter> untyped_parameters(const std::vector<std::int64_t>& sizes) {
  std::vector<KernelParameter> parameters;
  for (const std::int64_t bytes : sizes) {
    KernelParameter& parameter = parameters.emplace_back();
    parameter.spelled = std::to_string(bytes) + (bytes == 1 ? " byte" : " bytes");
    parameter.untyped_bytes = bytes;
  }
  return parameters;
}

}  // namespace

std::vector<KernelSignature> signatures(const std::vector<std::string>& lowered_names,
                                        const std::vector<std::string>& sources) {
  const std::vector<DeclaredKernel> declared = declared_kernels(sources);
  std::vector<KernelSignature> all;
  for (const std::string& name : lowered_names)
    all.push_back(signature_of(name, declared));
  return all;
}

std::vector<KernelSignature> signatures(const std::vector<std::string>& lowered_names,
                                        std::string_view source) {
  return signatures(lowered_names, std::vector{std::string(source)});
}

std::vector<KernelSignature> signatures(const CubinKernels& kernels,
                                        const std::vector<std::string>& sources) {
  std::vector<std::string> names;
  for (const auto& [name, row] : kernels.rows())
    names.push_back(name);
  std::vector<KernelSignature> all = signatures(names, sources);
  for (KernelSignature& signature : all) {
    const auto& bytes = kernels.attributes(signature.lowered_name).parameter_bytes;
    if (signature.parameters.empty()) signature.parameters = untyped_parameters(bytes);
  }
  return all;
}

std::vector<KernelSignature> signatures(const CubinKernels& kernels, std::string_view source) {
  return signatures(kernels, std::vector{std::string(source)});
}

std::vector<std::string> kernels_in(const std::vector<std::string>& sources) {
  std::vector<std::string> names;
  for (const DeclaredKernel& kernel : declared_kernels(sources))
    if (std::find(names.begin(), names.end(), kernel.name) == names.end())
      names.push_back(kernel.name);
  return names;
}

std::map<std::string, std::size_t, std::less<>> kernel_lines(std::string_view source) {
  std::map<std::string, std::size_t, std::less<>> lines;
  for (const DeclaredKernel& kernel : declared_kernels(source))
    lines[kernel.name] = kernel.line;
  return lines;
}

std::vector<std::string> kernels_in(std::string_view source) {
  return kernels_in(std::vector{std::string(source)});
}

std::optional<SourceKernel> kernel_in(std::string_view source, std::string_view name) {
  std::optional<SourceKernel> found;
  for (const DeclaredKernel& kernel : declared_kernels(source)) {
    if (kernel.name != name) continue;
    if (!found) found = {kernel.scope + kernel.name, false};
    found->is_template = found->is_template || kernel.is_template;
  }
  return found;
}

}  // namespace gpuexp
