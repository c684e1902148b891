// CUB's device-wide algorithms as reference variants. CUB is in the same toolkit package as
// cuda_fp16.h. CUB compiles slowly, so only the files cub*.cu include it.
#pragma once

#include <cstdint>

#include "family/family.hpp"

namespace gpuexp::cub {

/// counts[v] = number of occurrences of v among n samples, for every value v of their type.
struct Histogram {
  DataType type;   ///< uint8 or uint16
  std::int64_t n;  ///< below 2^31
  const void* samples;
  std::uint32_t* counts;
  void* workspace;
  std::int64_t workspace_bytes;
};

/// Maximum workspace in bytes: one copy of the counters for each block that can be resident on the
/// device.
std::int64_t workspace_bytes(std::int64_t bins, const DeviceSpec& device);

/// A step that enqueues cub::DeviceHistogram::HistogramEven. It throws DeviceError if CUB fails.
Steps step_of(const Histogram& histogram);

}  // namespace gpuexp::cub
