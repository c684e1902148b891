// CUB's device-wide algorithms, as reference variants. A toolkit whose cuda_fp16.h compiles has
// CUB: both belong to one package. No other file includes CUB, which takes long to compile.
#pragma once

#include <cstdint>

#include "family/family.hpp"

namespace gpuexp::cub {

/// counts[v] = how often v occurs among n samples, for every value v of their type.
struct Histogram {
  DataType type;   ///< uint8 or uint16
  std::int64_t n;  ///< below 2^31
  const void* samples;
  std::uint32_t* counts;
  void* workspace;
  std::int64_t workspace_bytes;
};

/// What its blocks may need together, as many as the device has resident at most: a copy of the
/// counters each.
std::int64_t workspace_bytes(std::int64_t bins, const DeviceSpec& device);

/// One step that enqueues cub::DeviceHistogram::HistogramEven. It throws DeviceError when CUB
/// refuses.
Steps step_of(const Histogram& histogram);

}  // namespace gpuexp::cub
