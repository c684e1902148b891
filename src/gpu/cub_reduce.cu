#include <cub/device/device_reduce.cuh>
#include <cuda_bf16.h>

#include "gpu/cub_reduce.hpp"
#include "gpu/cub_workspace.hpp"
#include "gpu/cuda_check.hpp"

namespace gpuexp::cub {
namespace {

template <class T>
void enqueue(const Reduce& r, void* workspace, std::size_t& bytes, Stream stream) {
  const auto* const in = static_cast<const T*>(r.in);
  const auto n = static_cast<int>(r.n);
  switch (r.reduction) {
    case Reduction::sum:
      GPUEXP_CUDA(::cub::DeviceReduce::Reduce(workspace, bytes, in, static_cast<float*>(r.out), n,
                                              ::cuda::std::plus<float>{}, 0.0f, stream));
      return;
    case Reduction::max:
      GPUEXP_CUDA(
          ::cub::DeviceReduce::Max(workspace, bytes, in, static_cast<T*>(r.out), n, stream));
      return;
    case Reduction::argmax:
      GPUEXP_CUDA(::cub::DeviceReduce::ArgMax(workspace, bytes, in, static_cast<T*>(r.out), r.index,
                                              r.n, stream));
      return;
  }
}

template <class T>
void enqueue(const Reduce& r, std::int64_t given, Stream stream) {
  with_workspace("cub::DeviceReduce", r.workspace, given, [&](void* workspace, std::size_t& bytes) {
    enqueue<T>(r, workspace, bytes, stream);
  });
}

}  // namespace

std::int64_t reduce_workspace_bytes(const DeviceSpec& device) {
  constexpr std::int64_t kMinBlock = 128;     // threads
  constexpr std::int64_t kBlocksPerSlot = 5;  // blocks launched per block slot
  constexpr std::int64_t kPartial = 16;       // bytes: a value and an index
  constexpr std::int64_t kExtraBytes = 4096;  // padding for alignment, and CUB's state
  const std::int64_t places = device.sm_count * (device.sm.max_threads / kMinBlock);
  return places * kBlocksPerSlot * kPartial + kExtraBytes;
}

Steps step_of(const Reduce& reduce, const DeviceSpec& device) {
  return OpaqueStep{"cub::DeviceReduce",
                    [reduce, given = reduce_workspace_bytes(device)](Stream stream, int) {
                      if (reduce.type == DataType::bf16)
                        return enqueue<__nv_bfloat16>(reduce, given, stream);
                      enqueue<float>(reduce, given, stream);
                    }};
}

}  // namespace gpuexp::cub
