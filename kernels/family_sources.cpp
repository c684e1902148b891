// Hands the families' own files, kernels/<id>.cu, to the registry, which takes from them why each
// variant exists. Before main, like the families themselves; the order does not matter.
#include <string_view>

#include "family/registry.hpp"
#include "sass/kernel_resource.hpp"

namespace gpuexp {

namespace {

bool add_sources() {
  constexpr std::string_view kFolder = "kernels/";
  constexpr std::string_view kExtension = ".cu";
  std::size_t count = 0;
  const SourceText* const table = kernel_source_table(count);
  for (std::size_t i = 0; i < count; ++i) {
    const std::string_view file = table[i].file;
    if (file.substr(0, kFolder.size()) != kFolder) continue;
    const std::string_view name = file.substr(kFolder.size());
    if (name.size() < kExtension.size()) continue;
    const std::string_view stem = name.substr(0, name.size() - kExtension.size());
    if (name.substr(stem.size()) == kExtension) Registry::global().add_source(stem, table[i].text);
  }
  return true;
}

const bool sources_added = add_sources();

}  // namespace

}  // namespace gpuexp
