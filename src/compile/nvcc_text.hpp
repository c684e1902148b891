// What nvcc reads and writes as text.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

namespace gpuexp {

/// The text of a source file. Throws InputError if the file is missing, not a regular file, empty,
/// larger than 4 MiB or not UTF-8.
std::string read_source(const std::filesystem::path& file);

/// The errors among nvcc's messages, without warnings, at most 40 lines; the first 40 lines if
/// there is no error.
std::string compile_errors(const std::string& messages);

/// The files that the rule of a makefile depends on, from the output of `nvcc -MD`.
std::vector<std::string> dependencies_of_rule(const std::string& rule);

/// Whether version "12.8.90" is older than "13.0.88". False if one of them has another form.
bool is_older_version(const std::string& version, const std::string& than);

}  // namespace gpuexp
