// The files that a CUDA C++ file includes, found without a compiler.
#pragma once

#include <filesystem>
#include <vector>

namespace gpuexp {

/// The file, then the files that it and they include, each once, in the order in which the text
/// names them; at most 1000. Quoted names are sought next to the including file first. Names that
/// are found neither there nor in the include folders, such as those of the toolkit, are left out,
/// and so are names that are macros. Paths are absolute. Directives in inactive branches count,
/// too.
std::vector<std::filesystem::path> included_files(
    const std::filesystem::path& file, const std::vector<std::filesystem::path>& include_folders);

}  // namespace gpuexp
