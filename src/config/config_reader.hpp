// Experiment configs: strict JSON in, typed values out. Every error names the place in the file.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "base/config_error.hpp"
#include "config/config.hpp"
#include "config/config_overrides.hpp"
#include "family/registry.hpp"

namespace gpuexp {

/// Path of a config that is read from standard input.
inline constexpr const char* kStandardInput = "-";

/// Reads and checks one config. Throws ConfigError; touches no GPU.
Config read_config(const std::filesystem::path& path, const Registry& registry,
                   const ConfigOverrides& overrides = {});

/// The same from text already read; `path` is for messages.
Config parse_config(std::string text, const std::string& path, const Registry& registry,
                    const ConfigOverrides& overrides = {});

/// The experiments and figures of all configs in their order, experiments named
/// <config>.<experiment>; of a single config it is that config. It is named after the folder that
/// holds the files where they share one, and its text is a config by itself, by which a run is
/// resumed. Throws ConfigError where two configs have one name or, without a seed in `overrides`,
/// different seeds.
Config read_as_one(const std::vector<std::filesystem::path>& paths, const Registry& registry,
                   const ConfigOverrides& overrides = {});

}  // namespace gpuexp
