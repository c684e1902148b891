// Resident blocks, waves and tails: how a grid fills a GPU.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "device/device_spec.hpp"
#include "family/family.hpp"
#include "sass/kernel_resource.hpp"

namespace gpuexp {

struct Occupancy {
  int blocks_per_sm = 0;
  double warps_pct = 0;            ///< resident warps, in percent of the SM's maximum
  int blocks_without_shared = 0;   ///< blocks_per_sm if the blocks used no shared memory
  std::string limiter;             ///< "registers", "shared memory", "threads" or "blocks"
  int registers = 0;               ///< per thread
  std::int64_t shared_bytes = 0;   ///< per block, static and dynamic
  int local_bytes = 0;             ///< per thread
  bool exact_architecture = true;  ///< false: `registers` is for another architecture
};

/// Resident blocks of a launch, computed by NVIDIA's cuda_occupancy.h from the kernel's resources.
/// Empty if `resources` lacks the kernel or the build lacked the header. Throws std::runtime_error
/// if no block fits on the device.
std::optional<Occupancy> occupancy(const Shape& shape, const DeviceSpec& device,
                                   const KernelResources& resources);

struct Waves {
  std::int64_t blocks = 0;
  std::int64_t wave_size = 0;  ///< SM count × resident blocks per SM
  double waves = 0;
  double tail_efficiency_pct = 0;  ///< blocks / (waves, rounded up × wave size), in percent
};

Waves waves(const Shape& shape, const DeviceSpec& device, const Occupancy& occupancy);

}  // namespace gpuexp
