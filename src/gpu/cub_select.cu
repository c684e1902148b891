#include <stdexcept>

#include "gpu/cub_select.hpp"
#include "gpu/cuda_check.hpp"

#if __has_include(<cub/device/device_select.cuh>)
#include <cub/device/device_select.cuh>

namespace gpuexp::cub {
namespace {

struct IsBelow {
  std::uint32_t limit;
  __host__ __device__ bool operator()(std::uint32_t element) const { return element < limit; }
};

// `workspace` null: says in `bytes` how much it needs.
void enqueue(const SelectBelow& s, void* workspace, std::size_t& bytes, Stream stream) {
  GPUEXP_CUDA(::cub::DeviceSelect::If(workspace, bytes, s.in, s.out, s.count, static_cast<int>(s.n),
                                      IsBelow{s.limit}, stream));
}

void enqueue(const SelectBelow& s, Stream stream) {
  std::size_t needed = 0;
  enqueue(s, nullptr, needed, stream);
  auto given = static_cast<std::size_t>(select_workspace_bytes(s.n));
  if (needed > given)
    throw DeviceError("cub::DeviceSelect needs " + std::to_string(needed) +
                          " bytes of workspace, more than its tiles were taken to need",
                      DeviceFault::refused);
  enqueue(s, s.workspace, given, stream);
}

}  // namespace

std::optional<std::string> select_unavailable() {
  return std::nullopt;
}

std::int64_t select_workspace_bytes(std::int64_t n) {
  constexpr std::int64_t kLeastTile = 512;  // elements
  constexpr std::int64_t kState = 16;       // bytes of a tile
  constexpr std::int64_t kBesides = 4096;   // states before the first tile, and what it aligns
  return ceil_div(n, kLeastTile) * kState + kBesides;
}

Steps step_of(const SelectBelow& select) {
  return OpaqueStep{"cub::DeviceSelect", [select](Stream stream, int) { enqueue(select, stream); }};
}

}  // namespace gpuexp::cub

#else

namespace gpuexp::cub {

std::optional<std::string> select_unavailable() {
  return "built without cub/device/device_select.cuh";
}

std::int64_t select_workspace_bytes(std::int64_t) {
  return 0;
}

Steps step_of(const SelectBelow&) {
  throw std::runtime_error(*select_unavailable());
}

}  // namespace gpuexp::cub

#endif
