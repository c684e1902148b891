// A declaration for a kernel file without one (gpuexp init).
#pragma once

#include <cstddef>
#include <filesystem>
#include <functional>
#include <string>
#include <vector>

#include "compile/source_compiler.hpp"
#include "infer/inferred_variant.hpp"

namespace gpuexp::infer {

struct InitRequest {
  std::filesystem::path file;
  /// Files with launches of the kernels. Empty: if the file lacks a launch, source files of its
  /// folder and of the parent folder.
  std::vector<std::filesystem::path> launch_files;
  std::vector<std::string> options;  ///< compiler options
  /// Called when `done` of `all` launches have been executed. May be null.
  std::function<void(std::size_t done, std::size_t all)> progress = nullptr;
};

struct InitialDeclaration {
  std::vector<InferredVariant> variants;
  std::vector<InferredBuffer> variables;  ///< variables of the file that host code sets
  std::vector<std::string> options;
  std::vector<std::string> notes;  ///< on variables, and on kernels that are not declared
};

/// Executes the kernels of the file in the simulator. Throws InputError if the file cannot be used,
/// has a declaration already, or has no kernel that a declaration can launch; and what
/// SourceCompiler::compile() throws.
InitialDeclaration initial_declaration(const InitRequest& request, const SourceCompiler& compiler);

/// The comment lines for the file itself.
std::string lines_for_file(const InitialDeclaration& declaration);
/// A kernel file that includes another one by the path `include`, with the declaration.
std::string including_file(const InitialDeclaration& declaration, const std::string& include);

/// The text of a new kernel file with a small kernel and its declaration.
std::string new_kernel_file();

}  // namespace gpuexp::infer
