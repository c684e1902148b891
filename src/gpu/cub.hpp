// CUB's device-wide algorithms, which are templates of the toolkit: a reference variant where they
// were compiled, a skip where they were not. Nobody else includes CUB, which takes long to compile.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "family/family.hpp"

namespace gpuexp::cub {

/// A reason when this program was built without CUB.
std::optional<std::string> unavailable();

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
