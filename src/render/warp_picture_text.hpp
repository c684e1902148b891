// A warp's accesses at one line, drawn in text: which lane touches which word.
#pragma once

#include <string>

#include "analysis/warp_picture.hpp"
#include "render/terminal_options.hpp"
#include "sass/source_files.hpp"

namespace gpuexp {

/// Of global memory a row for each line of 128 bytes that is touched, with its four sectors, the
/// words that lanes ask for in each, and these lanes. Of shared memory a row for each 128 bytes,
/// with the 32 banks and the lane in each.
std::string warp_picture_text(const WarpPicture& picture, const SourceFiles& sources,
                              const TerminalOptions& options);

/// "0-7, 12": for a set of lanes.
std::string lanes_text(sim::LaneMask lanes);

}  // namespace gpuexp
