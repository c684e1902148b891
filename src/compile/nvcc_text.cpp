#include "compile/nvcc_text.hpp"

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <fstream>
#include <optional>
#include <sstream>
#include <string_view>
#include <utility>

#include <fmt/format.h>

#include "base/demangled_name.hpp"
#include "base/input_error.hpp"
#include "base/text.hpp"
#include "base/text_parts.hpp"
#include "base/utf8.hpp"

namespace gpuexp {

namespace {

namespace fs = std::filesystem;

[[noreturn]] void refuse_source(const fs::path& file, const std::string& why) {
  throw InputError(fmt::format("{}: {}", file.string(), why));
}

void check_file(const fs::path& file, const InputForm& form) {
  const std::string expected = fmt::format("expected {}, such as {}", form.what, form.example);
  std::error_code error;
  const fs::file_status status = fs::status(file, error);
  if (status.type() == fs::file_type::not_found)
    refuse_source(file, fmt::format("there is no such file; {}", expected));
  if (error) refuse_source(file, fmt::format("cannot be read: {}", error.message()));
  if (fs::is_directory(status)) refuse_source(file, fmt::format("is a folder; {}", expected));
  if (!fs::is_regular_file(status))
    refuse_source(file, fmt::format("is not a regular file; {}", expected));
  const std::uintmax_t bytes = fs::file_size(file, error);
  if (bytes == 0) refuse_source(file, fmt::format("is empty; {}", expected));
  if (bytes > form.max_bytes)
    refuse_source(file, fmt::format("has {} bytes; expected {} of at most {} bytes", bytes,
                                    form.what, form.max_bytes));
}

// The line with the first byte that is not text, counted from 1.
std::optional<std::size_t> line_without_text(std::string_view text) {
  std::size_t line = 1;
  while (!text.empty()) {
    const CodePoint next = decode_utf8(text);
    if (!next.value || *next.value == U'\0') return line;
    if (*next.value == U'\n') ++line;
    text.remove_prefix(next.bytes);
  }
  return std::nullopt;
}

bool has_one_of(const std::string& line, const auto& marks) {
  return std::any_of(marks.begin(), marks.end(),
                     [&](const char* mark) { return line.find(mark) != std::string::npos; });
}

// Beginnings of messages: of the front end, "a.cu(3): error: ..."; of the host compiler's
// preprocessor, "a.cu:1:10: fatal error: ..."; and of other tools, "ptxas error   : ...".
bool starts_error(const std::string& line) {
  constexpr std::array kMarks{": error",   ": fatal error:", ": catastrophic error",
                              "error   :", "fatal   :",      "; error "};
  return has_one_of(line, kMarks);
}
bool starts_warning(const std::string& line) {
  constexpr std::array kMarks{": warning", "warning :", "warning  :", ": note:", "Remark: "};
  return has_one_of(line, kMarks);
}

// "ptxas error   : Entry function '_Z1kPf' uses too much shared data" with the name k(float*).
std::string with_demangled_name(std::string line) {
  const std::size_t begin = line.find("'_Z");
  if (begin == std::string::npos) return line;
  const std::size_t end = line.find('\'', begin + 1);
  if (end == std::string::npos) return line;
  const std::string name = line.substr(begin + 1, end - begin - 1);
  return line.replace(begin + 1, name.size(), demangled_name(name));
}

std::optional<std::array<int, 3>> parsed_version(std::string_view text) {
  std::array<int, 3> parts{};
  for (int& part : parts) {
    const auto number = take_number<int>(text);
    if (!number) return std::nullopt;
    part = *number;
    if (text.starts_with('.')) text.remove_prefix(1);
  }
  return text.empty() ? std::optional(parts) : std::nullopt;
}

}  // namespace

std::string read_input(const fs::path& file, const InputForm& form) {
  check_file(file, form);
  std::ifstream in(file, std::ios::binary);
  if (!in) refuse_source(file, fmt::format("cannot be read: {}", std::strerror(errno)));
  std::ostringstream text;
  text << in.rdbuf();
  return text.str();
}

std::string read_text_input(const fs::path& file, const InputForm& form) {
  std::string text = read_input(file, form);
  if (const auto line = line_without_text(text))
    refuse_source(file, fmt::format("line {} is not UTF-8 text; expected {}", *line, form.what));
  return text;
}

std::string read_source(const fs::path& file) {
  return read_text_input(file, {"a CUDA source file", "kernel.cu", kMaxSourceBytes});
}

std::string compile_errors(const std::string& messages, const std::string& generated) {
  constexpr std::size_t kMaxLines = 40;
  std::vector<std::string> all;
  std::vector<std::string> errors;
  bool in_error = false;
  bool has_generated = false;
  std::istringstream lines(messages);
  for (std::string line; std::getline(lines, line);) {
    if (!generated.empty() && line.starts_with(generated + ": error")) {
      if (!has_generated) errors.push_back(line);
      has_generated = true;
      in_error = false;
    } else if (starts_error(line)) {
      in_error = true;
    } else if (starts_warning(line)) {
      in_error = false;
    }
    line = with_demangled_name(std::move(line));
    if (in_error) errors.push_back(line);
    all.push_back(line);
  }
  std::vector<std::string>& chosen = errors.empty() ? all : errors;
  while (!chosen.empty() && chosen.back().empty())
    chosen.pop_back();
  const std::size_t count = chosen.size();
  if (count > kMaxLines) {
    chosen.resize(kMaxLines - 1);
    chosen.push_back(fmt::format("({} more lines)", count - chosen.size()));
  }
  return fmt::format("{}", fmt::join(chosen, "\n"));
}

// Others are a full disk, a lack of memory, or a missing header that may be added.
bool is_error_of_code(const std::string& errors) {
  constexpr std::array kOfCode{"): error: ", "): error #", "ptxas error"};
  constexpr std::array kOfMachine{"fatal", "catastrophic"};
  return has_one_of(errors, kOfCode) && !has_one_of(errors, kOfMachine);
}

std::vector<std::string> dependencies_of_rule(const std::string& rule) {
  std::string_view rest = rule;
  take_until(rest, " : ");
  std::vector<std::string> files;
  std::string file;
  const auto finish = [&] {
    if (!file.empty()) files.push_back(file);
    file.clear();
  };
  for (std::size_t i = 0; i < rest.size(); ++i) {
    const bool is_escaped = rest[i] == '\\' && i + 1 < rest.size();
    if (is_escaped && rest[i + 1] == '\n') {
      finish();
      ++i;
    } else if (is_escaped && (rest[i + 1] == ' ' || rest[i + 1] == '#')) {
      file += rest[++i];
    } else if (rest[i] == ' ' || rest[i] == '\n') {
      finish();
    } else {
      file += rest[i];
    }
  }
  finish();
  return files;
}

bool is_older_version(const std::string& version, const std::string& than) {
  const auto a = parsed_version(version);
  const auto b = parsed_version(than);
  return a && b && *a < *b;
}

}  // namespace gpuexp
