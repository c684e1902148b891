#include "compile/compile_options.hpp"

#include <algorithm>
#include <array>
#include <cctype>

#include <fmt/format.h>

#include "base/config_error.hpp"
#include "base/names.hpp"
#include "base/text.hpp"

namespace gpuexp {

namespace {

constexpr std::string_view kDefine = "-D";
constexpr std::string_view kInclude = "-I";
constexpr std::string_view kStandard = "-std=";
constexpr std::string_view kRegisters = "-maxrregcount";
constexpr std::string_view kFastMath = "--use_fast_math";
constexpr std::array<std::string_view, 6> kStandards{"c++03", "c++11", "c++14",
                                                     "c++17", "c++20", "c++23"};
constexpr int kMinRegisters = 16;
constexpr int kMaxRegisters = 255;

[[noreturn]] void refuse(const std::string& option, const std::string& why) {
  throw ConfigError(fmt::format("compile option '{}': {}", printable(shorten(option)), why));
}

bool is_identifier(std::string_view text) {
  const auto is_part = [](char c) {
    return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '_';
  };
  return !text.empty() && std::isdigit(static_cast<unsigned char>(text[0])) == 0 &&
         std::all_of(text.begin(), text.end(), is_part);
}

void check_value(const std::string& option, std::string_view value) {
  if (value.starts_with('@'))
    refuse(option, "a value must not start with @, which names a file of further options");
  const char found = shell_character(value);
  if (found == '\n' || found == '\r') refuse(option, "a value must not contain a line break");
  if (found != 0 && std::iscntrl(static_cast<unsigned char>(found)) != 0)
    refuse(option, "a value must not contain a control character");
  if (found != 0)
    refuse(option, fmt::format("a value must not contain {}, which a shell interprets", found));
}

std::string parsed_define(const std::string& option) {
  const std::string define = option.substr(kDefine.size());
  const std::size_t equals = std::min(define.find('='), define.size());
  const std::string name = define.substr(0, equals);
  if (!is_identifier(name))
    refuse(option, "expected the name of a macro after -D, such as -DTILE=32");
  check_value(option, std::string_view(define).substr(std::min(equals + 1, define.size())));
  return define;
}

std::string parsed_folder(const std::string& option) {
  const std::string folder = option.substr(kInclude.size());
  if (folder.empty()) refuse(option, "expected a folder after -I, such as -Iinclude");
  check_value(option, folder);
  return folder;
}

std::string parsed_standard(const std::string& option) {
  const std::string standard = option.substr(kStandard.size());
  if (std::find(kStandards.begin(), kStandards.end(), standard) == kStandards.end())
    refuse(option, fmt::format("unknown standard; allowed: {}", fmt::join(kStandards, ", ")));
  return standard;
}

int parsed_registers(const std::string& option, std::string_view value) {
  const auto number = parsed<int>(value);
  if (!number || *number < kMinRegisters || *number > kMaxRegisters)
    refuse(option, fmt::format("expected a number of registers per thread, {} to {}; found '{}'",
                               kMinRegisters, kMaxRegisters, printable(value)));
  return *number;
}

}  // namespace

char shell_character(std::string_view text) {
  constexpr std::string_view kInterpreted = "$`\"\\";
  const auto found = std::find_if(text.begin(), text.end(), [&](char c) {
    return kInterpreted.find(c) != std::string_view::npos ||
           std::iscntrl(static_cast<unsigned char>(c)) != 0;
  });
  return found == text.end() ? '\0' : *found;
}

CompileOptions parsed_options(const std::vector<std::string>& options) {
  CompileOptions result;
  for (std::size_t i = 0; i < options.size(); ++i) {
    const std::string& option = options[i];
    if (option.starts_with(kDefine)) {
      result.defines.push_back(parsed_define(option));
    } else if (option.starts_with(kInclude)) {
      result.include_folders.push_back(parsed_folder(option));
    } else if (option.starts_with(kStandard)) {
      result.standard = parsed_standard(option);
    } else if (option == kRegisters) {
      if (++i == options.size()) refuse(option, "expected a number of registers after it");
      result.max_registers = parsed_registers(option, options[i]);
    } else if (option.starts_with(kRegisters) && option[kRegisters.size()] == '=') {
      result.max_registers =
          parsed_registers(option, std::string_view(option).substr(kRegisters.size() + 1));
    } else if (option == kFastMath || option == kFastMath.substr(1)) {
      result.fast_math = true;
    } else {
      refuse(option,
             "not allowed for a kernel file; allowed: -DNAME[=VALUE], -IFOLDER, -std=c++NN, "
             "-maxrregcount=N, --use_fast_math");
    }
  }
  return result;
}

std::vector<std::string> option_words(const CompileOptions& options) {
  std::vector<std::string> words;
  for (const std::string& define : options.defines)
    words.push_back(fmt::format("{}{}", kDefine, define));
  for (const std::string& folder : options.include_folders)
    words.push_back(fmt::format("{}{}", kInclude, folder));
  if (!options.standard.empty()) words.push_back(fmt::format("{}{}", kStandard, options.standard));
  if (options.max_registers != 0)
    words.push_back(fmt::format("{}={}", kRegisters, options.max_registers));
  if (options.fast_math) words.emplace_back(kFastMath);
  return words;
}

}  // namespace gpuexp
