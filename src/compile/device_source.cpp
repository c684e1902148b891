#include "compile/device_source.hpp"

#include <algorithm>
#include <array>
#include <cstddef>

#include "base/text_parts.hpp"
#include "compile/source_tokens.hpp"

namespace gpuexp {

namespace {

using Tokens = std::vector<SourceToken>;

bool is_one_of(const SourceToken& token, const auto& words) {
  return std::ranges::find(words, token.text) != std::ranges::end(words);
}

/// Walks over the declarations at namespace scope, which end in ';' or a body.
class HostCode {
 public:
  explicit HostCode(std::string_view source)
      : source_(source), text_(source), tokens_(tokens_of(source)) {}

  std::string blanked() {
    while (at_ < tokens_.size())
      read_declaration();
    return std::move(text_);
  }

 private:
  bool is(std::size_t i, std::string_view mark) const {
    return i < tokens_.size() && tokens_[i].is(mark);
  }

  void read_declaration() {
    const std::size_t begin = at_;
    if (opens_scope()) return;
    const std::size_t end = end_of_declaration(begin);
    if (is_host(begin, end)) blank(begin, end);
    at_ = end;
  }

  /// Skips a mark between declarations, and enters "namespace a {" and "extern "C" {", whose
  /// declarations are read like others.
  bool opens_scope() {
    if (is(at_, "}") || is(at_, ";") || is(at_, "{")) {
      ++at_;
      return true;
    }
    std::size_t next = at_;
    if (is(next, "inline")) ++next;
    const bool is_linkage =
        is(next, "extern") && next + 1 < tokens_.size() && tokens_[next + 1].text.starts_with('"');
    if (!is_linkage && !is(next, "namespace")) return false;
    while (next < tokens_.size() && !is(next, "{") && !is(next, ";") && !is(next, "(") &&
           !is(next, "="))
      ++next;
    if (!is(next, "{")) return false;
    at_ = next + 1;
    return true;
  }

  /// The position after the declaration: after its ';', or after the body of a function.
  std::size_t end_of_declaration(std::size_t begin) const {
    bool has_parameters = false;
    for (std::size_t i = begin; i < tokens_.size();) {
      if (is(i, ";")) return i + 1;
      if (is(i, "}")) return i;  // the end of a namespace
      if (is(i, "(")) has_parameters = true;
      if (is(i, "{")) {
        const std::size_t end = after_bracket(tokens_, i);
        const bool is_function = has_parameters && !is(end, ";") && !is(end, ",");
        if (is_function) return end;
        i = end;
      } else if (is(i, "(") || is(i, "[") || is_template_bracket(begin, i)) {
        i = after_bracket(tokens_, i);
      } else {
        ++i;
      }
    }
    return tokens_.size();
  }

  bool is_template_bracket(std::size_t begin, std::size_t i) const {
    return is(i, "<") && i > begin && is(i - 1, "template");
  }

  bool is_host(std::size_t begin, std::size_t end) const {
    constexpr std::array<std::string_view, 6> kOfDevice{"__global__", "__device__",  "__constant__",
                                                        "__shared__", "__managed__", "constexpr"};
    constexpr std::array<std::string_view, 10> kKept{
        "using", "typedef",       "struct", "class",     "enum",
        "union", "static_assert", "friend", "namespace", "concept"};
    std::size_t first = begin;
    while (is(first, "template") && is(first + 1, "<"))
      first = after_bracket(tokens_, first + 1);
    if (first >= end) return false;
    if (is_one_of(tokens_[first], kKept))
      return is_function_of_type(first, end) || uses_host_library(first, end);
    bool has_parameters = false;
    bool has_host_type = false;
    bool is_constant = false;
    for (std::size_t i = first; i < end && !is(i, "{"); ++i) {
      if (is_one_of(tokens_[i], kOfDevice)) return false;
      has_parameters = has_parameters || is(i, "(");
      is_constant = is_constant || is(i, "const");
      has_host_type = has_host_type || (is(i, "std") && is(i + 1, ":"));
    }
    // NAME(...); and NAME; are macros, whose expansion is unknown.
    const bool is_macro = is(first + 1, "(");
    const bool is_main = is_macro && is(first, "main");
    if (is_macro || end - first <= 2) return is_main;
    // Device code can read only constants of the host.
    return has_parameters || has_host_type || !is_constant;
  }

  /// Whether a class or a name of a type depends on the standard library's host types.
  bool uses_host_library(std::size_t first, std::size_t end) const {
    constexpr std::array<std::string_view, 24> kHostTypes{
        "string",     "vector",     "map",       "unordered_map", "set",           "list",
        "deque",      "queue",      "exception", "runtime_error", "logic_error",   "ostream",
        "istream",    "ofstream",   "ifstream",  "stringstream",  "ostringstream", "function",
        "shared_ptr", "unique_ptr", "thread",    "mutex",         "chrono",        "mt19937"};
    bool is_used = false;
    for (std::size_t i = first; i < end; ++i) {
      if (is(i, "__device__") || is(i, "__global__")) return false;
      const bool is_std = is(i, "std") && is(i + 1, ":") && is(i + 2, ":") && i + 3 < end;
      is_used = is_used || (is_std && is_one_of(tokens_[i + 3], kHostTypes));
    }
    return is_used;
  }

  /// "struct Point f() {...}" is a function, "struct Point {...};" is not.
  bool is_function_of_type(std::size_t first, std::size_t end) const {
    if (!is(first, "struct") && !is(first, "class") && !is(first, "enum") && !is(first, "union"))
      return false;
    for (std::size_t i = first; i < end; ++i) {
      if (is(i, "{") || is(i, ":") || is(i, ";") || is(i, "alignas") || is(i, "__align__") ||
          is(i, "__attribute__"))
        return false;
      if (is(i, "__device__") || is(i, "__global__")) return false;
      if (is(i, "(")) return true;
    }
    return false;
  }

  void blank(std::size_t begin, std::size_t end) {
    for (std::size_t i = begin; i < end; ++i) {
      const auto from = static_cast<std::size_t>(tokens_[i].text.data() - source_.data());
      for (std::size_t c = from; c < from + tokens_[i].text.size(); ++c)
        if (text_[c] != '\n') text_[c] = ' ';
    }
  }

  std::string_view source_;
  std::string text_;
  Tokens tokens_;
  std::size_t at_ = 0;
};

}  // namespace

std::string device_source(std::string_view source) {
  return HostCode(source).blanked();
}

std::vector<IncludeDirective> include_directives(std::string_view source) {
  std::vector<IncludeDirective> directives;
  while (!source.empty()) {
    std::string_view line = trimmed(take_until(source, "\n"));
    if (!line.starts_with('#')) continue;
    line = trimmed(line.substr(1));
    if (!line.starts_with("include")) continue;
    line = trimmed(line.substr(std::string_view("include").size()));
    const bool is_quoted = line.starts_with('"');
    if (!is_quoted && !line.starts_with('<')) continue;
    line.remove_prefix(1);
    directives.push_back({std::string(take_until(line, is_quoted ? "\"" : ">")), is_quoted});
  }
  return directives;
}

}  // namespace gpuexp
