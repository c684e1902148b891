#pragma once

#include <string>

#include "analysis/annotation.hpp"
#include "render/terminal_options.hpp"
#include "sass/source_files.hpp"

namespace gpuexp {

/// Variant, device and meaning of the columns, wrapped, with an empty line at the end.
std::string annotation_head(const AnnotatedLaunch& launch, const TerminalOptions& options);

/// The executed lines of each kernel and file, with one line of context on each side, and with
/// counts on the left.
std::string annotation_text(const AnnotatedLaunch& launch, const SourceFiles& sources,
                            const TerminalOptions& options);

}  // namespace gpuexp
