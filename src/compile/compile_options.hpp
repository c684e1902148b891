// Options of nvcc that a kernel file may set.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace gpuexp {

/// A fixed set, so that a file from elsewhere can neither name a program nor write a file.
struct CompileOptions {
  std::vector<std::string> defines;          ///< "NAME" or "NAME=VALUE"
  std::vector<std::string> include_folders;  ///< relative to the folder of the source file
  std::string standard;                      ///< "c++17"; empty: the default, c++17
  bool fast_math = false;
  int max_registers = 0;  ///< per thread, 16 to 255; 0: no limit

  friend bool operator==(const CompileOptions&, const CompileOptions&) = default;
};

/// Parses -DNAME[=VALUE], -IFOLDER, -std=c++NN, -maxrregcount=N, -maxrregcount N and
/// --use_fast_math. Throws ConfigError for other options and for values that nvcc's shell would
/// interpret.
CompileOptions parsed_options(const std::vector<std::string>& options);

/// The same options, such that parsed_options() returns `options`.
std::vector<std::string> option_words(const CompileOptions& options);

/// The first character of the text that nvcc, which starts the host compiler in a shell, would not
/// pass on unchanged; 0 if there is none.
char shell_character(std::string_view text);

}  // namespace gpuexp
