// Tensor maps as the driver encodes them.
#pragma once

#include <cuda.h>

#include "family/tensor_map.hpp"

namespace gpuexp {

/// Throws DeviceError, which names the map's figures, for what the driver refuses, and where it has
/// no tensor maps.
CUtensorMap encoded(const TensorMap& map);

}  // namespace gpuexp
