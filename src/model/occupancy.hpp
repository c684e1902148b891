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
  double warps_pct = 0;           ///< resident warps over the most that an SM holds, in percent
  int blocks_without_shared = 0;  ///< likewise, if they had no shared memory
  std::string limiter;            ///< registers, shared memory, threads, blocks
  int registers = 0;              ///< per thread
  std::int64_t shared_bytes = 0;  ///< per block, static and dynamic
  int local_bytes = 0;            ///< per thread
  bool exact_architecture =
      true;  ///< false: registers are those of another architecture that was built
};

/// Resident blocks of a launch on a device, by NVIDIA's cuda_occupancy.h with the kernel's
/// registers from the resource table. Empty when the kernel is not in the table or the toolkit's
/// header was not there at build time. Throws std::runtime_error when the launch exceeds what the
/// device can run at all.
std::optional<Occupancy> occupancy(const Shape& shape, const DeviceSpec& device,
                                   const KernelResources& resources);

struct Waves {
  std::int64_t blocks = 0;
  std::int64_t wave_size = 0;      ///< SM count × resident blocks per SM
  double waves = 0;                ///< blocks over wave size
  double tail_efficiency_pct = 0;  ///< blocks over (whole waves × wave size), in percent
};

Waves waves(const Shape& shape, const DeviceSpec& device, const Occupancy& occupancy);

}  // namespace gpuexp
