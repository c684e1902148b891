#include "cli/registry_lookup.hpp"

#include <vector>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "base/config_error.hpp"
#include "base/names.hpp"

namespace gpuexp::cli {

const Family& find_family(const Registry& registry, const std::string& id) {
  if (const Family* family = registry.find(id)) return *family;
  std::vector<std::string> ids;
  for (const Family& f : registry.families())
    ids.push_back(f.id);
  const auto near = nearest_name(id, ids);
  throw ConfigError(fmt::format("family '{}' is not known{}; known: {}", shorten(id),
                                near ? fmt::format("; did you mean '{}'?", *near) : "",
                                fmt::join(ids, ", ")));
}

NamedVariant find_variant(const Registry& registry, const std::string& name) {
  const std::size_t slash = name.find('/');
  const Family& family = find_family(registry, name.substr(0, slash));
  std::vector<std::string> ids;
  for (const Variant& v : family.variants)
    ids.push_back(v.id);
  if (slash == std::string::npos)
    throw ConfigError(fmt::format("'{}' names no variant; expected {}/VARIANT, of: {}",
                                  shorten(name), family.id, fmt::join(ids, ", ")));
  const std::string id = name.substr(slash + 1);
  for (const Variant& v : family.variants) {
    if (v.id == id) return {family, v};
  }
  throw ConfigError(fmt::format("family '{}' has no variant '{}'{}", family.id, shorten(id),
                                allowed_names(id, ids)));
}

void check_is_parameter(const std::string& set, const Family& family) {
  const std::string name = set.substr(0, set.find('='));
  if (family.find_parameter(name)) return;
  std::vector<std::string> names;
  for (const Parameter& p : family.parameters)
    names.push_back(p.name);
  throw ConfigError(fmt::format("--set {}: '{}' is no parameter of family '{}'{}", shorten(set),
                                shorten(name), family.id, allowed_names(name, names)));
}

}  // namespace gpuexp::cli
