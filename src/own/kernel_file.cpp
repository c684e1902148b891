#include "own/kernel_file.hpp"

#include <algorithm>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "base/input_error.hpp"
#include "base/json_reader.hpp"
#include "compile/kernel_input.hpp"
#include "compile/nvcc_text.hpp"
#include "own/array_files.hpp"
#include "own/declaration_reader.hpp"
#include "own/json_declaration.hpp"

namespace gpuexp::own {

namespace {

namespace fs = std::filesystem;

fs::path absolute_path(const fs::path& path) {
  return fs::absolute(path).lexically_normal();
}

bool has_statements(const fs::path& source, const std::string& contents) {
  return kind_of(source) != KernelFileKind::cubin &&
         !statements_in(source.string(), contents).empty();
}

/// The text of the JSON file, if it declares the kernels of this source file. Throws InputError if
/// it declares those of another file, and nothing else declares those of this one.
std::optional<std::string> text_of_declaration(const fs::path& source, const std::string& contents,
                                               const fs::path& json) {
  if (!fs::exists(json)) return std::nullopt;
  std::string text = read_text_file(json);
  const fs::path declared = read_json_declaration(json.string(), text).source;
  if (absolute_path(declared) == absolute_path(source)) return text;
  if (has_statements(source, contents)) return std::nullopt;
  throw InputError(
      fmt::format("{0}: has no declaration, and {1} declares the kernels of {2}: write \"source\": "
                  "\"{3}\" there, or name {1} instead of {0} for the kernels of {2}",
                  source.string(), json.string(), declared.string(), source.filename().string()));
}

/// The source file's comments must not declare anything, too.
void check_is_only(const fs::path& json, const fs::path& source, const std::string& text) {
  const std::string name = source.string();
  const std::vector<Statement> statements = statements_in(name, text);
  if (statements.empty()) return;
  statements.front().fail(
      fmt::format("{} and {} both have a declaration; remove one of them", name, json.string()));
}

KernelFile kernel_file(const fs::path& source, Declaration declaration) {
  KernelFile file{absolute_path(declaration.file), absolute_path(source), {}, {}, {}, {}};
  const ArrayFiles arrays(file.path.parent_path(), declaration.file);
  for (const DeclaredBuffer& buffer : declaration.buffers)
    if (buffer.array) file.arrays.push_back(arrays.path_of(*buffer.array));
  for (const DeclaredValues& values : declaration.expected_files)
    file.arrays.push_back(arrays.path_of(values.array));
  file.declaration = std::move(declaration);
  return file;
}

/// `text` is that of the JSON file.
KernelFile declared_in_json(const fs::path& json, std::string text) {
  JsonDeclaration declared = read_json_declaration(json.string(), text);
  std::string contents = read_kernel_input(declared.source);
  if (kind_of(declared.source) != KernelFileKind::cubin)
    check_is_only(json, declared.source, contents);
  KernelFile file = kernel_file(declared.source, std::move(declared.declaration));
  file.contents = std::move(contents);
  file.declaration_text = std::move(text);
  return file;
}

KernelFile declared_in_source(const fs::path& source, const std::string& contents) {
  // A file of another kind is reported before a missing declaration.
  code_target(source, contents);
  if (kind_of(source) == KernelFileKind::cubin) {
    const std::vector<std::string> kernels = kernels_in_cubin(contents);
    if (kernels.empty())
      throw InputError(fmt::format("{}: the cubin has no kernels", source.string()));
    throw InputError(fmt::format(
        "{}: machine code cannot hold a declaration; write one to {} that names it as \"source\" "
        "and launches one of its kernels: {} (docs/own_kernel.md)",
        source.string(), json_name_of(source), fmt::join(kernels, ", ")));
  }
  return kernel_file(source, read_declaration(source.string(), contents));
}

}  // namespace

fs::path kernel_file_of(const fs::path& given) {
  const fs::path path = absolute_path(given);
  if (!fs::is_directory(path)) return path;
  std::vector<std::string> found;
  for (const fs::directory_entry& entry : fs::directory_iterator(path))
    if (kind_of(entry.path()) == KernelFileKind::cubin)
      found.push_back(entry.path().filename().string());
  std::ranges::sort(found);
  if (found.empty())
    throw InputError(
        fmt::format("{}: is a folder without a cubin; expected a kernel file such as "
                    "kernel.cu, or a folder with one cubin",
                    given.string()));
  if (found.size() != 1)
    throw InputError(
        fmt::format("{}: the folder has {} cubins ({}); expected one, or name the file",
                    given.string(), found.size(), fmt::join(found, ", ")));
  return (path / found.front()).lexically_normal();
}

KernelFile read_kernel_file(const fs::path& given) {
  if (given.string().ends_with(kJsonSuffix)) return declared_in_json(given, read_text_file(given));
  const fs::path source = fs::is_directory(given) ? kernel_file_of(given) : given;
  std::string contents = read_kernel_input(source);
  const fs::path json = json_name_of(source);
  if (auto declared = text_of_declaration(source, contents, json))
    return declared_in_json(json, *std::move(declared));
  KernelFile file = declared_in_source(source, contents);
  file.contents = std::move(contents);
  return file;
}

}  // namespace gpuexp::own
