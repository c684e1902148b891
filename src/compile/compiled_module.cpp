#include "compile/compiled_module.hpp"

#include <algorithm>
#include <set>
#include <utility>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "base/sha256.hpp"
#include "compile/instantiation.hpp"

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

std::string CompiledModule::hash() const {
  if (parts_.instantiations.empty()) return parts_.source_hash;
  return sha256(fmt::format("{}; {}", parts_.source_hash, fmt::join(parts_.instantiations, ", ")));
}

std::string CompiledModule::hash_of(const std::string& name, const KernelResource& kernel) const {
  return sha256(fmt::format("{}; {}; {}", parts_.source_hash, name, kernel.code.text()));
}

const KernelResource* CompiledModule::instantiated(const std::string& instantiation) const {
  const auto found = std::ranges::find(parts_.instantiations, instantiation);
  if (found == parts_.instantiations.end()) return nullptr;
  return instantiated_kernel(kernels_,
                             static_cast<std::size_t>(found - parts_.instantiations.begin()));
}

std::vector<std::string> CompiledModule::names_in_file() const {
  std::set<std::string> requested;
  for (const std::string& instantiation : parts_.instantiations)
    if (const KernelResource* const kernel = instantiated(instantiation))
      requested.insert(kernel->lowered_name);
  std::vector<std::string> names;
  for (const auto& [name, row] : kernels_.rows())
    if (!requested.contains(name) && !requests_instantiation(name)) names.push_back(name);
  return names;
}

std::vector<SourceText> CompiledModule::sources() const {
  std::vector<SourceText> sources;
  for (const auto& [name, text] : texts_)
    sources.push_back({name.c_str(), text});
  return sources;
}

}  // namespace gpuexp
