#pragma once

#include <cuda.h>

#include "family/tensor_map.hpp"

namespace gpuexp {

/// The encoded map. Throws DeviceError with the map's parameters if the driver refuses the map or
/// does not support tensor maps.
CUtensorMap encoded(const TensorMap& map);

}  // namespace gpuexp
