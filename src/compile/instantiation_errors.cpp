// is_named_in() of instantiation.hpp.
#include <cctype>
#include <utility>

#include "base/text_parts.hpp"
#include "compile/instantiation.hpp"

namespace gpuexp {

namespace {

bool is_of_word(char c) {
  return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '_';
}

/// Without blanks, and without the suffixes of integers: "3u, unsigned int" is "3,unsignedint".
std::string normalized(std::string_view arguments) {
  std::string text;
  bool in_number = false;
  for (const char c : arguments) {
    const bool is_digit = std::isdigit(static_cast<unsigned char>(c)) != 0;
    const bool begins_word = text.empty() || !is_of_word(text.back());
    in_number = is_of_word(c) && (in_number || (is_digit && begins_word));
    if (c != ' ' && (!in_number || is_digit)) text += c;
  }
  return text;
}

/// What follows each "name<" in the line, until a call of `found` returns true.
template <class Found>
bool any_of_name(std::string_view line, std::string_view name, const Found& found) {
  for (std::size_t at = line.find(name); at != line.npos; at = line.find(name, at + 1)) {
    const bool begins = at == 0 || !is_of_word(line[at - 1]);
    const std::string_view rest = line.substr(at + name.size());
    if (begins && rest.starts_with('<') && found(rest.substr(1))) return true;
  }
  return false;
}

/// The values in "N=3U, T=float], ...": "3,float".
std::string values_of(std::string_view assignments) {
  std::string values;
  int depth = 0;
  bool in_name = true;
  for (const char c : assignments) {
    if (c == ']' && depth == 0) break;
    if (c == '<' || c == '(' || c == '[') ++depth;
    if (c == '>' || c == ')' || c == ']') --depth;
    if (c == ',' && depth == 0) in_name = true;
    if (!in_name || c == ',') values += c;
    if (c == '=' && depth == 0) in_name = false;
  }
  return normalized(values);
}

/// Default arguments may follow the given ones.
bool begins_with_arguments(std::string_view text, const std::string& arguments) {
  return text.starts_with(arguments) &&
         (text.size() == arguments.size() || text[arguments.size()] == ',');
}

}  // namespace

// ptxas: "Entry function 'void blas::k<3u, float>(float*)' uses too much shared data". The front
// end: "instantiation of "void blas::k<N,T>(T *) [with N=3U, T=float]" at line 4".
bool is_named_in(std::string_view errors, const Instantiation& instantiation) {
  const std::size_t space = instantiation.kernel.rfind(':');
  const std::string name = instantiation.kernel.substr(space == std::string::npos ? 0 : space + 1);
  const std::string arguments = normalized(instantiation.arguments);
  while (!errors.empty()) {
    const std::string_view line = take_until(errors, "\n");
    constexpr std::string_view kWith = "[with ";
    const std::size_t with = line.find(kWith);
    const bool is_named = any_of_name(line, name, [&](std::string_view rest) {
      if (with != line.npos)
        return begins_with_arguments(values_of(line.substr(with + kWith.size())), arguments);
      if (!line.starts_with("ptxas error")) return false;
      const std::size_t end = rest.rfind(">(");
      return end != rest.npos && begins_with_arguments(normalized(rest.substr(0, end)), arguments);
    });
    if (is_named) return true;
  }
  return false;
}

}  // namespace gpuexp
