// Hands the families' own files, kernels/<id>.cu and those of a folder kernels/<id>, to the
// registry, which takes from them why each variant exists. Before main, like the families
// themselves; the order does not matter. Also tells it which families the build has left out.
#include <string_view>

#include "family/registry.hpp"
#include "sass/kernel_resource.hpp"

namespace gpuexp {

namespace {

// The family of kernels/<id>.cu and kernels/<id>/<part>.cu; "" of other files.
std::string_view family_of(std::string_view file) {
  constexpr std::string_view kFolder = "kernels/";
  constexpr std::string_view kExtension = ".cu";
  if (file.substr(0, kFolder.size()) != kFolder) return {};
  std::string_view name = file.substr(kFolder.size());
  if (name.size() < kExtension.size()) return {};
  const std::string_view stem = name.substr(0, name.size() - kExtension.size());
  if (name.substr(stem.size()) != kExtension) return {};
  return stem.substr(0, stem.find('/'));
}

bool add_sources() {
  std::size_t count = 0;
  const SourceText* const table = kernel_source_table(count);
  for (std::size_t i = 0; i < count; ++i) {
    const std::string_view family = family_of(table[i].file);
    if (!family.empty()) Registry::global().add_source(family, table[i].text);
  }
#ifdef GPUEXP_LEFT_OUT
  Registry::global().leave_out(GPUEXP_LEFT_OUT, GPUEXP_BUILT);
#endif
  return true;
}

const bool sources_added = add_sources();

}  // namespace

}  // namespace gpuexp
