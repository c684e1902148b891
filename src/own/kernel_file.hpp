// A user's kernel file with its declaration, which is in its comments or in a JSON file.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "own/declaration.hpp"

namespace gpuexp::own {

struct KernelFile {
  std::filesystem::path path;    ///< absolute; the file with the declaration
  std::filesystem::path source;  ///< absolute; the file with the kernels
  std::string json;              ///< text of the file with the declaration, if it is not the source
  std::vector<std::filesystem::path> arrays;  ///< absolute; .npy files
  Declaration declaration;
};

/// Reads a JSON file with a declaration, or a source file. A source file NAME.cu or NAME.cuh
/// without a declaration in its comments has the one of NAME.gpuexp.json in its folder. Throws
/// DeclarationError if there is no declaration or if there are two, InputError and ConfigError if a
/// file cannot be read.
KernelFile read_kernel_file(const std::filesystem::path& file);

}  // namespace gpuexp::own
