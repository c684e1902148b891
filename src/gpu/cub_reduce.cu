#include <stdexcept>

#include "gpu/cub_reduce.hpp"
#include "gpu/cuda_check.hpp"

#if __has_include(<cub/device/device_reduce.cuh>)
#include <cub/device/device_reduce.cuh>
#include <cuda_bf16.h>

namespace gpuexp::cub {
namespace {

// `workspace` null: says in `bytes` how much it needs.
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
  std::size_t needed = 0;
  enqueue<T>(r, nullptr, needed, stream);
  if (needed > static_cast<std::size_t>(given))
    throw DeviceError("cub::DeviceReduce needs " + std::to_string(needed) +
                          " bytes of workspace, more than its blocks were taken to need",
                      DeviceFault::refused);
  std::size_t bytes = static_cast<std::size_t>(given);
  enqueue<T>(r, r.workspace, bytes, stream);
}

}  // namespace

std::optional<std::string> reduce_unavailable() {
  return std::nullopt;
}

std::int64_t reduce_workspace_bytes(const DeviceSpec& device) {
  constexpr std::int64_t kLeastBlock = 128;    // threads
  constexpr std::int64_t kBlocksPerPlace = 5;  // that it launches for each resident one
  constexpr std::int64_t kPartial = 16;        // bytes: a value and an index
  constexpr std::int64_t kBesides = 4096;      // what it aligns, and state of its own
  const std::int64_t places = device.sm_count * (device.sm.max_threads / kLeastBlock);
  return places * kBlocksPerPlace * kPartial + kBesides;
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

#else

namespace gpuexp::cub {

std::optional<std::string> reduce_unavailable() {
  return "built without cub/device/device_reduce.cuh";
}

std::int64_t reduce_workspace_bytes(const DeviceSpec&) {
  return 0;
}

Steps step_of(const Reduce&, const DeviceSpec&) {
  throw std::runtime_error(*reduce_unavailable());
}

}  // namespace gpuexp::cub

#endif
