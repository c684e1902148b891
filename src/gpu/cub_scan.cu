#include <cub/device/device_scan.cuh>

#include "gpu/cub_scan.hpp"
#include "gpu/cub_workspace.hpp"
#include "gpu/cuda_check.hpp"

namespace gpuexp::cub {
namespace {

template <class T>
void enqueue(const InclusiveSum& s, Stream stream) {
  with_workspace("cub::DeviceScan", s.workspace, scan_workspace_bytes(s.n),
                 [&](void* workspace, std::size_t& bytes) {
                   GPUEXP_CUDA(::cub::DeviceScan::InclusiveSum(
                       workspace, bytes, static_cast<const T*>(s.in), static_cast<T*>(s.out),
                       static_cast<int>(s.n), stream));
                 });
}

}  // namespace

std::int64_t scan_workspace_bytes(std::int64_t n) {
  constexpr std::int64_t kMinTile = 512;  // elements
  constexpr std::int64_t kState = 16;     // bytes per tile
  constexpr std::int64_t kExtraBytes =
      4096;  // states before the first tile, and padding for alignment
  return ceil_div(n, kMinTile) * kState + kExtraBytes;
}

Steps step_of(const InclusiveSum& sum) {
  return OpaqueStep{"cub::DeviceScan", [sum](Stream stream, int) {
                      if (sum.type == DataType::int32) return enqueue<std::int32_t>(sum, stream);
                      enqueue<float>(sum, stream);
                    }};
}

}  // namespace gpuexp::cub
