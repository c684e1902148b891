// What nvcc reads and writes as text.
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

namespace gpuexp {

/// What is expected of a file, for messages.
struct InputForm {
  std::string what;     ///< "a CUDA source file"
  std::string example;  ///< "kernel.cu"
  std::uintmax_t max_bytes = 0;
};
inline constexpr std::uintmax_t kMaxSourceBytes = std::uintmax_t{4} << 20;

/// The bytes of a file. Throws InputError if the file is missing, not a regular file, empty or too
/// large.
std::string read_input(const std::filesystem::path& file, const InputForm& form);
/// The same for a text. Throws InputError also if the file is not UTF-8.
std::string read_text_input(const std::filesystem::path& file, const InputForm& form);

/// The text of a source file. Throws InputError if the file is missing, not a regular file, empty,
/// larger than 4 MiB or not UTF-8.
std::string read_source(const std::filesystem::path& file);

/// The errors among nvcc's messages, without warnings, at most 40 lines; the first 40 lines if
/// there is no error. If `generated` is "a.cu(3)", a line that is not in the file, only the first
/// of its errors is returned, without that line's text.
std::string compile_errors(const std::string& messages, const std::string& generated = "");

/// Whether the errors, from compile_errors(), are those of the code and its options: the same in
/// each compilation.
bool is_error_of_code(const std::string& errors);

/// The files that the rule of a makefile depends on, from the output of `nvcc -MD`.
std::vector<std::string> dependencies_of_rule(const std::string& rule);

/// Whether version "12.8.90" is older than "13.0.88". False if one of them has another form.
bool is_older_version(const std::string& version, const std::string& than);

}  // namespace gpuexp
