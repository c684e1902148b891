// Which ceilings predictions are made from.
#pragma once

#include <string>

#include "core/prediction.hpp"

namespace gpuexp::cli {

/// The recorded ceilings of a listed GPU (configs/ceilings/<spec id>.json), or where none were
/// recorded those of the reference GPU in proportion to both datasheets. Without configs/ceilings,
/// the datasheet's alone. Throws ConfigError when a file cannot be read.
PredictionBasis basis_of(const DeviceSpec& device, const std::string& spec_id);

}  // namespace gpuexp::cli
