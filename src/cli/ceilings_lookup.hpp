// Lookup of the ceilings that predictions use (model/ceiling_source.hpp), and of ceilings files.
#pragma once

#include <filesystem>
#include <optional>
#include <string>

#include "gpu/device_query.hpp"
#include "model/ceiling_source.hpp"

namespace gpuexp::cli {

/// Ceilings of a GPU that is not in this machine. Throws ConfigError if a file cannot be read.
CeilingSource ceiling_source_of(const DeviceSpec& device, const std::string& spec_id);

/// Ceilings of a GPU in this machine. Throws ConfigError if a file cannot be read.
CeilingSource ceiling_source_of(const DeviceInfo& device);

/// Device, driver and compiler for which ceilings that are measured now are valid.
MeasuringConditions conditions_of(const DeviceInfo& device);

/// <data>/ceilings/<uuid>.json, where <data> is $GPUEXP_DATA_DIR, else $XDG_DATA_HOME/gpuexp, else
/// ~/.local/share/gpuexp. Empty if neither these variables nor HOME are set.
std::optional<std::filesystem::path> ceilings_path(const std::string& uuid);

/// <data>/ceilings/<uuid>+<uuid>.json for the links between two GPUs, with the UUIDs sorted.
std::optional<std::filesystem::path> link_ceilings_path(const std::string& uuid,
                                                        const std::string& other);

/// The folder in the variable `own`. If it is not set: gpuexp/ in the folder in `shared`, a
/// variable of the XDG Base Directory Specification, which requires that relative paths are
/// ignored; else $HOME/<in_home>/gpuexp. Empty if the environment sets none of these variables.
std::optional<std::filesystem::path> user_folder(const char* own, const char* shared,
                                                 const char* in_home);

}  // namespace gpuexp::cli
