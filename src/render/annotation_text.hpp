// Annotated source for people at a terminal.
#pragma once

#include <string>

#include "analysis/annotation.hpp"
#include "render/terminal_options.hpp"
#include "sass/source_files.hpp"

namespace gpuexp {

/// What was executed on what, and how to read the columns; wrapped, ending in an empty line.
std::string annotation_head(const AnnotatedLaunch& launch, const TerminalOptions& options);

/// Per kernel and file the lines that were executed, each between those beside it, with counts on
/// the left.
std::string annotation_text(const AnnotatedLaunch& launch, const SourceFiles& sources,
                            const TerminalOptions& options);

}  // namespace gpuexp
