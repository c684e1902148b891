#include <cub/device/device_select.cuh>

#include "gpu/cub_select.hpp"
#include "gpu/cub_workspace.hpp"
#include "gpu/cuda_check.hpp"

namespace gpuexp::cub {
namespace {

struct IsBelow {
  std::uint32_t limit;
  __host__ __device__ bool operator()(std::uint32_t element) const { return element < limit; }
};

void enqueue(const SelectBelow& s, Stream stream) {
  with_workspace(
      "cub::DeviceSelect", s.workspace, select_workspace_bytes(s.n),
      [&](void* workspace, std::size_t& bytes) {
        GPUEXP_CUDA(::cub::DeviceSelect::If(workspace, bytes, s.in, s.out, s.count,
                                            static_cast<int>(s.n), IsBelow{s.limit}, stream));
      });
}

}  // namespace

std::int64_t select_workspace_bytes(std::int64_t n) {
  constexpr std::int64_t kMinTile = 512;  // elements
  constexpr std::int64_t kState = 16;     // bytes per tile
  constexpr std::int64_t kExtraBytes =
      4096;  // states before the first tile, and padding for alignment
  return ceil_div(n, kMinTile) * kState + kExtraBytes;
}

Steps step_of(const SelectBelow& select) {
  return OpaqueStep{"cub::DeviceSelect", [select](Stream stream, int) { enqueue(select, stream); }};
}

}  // namespace gpuexp::cub
