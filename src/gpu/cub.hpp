// CUB's device-wide algorithms as reference variants. CUB compiles slowly, so only cub*.cu include
// it.
#pragma once

#include <cstdint>

#include "family/family.hpp"

namespace gpuexp::cub {

/// counts[v] = number of samples equal to v, for every value v of the samples' type.
struct Histogram {
  DataType type;   ///< uint8 or uint16
  std::int64_t n;  ///< below 2^31
  const void* samples;
  std::uint32_t* counts;
  void* workspace;
  std::int64_t workspace_bytes;
};

/// Maximum workspace: one copy of the counters for each block that can be resident on the device.
std::int64_t workspace_bytes(std::int64_t bins, const DeviceSpec& device);

/// Enqueues cub::DeviceHistogram::HistogramEven. Throws DeviceError if CUB fails.
Steps step_of(const Histogram& histogram);

}  // namespace gpuexp::cub
