#pragma once

#include <string>

#include "analysis/warp_picture.hpp"
#include "render/terminal_options.hpp"
#include "sass/source_files.hpp"

namespace gpuexp {

/// Global memory: one row per accessed 128-byte line, with the requested words and the lanes of
/// each of its four sectors. Shared memory: one row per accessed 128 bytes, with the first lane
/// that accesses each of the 32 banks.
std::string warp_picture_text(const WarpPicture& picture, const SourceFiles& sources,
                              const TerminalOptions& options);

/// A set of lanes as text: "0-7,12".
std::string lanes_text(sim::LaneMask lanes);

}  // namespace gpuexp
