// Which ceilings predictions are made from (model/ceiling_source.hpp), and where those of a device
// are kept, in the user's folders.
#pragma once

#include <filesystem>
#include <optional>
#include <string>

#include "gpu/device_query.hpp"
#include "model/ceiling_source.hpp"

namespace gpuexp::cli {

/// For a GPU that is listed, not present. Throws ConfigError when a file cannot be read.
CeilingSource ceiling_source_of(const DeviceSpec& device, const std::string& spec_id);

/// For a GPU of this machine. Throws likewise.
CeilingSource ceiling_source_of(const DeviceInfo& device);

/// What ceilings measured now would hold for.
MeasuringConditions conditions_of(const DeviceInfo& device);

/// <data>/ceilings/<uuid>.json, where <data> is $GPUEXP_DATA_DIR, else $XDG_DATA_HOME/gpuexp, else
/// ~/.local/share/gpuexp. Empty where the environment names none of the three.
std::optional<std::filesystem::path> kept_ceilings(const std::string& uuid);

/// <data>/ceilings/<uuid>+<uuid>.json, of the links between two GPUs; the UUIDs are in order.
std::optional<std::filesystem::path> kept_link_ceilings(const std::string& uuid,
                                                        const std::string& other);

/// What the variable `own` names; else "gpuexp" in the folder that `shared` names, a variable of
/// the XDG Base Directory Specification, which has relative paths ignored; else in `in_home` of the
/// home. Empty where the environment names none of the three.
std::optional<std::filesystem::path> own_folder(const char* own, const char* shared,
                                                const char* in_home);

}  // namespace gpuexp::cli
