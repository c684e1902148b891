// Reads experiment configs from strict JSON. Every error names its location in the file.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "base/config_error.hpp"
#include "config/config.hpp"
#include "config/config_overrides.hpp"
#include "family/registry.hpp"

namespace gpuexp {

inline constexpr const char* kStandardInput = "-";

/// Reads and checks one config, without a GPU. Throws ConfigError.
Config read_config(const std::filesystem::path& path, const Registry& registry,
                   const ConfigOverrides& overrides = {});

Config parse_config(std::string text, const std::string& path, const Registry& registry,
                    const ConfigOverrides& overrides = {});

/// Merges several configs: all experiments and figures in order, with experiments named
/// <config>.<experiment>. A single config is not renamed. The merged config has the name of the
/// files' common folder, or "configs". The merged text is a complete config, from which a run can
/// be resumed. Throws ConfigError if two configs have the same name or, without a seed in
/// `overrides`, different seeds.
Config read_as_one(const std::vector<std::filesystem::path>& paths, const Registry& registry,
                   const ConfigOverrides& overrides = {});

}  // namespace gpuexp
