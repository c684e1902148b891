#include "model/occupancy.hpp"

#include <algorithm>
#include <stdexcept>

#include <fmt/format.h>

#if __has_include(<cuda_occupancy.h>)
#include <cuda_occupancy.h>
#define GPUEXP_HAVE_CUDA_OCCUPANCY 1
#else
#define GPUEXP_HAVE_CUDA_OCCUPANCY 0
#endif

namespace gpuexp {

#if GPUEXP_HAVE_CUDA_OCCUPANCY

namespace {

constexpr int kWarp = 32;
constexpr int kMaxThreadsPerBlock = 1024;

cudaOccDeviceProp occupancy_properties(const DeviceSpec& device) {
  cudaOccDeviceProp p;
  p.computeMajor = device.cc_major;
  p.computeMinor = device.cc_minor;
  p.maxThreadsPerBlock = kMaxThreadsPerBlock;
  p.maxThreadsPerMultiprocessor = device.sm.max_threads;
  p.regsPerBlock = device.sm.registers;
  p.regsPerMultiprocessor = device.sm.registers;
  p.warpSize = kWarp;
  p.sharedMemPerBlock = std::size_t{48} * 1024;
  p.sharedMemPerMultiprocessor = static_cast<size_t>(device.sm.shared_bytes);
  p.numSms = device.sm_count;
  p.sharedMemPerBlockOptin = static_cast<size_t>(device.sm.shared_bytes_per_block);
  p.reservedSharedMemPerBlock = static_cast<size_t>(device.sm.reserved_shared_bytes);
  return p;
}

std::string limiter_name(unsigned factors) {
  if (factors & OCC_LIMIT_SHARED_MEMORY) return "shared memory";
  if (factors & OCC_LIMIT_REGISTERS) return "registers";
  if (factors & OCC_LIMIT_WARPS) return "threads";
  return "blocks";
}

}  // namespace

std::optional<Occupancy> occupancy(const Shape& shape, const DeviceSpec& device,
                                   const KernelResources& resources) {
  const auto found = resources.find(shape.kernel, device.compute_capability());
  if (!found) return std::nullopt;
  cudaOccFuncAttributes attributes;
  attributes.maxThreadsPerBlock = kMaxThreadsPerBlock;
  attributes.numRegs = found->resource.registers;
  attributes.sharedSizeBytes = static_cast<size_t>(found->resource.static_shared_bytes);
  attributes.partitionedGCConfig = PARTITIONED_GC_OFF;
  attributes.shmemLimitConfig = FUNC_SHMEM_LIMIT_OPTIN;
  attributes.maxDynamicSharedSizeBytes = static_cast<size_t>(shape.dynamic_shared_bytes);
  attributes.numBlockBarriers = 1;

  const cudaOccDeviceProp properties = occupancy_properties(device);
  const cudaOccDeviceState state;
  cudaOccResult result;
  const int threads = static_cast<int>(shape.block.count());
  const cudaOccError error =
      cudaOccMaxActiveBlocksPerMultiprocessor(&result, &properties, &attributes, &state, threads,
                                              static_cast<size_t>(shape.dynamic_shared_bytes));
  if (error != CUDA_OCC_SUCCESS || result.activeBlocksPerMultiprocessor < 1) {
    throw std::runtime_error(fmt::format(
        "no block fits on an SM of {}: {} threads × {} registers, {} bytes of shared memory",
        device.name, threads, attributes.numRegs,
        found->resource.static_shared_bytes + shape.dynamic_shared_bytes));
  }
  Occupancy o;
  o.blocks_per_sm = result.activeBlocksPerMultiprocessor;
  o.blocks_without_shared =
      std::min({result.blockLimitRegs, result.blockLimitWarps, result.blockLimitBlocks});
  o.warps_pct = 100.0 * o.blocks_per_sm * static_cast<double>(ceil_div(threads, kWarp)) * kWarp /
                device.sm.max_threads;
  o.limiter = limiter_name(result.limitingFactors);
  o.registers = found->resource.registers;
  o.shared_bytes = found->resource.static_shared_bytes + shape.dynamic_shared_bytes;
  o.local_bytes = found->resource.local_bytes + found->resource.stack_bytes;
  o.exact_architecture = found->exact;
  return o;
}

#else

std::optional<Occupancy> occupancy(const Shape&, const DeviceSpec&, const KernelResources&) {
  return std::nullopt;
}

#endif

Waves waves(const Shape& shape, const DeviceSpec& device, const Occupancy& occupancy) {
  Waves w;
  w.blocks = shape.grid.count();
  w.wave_size = static_cast<std::int64_t>(device.sm_count) * occupancy.blocks_per_sm;
  w.waves = static_cast<double>(w.blocks) / static_cast<double>(w.wave_size);
  const std::int64_t whole = ceil_div(w.blocks, w.wave_size) * w.wave_size;
  w.tail_efficiency_pct = 100.0 * static_cast<double>(w.blocks) / static_cast<double>(whole);
  return w;
}

}  // namespace gpuexp
