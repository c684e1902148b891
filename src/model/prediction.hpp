// What is said of a cell before anything runs: bytes, operations, the least time they allow, and
// the time that its machine code is likely to take.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "base/mode.hpp"
#include "device/ceilings.hpp"
#include "device/device_spec.hpp"
#include "family/family.hpp"
#include "family/step_time.hpp"
#include "model/occupancy.hpp"
#include "model/resource_terms.hpp"
#include "sass/kernel_resource.hpp"

namespace gpuexp {

/// A limit of time, and what sets it.
struct Limit {
  std::optional<double> dram_us;  ///< moved bytes over bandwidth; empty when caches may serve them
  std::optional<double> compute_us;  ///< operations over the pipe's rate; empty when it is unknown
  std::optional<double> pcie_us;     ///< bytes between host and device over what the bus carries
  std::optional<double> links_us;    ///< bytes between GPUs over what their links carry
  std::optional<double> time_us;     ///< the largest of these: no launch can be faster
  std::string by;  ///< "dram", "pcie", "links", or the pipe that binds; empty without a limit
};

struct Prediction {
  Work work;
  Limit limit;           ///< by the datasheet
  Limit measured_limit;  ///< by measured ceilings; empty where there are none
  /// What the machine code of a launch is likely to take; empty where nobody has executed it.
  std::optional<double> time_us;
  std::string time_from;               ///< "code" or "phases" (family/phase.hpp); empty without
  std::string why_no_time;             ///< empty where there is one, or nobody has asked
  std::string bound_by;                ///< the resource that takes longest; empty without a time
  std::vector<Term> terms;             ///< every resource that the launch uses, longest first
  std::vector<StepTime> timeline;      ///< CodeTime::timeline
  std::optional<Occupancy> occupancy;  ///< of the launch with the most blocks
  std::optional<Waves> waves;          ///< likewise
  /// That launch; empty for vendor libraries and where kernels launch kernels, as all that follows.
  std::optional<Shape> shape;
  /// Kernels of one timed launch.
  std::optional<std::int64_t> kernel_launches;
};

/// The ceilings that predictions are made from.
struct CeilingSource {
  Ceilings ceilings;               ///< complete, as far as anything is known
  bool is_measured = false;        ///< on this device
  std::string source;              ///< for readers: "measured on …"
  MeasuredCeilings measured = {};  ///< those of `ceilings` that were, with their intervals
};

/// The bytes that DRAM has to move before the launch can end. In cold mode every byte read comes
/// from DRAM, but up to an L2's worth of written bytes may still be dirty in L2 when the clock
/// stops. In warm mode an L2's worth of what is read may be there from the launch before. Never
/// negative.
double least_dram_bytes(const Work& work, Mode mode, const DeviceSpec& device);

Limit limit_of(const Work& work, Mode mode, const DeviceSpec& device, const Ceilings& ceilings);

/// All but the time of the machine code. Throws what occupancy() throws.
Prediction predict(const Work& work, const std::vector<Shape>& shapes, Mode mode,
                   const DeviceSpec& device, const CeilingSource& ceiling_source,
                   const KernelResources& resources);

}  // namespace gpuexp
