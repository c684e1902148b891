// What is named on a command line, in the registry.
#pragma once

#include <string>

#include "family/registry.hpp"

namespace gpuexp::cli {

/// Throws ConfigError with the nearest name.
const Family& find_family(const Registry& registry, const std::string& id);

/// Of "family/variant". Throws ConfigError.
struct NamedVariant {
  const Family& family;
  const Variant& variant;
};
NamedVariant find_variant(const Registry& registry, const std::string& name);

/// Throws ConfigError where "--set NAME=…" names no parameter of the family.
void check_is_parameter(const std::string& set, const Family& family);

}  // namespace gpuexp::cli
