// Adds the text of each family's files, kernels/<id>.cu and those of the folder kernels/<id>, to
// the registry before main, and the families that the build omits. The registry reads the variants'
// `why` and the functions that lessons quote from these texts.
#include <string_view>

#include "family/registry.hpp"
#include "sass/kernel_resource.hpp"

namespace gpuexp {

namespace {

// The family of kernels/<id>.cu, kernels/<id>/<part>.cu and kernels/<id>/<part>.cuh; "" of other
// files.
std::string_view family_of(std::string_view file) {
  constexpr std::string_view kFolder = "kernels/", kCommon = "common";
  if (!file.starts_with(kFolder)) return {};
  const std::string_view name = file.substr(kFolder.size());
  if (!name.ends_with(".cu") && !name.ends_with(".cuh")) return {};
  const std::string_view id = name.substr(0, name.find_first_of("/."));
  return id == kCommon ? std::string_view() : id;
}

bool add_sources() {
  std::size_t count = 0;
  const SourceText* const table = kernel_source_table(count);
  for (std::size_t i = 0; i < count; ++i) {
    const std::string_view family = family_of(table[i].file);
    if (!family.empty()) Registry::global().add_source(family, table[i].text);
  }
#ifdef GPUEXP_LEFT_OUT
  Registry::global().set_omitted(GPUEXP_LEFT_OUT, GPUEXP_BUILT);
#endif
  return true;
}

const bool sources_added = add_sources();

}  // namespace

}  // namespace gpuexp
