// Folders of this program in a user's home.
#pragma once

#include <filesystem>
#include <optional>

namespace gpuexp::cli {

/// What the variable `own` names; else "gpuexp" in the folder that `shared` names, a variable of
/// the XDG Base Directory Specification, which has relative paths ignored; else in `in_home` of the
/// home. Empty where the environment names none of the three.
std::optional<std::filesystem::path> own_folder(const char* own, const char* shared,
                                                const char* in_home);

}  // namespace gpuexp::cli
