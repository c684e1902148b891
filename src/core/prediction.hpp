// What first principles say of a cell before anything runs: bytes, operations, and the least time
// they allow.
#pragma once

#include <optional>
#include <string>

#include "core/config.hpp"
#include "core/device_spec.hpp"
#include "core/family.hpp"
#include "core/kernel_resource.hpp"
#include "core/occupancy.hpp"

namespace gpuexp {

struct Prediction {
  Work work;
  std::optional<double>
      dram_time_us;  ///< moved bytes over theoretical bandwidth; empty when caches may serve them
  std::optional<double> compute_time_us;  ///< operations over the pipe's datasheet rate; empty when
                                          ///< the rate is unknown
  std::optional<double> limit_time_us;    ///< the larger of the two: no launch can be faster
  std::string limit_by;                   ///< "dram", or the pipe that binds; empty without a limit
  std::optional<Occupancy> occupancy;     ///< of the launch with the most blocks
  std::optional<Waves> waves;             ///< likewise
  std::optional<Shape> shape;             ///< that launch; empty for vendor libraries
};

/// The bytes that DRAM has to move before the launch can end. In cold mode every byte read comes
/// from DRAM, but up to an L2's worth of written bytes may still be dirty in L2 when the clock
/// stops. In warm mode an L2's worth of what is read may be there from the launch before. Never
/// negative.
double least_dram_bytes(const Work& work, Mode mode, const DeviceSpec& device);

/// Throws what occupancy() throws.
Prediction predict(const Work& work, const std::vector<Shape>& shapes, Mode mode,
                   const DeviceSpec& device, const KernelResources& resources);

}  // namespace gpuexp
