#pragma once

#include <string>

#include "analysis/annotation.hpp"
#include "analysis/warp_picture.hpp"
#include "sass/source_files.hpp"

namespace gpuexp {

/// Increases according to the rules for schema_version in results/json_write.hpp.
inline constexpr int kAnnotationSchemaVersion = 3;

/// One JSON document; docs/annotate.md describes its members. `picture` is null if none is
/// requested.
std::string annotation_json(const AnnotatedLaunch& launch, const SourceFiles& sources,
                            const WarpPicture* picture);

}  // namespace gpuexp
