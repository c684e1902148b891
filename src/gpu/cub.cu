#include <cub/device/device_histogram.cuh>

#include "gpu/cub.hpp"
#include "gpu/cub_workspace.hpp"
#include "gpu/cuda_check.hpp"

namespace gpuexp::cub {
namespace {

template <class T>
void enqueue(const Histogram& h, Stream stream) {
  constexpr int kBins = 1 << 8 * sizeof(T);
  with_workspace("cub::DeviceHistogram", h.workspace, h.workspace_bytes,
                 [&](void* workspace, std::size_t& bytes) {
                   GPUEXP_CUDA(::cub::DeviceHistogram::HistogramEven(
                       workspace, bytes, static_cast<const T*>(h.samples), h.counts, kBins + 1, 0,
                       kBins, static_cast<int>(h.n), stream));
                 });
}

}  // namespace

std::int64_t workspace_bytes(std::int64_t bins, const DeviceSpec& device) {
  constexpr std::int64_t kMinBlock = 256;     // threads
  constexpr std::int64_t kExtraBytes = 4096;  // CUB's queue, and padding for alignment
  const std::int64_t blocks = device.sm_count * (device.sm.max_threads / kMinBlock);
  return blocks * bins * static_cast<std::int64_t>(sizeof(std::uint32_t)) + kExtraBytes;
}

Steps step_of(const Histogram& histogram) {
  return OpaqueStep{"cub::DeviceHistogram", [histogram](Stream stream, int) {
                      if (histogram.type == DataType::uint8)
                        return enqueue<std::uint8_t>(histogram, stream);
                      enqueue<std::uint16_t>(histogram, stream);
                    }};
}

}  // namespace gpuexp::cub
