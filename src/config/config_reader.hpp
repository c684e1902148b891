// Experiment configs: strict JSON in, typed values out. Every error names the place in the file.
#pragma once

#include <filesystem>
#include <string>

#include "base/config_error.hpp"
#include "config/config.hpp"
#include "config/config_overrides.hpp"
#include "family/registry.hpp"

namespace gpuexp {

/// Reads and checks one config. Throws ConfigError; touches no GPU.
Config read_config(const std::filesystem::path& path, const Registry& registry,
                   const ConfigOverrides& overrides = {});

/// The same from text already read; `path` is for messages.
Config parse_config(std::string text, const std::string& path, const Registry& registry,
                    const ConfigOverrides& overrides = {});

}  // namespace gpuexp
