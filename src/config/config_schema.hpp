// The JSON Schema of configs.
#pragma once

#include <string>

#include "family/registry.hpp"

namespace gpuexp {

/// The JSON Schema (draft 2020-12) of configs for the registry's families, pretty-printed.
std::string config_schema(const Registry& registry);

}  // namespace gpuexp
