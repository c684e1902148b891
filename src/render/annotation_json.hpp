// Annotated source for programs.
#pragma once

#include <string>

#include "analysis/annotation.hpp"
#include "analysis/warp_picture.hpp"
#include "sass/source_files.hpp"

namespace gpuexp {

/// Raised as kReportSchemaVersion is.
inline constexpr int kAnnotationSchemaVersion = 3;

/// One document; docs/annotate.md has its members. `picture` null: none was asked for.
std::string annotation_json(const AnnotatedLaunch& launch, const SourceFiles& sources,
                            const WarpPicture* picture);

}  // namespace gpuexp
