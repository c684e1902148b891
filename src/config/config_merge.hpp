// Several configs as one, whose run has one folder, one table and one report.
#pragma once

#include <filesystem>
#include <vector>

#include "config/config.hpp"
#include "config/config_overrides.hpp"
#include "family/registry.hpp"

namespace gpuexp {

/// The experiments and figures of all configs in their order, experiments named
/// <config>.<experiment>; of a single config it is that config. It is named after the folder that
/// holds the files where they share one, and its text is a config by itself, by which a run is
/// resumed. Throws ConfigError where two configs have one name or, without a seed in `overrides`,
/// different seeds.
Config read_as_one(const std::vector<std::filesystem::path>& paths, const Registry& registry,
                   const ConfigOverrides& overrides = {});

}  // namespace gpuexp
