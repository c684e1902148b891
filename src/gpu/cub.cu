#include <stdexcept>

#include "gpu/cub.hpp"
#include "gpu/cuda_check.hpp"

#if __has_include(<cub/device/device_histogram.cuh>)
#include <cub/device/device_histogram.cuh>

namespace gpuexp::cub {
namespace {

// `workspace` null: says in `bytes` how much it needs.
template <class T>
void enqueue(const Histogram& h, void* workspace, std::size_t& bytes, Stream stream) {
  constexpr int kBins = 1 << 8 * sizeof(T);
  GPUEXP_CUDA(::cub::DeviceHistogram::HistogramEven(
      workspace, bytes, static_cast<const T*>(h.samples), h.counts, kBins + 1, 0, kBins,
      static_cast<int>(h.n), stream));
}

template <class T>
void enqueue(const Histogram& h, Stream stream) {
  std::size_t needed = 0;
  enqueue<T>(h, nullptr, needed, stream);
  if (needed > static_cast<std::size_t>(h.workspace_bytes))
    throw DeviceError("cub::DeviceHistogram needs " + std::to_string(needed) +
                          " bytes of workspace, more than its blocks were taken to need",
                      DeviceFault::refused);
  std::size_t given = static_cast<std::size_t>(h.workspace_bytes);
  enqueue<T>(h, h.workspace, given, stream);
}

}  // namespace

std::optional<std::string> unavailable() {
  return std::nullopt;
}

std::int64_t workspace_bytes(std::int64_t bins, const DeviceSpec& device) {
  constexpr std::int64_t kLeastBlock = 256;  // threads
  constexpr std::int64_t kBesides = 4096;    // its queue, and what it aligns
  const std::int64_t blocks = device.sm_count * (device.sm.max_threads / kLeastBlock);
  return blocks * bins * static_cast<std::int64_t>(sizeof(std::uint32_t)) + kBesides;
}

Steps step_of(const Histogram& histogram) {
  return OpaqueStep{"cub::DeviceHistogram", [histogram](Stream stream, int) {
                      if (histogram.type == DataType::uint8)
                        return enqueue<std::uint8_t>(histogram, stream);
                      enqueue<std::uint16_t>(histogram, stream);
                    }};
}

}  // namespace gpuexp::cub

#else

namespace gpuexp::cub {

std::optional<std::string> unavailable() {
  return "built without cub/device/device_histogram.cuh";
}

std::int64_t workspace_bytes(std::int64_t, const DeviceSpec&) {
  return 0;
}

Steps step_of(const Histogram&) {
  throw std::runtime_error(*unavailable());
}

}  // namespace gpuexp::cub

#endif
