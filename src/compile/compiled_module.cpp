#include "compile/compiled_module.hpp"

#include <utility>

#include "base/sha256.hpp"

namespace gpuexp {

namespace fs = std::filesystem;

namespace {

/// The path relative to the folder; empty if the file is not in the folder.
std::string name_in(const fs::path& folder, const std::string& file) {
  const std::string name = fs::path(file).lexically_relative(folder).string();
  return name.starts_with("..") ? "" : name;
}

}  // namespace

CompiledModule::CompiledModule(Parts parts)
    : parts_(std::move(parts)), kernels_(parts_.dump, parts_.source.parent_path().string()) {
  if (parts_.source_text.empty()) return;  // machine code
  const fs::path folder = parts_.source.parent_path();
  texts_[parts_.source.filename().string()] = parts_.source_text;
  for (const ModuleDependency& file : parts_.dependencies) {
    const std::string name = name_in(folder, file.path);
    if (name.empty() || texts_.contains(name)) continue;
    std::string text = text_of_file(file.path);
    if (sha256(text) == file.sha256) texts_[name] = std::move(text);
  }
}

std::vector<SourceText> CompiledModule::sources() const {
  std::vector<SourceText> sources;
  for (const auto& [name, text] : texts_)
    sources.push_back({name.c_str(), text});
  return sources;
}

}  // namespace gpuexp
