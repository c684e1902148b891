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
  std::string contents;          ///< text or bytes of the source
  /// Text of the file with the declaration, if it is not the source.
  std::string declaration_text;
  std::vector<std::filesystem::path> arrays;  ///< absolute; .npy files
  Declaration declaration;
};

/// The absolute path of the file that the command line or a config names: of a folder, such as one
/// of Triton's cache, its only cubin. Throws InputError if the folder has another number of cubins.
std::filesystem::path kernel_file_of(const std::filesystem::path& given);

/// Reads a JSON file with a declaration, or a file with kernels. A file such as NAME.cu without a
/// declaration in its comments has the one of NAME.gpuexp.json in its folder, as a cubin always
/// has. Throws DeclarationError if there is no declaration or if there are two, InputError and
/// ConfigError if a file cannot be read.
KernelFile read_kernel_file(const std::filesystem::path& file);

}  // namespace gpuexp::own
