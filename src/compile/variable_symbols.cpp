#include "compile/variable_symbols.hpp"

#include <algorithm>
#include <array>
#include <cstdlib>
#include <memory>

#include <cxxabi.h>

#include "compile/source_tokens.hpp"

namespace gpuexp {

namespace {

bool is_memory_space(const SourceToken& token) {
  return token.is("__device__") || token.is("__constant__") || token.is("__managed__");
}

// Words that are part of neither the type nor the name.
bool is_storage_word(const SourceToken& token) {
  constexpr std::array<std::string_view, 7> kWords{"static",    "extern",  "inline",   "constexpr",
                                                   "constinit", "alignas", "__align__"};
  return is_memory_space(token) ||
         std::find(kWords.begin(), kWords.end(), token.text) != kWords.end();
}

/// Reads the declaration that contains the token at `at`.
class VariableReader {
 public:
  VariableReader(const std::vector<SourceToken>& tokens, std::size_t at)
      : tokens_(tokens), at_(at) {
    while (at_ > 0 && tokens_[at_ - 1].is_word())
      --at_;
  }

  /// Appends the variables. Returns the position after the declaration.
  std::size_t read(std::vector<DeclaredVariable>& variables) {
    std::vector<SourceToken> words = declarator();
    // A function has parameters after its name.
    if (is("(") || words.size() < 2) return at_ + 1;
    std::string_view name = words.back().text;
    words.pop_back();
    const CType type = type_named(words);
    while (true) {
      variables.push_back({std::string(name), type});
      skip_initializer();
      if (!is(",")) return at_;
      ++at_;
      words = declarator();
      if (words.size() != 1) return at_;
      name = words.back().text;
    }
  }

 private:
  bool is(std::string_view mark) const { return at_ < tokens_.size() && tokens_[at_].is(mark); }

  // The tokens of type and name, up to the end of the declarator.
  std::vector<SourceToken> declarator() {
    std::vector<SourceToken> words;
    while (at_ < tokens_.size() && !is("[") && !is("=") && !is(";") && !is(",") && !is("{") &&
           !is("(") && !is("}")) {
      if (is_storage_word(tokens_[at_])) {
        ++at_;
        if (is("(")) at_ = after_bracket(tokens_, at_);  // __align__(16)
      } else if (is("<")) {
        const std::size_t end = after_bracket(tokens_, at_);
        while (at_ < end)
          words.push_back(tokens_[at_++]);
      } else {
        words.push_back(tokens_[at_++]);
      }
    }
    return words;
  }

  void skip_initializer() {
    while (at_ < tokens_.size() && !is(",") && !is(";") && !is("}"))
      at_ = is("[") || is("{") || is("(") ? after_bracket(tokens_, at_) : at_ + 1;
  }

  const std::vector<SourceToken>& tokens_;
  std::size_t at_;
};

}  // namespace

std::vector<DeclaredVariable> variables_in(std::string_view source) {
  const std::vector<SourceToken> tokens = tokens_of(source);
  std::vector<DeclaredVariable> variables;
  for (std::size_t i = 0; i < tokens.size();)
    i = is_memory_space(tokens[i]) ? std::max(VariableReader(tokens, i).read(variables), i + 1)
                                   : i + 1;
  return variables;
}

std::string variable_name(const std::string& lowered_name) {
  const std::unique_ptr<char, decltype(&std::free)> demangled(
      lowered_name.starts_with("_Z")
          ? abi::__cxa_demangle(lowered_name.c_str(), nullptr, nullptr, nullptr)
          : nullptr,
      &std::free);
  std::string name = demangled ? demangled.get() : lowered_name;
  constexpr std::string_view kUnnamed = "(anonymous namespace)::";
  if (const std::size_t at = name.find(kUnnamed); at != name.npos) name.erase(at, kUnnamed.size());
  if (name.starts_with("$") || name.starts_with("__") ||
      name.find_first_of("(<") != std::string::npos)
    return "";
  const std::size_t scope = name.rfind("::");
  return scope == std::string::npos ? name : name.substr(scope + 2);
}

}  // namespace gpuexp
