#include "own/kernel_file.hpp"

#include <optional>
#include <string>
#include <utility>

#include <fmt/format.h>

#include "base/json_reader.hpp"
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

/// The text of the JSON file, if it declares the kernels of this source file.
std::optional<std::string> text_beside(const fs::path& source, const fs::path& json) {
  if (!fs::exists(json)) return std::nullopt;
  std::string text = read_text_file(json);
  const fs::path declared = read_json_declaration(json.string(), text).source;
  return absolute_path(declared) == absolute_path(source) ? std::optional(std::move(text))
                                                          : std::nullopt;
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
  KernelFile file{absolute_path(declaration.file), absolute_path(source), {}, {}, {}};
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
  check_is_only(json, declared.source, read_source(declared.source));
  KernelFile file = kernel_file(declared.source, std::move(declared.declaration));
  file.json = std::move(text);
  return file;
}

}  // namespace

KernelFile read_kernel_file(const fs::path& file) {
  if (file.string().ends_with(kJsonSuffix)) return declared_in_json(file, read_text_file(file));
  const std::string text = read_source(file);
  fs::path json = file;
  json.replace_extension(kJsonSuffix);
  if (auto declared = text_beside(file, json)) return declared_in_json(json, *std::move(declared));
  return kernel_file(file, read_declaration(file.string(), text));
}

}  // namespace gpuexp::own
