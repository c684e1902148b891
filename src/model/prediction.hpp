// Prediction for a cell: bytes, operations, lower bound on the time, and predicted time.
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
#include "model/prediction_band.hpp"
#include "model/resource_terms.hpp"
#include "sass/kernel_resource.hpp"

namespace gpuexp {

struct Limit {
  std::optional<double> dram_us;  ///< DRAM bytes / bandwidth; empty if caches may serve all bytes
  std::optional<double> compute_us;  ///< operations / the pipe's rate; empty if the rate is unknown
  std::optional<double> pcie_us;     ///< bytes between host and device / bus bandwidth
  std::optional<double> links_us;    ///< bytes between GPUs / link bandwidth
  std::optional<double> time_us;     ///< maximum of the times above
  std::string by;  ///< "dram", "pcie", "links", or the slowest pipe; empty without a limit
};

struct Prediction {
  Work work;
  Limit limit;
  Limit measured_limit;  ///< from measured ceilings; empty if there are none
  /// Predicted time of a launch; empty if none was requested or predicted.
  std::optional<double> time_us;
  /// Empty without a time, and if the GPU's ceilings are scaled from those of another model.
  std::optional<PredictionBand> band;
  std::string time_from;     ///< "code" or "phases" (family/phase.hpp); empty without a time
  std::string why_no_time;   ///< empty if there is a time or none was requested
  bool has_faulted = false;  ///< there is no time because a kernel faulted
  std::string bound_by;      ///< the resource with the longest time; empty without a time
  std::vector<Term> terms;   ///< all resources that the launch uses, longest first
  std::vector<StepTime> timeline;
  std::optional<Occupancy> occupancy;  ///< for the kernel launch with the largest grid
  std::optional<Waves> waves;
  /// Shape of that kernel launch. `shape`, `occupancy`, `waves` and `kernel_launches` are empty for
  /// vendor libraries and for kernels that launch kernels.
  std::optional<Shape> shape;
  std::optional<std::int64_t> kernel_launches;
};

struct CeilingSource {
  Ceilings ceilings;               ///< missing values are unknown
  bool is_measured = false;        ///< on this device, or on another of the same model
  std::string source;              ///< origin, such as "ceilings measured on …"
  MeasuredCeilings measured = {};  ///< the measured values of `ceilings`, with their intervals
};

/// Minimum number of bytes that DRAM moves before the launch can end. At the end, L2 may still hold
/// dirty bytes, up to its size. If a launch may find data of the previous launch
/// (follows_launches), L2 may also hold bytes read, up to its size; otherwise, every byte read
/// comes from DRAM.
double min_dram_bytes(const Work& work, Mode mode, const DeviceSpec& device);

Limit limit_of(const Work& work, Mode mode, const DeviceSpec& device, const Ceilings& ceilings);

/// Predicts everything except `time_us` and the members that describe it. Throws what occupancy()
/// throws.
Prediction predict(const Work& work, const std::vector<Shape>& shapes, Mode mode,
                   const DeviceSpec& device, const CeilingSource& ceiling_source,
                   const KernelResources& resources);

}  // namespace gpuexp
