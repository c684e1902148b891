#include "infer/host_code.hpp"

#include <algorithm>
#include <utility>

#include "base/text_parts.hpp"

namespace gpuexp::infer {

namespace {

constexpr std::size_t kNone = static_cast<std::size_t>(-1);

bool opens(const SourceToken& token) {
  return token.is("(") || token.is("[") || token.is("{");
}
bool closes(const SourceToken& token) {
  return token.is(")") || token.is("]") || token.is("}");
}

/// Whether the tokens are next to each other in the text, as in <<<.
bool are_adjacent(const SourceToken& a, const SourceToken& b) {
  return a.text.data() + a.text.size() == b.text.data();
}

/// Names of a function's or macro's parameters: the last word of each part.
std::vector<std::string> parameter_names(const Tokens& tokens) {
  std::vector<std::string> names;
  for (const Tokens& part : comma_parts(tokens)) {
    const auto last = std::find_if(part.rbegin(), part.rend(),
                                   [](const SourceToken& token) { return token.is_word(); });
    names.emplace_back(last == part.rend() ? std::string_view{} : last->text);
  }
  return names;
}

/// The line at the front of the text, with the lines that a backslash appends. Removes it.
std::string_view take_logical_line(std::string_view& text) {
  std::size_t end = text.find('\n');
  while (end != std::string_view::npos && end > 0 &&
         (text[end - 1] == '\\' || (text[end - 1] == '\r' && end > 1 && text[end - 2] == '\\')))
    end = text.find('\n', end + 1);
  const std::string_view line = text.substr(0, end);
  text.remove_prefix(end == std::string_view::npos ? text.size() : end + 1);
  return line;
}

}  // namespace

std::vector<Tokens> comma_parts(const Tokens& tokens) {
  std::vector<Tokens> parts;
  if (tokens.empty()) return parts;
  int depth = 0;
  parts.emplace_back();
  for (std::size_t i = 0; i < tokens.size(); ++i) {
    const SourceToken& token = tokens[i];
    // The arguments of static_cast<…> and of a template have commas of their own.
    const bool is_template = token.is("<") && i > 0 && tokens[i - 1].is_word();
    const std::size_t end = is_template ? after_bracket(tokens, i) : i;
    if (is_template && end < tokens.size()) {
      parts.back().insert(parts.back().end(), tokens.begin() + static_cast<std::ptrdiff_t>(i),
                          tokens.begin() + static_cast<std::ptrdiff_t>(end));
      i = end - 1;
      continue;
    }
    depth += opens(token) ? 1 : closes(token) ? -1 : 0;
    if (depth == 0 && token.is(",")) {
      parts.emplace_back();
    } else {
      parts.back().push_back(token);
    }
  }
  return parts;
}

void HostCode::add(const std::string& file, const std::string& text) {
  const std::string& kept = texts_.emplace_back(text);
  const Tokens tokens = tokens_of(kept);
  const File added{file, tokens_.size(), tokens_.size() + tokens.size()};
  tokens_.insert(tokens_.end(), tokens.begin(), tokens.end());
  files_.push_back(added);
  read_macros(kept);
  read_functions(added);
  read_launches(added);
}

const HostMacro* HostCode::macro(std::string_view name) const {
  const auto found = macros_.find(name);
  return found == macros_.end() ? nullptr : &found->second;
}

bool HostCode::is_triple(std::size_t i, char mark) const {
  const std::string_view text(&mark, 1);
  return is(i, text) && is(i + 1, text) && is(i + 2, text) &&
         are_adjacent(tokens_[i], tokens_[i + 1]) && are_adjacent(tokens_[i + 1], tokens_[i + 2]);
}

Tokens HostCode::part(std::size_t begin, std::size_t end) const {
  if (begin >= end) return {};
  return {tokens_.begin() + static_cast<std::ptrdiff_t>(begin),
          tokens_.begin() + static_cast<std::ptrdiff_t>(end)};
}

// ---- macros and functions

void HostCode::read_macros(std::string_view text) {
  while (!text.empty()) {
    std::string_view line = trimmed(take_logical_line(text));
    if (!line.starts_with('#')) continue;
    line = trimmed(line.substr(1));
    if (!line.starts_with("define")) continue;
    const Tokens tokens = tokens_of(line);
    if (tokens.size() < 3 || !tokens[1].is_word()) continue;
    HostMacro macro;
    std::size_t body = 2;
    if (tokens[2].is("(") && are_adjacent(tokens[1], tokens[2])) {
      body = after_bracket(tokens, 2);
      if (!tokens[body - 1].is(")")) continue;
      macro.has_parameters = true;
      macro.parameters = parameter_names(
          {tokens.begin() + 3, tokens.begin() + static_cast<std::ptrdiff_t>(body) - 1});
    }
    macro.body.assign(tokens.begin() + static_cast<std::ptrdiff_t>(body), tokens.end());
    macros_.emplace(tokens[1].text, std::move(macro));
  }
}

void HostCode::read_functions(const File& file) {
  for (std::size_t i = file.begin; i + 1 < file.end; ++i) {
    if (!tokens_[i].is_word() || !is(i + 1, "(")) continue;
    const std::size_t body = after_bracket(tokens_, i + 1);
    if (!is(body, "{") || !is(body + 1, "return")) continue;
    std::size_t end = body + 2;
    while (end < file.end && !is(end, ";") && !is(end, "}"))
      ++end;
    if (!is(end, ";") || !is(end + 1, "}")) continue;
    macros_.emplace(tokens_[i].text,
                    HostMacro{true, parameter_names(part(i + 2, body - 1)), part(body + 2, end)});
  }
}

// ---- launches

void HostCode::read_launches(const File& file) {
  for (std::size_t i = file.begin; i < file.end; ++i) {
    if (!is_triple(i, '<')) continue;
    if (auto launch = launch_at(i, file)) launches_.push_back(std::move(*launch));
    i += 2;
  }
}

/// The < that the > at `close` closes; kNone if there is none.
std::size_t HostCode::opening_before(std::size_t close, const File& file) const {
  int depth = 0;
  for (std::size_t i = close + 1; i-- > file.begin;) {
    if (tokens_[i].is(">") || closes(tokens_[i])) ++depth;
    if (tokens_[i].is("<") || opens(tokens_[i])) --depth;
    if (depth == 0) return i;
    if (tokens_[i].is(";")) break;
  }
  return kNone;
}

std::optional<TextLaunch> HostCode::launch_at(std::size_t open, const File& file) const {
  if (open == file.begin) return std::nullopt;
  TextLaunch launch;
  launch.at = open - 1;
  if (is(open - 1, ">")) {
    const std::size_t less = opening_before(open - 1, file);
    if (less == kNone || less == file.begin) return std::nullopt;
    launch.template_arguments = comma_parts(part(less + 1, open - 1));
    launch.at = less - 1;
  }
  if (!tokens_[launch.at].is_word()) return std::nullopt;
  launch.kernel = tokens_[launch.at].text;
  launch.file = file.name;
  launch.line = tokens_[launch.at].line;
  std::size_t close = open + 3;
  while (close < file.end && !is_triple(close, '>') && !is(close, ";"))
    close = opens(tokens_[close]) ? after_bracket(tokens_, close) : close + 1;
  if (close >= file.end || !is(close + 3, "(")) return std::nullopt;
  std::vector<Tokens> parts = comma_parts(part(open + 3, close));
  if (parts.size() < 2) return std::nullopt;
  launch.grid = std::move(parts[0]);
  launch.block = std::move(parts[1]);
  if (parts.size() > 2) launch.bytes = std::move(parts[2]);
  const std::size_t end = after_bracket(tokens_, close + 3);
  if (end > file.end || !is(end - 1, ")")) return std::nullopt;
  launch.arguments = comma_parts(part(close + 4, end - 1));
  launch.end = end;
  return launch;
}

// ---- places

HostPlace HostCode::place_of(std::size_t at) const {
  const auto file =
      std::ranges::find_if(files_, [&](const File& f) { return at >= f.begin && at < f.end; });
  HostPlace place;
  int closed = 0;  // blocks that ended before
  for (std::size_t i = at; i-- > file->begin;) {
    if (is(i, "}")) ++closed;
    if (!is(i, "{") || closed-- > 0) continue;
    closed = 0;
    if (place.block == 0) place.block = i;
    std::size_t close = i;
    while (close > file->begin && (close == i || is(close, "const") || is(close, "noexcept")))
      --close;
    if (close == file->begin || !is(close, ")")) continue;
    const std::size_t open = opening_before(close, *file);
    if (open == kNone || open == file->begin) continue;
    // void operator()(int n) {
    const bool is_operator =
        is(open - 1, ")") && open >= file->begin + 3 && is(open - 3, "operator");
    if (!is_operator && !tokens_[open - 1].is_word()) continue;
    // The outermost one is the function; those in it are conditions and loops.
    place.function = std::string(tokens_[is_operator ? open - 3 : open - 1].text) + file->suffix;
    place.body = i;
  }
  return place;
}

std::string HostCode::instance_at(std::size_t at) const {
  const auto file =
      std::ranges::find_if(files_, [&](const File& f) { return at >= f.begin && at < f.end; });
  return file->suffix;
}

bool HostCode::mentions(std::string_view name, std::size_t begin, std::size_t end) const {
  for (std::size_t i = begin; i < std::min(end, tokens_.size()); ++i)
    if (tokens_[i].is(name)) return true;
  return false;
}

std::optional<Tokens> HostCode::memset_before(const Tokens& pointer, std::size_t at) const {
  if (pointer.size() != 1 || !pointer[0].is_word()) return std::nullopt;
  int closed = 0;  // blocks that ended before the launch
  for (const File& file : files_) {
    if (at < file.begin || at >= file.end) continue;
    for (std::size_t i = at; i-- > file.begin;) {
      if (is(i, "}")) ++closed;
      if (is(i, "{") && closed > 0) --closed;
      if (!tokens_[i].is(pointer[0].text)) continue;
      return closed > 0 ? std::nullopt : byte_of_memset(i);
    }
  }
  return std::nullopt;
}

/// The byte in cudaMemset(pointer, byte, …), if token i is the pointer, which may be cast.
std::optional<Tokens> HostCode::byte_of_memset(std::size_t i) const {
  std::size_t open = i - 1;
  std::size_t after = i + 1;
  if (is(open, "(") && is(after, ")")) {
    --open;
    ++after;
  }
  const bool is_cast = is(open, ")");
  while (is(open, ")") || is(open, "*") || is(open, "void"))
    --open;
  if (is_cast && is(open, "(")) --open;
  const bool is_memset =
      open > 0 && is(open, "(") && (is(open - 1, "cudaMemset") || is(open - 1, "cudaMemsetAsync"));
  if (!is_memset || !is(after, ",")) return std::nullopt;
  const Tokens byte = part(after + 1, end_of_initializer(after + 1, tokens_.size()));
  return byte.empty() ? std::nullopt : std::optional(byte);
}

std::optional<Tokens> HostCode::allocation_before(const Tokens& pointer, std::size_t at) const {
  if (pointer.size() != 1 || !pointer[0].is_word()) return std::nullopt;
  const auto file =
      std::ranges::find_if(files_, [&](const File& f) { return at >= f.begin && at < f.end; });
  int closed = 0;  // blocks that ended before the launch
  for (std::size_t i = at; i-- > file->begin;) {
    if (is(i, "}")) ++closed;
    if (is(i, "{") && closed > 0) --closed;
    const bool is_call =
        (is(i, "cudaMalloc") || is(i, "cudaMallocManaged") || is(i, "cudaMallocAsync")) &&
        is(i + 1, "(");
    if (closed > 0 || !is_call) continue;
    const std::vector<Tokens> arguments =
        comma_parts(part(i + 2, std::min(after_bracket(tokens_, i + 1), file->end) - 1));
    const bool is_of_pointer =
        arguments.size() > 1 && !arguments[0].empty() && arguments[0].back().is(pointer[0].text);
    if (is_of_pointer) return arguments[1];
  }
  return std::nullopt;
}

std::vector<SymbolUse> HostCode::symbol_uses() const {
  std::vector<SymbolUse> uses;
  for (const File& file : files_) {
    for (std::size_t i = file.begin; i + 1 < file.end; ++i) {
      const bool is_copy = is(i, "cudaMemcpyToSymbol") || is(i, "cudaMemcpyToSymbolAsync");
      if ((!is_copy && !is(i, "cudaGetSymbolAddress")) || !is(i + 1, "(")) continue;
      const std::vector<Tokens> arguments =
          comma_parts(part(i + 2, std::min(after_bracket(tokens_, i + 1), file.end) - 1));
      if (arguments.size() < 2) continue;
      const Tokens& symbol = arguments[is_copy ? 0 : 1];
      const auto name = std::find_if(symbol.rbegin(), symbol.rend(),
                                     [](const SourceToken& token) { return token.is_word(); });
      if (name == symbol.rend()) continue;
      uses.push_back({std::string(name->text), is_copy ? arguments[1] : Tokens{}, file.name,
                      tokens_[i].line, i});
    }
  }
  return uses;
}

/// Whether the function around the token is a kernel or a device function.
bool HostCode::is_in_device_code(std::size_t at) const {
  const HostPlace place = place_of(at);
  if (place.function.empty()) return false;
  for (std::size_t i = place.body; i-- > 0;) {
    if (is(i, ";") || is(i, "}")) return false;
    if (is(i, "__global__") || is(i, "__device__")) return true;
  }
  return false;
}

bool HostCode::is_used_by_device(std::string_view name) const {
  for (std::size_t i = 0; i < tokens_.size(); ++i)
    if (tokens_[i].is(name) && is_in_device_code(i)) return true;
  return false;
}

bool HostCode::defines(std::string_view name) const {
  constexpr std::string_view kTypes[] = {"struct", "class", "enum", "using"};
  for (std::size_t i = 1; i < tokens_.size(); ++i) {
    if (!tokens_[i].is(name)) continue;
    if (std::ranges::any_of(kTypes, [&](std::string_view type) { return is(i - 1, type); }))
      return true;
    if (is(i + 1, "(") && tokens_[i - 1].is_word() && is(after_bracket(tokens_, i + 1), "{"))
      return true;
  }
  return false;
}

// ---- values of variables

std::optional<HostValue> HostCode::value(std::string_view name, std::size_t at) const {
  for (const File& file : files_) {
    if (at < file.begin || at >= file.end) continue;
    return value_in(file, name, at);
  }
  return std::nullopt;
}

std::size_t HostCode::end_of_initializer(std::size_t i, std::size_t end) const {
  while (i < end && !is(i, ",") && !is(i, ";") && !closes(tokens_[i]))
    i = opens(tokens_[i]) ? after_bracket(tokens_, i) : i + 1;
  return std::min(i, end);
}

/// Whether token i is a variable in a declaration such as `dim3 block(16, 16), grid(n)`.
bool HostCode::declares_dim3(std::size_t i, const File& file) const {
  int depth = 0;
  for (std::size_t j = i; j-- > file.begin;) {
    if (closes(tokens_[j])) ++depth;
    if (opens(tokens_[j]) && depth-- == 0) return false;
    if (depth > 0) continue;
    if (is(j, "dim3")) return j + 1 == i || is(i - 1, ",");
    if (is(j, ";") || is(j, "=")) return false;
  }
  return false;
}

/// Whether token i is the variable, or the last one of a member's name.
bool HostCode::ends_name(std::size_t i, std::string_view name) const {
  const std::size_t dot = name.find('.');
  const bool is_member = i > 1 && (is(i - 1, ".") || is(i - 1, ">"));
  if (dot == std::string_view::npos) return !is_member && tokens_[i].is(name);
  return is_member && tokens_[i].is(name.substr(dot + 1)) && is(i - 1, ".") &&
         is(i - 2, name.substr(0, dot));
}

/// The value that the variable at token i gets there.
std::optional<HostValue> HostCode::value_at(std::size_t i, const File& file) const {
  if (i + 1 >= file.end) return std::nullopt;
  if (is(i + 1, "=") && !is(i + 2, "="))
    return HostValue{part(i + 2, end_of_initializer(i + 2, file.end)), false, i};
  const bool is_constructed = (is(i + 1, "(") || is(i + 1, "{")) && declares_dim3(i, file);
  if (!is_constructed) return std::nullopt;
  const std::size_t end = after_bracket(tokens_, i + 1);
  return HostValue{part(i + 2, std::min(end, file.end) - 1), true, i};
}

/// Whether ++, --, or an assignment such as += changes the variable at token i.
bool HostCode::is_changed_at(std::size_t i) const {
  constexpr std::string_view kOperators = "+-*/%&|^<>";
  const auto is_operator = [&](std::size_t at) {
    return at < tokens_.size() && tokens_[at].text.size() == 1 &&
           kOperators.find(tokens_[at].text) != std::string_view::npos;
  };
  if (!is_operator(i + 1)) return false;
  const bool is_step = (is(i + 1, "+") || is(i + 1, "-")) && is(i + 2, tokens_[i + 1].text) &&
                       are_adjacent(tokens_[i + 1], tokens_[i + 2]);
  const std::size_t last = is(i + 2, tokens_[i + 1].text) ? i + 2 : i + 1;  // <<= and >>=
  const bool is_comparison = last == i + 1 && (is(last, "<") || is(last, ">"));
  const bool is_assignment = is(last + 1, "=") && !is_comparison;
  return is_step || is_assignment;
}

std::optional<HostValue> HostCode::value_in(const File& file, std::string_view name,
                                            std::size_t at) const {
  int closed = 0;  // blocks that ended before the launch
  for (std::size_t i = at; i-- > file.begin;) {
    if (is(i, "}")) ++closed;
    if (is(i, "{") && closed > 0) {
      --closed;
      // dim3 grid{n};
      if (i > file.begin && is(i - 1, name) && declares_dim3(i - 1, file))
        return value_at(i - 1, file);
      continue;
    }
    if (closed > 0 || !ends_name(i, name)) continue;
    if (is_changed_at(i)) return std::nullopt;
    if (auto found = value_at(i, file)) {
      // A loop changes its variable: for (int n = 1; …).
      for (std::size_t j = i; j-- > file.begin && i - j < 4;)
        if (is(j, "for")) return std::nullopt;
      return found;
    }
  }
  if (file.template_at) return value(name, *file.template_at);
  for (const File& other : files_) {
    if (other.begin == file.begin) continue;
    if (auto found = constant_in(other, name)) return found;
  }
  return std::nullopt;
}

/// A constant outside of all functions.
std::optional<HostValue> HostCode::constant_in(const File& file, std::string_view name) const {
  bool is_constant = false;
  for (std::size_t i = file.begin; i < file.end; ++i) {
    if (is(i, "{")) {
      const std::size_t end = after_bracket(tokens_, i);
      if (end >= file.end) return std::nullopt;
      i = end - 1;
      is_constant = false;
    } else if (is(i, ";")) {
      is_constant = false;
    } else if (is(i, "const") || is(i, "constexpr")) {
      is_constant = true;
    } else if (is_constant && ends_name(i, name)) {
      if (auto found = value_at(i, file)) return found;
    }
  }
  return std::nullopt;
}

}  // namespace gpuexp::infer
