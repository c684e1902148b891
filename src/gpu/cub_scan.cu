#include <stdexcept>

#include "gpu/cub_scan.hpp"
#include "gpu/cuda_check.hpp"

#if __has_include(<cub/device/device_scan.cuh>)
#include <cub/device/device_scan.cuh>

namespace gpuexp::cub {
namespace {

// `workspace` null: says in `bytes` how much it needs.
template <class T>
void enqueue(const InclusiveSum& s, void* workspace, std::size_t& bytes, Stream stream) {
  GPUEXP_CUDA(::cub::DeviceScan::InclusiveSum(workspace, bytes, static_cast<const T*>(s.in),
                                              static_cast<T*>(s.out), static_cast<int>(s.n),
                                              stream));
}

template <class T>
void enqueue(const InclusiveSum& s, Stream stream) {
  std::size_t needed = 0;
  enqueue<T>(s, nullptr, needed, stream);
  auto given = static_cast<std::size_t>(scan_workspace_bytes(s.n));
  if (needed > given)
    throw DeviceError("cub::DeviceScan needs " + std::to_string(needed) +
                          " bytes of workspace, more than its tiles were taken to need",
                      DeviceFault::refused);
  enqueue<T>(s, s.workspace, given, stream);
}

}  // namespace

std::optional<std::string> scan_unavailable() {
  return std::nullopt;
}

std::int64_t scan_workspace_bytes(std::int64_t n) {
  constexpr std::int64_t kLeastTile = 512;  // elements
  constexpr std::int64_t kState = 16;       // bytes of a tile
  constexpr std::int64_t kBesides = 4096;   // states before the first tile, and what it aligns
  return ceil_div(n, kLeastTile) * kState + kBesides;
}

Steps step_of(const InclusiveSum& sum) {
  return OpaqueStep{"cub::DeviceScan", [sum](Stream stream, int) {
                      if (sum.type == DataType::int32) return enqueue<std::int32_t>(sum, stream);
                      enqueue<float>(sum, stream);
                    }};
}

}  // namespace gpuexp::cub

#else

namespace gpuexp::cub {

std::optional<std::string> scan_unavailable() {
  return "built without cub/device/device_scan.cuh";
}

std::int64_t scan_workspace_bytes(std::int64_t) {
  return 0;
}

Steps step_of(const InclusiveSum&) {
  throw std::runtime_error(*scan_unavailable());
}

}  // namespace gpuexp::cub

#endif
